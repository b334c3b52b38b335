"""Connect an agent: write the server into its settings and take it out again; everything else stays as it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.hooks import json_edit, toml_edit
from kb.hooks.settings_file import MEND, Change, content, decoded, encoded, json_in, original
from kb.i18n import msg
from kb.paths import home_folder

if TYPE_CHECKING:
    from typing import Any

PROGRAM, SERVER = "kb", "kb"
PART = "mcp"
"""The name of kb's part of a settings file."""


class Client(NamedTuple):
    """An agent that calls MCP servers."""

    name: str
    file: Callable[[str, Mapping[str, str]], str]
    """From the folder of a project ("": the user's own) and the environment to the settings."""
    key: str
    """Under which its servers stand."""
    entry: Callable[[str, Sequence[str]], dict[str, Any]]
    """From program and arguments to what stands there for a server."""


def _claude(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".mcp.json")
    return os.path.join(environment.get("CLAUDE_CONFIG_DIR") or home_folder(environment), ".claude.json")


def _codex(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".codex", "config.toml")
    return os.path.join(
        environment.get("CODEX_HOME") or os.path.join(home_folder(environment), ".codex"), "config.toml"
    )


def _gemini(folder: str, environment: Mapping[str, str]) -> str:
    return os.path.join(folder or home_folder(environment), ".gemini", "settings.json")


def _copilot(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".github", "mcp.json")
    home = environment.get("COPILOT_HOME") or os.path.join(home_folder(environment), ".copilot")
    return os.path.join(home, "mcp-config.json")


def _cursor(folder: str, environment: Mapping[str, str]) -> str:
    return os.path.join(folder or home_folder(environment), ".cursor", "mcp.json")


def _opencode(folder: str, environment: Mapping[str, str]) -> str:
    settings = environment.get("XDG_CONFIG_HOME") or os.path.join(home_folder(environment), ".config")
    place = folder or environment.get("OPENCODE_CONFIG_DIR") or os.path.join(settings, "opencode")
    commented = os.path.join(place, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(place, "opencode.json")


def _plain(program: str, arguments: Sequence[str]) -> dict[str, Any]:
    return {"command": program, "args": [*arguments]}


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude", _claude, "mcpServers", lambda p, a: {"type": "stdio", **_plain(p, a)}),
        Client("codex", _codex, "mcp_servers", _plain),
        Client("gemini", _gemini, "mcpServers", _plain),
        Client("copilot", _copilot, "mcpServers", lambda p, a: {"type": "local", **_plain(p, a), "tools": ["*"]}),
        Client("cursor", _cursor, "mcpServers", _plain),
        Client("opencode", _opencode, "mcp", lambda p, a: {"type": "local", "command": [p, *a], "enabled": True}),
    )
}
"""The agents kb can be connected to. Where their settings stand: docs/mcp.md."""


def client_named(name: str) -> Client:
    """Return the client *name*; raise UnknownId."""
    if name not in CLIENTS:
        known = msg("known: {hosts}", hosts=", ".join(CLIENTS))
        raise UnknownId(msg("there is no client {name}", name=name), hint=known)
    return CLIENTS[name]


def program(*, shared: bool) -> str:
    """Return what starts kb: the one of the running Python, or in *shared* settings the one on everybody's path."""
    beside = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    return beside if os.path.exists(beside) and not shared else PROGRAM


def installation(client: Client, path: str, command: Sequence[str], environment: Mapping[str, str]) -> Change:
    """Return what writing the server, started by *command*, into the settings *path* changes."""
    before = content(path)
    text, settings = _read(client, before or b"", path)
    wanted = client.entry(command[0], command[1:])
    there = _entry(client, settings, path)
    if there is not None and not _is_ours(there):
        raise BadInput(
            msg("the server {name} is another program's", name=SERVER), path=path,
            hint=msg("rename it there, then try again"),
        )  # fmt: skip
    if there is not None and {**there, **wanted} == there:
        return Change(path, before, before, PART)
    is_known, origin = original(path, PART, before, environment)
    if not is_known:
        origin = before if there is None else encoded(_without(client, text), before)
    after = _with(client, text, wanted, there)
    _prove(client, after, settings, {**(there or {}), **wanted}, path)
    return Change(path, before, encoded(after, before), PART, origin, stands=True)


