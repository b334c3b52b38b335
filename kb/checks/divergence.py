"""Two lines of history, record by record: what this one has changed since they parted, and what the other one has.

Three versions count: that of the commit in which they parted, the checkout's and the other line's. What will be after
the merge is what this line changed, put upon what the other one has by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.check_context import CheckContext
from kb.checks.record_diff import record_identity
from kb.git import revisions
from kb.git.revisions import DivergedHistory
from kb.records.model import Record

if TYPE_CHECKING:
    from kb.workspace import Workspace


class DivergedRecords(NamedTuple):
    """This line of history, which is the checkout, and the other one it is to be merged into."""

    revision: str
    """What the other one is called."""
    parted: DivergedHistory
    paths: frozenset[str]
    """The files that this line has changed."""
    before: tuple[Record, ...]
    """What stood in these files where the two parted."""
    mine: tuple[Record, ...]
    """What stands in them now."""
    there: Mapping[str, Record]
    """Every record of the other line, by identity."""
    came: frozenset[str]
    """The identities of what the other line has changed since the two parted."""
    merged: Mapping[str, Record]
    """Every record as it will be after the merge, by identity."""

    @property
    def touched_identities(self) -> frozenset[str]:
        """The identities of everything this line has changed, added or removed."""
        return frozenset(map(record_identity, (*self.before, *self.mine)))


def load_divergence(
    kb: Workspace, revision: str, parted: DivergedHistory, paths: frozenset[str], everything: CheckContext
) -> DivergedRecords:
    """Return both lines; *everything* is the checkout, *paths* are the files in which it is not as at the parting."""
    came = revisions.list_differing_records(kb, parted.fork, parted.tip)
    wanted = [(parted.base, path) for path in paths] + [(parted.tip, path) for path in paths | came]
    at = revisions.read_records_at(kb, wanted)
    now = {one.record.path: one.record for one in everything.opened}
    before = tuple(record for (commit, path), record in at.items() if commit == parted.base and path in paths)
    mine = tuple(now[path] for path in sorted(paths & now.keys()))
    theirs = [record for (commit, _), record in at.items() if commit == parted.tip]
    there = {record_identity(record): record for path, record in now.items() if path not in paths | came}
    there |= {record_identity(record): record for record in theirs}
    arrived = frozenset(record_identity(record) for record in theirs if record.path in came)
    return DivergedRecords(revision, parted, paths, before, mine, there, arrived, _merge_records(before, mine, there))


def _merge_records(before: Sequence[Record], mine: Sequence[Record], there: Mapping[str, Record]) -> dict[str, Record]:
    olds = {record_identity(record): record for record in before}
    merged = {key: record for key, record in there.items() if key not in olds}
    for record in mine:
        key = record_identity(record)
        merged[key] = _apply_status(record, olds.get(key), there.get(key))
    return merged


def _apply_status(record: Record, old: Record | None, theirs: Record | None) -> Record:
    """Return *record* with the status it will have: that of the other line, where this one has not changed it."""
    if old is None or theirs is None or record.status != old.status:
        return record
    return record._replace(status=theirs.status)
