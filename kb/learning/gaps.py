"""Find what people ask and no record answers, lend it to who looks for the answer, and teach a record a question.

A gap is derived each time it is asked for: a question of two sessions that the records still do not answer. Once they
do, it is none, and nobody has to close it. Whether two wordings are one question, and whether a record answers it, is
decided by words: the latter as the hook at a prompt decides it, the former by vectors as well where the settings name
an embedder or its package is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from kb.config import BUNDLED_MODEL, NO_MODEL
from kb.context.give_hints import QUESTIONS, AskedQuestion, list_questions, measure_prompt
from kb.context.relevance import MIN_WORTH_SHARE, score_figures
from kb.context.still_true import is_silenced_by_sources, iter_still_true
from kb.errors import KbError
from kb.files import remove_file
from kb.i18n import msg
from kb.index.models import compare_texts, create_embedder
from kb.index.postings import compute_idf, detect_language, extract_passage
from kb.index.schema import Filter
from kb.installation import is_extra_installed
from kb.learning.structural_gaps import Gap, build_key, find_structural_gaps
from kb.records.model import ASKED, GLOBAL, LIVE, Record, Verdict, list_field, list_titles
from kb.search.query import Query, parse_query
from kb.text.segment import clip, normalise
from kb.writing.edit import reload_record
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

MIN_SESSIONS = 2
SAME_LIKENESS = 0.6
"""The share of what two questions say that both say, from which on they are one."""
MIN_LIKENESS, MIN_MEANING, LIKENESS_SHARE = 0.12, 0.15, 0.5
"""The same from which on one is heard as asking for the other, by words and by vectors; what shared words count beside
these."""
OPEN_TOGETHER, OPEN_ALONE, OPEN_REPEATED = 0.3, 1.5, -0.25
"""How likely (log-odds) records answer several wordings on average, and each of them, below which they are open; and
of one wording that two sessions used, which no other wording can cast doubt on."""
MAX_COMPARED, MIN_COMPARED, MODEL_SECONDS = 400, 40, 300.0
"""Records, and questions, up to which vectors are made for their texts, and texts from which on; seconds for all."""
_WHOLLY, _NOTHING = 1000.0, -8.0
"""The log-odds that a record answers a question most of whose terms it holds, and one none of whose terms any holds."""
_MAX_TEXT = 2000

ASKED_QUESTION = "ASKED_QUESTION"
OPEN, LEASED, SET_ASIDE = "open", "leased", "set aside"
LEASE_SECONDS = 3600
MAX_FAILED_TAKES = 3
"""Takes that ran out without an answer, after which a gap is set aside: an agent that cannot find it cannot."""
_LONG_OVER = 30 * 24 * LEASE_SECONDS
_STATE = "gaps.json"
"""Key of a gap → when its lease ends, and how many leases ran out."""


def find_gaps(kb: Workspace, project: str = GLOBAL, folder: str = "") -> list[Gap]:
    """Return the gaps of *project*, whose files are in *folder*, the most urgent first; those set aside stand last."""
    known = load_leases(kb)
    # in the knowledge base itself those of every project are seen, each with the records that hold there
    scopes = {row.scope for row in list_questions(kb)} if project == GLOBAL else {project}
    asked = [gap for scope in sorted(scopes) for gap in find_asked_gaps(kb, scope, only=project == GLOBAL)]
    found = [*asked, *find_structural_gaps(kb, project, folder)]
    states = [gap._replace(state=_read_state(known.get(gap.key), kb.now())) for gap in found]
    return sorted(states, key=lambda gap: (gap.state == SET_ASIDE, -gap.priority, gap.key))


# -- questions ------------------------------------------------------------------------------------


class _Wording(NamedTuple):
    """A wording, and who used it."""

    query: Query
    sessions: frozenset[str]
    times: int

    @property
    def text(self) -> str:
        """The wording."""
        return self.query.text


class _Judgement(NamedTuple):
    """What is known of questions, by their numbers."""

    answered: list[float]
    """How likely records answer each (log-odds)."""
    likeness: list[dict[int, float]]
    """How like each is to others, 0.0–1.0."""
    least: float
    """The likeness from which on one is heard as asking for the other."""


def find_asked_gaps(kb: Workspace, project: str, *, only: bool = False) -> list[Gap]:
    """Return the questions of two sessions in *project* that its records and the global ones do not answer.

    The second may have asked something like it, in words too different to be put under one gap.

    *only*: without what was asked in no project.
    """
    scopes = (project,) if only else kb.own_scopes(project)
    questions = _collect_questions(row for row in list_questions(kb) if row.scope in scopes)
    if not questions:
        return []
    judged = _judge_questions(kb, project, questions)
    live = kb.index.records(Filter(statuses=tuple(LIVE)))
    taught = {normalise(wording) for record in live for wording in list_field(record, ASKED)}
    found = []
    partners = find_partners(questions, judged)
    for group in group_questions(judged, partners):
        asked = [questions[number] for number in group]
        heard = [*asked, *(questions[partners[number]] for number in group if partners[number] >= 0)]
        sessions = frozenset[str]().union(*(one.sessions for one in heard))
        # a person who closed it by a record of another project knows why
        is_closed = all(normalise(one.text) in taught for one in asked)
        is_repeated = len(asked) == 1 and len(asked[0].sessions) >= MIN_SESSIONS
        is_open = judged.answered[group[0]] < OPEN_REPEATED if is_repeated else _is_open(judged, group)
        if len(sessions) < MIN_SESSIONS or is_closed or not is_open:
            continue
        times = sum(one.times for one in asked)
        said = {"times": times, "sessions": len(sessions)}
        why = msg("asked {times} times in {sessions} sessions, and no record answers it", **said)
        # the oldest wording stays, whatever is asked later
        key = build_key(ASKED_QUESTION, f"{project} {normalise(asked[0].text)}")
        wordings = tuple(one.text for one in asked)
        priority = 40.0 + min(60.0, 10.0 * len(sessions) + times)
        found.append(Gap(ASKED_QUESTION, key, project, wordings[0], why, priority, times, wordings))
    return found


def _collect_questions(rows: Iterable[AskedQuestion]) -> list[_Wording]:
    """Return the wordings in *rows*, each once, in the order in which they were first used."""
    kept: dict[str, list[AskedQuestion]] = {}
    for row in rows:
        kept.setdefault(normalise(row.question), []).append(row)
    return [
        _Wording(parse_query(same[0].question), frozenset(row.session for row in same), len(same))
        for same in kept.values()
    ]


def find_partners(questions: Sequence[_Wording], judged: _Judgement) -> list[int]:
    """Return for each of *questions* the number of the likest that another session asked, both open; -1 for none."""
    found = []
    for i, row in enumerate(judged.likeness):
        open_ones = [
            (much, -j)
            for j, much in row.items()
            if much >= judged.least and questions[i].sessions != questions[j].sessions and _is_open(judged, (i, j))
        ]
        found.append(-max(open_ones)[1] if open_ones else -1)
    return found


def group_questions(judged: _Judgement, partners: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the questions in groups of one meaning; most are alone.

    Two are one where they are nearly the same, or each is the likest to the other.
    """
    group = list(range(len(partners)))
    for i, row in enumerate(judged.likeness):
        pairs = [j for j, much in row.items() if much >= SAME_LIKENESS]
        if partners[i] >= 0 and partners[partners[i]] == i:
            pairs.append(partners[i])
        for old, new in ((group[j], group[i]) for j in pairs):
            group = [new if number == old else number for number in group]
    found: dict[int, list[int]] = {}
    for number, name in enumerate(group):
        found.setdefault(name, []).append(number)
    return list(found.values())


