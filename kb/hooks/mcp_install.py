"""Connect an agent host: write the MCP server into its settings and take it out again.

Everything else in the settings stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kb.errors import BadInput, UnknownId
from kb.hooks import text_edit
from kb.hooks.settings_file import (
    MEND,
    SettingsEdit,
    decode_text,
    encode_text,
    find_origin,
    find_own_program,
    parse_json_object,
    read_settings,
)
from kb.hosts import HOSTS, SERVER_ARGUMENTS, SERVER_LINE, SERVER_PROGRAM, Host
from kb.i18n import msg

PROGRAM, SERVER = "kb", "kb"
PART = "mcp"
"""The name of kb's part of a settings file."""


def get_client(name: str) -> Host:
    """Return the host *name*, which is a client of MCP servers; raise UnknownId."""
    if name not in HOSTS:
        known = msg("known: {hosts}", hosts=", ".join(HOSTS))
        raise UnknownId(msg("there is no client {name}", name=name), hint=known)
    return HOSTS[name]


def find_program(*, shared: bool) -> str:
    """Return what starts kb: the one of the running Python, or in *shared* settings the one on everybody's path."""
    return PROGRAM if shared else find_own_program(PROGRAM)


def build_server_entry(client: Host, command: Sequence[str]) -> dict[str, Any]:
    """Return what stands in the settings of *client* for a server that *command* starts."""
    values: dict[str, Any] = {SERVER_PROGRAM: command[0], SERVER_ARGUMENTS: [*command[1:]], SERVER_LINE: [*command]}
    return {
        key: values.get(value, value) if isinstance(value, str) else value for key, value in client.mcp_entry.items()
    }


def plan_installation(client: Host, path: str, command: Sequence[str], environment: Mapping[str, str]) -> SettingsEdit:
    """Return what writing the server, started by *command*, into the settings *path* changes."""
    before = read_settings(path)
    text, settings = _parse_settings(before or b"", path)
    wanted = build_server_entry(client, command)
    entry = _find_server_entry(client, settings, path)
    if entry is not None and not _is_own_server(entry):
        hint = msg("rename it there, then try again")
        raise BadInput(msg("the server {name} is another program's", name=SERVER), path=path, hint=hint)
    if entry is not None and {**entry, **wanted} == entry:
        return SettingsEdit(path, before, before, PART)
    origin = find_origin(path, PART, before, environment, partial(_remove_server, client, path) if entry else str)
    name = (client.mcp_key, SERVER)
    if _is_toml(path):
        after = text_edit.set_table(text, name, wanted)
    elif entry is None:
        after = text_edit.put_value(text, name, wanted)
    else:  # what else stands in the entry, a variable for instance, stays
        after = text
        for key, value in wanted.items():
            after = text_edit.put_value(after, (*name, key), value)
    _validate_edit(client, after, settings, {**(entry or {}), **wanted}, path)
    return SettingsEdit(path, before, encode_text(after, before), PART, origin, stands=True)


def plan_removal(client: Host, path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the server out of the settings *path* changes: all of it back where nothing else changed."""
    before = read_settings(path)
    settings = _parse_settings(before or b"", path)[1]
    entry = _find_server_entry(client, settings, path)
    if before is None or entry is None or not _is_own_server(entry):
        return SettingsEdit(path, before, before, PART)

    def remove_server(text: str) -> str:
        after = _remove_server(client, path, text)
        _validate_edit(client, after, settings, None, path)
        return after

    return SettingsEdit(path, before, find_origin(path, PART, before, environment, remove_server), PART)


def _is_toml(path: str) -> bool:
    return path.endswith(".toml")


def _parse_settings(data: bytes, path: str) -> tuple[str, dict[str, Any]]:
    if not _is_toml(path):
        return parse_json_object(data, path, comments=True)
    import tomllib

    text = decode_text(data, path)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(msg("not valid TOML: {problem}", problem=error), path=path, hint=MEND) from None


def _find_server_entry(client: Host, settings: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Return what stands for kb's name in *settings*, None for nothing; raise BadInput where no servers can stand."""
    servers = settings.get(client.mcp_key, {})
    entry = servers.get(SERVER) if isinstance(servers, dict) else servers
    if not isinstance(servers, dict) or not isinstance(entry, dict | None):
        problem = msg("“{key}” is not what {client} reads", key=client.mcp_key, client=client.name)
        raise BadInput(problem, path=path, hint=MEND)
    return entry


def _is_own_server(entry: Mapping[str, Any]) -> bool:
    """Return whether a server is kb's: `kb … mcp`, wherever that kb stands."""
    command = entry.get("command")
    words = [*command] if isinstance(command, list) else [command, *(entry.get("args") or [])]
    return all(isinstance(word, str) for word in words) and os.path.basename(words[0]) == PROGRAM and words[-1] == "mcp"


def _remove_server(client: Host, path: str, text: str) -> str:
    name = (client.mcp_key, SERVER)
    return text_edit.remove_table(text, name) if _is_toml(path) else text_edit.remove_path(text, name)


def _validate_edit(
    client: Host, text: str, before: Mapping[str, Any], entry: Mapping[str, Any] | None, path: str
) -> None:
    """Raise BadInput unless *text* says what *before* said, and *entry* (None: nothing) for kb's server."""
    try:
        _, after = _parse_settings(text.encode(), path)
    except BadInput:
        after = {}
    rest = [{key: value for key, value in one.items() if key != client.mcp_key} for one in (before, after)]
    servers = [dict(one.get(client.mcp_key, {})) for one in (before, after)]
    found = servers[1].pop(SERVER, None)
    servers[0].pop(SERVER, None)
    if rest[0] != rest[1] or servers[0] != servers[1] or found != entry:
        raise BadInput(msg("the server cannot be changed without changing more"), path=path, hint=MEND)