def removal(client: Client, path: str, environment: Mapping[str, str]) -> Change:
    """Return what taking the server out of the settings *path* changes: all of it back where nothing else changed."""
    before = content(path)
    text, settings = _read(client, before or b"", path)
    there = _entry(client, settings, path)
    if before is None or there is None or not _is_ours(there):
        return Change(path, before, before, PART)
    is_known, origin = original(path, PART, before, environment)
    if is_known:
        return Change(path, before, origin, PART)
    after = _without(client, text)
    _prove(client, after, settings, None, path)
    return Change(path, before, encoded(after, before), PART)


def _read(client: Client, data: bytes, path: str) -> tuple[str, dict[str, Any]]:
    if not path.endswith(".toml"):
        return json_in(data, path, comments=True)
    import tomllib

    text = decoded(data, path)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(msg("not valid TOML: {problem}", problem=error), path=path, hint=MEND) from None


def _entry(client: Client, settings: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Return what stands for kb's name in *settings*, None for nothing; raise BadInput where no servers can stand."""
    servers = settings.get(client.key, {})
    there = servers.get(SERVER) if isinstance(servers, dict) else servers
    if not isinstance(servers, dict) or not isinstance(there, dict | None):
        raise BadInput(
            msg("“{key}” is not what {client} reads", key=client.key, client=client.name), path=path, hint=MEND
        )
    return there


def _is_ours(entry: Mapping[str, Any]) -> bool:
    """Return whether a server is kb's: `kb … mcp`, wherever that kb stands."""
    command = entry.get("command")
    words = [*command] if isinstance(command, list) else [command, *(entry.get("args") or [])]
    return all(isinstance(word, str) for word in words) and os.path.basename(words[0]) == PROGRAM and words[-1] == "mcp"


def _with(client: Client, text: str, wanted: Mapping[str, Any], there: Mapping[str, Any] | None) -> str:
    if client.name == "codex":
        return toml_edit.with_table(text, (client.key, SERVER), wanted)
    text = text if text.strip() else "{}\n"
    root = json_edit.top(text)
    servers = json_edit.member(text, root, client.key)
    if servers is None:
        return json_edit.added(text, root, {SERVER: wanted}, client.key)
    if there is None:
        return json_edit.added(text, servers.at, wanted, SERVER)
    for key, value in wanted.items():
        servers = json_edit.member(text, json_edit.top(text), client.key)
        assert servers is not None
        entry = json_edit.member(text, servers.at, SERVER)
        assert entry is not None
        part = json_edit.member(text, entry.at, key)
        text = json_edit.replaced(text, part, value) if part else json_edit.added(text, entry.at, value, key)
    return text


def _without(client: Client, text: str) -> str:
    if client.name == "codex":
        return toml_edit.without_table(text, (client.key, SERVER))
    root = json_edit.top(text)
    servers = json_edit.member(text, root, client.key)
    assert servers is not None
    inside = json_edit.inside(text, servers.at)
    if len(inside) > 1:
        return json_edit.without(text, servers.at, [value.key for value in inside].index(SERVER))
    members = [value.key for value in json_edit.inside(text, root)]
    return json_edit.without(text, root, members.index(client.key))


def _prove(client: Client, text: str, before: Mapping[str, Any], entry: Mapping[str, Any] | None, path: str) -> None:
    """Raise BadInput unless *text* says what *before* said, and *entry* (None: nothing) for kb's server."""
    try:
        _, after = _read(client, text.encode(), path)
    except BadInput:
        after = {}
    rest = [{key: value for key, value in one.items() if key != client.key} for one in (before, after)]
    servers = [dict(one.get(client.key, {})) for one in (before, after)]
    found = servers[1].pop(SERVER, None)
    servers[0].pop(SERVER, None)
    if rest[0] != rest[1] or servers[0] != servers[1] or found != entry:
        raise BadInput(msg("the server cannot be changed without changing more"), path=path, hint=MEND)
