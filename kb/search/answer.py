"""The way out, asked: query → index → rank → form."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import lru_cache

from kb.config import NO_MODEL
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.database import Index
from kb.index.postings import SCALE, WeightedTerm
from kb.index.schema import ALL, Filter
from kb.records.model import GLOBAL, LIVE, Record, recency_key
from kb.search import rank, retrieve, supersession, synonyms
from kb.search.intent import IDENTITY, STRATEGIES, detect_intent
from kb.search.rank import SearchHit
from kb.search.snippet import build_snippet
from kb.search.synonyms import SynonymGroup
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


class SearchAnswer(NamedTuple):
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


class SearchResult(NamedTuple):
    """How a query was understood, and its answers."""

    intent: str
    strategy: str
    terms: tuple[tuple[str, int, float], ...]
    """Term, the number of records it stands in, and what it counts."""
    answers: list[SearchAnswer]
    ran: Message | str = ""
    """Which ways of searching took part; "" where no words were looked for."""


def search_records(
    kb: Workspace, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, limit: int = 10,
    index: Index | None = None,
) -> SearchResult:  # fmt: skip
    """Return at most *limit* records that answer *query*, best first, and how they were found.

    First those that the index finds with every term, then those in which a plain scan finds every term (parts of
    words), and where that is no answer yet, those with some of the terms. Without a query, all that are wanted.
    *index*: another than that of today.
    """
    if index is not None:
        return _search_index(kb, index, query, wanted, project, limit)
    is_quick = index_sync.is_recently_scanned(kb)
    found = _search_index(kb, kb.sync_index(thorough=not is_quick), query, wanted, project, limit)
    if is_quick and not all(kb.index.is_current(answer.record.path) for answer in found.answers):
        found = _search_index(kb, kb.sync_index(), query, wanted, project, limit)
    return found


def _search_index(kb: Workspace, index: Index, query: str, wanted: Filter, project: str, limit: int) -> SearchResult:
    query = one_line(query[:LONGEST])
    what, about = detect_intent(query), rank.parse_query(query)
    plan = what.strategy
    terms: tuple[WeightedTerm, ...] = ()
    ran: Message | str = ""
    best = _list_newest(index, _restrict_to_profile(wanted))[:limit] if plan.only else []
    if not best and query.strip():
        (terms, hits), ran = _retrieve_hits(kb, index, query, wanted, limit)
        best = rank.rank_hits(hits, about, scope=project, favoured=plan.kinds, aging=plan.recent)
        best, reranked = _rerank_hits(kb, query, best)
        best, ran = best[:limit], msg("{ran}, {reranked}", ran=ran, reranked=reranked) if reranked else ran
        if what.weak_identity and len(best) < FEW:
            known = {hit.record.path for hit in best}
            broad = [hit for hit in _list_newest(index, _restrict_to_profile(wanted)) if hit.record.path not in known]
            best += broad[: limit - len(best)]
    elif not best:
        best = _list_newest(index, wanted)[:limit]
    adding = wanted._replace(scopes=()) == ALL
    named = {hit.record.path for hit in best if rank.is_named(hit.record, about, project)}
    answers = [
        SearchAnswer(
            hit.record,
            round(hit.score, 4),
            build_snippet(_join_text(hit.record), query).highlight_matches("«", "»"),
            note or _note_semantic_only(hit),
            hit.parts,
        )
        for hit, note in supersession.insert_successors(index, best, adding=adding, named=named)
    ]
    said = tuple((term.term, term.frequency, term.worth / SCALE) for term in terms)
    return SearchResult(what.intent, plan.name, said, answers[:limit], ran)


def _retrieve_hits(
    kb: Workspace, index: Index, query: str, wanted: Filter, limit: int
) -> tuple[retrieve.RetrievedHits, Message]:
    """Return what words find, with the help of vectors where the settings name an embedder; and what took part."""
    if kb.config.embedder == NO_MODEL:
        return retrieve.retrieve_hits(index, query, wanted, limit=limit, groups=load_synonyms(kb)), msg("lexical")
    from kb.search.semantic import SemanticQuery

    asked = SemanticQuery(kb, index, query, wanted)
    found = retrieve.retrieve_hits(
        index, query, wanted, limit=limit, groups=load_synonyms(kb), meaning=asked.semantic_source
    )
    return found, asked.ran


def _rerank_hits(kb: Workspace, query: str, hits: list[SearchHit]) -> tuple[list[SearchHit], Message | str]:
    if kb.config.reranker == NO_MODEL:
        return hits, ""
    from kb.search.semantic import rerank_hits

    return rerank_hits(kb, query, hits)


def load_shipped_synonyms() -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb."""
    return _load_groups(os.path.join(FOLDER, SYNONYMS), SYNONYMS)


def _load_groups(path: str, name: str) -> list[SynonymGroup]:
    with contextlib.suppress(FileNotFoundError):
        stat = os.stat(path)
        return _read_groups(path, name, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return []


@lru_cache(maxsize=4)
def _read_groups(path: str, name: str, version: tuple[int, ...]) -> list[SynonymGroup]:
    """Return the groups in *version* of a file; a process that asks often reads it once."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return synonyms.parse_groups(file.read(MAX_SYNONYMS), name)


def load_synonyms(kb: Workspace) -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb, and those of the knowledge base; raise BadInput."""
    return load_shipped_synonyms() + _load_groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _note_semantic_only(hit: SearchHit) -> Message | str:
    if hit.parts.get("meaning") and not hit.parts.get("terms"):
        return msg("near in meaning; it holds none of the words")
    return ""


def _list_newest(index: Index, wanted: Filter) -> list[SearchHit]:
    """Return the live records *wanted*, the newest first."""
    statuses = wanted.statuses or tuple(LIVE)
    records = index.records(wanted._replace(statuses=statuses))
    return [SearchHit(record) for record in sorted(records, key=recency_key, reverse=True)]


def _restrict_to_profile(wanted: Filter) -> Filter:
    return wanted if wanted.kinds else wanted._replace(kinds=STRATEGIES[IDENTITY].kinds)


def _join_text(record: Record) -> str:
    return "\n".join([*(section.text for section in record.sections), record.user]) or record.title
