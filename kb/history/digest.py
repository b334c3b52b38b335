"""What happened lately, and what waits: a digest for people."""

from __future__ import annotations

import contextlib
import json
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.refusals import Refusal, refusals
from kb.checks import collect_checks, staleness
from kb.checks.findings import Finding
from kb.checks.rules import found
from kb.context.give_hints import USES
from kb.git.revisions import commit_of
from kb.history.changes import Between, between
from kb.history.revision_spec import begin_of, midnight
from kb.records.model import Record, Status
from kb.sync.mergeability import judged
from kb.writing.reviews import Review, reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

YOUNG = 30
"""Days a record is given before it is told that nobody was handed it."""


class Digest(NamedTuple):
    """What happened since a day, and what waits for a person."""

    since: str
    """ISO day."""
    changes: Between
    reviews: tuple[Review, ...]
    waiting: tuple[Finding, ...]
    """What is stale, or waits long for a verdict."""
    unused: tuple[Record, ...]
    """Accepted records, older than YOUNG days, that this clone has handed to no agent since then."""
    counted_from: str
    """The day from which this clone counts what it hands out; "" where it has handed out nothing yet."""
    refused: tuple[Refusal, ...] = ()
    """What the gate refused of the sessions that this clone read since."""


def digest(kb: Workspace, since: str) -> Digest:
    """Return what happened since the ISO day *since*, and what waits."""
    newest = commit_of(kb, "HEAD")
    changes = between(kb, begin_of(kb, since), newest)
    records = kb.records()
    known = {record.path: record for record in records}
    looked = collect_checks.looked(kb, (one._replace(record=known.get(one.path)) for one in collect_checks.sources(kb)))
    waiting = tuple(found(looked, (staleness.stale_records, staleness.old_records)))
    first, handed = _handed(kb)
    unused = [record for record in records if record.status == Status.ACCEPTED and record.uid not in handed]
    old = tuple(record for record in unused if _age(record, kb.today()) > YOUNG) if first else ()
    refused = tuple(refusals(kb, midnight(since)))
    return Digest(since, changes, tuple(judged(kb, reviews(kb))), waiting, old, first, refused)


def _handed(kb: Workspace) -> tuple[str, set[str]]:
    """Return the day of the first hand-over and the uids of all records handed over; a damaged line is passed over."""
    first, found = "", set[str]()
    with contextlib.suppress(OSError), open(kb.state.path(USES), encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                first = first or str(row["time"])[:10]
                found.update(map(str, row["uids"]))
    return first, found


def _age(record: Record, today: str) -> int:
    with contextlib.suppress(ValueError):
        return (date.fromisoformat(today) - date.fromisoformat(record.date)).days
    return 0
