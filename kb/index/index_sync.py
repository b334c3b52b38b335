"""Update the index after hand edits, pulls and branch switches, before anything is answered.

Checking every file takes a system call each, 45 ms for 10,000. git is faster, in C on several cores, and knows the
files unchanged since it last looked: those need a check only if git's own index has changed since.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable

from kb.errors import BadRecord, GitFailed, KbError
from kb.git.git_process import BackgroundCommand
from kb.git.worktree import read_index_stamp
from kb.records.model import LIVE, Record
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MAX_CHECKED_FILES = 2_000  # with more files for which git cannot vouch, checking all is no slower
_LARGE_BASE_RECORDS = 20_000  # with more records, checking all files takes longer than a search
# Seconds for which a search in so many records trusts the last check: it can only miss a file edited by hand, and not
# one among its answers.
_RESCAN_SECONDS = 60


class PendingScan(NamedTuple):
    """A running git query for changed files."""

    stamp: str  # of git's index when the look began
    notes: SyncState
    tip: str  # the commit that was checked out; "" where only files edited in place are looked for
    edited: BackgroundCommand
    compared: tuple[BackgroundCommand, ...]  # what finds out how the commit differs from the last one; mostly none

    def abandon(self) -> None:
        """Wait for the commands, and ignore their output."""
        for command in (self.edited, *self.compared):
            command.wait_for_output()


class SyncState(NamedTuple):
    """The state of git's index when the record index last agreed with it."""

    stamp: str
    base: str  # the commit that was checked out, "" where something changed meanwhile
    watched: str  # the files for which git did not vouch, as JSON

    @property
    def dirty_paths(self) -> set[str]:
        """The files for which git could not vouch."""
        return set(json.loads(self.watched or "[]"))


def _load_sync_state(kb: Workspace) -> SyncState:
    return SyncState(kb.index.get_note("git"), kb.index.get_note("base"), kb.index.get_note("watched"))


def start_scan(kb: Workspace) -> PendingScan:
    """Start git's check of the files in the background."""
    stamp, notes = _read_index_stamp(kb), _load_sync_state(kb)
    edited = _start_diff_files(kb)
    if stamp and notes.stamp == stamp:
        return PendingScan(stamp, notes, "", edited, ())
    tip = _read_head_commit(kb)
    if not notes.base or not tip:
        return PendingScan(stamp, notes, tip, edited, ())
    # A file that git finds clean is as git's index has it, and that is as the commit has it unless it is staged. So
    # what changed between two looks was edited, staged or passed over at one of them, or lies between their commits.
    start, folders = kb.repository.start, kb.record_tops
    compared = (
        start("diff-tree", "-r", "-z", "--no-renames", "--name-status", notes.base, tip, "--", *folders),
        start("diff-index", "--cached", "-z", "--name-only", tip, "--", *folders),
        start("ls-files", "-v", "-z", "--", *folders),
    )
    return PendingScan(stamp, notes, tip, edited, compared)


def is_recently_scanned(kb: Workspace) -> bool:
    """Return whether a search in a large knowledge base may skip checking every file."""
    return 0 <= kb.now() - float(kb.index.get_note("looked") or "-inf") < _RESCAN_SECONDS and is_synced(kb)


def start_scan_if_stale(kb: Workspace) -> PendingScan | None:
    """Start a scan in the background if another process has committed, because a write will need it."""
    with contextlib.suppress(KbError, OSError):  # the write will meet the same failure, and reports it
        if not has_seen_commit(kb, kb.repository.head().oid):
            return start_scan(kb)
    return None


def refresh(kb: Workspace, looking: PendingScan | None = None) -> None:
    """Update the index from the checkout, missing no change."""
    began = kb.now()
    _refresh_from_scan(kb, looking)
    # What git's index has lost since kb published it is put back; nothing is loaded where it is as kb left it.
    if kb.index.get_note("published") and kb.index.get_note("index seen") != _read_index_stamp(kb):
        from kb.git.dropped_records import put_back_if_free

        put_back_if_free(kb)
    if kb.index.find_last_row() > _LARGE_BASE_RECORDS:
        kb.index.set_note("looked", str(began))


