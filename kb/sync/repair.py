"""Repair merges made without kb's merge driver, and renumber records.

A damaged record is merged again from the parents of the merge. It is replaced only if it is unchanged since git merged
its lines, or certainly damaged (conflict markers, a repeated section). A person's decision stays; conflicts are
reported.

Of two records with one number the older keeps it, by day and uid. History shows which of them a citation means: the
one that existed when it was written.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.merge_conflicts import section_key
from kb.errors import BadRecord, UnknownId
from kb.files import read_if_exists, write_atomic
from kb.git import revisions, worktree
from kb.git.commit_message import format_commit_message
from kb.git.objects import is_ancestor
from kb.git.repository import Head
from kb.i18n import Message, msg
from kb.index.record_ids import find_record
from kb.merge.merge_record import merge_record
from kb.merge.renumbering import (
    Key,
    RenumberedRecord,
    find_text_scope,
    parse_file_key,
    parse_front_values,
    rename_path,
    resolve_citation,
    update_references,
)
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.kinds import CONTENT, is_record_path
from kb.records.model import Record
from kb.writing.file_changes import Advance, apply_advance, build_advance
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FILE = "repaired"
"""File with the commit up to which all merges were examined."""


class PastMerge(NamedTuple):
    """A merge of two lines."""

    commit: str
    ours: str
    theirs: str
    base: str


class UndecidedRecord(NamedTuple):
    """A record with a conflict between the sides of a merge."""

    path: str
    merge: str
    reasons: tuple[Message, ...]


class RepairResult(NamedTuple):
    """What a call has repaired, or would repair in a dry run."""

    merges: int
    """Number of merges examined."""
    repaired: tuple[str, ...] = ()
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
        # only a record unchanged since git merged its lines, or certainly damaged
        by_lines = worktree.merge_file_versions
        if not _is_damaged(now) and not (now == then == by_lines(self._kb.repository, ours, base or b"", theirs)):
            return
        if now != then and not wanted.conflicts:  # changes made since the merge stay
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
    """Return whether a record file has conflict markers or a repeated section."""
    try:
        record = record_file.read(data)
    except BadRecord:
        return True
    return len(set(map(section_key, record.sections))) < len(record.sections)


def _read_uid(path: str, data: bytes | None) -> str:
    return str(parse_front_values(data or b"", path).get("uid") or "")


# -- new numbers ----------------------------------------------------------------------------------


class RenumberResult(NamedTuple):
    """What a call has renumbered, or would."""

    renumbered: tuple[RenumberedRecord, ...]
    followed: tuple[str, ...] = ()
    """The files, by their old names, in which a citation has the new number."""
    unclear: tuple[tuple[str, str], ...] = ()
    """File and number of ambiguous citations: they stay, and a person has to look."""
    commit: str = ""


class _DuplicateId(NamedTuple):
    """A record that gets a new number, and the files of the others that have the old one."""

    record: Record
    new: str
    others: tuple[str, ...]


def renumber_records(kb: Workspace, name: str = "", *, scope: str = "", dry_run: bool = False) -> RenumberResult:
    """Renumber the younger of every two records of one number (in *scope*), or the record that *name* means.

    Raise UnknownId where *name* means none, or one of several scopes.
    """
    for transaction in transactions(kb, dry_run=dry_run):
        with transaction:
            result, advance = _plan_renumbering(kb, transaction.head, _find_duplicate_ids(kb, name, scope))
            if not dry_run:
                apply_advance(transaction, advance, [], "kb: renumber")
    return result


# -- which records --------------------------------------------------------------------------------


def _find_duplicate_ids(kb: Workspace, name: str, scope: str) -> list[_DuplicateId]:
    """Return the records that are to get a new number, each with it."""
    by_key: dict[Key, list[Record]] = defaultdict(list)
    kb.index.set_reader(None)  # numbers are given out for all
    for record in sorted(kb.index.records(), key=lambda record: (record.date or "9999", record.uid, record.path)):
        by_key[record.scope, record.id].append(record)
    wanted = _find_named_records(kb, by_key, name, scope) if name else _list_younger_records(by_key, scope)
    found: list[_DuplicateId] = []
    for record in sorted(wanted, key=lambda record: (record.scope, len(record.id), record.id)):
        new = kb.index.next_id(record.scope, record.id.rstrip("0123456789"))
        kb.index.reserve_id(record.scope, new)
        others = tuple(other.path for other in by_key[record.scope, record.id] if other.path != record.path)
        found.append(_DuplicateId(record, new, others))
    return found


def _list_younger_records(by_key: dict[Key, list[Record]], scope: str) -> list[Record]:
    """Return every record whose number an older one has; one record in two files is one record."""
    return [
        record
        for key, records in by_key.items()
        if scope in ("", key[0])
        for record in records[1:]
        if not record.uid or record.uid != records[0].uid
    ]


def _find_named_records(kb: Workspace, by_key: dict[Key, list[Record]], name: str, scope: str) -> list[Record]:
    """Return the record that *name* means; of two in one scope the younger."""
    project, _, record_id = name.strip("[] ").rpartition(":")  # "D004", "[shop:D004]", "global:D004"
    wanted = f"project/{project}" if project and project != "global" else project or scope
    younger = [one for one in _list_younger_records(by_key, "") if one.id == record_id and wanted in ("", one.scope)]
    if len({one.scope for one in younger}) == 1:
        return younger
    record = find_record(kb.index, name, scope or kb.caller_scope)
    if scope and record.scope != scope:
        raise UnknownId(msg("there is no record {id} in {scope}", id=name, scope=scope), hint=msg("see: kb list"))
    return [record]


# -- what becomes of the files --------------------------------------------------------------------


def _plan_renumbering(kb: Workspace, head: Head, duplicates: Sequence[_DuplicateId]) -> tuple[RenumberResult, Advance]:
    """Build the commit; nothing is visible yet."""
    if not duplicates:
        return RenumberResult(()), Advance(head, head.oid, {})
    followed, unclear, files = _rewrite_files(kb, head.oid, duplicates)
    renumbered = tuple(
        RenumberedRecord(record.scope, record.id, new, record.uid, record.title, rename_path(record.path, new))
        for record, new, _ in duplicates
    )
    first = renumbered[0]
    subject = f"Renumber [{first.old}] to [{first.new}] {first.title}"
    if len(renumbered) > 1:
        subject = f"Renumber {len(renumbered)} records"
    rows = [f"- [{one.old}] is [{one.new}] now: {one.title}" for one in renumbered]
    body = "\n".join([*rows, *(f"- cited in {path}" for path in followed)])
    trailers = {"Kb-Op": "renumbered", "Kb-Uid": ",".join(one.uid for one in renumbered)}
    advance = build_advance(kb, head, files, format_commit_message(subject, body, trailers))
    return RenumberResult(renumbered, tuple(followed), tuple(unclear), advance.new), advance


def _rewrite_files(
    kb: Workspace, head: str, duplicates: Sequence[_DuplicateId]
) -> tuple[list[str], list[tuple[str, str]], dict[str, bytes | None]]:
    """Return the files whose citations follow, those that are not clear, and everything that changes."""
    paths = [path for path in kb.repository.list_files(head, CONTENT) if find_text_scope(path) and "\n" not in path]
    known = {key for path in paths if (key := parse_file_key(path))}
    own = {duplicate.record.path: duplicate for duplicate in duplicates}
    followed: list[str] = []
    unclear: list[tuple[str, str]] = []
    files: dict[str, bytes | None] = {}
    for path, data in kb.repository.read_files(head, paths).items():
        cited = [duplicate for duplicate in duplicates if data and duplicate.record.id.encode() in data]
        if not data or not cited:
            continue
        before = after = decode_record(data, path)
        for duplicate in cited:
            changed = update_references(after, path, partial(_map_id, known, find_text_scope(path), duplicate), None)
            if changed != after:
                is_meant = _is_meant(kb, path, duplicate, head)
                if is_meant is None:
                    unclear.append((path, duplicate.record.id))
                after = changed if is_meant else after
        if after != before:
            followed.append(path)
            files[path] = after.encode()
        if path in own:  # the record itself: its front matter, its heading, its alias, its file name
            old, new = own[path].record.id, own[path].new
            after = update_references(after, path, lambda project, record_id: "", (old, new, True))
            files |= {path: None, rename_path(path, new): after.encode()}
    return followed, unclear, files


def _map_id(known: set[Key], scope: str, duplicate: _DuplicateId, project: str, record_id: str) -> str:
    """Return the new number of *duplicate* where a citation in a text of *scope* means it; else ""."""
    meant = resolve_citation(known, scope, project, record_id)
    return duplicate.new if meant == (duplicate.record.scope, duplicate.record.id) else ""


def _is_meant(kb: Workspace, path: str, duplicate: _DuplicateId, head: str) -> bool | None:
    """Return whether the old number in the file *path* means *duplicate*, or None if history does not tell.

    The author of the citation meant the record that existed in the commit that wrote it.
    """
    if not duplicate.others:
        return True
    pickaxe = f"-S{duplicate.record.id}"
    log = kb.repository.git("log", "--format=%H", pickaxe, head, "--", kb.repository.to_git_path(path))
    commits = log.decode().split()
    twins = (duplicate.record.path, *duplicate.others)
    asked = [(revision, twin) for commit in commits for twin in twins for revision in (f"{commit}^", commit)]
    is_there = iter([data is not None for data in kb.repository.read_blobs(asked)])
    seen = {_has_seen_first([(next(is_there), next(is_there)) for _ in twins]) for _ in commits}
    return seen.pop() if len(seen) == 1 else None


def _has_seen_first(twins: Sequence[tuple[bool, bool]]) -> bool | None:
    """Return whether the author of a commit saw the first of several records and no other; None where it is not clear.

    *twins* say of each whether it was there before the commit and after it. What a commit brings its author has seen:
    one that brings a number which is taken already was made from a branch where it was not.
    """
    # in order: the record that is renumbered, then the others that have its number
    brought = [after and not before for before, after in twins]
    seen = brought if any(brought) else [after for _, after in twins]
    return seen[0] if seen.count(True) == 1 or (not seen[0] and any(seen)) else None