def _is_open(judged: _Judgement, group: Sequence[int]) -> bool:
    """Return whether the questions of *group*, each and taken together, likely have no answer."""
    answered = [judged.answered[number] for number in group]
    return sum(answered) / len(answered) < OPEN_TOGETHER and max(answered) < OPEN_ALONE


def compute_likeness(queries: Sequence[Query]) -> list[dict[int, float]]:
    """Return for each of *queries* the share, 0.0–1.0, of what it says that others say, by the numbers of these.

    A term says the more the fewer of them have it.
    """
    holders: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        for term in query.weights:
            holders.setdefault(term, []).append(number)
    worth = {term: compute_idf(len(numbers), len(queries)) for term, numbers in holders.items()}
    sizes = [sum(weight * worth[term] for term, weight in query.weights.items()) for query in queries]
    shared: list[dict[int, float]] = [{} for _ in queries]
    for term, numbers in holders.items():
        for i in numbers:
            for j in numbers:
                if i != j:
                    both = min(queries[i].weights[term], queries[j].weights[term]) * worth[term]
                    shared[i][j] = shared[i].get(j, 0.0) + both
    return [{j: 2 * both / (sizes[i] + sizes[j]) for j, both in row.items()} for i, row in enumerate(shared)]


# -- answered or not ------------------------------------------------------------------------------


