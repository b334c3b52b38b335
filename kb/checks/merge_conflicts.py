"""Find objections to a merge: duplicate ids, and contradictions with records of the trunk or of open branches.

Records of other branches are not in the index. They are compared in memory instead, by title terms, claims and
impact paths.

Also find records that a merge damaged. git merges lines: without a conflict, or with both sides kept, the result may
still parse as a record but repeat or contradict itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.check_context import CheckContext, Finding, Key, LoadedRecord, MergeVersions, Severity
from kb.checks.lifecycle_rules import suggest_choice
from kb.checks.record_diff import has_reference_to
from kb.errors import BadRecord
from kb.git import revisions
from kb.git.revisions import DivergedHistory
from kb.i18n import Message, msg
from kb.records.blocks import find_leftover_marker, find_record_blocks
from kb.records.candidate import build_record_candidate
from kb.records.front_matter import TextSpan
from kb.records.model import GLOBAL, LIVE, Record, Section, SimilarRecord, Status, is_imported
from kb.similarity.contradictions import find_contradiction
from kb.similarity.duplicates import find_similar
from kb.text.markdown_scan import find_code_lines, find_headings
from kb.text.segment import build_index_terms, clip, count_words, find_line_number, normalise, one_line, split_lines

if TYPE_CHECKING:
    from kb.workspace import Workspace

MAX_NEAR_RECORDS = 48
"""Records with the most similar titles to compare, and as many per claim and path: twice as many as in the gate."""
MAX_COMPARED_RECORDS = 500
"""Changed records whose text is compared with others; the rest of a larger change, such as an import, is not."""

_Mark = tuple[str, str]


# -- records that are near ------------------------------------------------------------------------


class NeighbourIndex:
    """Live records, indexed by title terms, claims and paths to find duplicates and contradictions."""

    def __init__(self, records: Iterable[Record]) -> None:
        """Index the live records among *records*."""
        self._records = [record for record in records if record.status in LIVE]
        self._marked: dict[tuple[str, _Mark], list[int]] = defaultdict(list)
        for number, record in enumerate(self._records):
            for mark in _collect_marks(record):
                self._marked[record.scope, mark].append(number)

    def find_near(self, record: Record, *scopes: str) -> list[Record]:
        """Return other records in *scopes* (none: the scope of *record*) that may repeat or contradict *record*."""
        found: dict[int, None] = {}
        for scope in dict.fromkeys(scopes or (record.scope,)):
            weights: dict[int, float] = defaultdict(float)
            for mark in _collect_marks(record):
                numbers = self._marked.get((scope, mark), ())
                if mark[0] == "term":
                    # a rarer word weighs more: "idempotency" counts, "service" hardly
                    for number in numbers:
                        weights[number] += 1 / len(numbers)
                else:
                    found.update(dict.fromkeys(numbers[:MAX_NEAR_RECORDS]))
            found.update(dict.fromkeys(nlargest(MAX_NEAR_RECORDS, weights, key=weights.__getitem__)))
        own = record.identity
        return [other for other in map(self._records.__getitem__, found) if other.identity != own]

    def find_similar(self, record: Record) -> tuple[SimilarRecord, ...]:
        """Return the records most similar to *record* in its scope and the global one, as the gate finds them."""
        return find_similar(build_record_candidate(record), self.find_near(record, record.scope, GLOBAL))

    def find_contradicted(self, record: Record) -> Iterator[tuple[Record, Message]]:
        """Yield each record that contradicts *record*, with the reason."""
        candidate = build_record_candidate(record)
        for other in self.find_near(record):
            reason = None if _names_relation(other, record) else find_contradiction(candidate, other)
            if reason:
                yield other, reason


def _collect_marks(record: Record) -> set[_Mark]:
    marks = {("term", term) for term in build_index_terms(record.title).split()}
    return marks | {("path", path) for path in record.impact} | {("claim", normalise(key)) for key in record.claims}


def _names_relation(other: Record, record: Record) -> bool:
    """Return whether *other* names its relation to *record*."""
    return has_reference_to((*other.supersedes, *other.amends, *other.coexists_with), record)


# -- two lines of history, record by record -------------------------------------------------------


class DivergedRecords(NamedTuple):
    """The checkout (this line of history) and the other line that it is to be merged into.

    Three versions count: the merge base, the checkout and the other line. The merge will be the other line with the
    changes of this one.
    """

    revision: str
    """The name of the other line."""
    parted: DivergedHistory
    paths: frozenset[str]
    """The files that this line changed."""
    before: Mapping[str, Record]
    """The records of these files in the merge base, by identity."""
    mine: tuple[Record, ...]
    """The records of these files now."""
    there: Mapping[str, Record]
    """Every record of the other line, by identity."""
    came: frozenset[str]
    """The identities of the records that the other line changed since the merge base."""
    merged: Mapping[str, Record]
    """Every record as it will be after the merge, by identity."""


def load_divergence(
    kb: Workspace, revision: str, parted: DivergedHistory, paths: frozenset[str], context: CheckContext
) -> DivergedRecords:
    """Load both lines; *context* is the checkout, *paths* are the files that differ from the merge base."""
    came = revisions.list_differing_records(kb, parted.fork, parted.tip)
    wanted = [(parted.base, path) for path in paths] + [(parted.tip, path) for path in paths | came]
    at = revisions.read_records_at(kb, wanted)
    now = {one.record.path: one.record for one in context.records}
    before = {one.identity: one for (commit, path), one in at.items() if commit == parted.base and path in paths}
    mine = tuple(now[path] for path in sorted(paths & now.keys()))
    theirs = [record for (commit, _), record in at.items() if commit == parted.tip]
    there = {record.identity: record for path, record in now.items() if path not in paths | came}
    there |= {record.identity: record for record in theirs}
    arrived = frozenset(record.identity for record in theirs if record.path in came)
    merged = {key: record for key, record in there.items() if key not in before}
    for record in mine:
        key = record.identity
        was, other = before.get(key), there.get(key)
        # a status that this line did not change is taken from the other line
        is_unchanged = was is not None and record.status == was.status
        merged[key] = record._replace(status=other.status) if is_unchanged and other else record
    return DivergedRecords(revision, parted, paths, before, mine, there, arrived, merged)


# -- what speaks against the merge ----------------------------------------------------------------


class MergeConflicts:
    """Conflicts of this line's records with the other line and the open branches."""

    def __init__(self, kb: Workspace, lines: DivergedRecords, context: CheckContext) -> None:
        """Read the open branches; *context* is the checkout."""
        self._lines = lines
        self._touched = lines.before.keys() | {record.identity for record in lines.mine}
        """The identities of everything that this line changed, added or removed."""
        self._loaded = {one.record.path: one for one in context.records if one.record.path in lines.paths}
        self._elsewhere: dict[str, tuple[str, Record]] = {}
        """Identity → branch and record."""
        scopes = {record.scope for record in lines.mine} | {GLOBAL}
        self.there = NeighbourIndex(record for record in lines.there.values() if record.scope in scopes)
        merged = (lines.merged[record.identity] for record in lines.mine)
        self.changed_live = [record for record in merged if record.status in LIVE]
        """The records changed by this line that are live after the merge; their text is compared with the others."""
        self.branches: list[str] = []
        """The open branches with records of their own."""
        self.unseen = 0
        """The number of open branches that were not read."""
        self.contradicting: set[tuple[str, str]] = set()
        """Path of one and id of the other record of each contradicting pair, both ways."""
        self._read_branches(kb)

    def _read_branches(self, kb: Workspace) -> None:
        """Collect the records that open branches add or edit, youngest branch first, each record once."""
        wanted: dict[tuple[str, str], str] = {}
        branches = revisions.list_open_branches(kb, self._lines.parted, self._lines.revision)
        for branch in branches[: revisions.MOST_BRANCHES]:
            paths = revisions.list_own_changes(kb, self._lines.parted.tip, branch.tip)
            if paths:
                self.branches.append(branch.name)
                wanted |= {(branch.tip, path): branch.name for path in paths}
            self.unseen += paths is None
        self.unseen += len(branches[revisions.MOST_BRANCHES :])
        for at, record in revisions.read_records_at(kb, wanted).items():
            if record.identity not in self._touched:
                self._elsewhere.setdefault(record.identity, (wanted[at], record))

    def find_taken_ids(self) -> Iterator[Finding]:
        """Yield a finding for each id of this line that names another record there or on an open branch."""
        lines = self._lines
        rivals: dict[Key, list[tuple[str, Record]]] = defaultdict(list)
        for key, other in {record.key: record for record in lines.there.values()}.items():
            after = lines.merged.get(other.identity)
            if after is not None and after.key == key:
                rivals[key].append((lines.revision, other))
        for branch, other in self._elsewhere.values():
            if other.identity not in lines.there:
                rivals[other.key].append((branch, other))
        for record in lines.mine:
            key, old = record.key, lines.before.get(record.identity)
            if old is not None and old.key == key:
                continue  # this line neither added nor renumbered it
            for branch, other in rivals[key]:
                if other.identity == record.identity:
                    continue
                title = clip(other.title, 80)
                message = msg("on {branch}, {id} is “{title}”", branch=branch, id=other.scoped_id, title=title)
                # records of the other line keep their ids; between two branches the older uid does
                fix = msg(
                    "the other one is newer and should be renumbered; else: kb renumber {id}", id=record.scoped_id
                )
                if branch == lines.revision or record.uid > other.uid:
                    fix = msg("give this one a new number: kb renumber {id}", id=record.scoped_id)
                yield self._loaded[record.path].report("branch-id", "id", message, fix)

    def find_contradictions(self) -> Iterator[Finding]:
        """Yield the contradictions with records that this line changes, except those that existed before."""
        changed = self.changed_live[:MAX_COMPARED_RECORDS]
        among = NeighbourIndex(changed)
        elsewhere = NeighbourIndex(record for _, record in self._elsewhere.values())
        for record in changed:
            there = self.there.find_contradicted(record)
            untouched = [pair for pair in there if pair[0].identity not in self._touched]
            for other, reason in (*untouched, *among.find_contradicted(record)):
                if (other.path, record.id) in self.contradicting or self._had_contradiction(record, other):
                    continue
                self.contradicting |= {(record.path, other.id), (other.path, record.id)}
                is_error = record.status == other.status == Status.ACCEPTED
                severity: Severity = "error" if is_error else "warning"
                fix = suggest_choice(other, record)
                yield self._loaded[record.path].report("contradiction", "title", reason, fix, severity=severity)
            for other, reason in elsewhere.find_contradicted(record):
                if not self._had_contradiction(record, other):
                    branch, _ = self._elsewhere[other.identity]
                    message = msg("on {branch}: {reason}", branch=branch, reason=reason)
                    fix = msg(
                        "resolve it with the other branch: what is merged second has to replace what was merged first"
                    )
                    yield self._loaded[record.path].report("contradiction", "title", message, fix, severity="warning")

    def _had_contradiction(self, record: Record, other: Record) -> bool:
        """Return whether *record* contradicted *other* before this line changed them."""
        old, other = self._lines.before.get(record.identity), self._lines.before.get(other.identity, other)
        if old is None or old.status not in LIVE or other.identity not in self._lines.there:
            return False
        return find_contradiction(build_record_candidate(old), other) is not None

    def find_rival_successors(self) -> Iterator[Finding]:
        """Yield the records that replace one which the other line has also replaced since the merge base."""
        lines = self._lines
        came = [lines.there[key] for key in lines.came - self._touched if key in lines.there]
        rivals = [record for record in came if record.supersedes and record.status == Status.ACCEPTED]
        for record in lines.mine:
            old = self._lines.before.get(record.identity)
            new = set(record.supersedes) - set(old.supersedes if old else ())
            for rival in rivals if new and record.status == Status.ACCEPTED else ():
                both = new & set(rival.supersedes)
                is_explained = _names_relation(record, rival) or _names_relation(rival, record)
                if both and rival.scope == record.scope and not is_explained:
                    message = msg(
                        "on {branch}, {old} has since been replaced by {rival}: both replacements would be in effect",
                        branch=lines.revision,
                        old=sorted(both),
                        rival=rival.scoped_id,
                    )
                    fix = suggest_choice(rival, record)
                    yield self._loaded[record.path].report("heirs", "supersedes", message, fix, severity="warning")


