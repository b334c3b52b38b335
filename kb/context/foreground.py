"""What is loaded for a question, as sections of a prompt: background, related records, domain knowledge (SMAN-33..35).

How far a record answers is a share of what was asked: how much of it the record speaks of. It is made of words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.context.relevance import count_query_words
from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME
from kb.records.model import Record
from kb.safety.quoting import PATH_LIMIT, TITLE_LIMIT, quote_record, quote_text
from kb.search import rank
from kb.search.rank import SearchHit
from kb.text.segment import estimate_tokens

MOST = 5
"""So many related records are loaded (SMAN: topK)."""
DOMAIN = "domain-note"
_ANSWER = 400
"""Characters of an answer."""
_FILES = 6


class RelatedRecord(NamedTuple):
    """A record and how far it answers."""

    record: Record
    relevance: float
    """0.0–1.0; never more than that of the record before it."""


class LoadedKnowledge(NamedTuple):
    """What is loaded for a question."""

    project: str
    stack: tuple[str, ...]
    """What the project is built with, by the claims of its records: "backend.framework: FastAPI"."""
    domains: tuple[str, ...]
    """The titles of what is known of its domain."""
    answers: tuple[RelatedRecord, ...]
    """All records that answer, domain notes too, best first."""

    @property
    def related(self) -> tuple[RelatedRecord, ...]:
        """The answers that are no domain notes, best first."""
        return tuple(one for one in self.answers if one.record.kind != DOMAIN)

    @property
    def domain_notes(self) -> tuple[Record, ...]:
        """The domain notes that answer, best first."""
        return tuple(one.record for one in self.answers if one.record.kind == DOMAIN)


class LoadedSummary(NamedTuple):
    """What is printed of what was loaded."""

    parts: tuple[Message, ...]
    """The paragraphs, in order."""
    omitted: tuple[Message, ...] = ()
    """What had no room, one sentence for each sort of thing."""

    def translate(self, language: str) -> str:
        """Return the text in *language*."""
        return "\n\n".join(part.translate(language) for part in self.parts)


def compute_relevances(hits: Sequence[SearchHit], query: str) -> list[float]:
    """Return for each of *hits*, best first, how much of what *query* asks it speaks of: 0.0–1.0, never rising."""
    about = rank.parse_query(query)
    asked = max(count_query_words(about), 1.0)
    found: list[float] = []
    for hit in hits:
        share = 1.0 if hit.whole else min(1.0, rank.score_evidence(hit.record, about) / asked)
        found.append(round(min([share, *found[-1:]]), 2))
    return found


class _AnswerEntry(NamedTuple):
    """An answer and how much of it is printed."""

    one: RelatedRecord
    answer: int
    """Characters of its text."""
    files: int
    title: int = TITLE_LIMIT


_SIZES = ((_ANSWER, _FILES, TITLE_LIMIT), (200, 3, TITLE_LIMIT), (100, 1, TITLE_LIMIT), (40, 0, 40), (16, 0, 16))
"""Characters of an answer, its files, and characters of its title: as they come, and shorter where there is no room."""


def render_summary(loaded: LoadedKnowledge, budget: int) -> LoadedSummary:
    """Return what is printed for a question, *budget* estimated tokens at most, in either language.

    The best answer is kept, shortened where it must be; then the others as they come; the background stands above them
    only where all of them had room.
    """
    best: list[_AnswerEntry] = []
    for size in _SIZES if loaded.answers else ():
        if _is_within_budget(_render_paragraphs(first := [_AnswerEntry(loaded.answers[0], *size)]), budget):
            best = first
            break
    others = [_AnswerEntry(one, *_SIZES[0]) for one in loaded.answers[1:]]
    kept = [*best]
    for entry in others:
        if _is_within_budget(_render_paragraphs([*kept, entry]), budget):
            kept.append(entry)
    parts = _render_paragraphs(kept)
    backgrounds = _list_backgrounds(loaded)
    is_whole = len(kept) == len(loaded.answers) and (not kept or kept[0].answer == _ANSWER)
    behind = next((one for one in backgrounds if is_whole and _is_within_budget([one, *parts], budget)), None)
    return LoadedSummary(
        (*([behind] if behind else ()), *parts), tuple(_iter_omissions(loaded, kept, behind, backgrounds))
    )


def _is_within_budget(parts: Sequence[Message], budget: int) -> bool:
    """Return whether *parts* as they are printed, in the longer of the two languages, have *budget* tokens at most."""
    text = LoadedSummary(tuple(parts))
    return max(estimate_tokens(text.translate(language) + "\n") for language in ("en", "zh")) <= budget


def _iter_omissions(
    loaded: LoadedKnowledge, kept: Sequence[_AnswerEntry], behind: Message | None, backgrounds: Sequence[Message]
) -> Iterator[Message]:
    """Yield what of *loaded* had no room beside the entries *kept* and the background *behind*."""
    if left := len(loaded.answers) - len(kept):
        yield msg("records that had no room: {n}", n=left)
    if any(entry.answer < _ANSWER for entry in kept):
        yield msg("the answer is shortened; whole: kb show {id}", id=kept[0].one.record.id)
    if behind is not backgrounds[0]:
        yield msg("the project's background had no room")


def _list_backgrounds(loaded: LoadedKnowledge) -> list[Message]:
    """Return the project's background, whole and with less and less in it."""
    stack, domains = ", ".join(loaded.stack), ", ".join(loaded.domains)
    return [_build_background(quote_text(stack, most), quote_text(domains, most)) for most in (400, 100, 0)]


