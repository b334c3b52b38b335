"""Numbers of records are given out once: in history, in every branch and review, and in every worktree of a clone."""

from __future__ import annotations

import json
import os

from kb.errors import GitFailed
from kb.files import json_bytes, write_whole
from kb.records.record_paths import CONTENT, scope_of
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_FILE = "numbers.json"
"""The highest numbers given out in this clone, which its worktrees share: [[scope, prefix, number], …]."""


def remember(kb: Workspace) -> None:
    """Tell the index every id that history has given out, on whatever branch, so that none is given out again."""
    where = kb.repository.full(CONTENT)
    try:
        names = kb.repository.git(
            "log", "--all", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "-z", "--", where
        )
    except GitFailed:
        return
    with kb.index.changing():
        for name in os.fsdecode(names).replace("\n", "\0").split("\0"):
            _reserve(kb, kb.repository.own(name))


def _reserve(kb: Workspace, path: str) -> None:
    if scope := scope_of(path):
        kb.index.reserve(scope, path.rpartition("/")[2].partition("-")[0].partition(".")[0])


def learn(kb: Workspace) -> None:
    """Tell the index which numbers unreadable files have, and which other worktrees have given out; under the lock."""
    for broken, _, _ in kb.index.broken():
        _reserve(kb, broken)
    path = os.path.join(kb.repository.private, _FILE)
    stamp, known = _stamp(path), kb.index.note("numbers")
    if stamp and stamp == known:
        return
    if known and not stamp:
        remember(kb)
    for scope, prefix, number in _load(path):
        kb.index.reserve(scope, f"{prefix}{number}")
    kb.index.set_note("numbers", stamp)


def tell(kb: Workspace) -> None:
    """Let the other worktrees of this clone know the numbers that the index has; under the lock."""
    path = os.path.join(kb.repository.private, _FILE)
    numbers = [list(row) for row in kb.index.numbers()]
    if numbers != _load(path):
        write_whole(path, json_bytes(numbers))
        kb.index.set_note("numbers", _stamp(path))


def _load(path: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return list(json.load(file))
    except (OSError, ValueError, TypeError):
        return []


def _stamp(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_mtime_ns}:{about.st_ino}"
