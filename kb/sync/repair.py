"""Repair what a merge lost where kb's merge driver did not run: each record is merged again, from the merge's parents.

Only what is still as git put the lines together, or cannot be meant so (conflict markers, a section twice), is
replaced. What a person has decided is theirs; what only a person can decide is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.merge_damage import section_key
from kb.errors import BadRecord, UnknownId
from kb.files import read_if_exists, write_atomic
from kb.git import revisions, worktree
from kb.git.objects import is_ancestor
from kb.git.repository import Head, format_commit_message
from kb.i18n import Message, msg
from kb.merge.merge_record import merge_record
from kb.merge.renumbering import parse_front_values
from kb.records import record_file
from kb.records.record_paths import CONTENT, is_record_path
from kb.writing.file_changes import Advance, apply_advance, build_advance
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FILE = "repaired"
"""Has the commit up to which every merge was looked through."""


class PastMerge(NamedTuple):
    """A merge of two lines."""

    commit: str
    ours: str
    theirs: str
    base: str


class UndecidedRecord(NamedTuple):
    """A record of which both sides of a merge say different things."""

    path: str
    merge: str
    reasons: tuple[Message, ...]


class RepairResult(NamedTuple):
    """What a call has repaired, or would."""

    merges: int
    """How many were looked through."""
    mended: tuple[str, ...] = ()
    undecided: tuple[UndecidedRecord, ...] = ()
    commit: str = ""


def repair_merges(
    kb: Workspace, names: Sequence[str] = (), *, every: bool = False, dry_run: bool = False
) -> RepairResult:
    """Repair in one commit the records that merges damaged since the last repair; with *every* those of all merges.

    *names* are record files, ids or merges that alone are looked at. Raise UnknownId for what is none of them.
    """
    for transaction in transactions(kb, dry_run=dry_run):
        with transaction:
            result, advance = _Repair(kb, transaction.head, names, every).build_plan()
            if not dry_run:
                apply_advance(transaction, advance, [], "kb: repair")
    if not dry_run and not names and not result.undecided:
        write_atomic(os.path.join(kb.repository.private, _FILE), f"{kb.repository.head().oid}\n".encode())
    return result


class _Repair:
    """One look through some merges."""

    def __init__(self, kb: Workspace, head: Head, names: Sequence[str], every: bool) -> None:
        self._kb = kb
        self._head = head
        self._every = every
        self._files: dict[str, bytes | None] = {}
        self._undecided: dict[str, UndecidedRecord] = {}
        self._commits: list[str] = []
        self._paths: set[str] = set()
        for name in names:  # a record file, an id or a merge
            inside = os.path.relpath(os.path.realpath(name), kb.root).replace(os.sep, "/")
            paths = [path for path in (inside, name) if is_record_path(path)]
            records = kb.index.find_by_id(name.strip("[]").rpartition(":")[2].upper())
            commit = "" if paths or records else revisions.resolve_commit(kb, name)
            if not (paths or records or commit):
                raise UnknownId(msg("{name} is neither a record nor a merge", name=name), hint=msg("see: kb list"))
            self._paths |= {*paths[:1], *(record.path for record in records)}
            self._commits += [commit] if commit else []

    def build_plan(self) -> tuple[RepairResult, Advance]:
        """Build the commit; nothing is visible yet."""
        merges = list(self._iter_merges())
        for merge in merges:
            self._examine_merge(merge)
        undecided = tuple(one for one in self._undecided.values() if one.path not in self._files)
        if not self._files:
            return RepairResult(len(merges), (), undecided), Advance(self._head, self._head.oid, {})
        paths = sorted(path for path, data in self._files.items() if data is not None)
        uids = [_read_uid(path, self._files[path]) for path in paths]
        subject = f"Repair {paths[0]}" if len(paths) == 1 else f"Repair {len(paths)} records"
        trailers = {"Kb-Op": "repaired", "Kb-Uid": ",".join(filter(None, uids[:50]))}
        message = format_commit_message(subject, "\n".join(f"- {path}" for path in paths), trailers)
        advance = build_advance(self._kb, self._head, self._files, message)
        return RepairResult(len(merges), tuple(paths), undecided, advance.new), advance

    # which merges

    def _iter_merges(self) -> Iterator[PastMerge]:
        """Yield the merges to be looked at, oldest first, without those of more than two lines."""
        repository, head = self._kb.repository, self._head.oid
        seen = (read_if_exists(os.path.join(repository.private, _FILE)) or b"").decode("ascii", "replace").strip()
        if self._commits:
            asked = ["--no-walk", *self._commits]
        elif self._every or self._paths or not is_ancestor(repository, seen, head):
            asked = [head]
        else:
            asked = [head, f"^{seen}"]
        where = [repository.to_git_path(path) for path in sorted(self._paths) or [CONTENT]]
        options = ("--merges", "--full-history", "--reverse", "--topo-order", "--format=%H %P")
        for row in repository.git("log", *options, *asked, "--", *where).decode().splitlines():
            commit, *parents = row.split()
            if len(parents) == 2 and (base := revisions.find_merge_base(self._kb, parents[0], parents[1])):
                yield PastMerge(commit, parents[0], parents[1], base)

    # one merge

    def _examine_merge(self, merge: PastMerge) -> None:
        kb = self._kb
        mine, other = (revisions.list_differing_records(kb, merge.base, side) for side in (merge.ours, merge.theirs))
        paths = sorted(path for path in mine & other if self._is_selected(path))
        asked = [(commit, path) for path in paths for commit in (merge.base, merge.ours, merge.theirs, merge.commit)]
        blobs = iter(kb.repository.read_blobs(asked))
        for path in paths:
            base, ours, theirs, then = next(blobs), next(blobs), next(blobs), next(blobs)
            if ours is not None and theirs is not None and then is not None:
                self._repair_record(merge, path, (base, ours, theirs), then)
        for moved, stayed in (*self._find_duplicated_files(merge, mine), *self._find_duplicated_files(merge, other)):
            self._merge_duplicate(merge, moved, stayed)

    def _is_selected(self, path: str) -> bool:
        return not self._paths or path in self._paths

    def _read_current(self, path: str) -> bytes | None:
        return self._files[path] if path in self._files else self._kb.repository.read_blob(self._head.oid, path)

    def _repair_record(
        self, merge: PastMerge, path: str, sides: tuple[bytes | None, bytes, bytes], then: bytes
    ) -> None:
        """Plan to repair one record that both sides of *merge* changed; *then* is what the merge made of it."""
        base, ours, theirs = sides
        now = self._read_current(path)
        wanted = merge_record(base, ours, theirs, path=path, labels=(merge.ours[:12], merge.theirs[:12]))
        if now is None or then == wanted.data:
            return
        # only what is still as git put the lines together, or as nobody can mean it
        by_lines = worktree.merge_file_versions
        if not _is_damaged(now) and not (now == then == by_lines(self._kb.repository, ours, base or b"", theirs)):
            return
        if now != then and not wanted.conflicts:  # what was changed since the merge stays
            wanted = merge_record(then, now, wanted.data, path=path)
        if wanted.conflicts:
            self._undecided[path] = UndecidedRecord(path, merge.commit, tuple(c.said for c in wanted.conflicts))
        elif wanted.data != now:
            self._files[path] = wanted.data

    def _find_duplicated_files(self, merge: PastMerge, changed: set[str]) -> list[tuple[str, str]]:
        """Return new and old file of the records that one side moved and the merge has in both."""
        base, then = (self._kb.repository.read_files(at, sorted(changed)) for at in (merge.base, merge.commit))
        by_uid: dict[str, dict[bool, str]] = {}
        for path, data in then.items():
            if data is not None and (uid := _read_uid(path, data)):
                by_uid.setdefault(uid, {})[base[path] is None] = path
        pairs = [(files[True], files[False]) for files in by_uid.values() if len(files) == 2]
        return [pair for pair in pairs if any(map(self._is_selected, pair))]

    def _merge_duplicate(self, merge: PastMerge, moved: str, stayed: str) -> None:
        """Plan to make one file of two that hold one record: one side moved it, and the other one changed it."""
        asked = (merge.base, stayed), (merge.commit, moved), (merge.commit, stayed)
        base, new, old = self._kb.repository.read_blobs(asked)
        if new is None or old is None or (self._read_current(moved), self._read_current(stayed)) != (new, old):
            return
        merged = merge_record(base, new, old, path=moved)
        if merged.conflicts:
            self._undecided[moved] = UndecidedRecord(moved, merge.commit, tuple(c.said for c in merged.conflicts))
        else:
            self._files |= {moved: merged.data, stayed: None}


def _is_damaged(data: bytes) -> bool:
    """Return whether a record file has conflict markers, or a section twice."""
    try:
        record = record_file.read(data)
    except BadRecord:
        return True
    return len(set(map(section_key, record.sections))) < len(record.sections)


def _read_uid(path: str, data: bytes | None) -> str:
    return str(parse_front_values(data or b"", path).get("uid") or "")
