"""Publish what a call has planned: the refs in one transaction, then checkout and index follow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

from kb.errors import Busy, IndexFailed, KbError
from kb.files import content, sweep
from kb.fingerprints import stamp_of_file
from kb.git import dropped_records, worktree
from kb.git.repository import Head, LostRace, Move
from kb.git.worktree import CLEAN, FAILED, KEPT, Changes, Staged, index_stamp
from kb.i18n import Message, msg
from kb.index import id_allocator, index_sync
from kb.records.record_paths import is_record
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing import concurrent_git

if TYPE_CHECKING:
    from typing import Any

    from kb.git.git_process import Started
    from kb.workspace import Workspace

_INTENT = "follow.json"
"""What the checkout has still to follow: the commit it is to follow, and for each path the one it still has.

Where it has followed, and the index of the records has not yet kept what it knows of that: both commits, and no path.
"""


def publish(
    kb: Workspace, head: Head, moves: Sequence[Move], changes: Changes, reason: str, mover: Started | None = None
) -> dict[str, str]:
    """Make all *moves* or none, the first from *head*; return what became of the file of each of *changes*.

    Raise LostRace when a ref, or what is checked out, is no longer as *head* and *moves* say. *mover* is the command
    that moves refs, begun ahead.
    """
    if not changes:
        kb.repository.publish(moves, reason, mover)
        id_allocator.tell(kb)
        return {}
    if link := worktree.link_on_the_way(kb.repository, changes):
        hint = msg("put a folder in its place: git keeps nothing behind links")
        raise Busy(msg("{path} is a link", path=link), hint=hint)
    edited = [path for path, (before, _) in changes.items() if before is not None]
    tip = moves[0].new
    owed = owed_files(kb)
    follows = _from_the_checkout(kb, changes, owed)
    stamp = index_stamp(kb.repository)
    reserved = worktree.staged(kb.repository, head.oid, edited)
    others = concurrent_git.wait_for_others(kb.repository)
    _owe(kb, tip, {**dict.fromkeys(changes, head.oid), **owed})
    try:
        with worktree.held(kb.repository) as following:  # held as short as can be: a git command may need it meanwhile
            if kb.repository.head() != head:
                raise LostRace(head.ref)
            following.heed_marks(edited)
            if stamp != index_stamp(kb.repository):
                reserved = worktree.staged(kb.repository, head.oid, edited)
            was_settled, was_compared = index_sync.is_settled(kb, head.oid), dropped_records.was_compared(kb)
            kb.repository.publish(moves, reason, mover)
            outcomes = following.follow(follows, tip, reserved)
    except (LostRace, KbError):
        with contextlib.suppress(OSError):
            _owe(kb, head.oid, owed)  # nothing has moved
        raise
    with contextlib.suppress(OSError, IndexFailed):  # it is published: files and index catch up with the next call
        failed = {path: head.oid for path, outcome in outcomes.items() if outcome == FAILED}
        still = {**failed, **{path: old for path, old in owed.items() if path in failed or path not in changes}}
        _owe(kb, tip, still, head.oid)
        _settle(kb, outcomes, changes)
        concurrent_git.note_others(kb, others)
        index_sync.know(kb, tip)
        dropped_records.remember(kb, head.oid, tip)
        if was_compared:
            dropped_records.set_compared(kb, following.stamp)
        if was_settled and all(outcome == CLEAN for outcome in outcomes.values()):
            index_sync.settle(kb, tip, following.stamp)
        else:
            index_sync.watch(kb, outcomes)
        id_allocator.tell(kb)
    return outcomes


def _from_the_checkout(kb: Workspace, changes: Changes, owed: Mapping[str, str]) -> Changes:
    """Return *changes*, those of files that are behind already counted from where these are."""
    behind = {path: old for path, old in owed.items() if path in changes}
    before = _files(kb, behind)
    return {path: (before.get(path, was), now) for path, (was, now) in changes.items()}


def finish_following(kb: Workspace) -> bool:
    """Let the checkout follow what was published by a process that ended, or could not write a file, before it did.

    Return whether there was any such file.
    """
    worktree.release_abandoned(kb.repository)
    kb.state.sweep()
    sweep(kb.repository.private, 0)
    intent = _intent(kb)
    if "old" in intent:
        dropped_records.remember_once(kb, intent["old"], intent["new"])
    owed = owed_files(kb)
    for folder in {os.path.dirname(path) for path in owed}:
        sweep(os.path.join(kb.root, *folder.split("/")), 0)
    if not owed:
        if intent:  # its files have followed, but it died before the index kept what it had given out
            if intent.get("new") != kb.repository.head().oid:
                id_allocator.remember(kb)
            _owe(kb, "", {})
        return False
    if kb.repository.not_now():
        return False
    repository, head = kb.repository, kb.repository.head().oid
    if intent.get("new") != head:
        id_allocator.remember(kb)
        dropped_records.note_unseen(kb, owed, intent.get("new", ""), head)
    before, now = _files(kb, owed), _files(kb, dict.fromkeys(owed, head))
    changes = {path: (before[path], now[path]) for path in owed if before[path] != now[path]}
    with worktree.held(repository) as following:
        following.heed_marks(list(changes))
        theirs = worktree.staged(repository, head, list(changes))
        outcomes = following.follow(changes, head, _not_published(theirs, changes))
    _owe(kb, head, {path: owed[path] for path, outcome in outcomes.items() if outcome == FAILED})
    for old in sorted(set(owed.values()) - {head}):
        dropped_records.remember(kb, old, head)
    return True


def _not_published(theirs: Mapping[str, Staged], changes: Changes) -> dict[str, Staged]:
    """Return what of the staged *theirs* a person has staged: not what was there before it was published."""
    return {path: entry for path, entry in theirs.items() if entry.data != changes[path][0]}


def _files(kb: Workspace, revisions: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return each path as it is in its revision; in "" there is none."""
    asked = [(revision, path) for path, revision in revisions.items() if revision]
    found = zip(asked, kb.repository.blobs(asked), strict=True)
    return {**dict.fromkeys(revisions), **{path: data for (_, path), data in found}}