# -- records that git's line merge damaged --------------------------------------------------------

MIN_REPEATED_WORDS = 3
"""字 from which a repeated list item is unlikely to be intended."""
PARAGRAPH = 8
"""The same for a repeated paragraph."""

_LISTS = ("tags", "impact", "supersedes", "amends", "sources")
_ITEM = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(\S.*)|(\|.*)")


# -- sections -------------------------------------------------------------------------------------


def check_duplicate_sections(context: CheckContext) -> Iterator[Finding]:
    """Report a section that occurs twice in a record: readers of the section get only the first."""
    for one in context.records:
        first: dict[str, Section] = {}
        for number, section in enumerate(one.record.sections):
            old = first.setdefault(section_key(section), section)
            is_free = is_imported(one.record.extra) and not section.name
            if old is section or is_free:  # "Pros" below each option of a foreign record: nothing reads it by name
                continue
            heading = clip(section.heading, 60)
            if one_line(old.text) == one_line(section.text):
                message = msg("the section {heading} appears twice, word for word", heading=heading)
                fix = msg("remove one of them")
            else:
                message = msg("the section {heading} appears twice, and only the first is read", heading=heading)
                fix = msg("put both into one; after a merge: kb repair {id}", id=one.record.scoped_id)
            is_written_alike = old.heading.casefold() == section.heading.casefold()
            severity: Severity = "error" if section.name and is_written_alike else "warning"
            yield Finding("section-twice", severity, one.record.path, _find_section_line(one, number), message, fix)


