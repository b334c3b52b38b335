"""The way out, asked: query → index → rank → form."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import lru_cache

from kb.config import NO_MODEL
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.bm25 import SCALE
from kb.index.database import Index
from kb.index.postings import Term
from kb.index.schema import ALL, Filter
from kb.records.model import GLOBAL, LIVE, Record, recency
from kb.search import rank, retrieve, supersession, synonyms
from kb.search.intent import IDENTITY, STRATEGIES, understood
from kb.search.rank import Hit
from kb.search.snippet import snippet
from kb.search.synonyms import Group
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.templates import FOLDER
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

SYNONYMS = "synonyms.yaml"
MAX_SYNONYMS = 1_000_000
"""Characters of a file of synonyms that are read."""

LONGEST = 4_000
"""Characters of a question that are looked for: what is longer is a text pasted in, and its beginning tells."""

FEW = 3
"""Answers below which a question that may be about the asker is answered with preferences too (ZCLAW-14)."""


class Answer(NamedTuple):
    """A record that answers a query."""

    record: Record
    score: float
    """The higher the better; comparable within one answer list only."""
    snippet: str
    """The words around the first match, each match between « and »."""
    note: Message | str = ""
    """What to know of it: that it replaces another record found, or was found by meaning alone."""
    parts: Mapping[str, float] = {}
    """What the score is made of: parts that are added, and factors ("×…")."""


class Explained(NamedTuple):
    """How a query was understood, and its answers."""

    intent: str
    strategy: str
    terms: tuple[tuple[str, int, float], ...]
    """Term, the number of records it stands in, and what it counts."""
    answers: list[Answer]
    ran: Message | str = ""
    """Which ways of searching took part; "" where no words were looked for."""


def explained(
    kb: Workspace, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, limit: int = 10,
    index: Index | None = None,
) -> Explained:  # fmt: skip
    """Return at most *limit* records that answer *query*, best first, and how they were found.

    First those that the index finds with every term, then those in which a plain scan finds every term (parts of
    words), and where that is no answer yet, those with some of the terms. Without a query, all that are wanted.
    *index*: another than that of today.
    """
    if index is not None:
        return _explained(kb, index, query, wanted, project, limit)
    is_quick = index_sync.looked_lately(kb)
    found = _explained(kb, kb.fresh(thorough=not is_quick), query, wanted, project, limit)
    if is_quick and not all(kb.index.is_current(answer.record.path) for answer in found.answers):
        found = _explained(kb, kb.fresh(), query, wanted, project, limit)
    return found


def _explained(kb: Workspace, index: Index, query: str, wanted: Filter, project: str, limit: int) -> Explained:
    query = one_line(query[:LONGEST])
    what, about = understood(query), rank.asked(query)
    plan = what.strategy
    terms: tuple[Term, ...] = ()
    ran: Message | str = ""
    best = _newest(index, _profile(wanted))[:limit] if plan.only else []
    if not best and query.strip():
        (terms, hits), ran = _found(kb, index, query, wanted, limit)
        best = rank.ranked(hits, about, scope=project, favoured=plan.kinds, aging=plan.recent)
        best, reranked = _reranked(kb, query, best)
        best, ran = best[:limit], msg("{ran}, {reranked}", ran=ran, reranked=reranked) if reranked else ran
        if what.weak_identity and len(best) < FEW:
            known = {hit.record.path for hit in best}
            broad = [hit for hit in _newest(index, _profile(wanted)) if hit.record.path not in known]
            best += broad[: limit - len(best)]
    elif not best:
        best = _newest(index, wanted)[:limit]
    adding = wanted._replace(scopes=()) == ALL
    named = {hit.record.path for hit in best if rank.is_named(hit.record, about, project)}
    answers = [
        Answer(
            hit.record,
            round(hit.score, 4),
            snippet(_text(hit.record), query).marked("«", "»"),
            note or _by_meaning_alone(hit),
            hit.parts,
        )
        for hit, note in supersession.before(index, best, adding=adding, named=named)
    ]
    said = tuple((term.term, term.frequency, term.worth / SCALE) for term in terms)
    return Explained(what.intent, plan.name, said, answers[:limit], ran)


def _found(kb: Workspace, index: Index, query: str, wanted: Filter, limit: int) -> tuple[retrieve.Found, Message]:
    """Return what words find, with the help of vectors where the settings name an embedder; and what took part."""
    if kb.config.embedder == NO_MODEL:
        return retrieve.found(index, query, wanted, limit=limit, groups=all_synonyms(kb)), msg("lexical")
    from kb.search.semantic import Asked

    asked = Asked(kb, index, query, wanted)
    found = retrieve.found(index, query, wanted, limit=limit, groups=all_synonyms(kb), meaning=asked.meaning)
    return found, asked.ran


def _reranked(kb: Workspace, query: str, hits: list[Hit]) -> tuple[list[Hit], Message | str]:
    if kb.config.reranker == NO_MODEL:
        return hits, ""
    from kb.search.semantic import reranked

    return reranked(kb, query, hits)


def shipped_synonyms() -> list[Group]:
    """Return the groups of synonyms that come with kb."""
    return _groups(os.path.join(FOLDER, SYNONYMS), SYNONYMS)


def _groups(path: str, name: str) -> list[Group]:
    with contextlib.suppress(FileNotFoundError):
        stat = os.stat(path)
        return _groups_in(path, name, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return []


@lru_cache(maxsize=4)
def _groups_in(path: str, name: str, version: tuple[int, ...]) -> list[Group]:
    """Return the groups in *version* of a file; a process that asks often reads it once."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return synonyms.read(file.read(MAX_SYNONYMS), name)


def all_synonyms(kb: Workspace) -> list[Group]:
    """Return the groups of synonyms that come with kb, and those of the knowledge base; raise BadInput."""
    return shipped_synonyms() + _groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _by_meaning_alone(hit: Hit) -> Message | str:
    if hit.parts.get("meaning") and not hit.parts.get("terms"):
        return msg("near in meaning; it holds none of the words")
    return ""


def _newest(index: Index, wanted: Filter) -> list[Hit]:
    """Return the live records *wanted*, the newest first."""
    statuses = wanted.statuses or tuple(LIVE)
    records = index.records(wanted._replace(statuses=statuses))
    return [Hit(record) for record in sorted(records, key=recency, reverse=True)]


def _profile(wanted: Filter) -> Filter:
    return wanted if wanted.kinds else wanted._replace(kinds=STRATEGIES[IDENTITY].kinds)


def _text(record: Record) -> str:
    return "\n".join([*(section.text for section in record.sections), record.user]) or record.title
