"""Write kb's plugins: a file for opencode, and a folder for Claude Code.

The orchestrators of opencode, which sort every message, are told to ask kb first: by text after their prompts, in
`agents.<name>.prompt_append`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from kb import __version__
from kb.errors import BadInput, UnknownId
from kb.files import write_file
from kb.hooks import text_edit
from kb.hooks.settings_file import (
    FIX_AND_RETRY,
    SettingsEdit,
    encode_text,
    find_origin,
    parse_json_object,
    read_settings,
)
from kb.hosts import CLAUDE, OPENCODE, SHARED, resolve_settings_path
from kb.i18n import msg
from kb.templates import FOLDER

_FIRST = "// kb's plugin for opencode."
_PROGRAM, _SECONDS = 'const PROGRAM = "kb-hook"\n', "const SECONDS = {}\n"
_OPTIONS = "const OPTIONS = []\n"
MARKETPLACE = "kb-tools"
ABOUT = "Keeps what a session decided in the team's knowledge base, and passes it on to the next one."


def _read_template(name: str) -> str:
    with open(os.path.join(FOLDER, "hosts", name), encoding="utf-8") as file:
        return file.read()


def render_opencode_plugin(program: str, events: Sequence[str], *, is_shared: bool = False) -> str:
    """Return the plugin for opencode, which calls *program* at *events*; *is_shared*: for a project."""
    text = _read_template("opencode.js")
    timeouts = OPENCODE.timeouts
    seconds = json.dumps({event: timeouts[event] for event in events})
    text = text.replace(_PROGRAM, f"const PROGRAM = {json.dumps(program)}\n")
    if is_shared:
        text = text.replace(_OPTIONS, f"const OPTIONS = {json.dumps([SHARED])}\n")
    return text.replace(_SECONDS, f"const SECONDS = {seconds}\n")


def plan_opencode_plugin(path: str, part: str, text: str | None) -> SettingsEdit:
    """Return what putting *text* (None: nothing) in the plugin's place changes; raise BadInput for a file of others."""
    before = read_settings(path)
    if before is not None and not is_own_plugin(before):
        hint = msg("move it away and try again; nothing was changed")
        raise BadInput(msg("this file does not belong to kb"), path=path, hint=hint)
    return SettingsEdit(path, before, None if text is None else text.encode(), part, stands=text is not None)


def is_own_plugin(data: bytes) -> bool:
    """Return whether *data* is kb's plugin for opencode, of whatever version."""
    return data.startswith(_FIRST.encode())


def read_opencode_plugin(path: str) -> tuple[str, Mapping[str, int], bool]:
    """Return the program that the plugin at *path* calls, its events with their seconds, and whether it is a project's.

    Nothing where no such plugin is.
    """
    data = read_settings(path) or b""
    if not is_own_plugin(data):
        return "", {}, False
    constants = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, sign, value = line.removeprefix("const ").partition(" = ")
        if line.startswith("const ") and sign and name in ("PROGRAM", "SECONDS", "OPTIONS"):
            try:
                constants[name] = json.loads(value)
            except ValueError:
                continue
    program, seconds = constants.get("PROGRAM"), constants.get("SECONDS")
    if not isinstance(program, str) or not isinstance(seconds, dict):
        return "", {}, False
    known = {event: number for event, number in seconds.items() if isinstance(number, int)}
    return program, known, constants.get("OPTIONS") == [SHARED]


def render_claude_plugin(
    program: str, words: Mapping[str, str], *, mcp: bool = False, folder: str = "kb"
) -> dict[str, str]:
    """Return a marketplace with kb as its one plugin, by paths within it; *words* are those of the events.

    *folder*: where in the marketplace the plugin is.
    """
    about: dict[str, Any] = {
        "name": "kb",
        "version": __version__,
        "description": ABOUT,
        "author": {"name": "the kb project"},
    }
    hooks = {}
    for row in CLAUDE.event_rows:
        matched = {"matcher": row.matcher} if row.matcher else {}
        call = {"type": "command", "command": f"{program} {words[row.event]}", "timeout": row.seconds}
        hooks[row.event] = [{**matched, "hooks": [call]}]
    files = {
        ".claude-plugin/marketplace.json": {
            "name": MARKETPLACE,
            "owner": {"name": "the kb project"},
            "metadata": {"description": ABOUT},
            "description": ABOUT,
            "plugins": [{**about, "source": f"./{folder}"}],
        },
        f"{folder}/.claude-plugin/plugin.json": {
            **about,
            "license": "MIT",
            "keywords": ["adr", "knowledge-base", "memory"],
        },
        f"{folder}/hooks/hooks.json": {"description": ABOUT, "hooks": hooks},
    }
    if mcp:
        files[f"{folder}/.mcp.json"] = {"mcpServers": {"kb": {"command": "kb", "args": ["mcp"]}}}
    written = {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in files.items()}
    return {**written, f"{folder}/README.md": _read_template("claude-plugin.md")}


