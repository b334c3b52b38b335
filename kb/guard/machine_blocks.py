"""Would a tool call change what a tool keeps in a file (the MACHINE block)? Also where the file is no record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.errors import BadRecord
from kb.guard.call_paths import EDIT, WRITE, classify_tool
from kb.records.blocks import MACHINE_START, find_blocks
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MARKDOWN = (".md", ".mdx", ".markdown")
_LARGEST = 2_000_000
"""Bytes of a file in which a block is looked for."""


def can_change_block(path: str, tool: str, given: Mapping[str, Any]) -> bool:
    """Return whether the call changes what stands in a tool's block of the file *path*, or may."""
    if not path.lower().endswith(_MARKDOWN):
        return False
    try:
        if os.path.getsize(path) > _LARGEST or not os.path.isfile(path):
            return False
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
        if MACHINE_START not in before:
            return False
        span = find_blocks(before).machine
    except (OSError, UnicodeDecodeError, BadRecord):
        return False
    after = _apply_edits(before, classify_tool(tool), given)
    if after is None:
        return True
    try:
        now = find_blocks(after).machine
    except BadRecord:
        return True
    return before[span.start : span.end] != after[now.start : now.end]


def _apply_edits(before: str, kind: str, given: Mapping[str, Any]) -> str | None:
    """Return what a file becomes by the call; None where that cannot be told."""
    if kind == WRITE:
        return _find_text(given, _CONTENTS)
    if kind != EDIT:
        return None
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    for edit in edits or [None]:
        if not isinstance(edit, dict):
            return None
        old, new = _find_text(edit, _OLD), _find_text(edit, _NEW)
        if not old or new is None:
            return None
        everywhere = edit.get("replace_all", edit.get("replaceAll"))
        before = before.replace(old, new, -1 if everywhere else 1)
    return before


def _find_text(given: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), None)


_CONTENTS = ("content", "file_text", "contents")
_OLD, _NEW = ("old_string", "old_str", "oldString"), ("new_string", "new_str", "newString")
