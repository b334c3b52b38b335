"""Claude Code's hooks, run by another agent program: Copilot CLI and Cursor read a project's `.claude/settings.json`.

There they get payloads of Claude Code's shape with fields of their own. Where kb's own hooks for that program are
installed, those answer and these say nothing; else these answer as Claude Code's do, but never with an exit code that
the program takes for a denial.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kb.hooks import claude
from kb.hooks.settings_file import find_project_root
from kb.hosts import HookResponse, Host, find_guest, resolve_settings_path

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "Read": {"path": "file_path"},
    "Write": {"path": "file_path", "file_text": "content"},
    "Edit": {"path": "file_path", "old_str": "old_string", "new_str": "new_string"},
}
"""Copilot gives its tools Claude Code's names and leaves what they are given as it is."""


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None where kb's own hooks for the program are asked as well."""
    host = find_guest(payload, os.environ)
    assert host
    if _has_own_hooks(host, payload):
        return None
    name, given = payload.get("tool_name"), payload.get("tool_input")
    fields = _FIELDS.get(name, {}) if isinstance(name, str) else {}
    renamed = {fields.get(key, key): value for key, value in given.items()} if isinstance(given, dict) else {}
    codec = import_module(f"kb.hooks.{host.name}")
    made: dict[str, Any] | None = codec.normalise_payload(event, {**payload, "tool_input": renamed})
    return made


def _has_own_hooks(host: Host, payload: Mapping[str, Any]) -> bool:
    folder = payload.get("cwd")
    folders = ["", find_project_root(folder)] if isinstance(folder, str) and folder else [""]
    for each in folders:
        path = resolve_settings_path(host.hooks, each, os.environ)
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
            if f"--host {host.name}".encode() in file.read():  # as `install.build_hooks` writes it
                return True
    return False


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; an input is left, as it would have to be written in the program's own names."""
    return claude.render_response(event, decision._replace(updated_input=None), payload)
