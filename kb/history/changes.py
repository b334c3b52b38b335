"""What became of the records between two commits: the release notes of decisions."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from kb.checks import record_diff as changing
from kb.checks.record_diff import RecordChange
from kb.git.revisions import list_differing_records, read_records_at
from kb.history.snapshot import open_index_at
from kb.records.model import Record, Status

if TYPE_CHECKING:
    from kb.workspace import Workspace

GROUPS = ("decided", "superseded", "deprecated", "rejected", "reopened", "proposed", "amended", "edited", "removed")
"""What can become of a record, in the order in which it is told."""
_BY_STATUS = {
    Status.ACCEPTED: "decided", Status.DEPRECATED: "deprecated", Status.REJECTED: "rejected",
    Status.SUPERSEDED: "superseded", Status.PROPOSED: "reopened",
}  # fmt: skip


class ChangeLogEntry(NamedTuple):
    """What became of one record."""

    what: str
    """One of GROUPS."""
    record: Record
    """As it stands in the later commit; a removed one as it was."""
    by: tuple[Record, ...] = ()
    """The records that supersede or amend it."""
    parts: tuple[str, ...] = ()
    """What was edited: keys of the front, names of sections, "user"."""


class ChangeLog(NamedTuple):
    """What became of the records between two commits."""

    older: str
    """The earlier commit; "" for before the first."""
    newer: str
    entries: tuple[ChangeLogEntry, ...]


def build_change_log(kb: Workspace, older: str, newer: str) -> ChangeLog:
    """Return what became of the records from commit *older* ("": nothing) to commit *newer*, by what and by id."""
    with contextlib.closing(open_index_at(kb, newer)) as index:
        world = {changing.record_identity(record): record for record in index.records()}
    if older:
        paths = list_differing_records(kb, older, newer)
        found = read_records_at(kb, {(commit, path) for commit in (older, newer) for path in paths})
        before = [record for (commit, _), record in found.items() if commit == older]
        after = [record for (commit, _), record in found.items() if commit == newer]
    else:
        before, after = [], list(world.values())
    entries = [_build_entry(change) for change in changing.diff_records(before, after, world)]
    order = {what: number for number, what in enumerate(GROUPS)}
    return ChangeLog(older, newer, tuple(sorted(entries, key=lambda entry: order[entry.what])))


def _build_entry(change: RecordChange) -> ChangeLogEntry:
    record = change.record
    what = {"removed": "removed", "amended": "amended", "superseded": "superseded"}.get(change.step, "edited")
    if change.step == "new":
        what = "proposed" if record.status == Status.PROPOSED else _BY_STATUS.get(Status(record.status), "edited")
    elif change.step == "changed" and change.status_change:
        undone = change.status_change[0] != Status.PROPOSED and record.status == Status.ACCEPTED
        what = "reopened" if undone else _BY_STATUS.get(Status(record.status), "edited")
    return ChangeLogEntry(what, record, change.by, tuple(part.name for part in change.parts))
