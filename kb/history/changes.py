"""What became of the records between two commits: the release notes of decisions."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from kb.checks import record_diff as changing
from kb.checks.record_diff import Change
from kb.git.revisions import changed_between, records_at
from kb.history.snapshot import index_at
from kb.records.model import Record, Status

if TYPE_CHECKING:
    from kb.workspace import Workspace

GROUPS = ("decided", "superseded", "deprecated", "rejected", "reopened", "proposed", "amended", "edited", "removed")
"""What can become of a record, in the order in which it is told."""
_BY_STATUS = {
    Status.ACCEPTED: "decided", Status.DEPRECATED: "deprecated", Status.REJECTED: "rejected",
    Status.SUPERSEDED: "superseded", Status.PROPOSED: "reopened",
}  # fmt: skip


class Entry(NamedTuple):
    """What became of one record."""

    what: str
    """One of GROUPS."""
    record: Record
    """As it stands in the later commit; a removed one as it was."""
    by: tuple[Record, ...] = ()
    """The records that supersede or amend it."""
    parts: tuple[str, ...] = ()
    """What was edited: keys of the front, names of sections, "user"."""


class Between(NamedTuple):
    """What became of the records between two commits."""

    older: str
    """The earlier commit; "" for before the first."""
    newer: str
    entries: tuple[Entry, ...]


def between(kb: Workspace, older: str, newer: str) -> Between:
    """Return what became of the records from commit *older* ("": nothing) to commit *newer*, by what and by id."""
    with contextlib.closing(index_at(kb, newer)) as index:
        world = {changing.identity(record): record for record in index.records()}
    if older:
        paths = changed_between(kb, older, newer)
        found = records_at(kb, {(commit, path) for commit in (older, newer) for path in paths})
        before = [record for (commit, _), record in found.items() if commit == older]
        after = [record for (commit, _), record in found.items() if commit == newer]
    else:
        before, after = [], list(world.values())
    entries = [_entry(change) for change in changing.changes(before, after, world)]
    order = {what: number for number, what in enumerate(GROUPS)}
    return Between(older, newer, tuple(sorted(entries, key=lambda entry: order[entry.what])))


def _entry(change: Change) -> Entry:
    record = change.record
    what = {"removed": "removed", "amended": "amended", "superseded": "superseded"}.get(change.step, "edited")
    if change.step == "new":
        what = "proposed" if record.status == Status.PROPOSED else _BY_STATUS.get(Status(record.status), "edited")
    elif change.step == "changed" and change.moved:
        undone = change.moved[0] != Status.PROPOSED and record.status == Status.ACCEPTED
        what = "reopened" if undone else _BY_STATUS.get(Status(record.status), "edited")
    return Entry(what, record, change.by, tuple(part.name for part in change.parts))
