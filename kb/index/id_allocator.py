"""Numbers of records are given out once: in history, in every branch and review, and in every worktree of a clone."""

from __future__ import annotations

import json
import os

from kb.errors import GitFailed
from kb.files import json_bytes, write_atomic
from kb.records.record_paths import CONTENT, parse_path_scope
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_FILE = "numbers.json"
"""The highest numbers given out in this clone, which its worktrees share: [[scope, prefix, number], …]."""


def reserve_ids_from_history(kb: Workspace) -> None:
    """Tell the index every id that history has given out, on whatever branch, so that none is given out again."""
    where = kb.repository.to_git_path(CONTENT)
    try:
        names = kb.repository.git(
            "log", "--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z", "--", where
        )
    except GitFailed:
        return
    with kb.index.batch_changes():
        for name in os.fsdecode(names).replace("\n", "\0").split("\0"):
            _reserve_file_id(kb, kb.repository.to_kb_path(name))


def _reserve_file_id(kb: Workspace, path: str) -> None:
    if scope := parse_path_scope(path):
        kb.index.reserve_id(scope, path.rpartition("/")[2].partition("-")[0].partition(".")[0])


def load_shared_numbers(kb: Workspace) -> None:
    """Tell the index which numbers unreadable files have, and which other worktrees have given out; under the lock."""
    for broken, _, _ in kb.index.list_broken():
        _reserve_file_id(kb, broken)
    path = os.path.join(kb.repository.private, _FILE)
    stamp, known = _read_stamp(path), kb.index.get_note("numbers")
    if stamp and stamp == known:
        return
    if known and not stamp:
        reserve_ids_from_history(kb)
    for scope, prefix, number in _load_numbers(path):
        kb.index.reserve_id(scope, f"{prefix}{number}")
    kb.index.set_note("numbers", stamp)


def save_shared_numbers(kb: Workspace) -> None:
    """Let the other worktrees of this clone know the numbers that the index has; under the lock."""
    path = os.path.join(kb.repository.private, _FILE)
    numbers = [list(row) for row in kb.index.list_numbers()]
    if numbers != _load_numbers(path):
        write_atomic(path, json_bytes(numbers))
        kb.index.set_note("numbers", _read_stamp(path))


def _load_numbers(path: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return list(json.load(file))
    except (OSError, ValueError, TypeError):
        return []


def _read_stamp(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_mtime_ns}:{about.st_ino}"
