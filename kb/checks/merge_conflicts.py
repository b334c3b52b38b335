"""What stands against a merge: ids that are taken, records that cannot both hold, there and on other open branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.check_context import CheckContext, make_finding
from kb.checks.findings import Finding, Key, Severity
from kb.checks.record_diff import has_reference_to, record_identity
from kb.git import revisions
from kb.git.revisions import DivergedHistory
from kb.i18n import Message, msg
from kb.records.model import GLOBAL, LIVE, Candidate, Record, SimilarRecord, Status
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import find_similar
from kb.text.segment import build_index_terms, clip, normalise

if TYPE_CHECKING:
    from kb.workspace import Workspace


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


class MergeConflicts:
    """The other line and the open branches, as the records of this line meet them."""

    def __init__(self, kb: Workspace, lines: DivergedRecords, everything: CheckContext) -> None:
        """Read the open branches; *everything* is the checkout."""
        self.lines = lines
        self.opened = {one.record.path: one for one in everything.opened if one.record.path in lines.paths}
        self.olds = {record_identity(record): record for record in lines.before}
        scopes = {record.scope for record in lines.mine} | {GLOBAL}
        self.there = NeighbourIndex(record for record in lines.there.values() if record.scope in scopes)
        self.branches: list[str] = []
        self.unseen = 0
        self.elsewhere: dict[str, tuple[str, Record]] = {}
        """Identity → branch and record."""
        self.movers = [r for r in map(self._get_merged, lines.mine) if r.status in LIVE]
        """What this line changes and what speaks after the merge: it is compared with the others by its words."""
        self.clashing: set[tuple[str, str]] = set()
        """Path of one and id of the other of the records that were found to contradict each other, both ways."""
        self._read_branches(kb)

    def _read_branches(self, kb: Workspace) -> None:
        """Find what the open branches, the youngest first, add or edit, each record once."""
        wanted: dict[tuple[str, str], str] = {}
        branches = revisions.list_open_branches(kb, self.lines.parted, self.lines.revision)
        for branch in branches[: revisions.MOST_BRANCHES]:
            paths = revisions.list_own_changes(kb, self.lines.parted.tip, branch.tip)
            if paths:
                self.branches.append(branch.name)
                wanted |= {(branch.tip, path): branch.name for path in paths}
            self.unseen += paths is None
        self.unseen += len(branches[revisions.MOST_BRANCHES :])
        for place, record in revisions.read_records_at(kb, wanted).items():
            if record_identity(record) not in self.lines.touched_identities:
                self.elsewhere.setdefault(record_identity(record), (wanted[place], record))

    # ids

    def find_taken_ids(self) -> Iterator[Finding]:
        """Yield the ids of this line that name another record there or on an open branch."""
        taken = {_record_key(record): record for record in self.lines.there.values()}
        also: dict[Key, list[tuple[str, Record]]] = {}
        for branch, record in self.elsewhere.values():
            if record_identity(record) not in self.lines.there:
                also.setdefault(_record_key(record), []).append((branch, record))
        for record in self._iter_renumbered():
            other = taken.get(_record_key(record))
            if other and record_identity(other) != record_identity(record) and self._is_kept(other):
                yield self._report_taken_id(record, other, self.lines.revision, None)
            for branch, other in also.get(_record_key(record), []):
                yield self._report_taken_id(record, other, branch, record.uid > other.uid)

    def _iter_renumbered(self) -> Iterator[Record]:
        """Yield the records that this line has given an id: new ones, and those that have another one now."""
        for record in self.lines.mine:
            old = self.olds.get(record_identity(record))
            if old is None or _record_key(old) != _record_key(record):
                yield record

    def _is_kept(self, record: Record) -> bool:
        """Return whether *record* of the other line will be there after the merge, by the same id."""
        after = self.lines.merged.get(record_identity(record))
        return after is not None and _record_key(after) == _record_key(record)

    def _report_taken_id(self, record: Record, other: Record, branch: str, is_younger: bool | None) -> Finding:
        message = msg("on {branch}, {id} is “{title}”", branch=branch, id=other.scoped_id, title=clip(other.title, 80))
        fix = (
            msg("the other one is the younger and should give way; else: kb renumber {id}", id=record.scoped_id)
            if is_younger is False
            else msg("give this one a new number: kb renumber {id}", id=record.scoped_id)
        )
        return self._make_finding("branch-id", record, message, fix, "error", key="id")

    # contradictions

    def find_contradictions(self) -> Iterator[Finding]:
        """Yield what cannot hold beside what this line changes; what could not before either is left out."""
        movers = self.movers[:MOST]
        among = NeighbourIndex(movers)
        elsewhere = NeighbourIndex(record for _, record in self.elsewhere.values())
        for record in movers:
            there = (
                (o, why)
                for o, why in self.there.find_contradicted(record)
                if record_identity(o) not in self.lines.touched_identities
            )
            for other, reason in (*there, *among.find_contradicted(record)):
                if (other.path, record.id) not in self.clashing and not self._had_contradiction(record, other):
                    self.clashing |= {(record.path, other.id), (other.path, record.id)}
                    fix = msg(
                        "replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
                        old=other.scoped_id,
                        new=record.scoped_id,
                    )
                    severity: Severity = "error" if record.status == other.status == Status.ACCEPTED else "warning"
                    yield self._make_finding("contradiction", record, reason, fix, severity, key="title")
            for other, reason in elsewhere.find_contradicted(record):
                if not self._had_contradiction(record, other):
                    message = msg(
                        "on {branch}: {reason}", branch=self.elsewhere[record_identity(other)][0], reason=reason
                    )
                    fix = msg("settle it with the other branch: what is merged second has to replace what was first")
                    yield self._make_finding("contradiction", record, message, fix, "warning", key="title")

    def _get_merged(self, record: Record) -> Record:
        return self.lines.merged[record_identity(record)]

    def _had_contradiction(self, record: Record, other: Record) -> bool:
        """Return whether *record* contradicted *other* before this line changed them."""
        old, other = self.olds.get(record_identity(record)), self.olds.get(record_identity(other), other)
        if old is None or old.status not in LIVE or record_identity(other) not in self.lines.there:
            return False
        return find_contradiction(record_to_candidate(old), other) is not None

    def find_rival_successors(self) -> Iterator[Finding]:
        """Yield the records that replace one which the other line has replaced too, since the two parted."""
        came = [
            self.lines.there[key] for key in self.lines.came - self.lines.touched_identities if key in self.lines.there
        ]
        rivals = [record for record in came if record.supersedes and record.status == Status.ACCEPTED]
        for record in self.lines.mine:
            old = self.olds.get(record_identity(record))
            named = set(record.supersedes) - set(old.supersedes if old else ())
            for rival in rivals if named and record.status == Status.ACCEPTED else ():
                both = named & set(rival.supersedes)
                if both and rival.scope == record.scope and not _has_explanation(record, rival):
                    message = msg(
                        "on {branch}, {old} has been replaced by {rival} meanwhile: both replacements would hold",
                        branch=self.lines.revision,
                        old=", ".join(sorted(both)),
                        rival=rival.scoped_id,
                    )
                    fix = msg(
                        "replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
                        old=rival.scoped_id,
                        new=record.scoped_id,
                    )
                    yield self._make_finding("heirs", record, message, fix, "warning", key="supersedes")

    def _make_finding(
        self, rule: str, record: Record, message: Message, fix: Message, severity: Severity, *, key: str
    ) -> Finding:
        return make_finding(rule, self.opened[record.path], message, fix, severity=severity, key=key)


def _record_key(record: Record) -> Key:
    return record.scope, record.id


def _has_explanation(one: Record, other: Record) -> bool:
    """Return whether one of the two says how it stands to the other."""
    return any(
        has_reference_to((*a.supersedes, *a.amends, *a.coexists_with), b) for a, b in ((one, other), (other, one))
    )