def section_key(section: Section) -> str:
    """Return the key that identifies a section in its record."""
    return section.name or one_line(section.heading).casefold()


def _find_section_line(one: LoadedRecord, number: int) -> int:
    return find_line_number(one.text, _find_section_spans(one.text)[number].start)


def _find_section_spans(text: str) -> list[TextSpan]:
    """Return the spans of the sections of a record, each including its heading, in the order of its `sections`."""
    start, end = find_record_blocks(text).machine
    return [TextSpan(start + heading.start, start + heading.end) for heading in find_headings(text[start:end])]


def check_both_sides(context: CheckContext) -> Iterator[Finding]:
    """Report a section in which the last merge kept both sides' replacements of the same lines."""
    for one in context.records:
        versions = context.surroundings.merges.get(one.record.path)
        for number, section in enumerate(one.record.sections if versions else ()):
            if versions and _has_both_sides(section, versions):
                message = msg("the merge kept what both sides wrote in {heading}", heading=clip(section.heading, 60))
                fix = msg("choose one, or combine them: kb edit {id}", id=one.record.scoped_id)
                yield Finding("both-sides", "error", one.record.path, _find_section_line(one, number), message, fix)


def _has_both_sides(section: Section, versions: MergeVersions) -> bool:
    """Return whether *section* has the lines of both sides where both replaced, or first wrote, the same lines."""
    key = section_key(section)
    base, ours, theirs = (
        {
            row
            for other in (record.sections if record else ())
            if section_key(other) == key
            for row in _split_rows(other)
        }
        for record in versions
    )
    # base "use A", ours "use B", theirs "use C": a merge that kept both sides has "use B" and "use C"
    mine, other = ours - base, theirs - base
    if not mine - other or not other - mine or not mine | other <= set(_split_rows(section)):
        return False
    return not base or bool((base - ours) & (base - theirs))