def _refresh_from_scan(kb: Workspace, looking: PendingScan | None) -> None:
    if looking and (
        (looking.stamp, looking.notes) != (_read_index_stamp(kb), _load_sync_state(kb))
        or (looking.tip and looking.tip != _read_head_commit(kb))
    ):  # git's index or the record index has changed since the check began
        looking.abandon()
        looking = None
    looking = looking or start_scan(kb)
    edited, watched = _list_edited_files(kb, looking), looking.notes.dirty_paths
    if edited is None:
        kb.index.refresh()
        _save_sync_state(kb, SyncState("", "", ""))
        return
    compared = _collect_differences(kb, looking.compared) if looking.compared else None
    is_known = bool(looking.stamp) and looking.stamp == looking.notes.stamp
    # Without a comparison with the commit of the last look, only a look at every file is sure.
    if len(watched) > _MAX_CHECKED_FILES or not (is_known or (compared and looking.stamp == _read_index_stamp(kb))):
        kb.index.refresh()
        watched = _list_unvouched_files(kb, looking.tip) | edited
    elif compared:
        read = kb.index.refresh(edited=watched | edited | compared.moved | compared.doubtful)
        watched |= edited | compared.doubtful | (set(read) - compared.moved)
    else:
        read = kb.index.refresh(edited=watched | edited)
        if new := {*read, *edited} - watched:
            _save_sync_state(kb, SyncState(looking.stamp, looking.notes.base, _encode_paths(watched | new)))
        return
    # If git's index changed meanwhile, it may have staged what this scan missed: do not trust it next time.
    is_sure = looking.stamp == _read_index_stamp(kb)
    _save_sync_state(kb, SyncState(*(looking.stamp, looking.tip) if is_sure else ("", ""), _encode_paths(watched)))


class CommitDifferences(NamedTuple):
    """The present state of git's index, and its state when the index of the records was last in step with it."""

    moved: set[str]  # that were committed since, by whomever
    doubtful: set[str]  # for whose content no commit vouches: staged, no longer tracked, or passed over by git


def _collect_differences(kb: Workspace, commands: Iterable[BackgroundCommand]) -> CommitDifferences | None:
    """Return the changes found, or None if git cannot tell or there are so many that checking all is no slower."""
    outputs = [command.wait_for_output() for command in commands]
    if any(output.code for output in outputs):
        return None
    between, staged, listed = (output.out for output in outputs)
    words = iter(between.split(b"\0")[:-1])
    letters = {name: letter for letter, name in zip(words, words, strict=True)}
    gone = {name for name, letter in letters.items() if letter == b"D"}
    doubtful = _decode_paths(kb, {*staged.split(b"\0")[:-1], *gone, *_parse_unvouched_files(listed)})
    moved = _decode_paths(kb, letters) - doubtful
    return CommitDifferences(moved, doubtful) if len(moved) + len(doubtful) <= _MAX_CHECKED_FILES else None


def load_unreadable_from_tip(kb: Workspace, tip: str) -> list[Record]:
    """Return the live records that the commit *tip* has of files which cannot be read in the checkout: mostly none.

    Such a file is in no answer, but what it said is still decided.
    """
    paths = [path for path, _, _ in kb.index.list_broken()] if tip else []
    if not paths:
        return []
    records = []
    for path, data in kb.repository.read_files(tip, paths).items():
        with contextlib.suppress(BadRecord):
            records += [kb.files.read(data, path)] if data else []
    return [record for record in records if record.status in LIVE]


