"""What answers a question on purpose: the records worth handing over, whole or in their short form, within a budget.

First as many records as have room in their short form, the best first; then, in the same order, each becomes whole
where that has room. So a long record does not silence the others, and what is left of the budget is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.context.hint_text import choose_phrases, sanitise_text, select_fitting
from kb.context.relevance import filter_task_hits
from kb.i18n import Message, msg
from kb.index.database import Index
from kb.index.postings import compute_idf
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import ALL, Filter
from kb.records.kinds import kind_label, section_label
from kb.records.model import GLOBAL, LIVE, Record, Status
from kb.records.short_form import render_short_form
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, QuotedRecord, quote_record, quote_text
from kb.search.answer import find_hits, insert_successors
from kb.search.intent import detect_intent
from kb.search.query import Query, parse_query
from kb.search.rank import SearchHit, rank_hits
from kb.search.synonyms import iter_synonym_terms, load_synonyms
from kb.text.segment import estimate_tokens, one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

BUDGET = 1500
"""Estimated tokens of a context for which none is given."""

FEW = 12
"""So many records stand in one context, at most."""

_PROBED = 40
_FIRST = 5
"""So many of the best records are handed over with those that are surely about a question, where there is one."""


class ShownRecord(NamedTuple):
    """A record in a context."""

    record: Record
    form: str
    """whole or short."""


class Context(NamedTuple):
    """What an agent is given for a question."""

    text: str = ""
    shown: tuple[ShownRecord, ...] = ()
    tokens: int = 0
    """Estimated; at most the budget."""
    left: int = 0
    """Records that answer too and had no room."""
    warnings: tuple[Message, ...] = ()


def compose_context(
    kb: Workspace, query: str, *, budget: int = BUDGET, wanted: Filter = ALL, project: str = GLOBAL
) -> Context:
    """Return what an agent is given for *query*: the records that answer it, within *budget* estimated tokens."""
    hits = find_relevant_hits(kb, parse_query(one_line(query)), wanted=wanted, project=project)
    return render_context(qualify_record_ids(kb.index, [hit.record for hit in hits], project), budget, kb.config)


def find_relevant_hits(
    kb: Workspace, query: Query, *, wanted: Filter = ALL, project: str = GLOBAL, first: int = _FIRST
) -> list[SearchHit]:
    """Return what is worth telling of the records that answer *query*, best first; nothing where none is about it.

    The order is that of a search; its *first* records are told as well once there is one that is surely about the
    question. A record that holds no longer stands behind the one that took its place.
    """
    index = kb.sync_index()
    if not query.text:
        return []
    scopes = wanted.scopes or ((GLOBAL,) if project == GLOBAL else (project, GLOBAL))
    wanted = wanted._replace(scopes=scopes)
    groups, strategy = load_synonyms(kb), detect_intent(query).strategy
    found, _ = find_hits(kb, index, query, wanted, _PROBED, groups)
    hits = rank_hits(found.hits, query, scope=project, favoured=strategy.kinds, aging=strategy.recent)
    about = filter_task_hits(
        hits,
        query,
        scope=project,
        frequency=index.postings.count_frequencies(query.subjects),
        total=index.count(wanted),
        synonyms=tuple(iter_synonym_terms(query, groups)),
        worth=_weigh_terms(index, query.weights),
    )
    live = [hit for hit in hits if hit.record.status in LIVE]
    chosen = {hit.record.path for hit in (*about, *(live[:first] if about else ()))}
    return [hit for hit, _ in insert_successors(index, [hit for hit in hits if hit.record.path in chosen])]


def _weigh_terms(index: Index, weights: Mapping[str, float]) -> dict[str, float]:
    """Return what each term of *weights* is worth: the rarer it is, the more; most where no record has it."""
    total = index.count()
    known = {term.term: term.frequency for term in index.postings.find_known_terms(weights)}
    return {term: weight * compute_idf(known.get(term, 0), total) for term, weight in weights.items()}


# -- the text -------------------------------------------------------------------------------------


def render_context(records: Sequence[Record], budget: int, config: Config) -> Context:
    """Return the context with *records*, best first, that takes at most *budget* estimated tokens."""
    words = choose_phrases(config.language)
    quoted = [quote_record(record, words["untitled"]) for record in records]

    def render(entries: Sequence[tuple[QuotedRecord, str]]) -> str:
        blocks = [_render_record(one, form, words, config.language) for one, form in entries]
        return "\n\n".join([words["prompt"], *blocks, words["context_footer"]])

    few = [(one, "short") for one in quoted[:FEW]]
    taken = select_fitting(few, budget, render)
    for at, (one, _) in enumerate(taken):
        wider = [*taken[:at], (one, "whole"), *taken[at + 1 :]]
        if not one.warning and estimate_tokens(render(wider)) <= budget:
            taken = wider
    text = render(taken) if taken else ""
    shown = tuple(ShownRecord(one.original, form) for one, form in taken)
    warnings = tuple(one.warning for one, _ in taken if one.warning)
    if few and not taken:
        warnings = (msg("no record fits {budget} tokens", budget=budget),)
    return Context(text, shown, estimate_tokens(text), len(records) - len(taken), warnings)


def _render_record(one: QuotedRecord, form: str, words: Mapping[str, str], language: str) -> str:
    """Return one record, every line of it quoted, under a line that says which it is and where its file stands."""
    record = one.record
    marks: Mapping[str, str] = {Status.ACCEPTED: "", Status.PROPOSED: f", {words['unverified']}"}
    about = f"{quote_text(kind_label(record.kind, language), NAME_LIMIT)}, {quote_text(record.scope, NAME_LIMIT)}"
    about += marks.get(record.status, f", {words['dead']}")
    name, title = quote_text(record.id, NAME_LIMIT), quote_text(record.title, TITLE_LIMIT)
    head = f"> [{name}] {title} ({about}) {quote_text(one.original.path, PATH_LIMIT)}".rstrip()
    if one.warning:
        return f"{head} ({words['withheld']})"
    whole = form == "whole"
    body = _render_whole(record, language) if whole else render_short_form(record, language).partition("\n")[2]
    return "\n".join([head, *(f"> {row}".rstrip() for row in sanitise_text(body).split("\n") if body)])


def _render_whole(record: Record, language: str) -> str:
    """Return all that *record* says, section by section."""
    parts = [f"**{section.heading.strip()}**\n{section.text.strip()}" for section in record.sections if section.text]
    if record.impact and not record.section("impact"):
        parts.append(f"**{section_label('impact', language)}**\n" + "\n".join(f"- {path}" for path in record.impact))
    return "\n".join([*parts, *([record.user.strip()] if record.user.strip() else [])])