def owed_files(kb: Workspace) -> dict[str, str]:
    """Return path → commit of the files that are still as they were in that commit."""
    paths = _intent(kb).get("paths")
    return {str(path): str(old) for path, old in paths.items()} if isinstance(paths, dict) else {}


def _intent(kb: Workspace) -> Mapping[str, Any]:
    return kb.state.load(_INTENT) or {}


def forget_followed(kb: Workspace) -> None:
    """Forget what the checkout has followed, once the index of the records has kept what it knows of that."""
    if not owed_files(kb):
        _owe(kb, "", {})


def _owe(kb: Workspace, new: str, paths: Mapping[str, str], old: str | None = None) -> None:
    if paths or old is not None:
        done = {} if old is None else {"old": old}
        kb.state.save({"new": new, "paths": paths, **done}, _INTENT, synced=bool(paths))
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path(_INTENT))


def _settle(kb: Workspace, outcomes: Mapping[str, str], changes: Changes) -> None:
    """Let the index know which files are as planned; the others it reads as the user has them, or left them since."""
    records = {path: outcome for path, outcome in outcomes.items() if is_record(path)}
    seen = {path: _seen(kb, path, changes[path][1]) for path, outcome in records.items() if outcome == CLEAN}
    kb.index.settle({path: stamp for path, stamp in seen.items() if stamp})
    kb.index.reread([path for path in records if not seen.get(path)])


def _seen(kb: Workspace, path: str, planned: bytes | None) -> str:
    """Return the stamp of the file *path* if it is as *planned*; "" where it is gone, or somebody has been faster."""
    stamp = stamp_of_file(kb.root, path)
    mine = content(os.path.join(kb.root, *path.split("/")))
    texts = {None if data is None else data.replace(b"\r\n", b"\n") for data in (mine, planned)}
    return stamp if len(texts) == 1 and mine is not None else ""


def left_behind(path: str, outcome: str) -> Message | None:
    """Return what to tell a person of a file that could not follow; None for one that did."""
    if outcome == KEPT:
        return msg("it is committed; {path} stays as you have it", path=path)
    if outcome == FAILED:
        return msg("it is committed; {path} could not be written, the next call tries again", path=path)
    return None