def _judge_questions(kb: Workspace, project: str, questions: Sequence[_Wording]) -> _Judgement:
    """Return how far the records of *project* answer *questions*, and how like these are: by words, and by meaning."""
    index = kb.sync_index()
    wanted = Filter(scopes=kb.own_scopes(project), statuses=tuple(LIVE))
    answered = [_score_best(kb, one.query, project) for one in questions]
    likeness = compute_likeness([one.query for one in questions])
    among = _compare_meanings(kb, index.records(wanted), questions)
    if among is None:
        return _Judgement(answered, likeness, MIN_LIKENESS)
    alike = [
        {j: LIKENESS_SHARE * row.get(j, 0.0) + meaning for j, meaning in enumerate(among[i]) if i != j}
        for i, row in enumerate(likeness)
    ]
    return _Judgement(answered, alike, MIN_MEANING)


def _score_best(kb: Workspace, query: Query, project: str) -> float:
    """Return how likely (log-odds) the best record of *project* answers *query*: what the prompt hook goes by.

    Records whose sources have changed answer nothing: nobody is told them.
    """
    measured = measure_prompt(kb, query, project, is_asked=True)
    doubtful = [hit.record for hit in measured.first if is_silenced_by_sources(hit.record)]
    held = {one.path for one in iter_still_true(kb, doubtful, project, kb.folder)} if doubtful else set()
    silent = {record.path for record in doubtful} - held
    for hit, figures in zip(measured.first, measured.figures, strict=True):
        if figures and hit.record.path not in silent:
            return _WHOLLY if figures.covered >= MIN_WORTH_SHARE else score_figures(figures, is_asked=True)
    return _NOTHING


def _compare_meanings(
    kb: Workspace, records: Sequence[Record], questions: Sequence[_Wording]
) -> list[list[float]] | None:
    """Return how near *questions* are to each other, by what they mean beside the texts of *records*; None without.

    Where the settings name no embedder, the model that comes as a package is used if it is there: it asks nobody.

    A failing embedder makes no gap: words decide then. So they do in a base of more than `MAX_COMPARED` records, and
    where there are too few texts to tell what all of them have in common.
    """
    texts = [text for record in records for text in _list_texts(record)]
    if len(records) > MAX_COMPARED or len(questions) > MAX_COMPARED or len(texts) + len(questions) < MIN_COMPARED:
        return None
    name = kb.config.embedder if kb.config.embedder != NO_MODEL else BUNDLED_MODEL
    if name == BUNDLED_MODEL and not is_extra_installed("vectors"):
        return None
    asked = [one.text for one in questions]
    try:
        with closing(create_embedder(name, kb.environment, threads=0)) as embedder:
            languages = [detect_language(text) for text in (*asked, *texts)]
            return compare_texts(embedder, asked, texts, languages, MODEL_SECONDS)[0]
    except (KbError, OSError):
        return None


