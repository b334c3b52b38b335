"""Publish what a call has planned: the refs in one transaction, then checkout and index follow."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

from kb.errors import Busy, IndexFailed, KbError
from kb.files import read_if_exists, remove_half_written
from kb.fingerprints import read_file_stamp
from kb.git import dropped_records, worktree
from kb.git.repository import Head, LostRace, RefMove
from kb.git.worktree import CLEAN, FAILED, KEPT, Changes, StagedFile, read_index_stamp
from kb.i18n import Message, msg
from kb.index import id_allocator, index_sync
from kb.records.record_paths import is_record_path
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing import concurrent_git

if TYPE_CHECKING:
    from typing import Any

    from kb.git.git_process import BackgroundCommand
    from kb.workspace import Workspace

_INTENT = "follow.json"
"""What the checkout has still to follow: the commit it is to follow, and for each path the one it still has.

Where it has followed, and the index of the records has not yet kept what it knows of that: both commits, and no path.
"""


def publish_moves(
    kb: Workspace,
    head: Head,
    moves: Sequence[RefMove],
    changes: Changes,
    reason: str,
    mover: BackgroundCommand | None = None,
) -> dict[str, str]:
    """Make all *moves* or none, the first from *head*; return what became of the file of each of *changes*.

    Raise LostRace when a ref, or what is checked out, is no longer as *head* and *moves* say. *mover* is the command
    that moves refs, begun ahead.
    """
    if not changes:
        kb.repository.update_refs(moves, reason, mover)
        id_allocator.save_shared_numbers(kb)
        return {}
    if link := worktree.find_link_above(kb.repository, changes):
        hint = msg("put a folder in its place: git keeps nothing behind links")
        raise Busy(msg("{path} is a link", path=link), hint=hint)
    edited = [path for path, (before, _) in changes.items() if before is not None]
    tip = moves[0].new
    owed = list_pending_files(kb)
    follows = _adjust_to_checkout(kb, changes, owed)
    stamp = read_index_stamp(kb.repository)
    reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
    others = concurrent_git.wait_for_git(kb.repository)
    _save_intent(kb, tip, {**dict.fromkeys(changes, head.oid), **owed})
    try:
        with worktree.hold_index(
            kb.repository
        ) as following:  # held as short as can be: a git command may need it meanwhile
            if kb.repository.head() != head:
                raise LostRace(head.ref)
            following.start_reading_flags(edited)
            if stamp != read_index_stamp(kb.repository):
                reserved = worktree.read_staged_files(kb.repository, head.oid, edited)
            was_settled, was_compared = index_sync.is_synced(kb, head.oid), dropped_records.is_index_unchanged(kb)
            kb.repository.update_refs(moves, reason, mover)
            outcomes = following.apply_published(follows, tip, reserved)
    except (LostRace, KbError):
        with contextlib.suppress(OSError):
            _save_intent(kb, head.oid, owed)  # nothing has moved
        raise
    with contextlib.suppress(OSError, IndexFailed):  # it is published: files and index catch up with the next call
        failed = {path: head.oid for path, outcome in outcomes.items() if outcome == FAILED}
        still = {**failed, **{path: old for path, old in owed.items() if path in failed or path not in changes}}
        _save_intent(kb, tip, still, head.oid)
        _update_index(kb, outcomes, changes)
        concurrent_git.note_concurrent_merge(kb, others)
        index_sync.mark_commit_seen(kb, tip)
        dropped_records.remember_published(kb, head.oid, tip)
        if was_compared:
            dropped_records.mark_index_compared(kb, following.stamp)
        if was_settled and all(outcome == CLEAN for outcome in outcomes.values()):
            index_sync.mark_synced(kb, tip, following.stamp)
        else:
            index_sync.mark_dirty(kb, outcomes)
        id_allocator.save_shared_numbers(kb)
    return outcomes


def _adjust_to_checkout(kb: Workspace, changes: Changes, owed: Mapping[str, str]) -> Changes:
    """Return *changes*, those of files that are behind already counted from where these are."""
    behind = {path: old for path, old in owed.items() if path in changes}
    before = _read_files(kb, behind)
    return {path: (before.get(path, was), now) for path, (was, now) in changes.items()}


def catch_up_checkout(kb: Workspace) -> bool:
    """Let the checkout follow what was published by a process that ended, or could not write a file, before it did.

    Return whether there was any such file.
    """
    worktree.release_abandoned_lock(kb.repository)
    kb.state.remove_half_written()
    remove_half_written(kb.repository.private, 0)
    intent = _load_intent(kb)
    if "old" in intent:
        dropped_records.remember_published_once(kb, intent["old"], intent["new"])
    owed = list_pending_files(kb)
    for folder in {os.path.dirname(path) for path in owed}:
        remove_half_written(os.path.join(kb.root, *folder.split("/")), 0)
    if not owed:
        if intent:  # its files have followed, but it died before the index kept what it had given out
            if intent.get("new") != kb.repository.head().oid:
                id_allocator.reserve_ids_from_history(kb)
            _save_intent(kb, "", {})
        return False
    if kb.repository.find_commit_obstacle():
        return False
    repository, head = kb.repository, kb.repository.head().oid
    if intent.get("new") != head:
        id_allocator.reserve_ids_from_history(kb)
        dropped_records.note_undone_paths(kb, owed, intent.get("new", ""), head)
    before, now = _read_files(kb, owed), _read_files(kb, dict.fromkeys(owed, head))
    changes = {path: (before[path], now[path]) for path in owed if before[path] != now[path]}
    with worktree.hold_index(repository) as following:
        following.start_reading_flags(list(changes))
        theirs = worktree.read_staged_files(repository, head, list(changes))
        outcomes = following.apply_published(changes, head, _drop_unstaged(theirs, changes))
    _save_intent(kb, head, {path: owed[path] for path, outcome in outcomes.items() if outcome == FAILED})
    for old in sorted(set(owed.values()) - {head}):
        dropped_records.remember_published(kb, old, head)
    return True


def _drop_unstaged(theirs: Mapping[str, StagedFile], changes: Changes) -> dict[str, StagedFile]:
    """Return what of the staged *theirs* a person has staged: not what was there before it was published."""
    return {path: entry for path, entry in theirs.items() if entry.data != changes[path][0]}


def _read_files(kb: Workspace, revisions: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return each path as it is in its revision; in "" there is none."""
    asked = [(revision, path) for path, revision in revisions.items() if revision]
    found = zip(asked, kb.repository.read_blobs(asked), strict=True)
    return {**dict.fromkeys(revisions), **{path: data for (_, path), data in found}}


