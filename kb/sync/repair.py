"""Mend what a merge lost where kb's merge driver did not run: each record is merged again, from the merge's parents.

Only what still stands as the lines were put together, or cannot be meant so (conflict markers, a section twice), is
replaced. What a person has decided is theirs; what only a person can decide is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, UnknownId
from kb.files import content, write_whole
from kb.git import revisions, worktree
from kb.git.git_log import is_ancestor
from kb.git.repository import message
from kb.i18n import Message, msg
from kb.merge.id_collisions import values_of
from kb.merge.merge_record import merged
from kb.records import record_file
from kb.records.record_paths import CONTENT, is_record
from kb.text.segment import one_line
from kb.writing.fast_forward import Advance, built, go
from kb.writing.transaction import Writing

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SEEN = "repaired"
"""The commit up to which every merge was looked through."""


class Merge(NamedTuple):
    """A merge of two lines."""

    commit: str
    ours: str
    theirs: str
    base: str


class Undecided(NamedTuple):
    """A record of which both sides of a merge say different things."""

    path: str
    merge: str
    reasons: tuple[Message, ...]


class Repaired(NamedTuple):
    """What a call has mended, or would."""

    merges: int
    """How many were looked through."""
    mended: tuple[str, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    commit: str = ""


def repair(kb: Workspace, names: Sequence[str] = (), *, every: bool = False, dry_run: bool = False) -> Repaired:
    """Mend the records that merges since the last repair have spoilt, in one commit; with *every* those of all merges.

    *names* are record files, ids or merges that alone are looked at. Raise UnknownId for what is none of them.
    """
    writing = Writing(kb, "", "")
    advances: list[Advance] = []

    def plan() -> Repaired:
        return _Repair(writing, names, every).planned(advances)

    def publish(done: Repaired) -> Repaired:
        go(kb, advances[0], [], "kb: repair")
        writing.is_published = True
        return done

    done = writing.until_won(plan, None if dry_run else publish)
    if not dry_run and not names and not done.undecided:
        write_whole(os.path.join(kb.repository.private, _SEEN), f"{kb.repository.head().oid}\n".encode())
    return done


class _Repair:
    """One look through some merges."""

    def __init__(self, writing: Writing, names: Sequence[str], every: bool) -> None:
        self._kb = writing.kb
        self._head = writing.head
        self._every = every
        self._files: dict[str, bytes | None] = {}
        self._undecided: dict[str, Undecided] = {}
        self._commits: list[str] = []
        self._paths: set[str] = set()
        for name in names:
            self._choose(name)

    def _choose(self, name: str) -> None:
        """Take *name* for a record file, an id or a merge."""
        inside = os.path.relpath(os.path.realpath(name), self._kb.root).replace(os.sep, "/")
        found = [path for path in (inside, name) if is_record(path)]
        records = self._kb.index.named(name.strip("[]").rpartition(":")[2].upper())
        commit = "" if found or records else revisions.commit_of(self._kb, name)
        if not (found or records or commit):
            raise UnknownId(msg("{name} is no record and no merge", name=name), hint=msg("see: kb list"))
        self._paths |= {*found[:1], *(record.path for record in records)}
        self._commits += [commit] if commit else []

    def planned(self, advances: list[Advance]) -> Repaired:
        """Build the commit; nothing is visible yet."""
        merges = list(self._merges())
        for merge in merges:
            self._look_at(merge)
        undecided = tuple(one for one in self._undecided.values() if one.path not in self._files)
        advances[:] = [Advance(self._head, self._head.oid, {})]
        if not self._files:
            return Repaired(len(merges), (), undecided)
        told = sorted(path for path, data in self._files.items() if data is not None)
        uids = [str(values_of(self._files[path] or b"", path).get("uid") or "") for path in told]
        first = f"Repair {told[0]}" if len(told) == 1 else f"Repair {len(told)} records"
        rows = "\n".join(f"- {path}" for path in told)
        words = message(first, rows, {"Kb-Op": "repaired", "Kb-Uid": ",".join(filter(None, uids[:50]))})
        advances[:] = [built(self._kb, self._head, self._files, words)]
        return Repaired(len(merges), tuple(told), undecided, advances[0].new)

    # which merges

    def _merges(self) -> Iterator[Merge]:
        """Yield the merges to be looked at, oldest first, without those of more than two lines."""
        where = [self._kb.repository.full(path) for path in sorted(self._paths)] or [self._kb.repository.full(CONTENT)]
        words = ["log", "--merges", "--full-history", "--reverse", "--topo-order", "--format=%H %P", *self._range()]
        for row in self._kb.repository.git(*words, "--", *where).decode().splitlines():
            commit, *parents = row.split()
            if len(parents) == 2 and (base := revisions.common(self._kb, parents[0], parents[1])):
                yield Merge(commit, parents[0], parents[1], base)

    def _range(self) -> list[str]:
        if self._commits:
            return ["--no-walk", *self._commits]
        seen = (content(os.path.join(self._kb.repository.private, _SEEN)) or b"").decode("ascii", "replace").strip()
        if self._every or self._paths or not is_ancestor(self._kb.repository, seen, self._head.oid):
            return [self._head.oid]
        return [self._head.oid, f"^{seen}"]

    # one merge

    def _look_at(self, merge: Merge) -> None:
        kb = self._kb
        mine, other = (revisions.changed_between(kb, merge.base, side) for side in (merge.ours, merge.theirs))
        paths = sorted(path for path in mine & other if self._is_wanted(path))
        asked = [(commit, path) for path in paths for commit in (merge.base, merge.ours, merge.theirs, merge.commit)]
        found = iter(kb.repository.blobs(asked))
        for path in paths:
            base, ours, theirs, then = next(found), next(found), next(found), next(found)
            if ours is not None and theirs is not None and then is not None:
                self._mend(merge, path, (base, ours, theirs), then)
        for moved, stayed in (*self._twice(merge, mine), *self._twice(merge, other)):
            self._make_one(merge, moved, stayed)

    def _is_wanted(self, path: str) -> bool:
        return not self._paths or path in self._paths

    def _now(self, path: str) -> bytes | None:
        return self._files[path] if path in self._files else self._kb.repository.blob(self._head.oid, path)

    def _mend(self, merge: Merge, path: str, sides: tuple[bytes | None, bytes, bytes], then: bytes) -> None:
        """Plan to mend one record that both sides of *merge* changed; *then* is what the merge made of it."""
        base, ours, theirs = sides
        now = self._now(path)
        wanted = merged(base, ours, theirs, path=path, labels=(merge.ours[:12], merge.theirs[:12]))
        if now is None or then == wanted.data or not self._may_be_mended(sides, then, now):
            return
        if wanted.conflicts:
            self._undecided[path] = Undecided(path, merge.commit, tuple(c.said for c in wanted.conflicts))
            return
        found = merged(then, now, wanted.data, path=path) if now != then else wanted
        if found.conflicts:
            self._undecided[path] = Undecided(path, merge.commit, tuple(c.said for c in found.conflicts))
        elif found.data != now:
            self._files[path] = found.data

    def _may_be_mended(self, sides: tuple[bytes | None, bytes, bytes], then: bytes, now: bytes) -> bool:
        """Return whether a file is as lines were put together, or as nobody can mean it."""
        if is_spoilt(now):
            return True
        base, ours, theirs = sides
        return now == then == worktree.merged(self._kb.repository, ours, base or b"", theirs)

    def _twice(self, merge: Merge, changed: set[str]) -> list[tuple[str, str]]:
        """Return new and old file of the records that one side moved and the merge has in both."""
        paths = sorted(changed)
        asked = [(commit, path) for path in paths for commit in (merge.base, merge.commit)]
        found = iter(self._kb.repository.blobs(asked))
        uids: dict[str, dict[bool, str]] = {}
        for path in paths:
            base, then = next(found), next(found)
            uid = str(values_of(then or b"", path).get("uid") or "")
            if then is not None and uid:
                uids.setdefault(uid, {})[base is None] = path
        pairs = [(places[True], places[False]) for places in uids.values() if len(places) == 2]
        return [pair for pair in pairs if any(map(self._is_wanted, pair))]

    def _make_one(self, merge: Merge, moved: str, stayed: str) -> None:
        """Plan to make one file of two that hold one record: one side moved it, and the other one changed it."""
        asked = (merge.base, stayed), (merge.commit, moved), (merge.commit, stayed)
        base, one, other = self._kb.repository.blobs(asked)
        if one is None or other is None or (self._now(moved), self._now(stayed)) != (one, other):
            return
        found = merged(base, one, other, path=moved)
        if found.conflicts:
            self._undecided[moved] = Undecided(moved, merge.commit, tuple(c.said for c in found.conflicts))
        else:
            self._files |= {moved: found.data, stayed: None}


def is_spoilt(data: bytes) -> bool:
    """Return whether a record file has conflict markers, or a section twice."""
    try:
        record = record_file.read(data)
    except BadRecord:
        return True
    names = [section.name or one_line(section.heading).casefold() for section in record.sections]
    return len(set(names)) < len(names)