def _list_texts(record: Record) -> list[str]:
    """Return the texts of *record* that may answer a question: the whole, its titles, its sections."""
    sections = (section.text.strip()[:_MAX_TEXT] for section in record.sections)
    return [extract_passage(record), *list_titles(record), *(text for text in sections if text)]


# -- who looks for the answer ---------------------------------------------------------------------


def load_leases(kb: Workspace) -> dict[str, tuple[float, int]]:
    """Return when the lease of each gap that was taken ends, and how many of its leases ran out."""
    rows = (kb.state.load(_STATE) or {}).get("leases")
    if not isinstance(rows, dict):
        return {}
    return {str(key): (float(row[0]), int(row[1])) for key, row in rows.items() if _is_lease(row)}


def _is_lease(row: object) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(one, int | float) for one in row)


def _read_state(lease: tuple[float, int] | None, now: float) -> str:
    if lease is None:
        return OPEN
    until, failed = lease
    is_out = until <= now
    return SET_ASIDE if failed + is_out >= MAX_FAILED_TAKES else OPEN if is_out else LEASED


def take_gap(kb: Workspace, project: str, folder: str) -> Gap | None:
    """Lend the most urgent gap that nobody has for an hour and return it; None where there is none.

    A lease that ran out while the gap is still there has failed; the third one sets it aside.
    """
    with kb.state.hold_lock(_STATE):
        known, found = load_leases(kb), find_gaps(kb, project, folder)
        gap = next((gap for gap in found if gap.state == OPEN), None)
        if gap is None:
            return None
        # of what is no gap any more nothing is kept; a gap that is not in this list may be another project's
        there = {one.key for one in found}
        kept = {key: row for key, row in known.items() if key in there or row[0] > kb.now() - _LONG_OVER}
        failed = kept[gap.key][1] + 1 if gap.key in kept else 0
        kept[gap.key] = (kb.now() + LEASE_SECONDS, failed)
        kb.state.save({"leases": {key: list(row) for key, row in kept.items()}}, _STATE)
        return gap._replace(state=LEASED)


def find_gap(gaps: Sequence[Gap], name: str) -> Gap:
    """Return the one of *gaps* that *name*, its key or its number in the list, names; raise KbError for none."""
    if name.isascii() and name.isdigit() and 0 < int(name) <= len(gaps):
        return gaps[int(name) - 1]
    for gap in gaps:
        if gap.key == name:
            return gap
    raise KbError(msg("there is no gap {name}", name=clip(name, 40)), hint=msg("to list them: kb gaps"))


def close_gap(kb: Workspace, gap: Gap, name: str, scope: str = "") -> Verdict:
    """Let the record *name* be found by the wordings of *gap*; raise KbError for a gap that nobody has asked."""
    if not gap.wordings:
        said = msg("a gap of this kind closes itself once a record supplies what is missing")
        raise KbError(said, hint=msg("what is missing: {why}", why=gap.why))
    named = kb.record(name, scope=scope)
    for transaction in transactions(kb):
        with transaction:
            record = reload_record(transaction, named)
            there = list_field(record, ASKED)
            wordings = list(dict.fromkeys((*there, *gap.wordings)))
            if wordings == there:
                return transaction.build_verdict("unchanged", record, [msg("it already has these wordings")])
            changed = transaction.plan_front_edit(record, {ASKED: wordings}, "edited")
            verdict = transaction.build_verdict("updated", changed, [msg("it is found by the wording of the question")])
            transaction.commit(f"Let [{named.id}] be found by what was asked", "edited")
    return verdict


def forget_questions(kb: Workspace) -> int:
    """Delete all questions that were noted and return how many there were."""
    count = len(list_questions(kb))
    remove_file(kb.state.path(QUESTIONS))
    remove_file(kb.state.path(_STATE))
    return count
