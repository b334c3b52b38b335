"""Give hints nobody asked for, at a prompt, a session start or a task: query → index → rank → text.

`relevance` decides which records are given, `hint_text` writes the text.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from kb.context import hint_text
from kb.context.hint_text import Hint
from kb.context.relevance import (
    MIN_BASE_RECORDS,
    PromptFactors,
    filter_relevant,
    filter_task_hits,
    has_whole_keyword,
    is_question,
    limit_terms,
    measure_hits,
    score_figures,
    select_told,
)
from kb.context.still_true import iter_still_true
from kb.errors import KbError
from kb.files import write_atomic
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import Filter
from kb.records.kinds import KINDS, REVIEWS, TREE, resolve_openable_path
from kb.records.model import GLOBAL, LIVE, Record, recency_key
from kb.search.query import MAX_TERMS, Query, parse_query
from kb.search.rank import SearchHit, find_dormant, is_named, rank_hits, weigh_uses
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.project import list_own_records
from kb.state.session_log import RANKED, UNNAMED, SessionLog
from kb.text.segment import clip, estimate_tokens, one_line, split_sentences

if TYPE_CHECKING:
    from kb.workspace import Workspace

_TITLE = "title:"
"""With this the key of a record begins of which a session was told the title alone."""
QUESTIONS = "asked.jsonl"
"""What was asked: one line with question, scope, session and day for each (`.kb/`, local to the clone)."""
_MAX_QUESTIONS, _MAX_QUESTION_CHARACTERS = 1000, 200
_MAX_ASKING_CHARACTERS = 600  # characters of a prompt from which on a question in it is part of a task
_MAX_PROBED_RECORDS = 40  # records of which it is asked whether they matter, the best first
_KINDS_FOR_ALL = ("pitfall", "domain-note", "preference", "checklist")  # told to a sub-agent of whatever role
_MAX_ASKED_RECORDS = 12  # the same for a question
MAX_ASKED_TERMS = 24  # words of a question that are looked for
SYNONYM_WEIGHT = 0.4  # what a synonym counts beside the word that was asked, as in a search
_MAX_TASK_RECORDS = 24  # records about a task that are compared with their files, the best first


def build_hint(kb: Workspace, moment: str, keywords: Sequence[str], *, task: str = "", project: str = GLOBAL) -> Hint:
    """Return the hint for *moment* ("t1" or "t2"): the records that hold one of *keywords*, and those about *task*.

    Without either, the newest records.
    """
    wanted = _build_filter(kb, (moment,), project)
    words = [word for word in keywords if word.strip()]
    asked, given, about = parse_query(" ".join(words)), [parse_query(word) for word in words], parse_query(task)

    def find_records() -> list[Record]:
        if not words and not task.strip():
            newest = kb.sync_index(thorough=False).records(wanted)
            return sorted(newest, key=recency_key, reverse=True)
        ranked = [hit.record for hit in _rank_records(kb, asked, wanted, project)] if words else []
        held = [
            record
            for record in ranked
            if is_named(record, asked, project) or any(has_whole_keyword(record, keyword) for keyword in given)
        ]
        found = _find_task_records(kb, about, (moment,), project) if task.strip() else []
        return list({record.path: record for record in (*held, *found)}.values())

    found = _find_current(kb, find_records)[: 2 * _MAX_TASK_RECORDS]
    return _render_hint(kb, moment, list(iter_still_true(kb, found, project, kb.folder)), project)


def _find_task_records(
    kb: Workspace, task: Query, moments: Sequence[str], project: str, kinds: tuple[str, ...] = ()
) -> list[Record]:
    """Return the records about *task* of *kinds*, or of those that are shown at *moments*, best first.

    Before all others stand those that govern a file which the task names (“修改 src/auth/login.py”).
    """
    wanted = _build_filter(kb, moments, project)
    wanted = wanted._replace(kinds=kinds or wanted.kinds)
    if not wanted.kinds:
        return []
    hits = _rank_records(kb, task, wanted, project)
    frequency, total = _count_frequencies(kb, task, project)
    about = [hit.record for hit in filter_task_hits(hits, task, scope=project, frequency=frequency, total=total)]
    return list({record.path: record for record in (*_find_governing_records(kb, task, wanted), *about)}.values())


def _find_governing_records(kb: Workspace, task: Query, wanted: Filter) -> list[Record]:
    """Return the live records that govern a file which *task* names."""
    if "/" not in task.text:
        return []
    from kb.text.mentions import find_paths

    live = wanted._replace(statuses=wanted.statuses or tuple(LIVE))
    paths = find_paths(task.text, kb.folder)
    return list(chain.from_iterable(kb.index.records(live._replace(path=path)) for path in paths))


def _build_filter(kb: Workspace, moments: Sequence[str], project: str) -> Filter:
    return Filter(kinds=tuple(kind.name for kind in KINDS if kind.hint in moments), scopes=kb.own_scopes(project))


def _render_hint(
    kb: Workspace, moment: str, records: Sequence[Record], project: str, told: SessionLog | None = None
) -> Hint:
    render = hint_text.render_t1 if moment == "t1" else hint_text.render_t2
    hint = render(qualify_record_ids(kb.index, records, project), kb.config)
    log_given_records(kb, moment, hint.shown, told)
    return hint


def build_avatar_hint(
    kb: Workspace, avatar: str, task: str, *, project: str = GLOBAL, quiet: bool = False, told: SessionLog | None = None
) -> str:
    """Return the hints of all moments that *avatar* gets for *task*; "" for one that gets none (SHI-38).

    *quiet*, for a host that adds it to a prompt unasked: no text where there is nothing, else a quote notice above it.
    *told* is the log of the sub-agent that is told it.
    """
    query, moments = parse_query(task), hint_text.list_moments(avatar)
    kinds = {moment: tuple(kind.name for kind in KINDS if kind.hint == moment) for moment in moments}
    held: list[Record] = []
    if moments:
        every = tuple(dict.fromkeys((*chain(*kinds.values()), *(_KINDS_FOR_ALL if query.subjects else ()))))
        current = _leave_out_dormant(kb, _find_current(kb, partial(_find_task_records, kb, query, (), project, every)))
        held = list(iter_still_true(kb, current[: 2 * _MAX_TASK_RECORDS], project, kb.folder))
    hints = []
    for moment in moments:
        records = [record for record in held if record.kind in kinds[moment]][:_MAX_TASK_RECORDS]
        hints.append(_render_hint(kb, moment, records, project, told))
    if held:
        known = {record.path for hint in hints for record in hint.shown}
        new = [record for record in held if record.kind in _KINDS_FOR_ALL and record.path not in known]
        records = qualify_record_ids(kb.index, new[:_MAX_TASK_RECORDS], project)
        left = len(moments) * kb.config.hint_tokens - sum(estimate_tokens(hint.text) for hint in hints if hint.shown)
        hints.append(hint_text.render_notes(records, kb.config, left))
        log_given_records(kb, "agent", hints[-1].shown, told)
    shown = [hint.text for hint in hints if hint.shown]
    if quiet:  # whose words they are is above hints in the protocol's own form
        return "\n\n".join([hint_text.choose_phrases(kb.config.language)["prompt"], *shown]) if shown else ""
    return "\n\n".join(shown or [hint.text for hint in hints[:1]])


def build_prompt_hint(
    kb: Workspace, prompt: str, *, project: str = GLOBAL, folder: str = "", told: SessionLog | None = None
) -> str:
    """Return the few records that *prompt* is really about, framed as quoted data; usually "".

    Their files are named as they are opened from *folder*. What the session was *told* is not said again.
    """
    from kb.search.intent import is_about_asker

    query = parse_query(prompt)
    is_own = is_about_asker(one_line(query.text))
    find_records = partial(_find_preferences if is_own else _find_prompt_records, kb, query, project, told)
    found = _find_current(kb, find_records)
    awake = {record.path for record in _leave_out_dormant(kb, found)}
    new = _leave_out_told([r for r in found if r.path in awake or is_named(r, query, project)], told)
    own = list_own_records(kb)[: kb.config.hint_items] if is_own else []
    found = list(islice(iter_still_true(kb, new, project, folder or kb.folder), kb.config.hint_items)) if new else []
    about = [record._replace(path=resolve_openable_path(kb.root, record.path, folder)) for record in found]
    told_of = [*own, *qualify_record_ids(kb.index, about, project)][: kb.config.hint_items]
    hint = hint_text.render_prompt_hint(told_of, kb.config)
    log_given_records(kb, "prompt", hint.shown, told)
    return hint.text


def _leave_out_dormant(kb: Workspace, records: Sequence[Record]) -> list[Record]:
    dormant = find_dormant(kb.index, records, kb.today)
    return [record for record in records if record.path not in dormant]


def _leave_out_told(records: Sequence[Record], told: SessionLog | None) -> list[Record]:
    known = told.list_told() if told and records else set()
    return [record for record in records if record.uid not in known]


def _find_preferences(kb: Workspace, prompt: Query, project: str, told: SessionLog | None = None) -> list[Record]:
    """Return what answers a *prompt* about the person who asks, the newest first, as such a search does."""
    from kb.search.intent import IDENTITY, STRATEGIES

    wanted = Filter(kinds=STRATEGIES[IDENTITY].kinds, scopes=kb.own_scopes(project), statuses=tuple(LIVE))
    return sorted(kb.sync_index(thorough=False).records(wanted), key=recency_key, reverse=True)


class MeasuredPrompt(NamedTuple):
    """What was found for a prompt, and the figures by which it is told or not."""

    hits: Sequence[SearchHit]  # the best first
    first: Sequence[SearchHit]  # of these, as many live ones as a hint holds, without those it names
    figures: Sequence[PromptFactors | None]  # of each of the *first*
    is_asked: bool  # whether it is a question
    total: int  # how many records there are


def measure_prompt(
    kb: Workspace, prompt: Query, project: str = GLOBAL, *, is_asked: bool | None = None
) -> MeasuredPrompt:
    """Return the records that *prompt* may be about with what speaks for each.

    *is_asked* says whether it is a question, where that is known.
    """
    wanted = Filter(scopes=kb.own_scopes(project))
    total = kb.sync_index(thorough=False).count(wanted)
    is_scored = total >= MIN_BASE_RECORDS
    is_asked = is_scored and is_question(prompt) if is_asked is None else is_asked
    own = limit_terms(prompt.weights, MAX_ASKED_TERMS if is_asked else MAX_TERMS)
    # what Chinese words mean also shows which of them an English record lacks
    others = _find_other_wordings(kb, prompt) if is_asked or (is_scored and prompt.pieces) else {}
    parts = (part for wordings in others.values() for wording in wordings for part in wording)
    limit = _MAX_ASKED_RECORDS if is_asked else _MAX_PROBED_RECORDS
    hits = _rank_terms(kb, {**dict.fromkeys(parts, SYNONYM_WEIGHT), **own}, prompt, wanted, project, limit)
    unnamed = (hit for hit in hits if hit.record.status in LIVE and not is_named(hit.record, prompt, project))
    first = list(islice(unnamed, kb.config.hint_items))
    held, frequency = _count_held_terms(kb, own, others, first, total)
    figures = measure_hits(
        first, prompt, total=total, frequency=frequency, held=held, is_asked=is_asked, translated=others
    )
    return MeasuredPrompt(hits, first, figures, is_asked, total)


def _find_prompt_records(kb: Workspace, prompt: Query, project: str, told: SessionLog | None = None) -> list[Record]:
    """Return the records that *prompt* is really about, best first, as many as a hint holds."""
    if not prompt.references and not prompt.subjects:
        return []
    measured = measure_prompt(kb, prompt, project)
    hits, first, is_asked = measured.hits, measured.first, measured.is_asked
    scores = [score_figures(each, is_asked=is_asked) for each in measured.figures]
    if told and first:  # an edit of this turn is told what the text around it cites only where the prompt is about it
        rows = zip(first, scores, strict=True)
        told.add(RANKED, " ".join(f"{hit.record.uid}={score:.2f}" for hit, score in rows if score > -math.inf))
    if measured.total < MIN_BASE_RECORDS:
        frequency = kb.index.postings.count_frequencies(prompt.subjects)
        best = filter_relevant(hits, prompt, scope=project, frequency=frequency, total=measured.total)
    else:
        named = [hit for hit in hits if is_named(hit.record, prompt, project)]
        best = [*named, *select_told(first, scores, is_asked=is_asked)]
    return list({hit.record.path: hit.record for hit in best}.values())


_Wordings = dict[str, list[tuple[str, ...]]]
"""Term of a prompt → what says the same as the word it is in: terms that belong together."""


def _find_other_wordings(kb: Workspace, prompt: Query) -> _Wordings:
    from kb.search.rank import find_synonyms, load_synonyms

    found: _Wordings = {}
    for synonyms in find_synonyms(prompt, load_synonyms(kb)):
        # a part of a longer Chinese word says nothing of it: of 缓存, 缓
        others = [tuple(term for term in each if len(term) > 1 or len(each) == 1) for each in synonyms.synonym_terms]
        for term in synonyms.asked_terms:
            found.setdefault(term, []).extend(others)
    return found


def _count_held_terms(
    kb: Workspace, own: Mapping[str, float], others: _Wordings, hits: Sequence[SearchHit], total: int
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return which of the terms *own* each of *hits* holds, by its path, and in how many of *total* records each is.

    A record that holds one of the *others* of a term holds the term.
    """
    postings = kb.index.postings
    parts = (part for term in own for wording in others.get(term, ()) for part in wording)
    known = postings.find_known_terms({**dict.fromkeys(parts, SYNONYM_WEIGHT), **own})
    counts = {term.term: term.frequency for term in known}
    rows = {int(hit.parts["row"]): hit.record.path for hit in hits if "row" in hit.parts}
    held: dict[str, list[str]] = {}
    for n, terms in postings.find_held_terms(known, rows).items():
        there = {term.term for term in terms}
        held[rows[n]] = [term for term in own if term in there or any(map(there.issuperset, others.get(term, ())))]
    frequency = {}
    for term in own:
        meant = (min(counts.get(part, 0) for part in wording) for wording in others.get(term, ()))
        frequency[term] = min(counts.get(term, 0) + max(meant, default=0), total)
    return held, frequency