def _split_rows(section: Section) -> list[str]:
    return [row.strip() for row in section.text.split("\n") if row.strip()]


# -- lines ----------------------------------------------------------------------------------------


def check_duplicate_items(context: CheckContext) -> Iterator[Finding]:
    """Report duplicate items in a list of the front matter."""
    for one in context.records:
        for key in _LISTS:
            items = getattr(one.record, key)
            once = tuple(dict.fromkeys(items))
            if len(once) < len(items):
                item = next(item for item in once if items.count(item) > 1)
                message = msg("{item} appears under {key} twice", item=clip(item, 80), key=key)
                fix = msg("remove the duplicate: kb check --fix")
                change = {key: list(once)}
                yield one.report("twice", key, message, fix, item=item, severity="warning", change=change)


def check_duplicate_lines(context: CheckContext) -> Iterator[Finding]:
    """Report, once per section, a list item repeated in its list, or a paragraph repeated in its section."""
    for one in context.records:
        if is_imported(one.record.extra) and one.record.path not in context.surroundings.merges:
            continue  # its author wrote it this way; only a merge repeats lines by accident
        texts = [*(section.text for section in one.record.sections), one.record.user]
        spans = (
            [*_find_section_spans(one.text), find_record_blocks(one.text).user] if any(map(_can_repeat, texts)) else []
        )
        for text, span in zip(texts, spans, strict=False):
            repeated = _find_repeated(one.text[span.start : span.end]) if _can_repeat(text) else None
            if repeated:
                row, words = repeated
                message = msg("“{text}” appears twice", text=clip(words, 80))
                line = find_line_number(one.text, span.start) + row
                yield Finding("twice", "warning", one.record.path, line, message, msg("remove one of them"))


