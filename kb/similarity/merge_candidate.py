"""Decide what becomes of a candidate that may be written, and merge a duplicate or an addition into its record.

Old text is never touched. What the record lacks is filled in, new facts are added as dated lines that name their
source, and a repetition by another session is counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kb.adr.adopted import is_adopted
from kb.i18n import Message, msg
from kb.records.blocks import append_to_section, edit_section
from kb.records.front_matter import edit_front_matter
from kb.records.kinds import ADR_SECTIONS, BY_NAME, RULING, SIGNATURE, list_fields, list_section_names, section_label
from kb.records.model import ASKED, Candidate, Record, Section, SimilarRecord, Status, list_field
from kb.similarity.contradictions import (
    can_contradict,
    find_free_contradiction,
    find_literal_contradiction,
    find_other_answer,
    has_opposite_word,
    has_word_of_change,
)
from kb.similarity.duplicates import (
    compute_similarity,
    find_closest_records,
    find_similar,
    find_title_match,
    match_paraphrase,
)
from kb.similarity.statement import has_order, parse_statement
from kb.similarity.subject import Measure, find_likeliest
from kb.similarity.tokens import LONGEST_STATEMENT, split_plain_sentences
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.markdown_scan import find_fenced_code, scan_markdown
from kb.text.segment import normalise, normalise_newlines, one_line, split_sentences

ASK_FROM, ASK_BY_VECTORS_FROM = 0.55, 0.7
"""The likelihood of one question from which on the writer is asked, by words and by vectors. Of 1,062 decision records
in 38 public repositories, each beside those before it, words ask about every tenth, partly rightly."""
ASK_AMONG_FEW_FROM, FEW = 0.45, 3
"""The same where there are at most FEW records to compare: there a question is rare, however likely each is. Of related
pairs in strangers' words, alone, three in ten are asked about (`python -m bench.subjects`)."""
CONTRADICT_FROM = 0.75
"""The likelihood of one question from which on two answers to it contradict each other; below, the writer is asked."""
SURE = 0.63
"""The share of what two records say in other words from which on they are merged unasked, where they rule something: of
what strangers wrote in a sentence or two, what agreed less was wrong in two cases of six."""
_BINDING = frozenset({"decision", "constraint", "interface", "pattern"})
"""Kinds of which one may answer the question of another: a note only explains, and a preference is of people."""
_ASKED_OF = RULING | {"pitfall"}
"""Kinds of which a second record on one question is worth a question to its writer."""


class CandidateDecision(NamedTuple):
    """What to do with a candidate."""

    step: str  # create, merge, conflict or ask
    record: Record | None = None  # The existing record, for merge, conflict and ask
    reason: Message | None = None
    similar: tuple[SimilarRecord, ...] = ()

    @property
    def overturned_id(self) -> str:
        """The id of the accepted record that the candidate contradicts, or ""."""
        in_force = self.step == "conflict" and self.record is not None and self.record.status == Status.ACCEPTED
        return self.record.scoped_id if in_force and self.record else ""


def decide_candidate(
    candidate: Candidate,
    near: Sequence[Record],
    threshold: float,
    measure_nearness: Measure | None = None,
) -> CandidateDecision:
    """Return what to do with *candidate* beside the live records *near* it.

    Where wording decides nothing and the subject is the same, the two contradict each other if they answer one question
    by two alternatives; else the writer is asked. *measure_nearness*, where there is a model of meaning, is asked
    before.
    """
    found = decide_by_wording(candidate, near, threshold)
    if found.step != "create" or threshold >= 1 or candidate.updates:
        return found
    others = [record for record in near if record.id not in (*candidate.supersedes, *candidate.amends)]
    asked, likelihood = _find_likeliest_subject(candidate, others, measure_nearness)
    if asked is None:
        return found
    if likelihood >= CONTRADICT_FROM and (differs := find_other_answer(candidate, asked)):
        return CandidateDecision("conflict", asked, differs, found.similar)
    return CandidateDecision("ask", asked, similar=found.similar)


