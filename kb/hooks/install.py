"""Connect an agent host: write kb's hooks and its MCP server into the settings and take them out again.

Only kb's own entries are touched. `settings_file` and `text_edit` make the change.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.hooks import plugin, text_edit
from kb.hooks.settings_file import (
    FIX_AND_RETRY,
    SettingsEdit,
    decode_text,
    encode_text,
    find_origin,
    find_own_program,
    find_project_root,
    parse_json_object,
    read_settings,
)
from kb.hosts import (
    COMMAND,
    EVENTS,
    HOSTS,
    MILLISECONDS,
    SECONDS,
    SERVER_ARGUMENTS,
    SERVER_LINE,
    SERVER_PROGRAM,
    SHARED,
    Host,
    resolve_settings_path,
)
from kb.i18n import msg
from kb.text.segment import find_line_number

PROGRAM = "kb-hook"
PART = "hooks"
"""The name of kb's part of a settings file."""
WORDS: Mapping[str, str] = {name: word for word, name in EVENTS.items()}
"""kb's events, each with its word of the command line."""


class Hook(NamedTuple):
    """A hook of kb's in a settings file."""

    event: str
    """By the host's name."""
    command: str
    timeout: int
    """Seconds; 0 where none is given."""
    matcher: str = ""
    """The tools it is called at; "" for all, and for events that are not about tools."""


def get_host(name: str) -> Host:
    """Return the host *name*; raise UnknownId."""
    if name not in HOSTS:
        raise UnknownId(msg("there is no host {name}", name=name), hint=msg("known: {hosts}", hosts=list(HOSTS)))
    return HOSTS[name]


def list_settings_paths(host: str, folder: str, environment: Mapping[str, str]) -> list[str]:
    """Return the settings of *host* that hold for work in *folder*: the user's, then the project's."""
    file = get_host(host).hooks
    files = [resolve_settings_path(file, each, environment) for each in ("", find_project_root(folder))]
    return list(dict.fromkeys(map(os.path.realpath, files)))


def find_hook_program() -> str:
    """Return the `kb-hook` that belongs to the running Python."""
    return find_own_program(PROGRAM)


def find_public_program(environment: Mapping[str, str]) -> str:
    """Return the `kb-hook` that a shell finds outside of an activated virtual environment; "" for none."""
    path = environment.get("PATH", os.defpath).split(os.pathsep)
    # an activated environment is on the path of this shell alone: no host that is started elsewhere finds what is in it
    if active := environment.get("VIRTUAL_ENV"):
        path = [each for each in path if os.path.dirname(os.path.realpath(each)) != os.path.realpath(active)]
    return shutil.which(PROGRAM, path=os.pathsep.join(path)) or ""


def build_hooks(host: Host, program: str, events: Sequence[str] = (), *, is_shared: bool = False) -> list[Hook]:
    """Return the hooks that kb has in *host*, each a line for a shell; *events* narrows them, by any of their names.

    *is_shared*: for settings of a project, whose hooks say nothing where the user's own answer. Raise UnknownId for an
    event that kb has no use for there.
    """
    rows = [(row, WORDS[row.event]) for row in host.event_rows if row.seconds]
    for event in events:
        if not any(event in (row.name, row.event, word) for row, word in rows):
            problem = msg("{host} is not asked for the event {event}", host=host.name, event=event)
            raise UnknownId(problem, hint=msg("known: {hosts}", hosts=[row.name for row, _ in rows]))
    tail = ("" if host.name == "claude" else f" --host {host.name}") + (f" {SHARED}" if is_shared else "")
    return [
        Hook(row.name, f"{shlex.quote(program)} {word}{tail}", row.seconds, row.matcher)
        for row, word in rows
        if not events or any(event in (row.name, row.event, word) for event in events)
    ]


# -- what a file says ------------------------------------------------------------------------------


def read_hooks(host: Host, path: str) -> list[Hook]:
    """Return kb's hooks in the settings file *path*; raise BadInput for a file that is not such settings."""
    if not host.entry:
        program, seconds, is_shared = plugin.read_opencode_plugin(path)
        every = build_hooks(host, program, is_shared=is_shared) if program else []
        return [hook._replace(timeout=seconds[hook.event]) for hook in every if hook.event in seconds]
    text = _decode_settings(host, read_settings(path) or b"", path)
    return [hook for _, _, _, hook in find_own_hooks(text)] if text.strip() else []


