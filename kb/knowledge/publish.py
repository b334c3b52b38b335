"""Publish what a call has planned: the refs in one transaction, then checkout and index follow."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.knowledge import fresh, numbers
from kb.knowledge.names import CONTENT
from kb.store.git import checkout
from kb.store.git.checkout import CLEAN, FAILED, KEPT, Changes
from kb.store.git.repository import Head, LostRace, Move
from kb.store.index import IndexFailed
from kb.words import Said, say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_INTENT = "follow.json"
"""What the checkout has still to follow, for the process after one that died."""


def publish(kb: "KnowledgeBase", head: Head, moves: Sequence[Move], changes: Changes, reason: str) -> dict[str, str]:
    """Make all *moves* or none, the first from *head*; return what became of the file of each of *changes*.

    Raise LostRace when a ref, or what is checked out, is no longer as *head* and *moves* say.
    """
    if not changes:
        kb.repository.publish(moves, reason)
        numbers.tell(kb)
        return {}
    edited = [path for path, (before, _) in changes.items() if before is not None]
    tip = moves[0].new
    with checkout.held(kb.repository) as following:
        if kb.repository.head() != head:
            raise LostRace(head.ref)
        was_settled = fresh.is_settled(kb)
        reserved = checkout.staged(kb.repository, head.oid, edited)
        _intend(kb, head.oid, tip, list(changes))
        kb.repository.publish(moves, reason)
        outcomes = following.follow(changes, tip, reserved)
    with contextlib.suppress(OSError, IndexFailed):  # it is published: files and index catch up with the next call
        _intend(kb, head.oid, tip, [path for path, outcome in outcomes.items() if outcome == FAILED])
        _settle(kb, outcomes)
        if was_settled and all(outcome == CLEAN for outcome in outcomes.values()):
            fresh.settle(kb)
        numbers.tell(kb)
    return outcomes


def finish_following(kb: "KnowledgeBase") -> None:
    """Let the checkout follow a commit that was published by a process that ended before it could."""
    checkout.release_abandoned(kb.repository)
    intent = kb.state.load(_INTENT)
    if not isinstance(intent, dict):
        return
    repository = kb.repository
    old, new, paths = str(intent["old"]), str(intent["new"]), list(intent["paths"])
    before = repository.blobs([(old, path) for path in paths]) if old else [None] * len(paths)
    now = repository.blobs([(new, path) for path in paths])
    left: list[str] = []
    if repository.head().oid == new:
        changes = dict(zip(paths, zip(before, now, strict=True), strict=True))
        with checkout.held(repository) as following:
            outcomes = following.follow(changes, new, checkout.staged(repository, old, paths))
        left = [path for path, outcome in outcomes.items() if outcome == FAILED]
    else:
        numbers.remember(kb)
    _intend(kb, old, new, left)


def _intend(kb: "KnowledgeBase", old: str, new: str, paths: Sequence[str]) -> None:
    if paths:
        kb.state.save({"old": old, "new": new, "paths": paths}, _INTENT)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path(_INTENT))


def _settle(kb: "KnowledgeBase", outcomes: Mapping[str, str]) -> None:
    """Let the index know which files are as planned; the others it reads as the user has them."""
    records = {path: outcome for path, outcome in outcomes.items() if is_record(path)}
    kb.index.settle([path for path, outcome in records.items() if outcome == CLEAN and _is_there(kb, path)])
    kb.index.reread([path for path, outcome in records.items() if outcome != CLEAN or not _is_there(kb, path)])


def _is_there(kb: "KnowledgeBase", path: str) -> bool:
    return os.path.exists(os.path.join(kb.root, *path.split("/")))


def left_behind(path: str, outcome: str) -> Said | None:
    """Return what to tell a person of a file that could not follow; None for one that did."""
    if outcome == KEPT:
        return say("it is committed; {path} stays as you have it", path=path)
    if outcome == FAILED:
        return say("it is committed; {path} could not be written, the next call tries again", path=path)
    return None


def is_record(path: str) -> bool:
    """Tell whether *path* is where record files stand."""
    return path.startswith(f"{CONTENT}/") and not path.startswith(f"{CONTENT}/sessions/") and path.endswith(".md")
