"""List the changes of records between two commits (release notes of decisions), and what waits for a person."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.refusals import Refusal, list_refusals
from kb.checks import record_diff
from kb.checks.collect_checks import collect_context, iter_sources
from kb.checks.findings import Finding
from kb.checks.record_diff import RecordChange
from kb.checks.run_checks import apply_rules
from kb.checks.staleness import check_old_records, check_stale_records
from kb.context.give_hints import USES
from kb.git.revisions import list_differing_records, read_records_at, resolve_commit
from kb.history.snapshot import find_commit_before_day, open_index_at, parse_midnight
from kb.records.model import Record, Status
from kb.sync.decide_review import assess_reviews
from kb.writing.reviews import Review, list_reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

GROUPS = ("decided", "superseded", "deprecated", "rejected", "reopened", "proposed", "amended", "edited", "removed")
"""What can become of a record, in the order in which it is shown."""
_BY_STATUS: Mapping[str, str] = {
    Status.ACCEPTED: "decided",
    Status.DEPRECATED: "deprecated",
    Status.REJECTED: "rejected",
    Status.SUPERSEDED: "superseded",
    Status.PROPOSED: "reopened",
}


class ChangeLogEntry(NamedTuple):
    """What became of one record."""

    what: str
    """One of GROUPS."""
    record: Record
    """As it stands in the later commit; a removed one as it was."""
    by: tuple[Record, ...] = ()
    """The records that supersede or amend it."""
    parts: tuple[str, ...] = ()
    """What was edited: keys of the front matter, names of sections, "user"."""


class ChangeLog(NamedTuple):
    """What became of the records between two commits."""

    older: str
    """The earlier commit; "" for before the first."""
    newer: str
    entries: tuple[ChangeLogEntry, ...]


def build_change_log(kb: Workspace, older: str, newer: str) -> ChangeLog:
    """Return what became of the records from commit *older* ("": nothing) to commit *newer*, by what and by id."""
    with contextlib.closing(open_index_at(kb, newer)) as index:
        world = {record.identity: record for record in index.records()}
    if older:
        paths = list_differing_records(kb, older, newer)
        found = read_records_at(kb, {(commit, path) for commit in (older, newer) for path in paths})
        before = [record for (commit, _), record in found.items() if commit == older]
        after = [record for (commit, _), record in found.items() if commit == newer]
    else:
        before, after = [], list(world.values())
    entries = [_build_entry(change) for change in record_diff.diff_records(before, after, world)]
    return ChangeLog(older, newer, tuple(sorted(entries, key=lambda entry: GROUPS.index(entry.what))))


def _build_entry(change: RecordChange) -> ChangeLogEntry:
    record, what = change.record, "edited"
    if change.step in ("removed", "amended", "superseded"):
        what = change.step
    elif change.step == "new":
        what = "proposed" if record.status == Status.PROPOSED else _BY_STATUS.get(record.status, what)
    elif change.step == "changed" and change.status_change:
        # Accepted again after it had been out of force: that is no new decision.
        is_undone = change.status_change[0] != Status.PROPOSED and record.status == Status.ACCEPTED
        what = "reopened" if is_undone else _BY_STATUS.get(record.status, what)
    return ChangeLogEntry(what, record, change.by, tuple(part.name for part in change.parts))


# -- the digest -----------------------------------------------------------------------------------

GRACE_DAYS = 30
"""Days a record is given before the digest says that nobody was handed it."""


class Digest(NamedTuple):
    """What happened since a day, and what waits for a person."""

    since: str
    """ISO day."""
    changes: ChangeLog
    reviews: tuple[Review, ...]
    waiting: tuple[Finding, ...]
    """What is stale, or waits long for a verdict."""
    unused: tuple[Record, ...]
    """Accepted records, older than GRACE_DAYS days, that this clone has handed to no agent since then."""
    counted_from: str
    """The day from which this clone counts what it hands out; "" where it has handed out nothing yet."""
    refused: tuple[Refusal, ...] = ()
    """What the gate refused of the sessions that this clone read since."""


def build_digest(kb: Workspace, since: str) -> Digest:
    """Return what happened since the ISO day *since*, and what waits."""
    changes = build_change_log(kb, find_commit_before_day(kb, since), resolve_commit(kb, "HEAD"))
    records = kb.records()
    by_path = {record.path: record for record in records}
    sources = (source._replace(record=by_path.get(source.path)) for source in iter_sources(kb))
    waiting = apply_rules(collect_context(kb, sources), (check_stale_records, check_old_records))
    first, handed = _load_handed_out(kb)
    written_before = (date.fromisoformat(kb.today()) - timedelta(days=GRACE_DAYS)).isoformat()
    unused = [
        record
        for record in records
        if record.status == Status.ACCEPTED and record.uid not in handed and _is_day_before(record.date, written_before)
    ]
    reviews = tuple(assess_reviews(kb, list_reviews(kb)))
    refused = tuple(list_refusals(kb, parse_midnight(since)))
    return Digest(since, changes, reviews, tuple(waiting), tuple(unused if first else ()), first, refused)


def _load_handed_out(kb: Workspace) -> tuple[str, set[str]]:
    """Return the day of the first hand-over and the uids of all records handed over; a damaged line is passed over."""
    first, found = "", set[str]()
    with contextlib.suppress(OSError), open(kb.state.path(USES), encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                first = first or str(row["time"])[:10]
                found.update(map(str, row["uids"]))
    return first, found


def _is_day_before(day: str, other: str) -> bool:
    """Return whether *day* is an ISO day before the *other*."""
    with contextlib.suppress(ValueError):
        return date.fromisoformat(day).isoformat() < other
    return False
