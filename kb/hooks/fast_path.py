"""Tell without opening anything that an event has no answer: hooks at tool calls come by the hundred."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.hooks.guard_fast_path import can_skip_guard, get_call_folder, get_session_id, may_discard, may_write
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import record_stamps

if TYPE_CHECKING:
    from typing import Any

SEARCHES = frozenset({"Glob", "Grep"})
SPAWNS = frozenset({"Agent", "Task"})
"""Tools that start a sub-agent: what it is asked for is remembered."""
SETTINGS = "dcp-config.yaml"
CHUNK, PATHS = 1000, 200
"""What the settings say where their file does not."""
_LEAST = 4000
"""Bytes of a search's result below which no setting shortens it."""
_NOT_BY_LINES = (".ipynb", ".pdf")
"""Files that a host reads by cells or pages."""
_BLOCK, _BLOCKS = 1 << 20, 64
"""Bytes that are read at once, and how often at most."""


def can_skip_event(event: str, payload: Mapping[str, Any], root: str) -> bool:
    """Return whether *event* can be answered with nothing right away."""
    if event == "UserPromptSubmit":
        return not str(payload.get("prompt") or "").strip()
    if event == "PreToolUse":
        if payload.get("tool_name") in SPAWNS:
            return False
        usual = not os.path.exists(os.path.join(root, SETTINGS))
        quiet = (
            not _is_long_read(payload, usual=usual)
            and can_skip_guard(payload, root)
            and not _is_near_alert(payload, root)
        )
        return quiet and (not may_write(payload) or _begin_if_unchanged(payload, root))
    if event == "PostToolUse":
        tool = payload.get("tool_name")
        short = not isinstance(tool, str) or tool not in SEARCHES or _is_short_result(payload.get("tool_response"))
        return (
            short and not _is_near_alert(payload, root) and (not may_write(payload) or _end_if_unchanged(payload, root))
        )
    return False


def _begin_if_unchanged(payload: Mapping[str, Any], root: str) -> bool:
    """Note that a call begins and return whether the files that only kb writes are as they were."""
    if may_discard(payload) or not record_stamps.is_unchanged(root, get_call_folder(payload, root)):
        return False
    record_stamps.mark_call_started(root, get_session_id(payload))
    return True


def _end_if_unchanged(payload: Mapping[str, Any], root: str) -> bool:
    """Return whether the files are as they were, and if so note that the call has ended."""
    if not record_stamps.is_unchanged(root, get_call_folder(payload, root)):
        return False
    record_stamps.mark_call_ended(root, get_session_id(payload))
    return True


def _is_near_alert(payload: Mapping[str, Any], root: str) -> bool:
    """Return whether the context may have reached a light: by the size of its transcript when it was looked at last."""
    path, session = payload.get("transcript_path"), payload.get("session_id")
    if not isinstance(path, str) or not isinstance(session, str):
        return False
    try:
        size = os.stat(path).st_size
        with open(os.path.join(root, ".kb", "active", session, "lights.json"), encoding="utf-8") as file:
            until = json.load(file)["until"]
        return not isinstance(until, int) or size >= until
    except (OSError, ValueError, KeyError, TypeError):
        return os.path.exists(path)


def _is_long_read(payload: Mapping[str, Any], *, usual: bool) -> bool:
    given = payload.get("tool_input")
    if payload.get("tool_name") != "Read" or not isinstance(given, dict) or given.get("limit") is not None:
        return False
    path = given.get("file_path")
    return isinstance(path, str) and count_lines(path, CHUNK if usual else 1) > (CHUNK if usual else 1)


def count_lines(path: str, enough: int) -> int:
    """Return how many lines the text file *path* has, counted up to *enough* or 64 MB; 0 where it is none."""
    try:
        if path.lower().endswith(_NOT_BY_LINES) or not os.path.isfile(path):
            return 0
        found = 0
        with open(path, "rb") as file:
            for _ in range(_BLOCKS):
                block = file.read(_BLOCK)
                if b"\0" in block:
                    return 0
                found += block.count(b"\n")
                if not block or found > enough:
                    break
        return found
    except (OSError, ValueError):
        return 0


def _is_short_result(response: object) -> bool:
    if isinstance(response, dict):
        names = response.get("filenames")
        if isinstance(names, list) and len(names) > PATHS:
            return False
        return len(str(response)) < _LEAST
    return not isinstance(response, str) or len(response) < _LEAST
