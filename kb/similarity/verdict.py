"""Decide what becomes of a candidate that may be written, given the records it might repeat or contradict."""

from __future__ import annotations

from collections.abc import Sequence

from kb.i18n import Message, msg
from kb.records.kinds import ADR_SECTIONS, BY_NAME, list_section_names
from kb.records.model import Candidate, Record, Section, SimilarRecord, Status
from kb.similarity.contradictions import find_free_contradiction, find_literal_contradiction
from kb.similarity.duplicates import (
    compute_similarity,
    find_closest_records,
    find_similar,
    find_title_match,
    match_paraphrase,
)
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import one_line

# Sections that tell where a decision shows, how it is checked and how it is undone. They follow the code, which
# changes without a new decision, so a program may rewrite them.
_KEPT_CURRENT = ("impact", "verification", "rollback")
_LISTS = ("evidence", "additions")  # Sections to which lines are added, each with its own origin


class CandidateDecision(NamedTuple):
    """What to do with a candidate."""

    step: str  # create, merge or conflict
    record: Record | None = None  # The existing record, for merge and conflict
    reason: Message | None = None
    similar: tuple[SimilarRecord, ...] = ()

    @property
    def overturned_id(self) -> str:
        """The id of the accepted record that the candidate contradicts, or ""."""
        in_force = self.step == "conflict" and self.record is not None and self.record.status == Status.ACCEPTED
        return self.record.scoped_id if in_force and self.record else ""


def decide_candidate(candidate: Candidate, near: Sequence[Record], threshold: float) -> CandidateDecision:
    """Return what to do with *candidate* beside the live records *near* it.

    A contradiction is looked for before a duplicate: titles that differ in one word of negation are alike. What is
    worded freely is compared only where the titles tell nothing, the likest record first.
    """
    others = [record for record in near if record.id not in (*candidate.supersedes, *candidate.amends)]
    alike = find_similar(candidate, near)
    if found := _find_closest_contradiction(candidate, others):
        return CandidateDecision("conflict", *found, alike)
    if same := find_title_match(candidate, others, threshold):
        score = f"{same.score:.2f}"
        reason = msg("says the same as [{id}], titles {score} alike", id=same.record.scoped_id, score=score)
        return CandidateDecision("merge", same.record, reason, alike)
    for record in find_closest_records(candidate, others):
        if differs := find_free_contradiction(candidate, record):
            return CandidateDecision("conflict", record, differs, alike)
        if threshold < 1 and (same := match_paraphrase(candidate, record)):
            score = f"{same.score:.2f}"
            reason = msg("says the same as [{id}] in other words, {score} of them", id=record.scoped_id, score=score)
            return CandidateDecision("merge", record, reason, alike)
    return CandidateDecision("create", similar=alike)


def is_decision_changed(old: Record, new: Record) -> bool:
    """Return whether *new*, the text to come of the accepted record *old*, changes what was decided, or why.

    That is its title (of a record without a decision the title is what was decided), a claim that stood in it, and the
    text of every section but those of `_KEPT_CURRENT`. Filling an empty section changes nothing that was said, except
    a decision's: "Use PostgreSQL", "使用 PostgreSQL" has one in its title. Under `_LISTS` and under headings that kb
    does not know ("Consequences", "后果"), lines may be added.
    """
    if old.status != Status.ACCEPTED:
        return False
    if (old.title, old.section("decision").strip()) != (new.title, new.section("decision").strip()):
        return True
    if any(new.claims.get(key) != value for key, value in old.claims.items()):
        return True
    return any(_is_section_changed(section, new) for section in old.sections if section.name not in _KEPT_CURRENT)


def _is_section_changed(section: Section, new: Record) -> bool:
    """Return whether *section*, of the record as it stands, says something else in *new*."""
    same = [
        each for each in new.sections if each.name == section.name and (each.name or each.heading == section.heading)
    ]
    there = [line.strip() for each in same for line in each.text.splitlines() if line.strip()]
    lines = [line.strip() for line in section.text.splitlines() if line.strip()]
    if section.name and section.name not in _LISTS:
        return bool(lines) and lines != there
    left = iter(there)
    return not all(line in left for line in lines)  # further lines may stand between them


def _find_closest_contradiction(candidate: Candidate, records: Sequence[Record]) -> tuple[Record, Message] | None:
    """Return the record that *candidate* contradicts outright and whose title is likest, with the reason.

    Where "use PostgreSQL for storage" holds and "use PostgreSQL for invoices storage" as well, it is the latter that
    "use MongoDB for invoices storage" replaces.
    """
    found = [(record, reason) for record in records if (reason := find_literal_contradiction(candidate, record))]
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda one: (-compute_similarity(candidate.title, one[0].title), one[0].date, one[0].id))


def build_sections(candidate: Candidate) -> tuple[Section, ...]:
    """Return the sections a record of *candidate* has; what was not given is left out, never invented."""
    given = {**candidate._asdict(), **candidate.sections}
    given["impact"] = "\n".join(f"- `{path}`" for path in candidate.impact)
    texts = {name: str(given.get(name, "")) for name in list_section_names(candidate.kind)}
    quotes = []
    for each in candidate.evidence:
        origin = (each.source or "?", f"line {each.line}" if each.line else "", each.time)
        quotes.append(f"> {one_line(each.quote)}\n>\n> — {', '.join(filter(None, origin))}\n")
    texts["evidence"] = "\n".join(quotes)
    return tuple(Section(name, "", text.strip()) for name, text in texts.items() if text.strip())


def build_fields(candidate: Candidate) -> dict[str, object]:
    """Return the front matter that a record of *candidate* has of its kind's own, in the order of the table."""
    given = {"confidence": candidate.confidence, **candidate.fields}
    names = [field.name for field in BY_NAME[candidate.kind].fields]
    return {name: given[name] for name in names if given.get(name) not in (None, "", ())}


def find_missing_sections(record: Record) -> tuple[str, ...]:
    """Return the canonical names of the sections that *record*'s kind requires and it does not have."""
    return tuple(name for name in BY_NAME[record.kind].required if not record.section(name).strip())


def suggest_completion(record: Record, lacking: Sequence[str]) -> Message:
    """Say how the sections that *record* is *lacking* are added, with or without an editor; nothing for none."""
    if not lacking:
        return msg("")
    if not set(lacking) <= set(ADR_SECTIONS):
        return msg("complete it: kb edit {id}", id=record.scoped_id)
    options = " ".join("--impact PATH" if name == "impact" else f'--{name} "…"' for name in lacking)
    return msg("complete it: kb write --updates {id} {options}", id=record.scoped_id, options=options)


def derive_status(record: Record) -> str:
    """Return the status a newly written *record* deserves: accepted when nothing required is missing."""
    return Status.PROPOSED if find_missing_sections(record) else Status.ACCEPTED
