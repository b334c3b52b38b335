"""Connect an agent: write the server into its settings and take it out again; everything else stays as it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.hooks import json_edit, toml_edit
from kb.hooks.settings_file import (
    MEND,
    SettingsEdit,
    decode_text,
    encode_text,
    load_original,
    parse_json_object,
    read_settings,
)
from kb.i18n import msg
from kb.paths import home_folder

if TYPE_CHECKING:
    from typing import Any

PROGRAM, SERVER = "kb", "kb"
PART = "mcp"
"""The name of kb's part of a settings file."""


class McpClient(NamedTuple):
    """An agent that calls MCP servers."""

    name: str
    file: Callable[[str, Mapping[str, str]], str]
    """From the folder of a project ("": the user's own) and the environment to the settings."""
    key: str
    """Under which its servers stand."""
    entry: Callable[[str, Sequence[str]], dict[str, Any]]
    """From program and arguments to what stands there for a server."""


def _resolve_claude_path(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".mcp.json")
    return os.path.join(environment.get("CLAUDE_CONFIG_DIR") or home_folder(environment), ".claude.json")


def _resolve_codex_path(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".codex", "config.toml")
    return os.path.join(
        environment.get("CODEX_HOME") or os.path.join(home_folder(environment), ".codex"), "config.toml"
    )


def _resolve_gemini_path(folder: str, environment: Mapping[str, str]) -> str:
    return os.path.join(folder or home_folder(environment), ".gemini", "settings.json")


def _resolve_copilot_path(folder: str, environment: Mapping[str, str]) -> str:
    if folder:
        return os.path.join(folder, ".github", "mcp.json")
    home = environment.get("COPILOT_HOME") or os.path.join(home_folder(environment), ".copilot")
    return os.path.join(home, "mcp-config.json")


def _resolve_cursor_path(folder: str, environment: Mapping[str, str]) -> str:
    return os.path.join(folder or home_folder(environment), ".cursor", "mcp.json")


