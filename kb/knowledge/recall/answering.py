"""The way out, asked: query → index → rank → form."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from kb.knowledge.recall import finding, successors
from kb.reading import rank, synonyms
from kb.reading.intent import IDENTITY, STRATEGIES, understood
from kb.reading.rank import Hit
from kb.reading.snippet import snippet
from kb.reading.synonyms import Group
from kb.record import GLOBAL, LIVE, Record
from kb.store.index import Index
from kb.store.postings import Term
from kb.store.rows import ALL, Filter
from kb.templates import FOLDER
from kb.text import one_line
from kb.values import TYPE_CHECKING, NamedTuple
from kb.weighing import SCALE
from kb.words import Said

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

SYNONYMS = "synonyms.yaml"
MAX_SYNONYMS = 1_000_000
"""Characters of a file of synonyms that are read."""

FEW = 3
"""Answers below which a question that may be about the asker is answered with preferences too (ZCLAW-14)."""


class Answer(NamedTuple):
    """A record that answers a query."""

    record: Record
    score: float
    """The higher the better; comparable within one answer list only."""
    snippet: str
    """The words around the first match, each match between « and »."""
    note: Said | str = ""
    """What to know of it: that it replaces another record found."""
    parts: Mapping[str, float] = {}
    """What the score is made of: parts that are added, and factors ("×…")."""


class Explained(NamedTuple):
    """How a query was understood, and its answers."""

    intent: str
    strategy: str
    terms: tuple[tuple[str, int, float], ...]
    """Term, the number of records it stands in, and what it counts."""
    answers: list[Answer]


def explained(
    kb: KnowledgeBase, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, limit: int = 10,
    index: Index | None = None,
) -> Explained:  # fmt: skip
    """Return at most *limit* records that answer *query*, best first, and how they were found.

    First those that the index finds with every term, then those in which a plain scan finds every term (parts of
    words), and where that is no answer yet, those with some of the terms. Without a query, all that are wanted.
    *index*: another than that of today.
    """
    index = index or kb.fresh()
    query = one_line(query)
    what = understood(query)
    plan = what.strategy
    terms: tuple[Term, ...] = ()
    best = _newest(index, _profile(wanted))[:limit] if plan.only else []
    if not best and query.strip():
        terms, hits = finding.found(index, query, wanted, limit=limit, groups=all_synonyms(kb))
        best = rank.ranked(hits, query, scope=project, favoured=plan.kinds, aging=plan.recent)[:limit]
        if what.weak_identity and len(best) < FEW:
            known = {hit.record.path for hit in best}
            broad = [hit for hit in _newest(index, _profile(wanted)) if hit.record.path not in known]
            best += broad[: limit - len(best)]
    elif not best:
        best = _newest(index, wanted)[:limit]
    adding = wanted._replace(scopes=()) == ALL
    answers = [
        Answer(hit.record, round(hit.score, 4), snippet(_text(hit.record), query).marked("«", "»"), note, hit.parts)
        for hit, note in successors.before(index, best, adding=adding)
    ]
    said = tuple((term.term, term.frequency, term.worth / SCALE) for term in terms)
    return Explained(what.intent, plan.name, said, answers[:limit])


def shipped_synonyms() -> list[Group]:
    """Return the groups of synonyms that come with kb."""
    return _groups(os.path.join(FOLDER, SYNONYMS), SYNONYMS)


def _groups(path: str, name: str) -> list[Group]:
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace") as file:
        return synonyms.read(file.read(MAX_SYNONYMS), name)
    return []


def all_synonyms(kb: KnowledgeBase) -> list[Group]:
    """Return the groups of synonyms that come with kb, and those of the knowledge base; raise BadInput."""
    return shipped_synonyms() + _groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _newest(index: Index, wanted: Filter) -> list[Hit]:
    """Return the live records *wanted*, the newest first."""
    statuses = wanted.statuses or tuple(LIVE)
    records = index.records(wanted._replace(statuses=statuses))
    return [Hit(record) for record in sorted(records, key=lambda record: record.date, reverse=True)]


def _profile(wanted: Filter) -> Filter:
    return wanted if wanted.kinds else wanted._replace(kinds=STRATEGIES[IDENTITY].kinds)


def _text(record: Record) -> str:
    return "\n".join([*(section.text for section in record.sections), record.user]) or record.title