def _can_repeat(text: str) -> bool:
    # "1. Retry twice" and "3. Retry twice" are one item, numbered by two sides
    rows = [row.strip().lstrip("0123456789.)") for row in text.split("\n") if row.strip()]
    return len(set(rows)) < len(rows)


def _find_repeated(text: str) -> tuple[int, str] | None:
    """Return row (0-based) and words of the first repeated item or paragraph in *text*, or None."""
    items: set[str] = set()
    paragraphs: set[str] = set()
    for row, words, is_item in _iter_pieces(text):
        if not is_item:
            items = set()  # a new list begins
        seen, least = (items, MIN_REPEATED_WORDS) if is_item else (paragraphs, PARAGRAPH)
        if words in seen and count_words(words) >= least:
            return row, words
        seen.add(words)
    return None


def _iter_pieces(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the outer list items, table rows and paragraphs of *text*, each with its 0-based row.

    A heading counts as a paragraph without words.
    """
    paragraph: list[str] = []
    try:
        code = find_code_lines(text)
    except BadRecord:  # nested too deeply to tell code from text
        return
    rows = ["" if number in code else row.rstrip("\r\n") for number, row in enumerate(split_lines(text))]
    for number, row in enumerate([*rows, ""]):
        item = _ITEM.match(row)
        if paragraph and (item or not row.strip()):
            yield number - len(paragraph), one_line(" ".join(paragraph)), False
            paragraph = []
        if item:
            yield number, one_line(item[1] or item[2]), True
        elif row.startswith("#"):
            yield number, "", False  # a list below another heading is another list
        elif row.strip() and (paragraph or not row.startswith((" ", "\t"))):
            paragraph.append(row)


def check_leftover_markers(context: CheckContext) -> Iterator[Finding]:
    """Report a single leftover conflict marker; a file with a complete set is not a valid record."""
    for text in context.texts:
        if line := find_leftover_marker(text.text):
            severity: Severity = "error" if text.is_record else "warning"
            message = msg("the file contains git conflict markers")
            fix = msg("remove it, and check the text around it")
            yield Finding("conflict-markers", severity, text.path, line, message, fix)
