"""Tell the orchestrators of opencode to ask kb first: text behind their prompts, in `agents.<name>.prompt_append`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from kb import hosts
from kb.errors import BadInput, UnknownId
from kb.hooks import text_edit
from kb.hooks.settings_file import MEND, SettingsEdit, encode_text, load_original, parse_json_object, read_settings
from kb.i18n import msg
from kb.templates import FOLDER

KNOWN = ("sisyphus", "atlas")
PART = "orchestrators"
_FILE = "oh-my-opencode.json"


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


def render_amendment(name: str, language: str) -> str:
    """Return the text for the orchestrator *name*, with marks around it by which it is found again."""
    with open(os.path.join(FOLDER, "hosts", f"orchestrator.{language}.md"), encoding="utf-8") as file:
        return f"<!-- KB:{name} -->\n{file.read().strip()}\n<!-- KB:end -->"


def plan_installation(path: str, names: Sequence[str], language: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what amending the prompts of *names* changes in *path*; what stands there of others stays."""
    before = read_settings(path)
    is_known, origin = load_original(path, PART, before, environment)
    if not is_known:
        origin = None if before is None else encode_text(_remove_amendments(_decode_settings(before, path)), before)
    text = _decode_settings(origin or b"", path)
    for name in names:
        text = _append_prompt(text, name, render_amendment(name, language))
    after = encode_text(text, origin)
    return SettingsEdit(path, before, after, PART, origin, stands=True)


def plan_removal(path: str, environment: Mapping[str, str]) -> SettingsEdit:
    """Return what taking the amendments out changes in *path*."""
    before = read_settings(path)
    if before is None or not list_amended(path):
        return SettingsEdit(path, before, before, PART)
    is_known, origin = load_original(path, PART, before, environment)
    after = origin if is_known else encode_text(_remove_amendments(_decode_settings(before, path)), before)
    return SettingsEdit(path, before, after, PART)


def list_amended(path: str) -> tuple[str, ...]:
    """Return the orchestrators whose prompts in *path* are amended."""
    text = _decode_settings(read_settings(path) or b"", path)
    return tuple(name for name in KNOWN if f"<!-- KB:{name} -->" in _read_appended_prompt(text, name))


def _decode_settings(data: bytes, path: str) -> str:
    """Return the configuration as text, proved to be of the form its host reads."""
    text, settings = parse_json_object(data, path, comments=True)
    agents = settings.get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(agents.get(name, {}), dict) for name in KNOWN):
        raise BadInput(msg("“agents” is not a JSON object of objects"), path=path, hint=MEND)
    return text


def _find_appended_prompt(text: str, name: str) -> text_edit.JsonSpan | None:
    agents = text_edit.find_member(text, text_edit.find_root(text), "agents") if text.strip() else None
    agent = text_edit.find_member(text, agents.at, name) if agents else None
    return text_edit.find_member(text, agent.at, "prompt_append") if agent else None


def _read_appended_prompt(text: str, name: str) -> str:
    span = _find_appended_prompt(text, name)
    value = json.loads(text[span.at : span.end]) if span else ""
    return value if isinstance(value, str) else ""


def _append_prompt(text: str, name: str, addition: str) -> str:
    text = text if text.strip() else "{}\n"
    if span := _find_appended_prompt(text, name):
        before = _read_appended_prompt(text, name)
        return text_edit.replace_value(text, span, "\n\n".join(filter(None, (before, addition))))
    root = text_edit.find_root(text)
    agents = text_edit.find_member(text, root, "agents")
    agent = text_edit.find_member(text, agents.at, name) if agents else None
    if agent:
        return text_edit.insert_value(text, agent.at, addition, "prompt_append")
    if agents:
        return text_edit.insert_value(text, agents.at, {"prompt_append": addition}, name)
    return text_edit.insert_value(text, root, {name: {"prompt_append": addition}}, "agents")


def _remove_amendments(text: str) -> str:
    for name in KNOWN:
        span, value = _find_appended_prompt(text, name), _read_appended_prompt(text, name)
        start, end = value.find(f"<!-- KB:{name} -->"), value.find("<!-- KB:end -->")
        if span and 0 <= start < end:
            rest = (value[:start].rstrip() + value[end + len("<!-- KB:end -->") :]).strip()
            path = ("agents", name, "prompt_append")
            text = text_edit.replace_value(text, span, rest) if rest else text_edit.remove_path(text, path)
    return text
