"""Answer a question from the records within a token budget: as a context, or as a summary.

In a context first as many records as have room are in their short form, the best first; then, in the same order, each
becomes whole where that has room. So a long record does not silence the others, and what is left of the budget is used.
In a summary each answer has a relevance: how much of what was asked the record speaks of, by its words alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.context.hint_text import choose_phrases, select_fitting
from kb.context.manifests import read_requirements
from kb.context.relevance import count_query_words, filter_task_hits, fold_record, score_evidence
from kb.context.still_true import is_silenced_by_sources, iter_still_true
from kb.git.git_process import find_git_dir
from kb.i18n import Message, msg
from kb.index.postings import compute_idf
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import ALL, Filter
from kb.records.kinds import BY_NAME, kind_label, section_label
from kb.records.model import GLOBAL, LIVE, Record, Status
from kb.records.short_form import render_short_form
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, QuotedRecord, quote_record, quote_text, sanitise_text
from kb.search.answer import find_hits, insert_successors, search_records
from kb.search.intent import detect_intent
from kb.search.query import Query, parse_query
from kb.search.rank import SearchHit, is_named, iter_synonym_terms, load_synonyms, rank_hits, weigh_uses
from kb.text.segment import estimate_tokens, one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace


DEFAULT_BUDGET = 1500  # estimated tokens of a context for which none is given
MAX_RECORDS = 12  # records in one context, at most
MAX_RELATED_RECORDS = 5  # related records that are loaded (SMAN: topK)
DOMAIN = "domain-note"
_MAX_PROBED_RECORDS = 40
_MAX_LEADING_RECORDS = (
    5  # of the best records that are handed over with those that are surely about a question, where there is one
)


class ShownRecord(NamedTuple):
    """A record in a context."""

    record: Record
    form: str  # whole or short


class Context(NamedTuple):
    """What an agent is given for a question."""

    text: str = ""
    shown: tuple[ShownRecord, ...] = ()
    tokens: int = 0  # estimated; at most the budget
    left: int = 0  # records that answer too and had no room
    warnings: tuple[Message, ...] = ()


def compose_context(
    kb: Workspace, query: str, *, budget: int = DEFAULT_BUDGET, wanted: Filter = ALL, project: str = GLOBAL
) -> Context:
    """Return what an agent is given for *query*: the records that answer it, within *budget* estimated tokens."""
    hits = find_relevant_hits(kb, parse_query(one_line(query)), wanted=wanted, project=project)
    return render_context(qualify_record_ids(kb.index, [hit.record for hit in hits], project), budget, kb.config)


def find_relevant_hits(
    kb: Workspace, query: Query, *, wanted: Filter = ALL, project: str = GLOBAL, first: int = _MAX_LEADING_RECORDS
) -> list[SearchHit]:
    """Return what is worth telling of the records that answer *query*, best first; nothing where none is about it.

    The order is that of a search; its *first* records are given as well once there is one that is surely about the
    question. A superseded record comes after its successor.
    """
    index = kb.sync_index()
    if not query.text:
        return []
    wanted = wanted._replace(scopes=wanted.scopes or kb.own_scopes(project))
    groups, strategy = load_synonyms(kb), detect_intent(query).strategy
    found, _ = find_hits(kb, index, query, wanted, _MAX_PROBED_RECORDS, groups)
    uses = weigh_uses(index, [hit.record for hit in found.hits], kb.today)
    hits = rank_hits(found.hits, query, scope=project, favoured=strategy.kinds, aging=strategy.recent, uses=uses)
    # What each term is worth: the rarer it is, the more; most where no record has it.
    total = index.count()
    known = {term.term: term.frequency for term in index.postings.find_known_terms(query.weights)}
    about = filter_task_hits(
        hits,
        query,
        scope=project,
        frequency=index.postings.count_frequencies(query.subjects),
        total=index.count(wanted),
        synonyms=tuple(iter_synonym_terms(query, groups)),
        worth={term: weight * compute_idf(known.get(term, 0), total) for term, weight in query.weights.items()},
    )
    # One record that is surely about the question vouches for the search: its best ones come with it.
    live = [hit for hit in hits if hit.record.status in LIVE]
    chosen = {hit.record.path for hit in (*about, *(live[:first] if about else ()))}
    told = _drop_silent(kb, [hit for hit in hits if hit.record.path in chosen], query, project)
    return [hit for hit, _ in insert_successors(index, told)]


def _drop_silent(kb: Workspace, hits: list[SearchHit], query: Query, project: str) -> list[SearchHit]:
    """Return *hits* without answers whose sources are no longer what they were read from, unless *query* names them."""
    doubtful = [
        hit.record for hit in hits if is_silenced_by_sources(hit.record) and not is_named(hit.record, query, project)
    ]
    held = {record.path for record in iter_still_true(kb, doubtful, project, kb.folder)} if doubtful else set()
    silent = {record.path for record in doubtful} - held
    return [hit for hit in hits if hit.record.path not in silent]


def find_nearest_records(kb: Workspace, query: Query, *, project: str = GLOBAL, limit: int = 3) -> list[Record]:
    """Return the first live records that a search for *query* finds, at most *limit*, whether they are about it or not.

    For who asked and is told that nothing recorded is surely about the question: of 100 questions in other words than
    their record, the first three have it for 93, and only 52 are surely about it.
    """
    wanted = Filter(scopes=kb.own_scopes(project))
    found = search_records(kb, query.text, wanted=wanted, project=project, limit=2 * limit).answers
    return [answer.record for answer in found if answer.record.status in LIVE][:limit]


# -- the text -------------------------------------------------------------------------------------


def render_context(records: Sequence[Record], budget: int, config: Config) -> Context:
    """Return the context with *records*, best first, that takes at most *budget* estimated tokens."""
    words = choose_phrases(config.language)
    quoted = [quote_record(record, words["untitled"]) for record in records]

    def render(entries: Sequence[tuple[QuotedRecord, str]]) -> str:
        blocks = [_render_record(one, form, words, config.language) for one, form in entries]
        return "\n\n".join([words["prompt"], *blocks, words["context_footer"]])

    few = [(one, "short") for one in quoted[:MAX_RECORDS]]
    taken = select_fitting(few, budget, render)
    # A long record must not silence those after it: all are there in short before one becomes whole.
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


# -- what is loaded for a question: background, related records, domain knowledge (SMAN-33..35) ---


class RelatedRecord(NamedTuple):
    """A record and how far it answers."""

    record: Record
    relevance: float  # 0.0–1.0; never more than that of the record before it


class LoadedKnowledge(NamedTuple):
    """What is loaded for a question."""

    project: str
    stack: tuple[str, ...]
    """What the project is built with: "backend.framework: FastAPI" of its records, "redis 5.0" of its manifests."""
    domains: tuple[str, ...]
    """What is known of its domain: the titles of domain notes, and the domains of what was learnt."""
    answers: tuple[RelatedRecord, ...]  # all records that answer, domain notes too, best first

    @property
    def related(self) -> tuple[RelatedRecord, ...]:
        """The answers that are not domain notes, best first."""
        return tuple(one for one in self.answers if one.record.kind != DOMAIN)

    @property
    def domain_notes(self) -> tuple[Record, ...]:
        """The domain notes that answer, best first."""
        return tuple(one.record for one in self.answers if one.record.kind == DOMAIN)


class LoadedSummary(NamedTuple):
    """What is printed of what was loaded."""

    parts: tuple[Message, ...]  # the paragraphs, in order
    omitted: tuple[Message, ...] = ()  # what had no room, one sentence for each sort of thing

    def translate(self, language: str) -> str:
        """Return the text in *language*."""
        return "\n\n".join(part.translate(language) for part in self.parts)


def load_knowledge(
    kb: Workspace, query: str, *, project: str = GLOBAL, most: int = MAX_RELATED_RECORDS, folder: str = ""
) -> LoadedKnowledge:
    """Return what is loaded for *query*: the project's background and what answers, *most* records and *most* notes.

    *folder* is where the project is worked on; what its manifests require follows what its records claim.
    """
    asked = parse_query(one_line(query))
    hits = find_relevant_hits(kb, asked, project=project, first=most)
    named = qualify_record_ids(kb.index, [hit.record for hit in hits], project)
    shares = compute_relevances(hits, asked)
    related = [RelatedRecord(record, share) for record, share in zip(named, shares, strict=True) if share]
    notes = [one for one in related if one.record.kind == DOMAIN][:most]
    others = [one for one in related if one.record.kind != DOMAIN][:most]
    own = kb.index.records(Filter(scopes=kb.own_scopes(project)))
    accepted = [record for record in own if record.status == Status.ACCEPTED]
    stack = [f"{key}: {value}" for record in accepted for key, value in record.claims.items()]
    around = find_git_dir(os.path.realpath(folder)) if folder else None
    required = read_requirements(around[0] if around else folder) if folder else {}
    stack += [f"{name} {version}" for name, version in required.items()]
    live = [record for record in own if record.status in LIVE]
    domains = [record.title for record in live if record.kind == DOMAIN]
    domains += [str(record.extra.get("domain") or "") for record in live]
    answers = tuple(one for one in related if one in notes or one in others)
    known = tuple(filter(None, dict.fromkeys(domains)))
    return LoadedKnowledge(project, tuple(dict.fromkeys(stack)), known, answers)


def compute_relevances(hits: Sequence[SearchHit], query: Query) -> list[float]:
    """Return for each of *hits*, best first, how much of what *query* asks it speaks of: 0.0–1.0, never rising."""
    asked = max(count_query_words(query), 1.0)
    found: list[float] = []
    for hit in hits:
        # A record that holds the question as a whole answers all of it, however its words are cut.
        share = 1.0 if hit.whole else min(1.0, score_evidence(fold_record(hit.record), query) / asked)
        found.append(round(min([share, *found[-1:]]), 2))
    return found


# -- the text, in either language -----------------------------------------------------------------


class _EntrySize(NamedTuple):
    """How much is printed of an answer: characters of its text and its title, and the number of its files."""

    answer: int = 400
    files: int = 6
    title: int = TITLE_LIMIT


_WHOLE = _EntrySize()
# As an answer comes, and shorter where there is no room.
_SIZES = (_WHOLE, _EntrySize(200, 3), _EntrySize(100, 1), _EntrySize(40, 0, 40), _EntrySize(16, 0, 16))


def render_summary(loaded: LoadedKnowledge, budget: int) -> LoadedSummary:
    """Return what is printed for a question, *budget* estimated tokens at most, in either language.

    The best answer is kept, shortened where it must be; then the others as they come; the background is above them
    only where all of them had room.
    """

    def has_room(parts: Sequence[Message]) -> bool:
        text = LoadedSummary(tuple(parts))
        return max(estimate_tokens(text.translate(language) + "\n") for language in ("en", "zh")) <= budget

    best = ((loaded.answers[0], size) for size in _SIZES) if loaded.answers else ()
    kept = list(islice((entry for entry in best if has_room(_render_answers([entry]))), 1))
    is_shortened = any(size != _WHOLE for _, size in kept)
    for one in loaded.answers[1:]:
        if has_room(_render_answers([*kept, (one, _WHOLE)])):
            kept.append((one, _WHOLE))
    answers, left = _render_answers(kept), len(loaded.answers) - len(kept)
    # what it is built with goes before what it is about
    backgrounds = [_render_background(loaded, *most) for most in ((400, 400), (100, 400), (0, 400), (0, 100), (0, 0))]
    fitting = (one for one in backgrounds if has_room([one, *answers]))
    background = next(fitting, None) if not left and not is_shortened else None
    omitted = [msg("records that did not fit: {n}", n=left)] if left else []
    if is_shortened:
        omitted.append(msg("the answer is shortened; whole: kb show {id}", id=loaded.answers[0].record.id))
    if background is not backgrounds[0]:
        omitted.append(msg("the project's background did not fit"))
    return LoadedSummary((*([background] if background else ()), *answers), tuple(omitted))


def _render_background(loaded: LoadedKnowledge, of_stack: int, of_domains: int) -> Message:
    """Return the project's background with so many characters of its stack and of its domains, at most."""
    stack, domains = quote_text(", ".join(loaded.stack), of_stack), quote_text(", ".join(loaded.domains), of_domains)
    return msg(
        "## Project background\n- Tech stack: {stack}\n- Domain: {domains}", stack=stack or "–", domains=domains or "–"
    )


