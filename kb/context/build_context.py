"""What answers a question on purpose: the records worth handing over, and the context made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.config import NO_MODEL
from kb.context import record_context, relevance
from kb.context.foreground import DOMAIN, MOST, LoadedKnowledge, RelatedRecord, compute_relevances
from kb.context.foreground import render_numbered_list as render_numbered_list
from kb.context.foreground import render_summary as render_summary
from kb.context.record_context import Context
from kb.index.database import Index
from kb.index.postings import compute_idf
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import ALL, Filter
from kb.records.model import GLOBAL, LIVE, Status
from kb.search import answer, query_terms, rank, retrieve, supersession, synonyms
from kb.search import query as queries
from kb.search.intent import detect_intent
from kb.search.rank import SearchHit
from kb.search.retrieve import SemanticSource
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

BUDGET = 1500
"""Estimated tokens of a context for which none is given."""

_PROBED = 40
_FIRST = 5
"""So many of the best records are handed over with those that are surely about a question, where there is one."""


def compose_context(
    kb: Workspace, query: str, *, budget: int = BUDGET, wanted: Filter = ALL, project: str = GLOBAL
) -> Context:
    """Return what an agent is given for *query*: the records that answer it, within *budget* estimated tokens."""
    records = [hit.record for hit in find_relevant_hits(kb, query, wanted=wanted, project=project)]
    return record_context.render_context(qualify_record_ids(kb.index, records, project), budget, kb.config)


def load_knowledge(kb: Workspace, query: str, *, project: str = GLOBAL, most: int = MOST) -> LoadedKnowledge:
    """Return what is loaded for *query*: the project's background and what answers, *most* records and *most* notes."""
    hits = find_relevant_hits(kb, query, project=project, first=most)
    named = qualify_record_ids(kb.index, [hit.record for hit in hits], project)
    related = [
        RelatedRecord(record, share)
        for record, share in zip(named, compute_relevances(hits, query), strict=True)
        if share
    ]
    own = kb.index.records(Filter(scopes=(project, GLOBAL) if project != GLOBAL else (GLOBAL,)))
    held = [record for record in own if record.status == Status.ACCEPTED]
    stack = [f"{key}: {value}" for record in held for key, value in record.claims.items()]
    domains = [record.title for record in own if record.kind == DOMAIN and record.status in LIVE]
    return LoadedKnowledge(
        project, tuple(dict.fromkeys(stack)), tuple(domains),
        tuple(
            one for n, one in enumerate(related)
            if sum((each.record.kind == DOMAIN) == (one.record.kind == DOMAIN) for each in related[:n]) < most
        ),
    )  # fmt: skip


def find_relevant_hits(
    kb: Workspace, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, first: int = _FIRST
) -> list[SearchHit]:
    """Return what is worth telling of the records that answer *query*, best first; nothing where none is about it.

    The order is that of a search; its *first* records are told as well once there is one that is surely about the
    question. A record that holds no longer stands behind the one that took its place.
    """
    index, query = kb.sync_index(), one_line(query)
    if not query:
        return []
    scopes = wanted.scopes or ((GLOBAL,) if project == GLOBAL else (project, GLOBAL))
    wanted = wanted._replace(scopes=scopes)
    groups, plan = answer.load_synonyms(kb), detect_intent(query).strategy
    found = retrieve.retrieve_hits(
        index, query, wanted, limit=_PROBED, groups=groups, meaning=_build_semantic_source(kb, index, query, wanted)
    )
    asked = rank.parse_query(query)
    hits = rank.rank_hits(found.hits, asked, scope=project, favoured=plan.kinds, aging=plan.recent)
    about = relevance.filter_task_hits(
        hits,
        asked,
        scope=project,
        frequency=index.postings.count_frequencies(queries.extract_subjects(query)),
        total=index.count(wanted),
        synonyms=tuple(synonyms.iter_synonym_terms(query, groups)),
        worth=_weigh_terms(index, query),
    )
    live = [hit for hit in hits if hit.record.status in LIVE]
    told = {hit.record.path for hit in (*about, *(live[:first] if about else ()))}
    return [hit for hit, _ in supersession.insert_successors(index, [hit for hit in hits if hit.record.path in told])]


def _build_semantic_source(kb: Workspace, index: Index, query: str, wanted: Filter) -> SemanticSource | None:
    """Return what vectors find, where the settings name an embedder: it changes the order and fills the first few."""
    if kb.config.embedder == NO_MODEL:
        return None
    from kb.search.semantic import SemanticQuery

    return SemanticQuery(kb, index, query, wanted).semantic_source


def _weigh_terms(index: Index, query: str) -> dict[str, float]:
    """Return what each term of *query* is worth: the rarer it is, the more; most where no record has it."""
    weights, total = query_terms.weigh_query_terms(query), index.count()
    known = {term.term: term.frequency for term in index.postings.find_known_terms(weights)}
    return {term: weight * compute_idf(known.get(term, 0), total) for term, weight in weights.items()}