def decide_by_wording(candidate: Candidate, near: Sequence[Record], threshold: float) -> CandidateDecision:
    """Return what to do with *candidate* beside the live records *near* it as far as their wording tells.

    A contradiction is looked for before a duplicate: titles that differ in one word of negation are alike. What is
    worded freely is compared only where the titles tell nothing, the likest record first.
    """
    others = [record for record in near if record.id not in (*candidate.supersedes, *candidate.amends)]
    alike = find_similar(candidate, near)
    for record in others:  # before a contradiction is looked for: two cures of one failure contradict nothing
        if is_same_failure_told(candidate, list_field(record, SIGNATURE)):
            return CandidateDecision("merge", record, msg("is the failure of [{id}]", id=record.scoped_id), alike)
    if found := _find_closest_contradiction(candidate, others):
        return CandidateDecision("conflict", *found, alike)
    if same := find_title_match(candidate, others, threshold):
        score = f"{same.score:.2f}"
        reason = msg("says the same as [{id}], titles {score} alike", id=same.record.scoped_id, score=score)
        return CandidateDecision("merge", same.record, reason, alike)
    doubtful = None
    for record in find_closest_records(candidate, others):
        if differs := find_free_contradiction(candidate, record):
            return CandidateDecision("conflict", record, differs, alike)
        if threshold < 1 and (same := match_paraphrase(candidate, record)):
            is_sure = same.score >= SURE and not has_word_of_change(candidate, record)
            if candidate.kind in RULING and (not is_sure or has_opposite_word(candidate, record)):
                doubtful = doubtful or record
                continue
            score = f"{same.score:.2f}"
            reason = msg("says the same as [{id}] in other words, {score} of them", id=record.scoped_id, score=score)
            return CandidateDecision("merge", record, reason, alike)
    if doubtful and not candidate.updates:
        return CandidateDecision("ask", doubtful, similar=alike)
    return CandidateDecision("create", similar=alike)


def is_same_failure_told(candidate: Candidate, lines: Sequence[str]) -> bool:
    """Return whether *lines*, the signature of a failure, are those of the failure that *candidate* reports, if any."""
    own = tuple(candidate.fields.get(SIGNATURE, ()))
    if not (own and lines):
        return False
    from kb.similarity.failure_signatures import is_same_failure, read_signature  # most writes tell of no failure

    return is_same_failure(read_signature(lines), read_signature(own))


def find_same_subject(
    candidate: Candidate,
    records: Sequence[Record],
    measure_nearness: Measure | None = None,
) -> Record | None:
    """Return the one of *records* that is likely about the question of *candidate*, where words do not tell more."""
    return _find_likeliest_subject(candidate, records, measure_nearness)[0]


def _find_likeliest_subject(
    candidate: Candidate, records: Sequence[Record], measure_nearness: Measure | None
) -> tuple[Record | None, float]:
    """Return that record, or None, and how likely it is."""
    open_ones = list_comparable(candidate, records)
    if not open_ones:
        return None, 0.0
    likeliest = find_likeliest(candidate, open_ones, measure_nearness)
    least = get_least_likelihood(len(open_ones), has_vectors=measure_nearness is not None)
    return likeliest if likeliest and likeliest[1] >= least else (None, 0.0)


def get_least_likelihood(count: int, *, has_vectors: bool = False) -> float:
    """Return the likelihood from which on the writer is asked, where there are *count* records to compare."""
    return ASK_AMONG_FEW_FROM if count <= FEW else ASK_BY_VECTORS_FROM if has_vectors else ASK_FROM