def list_pending_files(kb: Workspace) -> dict[str, str]:
    """Return path → commit of the files that are still as they were in that commit."""
    paths = _load_intent(kb).get("paths")
    return {str(path): str(old) for path, old in paths.items()} if isinstance(paths, dict) else {}


def _load_intent(kb: Workspace) -> Mapping[str, Any]:
    return kb.state.load(_INTENT) or {}


def clear_followed(kb: Workspace) -> None:
    """Forget what the checkout has followed, once the index of the records has kept what it knows of that."""
    if not list_pending_files(kb):
        _save_intent(kb, "", {})


def _save_intent(kb: Workspace, new: str, paths: Mapping[str, str], old: str | None = None) -> None:
    if paths or old is not None:
        done = {} if old is None else {"old": old}
        kb.state.save({"new": new, "paths": paths, **done}, _INTENT, synced=bool(paths))
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path(_INTENT))


def _update_index(kb: Workspace, outcomes: Mapping[str, str], changes: Changes) -> None:
    """Let the index know which files are as planned; the others it reads as the user has them, or left them since."""
    records = {path: outcome for path, outcome in outcomes.items() if is_record_path(path)}
    seen = {
        path: _stamp_if_planned(kb, path, changes[path][1]) for path, outcome in records.items() if outcome == CLEAN
    }
    kb.index.save_stamps({path: stamp for path, stamp in seen.items() if stamp})
    kb.index.reload_files([path for path in records if not seen.get(path)])


def _stamp_if_planned(kb: Workspace, path: str, planned: bytes | None) -> str:
    """Return the stamp of the file *path* if it is as *planned*; "" where it is gone, or somebody has been faster."""
    stamp = read_file_stamp(kb.root, path)
    mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
    texts = {None if data is None else data.replace(b"\r\n", b"\n") for data in (mine, planned)}
    return stamp if len(texts) == 1 and mine is not None else ""


def explain_outcome(path: str, outcome: str) -> Message | None:
    """Return what to tell a person of a file that could not follow; None for one that did."""
    if outcome == KEPT:
        return msg("it is committed; {path} stays as you have it", path=path)
    if outcome == FAILED:
        return msg("it is committed; {path} could not be written, the next call tries again", path=path)
    return None
