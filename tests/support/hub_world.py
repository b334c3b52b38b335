"""An organisation in small: repositories of teams, a hub over them, and its server in this process or another one."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.testclient import TestClient

from kb.hub import HubServer, build_hub_server, choose_address, open_settings
from kb.mcp.http_server import bind_socket, build_timeout_protocol, parse_address
from kb.organisation.hub import Hub
from tests.support.sealed import git

RECORD = """---
id: {id}
uid: "{uid}"
kind: {kind}
title: {title}
status: {status}
scope: {scope}
date: 2026-11-20
{more}---
<!-- MACHINE_BLOCK_START -->
# [{id}] {title}

## Decision

{decision}

## Why

{why}
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->

<!-- USER_BLOCK_END -->
"""
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SECRET = "webhook-secret-of-alpha"


class TeamRecord(NamedTuple):
    """A record to be written into a team's repository."""

    id: str
    title: str
    decision: str
    why: str = "The callers need it, and nothing else was faster."
    kind: str = "decision"
    status: str = "accepted"
    scope: str = "global"
    more: str = ""

    def render(self, repo: str) -> str:
        seed = sum(ord(letter) * 31**place for place, letter in enumerate(f"{repo}{self.id}{self.scope}"))
        uid = "01" + "".join(_LETTERS[(seed >> (5 * place)) % 32] for place in range(24))
        return RECORD.format(**self._asdict(), uid=uid)


def write_team(place: Path, records: list[TeamRecord]) -> None:
    """Make the repository *place* of a team with *records*, or give it these in place of those it has."""
    if not (place / ".git").exists():
        place.mkdir(parents=True)
        git(place, "init", "-q", "-b", "main")
        (place / "kb.toml").write_text(f'name = "{place.name}"\ngroups = ["all: shop, pay"]\n')
    folder = place / "content/anchors"
    shutil.rmtree(folder, ignore_errors=True)
    for record in records:
        sort, _, name = record.scope.partition("/")
        below = folder / f"{sort}s" / name if name else folder / "global"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{record.id}-{record.title.split()[0].lower()}.md").write_text(record.render(place.name))
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Records", "--allow-empty")


def write_config(top: Path, groups: Mapping[str, list[str]], tables: str = "") -> Path:
    """Write the hub.toml of a hub over the repositories below *top* that *groups* names, with who may read each."""
    rows = ['data = "data"\nallow_local = true\npolling = 0\n']
    for name, readers in groups.items():
        url = (top / name).as_uri()
        rows.append(
            f'[[repository]]\nname = "{name}"\nurl = "{url}"\ngroups = {json.dumps(readers)}\n'
            f'webhook_secret = "HOOK_{name.upper()}"\n'
        )
    path = top / "hub.toml"
    path.write_text("\n".join([*rows, tables]))
    return path


@contextmanager
def open_hub(path: Path, **more: str) -> Iterator[Hub]:
    """Give the hub of the file *path*, fetched, with *more* in its environment."""
    hub = Hub.open(str(path), {**os.environ, **more})
    try:
        assert [report.name for report in hub.sync() if report.error] == []
        yield hub
    finally:
        hub.close()


def build_server(hub: Hub, lines: list[str] | None = None, *, port: int = 0, **more: str) -> HubServer:
    """Return the server of *hub* as its settings say; its log goes into *lines*, *more* into its environment."""
    settings = open_settings(hub)
    environment = {**os.environ, "HOOK_ALPHA": SECRET, **more}
    where = choose_address(settings)
    sink = lines if lines is not None else []
    return build_hub_server(hub, environment, where._replace(port=port or where.port), settings, sink.append)


@contextmanager
def call_in_process(server: HubServer, token: str = "") -> Iterator[TestClient]:
    """Give a client of *server* in this process, who shows *token*."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = server.reception.url
    with TestClient(server.app, url, raise_server_exceptions=False, headers=headers) as client:
        yield client


@contextmanager
def listen(hub: Hub, lines: list[str] | None = None, **more: str) -> Iterator[tuple[str, HubServer]]:
    """Let the server of *hub* listen on this machine, at a free port; give its address and the server."""
    with bind_socket(parse_address("127.0.0.1:0")) as listening:
        port = listening.getsockname()[1]
        server = build_server(hub, lines, port=port, **more)
        protocol: Any = build_timeout_protocol
        config = uvicorn.Config(server.app, http=protocol, log_config=None, ws="none", lifespan="on")
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}", server
        finally:
            running.should_exit = True
            thread.join(15)
            assert not thread.is_alive(), "it stops when it is told to"