def _resolve_opencode_path(folder: str, environment: Mapping[str, str]) -> str:
    settings = environment.get("XDG_CONFIG_HOME") or os.path.join(home_folder(environment), ".config")
    place = folder or environment.get("OPENCODE_CONFIG_DIR") or os.path.join(settings, "opencode")
    commented = os.path.join(place, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(place, "opencode.json")


def _build_server_entry(program: str, arguments: Sequence[str]) -> dict[str, Any]:
    return {"command": program, "args": [*arguments]}


CLIENTS: Mapping[str, McpClient] = {
    client.name: client
    for client in (
        McpClient(
            "claude", _resolve_claude_path, "mcpServers", lambda p, a: {"type": "stdio", **_build_server_entry(p, a)}
        ),
        McpClient("codex", _resolve_codex_path, "mcp_servers", _build_server_entry),
        McpClient("gemini", _resolve_gemini_path, "mcpServers", _build_server_entry),
        McpClient(
            "copilot",
            _resolve_copilot_path,
            "mcpServers",
            lambda p, a: {"type": "local", **_build_server_entry(p, a), "tools": ["*"]},
        ),
        McpClient("cursor", _resolve_cursor_path, "mcpServers", _build_server_entry),
        McpClient(
            "opencode",
            _resolve_opencode_path,
            "mcp",
            lambda p, a: {"type": "local", "command": [p, *a], "enabled": True},
        ),
    )
}
"""The agents kb can be connected to. Where their settings stand: docs/mcp.md."""


def get_client(name: str) -> McpClient:
    """Return the client *name*; raise UnknownId."""
    if name not in CLIENTS:
        known = msg("known: {hosts}", hosts=", ".join(CLIENTS))
        raise UnknownId(msg("there is no client {name}", name=name), hint=known)
    return CLIENTS[name]


def find_program(*, shared: bool) -> str:
    """Return what starts kb: the one of the running Python, or in *shared* settings the one on everybody's path."""
    beside = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    return beside if os.path.exists(beside) and not shared else PROGRAM


def plan_installation(
    client: McpClient, path: str, command: Sequence[str], environment: Mapping[str, str]
) -> SettingsEdit:
    """Return what writing the server, started by *command*, into the settings *path* changes."""
    before = read_settings(path)
    text, settings = _parse_settings(client, before or b"", path)
    wanted = client.entry(command[0], command[1:])
    there = _find_server_entry(client, settings, path)
    if there is not None and not _is_own_server(there):
        raise BadInput(
            msg("the server {name} is another program's", name=SERVER), path=path,
            hint=msg("rename it there, then try again"),
        )  # fmt: skip
    if there is not None and {**there, **wanted} == there:
        return SettingsEdit(path, before, before, PART)
    is_known, origin = load_original(path, PART, before, environment)
    if not is_known:
        origin = before if there is None else encode_text(_remove_server(client, text), before)
    after = _add_server(client, text, wanted, there)
    _validate_edit(client, after, settings, {**(there or {}), **wanted}, path)
    return SettingsEdit(path, before, encode_text(after, before), PART, origin, stands=True)


def plan_removal(client: McpClient, path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the server out of the settings *path* changes: all of it back where nothing else changed."""
    before = read_settings(path)
    text, settings = _parse_settings(client, before or b"", path)
    there = _find_server_entry(client, settings, path)
    if before is None or there is None or not _is_own_server(there):
        return SettingsEdit(path, before, before, PART)
    is_known, origin = load_original(path, PART, before, environment)
    if is_known:
        return SettingsEdit(path, before, origin, PART)
    after = _remove_server(client, text)
    _validate_edit(client, after, settings, None, path)
    return SettingsEdit(path, before, encode_text(after, before), PART)


def _parse_settings(client: McpClient, data: bytes, path: str) -> tuple[str, dict[str, Any]]:
    if not path.endswith(".toml"):
        return parse_json_object(data, path, comments=True)
    import tomllib

    text = decode_text(data, path)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(msg("not valid TOML: {problem}", problem=error), path=path, hint=MEND) from None


def _find_server_entry(client: McpClient, settings: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Return what stands for kb's name in *settings*, None for nothing; raise BadInput where no servers can stand."""
    servers = settings.get(client.key, {})
    there = servers.get(SERVER) if isinstance(servers, dict) else servers
    if not isinstance(servers, dict) or not isinstance(there, dict | None):
        raise BadInput(
            msg("“{key}” is not what {client} reads", key=client.key, client=client.name), path=path, hint=MEND
        )
    return there


def _is_own_server(entry: Mapping[str, Any]) -> bool:
    """Return whether a server is kb's: `kb … mcp`, wherever that kb stands."""
    command = entry.get("command")
    words = [*command] if isinstance(command, list) else [command, *(entry.get("args") or [])]
    return all(isinstance(word, str) for word in words) and os.path.basename(words[0]) == PROGRAM and words[-1] == "mcp"


def _add_server(client: McpClient, text: str, wanted: Mapping[str, Any], there: Mapping[str, Any] | None) -> str:
    if client.name == "codex":
        return toml_edit.set_table(text, (client.key, SERVER), wanted)
    text = text if text.strip() else "{}\n"
    root = json_edit.find_root(text)
    servers = json_edit.find_member(text, root, client.key)
    if servers is None:
        return json_edit.insert_value(text, root, {SERVER: wanted}, client.key)
    if there is None:
        return json_edit.insert_value(text, servers.at, wanted, SERVER)
    for key, value in wanted.items():
        servers = json_edit.find_member(text, json_edit.find_root(text), client.key)
        assert servers is not None
        entry = json_edit.find_member(text, servers.at, SERVER)
        assert entry is not None
        part = json_edit.find_member(text, entry.at, key)
        text = (
            json_edit.replace_value(text, part, value) if part else json_edit.insert_value(text, entry.at, value, key)
        )
    return text


def _remove_server(client: McpClient, text: str) -> str:
    if client.name == "codex":
        return toml_edit.remove_table(text, (client.key, SERVER))
    root = json_edit.find_root(text)
    servers = json_edit.find_member(text, root, client.key)
    assert servers is not None
    inside = json_edit.list_children(text, servers.at)
    if len(inside) > 1:
        return json_edit.remove_value(text, servers.at, [value.key for value in inside].index(SERVER))
    members = [value.key for value in json_edit.list_children(text, root)]
    return json_edit.remove_value(text, root, members.index(client.key))


def _validate_edit(
    client: McpClient, text: str, before: Mapping[str, Any], entry: Mapping[str, Any] | None, path: str
) -> None:
    """Raise BadInput unless *text* says what *before* said, and *entry* (None: nothing) for kb's server."""
    try:
        _, after = _parse_settings(client, text.encode(), path)
    except BadInput:
        after = {}
    rest = [{key: value for key, value in one.items() if key != client.key} for one in (before, after)]
    servers = [dict(one.get(client.key, {})) for one in (before, after)]
    found = servers[1].pop(SERVER, None)
    servers[0].pop(SERVER, None)
    if rest[0] != rest[1] or servers[0] != servers[1] or found != entry:
        raise BadInput(msg("the server cannot be changed without changing more"), path=path, hint=MEND)