def _decode_settings(host: Host, data: bytes, path: str) -> str:
    """Return settings as text, proved to be of the form that hooks are kept in; else raise BadInput with the line."""
    text, settings = parse_json_object(data, path, comments=host.is_commented)
    hooks = text_edit.find_member(text, text_edit.find_root(text), "hooks") if text.strip() else None
    if hooks is None:
        return text
    if not isinstance(settings["hooks"], dict):
        line = find_line_number(text, hooks.start)
        raise BadInput(msg("“hooks” is not a JSON object"), path=path, line=line, hint=FIX_AND_RETRY)
    for event in text_edit.list_children(text, hooks.at):
        if text[event.at] != "[":
            line = find_line_number(text, event.start)
            raise BadInput(
                msg("the hooks of {event} are not a list", event=event.key), path=path, line=line, hint=FIX_AND_RETRY
            )
    return text


def _parse_settings(text: str) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(text_edit.strip_comments(text))
    return settings


def find_own_hooks(text: str) -> list[tuple[str, int, int, Hook]]:
    """Return kb's hooks as (event, number of the group, number in the group or -1 where there are none, hook)."""
    found = []
    for event, groups in _parse_settings(text).get("hooks", {}).items():
        for number, group in enumerate(groups):
            entries = group.get("hooks") if isinstance(group, dict) else None
            numbered = list(enumerate(entries)) if isinstance(entries, list) else [(-1, group)]
            for inner, entry in numbered:
                command = (entry.get("command") or entry.get("bash")) if isinstance(entry, dict) else None
                if isinstance(command, str) and is_own_hook(command):
                    matcher = str(group.get("matcher") or "")
                    found.append((event, number, inner, Hook(event, command, _parse_timeout(entry), matcher)))
    return found


def _parse_timeout(entry: Mapping[str, Any]) -> int:
    """Return the timeout of an entry; the host that counts in thousandths gives its hooks names."""
    given = entry.get("timeoutSec", entry.get("timeout"))
    if not isinstance(given, int | float) or not math.isfinite(given):
        return 0
    return int(given) // 1000 if "name" in entry else int(given)


def is_own_hook(command: str) -> bool:
    """Return whether a hook's *command* calls `kb-hook` with an event, and nothing else."""
    try:
        # `/opt/kb/bin/kb-hook stop --host codex` is kb's; `kb-hook stop && notify-send done` is somebody's own line
        program, event, *more = shlex.split(command)
    except ValueError:
        return False
    if os.path.basename(program) != PROGRAM or event not in {*EVENTS, *EVENTS.values()}:
        return False
    more = more[:-1] if more and more[-1] == SHARED else more
    return not more or (more[0] == "--host" and more[1:] in ([host] for host in HOSTS))


def is_for_team(hook: Hook) -> bool:
    """Return whether *hook* of a project's settings runs on every machine, and once where the user has it as well."""
    return hook.command.startswith(f"{PROGRAM} ") and hook.command.endswith(f" {SHARED}")


# -- with and without kb's hooks -------------------------------------------------------------------


def add_hooks(host: Host, text: str, hooks: list[Hook]) -> str:
    """Return the settings *text* with *hooks* behind those that are there."""
    if not text.strip():
        text = json.dumps(dict(host.top), indent=2) + "\n"
    for hook in hooks:
        values = {COMMAND: hook.command, SECONDS: hook.timeout, MILLISECONDS: 1000 * hook.timeout}
        call = {key: values.get(value, value) for key, value in host.entry.items()}
        matched = {"matcher": hook.matcher} if hook.matcher else {}
        entry = {**matched, "hooks": [call]} if host.is_grouped else {**call, **matched}
        text = text_edit.put_value(text, ("hooks", hook.event), entry, as_item=True)
    return text


def remove_hooks(text: str) -> str:
    """Return the settings *text* without kb's hooks, and without what held nothing else."""
    # the last first, and looked for again each time: every removal moves what follows it
    while text.strip() and (ours := find_own_hooks(text)):
        event, number, inner, _ = ours[-1]
        group = ("hooks", event, number)
        entries = _parse_settings(text)["hooks"][event][number].get("hooks") if inner >= 0 else ()
        # a group that held kb's hook alone goes with its matcher
        text = text_edit.remove_path(text, (*group, "hooks", inner) if len(entries) > 1 else group)
    return text


# -- changing a file -------------------------------------------------------------------------------


