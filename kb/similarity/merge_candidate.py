"""Decide what a duplicate or an addition does to the record that is there: nothing is lost and nothing said twice.

Old text is never touched. What the record lacks is filled in, new facts are added as dated lines that name their
source, and a repetition by another session is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kb.records.blocks import append_to_section, edit_section
from kb.records.front_matter import edit_front_matter
from kb.records.kinds import SIGNATURE, section_label
from kb.records.model import Candidate, Record, Status
from kb.similarity.statement import has_order, parse_statement
from kb.similarity.statement_words import LONGEST_STATEMENT, split_plain_sentences
from kb.similarity.verdict import build_fields, build_sections
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.line_ends import normalise_newlines
from kb.text.markdown_scan import find_fenced_code, scan_markdown
from kb.text.segment import normalise, split_sentences

# The sections whose sentences are facts; of the others only what is missing as a whole is taken
TELLING = ("decision", "when", "steps", "alternatives", "why", "solution", "outcome", "verification", "rollback")

SAID = 0.9  # Share of a sentence's weighty terms that stand in one sentence of the record where that has been said

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


def add_source(sources: Iterable[str], source: str = "") -> tuple[str, ...]:
    """Return *sources* with *source*, the first and the last of them where they are more than SOURCES."""
    found = tuple(dict.fromkeys((*sources, *([source] if source else ()))))
    return found if len(found) <= SOURCES else (found[0], *found[-(SOURCES - 1) :])


def plan_merge(candidate: Candidate, record: Record, *, day: str, language: str = "en") -> CandidateMerge:
    """Return what *candidate* adds to *record*; *day* (YYYY-MM-DD) dates what is new, *language* labels it."""
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
    if source and source not in record.sources:
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
        given["asked"] = (candidate.title, *candidate.fields.get("asked", ()))
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
    """Return a code block without the list or quote it stands in, and closed."""
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