def _find_current(kb: Workspace, find_records: Callable[[], list[Record]]) -> list[Record]:
    """Return what *find_records* finds; where a file of it was edited in place, what it finds in the new index."""
    records = find_records()
    # A hint looks at no file beforehand; only of what it is about to tell it asks whether that still stands.
    if all(kb.index.is_current(record.path) for record in records):
        return records
    kb.sync_index()
    return find_records()


def _rank_records(kb: Workspace, query: Query, wanted: Filter, project: str) -> list[SearchHit]:
    """Return the records *wanted* that share a term with *query* or are named in it, best first."""
    return _rank_terms(kb, dict(islice(query.weights.items(), MAX_TERMS)), query, wanted, project, _MAX_PROBED_RECORDS)


def _rank_terms(
    kb: Workspace, asked: Mapping[str, float], query: Query, wanted: Filter, project: str, limit: int
) -> list[SearchHit]:
    """Return the hits of the terms *asked* and of the ids in *query*, best first, each with its row and its score."""
    index = kb.sync_index(thorough=False)
    rows = index.postings.rank_rows(index.postings.find_known_terms(asked), wanted)[:limit]
    found = index.load_rows([row.n for row in rows])
    hits = [SearchHit(found[row.n], row.score, parts={"row": row.n, "raw": row.score}) for row in rows]
    named = (record for each in query.references for record in index.find_by_id(each.id))
    hits += [SearchHit(record) for record in named if not wanted.kinds or record.kind in wanted.kinds]
    weights = weigh_uses(index, [hit.record for hit in hits], kb.today)
    return rank_hits(hits, query, scope=project, uses=weights)


