"""What happened lately, and what waits: a digest for people."""

from __future__ import annotations

import contextlib
import json
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.refusals import Refusal, list_refusals
from kb.checks import collect_checks, staleness
from kb.checks.findings import Finding
from kb.checks.run_checks import apply_rules
from kb.context.give_hints import USES
from kb.git.revisions import resolve_commit
from kb.history.changes import ChangeLog, build_change_log
from kb.history.revision_spec import find_commit_before_day, parse_midnight
from kb.records.model import Record, Status
from kb.sync.decide_review import assess_reviews
from kb.writing.reviews import Review, list_reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

YOUNG = 30
"""Days a record is given before it is told that nobody was handed it."""


class Digest(NamedTuple):
    """What happened since a day, and what waits for a person."""

    since: str
    """ISO day."""
    changes: ChangeLog
    reviews: tuple[Review, ...]
    waiting: tuple[Finding, ...]
    """What is stale, or waits long for a verdict."""
    unused: tuple[Record, ...]
    """Accepted records, older than YOUNG days, that this clone has handed to no agent since then."""
    counted_from: str
    """The day from which this clone counts what it hands out; "" where it has handed out nothing yet."""
    refused: tuple[Refusal, ...] = ()
    """What the gate refused of the sessions that this clone read since."""


def build_digest(kb: Workspace, since: str) -> Digest:
    """Return what happened since the ISO day *since*, and what waits."""
    newest = resolve_commit(kb, "HEAD")
    changes = build_change_log(kb, find_commit_before_day(kb, since), newest)
    records = kb.records()
    known = {record.path: record for record in records}
    looked = collect_checks.collect_context(
        kb, (one._replace(record=known.get(one.path)) for one in collect_checks.iter_sources(kb))
    )
    waiting = tuple(apply_rules(looked, (staleness.check_stale_records, staleness.check_old_records)))
    first, handed = _load_handed_out(kb)
    unused = [record for record in records if record.status == Status.ACCEPTED and record.uid not in handed]
    old = tuple(record for record in unused if _count_days(record, kb.today()) > YOUNG) if first else ()
    refused = tuple(list_refusals(kb, parse_midnight(since)))
    return Digest(since, changes, tuple(assess_reviews(kb, list_reviews(kb))), waiting, old, first, refused)


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


def _count_days(record: Record, today: str) -> int:
    with contextlib.suppress(ValueError):
        return (date.fromisoformat(today) - date.fromisoformat(record.date)).days
    return 0
