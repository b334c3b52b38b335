"""What reaches other machines runs nothing that a repository names: push, fetch, and what a partial clone lacks."""

import os
import shlex
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kb.errors import KbError
from kb.git.repository import Repository
from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, FLASK, one
from tests.support.sealed import Clock, git
from tests.support.traps import QUIET, RECORD, Trap, submodule_of, users_own


@pytest.fixture
def trap(root: Path, tmp_path: Path) -> Trap:
    """A trap for a fresh knowledge base."""
    return Trap(root, tmp_path / "elsewhere")


class Unwelcoming(BaseHTTPRequestHandler):
    """A server that wants to know who is there."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a web server that lets nobody in."""
    with HTTPServer(("127.0.0.1", 0), Unwelcoming) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/kb.git"
        running.shutdown()
        thread.join()


def asked(root: Path, environment: dict[str, str] | None = None) -> str:
    """Push a review as a person does and return what git says against it, or ""."""
    with KnowledgeBase(str(root), environment or os.environ, Clock()) as kb:
        one(kb, FASTAPI)
        try:
            kb.request(one(kb, FLASK).id)
        except KbError as error:
            return str(error)
    return ""


def remote(trap: Trap, url: str) -> None:
    git(trap.root, "config", "remote.origin.url", url)
    git(trap.root, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")


def bare(trap: Trap) -> str:
    """Return an empty repository to push to."""
    place = trap.place / "bare.git"
    git(trap.place, "init", "-q", "--bare", str(place))
    return str(place)


def ssh_command(trap: Trap, server: str) -> None:
    remote(trap, "ssh://localhost:1/kb.git")
    trap.setting("core.sshCommand")
    trap.works("push", "origin", "main")


def ask_pass(trap: Trap, server: str) -> None:
    remote(trap, server)
    trap.setting("core.askPass")
    trap.works("push", "origin", "main")


def credential_helper(trap: Trap, server: str) -> None:
    remote(trap, server)
    trap.setting("credential.helper")
    trap.works("push", "origin", "main")


def credential_helper_for_one_host(trap: Trap, server: str) -> None:
    remote(trap, server)
    trap.setting(f"credential.{server.rpartition('/')[0]}.helper")
    trap.works("push", "origin", "main")


def receive_pack(trap: Trap, server: str) -> None:
    remote(trap, bare(trap))
    trap.setting("remote.origin.receivepack")
    trap.works("push", "origin", "main")


def hooks_of_a_push(trap: Trap, server: str) -> None:
    remote(trap, bare(trap))
    trap.hooks(trap.place / "hooks")
    trap.setting("core.hooksPath", str(trap.place / "hooks"))
    trap.works("push", "origin", "main")


def address_that_is_a_command(trap: Trap, server: str) -> None:
    remote(trap, f"ext::{trap.program} %S")
    trap.setting("protocol.ext.allow", "always")
    trap.works("push", "origin", "main")


def address_that_becomes_a_command(trap: Trap, server: str) -> None:
    remote(trap, "https://example.com/kb.git")
    git(trap.root, "config", f"url.ext::{trap.program} .pushInsteadOf", "https://")
    trap.setting("protocol.ext.allow", "always")
    trap.works("push", "origin", "main")


def helper_for_a_remote(trap: Trap, server: str) -> None:
    remote(trap, f"{trap.program} %S")
    git(trap.root, "config", "remote.origin.vcs", "ext")
    trap.setting("protocol.ext.allow", "always")
    trap.works("push", "origin", "main")


def proxy_of_gits_own_protocol(trap: Trap, server: str) -> None:
    remote(trap, "git://localhost/kb.git")
    trap.setting("core.gitProxy")
    trap.works("push", "origin", "main")


def signed_push(trap: Trap, server: str) -> None:
    place = bare(trap)
    git(trap.place, "-C", place, "config", "receive.certNonceSeed", "x")
    remote(trap, place)
    trap.setting("push.gpgSign", "true")
    trap.setting("gpg.program")
    trap.works("push", "origin", "main")


def push_in_submodules(trap: Trap, server: str) -> None:
    """Pushing submodules runs git in each, where other settings hold."""
    inner, outer = submodule_of(trap), trap.place / "outer.git"
    git(trap.place, "init", "-q", "--bare", str(outer))
    git(inner, "remote", "add", "origin", bare(trap))
    git(inner, "push", "-q", "origin", "main")
    remote(trap, str(outer))
    git(trap.root, "config", "push.recurseSubmodules", "on-demand")
    git(trap.root, "config", "submodule.inner.active", "true")
    trap.hooks(trap.place / "hooks")
    git(inner, "config", "core.hooksPath", str(trap.place / "hooks"))
    for subject in "yz":
        git(inner, *QUIET, "commit", "-q", "--allow-empty", "-m", subject)
        git(trap.root, "commit", "-qam", "Moved")
        if subject == "y":
            trap.works("push", "origin", "main")


PUSHES = [
    ssh_command, ask_pass, credential_helper, credential_helper_for_one_host, receive_pack, hooks_of_a_push,
    address_that_is_a_command, address_that_becomes_a_command, helper_for_a_remote, proxy_of_gits_own_protocol,
    signed_push, push_in_submodules,
]  # fmt: skip


@pytest.mark.parametrize("vector", PUSHES)
def test_a_push_runs_nothing_the_repository_names(
    root: Path, trap: Trap, server: str, vector: Callable[[Trap, str], None]
) -> None:
    vector(trap, server)
    said = asked(root)
    assert trap.was_run() == ""
    reaches = vector in (receive_pack, hooks_of_a_push, push_in_submodules)
    assert (said == "") == reaches, said
    assert git(root, *QUIET, "fsck", "--strict", "--no-dangling") == ""


FETCHES = [
    ssh_command, ask_pass, credential_helper, credential_helper_for_one_host, address_that_is_a_command,
    helper_for_a_remote, proxy_of_gits_own_protocol,
]  # fmt: skip


@pytest.mark.parametrize("vector", FETCHES)
def test_a_fetch_runs_nothing_the_repository_names(
    root: Path, trap: Trap, server: str, vector: Callable[[Trap, str], None]
) -> None:
    vector(trap, server)
    trap.works("fetch", "origin")
    assert Repository(str(root), os.environ).run_git(["fetch", "origin"]).code
    assert trap.was_run() == ""


def test_a_fetch_starts_the_sender_of_git(root: Path, trap: Trap) -> None:
    remote(trap, bare(trap))
    git(root, "push", "-q", "origin", "main")
    trap.setting("remote.origin.uploadpack")
    trap.hooks(root / ".git" / "hooks")
    trap.works("fetch", "origin")
    assert Repository(str(root), os.environ).run_git(["fetch", "origin"]).code == 0
    assert trap.was_run() == "" and git(root, *QUIET, "rev-parse", "origin/main", "main").split()[0]


def test_what_the_user_has_configured_for_a_push_is_run(root: Path, trap: Trap, server: str) -> None:
    """Also where the repository names something else."""
    mine = trap.place / "mine"
    mine.write_text(f'#!/bin/sh\necho "$0 $*" >> {shlex.quote(str(trap.place / "mine was run"))}\nexit 1\n')
    mine.chmod(0o755)

    def was_run(**settings: str) -> str:
        asked(root, users_own(trap, **settings))
        path = trap.place / "mine was run"
        calls = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        return calls

    ssh_command(trap, server)
    assert "localhost" in was_run(core__sshCommand=str(mine))
    credential_helper(trap, server)
    assert "get" in was_run(credential__helper=str(mine))
    ask_pass(trap, server)
    assert "Username" in was_run(core__askPass=str(mine))
    hooks = trap.place / "my hooks"
    hooks.mkdir()
    (hooks / "pre-push").symlink_to(mine)
    hooks_of_a_push(trap, server)
    assert "origin" in was_run(core__hooksPath=str(hooks))
    assert trap.was_run() == ""


# -- what is fetched on the way: a partial clone lacks objects until they are asked for ---------------


def partial(trap: Trap, root: Path) -> Path:
    """Return a clone without the files of the past."""
    with KnowledgeBase(str(root), os.environ, Clock()) as kb:
        one(kb, FASTAPI)
        kb.confirm("D001")
    git(root, "config", "uploadpack.allowFilter", "true")
    git(root, "config", "uploadpack.allowAnySHA1InWant", "true")
    place = trap.place / "partial"
    git(trap.place, "clone", "-q", "--filter=blob:none", f"file://{root}", str(place))
    return place


def fetched_by(trap: Trap) -> None:
    trap.setting("remote.origin.uploadpack")
    trap.works("show", "HEAD~1:" + RECORD)


def fetched_by_ssh(trap: Trap) -> None:
    git(trap.root, "config", "remote.origin.url", "ssh://localhost:1/kb.git")
    trap.setting("core.sshCommand")
    trap.works("show", "HEAD~1:" + RECORD)


def fetched_from_a_command(trap: Trap) -> None:
    git(trap.root, "config", "remote.origin.url", f"ext::{trap.program} %S")
    trap.setting("protocol.ext.allow", "always")
    trap.works("show", "HEAD~1:" + RECORD)


@pytest.mark.parametrize("vector", [fetched_by, fetched_by_ssh, fetched_from_a_command])
def test_what_is_missing_is_fetched_by_nothing_the_repository_names(
    root: Path, trap: Trap, vector: Callable[[Trap], None]
) -> None:
    trap.root = partial(trap, root)
    vector(trap)
    update = FASTAPI._replace(updates="D001", decision="The backend uses FastAPI and nothing else.", session="s3")
    with KnowledgeBase(str(trap.root), os.environ, Clock()) as kb:
        verdict = one(kb, update)
        assert (verdict.verdict, verdict.spooled) == ("held", True)
        assert "git " in verdict.next, verdict.reasons
    assert trap.was_run() == "" and git(trap.root, *QUIET, "status", "--porcelain") == ""