def _count_frequencies(kb: Workspace, query: Query, project: str) -> tuple[dict[str, int], int]:
    """Return in how many records each subject of *query* stands, and how many records there are."""
    frequency = kb.index.postings.count_frequencies(query.subjects)
    return frequency, kb.index.count(Filter(scopes=kb.own_scopes(project)))


def build_start_context(kb: Workspace, session: str, *, source: str, project: str = GLOBAL) -> str:
    """Return what a starting session is given: after a compaction its compact form, then what always holds.

    A session that is resumed still has what it was told; a compaction, or a person who clears it, took that away.
    """
    told = SessionLog(kb, session)
    if source in ("compact", "clear"):
        told.forget_told()
    known = told.list_told()
    index = kb.sync_index(thorough=False)
    live = Filter(scopes=kb.own_scopes(project), statuses=tuple(LIVE))
    lasting = live._replace(kinds=tuple(kind.name for kind in KINDS if kind.always))
    lasts = index.iter_records(lasting, kb.config.start_tokens // hint_text.MIN_LINE_TOKENS)
    new = (record for record in lasts if record.uid not in known and f"{_TITLE}{record.uid}" not in known)
    always = (qualify_record_ids(index, [each], project)[0] for each in iter_still_true(kb, new, project, kb.folder))
    tallied = index.count_by_column("kind", live)
    counts = {kind.name: tallied.get(kind.name, 0) for kind in KINDS}
    compact = ""
    if source in ("compact", "resume"):
        from kb.sessions.active_sessions import load_compact

        compact = load_compact(kb, session)
    reviews = len(kb.repository.list_refs(REVIEWS.rstrip("/")))
    own = [record for record in list_own_records(kb) if not {record.uid, f"{_TITLE}{record.uid}"} & known]
    counts["preference"] += len(own)
    hint = hint_text.render_start_context(compact, chain(own, always), kb.config, counts=counts, reviews=reviews)
    log_given_records(kb, "start", hint.shown, told)
    return hint.text


def build_spawn_prompt(
    kb: Workspace, avatar: str, task: str, *, session: str = "", project: str = GLOBAL, style: str = "shi"
) -> str:
    """Return what the prompt of a sub-agent begins with: in the layout of SHI, or (*style* "ruyi") of RUYI.

    Without a *session* it is the one that runs and was heard of last.
    """
    from kb.records.kinds import sanitise_session_id
    from kb.sessions.active_sessions import load_compact
    from kb.sessions.session_archive import iter_project_sessions, list_known_sessions

    def find_compact_file(name: str) -> str:
        return kb.state.path("active", sanitise_session_id(name), "compact.md")

    known = iter_project_sessions(kb, list_known_sessions(kb), project) if not session else ()
    session = session or next((one.session for one in known if os.path.isfile(find_compact_file(one.session))), "")
    compact = load_compact(kb, session) if session else ""
    pointer = find_compact_file(session) if compact else ""
    if style != "ruyi":
        hints = build_avatar_hint(kb, avatar, task, project=project)
        return hint_text.render_spawn_prompt(compact, hints, task, pointer, language=kb.config.language)
    query, moments = parse_query(task), hint_text.list_moments(avatar)
    about = _find_current(kb, partial(_find_task_records, kb, query, moments, project))
    anchors = hint_text.render_anchors(qualify_record_ids(kb.index, about, project), kb.config)
    log_given_records(kb, "spawn", anchors.shown)
    normal = os.path.join(kb.root, TREE, "current", "normal.md")
    whole = normal if os.path.isfile(normal) else pointer
    return hint_text.render_spawn_prompt(compact, anchors.text, task, whole, language=kb.config.language, style=style)


# -- what was told --------------------------------------------------------------------------------


def log_given_records(kb: Workspace, moment: str, records: Sequence[Record], told: SessionLog | None = None) -> None:
    """Note in what a session was *told* which records it was given at *moment*; without a session, that somebody was.

    A state folder that cannot be written is no reason to be silent.
    """
    # a start names titles only: the prompt or edit that a record is about still hears what it says, once
    beginning = _TITLE if moment == "start" else ""
    log = told or SessionLog(kb, UNNAMED)
    log.mark_told(*(beginning + record.uid for record in records if record.uid))


# -- what was asked -------------------------------------------------------------------------------


class AskedQuestion(NamedTuple):
    """A question that a person or an agent had, as it was noted."""

    question: str
    scope: str
    session: str
    day: str  # ISO day


def note_questions(kb: Workspace, texts: Iterable[str], *, scope: str, session: str = "") -> None:
    """Note what *texts* ask that a record could answer, without secrets; of the rest, nothing.

    Without a *session* all of a day are one: who asks a command twice has not asked in two sessions. A state folder
    that cannot be written is no reason to fail.
    """
    found = [sentence for text in texts for sentence in _list_questions(text)]
    if not found:
        return
    from kb.safety.redaction import redact_text

    day = kb.today()
    safe = (clip(redact_text(one, kb.config.masking)[0], _MAX_QUESTION_CHARACTERS) for one in found)
    rows = [AskedQuestion(one, scope, session or day, day) for one in dict.fromkeys(safe)]
    with contextlib.suppress(OSError, KbError):
        before = list_questions(kb)
        known = {(row.session, row.question) for row in before}
        new = [row for row in rows if (row.session, row.question) not in known]
        kb.state.ensure_folder()
        lines = "".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in new)
        with open(kb.state.path(QUESTIONS), "a", encoding="utf-8") as file:
            file.write(lines)
        if len(before) + len(new) > _MAX_QUESTIONS:
            kept = [json.dumps(row._asdict(), ensure_ascii=False) for row in [*before, *new][-_MAX_QUESTIONS:]]
            write_atomic(kb.state.path(QUESTIONS), "".join(f"{line}\n" for line in kept).encode())


def _list_questions(text: str) -> Iterator[str]:
    if len(text) <= _MAX_ASKING_CHARACTERS:
        from kb.search.intent import is_team_question

        lines = (one_line(sentence) for sentence in split_sentences(text))
        yield from (line for line in lines if line and is_team_question(line))


def list_questions(kb: Workspace) -> list[AskedQuestion]:
    """Return the newest questions that are kept, the oldest of them first; a damaged line is passed over."""
    found: list[AskedQuestion] = []
    with contextlib.suppress(OSError), open(kb.state.path(QUESTIONS), encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                found.append(AskedQuestion(*(str(row[key]) for key in AskedQuestion._fields)))
    return found[-_MAX_QUESTIONS:]
