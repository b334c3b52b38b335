"""Compare knowledge bases: contradictions and duplicates between teams' records, and links between repositories.

This uses the comparison of the gate (`kb.similarity`) across repositories and regardless of scopes. It decides
nothing: both teams are shown both records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb.checks.merge_conflicts import NeighbourIndex
from kb.index.postings import hash_term
from kb.index.schema import Filter, load_record
from kb.organisation.hub_engine import LINKED, Reader, load_rows
from kb.organisation.org_rank import load_term_keys
from kb.organisation.org_records import find_repository_record, iter_records
from kb.organisation.org_values import AcrossLink, AcrossPair, AcrossReport, OrgRecord
from kb.records.candidate import build_record_candidate
from kb.records.kinds import RULING
from kb.records.model import GLOBAL, Record, Status
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import find_duplicate

MAX_COMPARED = 50_000
"""Accepted records to compare, the newest first; they are held in memory."""


def compare_repositories(reader: Reader) -> AcrossReport:
    """Return contradictions, duplicates and links between the accepted records of different repositories."""
    accepted = Filter(statuses=(Status.ACCEPTED,), kinds=tuple(sorted(RULING)))
    records = list(iter_records(reader, accepted))
    records = sorted(records, key=lambda one: one.record.date, reverse=True)[:MAX_COMPARED]
    contradictions, duplicates = _compare_pairs(records)
    return AcrossReport(contradictions, duplicates, _list_links(reader), len(records))


def select_concerning(report: AcrossReport, repo: str) -> AcrossReport:
    """Return the part of *report* that concerns records of the repository *repo*."""
    contradictions, duplicates = (
        tuple(pair for pair in pairs if repo in (pair.one.repo, pair.other.repo))
        for pairs in (report.contradictions, report.duplicates)
    )
    links = (one for one in report.links if one.record.repo == repo or (one.found and one.found.repo == repo))
    return AcrossReport(contradictions, duplicates, tuple(links), report.compared)


def _compare_pairs(found: Sequence[OrgRecord]) -> tuple[tuple[AcrossPair, ...], tuple[AcrossPair, ...]]:
    known = {one.name + " " + one.record.path: one for one in found}
    foreign = {key: _make_comparable(key, one) for key, one in known.items()}
    near = NeighbourIndex(foreign.values())
    contradictions: list[AcrossPair] = []
    duplicates: list[AcrossPair] = []
    seen: set[tuple[str, str]] = set()
    for key, record in sorted(foreign.items()):
        candidate = build_record_candidate(record)
        for other in near.find_near(record):
            pair = (min(key, other.uid), max(key, other.uid))
            if known[key].repo == known[other.uid].repo or pair in seen or _is_declared(record, other):
                continue
            seen.add(pair)
            one, two = (known[name] for name in pair)
            if reason := find_contradiction(candidate, other):
                contradictions.append(AcrossPair(one, two, reason))
            elif match := find_duplicate(candidate, [other]):
                duplicates.append(AcrossPair(one, two, "", round(match.score, 3)))
    contradictions.sort(key=lambda pair: (pair.one.name, pair.other.name))
    duplicates.sort(key=lambda pair: (-pair.score, pair.one.name, pair.other.name))
    return tuple(contradictions), tuple(duplicates)


def _make_comparable(key: str, one: OrgRecord) -> Record:
    """Return the record with the id by which other repositories cite it, in the global scope."""
    return one.record._replace(id=one.name, scope=GLOBAL, uid=key)


def _is_declared(one: Record, other: Record) -> bool:
    """Return whether one of the two names its relation to the other."""
    pairs = ((one, other), (other, one))
    return any(b.id in (*a.supersedes, *a.amends, *a.coexists_with) for a, b in pairs)


def _list_links(reader: Reader) -> tuple[AcrossLink, ...]:
    """Return the links from records of one repository to records of another."""
    keys = load_term_keys(reader, [hash_term(LINKED)])
    links: list[AcrossLink] = []
    for key, row in sorted(load_rows(reader, keys).items()) if len(keys) else ():
        own = OrgRecord(reader.names[key >> 32], load_record(*row))
        for relation, names in (("supersedes", own.record.supersedes), ("amends", own.record.amends)):
            links += [AcrossLink(own, relation, name, found) for name, found in _iter_foreign(reader, own.repo, names)]
    return tuple(links)


def _iter_foreign(reader: Reader, repo: str, names: Iterable[str]) -> Iterable[tuple[str, OrgRecord | None]]:
    for name in names:
        target, colon, record_id = name.strip("[]").partition(":")
        # before the colon may also be a project of the same base, which a hub does not link
        if colon and target != repo and target in reader.names:
            yield name, find_repository_record(reader, target, record_id)