def _build_background(stack: str, domains: str) -> Message:
    return msg(
        "## Project background\n- Tech stack: {stack}\n- Domain: {domains}", stack=stack or "–", domains=domains or "–"
    )


def _render_paragraphs(kept: Sequence[_AnswerEntry]) -> list[Message]:
    """Return the paragraphs for the answers *kept*: related records, then domain knowledge."""
    return [
        *_render_related([entry for entry in kept if entry.one.record.kind != DOMAIN]),
        *_render_domain_notes([entry for entry in kept if entry.one.record.kind == DOMAIN]),
    ]


def _render_related(entries: Sequence[_AnswerEntry]) -> list[Message]:
    rows = [
        msg(
            "### Related {n} (relevance: {percent}%)\nQuestion: {question}\nAnswer: {answer}\nFiles: {files}",
            n=n, percent=round(100 * entry.one.relevance), question=format_question(entry.one.record, entry.title),
            answer=format_answer(entry.one.record, entry.answer), files=format_files(entry.one.record, entry.files),
        )
        for n, entry in enumerate(entries, 1)
    ]  # fmt: skip
    return [msg("## Related records"), *rows] if rows else []


def _render_domain_notes(entries: Sequence[_AnswerEntry]) -> list[Message]:
    rows = [
        msg("### {domain}\n{summary}\nKey concepts: {concepts}", domain=format_question(entry.one.record, entry.title),
            summary=format_answer(entry.one.record, entry.answer),
            concepts="[" + quote_text(", ".join(entry.one.record.tags), entry.answer // 2) + "]")
        for entry in entries
    ]  # fmt: skip
    return [msg("## Domain knowledge"), *rows] if rows else []


def render_numbered_list(related: Iterable[RelatedRecord]) -> list[Message]:
    """Return *related* as a numbered list."""
    return [
        msg(
            "{n}. [{relevance}] Q: {question}\n   A: {answer}\n   Files: {files}",
            n=n,
            relevance=f"{one.relevance:.2f}",
            question=format_question(one.record),
            answer=format_answer(one.record),
            files=format_files(one.record),
        )
        for n, one in enumerate(related, 1)
    ]


def format_question(record: Record, limit: int = TITLE_LIMIT) -> str:
    """Return what *record* is about, on one line of *limit* characters at most."""
    one = quote_record(record, "–").record
    return quote_text(f"[{one.id}] {one.title}", limit)


def format_answer(record: Record, limit: int = _ANSWER) -> str:
    """Return what *record* says first, on a line of *limit* characters; nothing of one that speaks to an agent."""
    one = quote_record(record, "–").record
    wanted = BY_NAME[one.kind].required[:1] if one.kind in BY_NAME else ()
    text = next(filter(None, map(one.section, wanted)), "") or next((s.text for s in one.sections if s.text), "")
    return quote_text(" ".join(text.split()), limit) or "–"


def format_files(record: Record, most: int = _FILES) -> str:
    """Return *most* of the paths that *record* is about, as a list."""
    return (
        "[" + ", ".join(quote_text(path, PATH_LIMIT) for path in quote_record(record, "–").record.impact[:most]) + "]"
    )
