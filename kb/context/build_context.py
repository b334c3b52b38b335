"""What answers a question on purpose: the records worth handing over, and the context made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.config import NO_MODEL
from kb.context import record_context, relevance
from kb.context.foreground import DOMAIN, MOST, Loaded, Related, shares
from kb.context.foreground import listed as listed
from kb.context.foreground import summary as summary
from kb.context.record_context import Context
from kb.index.bm25 import rarity
from kb.index.database import Index
from kb.index.lookup import named_for
from kb.index.schema import ALL, Filter
from kb.records.model import GLOBAL, LIVE, Status
from kb.search import answer, query_terms, rank, retrieve, supersession, synonyms
from kb.search import query as queries
from kb.search.intent import understood
from kb.search.rank import Hit
from kb.search.retrieve import Meaning
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

BUDGET = 1500
"""Estimated tokens of a context for which none is given."""

_PROBED = 40
_FIRST = 5
"""So many of the best records are handed over with those that are surely about a question, where there is one."""


def build(kb: Workspace, query: str, *, budget: int = BUDGET, wanted: Filter = ALL, project: str = GLOBAL) -> Context:
    """Return what an agent is given for *query*: the records that answer it, within *budget* estimated tokens."""
    records = [hit.record for hit in telling(kb, query, wanted=wanted, project=project)]
    return record_context.composed(named_for(kb.index, records, project), budget, kb.config)


def load(kb: Workspace, query: str, *, project: str = GLOBAL, most: int = MOST) -> Loaded:
    """Return what is loaded for *query*: the project's background and what answers, *most* records and *most* notes."""
    hits = telling(kb, query, project=project, first=most)
    named = named_for(kb.index, [hit.record for hit in hits], project)
    related = [Related(record, share) for record, share in zip(named, shares(hits, query), strict=True) if share]
    own = kb.index.records(Filter(scopes=(project, GLOBAL) if project != GLOBAL else (GLOBAL,)))
    held = [record for record in own if record.status == Status.ACCEPTED]
    stack = [f"{key}: {value}" for record in held for key, value in record.claims.items()]
    domains = [record.title for record in own if record.kind == DOMAIN and record.status in LIVE]
    return Loaded(
        project, tuple(dict.fromkeys(stack)), tuple(domains),
        tuple(
            one for n, one in enumerate(related)
            if sum((each.record.kind == DOMAIN) == (one.record.kind == DOMAIN) for each in related[:n]) < most
        ),
    )  # fmt: skip


def telling(
    kb: Workspace, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, first: int = _FIRST
) -> list[Hit]:
    """Return what is worth telling of the records that answer *query*, best first; nothing where none is about it.

    The order is that of a search; its *first* records are told as well once there is one that is surely about the
    question. A record that holds no longer stands behind the one that took its place.
    """
    index, query = kb.fresh(), one_line(query)
    if not query:
        return []
    scopes = wanted.scopes or ((GLOBAL,) if project == GLOBAL else (project, GLOBAL))
    wanted = wanted._replace(scopes=scopes)
    groups, plan = answer.all_synonyms(kb), understood(query).strategy
    found = retrieve.found(
        index, query, wanted, limit=_PROBED, groups=groups, meaning=_meaning(kb, index, query, wanted)
    )
    asked = rank.asked(query)
    hits = rank.ranked(found.hits, asked, scope=project, favoured=plan.kinds, aging=plan.recent)
    about = relevance.worth_telling(
        hits, asked, scope=project, frequency=index.postings.frequencies(queries.subjects(query)),
        total=index.count(wanted), synonyms=tuple(synonyms.others(query, groups)), worth=_worth(index, query),
    )  # fmt: skip
    live = [hit for hit in hits if hit.record.status in LIVE]
    told = {hit.record.path for hit in (*about, *(live[:first] if about else ()))}
    return [hit for hit, _ in supersession.before(index, [hit for hit in hits if hit.record.path in told])]


def _meaning(kb: Workspace, index: Index, query: str, wanted: Filter) -> Meaning | None:
    """Return what vectors find, where the settings name an embedder: it changes the order and fills the first few."""
    if kb.config.embedder == NO_MODEL:
        return None
    from kb.search.semantic import Asked

    return Asked(kb, index, query, wanted).meaning


def _worth(index: Index, query: str) -> dict[str, float]:
    """Return what each term of *query* is worth: the rarer it is, the more; most where no record has it."""
    weights, total = query_terms.asked(query), index.count()
    known = {term.term: term.frequency for term in index.postings.known(weights)}
    return {term: weight * rarity(known.get(term, 0), total) for term, weight in weights.items()}