def _list_unvouched_files(kb: Workspace, tip: str) -> set[str]:
    """Return the files that git does not track, was told to skip, or has staged differently from the commit *tip*."""
    git, folders = kb.repository.git, kb.record_tops
    unvouched = _parse_unvouched_files(git("ls-files", "-o", "-c", "-v", "-z", "--", *folders, check=False))
    staged = git("diff-index", "--cached", "-z", "--name-only", tip, "--", *folders, check=False) if tip else b""
    return _decode_paths(kb, {*unvouched, *staged.split(b"\0")[:-1]})


def _parse_unvouched_files(listed: bytes) -> set[bytes]:
    """Return the files that `git ls-files -v -z` has *listed* with another mark than that of an ordinary file."""
    # Mostly every file is ordinary, of ten thousand too: counting is quicker than cutting them apart.
    if listed.count(b"\0H ") + listed.startswith(b"H ") == listed.count(b"\0"):
        return set()
    return {row[2:] for row in listed.split(b"\0") if row and not row.startswith(b"H ")}


def mark_dirty(kb: Workspace, paths: Iterable[str]) -> None:
    """Have the files *paths*, which kb has just written, checked the next time in any case.

    The record index has a version of them that was in no commit it agreed with, so git may find no difference.
    """
    kb.index.set_note("watched", _encode_paths(_load_sync_state(kb).dirty_paths | {*paths}))


def is_synced(kb: Workspace, base: str = "") -> bool:
    """Return whether git's index is as it was when the index of the records was last brought up to the checkout.

    *base*: and that this was the commit which was checked out.
    """
    return kb.index.get_note("git") == _read_index_stamp(kb) and base in ("", kb.index.get_note("base"))


def mark_synced(kb: Workspace, tip: str, stamp: str) -> None:
    """Note that git's index with *stamp*, updated by kb to *tip*, agrees with the record index.

    The stamp was taken while kb held the index lock: later changes by others still have to be checked.
    """
    kb.index.set_note("git", stamp)
    kb.index.set_note("base", tip)


def has_seen_commit(kb: Workspace, tip: str) -> bool:
    """Return whether the index has indexed the files of the commit *tip*.

    It has not if somebody else has committed, or if a writer died before updating the index after publishing. Then a
    quick check would miss its in-place writes, and they would be written again.
    """
    return kb.index.get_note("tip") == tip


def mark_commit_seen(kb: Workspace, tip: str) -> None:
    """Note that the index has indexed the files of the commit *tip*."""
    kb.index.set_note("tip", tip)


def _save_sync_state(kb: Workspace, notes: SyncState) -> None:
    with kb.index.batch_changes():
        kb.index.set_note("git", notes.stamp)
        kb.index.set_note("base", notes.base)
        kb.index.set_note("watched", notes.watched)


def _encode_paths(watched: Iterable[str]) -> str:
    return json.dumps(sorted(path for path in watched if path.endswith(".md")))


def _list_edited_files(kb: Workspace, looking: PendingScan) -> set[str] | None:
    """Return the files that differ from git's index, or None if git cannot tell."""
    output = looking.edited.wait_for_output()
    if output.code:
        return None
    edited = _decode_paths(kb, output.out.split(b"\0")[:-1])
    if len(edited) <= _MAX_CHECKED_FILES:
        return edited
    kb.repository.git("update-index", "-q", "--refresh", check=False)  # a copied clone: git only has never looked
    return _decode_paths(kb, _start_diff_files(kb).wait_for_output().out.split(b"\0")[:-1])


def _start_diff_files(kb: Workspace) -> BackgroundCommand:
    return kb.repository.start("diff-files", "--name-only", "-z", "--ignore-submodules=all")


def _decode_paths(kb: Workspace, names: Iterable[bytes]) -> set[str]:
    return {kb.repository.to_kb_path(os.fsdecode(name)) for name in names}


def _read_head_commit(kb: Workspace) -> str:
    """Return the checked-out commit, or "" if git cannot tell, which is harmless for readers."""
    try:
        return kb.repository.head().oid
    except GitFailed:
        return ""


def _read_index_stamp(kb: Workspace) -> str:
    return read_index_stamp(kb.repository)
