"""Tell the orchestrators of opencode to ask kb first: text behind their prompts, in `agents.<name>.prompt_append`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from kb import hosts
from kb.errors import BadInput, UnknownId
from kb.hooks import text_edit
from kb.hooks.settings_file import MEND, SettingsEdit, encode_text, find_origin, parse_json_object, read_settings
from kb.i18n import msg
from kb.templates import FOLDER

KNOWN = ("sisyphus", "atlas")
PART = "orchestrators"
_FILE, _KEY = "oh-my-opencode.json", "prompt_append"


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the configuration of the agents for the project at *folder*, or with "" for the user."""
    plugin = hosts.resolve_settings_path(hosts.OPENCODE.hooks, folder, environment)
    return os.path.join(os.path.dirname(os.path.dirname(plugin)), _FILE)


def parse_names(words: str) -> tuple[str, ...]:
    """Return the orchestrators that *words*, separated by commas, name; raise UnknownId."""
    names = tuple(dict.fromkeys(word.strip().lower() for word in words.split(",") if word.strip()))
    for name in names:
        if name not in KNOWN:
            hint = msg("known: {hosts}", hosts=", ".join(KNOWN))
            raise UnknownId(msg("there is no orchestrator {name}", name=name), hint=hint)
    return names


def plan_installation(path: str, names: Sequence[str], language: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what amending the prompts of *names* changes in *path*; what stands there of others stays."""
    before = read_settings(path)
    _decode_settings(before or b"", path)
    origin = find_origin(path, PART, before, environment, _remove_amendments)
    text = _decode_settings(origin or b"", path)
    with open(os.path.join(FOLDER, "hosts", f"orchestrator.{language}.md"), encoding="utf-8") as file:
        step = file.read().strip()
    for name in names:  # between marks, by which it is found again
        ours = f"<!-- KB:{name} -->\n{step}\n<!-- KB:end -->"
        whole = "\n\n".join(filter(None, (_read_prompt(text, name), ours)))
        text = text_edit.put_value(text, ("agents", name, _KEY), whole)
    return SettingsEdit(path, before, encode_text(text, origin), PART, origin, stands=True)


def plan_removal(path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the amendments out changes in *path*."""
    before = read_settings(path)
    if before is None or not list_amended(path):
        return SettingsEdit(path, before, before, PART)
    return SettingsEdit(path, before, find_origin(path, PART, before, environment, _remove_amendments), PART)


def list_amended(path: str) -> tuple[str, ...]:
    """Return the orchestrators whose prompts in *path* are amended."""
    text = _decode_settings(read_settings(path) or b"", path)
    return tuple(name for name in KNOWN if f"<!-- KB:{name} -->" in _read_prompt(text, name))


def _decode_settings(data: bytes, path: str) -> str:
    """Return the configuration as text, proved to be of the form its host reads."""
    text, settings = parse_json_object(data, path, comments=True)
    agents = settings.get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(agents.get(name, {}), dict) for name in KNOWN):
        raise BadInput(msg("“agents” is not a JSON object of objects"), path=path, hint=MEND)
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