def find_claude_plugin(folder: str, environment: Mapping[str, str]) -> str:
    """Return where the plugin of kb is that Claude Code uses in *folder*; "" where it uses none."""
    user = resolve_settings_path(CLAUDE.hooks, "", environment)
    files = [user]
    if folder:
        project = resolve_settings_path(CLAUDE.hooks, folder, environment)
        files += [project, os.path.join(os.path.dirname(project), "settings.local.json")]
    enabled: dict[str, object] = {}
    for path in files:
        found = _load_json(path).get("enabledPlugins")
        enabled |= found if isinstance(found, dict) else {}
    known = _load_json(os.path.join(os.path.dirname(user), "plugins", "installed_plugins.json")).get("plugins")
    # `kb@kb-tools`: after the @ stands the marketplace, which a team may have named otherwise
    for name, installs in known.items() if isinstance(known, dict) else ():
        if enabled.get(name) is True and name.partition("@")[0] == "kb" and isinstance(installs, list):
            paths = [one.get("installPath") for one in installs if isinstance(one, dict)]
            for place in (place for place in paths if isinstance(place, str)):
                if b"kb-hook" in (read_settings(os.path.join(place, "hooks", "hooks.json")) or b""):
                    return place
    return ""


def _load_json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(read_settings(path) or b"{}")
    except (ValueError, RecursionError, OSError, BadInput):
        return {}
    return value if isinstance(value, dict) else {}


def write_folder(folder: str, files: Mapping[str, str]) -> list[str]:
    """Write *files* into *folder*, which is new, empty or written by this before; return what changed."""
    known = set(files) | {"kb/.mcp.json"}
    for inside, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(inside, name), folder).replace(os.sep, "/")
            if path not in known:
                raise BadInput(msg("this folder contains other files"), path=folder, hint=msg("name a new folder"))
    changed = []
    for path, text in files.items():
        target = os.path.join(folder, *path.split("/"))
        if read_settings(target) != text.encode():
            write_file(target, text.encode())
            changed.append(path)
    return changed


# -- orchestrators of opencode ---------------------------------------------------------------------

KNOWN = ("sisyphus", "atlas")
_AGENTS_PART = "orchestrators"
_AGENTS_FILE, _KEY = "oh-my-opencode.json", "prompt_append"


def resolve_agents_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the configuration of the agents for the project at *folder*, or with "" for the user."""
    plugin = resolve_settings_path(OPENCODE.hooks, folder, environment)
    return os.path.join(os.path.dirname(os.path.dirname(plugin)), _AGENTS_FILE)


def parse_names(words: str) -> tuple[str, ...]:
    """Return the orchestrators that *words*, separated by commas, name; raise UnknownId."""
    names = tuple(dict.fromkeys(word.strip().lower() for word in words.split(",") if word.strip()))
    for name in names:
        if name not in KNOWN:
            hint = msg("known: {hosts}", hosts=list(KNOWN))
            raise UnknownId(msg("there is no orchestrator {name}", name=name), hint=hint)
    return names


def plan_amendment(path: str, names: Sequence[str], language: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what amending the prompts of *names* changes in *path*; what is there of others stays."""
    before = read_settings(path)
    _decode_agents(before or b"", path)
    origin = find_origin(path, _AGENTS_PART, before, environment, _remove_amendments)
    text = _decode_agents(origin or b"", path)
    step = _read_template(f"orchestrator.{language}.md").strip()
    for name in names:  # between marks, by which it is found again
        ours = f"<!-- KB:{name} -->\n{step}\n<!-- KB:end -->"
        whole = "\n\n".join(filter(None, (_read_prompt(text, name), ours)))
        text = text_edit.put_value(text, ("agents", name, _KEY), whole)
    return SettingsEdit(path, before, encode_text(text, origin), _AGENTS_PART, origin, stands=True)


def plan_amendment_removal(path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the amendments out changes in *path*."""
    before = read_settings(path)
    if before is None or not list_amended(path):
        return SettingsEdit(path, before, before, _AGENTS_PART)
    return SettingsEdit(
        path, before, find_origin(path, _AGENTS_PART, before, environment, _remove_amendments), _AGENTS_PART
    )


def list_amended(path: str) -> tuple[str, ...]:
    """Return the orchestrators whose prompts in *path* are amended."""
    text = _decode_agents(read_settings(path) or b"", path)
    return tuple(name for name in KNOWN if f"<!-- KB:{name} -->" in _read_prompt(text, name))


def _decode_agents(data: bytes, path: str) -> str:
    """Return the configuration as text, proved to be of the form its host reads."""
    text, settings = parse_json_object(data, path, comments=True)
    agents = settings.get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(agents.get(name, {}), dict) for name in KNOWN):
        raise BadInput(msg("“agents” is not a JSON object of objects"), path=path, hint=FIX_AND_RETRY)
    return text


def _read_prompt(text: str, name: str) -> str:
    """Return what is appended to the prompt of the agent *name*."""
    span = text_edit.find_path(text, ("agents", name, _KEY))
    value = json.loads(text[span.at : span.end]) if span else ""
    return value if isinstance(value, str) else ""


def _remove_amendments(text: str) -> str:
    for name in KNOWN:
        path, value = ("agents", name, _KEY), _read_prompt(text, name)
        start, end = value.find(f"<!-- KB:{name} -->"), value.find("<!-- KB:end -->")
        if 0 <= start < end:
            rest = (value[:start].rstrip() + value[end + len("<!-- KB:end -->") :]).strip()
            text = text_edit.put_value(text, path, rest) if rest else text_edit.remove_path(text, path)
    return text
