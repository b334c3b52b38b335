"""Mend what a merge lost where kb's merge driver did not run: each record is merged again, from the merge's parents.

Only what still stands as the lines were put together, or cannot be meant so (conflict markers, a section twice), is
replaced. What a person has decided is theirs; what only a person can decide is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, UnknownId
from kb.files import read_if_exists, write_atomic
from kb.git import revisions, worktree
from kb.git.git_log import is_ancestor
from kb.git.repository import format_commit_message
from kb.i18n import Message, msg
from kb.merge.id_collisions import parse_front_values
from kb.merge.merge_record import merge_record
from kb.records import record_file
from kb.records.record_paths import CONTENT, is_record_path
from kb.text.segment import one_line
from kb.writing.file_changes import Advance, apply_advance, build_advance
from kb.writing.transaction import Transaction

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SEEN = "repaired"
"""The commit up to which every merge was looked through."""


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
    """What a call has mended, or would."""

    merges: int
    """How many were looked through."""
    mended: tuple[str, ...] = ()
    undecided: tuple[UndecidedRecord, ...] = ()
    commit: str = ""


def repair_merges(
    kb: Workspace, names: Sequence[str] = (), *, every: bool = False, dry_run: bool = False
) -> RepairResult:
    """Mend the records that merges since the last repair have spoilt, in one commit; with *every* those of all merges.

    *names* are record files, ids or merges that alone are looked at. Raise UnknownId for what is none of them.
    """
    writing = Transaction(kb, "", "")
    advances: list[Advance] = []

    def plan() -> RepairResult:
        return _Repair(writing, names, every).build_plan(advances)

    def publish(done: RepairResult) -> RepairResult:
        apply_advance(kb, advances[0], [], "kb: repair")
        writing.is_published = True
        return done

    done = writing.run_with_retries(plan, None if dry_run else publish)
    if not dry_run and not names and not done.undecided:
        write_atomic(os.path.join(kb.repository.private, _SEEN), f"{kb.repository.head().oid}\n".encode())
    return done


class _Repair:
    """One look through some merges."""

    def __init__(self, writing: Transaction, names: Sequence[str], every: bool) -> None:
        self._kb = writing.kb
        self._head = writing.head
        self._every = every
        self._files: dict[str, bytes | None] = {}
        self._undecided: dict[str, UndecidedRecord] = {}
        self._commits: list[str] = []
        self._paths: set[str] = set()
        for name in names:
            self._select_target(name)

    def _select_target(self, name: str) -> None:
        """Take *name* for a record file, an id or a merge."""
        inside = os.path.relpath(os.path.realpath(name), self._kb.root).replace(os.sep, "/")
        found = [path for path in (inside, name) if is_record_path(path)]
        records = self._kb.index.find_by_id(name.strip("[]").rpartition(":")[2].upper())
        commit = "" if found or records else revisions.resolve_commit(self._kb, name)
        if not (found or records or commit):
            raise UnknownId(msg("{name} is no record and no merge", name=name), hint=msg("see: kb list"))
        self._paths |= {*found[:1], *(record.path for record in records)}
        self._commits += [commit] if commit else []

    def build_plan(self, advances: list[Advance]) -> RepairResult:
        """Build the commit; nothing is visible yet."""
        merges = list(self._iter_merges())
        for merge in merges:
            self._examine_merge(merge)
        undecided = tuple(one for one in self._undecided.values() if one.path not in self._files)
        advances[:] = [Advance(self._head, self._head.oid, {})]
        if not self._files:
            return RepairResult(len(merges), (), undecided)
        told = sorted(path for path, data in self._files.items() if data is not None)
        uids = [str(parse_front_values(self._files[path] or b"", path).get("uid") or "") for path in told]
        first = f"Repair {told[0]}" if len(told) == 1 else f"Repair {len(told)} records"
        rows = "\n".join(f"- {path}" for path in told)
        words = format_commit_message(first, rows, {"Kb-Op": "repaired", "Kb-Uid": ",".join(filter(None, uids[:50]))})
        advances[:] = [build_advance(self._kb, self._head, self._files, words)]
        return RepairResult(len(merges), tuple(told), undecided, advances[0].new)

    # which merges

    def _iter_merges(self) -> Iterator[PastMerge]:
        """Yield the merges to be looked at, oldest first, without those of more than two lines."""
        where = [self._kb.repository.to_git_path(path) for path in sorted(self._paths)] or [
            self._kb.repository.to_git_path(CONTENT)
        ]
        words = [
            "log",
            "--merges",
            "--full-history",
            "--reverse",
            "--topo-order",
            "--format=%H %P",
            *self._build_log_range(),
        ]
        for row in self._kb.repository.git(*words, "--", *where).decode().splitlines():
            commit, *parents = row.split()
            if len(parents) == 2 and (base := revisions.find_merge_base(self._kb, parents[0], parents[1])):
                yield PastMerge(commit, parents[0], parents[1], base)

    def _build_log_range(self) -> list[str]:
        if self._commits:
            return ["--no-walk", *self._commits]
        seen = (
            (read_if_exists(os.path.join(self._kb.repository.private, _SEEN)) or b"").decode("ascii", "replace").strip()
        )
        if self._every or self._paths or not is_ancestor(self._kb.repository, seen, self._head.oid):
            return [self._head.oid]
        return [self._head.oid, f"^{seen}"]

    # one merge

    def _examine_merge(self, merge: PastMerge) -> None:
        kb = self._kb
        mine, other = (revisions.list_differing_records(kb, merge.base, side) for side in (merge.ours, merge.theirs))
        paths = sorted(path for path in mine & other if self._is_selected(path))
        asked = [(commit, path) for path in paths for commit in (merge.base, merge.ours, merge.theirs, merge.commit)]
        found = iter(kb.repository.read_blobs(asked))
        for path in paths:
            base, ours, theirs, then = next(found), next(found), next(found), next(found)
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
        """Plan to mend one record that both sides of *merge* changed; *then* is what the merge made of it."""
        base, ours, theirs = sides
        now = self._read_current(path)
        wanted = merge_record(base, ours, theirs, path=path, labels=(merge.ours[:12], merge.theirs[:12]))
        if now is None or then == wanted.data or not self._can_repair(sides, then, now):
            return
        if wanted.conflicts:
            self._undecided[path] = UndecidedRecord(path, merge.commit, tuple(c.said for c in wanted.conflicts))
            return
        found = merge_record(then, now, wanted.data, path=path) if now != then else wanted
        if found.conflicts:
            self._undecided[path] = UndecidedRecord(path, merge.commit, tuple(c.said for c in found.conflicts))
        elif found.data != now:
            self._files[path] = found.data

    def _can_repair(self, sides: tuple[bytes | None, bytes, bytes], then: bytes, now: bytes) -> bool:
        """Return whether a file is as lines were put together, or as nobody can mean it."""
        if is_damaged(now):
            return True
        base, ours, theirs = sides
        return now == then == worktree.merge_file_versions(self._kb.repository, ours, base or b"", theirs)

    def _find_duplicated_files(self, merge: PastMerge, changed: set[str]) -> list[tuple[str, str]]:
        """Return new and old file of the records that one side moved and the merge has in both."""
        paths = sorted(changed)
        asked = [(commit, path) for path in paths for commit in (merge.base, merge.commit)]
        found = iter(self._kb.repository.read_blobs(asked))
        uids: dict[str, dict[bool, str]] = {}
        for path in paths:
            base, then = next(found), next(found)
            uid = str(parse_front_values(then or b"", path).get("uid") or "")
            if then is not None and uid:
                uids.setdefault(uid, {})[base is None] = path
        pairs = [(places[True], places[False]) for places in uids.values() if len(places) == 2]
        return [pair for pair in pairs if any(map(self._is_selected, pair))]

    def _merge_duplicate(self, merge: PastMerge, moved: str, stayed: str) -> None:
        """Plan to make one file of two that hold one record: one side moved it, and the other one changed it."""
        asked = (merge.base, stayed), (merge.commit, moved), (merge.commit, stayed)
        base, one, other = self._kb.repository.read_blobs(asked)
        if one is None or other is None or (self._read_current(moved), self._read_current(stayed)) != (one, other):
            return
        found = merge_record(base, one, other, path=moved)
        if found.conflicts:
            self._undecided[moved] = UndecidedRecord(moved, merge.commit, tuple(c.said for c in found.conflicts))
        else:
            self._files |= {moved: found.data, stayed: None}


def is_damaged(data: bytes) -> bool:
    """Return whether a record file has conflict markers, or a section twice."""
    try:
        record = record_file.read(data)
    except BadRecord:
        return True
    names = [section.name or one_line(section.heading).casefold() for section in record.sections]
    return len(set(names)) < len(names)
