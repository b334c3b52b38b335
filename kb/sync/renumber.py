"""Give records new numbers in one commit that can be reviewed: those whose number another one has too, or one by name.

The older of two keeps the number, by day and uid. What a citation of a number that two records have means is known
from history: it means the one of them that was there when it was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import UnknownId
from kb.git.repository import format_commit_message
from kb.i18n import msg
from kb.index.lookup import find_record
from kb.merge.renumbering import (
    Key,
    RenumberedRecord,
    find_text_scope,
    parse_file_key,
    rename_path,
    resolve_citation,
    update_references,
)
from kb.records.front_matter import decode_record
from kb.records.model import Record
from kb.records.record_paths import CONTENT
from kb.writing.file_changes import Advance, apply_advance, build_advance
from kb.writing.transaction import Transaction

if TYPE_CHECKING:
    from kb.workspace import Workspace


class RenumberResult(NamedTuple):
    """What a call has renumbered, or would."""

    renumbered: tuple[RenumberedRecord, ...]
    followed: tuple[str, ...] = ()
    """The files, by their old names, in which a citation has the new number."""
    unclear: tuple[tuple[str, str], ...] = ()
    """File and number of citations that may mean either record: they stay, and a person has to look."""
    commit: str = ""


class _DuplicateId(NamedTuple):
    """A record that gets a new number, and the others that have the old one."""

    record: Record
    new: str
    others: tuple[str, ...]
    """Their files."""


def renumber_records(kb: Workspace, name: str = "", *, scope: str = "", dry_run: bool = False) -> RenumberResult:
    """Renumber the younger of every two records of one number (in *scope*), or the record that *name* means.

    Raise UnknownId where *name* means none, or one of several scopes.
    """
    writing = Transaction(kb, "", "")
    advances: list[Advance] = []

    def plan() -> RenumberResult:
        twins = _find_duplicate_ids(kb, name, scope)
        return _build_renumbering(writing, twins, advances)

    def publish(done: RenumberResult) -> RenumberResult:
        apply_advance(kb, advances[0], [], "kb: renumber")
        writing.is_published = True
        return done

    return writing.run_with_retries(plan, None if dry_run else publish)


def _find_duplicate_ids(kb: Workspace, name: str, scope: str) -> list[_DuplicateId]:
    """Return the records that are to get a new number, each with it."""
    by_key: dict[Key, list[Record]] = defaultdict(list)
    for record in sorted(kb.index.records(), key=lambda record: (record.date or "9999", record.uid, record.path)):
        by_key[record.scope, record.id].append(record)
    found: list[_DuplicateId] = []
    wanted = _find_named_records(kb, by_key, name, scope) if name else _list_younger_records(by_key, scope)
    for one in sorted(wanted, key=lambda record: (record.scope, len(record.id), record.id)):
        new = kb.index.next_id(one.scope, one.id.rstrip("0123456789"))
        kb.index.reserve_id(one.scope, new)
        others = tuple(other.path for other in by_key[one.scope, one.id] if other.path != one.path)
        found.append(_DuplicateId(one, new, others))
    return found


def _list_younger_records(by_key: dict[Key, list[Record]], scope: str) -> list[Record]:
    """Return every record whose number an older one has; one record in two files is one record."""
    return [
        one
        for key, records in by_key.items()
        if scope in ("", key[0])
        for one in records[1:]
        if not one.uid or one.uid != records[0].uid
    ]


def _find_named_records(kb: Workspace, by_key: dict[Key, list[Record]], name: str, scope: str) -> list[Record]:
    """Return the record that *name* means; of two in one scope the younger."""
    project, _, record_id = name.strip("[] ").rpartition(":")
    wanted = f"project/{project}" if project and project != "global" else project or scope
    twins = [one for one in _list_younger_records(by_key, "") if one.id == record_id and wanted in ("", one.scope)]
    if len({one.scope for one in twins}) == 1:
        return twins
    record = find_record(kb.index, name, scope or kb.caller_scope)
    if scope and record.scope != scope:
        words = msg("there is no record {id} in {scope}", id=name, scope=scope)
        raise UnknownId(words, hint=msg("see: kb list"))
    return [record]


def _build_renumbering(writing: Transaction, twins: Sequence[_DuplicateId], advances: list[Advance]) -> RenumberResult:
    """Build the commit; nothing is visible yet."""
    kb, head = writing.kb, writing.head
    if not twins:
        advances[:] = [Advance(head, head.oid, {})]
        return RenumberResult(())
    followed, unclear, files = _rewrite_citing_files(kb, head.oid, twins)
    told = tuple(
        RenumberedRecord(
            t.record.scope, t.record.id, t.new, t.record.uid, t.record.title, rename_path(t.record.path, t.new)
        )
        for t in twins
    )
    first = f"Renumber [{told[0].old}] to [{told[0].new}] {told[0].title}"
    subject = first if len(told) == 1 else f"Renumber {len(told)} records"
    rows = [f"- [{one.old}] is [{one.new}] now: {one.title}" for one in told] + [f"- cited in {p}" for p in followed]
    trailers = {"Kb-Op": "renumbered", "Kb-Uid": ",".join(one.uid for one in told)}
    advances[:] = [build_advance(kb, head, files, format_commit_message(subject, "\n".join(rows), trailers))]
    return RenumberResult(told, tuple(followed), tuple(unclear), advances[0].new)


def _rewrite_citing_files(
    kb: Workspace, head: str, twins: Sequence[_DuplicateId]
) -> tuple[list[str], list[tuple[str, str]], dict[str, bytes | None]]:
    """Return the files whose citations follow, those that are not clear, and everything that changes."""
    paths = [path for path in kb.repository.list_files(head, CONTENT) if find_text_scope(path) and "\n" not in path]
    known = {key for path in paths if (key := parse_file_key(path))}
    own = {twin.record.path: twin for twin in twins}
    followed: list[str] = []
    unclear: list[tuple[str, str]] = []
    files: dict[str, bytes | None] = {}
    for path, data in zip(paths, kb.repository.read_blobs([(head, path) for path in paths]), strict=True):
        wanted = [twin for twin in twins if data and twin.record.id.encode() in data]
        if not data or not wanted:
            continue
        before = after = decode_record(data, path)
        for twin in wanted:
            changed = _rewrite_citations(after, path, twin, known)
            if changed == after:
                continue
            is_meant = _is_cited_in(kb, path, twin, head)
            if is_meant is None:
                unclear.append((path, twin.record.id))
            after = changed if is_meant else after
        followed += [path] if after != before else []
        if path in own:
            twin = own[path]
            after = update_references(after, path, lambda project, record_id: "", (twin.record.id, twin.new, True))
            files |= {path: None, rename_path(path, twin.new): after.encode()}
        elif after != before:
            files[path] = after.encode()
    return followed, unclear, files


def _rewrite_citations(text: str, path: str, twin: _DuplicateId, known: set[Key]) -> str:
    """Return *text* with the new number of *twin* in its citations of the old one."""
    scope = find_text_scope(path)

    def map_id(project: str, record_id: str) -> str:
        is_it = resolve_citation(known, scope, project, record_id) == (twin.record.scope, twin.record.id)
        return twin.new if is_it else ""

    return update_references(text, path, map_id, None)


def _is_cited_in(kb: Workspace, path: str, twin: _DuplicateId, head: str) -> bool | None:
    """Return whether the old number in the file *path* means *twin*; None where history does not say.

    Whoever cited the number saw one of the records: the one that was there in the commit that wrote it.
    """
    if not twin.others:
        return True
    words = ["log", "--format=%H", f"-S{twin.record.id}", head, "--", kb.repository.to_git_path(path)]
    commits = kb.repository.git(*words).decode().split()
    places = (twin.record.path, *twin.others)
    asked = [(revision, place) for commit in commits for place in places for revision in (f"{commit}^", commit)]
    found = iter([data is not None for data in kb.repository.read_blobs(asked)])
    seen = {_has_seen_first([(next(found), next(found)) for _ in places]) for _ in commits}
    return seen.pop() if len(seen) == 1 else None


def _has_seen_first(places: Sequence[tuple[bool, bool]]) -> bool | None:
    """Return whether the first of several records was seen by who made a commit, and no other; None: it is not clear.

    *places* tell of each whether it was there before and after. What a commit brings its author has seen: one that
    brings a number which is taken already was made from a branch where it was not.
    """
    brought = [after and not before for before, after in places]
    there = brought if any(brought) else [after for _, after in places]
    return there[0] if there.count(True) == 1 or (not there[0] and any(there)) else None