def _render_answers(kept: Sequence[tuple[RelatedRecord, _EntrySize]]) -> list[Message]:
    """Return the paragraphs for the answers *kept*: related records, then domain knowledge."""
    related = [msg("## Related records")]
    notes = [msg("## Domain knowledge")]
    for one, size in kept:
        title, answer, files = _describe_record(one.record, size)
        if one.record.kind == DOMAIN:
            concepts = f"[{quote_text(', '.join(one.record.tags), size.answer // 2)}]"
            summary = msg(
                "### {domain}\n{summary}\nKey concepts: {concepts}", domain=title, summary=answer, concepts=concepts
            )
            notes.append(summary)
        else:
            text = msg(
                "### Related {n} (relevance: {percent}%)\nQuestion: {question}\nAnswer: {answer}\nFiles: {files}",
                n=len(related),
                percent=round(100 * one.relevance),
                question=title,
                answer=answer,
                files=files,
            )
            related.append(text)
    return [part for parts in (related, notes) if len(parts) > 1 for part in parts]


def render_numbered_list(related: Iterable[RelatedRecord]) -> list[Message]:
    """Return *related* as a numbered list."""
    rows = []
    for n, one in enumerate(related, 1):
        title, answer, files = _describe_record(one.record, _WHOLE)
        row = msg(
            "{n}. [{relevance}] Q: {question}\n   A: {answer}\n   Files: {files}",
            n=n,
            relevance=f"{one.relevance:.2f}",
            question=title,
            answer=answer,
            files=files,
        )
        rows.append(row)
    return rows


def _describe_record(record: Record, size: _EntrySize) -> tuple[str, str, str]:
    """Return what *record* is about, what it says first, and the files it is about, each on one line.

    Of a record that speaks to an agent nothing is said but its id.
    """
    one = quote_record(record, "–").record
    wanted = BY_NAME[one.kind].required[:1] if one.kind in BY_NAME else ()
    text = next(filter(None, map(one.section, wanted)), "") or next((s.text for s in one.sections if s.text), "")
    files = ", ".join(quote_text(path, PATH_LIMIT) for path in one.impact[: size.files])
    answer = quote_text(" ".join(text.split()), size.answer) or "–"
    return quote_text(f"[{one.id}] {one.title}", size.title), answer, f"[{files}]"