def list_comparable(candidate: Candidate, records: Sequence[Record]) -> list[Record]:
    """Return those of *records* of which only the subject tells whether they are about the question of *candidate*.

    None where the candidate says how the two stand to each other, or is a failure that is known by its signature, and
    for kinds that only tell. Claims tell as well: with equal keys they would have contradicted, and with others the two
    are about two things. So does a session that has written both: it knows the one when it writes the other.
    """
    if candidate.kind not in _ASKED_OF or candidate.supersedes or candidate.amends or candidate.coexists_with:
        return []
    if candidate.fields.get(SIGNATURE):
        return []
    said, source = f"{candidate.title} {candidate.decision} {candidate.why}", format_source(candidate)
    return [
        record
        for record in records
        if (record.kind == candidate.kind or {record.kind, candidate.kind} <= _BINDING)
        and can_contradict(candidate, record)
        and not (candidate.claims and record.claims)
        and record.id not in said  # who names a record has read it
        and not (source and source in record.sources)
    ]


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
    names = [field.name for field in list_fields(candidate.kind)]
    return {name: given[name] for name in names if given.get(name) not in (None, "", ())}


def find_missing_sections(record: Record, asked: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the canonical names of the sections that *record*'s kind requires and it does not have.

    *asked* is the setting `required`, where a person writes or decides: of what the kind requires only this is missed.
    """
    return tuple(name for name in list_required(record.kind, asked) if not record.section(name).strip())


def has_required_sections(candidate: Candidate, asked: Collection[str]) -> bool:
    """Return whether *candidate* has what the setting `required`, *asked*, wants of what a person writes."""
    return {*list_required(candidate.kind, asked)} <= {section.name for section in build_sections(candidate)}


def list_required(kind: str, asked: Collection[str] | None) -> tuple[str, ...]:
    """Return the sections a record of *kind* needs to be accepted: all its row names, or of these the ones *asked* for.

    *asked* holds names of sections, "why", or of one kind's, "constraint.verification".
    """
    names = BY_NAME[kind].required
    return names if asked is None else tuple(name for name in names if {name, f"{kind}.{name}"} & {*asked})


def describe_proposed(sections: str) -> Message:
    """Say that a record is only proposed, as it has none of the *sections*, joined, that a person needs to give."""
    return msg("it is proposed: without {sections} it is not accepted", sections=sections)


def suggest_completion(record: Record, lacking: Sequence[str], *, in_editor: bool = False) -> Message:
    """Say how the sections that *record* is *lacking* are added, with or without an editor; nothing for none."""
    if not lacking:
        return msg("")
    if in_editor or not set(lacking) <= set(ADR_SECTIONS):
        return msg("complete it: kb edit {id}", id=record.scoped_id)
    options = " ".join("--impact PATH" if name == "impact" else f'--{name} "…"' for name in lacking)
    return msg("complete it: kb write --updates {id} {options}", id=record.scoped_id, options=options)


def derive_status(record: Record) -> str:
    """Return the status a newly written *record* deserves: accepted when nothing required is missing."""
    return Status.PROPOSED if find_missing_sections(record) else Status.ACCEPTED


# The sections whose sentences are facts; of the others only what is missing as a whole is taken
TELLING = ("decision", "when", "steps", "alternatives", "why", "solution", "outcome", "verification", "rollback")

SAID = 0.9  # Share of a sentence's weighty terms that are in one sentence of the record where that has been said

# Sessions that a record names: the first, and those that saw it last. `occurrences` counts all; a list of 1,400 would
# fill its front matter, and nothing could be changed in it any more.
SOURCES = 100

_FENCE = regex(r"```|~~~")
# What `plan_merge` puts before a fact. Its numbers are not the fact's: “9 a second”, added on the 11th, is not 11.
_DATED = regex(r"^- \d{4}-\d\d-\d\d(?: \([^()\n]*\))?: ", re.MULTILINE)
_TURNS = frozenset({"not", "off", "undo", "may", "need not", "except"})


class CandidateMerge(NamedTuple):
    """What becomes of a record when a candidate says it again."""

    verdict: str  # unchanged; appended: it says something new; updated: it was counted, or a gap was filled
    changes: Mapping[str, object] = {}  # Keys of the front matter and their new values
    filled: tuple[tuple[str, str], ...] = ()  # Sections the record lacks, by canonical name, with their text
    lines: tuple[tuple[str, str], ...] = ()  # Lines to add at the end of a section, by canonical name


def format_source(candidate: Candidate) -> str:
    """Return how a record names the session *candidate* comes from, `host/session`, or "" without a session."""
    return "/".join(part for part in (candidate.host, candidate.session) if part) if candidate.session else ""


def is_counted(candidate: Candidate, sources: Iterable[str]) -> bool:
    """Return whether the session *candidate* comes from is one of *sources*, whatever program handed it in."""
    # what an agent's hook wrote, `kb archive` finds again: that is one session, not a repetition
    return bool(candidate.session) and any(one.rpartition("/")[2] == candidate.session for one in sources)


def add_source(sources: Iterable[str], source: str = "") -> tuple[str, ...]:
    """Return *sources* with *source*, the first and the last of them where they are more than SOURCES."""
    found = tuple(dict.fromkeys((*sources, *([source] if source else ()))))
    return found if len(found) <= SOURCES else (found[0], *found[-(SOURCES - 1) :])


def plan_merge(candidate: Candidate, record: Record, *, day: str, language: str = "en") -> CandidateMerge:
    """Return what *candidate* adds to *record*; *day* (YYYY-MM-DD) dates what is new, *language* labels it.

    An adopted record stays as it is: its form has no place for additions.
    """
    if is_adopted(record):
        return CandidateMerge("unchanged")
    changes = _plan_field_changes(candidate, record)
    sections = {section.name: section.text for section in build_sections(candidate)}
    # Where a record is accepted without a decision, its title is what was decided: no candidate gives it another one.
    kept = {"decision"} if record.status == Status.ACCEPTED else set()
    empty = {section for section in sections if not record.section(section).strip()} - kept
    filled = tuple((name, text) for name, text in sections.items() if name in empty)
    stating = {name: text for name, text in sections.items() if name in TELLING and name not in empty}
    source = format_source(candidate) or candidate.host
    lead = f"- {day} ({source}): " if source else f"- {day}: "
    facts = []
    for name, fact in find_new_facts(stating, [record.title, *(each.text for each in record.sections), record.user]):
        label = section_label(name, language, record.kind) + ("：" if language == "zh" else ": ")
        opening = lead + (label if name != "decision" else "")
        is_code = _FENCE.match(fact)
        line = opening.rstrip() + f"\n{fact}".replace("\n", "\n  ") if is_code else opening + fact
        facts.append(("additions", line))
    listed = record.section("impact")
    paths = [] if "impact" in empty else [path for path in dict.fromkeys(candidate.impact) if path not in listed]
    verdict = "appended" if facts else "updated" if changes or filled or paths else "unchanged"
    return CandidateMerge(verdict, changes, filled, (*facts, *(("impact", f"- `{path}`") for path in paths)))


def apply_merge(text: str, merge: CandidateMerge, language: str = "en", path: str = "") -> str:
    """Return the record file *text* with *merge* done; no other byte changes. Raise BadRecord for bad markers."""
    for name, body in merge.filled:
        text = edit_section(text, name, body, language, path)
    for name, line in merge.lines:
        text = append_to_section(text, name, line, language, path)
    return edit_front_matter(text, merge.changes) if merge.changes else text


def _plan_field_changes(candidate: Candidate, record: Record) -> dict[str, object]:
    changes: dict[str, object] = {}
    source = format_source(candidate)
    if source and not is_counted(candidate, record.sources):
        changes |= {"occurrences": record.occurrences + 1, "sources": add_source(record.sources, source)}
    known_tags = {tag.casefold() for tag in record.tags}
    if tags := tuple(dict.fromkeys(tag for tag in candidate.tags if tag.casefold() not in known_tags)):
        changes["tags"] = record.tags + tags
    if paths := tuple(dict.fromkeys(path for path in candidate.impact if path not in record.impact)):
        changes["impact"] = record.impact + paths
    changes |= _plan_own_fields(candidate, record)
    for field in ("claims", "coexists_with"):
        there = getattr(record, field)
        if added := {key: value for key, value in getattr(candidate, field).items() if key not in there}:
            changes[field] = {**there, **added}
    return changes


def _plan_own_fields(candidate: Candidate, record: Record) -> dict[str, object]:
    """Return what the fields of its kind are to be: what is missing is filled, and lists grow but for a signature.

    A signature is the lines of one failure: those of two would fit neither.
    """
    given = build_fields(candidate._replace(kind=record.kind))
    if record.kind == "learning" and normalise(candidate.title) != normalise(record.title):
        given[ASKED] = (candidate.title, *candidate.fields.get(ASKED, ()))
    changes = {name: value for name, value in given.items() if not record.extra.get(name)}
    for name in given.keys() - changes.keys() - {SIGNATURE}:
        there, new = record.extra[name], given[name]
        if isinstance(there, list | tuple) and isinstance(new, tuple) and set(new) - set(there):
            changes[name] = tuple(dict.fromkeys((*there, *new)))
    return changes


# -- facts ----------------------------------------------------------------------------------------


class StatedFact(NamedTuple):
    """What a sentence says, as far as needed to find it again."""

    terms: frozenset[str]
    order: tuple[str, ...]  # The terms in their order where it counts: masked before stored, 先脱敏后存储
    numbers: frozenset[str]
    turns: frozenset[str]  # The marks that change what the terms say: not, may, except


def find_new_facts(texts: Mapping[str, str], already: Iterable[str]) -> list[tuple[str, str]]:
    """Return the sentences of *texts*, section name → text, that none of the texts *already* there say."""
    there = [text for text in already if text.strip()]
    whole = " " + " ".join(normalise(text) for text in there) + " "
    known = [_parse_fact(sentence) for text in there for sentence in split_plain_sentences(_DATED.sub("", text))]
    found: list[tuple[str, str]] = []
    for name, text in texts.items():
        for fact in split_facts(text):
            plain, stated = normalise(fact), _parse_fact(fact)
            # A sentence too long to be read whole is compared letter by letter only
            is_covered = len(fact) <= LONGEST_STATEMENT and any(_is_fact_covered(old, stated) for old in known)
            if plain and f" {plain} " not in whole and not is_covered:
                found.append((name, fact))
                known.append(stated)
                whole += plain + " "
    return found


def split_facts(text: str) -> Iterator[str]:
    """Yield the sentences of *text* as they are written, without list marks; a code block is one piece."""
    block: list[str] = []
    for line in scan_markdown(normalise_newlines(text)):
        if block and line.kind != "code":
            yield _extract_code(block)
            block = []
        if line.kind in ("fence", "code"):
            block.append(line.text)
        else:
            yield from split_sentences(line.body)
    if block:
        yield _extract_code(block)


def _extract_code(rows: list[str]) -> str:
    """Return a code block without the list or quote it is in, and closed."""
    fence = _FENCE.search(rows[0])
    width = fence.start() if fence else 0
    rest = (row.lstrip(" \t>") if row[:width].strip(" \t>") else row[width:] for row in rows[1:])
    block = "\n".join([rows[0][width:], *rest])
    left_open = find_fenced_code(block).left_open
    return f"{block}\n{left_open.marks}" if left_open else block


def _parse_fact(sentence: str) -> StatedFact:
    stated = parse_statement(sentence)
    order = tuple(dict.fromkeys(word.text for word in stated.words if word.mark in ("term", "undo", "unit")))
    marks = frozenset(word.mark for word in stated.words)
    numbers = frozenset(word.text for word in stated.words if word.mark == "number")
    return StatedFact(
        frozenset(order), order if has_order(stated._replace(marks=marks)) else (), numbers, marks & _TURNS
    )


def _is_fact_covered(old: StatedFact, new: StatedFact) -> bool:
    """Return whether a sentence that is there says all that a new one says."""
    if not new.terms or new.turns != old.turns or not new.numbers <= old.numbers:
        return False
    if new.terms == old.terms:
        return new.order == old.order
    return len(new.terms & old.terms) >= SAID * len(new.terms)