def plan_installation(
    host: Host,
    path: str,
    program: str,
    environment: Mapping[str, str],
    events: Sequence[str] = (),
    *,
    is_shared: bool = False,
) -> SettingsEdit:
    """Return what installing the hooks changes in the settings *path*; nothing where it has them already.

    *is_shared*: see `build_hooks`.
    """
    hooks = build_hooks(host, program, events, is_shared=is_shared)
    if not host.entry:
        text = plugin.render_opencode_plugin(program, [hook.event for hook in hooks], is_shared=is_shared)
        return plugin.plan_opencode_plugin(path, PART, text)
    before = read_settings(path)
    text = _decode_settings(host, before or b"", path)
    if text.strip() and sorted(hook for _, _, _, hook in find_own_hooks(text)) == sorted(hooks):
        return SettingsEdit(path, before, before, PART)
    origin = find_origin(path, PART, before, environment, remove_hooks)
    text = add_hooks(host, _decode_settings(host, origin or b"", path), hooks)
    _validate_edit(host, origin, path, text, len(hooks))
    return SettingsEdit(path, before, encode_text(text, origin), PART, origin, stands=True)


def plan_removal(host: Host, path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking kb's hooks out changes in the settings *path*: all of it back where nothing else changed."""
    if not host.entry:
        return plugin.plan_opencode_plugin(path, PART, None)
    before = read_settings(path)
    text = _decode_settings(host, before or b"", path)
    if before is None or not text.strip() or not find_own_hooks(text):
        return SettingsEdit(path, before, before, PART)

    def remove_own_hooks(text: str) -> str:
        after = remove_hooks(text)
        _validate_edit(host, before, path, after, 0)
        return after

    return SettingsEdit(path, before, find_origin(path, PART, before, environment, remove_own_hooks), PART)


def _validate_edit(host: Host, origin: bytes | None, path: str, text: str, hooks: int) -> None:
    """Raise BadInput unless *text* has as many *hooks* of kb's and else says what *origin* says."""
    others = _read_other_settings(_decode_settings(host, origin or b"", path))
    if len(find_own_hooks(text)) != hooks or _read_other_settings(text) not in (others, {**host.top, **others}):
        raise BadInput(msg("the hooks cannot be changed without changing more"), path=path, hint=FIX_AND_RETRY)


def _read_other_settings(text: str) -> dict[str, Any]:
    """Return what settings say besides kb's hooks; an event without a hook says nothing."""
    left = remove_hooks(text)
    settings: dict[str, Any] = _parse_settings(left) if left.strip() else {}
    hooks = {event: groups for event, groups in settings.pop("hooks", {}).items() if groups}
    return {**settings, **({"hooks": hooks} if hooks else {})}


# -- MCP server -----------------------------------------------------------------------------------

_KB_PROGRAM, SERVER_NAME = "kb", "kb"
_SERVER_PART = "mcp"
"""The name of kb's part of a settings file."""


def get_client(name: str) -> Host:
    """Return the host *name*, which is a client of MCP servers; raise UnknownId."""
    if name not in HOSTS:
        known = msg("known: {hosts}", hosts=list(HOSTS))
        raise UnknownId(msg("there is no client {name}", name=name), hint=known)
    return HOSTS[name]


def find_server_program(*, shared: bool) -> str:
    """Return what starts kb: the one of the running Python, or in *shared* settings the one on everybody's path."""
    return _KB_PROGRAM if shared else find_own_program(_KB_PROGRAM)


def build_server_entry(client: Host, command: Sequence[str]) -> dict[str, Any]:
    """Return the entry in the settings of *client* for a server that *command* starts."""
    values: dict[str, Any] = {SERVER_PROGRAM: command[0], SERVER_ARGUMENTS: [*command[1:]], SERVER_LINE: [*command]}
    return {
        key: values.get(value, value) if isinstance(value, str) else value for key, value in client.mcp_entry.items()
    }


def list_servers(folder: str, environment: Mapping[str, str]) -> list[str]:
    """Return the settings, the user's and those for work in *folder*, in which kb's server stands, of any client."""
    found = []
    for client in HOSTS.values():
        for top in ("", find_project_root(folder)):
            path = resolve_settings_path(client.mcp, top, environment)
            with contextlib.suppress(BadInput, OSError):  # what cannot be read starts no server
                settings = _parse_server_settings(read_settings(path) or b"", path)[1]
                entry = _find_server_entry(client, settings, path)
                if entry is not None and _is_own_server(entry):
                    found.append(path)
    return list(dict.fromkeys(found))


def plan_server_installation(
    client: Host, path: str, command: Sequence[str], environment: Mapping[str, str]
) -> SettingsEdit:
    """Return what writing the server, started by *command*, into the settings *path* changes."""
    before = read_settings(path)
    text, settings = _parse_server_settings(before or b"", path)
    wanted = build_server_entry(client, command)
    entry = _find_server_entry(client, settings, path)
    if entry is not None and not _is_own_server(entry):
        hint = msg("rename it there, then try again")
        raise BadInput(msg("the server {name} is another program's", name=SERVER_NAME), path=path, hint=hint)
    if entry is not None and {**entry, **wanted} == entry:
        return SettingsEdit(path, before, before, _SERVER_PART)
    origin = find_origin(
        path, _SERVER_PART, before, environment, partial(_remove_server, client, path) if entry else str
    )
    name = (client.mcp_key, SERVER_NAME)
    if _is_toml(path):
        after = text_edit.set_table(text, name, wanted)
    elif entry is None:
        after = text_edit.put_value(text, name, wanted)
    else:  # what else is in the entry, a variable for instance, stays
        after = text
        for key, value in wanted.items():
            after = text_edit.put_value(after, (*name, key), value)
    _validate_server_edit(client, after, settings, {**(entry or {}), **wanted}, path)
    return SettingsEdit(path, before, encode_text(after, before), _SERVER_PART, origin, stands=True)


def plan_server_removal(client: Host, path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the server out of the settings *path* changes: all of it back where nothing else changed."""
    before = read_settings(path)
    settings = _parse_server_settings(before or b"", path)[1]
    entry = _find_server_entry(client, settings, path)
    if before is None or entry is None or not _is_own_server(entry):
        return SettingsEdit(path, before, before, _SERVER_PART)

    def remove_server(text: str) -> str:
        after = _remove_server(client, path, text)
        _validate_server_edit(client, after, settings, None, path)
        return after

    return SettingsEdit(path, before, find_origin(path, _SERVER_PART, before, environment, remove_server), _SERVER_PART)


def _is_toml(path: str) -> bool:
    return path.endswith(".toml")


def _parse_server_settings(data: bytes, path: str) -> tuple[str, dict[str, Any]]:
    if not _is_toml(path):
        return parse_json_object(data, path, comments=True)
    import tomllib

    text = decode_text(data, path)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(msg("not valid TOML: {problem}", problem=error), path=path, hint=FIX_AND_RETRY) from None


def _find_server_entry(client: Host, settings: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Return what stands for kb's name in *settings*, None for nothing; raise BadInput where no servers can stand."""
    servers = settings.get(client.mcp_key, {})
    entry = servers.get(SERVER_NAME) if isinstance(servers, dict) else servers
    if not isinstance(servers, dict) or not isinstance(entry, dict | None):
        problem = msg("“{key}” is not what {client} reads", key=client.mcp_key, client=client.name)
        raise BadInput(problem, path=path, hint=FIX_AND_RETRY)
    return entry


def _is_own_server(entry: Mapping[str, Any]) -> bool:
    """Return whether a server is kb's: `kb … mcp`, wherever that kb stands."""
    command = entry.get("command")
    words = [*command] if isinstance(command, list) else [command, *(entry.get("args") or [])]
    return (
        all(isinstance(word, str) for word in words)
        and os.path.basename(words[0]) == _KB_PROGRAM
        and words[-1] == "mcp"
    )


def _remove_server(client: Host, path: str, text: str) -> str:
    name = (client.mcp_key, SERVER_NAME)
    return text_edit.remove_table(text, name) if _is_toml(path) else text_edit.remove_path(text, name)


def _validate_server_edit(
    client: Host, text: str, before: Mapping[str, Any], entry: Mapping[str, Any] | None, path: str
) -> None:
    """Raise BadInput unless *text* says what *before* said, and *entry* (None: nothing) for kb's server."""
    try:
        _, after = _parse_server_settings(text.encode(), path)
    except BadInput:
        after = {}
    rest = [{key: value for key, value in one.items() if key != client.mcp_key} for one in (before, after)]
    servers = [dict(one.get(client.mcp_key, {})) for one in (before, after)]
    found = servers[1].pop(SERVER_NAME, None)
    servers[0].pop(SERVER_NAME, None)
    if rest[0] != rest[1] or servers[0] != servers[1] or found != entry:
        raise BadInput(msg("the server cannot be changed without changing more"), path=path, hint=FIX_AND_RETRY)
