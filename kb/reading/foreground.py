"""What is loaded for a question, as sections of a prompt: background, related records, domain knowledge (SMAN-33..35).

How far a record answers is a share of what was asked: how much of it the record speaks of. It is made of words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb.kinds import BY_NAME
from kb.reading import rank
from kb.reading.quoting import PATH_LIMIT, TITLE_LIMIT, quoted, told
from kb.reading.rank import Hit
from kb.reading.relevance import said_in
from kb.record import Record
from kb.text import tokens
from kb.values import NamedTuple
from kb.words import Said, say

MOST = 5
"""So many related records are loaded (SMAN: topK)."""
DOMAIN = "domain-note"
_ANSWER = 400
"""Characters of an answer."""
_FILES = 6


class Related(NamedTuple):
    """A record and how far it answers."""

    record: Record
    relevance: float
    """0.0–1.0; never more than that of the record before it."""


class Loaded(NamedTuple):
    """What is loaded for a question."""

    project: str
    stack: tuple[str, ...]
    """What the project is built with, by the claims of its records: "backend.framework: FastAPI"."""
    domains: tuple[str, ...]
    """The titles of what is known of its domain."""
    related: tuple[Related, ...]
    knowledge: tuple[Record, ...]
    """The domain notes that answer."""


def shares(hits: Sequence[Hit], query: str) -> list[float]:
    """Return for each of *hits*, best first, how much of what *query* asks it speaks of: 0.0–1.0, never rising."""
    about = rank.asked(query)
    asked = max(said_in(about), 1.0)
    found: list[float] = []
    for hit in hits:
        share = 1.0 if hit.whole else min(1.0, rank.evidence(hit.record, about) / asked)
        found.append(round(min([share, *found[-1:]]), 2))
    return found


def summary(loaded: Loaded, budget: int) -> list[Said]:
    """Return the paragraphs of the prompt, *budget* estimated tokens at most; the least related is left out first."""
    related, knowledge = list(loaded.related), list(loaded.knowledge)
    while True:
        rows = [*_background(loaded), *_related(related), *_knowledge(knowledge)]
        if not (related or knowledge) or max(map(_size, ("en", "zh"), (rows, rows))) <= budget:
            return rows
        (knowledge if len(knowledge) > len(related) else related or knowledge).pop()


def _size(language: str, rows: Iterable[Said]) -> int:
    return tokens("\n".join(row.in_language(language) for row in rows))


def _background(loaded: Loaded) -> list[Said]:
    stack = quoted(", ".join(loaded.stack), 400) or "–"
    domains = quoted(", ".join(loaded.domains), 400) or "–"
    return [say("## Project background\n- Tech stack: {stack}\n- Domain: {domains}", stack=stack, domains=domains)]


def _related(related: Iterable[Related]) -> list[Said]:
    rows = [
        say(
            "### Related {n} (relevance: {percent}%)\nQuestion: {question}\nAnswer: {answer}\nFiles: {files}",
            n=n, percent=round(100 * one.relevance), question=question(one.record), answer=answer(one.record),
            files=files(one.record),
        )
        for n, one in enumerate(related, 1)
    ]  # fmt: skip
    return [say("## Related records"), *rows] if rows else []


def _knowledge(knowledge: Iterable[Record]) -> list[Said]:
    rows = [
        say("### {domain}\n{summary}\nKey concepts: {concepts}", domain=question(record), summary=answer(record),
            concepts="[" + quoted(", ".join(record.tags), 200) + "]")
        for record in knowledge
    ]  # fmt: skip
    return [say("## Domain knowledge"), *rows] if rows else []


def listed(related: Iterable[Related]) -> list[Said]:
    """Return *related* as a numbered list."""
    return [
        say(
            "{n}. [{relevance}] Q: {question}\n   A: {answer}\n   Files: {files}",
            n=n, relevance=f"{one.relevance:.2f}", question=question(one.record), answer=answer(one.record),
            files=files(one.record),
        )
        for n, one in enumerate(related, 1)
    ]  # fmt: skip


def question(record: Record) -> str:
    """Return what *record* is about, on one line."""
    one = told(record, "–").record
    return quoted(f"[{one.id}] {one.title}", TITLE_LIMIT)


def answer(record: Record) -> str:
    """Return what *record* says first, on one line; nothing of one that speaks to an agent."""
    one = told(record, "–").record
    wanted = BY_NAME[one.kind].required[:1] if one.kind in BY_NAME else ()
    text = next(filter(None, map(one.section, wanted)), "") or next((s.text for s in one.sections if s.text), "")
    return quoted(" ".join(text.split()), _ANSWER) or "–"


def files(record: Record) -> str:
    """Return the paths that *record* is about, as a list."""
    return "[" + ", ".join(quoted(path, PATH_LIMIT) for path in told(record, "–").record.impact[:_FILES]) + "]"
