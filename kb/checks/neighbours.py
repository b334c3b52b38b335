"""The records near a record, and those it contradicts, among records that need not be in the index.

A comparison with another branch looks at records that no checkout has: what the index would find is found here in
memory, by the terms of the titles, the claims and the impact paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import nlargest

from kb.checks.record_diff import has_reference_to, record_identity
from kb.i18n import Message
from kb.records.model import GLOBAL, LIVE, Candidate, Record, SimilarRecord
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import find_similar
from kb.text.segment import build_index_terms, normalise

NEAR = 48
"""Records of the likest titles that are compared, and as many for each claim and path: twice what the gate takes."""
MOST = 500
"""Changed records whose words are compared with the others; of more, as an import makes, the first so many."""

_Mark = tuple[str, str]


class NeighbourIndex:
    """Live records by what could make them say the same as another, or the contrary."""

    def __init__(self, records: Iterable[Record]) -> None:
        """Take the live ones among *records*."""
        self._records = [record for record in records if record.status in LIVE]
        self._marked: dict[tuple[str, _Mark], list[int]] = defaultdict(list)
        for number, record in enumerate(self._records):
            for mark in _collect_marks(record):
                self._marked[record.scope, mark].append(number)

    def find_near(self, record: Record, *scopes: str) -> list[Record]:
        """Return the records in *scopes* (none: that of *record*) that could say the same as *record*, itself not."""
        found: dict[int, None] = {}
        for scope in dict.fromkeys(scopes or (record.scope,)):
            weights: dict[int, float] = defaultdict(float)
            for mark in _collect_marks(record):
                numbers = self._marked.get((scope, mark), ())
                if mark[0] == "term":
                    for number in numbers:
                        weights[number] += 1 / len(numbers)
                else:
                    found.update(dict.fromkeys(numbers[:NEAR]))
            found.update(dict.fromkeys(nlargest(NEAR, weights, key=weights.__getitem__)))
        own = record_identity(record)
        return [other for other in map(self._records.__getitem__, found) if record_identity(other) != own]

    def find_similar(self, record: Record) -> tuple[SimilarRecord, ...]:
        """Return the records most like *record*, of its scope and the global one, as the gate would name them."""
        return find_similar(record_to_candidate(record), self.find_near(record, record.scope, GLOBAL))

    def find_contradicted(self, record: Record) -> Iterator[tuple[Record, Message]]:
        """Yield each record that cannot hold beside *record*, by what both say, with the reason."""
        candidate = record_to_candidate(record)
        for other in self.find_near(record):
            reason = None if _has_stated_relation(other, record) else find_contradiction(candidate, other)
            if reason:
                yield other, reason


def _collect_marks(record: Record) -> set[_Mark]:
    marks = {("term", term) for term in build_index_terms(record.title).split()}
    marks |= {("path", path) for path in record.impact} | {("claim", normalise(key)) for key in record.claims}
    return marks


def _has_stated_relation(other: Record, record: Record) -> bool:
    """Return whether *other* says itself how it stands to *record*."""
    return has_reference_to((*other.supersedes, *other.amends, *other.coexists_with), record)


def record_to_candidate(record: Record) -> Candidate:
    """Return what somebody would hand in to have *record* written."""
    return Candidate(
        record.kind,
        record.title,
        decision=record.section("decision"),
        why=record.section("why"),
        impact=record.impact,
        tags=record.tags,
        scope=record.scope,
        claims=record.claims,
        coexists_with=record.coexists_with,
        supersedes=record.supersedes,
        amends=record.amends,
    )
