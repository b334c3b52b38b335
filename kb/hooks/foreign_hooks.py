"""Claude Code's hooks, run by another agent program: Copilot CLI and Cursor read a project's `.claude/settings.json`.

There they get payloads of Claude Code's shape with fields of their own. Where kb's own hooks for that program are
installed, those answer and these say nothing; else these answer as Claude Code's do, but never with an exit code that
the program takes for a denial.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.guard.response import HookResponse
from kb.hooks import claude
from kb.hooks.install import load_host
from kb.hooks.settings_file import find_project_root
from kb.sessions import host_input

if TYPE_CHECKING:
    from typing import Any

EVENTS, TIMEOUTS = claude.EVENTS, claude.TIMEOUTS
FAILED = 0
_TOOLS: host_input.Tools = {
    "Read": ("Read", {"path": "file_path"}),
    "Write": ("Write", {"path": "file_path", "file_text": "content"}),
    "Edit": ("Edit", {"path": "file_path", "old_str": "old_string", "new_str": "new_string"}),
}
"""Copilot gives its tools Claude Code's names and leaves what they are given as it is."""


def detect_program(given: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Return which program sent a payload in Claude Code's shape: "copilot", "cursor", or "" for Claude Code itself.

    The environment alone does not tell: a Claude Code that was started inside of Copilot has Copilot's.
    """
    if "cursor_version" in given:
        return "cursor"
    return "copilot" if "COPILOT_CLI" in environment and "timestamp" in given else ""


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None where kb's own hooks for the program are asked as well."""
    program = detect_program(payload, os.environ)
    if _has_own_hooks(program, payload):
        return None
    name, given = host_input.translate_tool(_TOOLS, payload.get("tool_name"), payload.get("tool_input"))
    made: dict[str, Any] | None = load_host(program).normalise_payload(
        event, {**payload, "tool_name": name, "tool_input": given}
    )
    return made


def _has_own_hooks(program: str, payload: Mapping[str, Any]) -> bool:
    folder = payload.get("cwd")
    places = ["", find_project_root(folder)] if isinstance(folder, str) and folder else [""]
    mark = f"--host {program}".encode()
    return any(mark in _read_bytes(load_host(program).resolve_settings_path(place, os.environ)) for place in places)


def _read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return b""


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; an input is left, as it would have to be written in the program's own names."""
    return claude.render_response(event, decision._replace(updated_input=None), payload)
