"""Give records new numbers in one commit that can be reviewed: those whose number another one has too, or one by name.

The older of two keeps the number, by day and uid. What a citation of a number that two records have means is known
from history: it means the one of them that was there when it was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import UnknownId
from kb.git.repository import Head, format_commit_message
from kb.i18n import msg
from kb.index.record_ids import find_record
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
from kb.writing.transaction import transactions

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
    """Return whether the old number in the file *path* means *duplicate*; None where history does not say.

    Whoever cited the number saw one of the records: the one that was there in the commit that wrote it.
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
