"""Answer a query: search the index, rank, format the results."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from kb.config import NO_MODEL
from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.index import index_sync
from kb.index.database import Index
from kb.index.postings import SCALE
from kb.index.schema import ALL, Filter
from kb.records.model import GLOBAL, LIVE, Record, Status, recency_key
from kb.search.intent import (
    EXPERIENCE,
    IDENTITY,
    NAMED,
    PREFERENCE,
    STRATEGIES,
    detect_intent,
    name_spoken_record,
    split_recent_query,
)
from kb.search.query import Query, is_function_word, parse_query
from kb.search.rank import SearchHit, SynonymGroup, is_named, load_synonyms, rank_hits, weigh_uses
from kb.search.retrieve import RetrievedHits, retrieve_hits
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.project import list_own_records
from kb.text.segment import FIRST_CJK, fold_text, one_line, stem

if TYPE_CHECKING:
    from kb.workspace import Workspace

# Characters of a question that are looked for: what is longer is a text pasted in, whose beginning is enough
LONGEST = 4_000

LONGEST_TOPIC = 3.0  # Words of what the newest is asked about; who says more asks a question

FEW = 3  # Answers below which a question that may be about the asker is answered with preferences too (ZCLAW-14)

MAX_PATTERN_SECONDS = 2.0  # That a regular expression of the user's own may take, over all records

MIN_WIDTH = 8
_SHORT = 2  # Letters of a word that is marked only where it is alone
# A letter or digit of a script that puts spaces between words. Said in two sets, and without a case: patterns are made
# for each question, and one set of nearly all characters takes longer to compile than a search
_LETTER = "(?:(?=[\0-\u2e7f])[^\\W_])"
# How a needle is looked for: as the beginning of a word, as a whole word, or wherever it stands
_WIDENED, _ALONE, _ANYWHERE = "widened", "alone", "anywhere"
_MATCHES = 20  # So many matches decide where the window stands; a long text may have thousands


class SearchAnswer(NamedTuple):
    """A record that answers a query."""

    record: Record
    score: float  # The higher the better; comparable within one answer list only
    snippet: str  # The words around the first match, each match between « and »
    note: Message | str = ""  # That it supersedes another record found, or was found by meaning alone
    parts: Mapping[str, float] = {}  # What the score is made of: parts that are added, and factors ("×…")


class SearchResult(NamedTuple):
    """How a query was understood, and its answers."""

    intent: str
    strategy: str
    terms: tuple[tuple[str, int, float], ...]  # Term, the number of records it is in, and what it counts
    answers: list[SearchAnswer]
    ran: Message | str = ""  # Which ways of searching took part; "" where no words were looked for
    elsewhere: Message | str = ""  # How many records of scopes that were not asked match; "" where none does


def search_records(
    kb: Workspace,
    query: str,
    *,
    wanted: Filter = ALL,
    project: str = GLOBAL,
    limit: int = 10,
    index: Index | None = None,
) -> SearchResult:
    """Return at most *limit* records that answer *query*, best first, and how they were found.

    First those that the index finds with every term, then those in which a plain scan finds every term (parts of
    words), and where that is no answer yet, those with some of the terms. Without a query, all that are wanted.
    *index*: another than that of today.
    """
    asked = parse_query(one_line(query[:LONGEST]))
    if index is not None:
        return _search_index(kb, index, asked, wanted, project, limit)
    is_quick = index_sync.is_recently_scanned(kb)
    result = _search_index(kb, kb.sync_index(thorough=not is_quick), asked, wanted, project, limit)
    if is_quick and not all(kb.index.is_current(answer.record.path) for answer in result.answers):
        result = _search_index(kb, kb.sync_index(), asked, wanted, project, limit)
    own = _find_own_answers(kb, asked, result.intent) if wanted == ALL else []
    return result._replace(answers=[*own, *result.answers][:limit]) if own else result


def _find_own_answers(kb: Workspace, query: Query, intent: str) -> list[SearchAnswer]:
    """Return what the person's own base has on *query*, where it asks for them, or for a preference."""
    if intent not in (IDENTITY, PREFERENCE):
        return []
    found = []
    for record in list_own_records(kb):
        text = "\n".join((record.title, *(section.text for section in record.sections)))
        if intent == IDENTITY or any(term in fold_text(text) for term in query.subjects):
            found.append(SearchAnswer(record, 1.0, build_snippet(text, query).highlight_matches("«", "»")))
    return found


def search_by_pattern(
    kb: Workspace, pattern: re.Pattern[str], *, wanted: Filter = ALL, limit: int = 10
) -> list[SearchAnswer]:
    """Return at most *limit* live records in which *pattern* matches, the newest first.

    Title, tags, sections and USER block are looked at. Raise BadInput where that takes longer than
    MAX_PATTERN_SECONDS, as it may for `(a+)+$`.
    """
    index = kb.sync_index()
    found: list[SearchAnswer] = []
    with _limit_seconds(MAX_PATTERN_SECONDS, pattern.pattern):
        for hit in _list_newest(index, wanted):
            record = hit.record
            parts = [record.title, *record.tags, *(section.text for section in record.sections), record.user]
            text = "\n".join(filter(None, parts))
            if match := pattern.search(text):
                found.append(SearchAnswer(record, 0.0, _show_match(text, match).highlight_matches("«", "»")))
                if len(found) == limit:
                    break
    return found


def _show_match(text: str, match: re.Match[str], width: int = 100) -> Snippet:
    """Return the line of *text* where *match* begins, cut to *width* characters around it."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.start())
    line = text[start : end if end >= 0 else len(text)]
    at, stop = match.start() - start, min(match.end() - start, len(line))
    first = max(0, min(at - width // 4, len(line) - width))
    piece = line[first : first + width]
    spans = ((at - first, min(stop - first, len(piece))),) if stop > at else ()
    return Snippet(piece, spans)


@contextlib.contextmanager
def _limit_seconds(seconds: float, pattern: str) -> Iterator[None]:
    """Raise BadInput where what is done in the block with *pattern* takes longer than *seconds*.

    The matcher of Python asks for signals while it tries, so an alarm ends it. Only the main thread has one.
    """
    import signal  # a hook, which asks no regular expressions, starts without it

    def stop(*_: object) -> None:
        hint = msg("a repetition within a repetition, as in (a+)+, may take for ever: write it without")
        raise BadInput(msg("{pattern} takes longer than {n} seconds", pattern=pattern, n=seconds), hint=hint)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _search_index(kb: Workspace, index: Index, query: Query, wanted: Filter, project: str, limit: int) -> SearchResult:
    asked = detect_intent(query)
    strategy = asked.strategy
    if asked.intent == NAMED:
        query = name_spoken_record(query)
    found = RetrievedHits((), [])
    ran: Message | str = ""
    profile = wanted if wanted.kinds else wanted._replace(kinds=STRATEGIES[IDENTITY].kinds)
    best = _list_newest(index, profile)[:limit] if strategy.only else []
    if strategy.newest:
        best = _find_newest(kb, index, query, wanted, limit)
    elif not best and query.text.strip():
        found, ran = find_hits(kb, index, query, wanted, limit, load_synonyms(kb))
        uses = weigh_uses(index, [hit.record for hit in found.hits], kb.today)
        best = rank_hits(found.hits, query, scope=project, favoured=strategy.kinds, aging=strategy.recent, uses=uses)
        if kb.config.reranker != NO_MODEL:
            from kb.search.embedding import rerank_hits

            best, reranked = rerank_hits(kb, query.text, best)
            ran = msg("{ran}, {reranked}", ran=ran, reranked=reranked) if reranked else ran
        best = best[:limit]
        if asked.weak_identity and len(best) < FEW:
            known = {hit.record.path for hit in best}
            best += [hit for hit in _list_newest(index, profile) if hit.record.path not in known][: limit - len(best)]
    elif not best:
        best = _list_newest(index, wanted)[:limit]
    adding = wanted._replace(scopes=()) == ALL
    named = {hit.record.path for hit in best if is_named(hit.record, query, project)}
    answers = []
    for hit, note in insert_successors(index, best, adding=adding, named=named):
        record = hit.record
        text = "\n".join([*(section.text for section in record.sections), record.user]) or record.title
        if not note and hit.parts.get("meaning") and not hit.parts.get("terms"):
            note = msg("close in meaning; it has none of the words")
        snippet = build_snippet(text, query).highlight_matches("«", "»")
        answers.append(SearchAnswer(record, round(hit.score, 4), snippet, note, hit.parts))
    terms = tuple((term.term, term.frequency, term.worth / SCALE) for term in found.terms)
    elsewhere = count_elsewhere(index, query, wanted, project) if wanted.scopes else ""
    return SearchResult(asked.intent, strategy.name, terms, answers[:limit], ran, elsewhere)


def count_elsewhere(index: Index, query: Query, wanted: Filter, project: str) -> Message | str:
    """Return how many records of scopes that *wanted* leaves out hold every subject of *query*; "" where none does."""
    expression = " AND ".join(f'"{term}"' for term in query.subjects)
    found = index.postings.count_matches_by_scope(expression, wanted) if expression else {}
    if not found:
        return ""
    count, others = sum(found.values()), [*list(found)[:3], *(["…"] if len(found) > 3 else [])]
    mine = msg("this project")
    if len(wanted.scopes) > 1:
        # global first, as people say it; a project other than the caller's by its name
        asked: Message | list[str] = sorted(wanted.scopes)
        if set(wanted.scopes) == {GLOBAL, project}:
            asked = msg("global and this project")
        return msg(
            "{count} record of {scopes} matches; only {asked} were asked",
            "{count} records of {scopes} match; only {asked} were asked",
            count=count, scopes=others, asked=asked,
        )  # fmt: skip
    return msg(
        "{count} record of {scopes} matches; only {asked} was asked",
        "{count} records of {scopes} match; only {asked} was asked",
        count=count, scopes=others, asked=mine if wanted.scopes == (project,) != (GLOBAL,) else wanted.scopes[0],
    )  # fmt: skip


def _find_newest(kb: Workspace, index: Index, query: Query, wanted: Filter, limit: int) -> list[SearchHit]:
    """Return what answers *query*, which asks for the newest, the newest first; all of a kind where it says no more."""
    about, kinds, statuses = split_recent_query(query)
    wanted = wanted._replace(kinds=wanted.kinds or kinds, statuses=wanted.statuses or statuses)
    if not about.subjects:
        return _list_newest(index, wanted)[:limit]
    size = sum(0.5 if term >= FIRST_CJK else 1.0 for term in about.subjects)  # a bigram is half a word
    if size > LONGEST_TOPIC:  # “which tool shows me one request across all the apis” wants an answer, not what is new
        hits = find_hits(kb, index, query, wanted, limit, load_synonyms(kb))[0].hits
        return rank_hits(hits, query, aging=STRATEGIES[EXPERIENCE].recent)[:limit]
    found = rank_hits(find_hits(kb, index, about, wanted, limit, load_synonyms(kb))[0].hits, about)
    # What holds some of the words is an answer only where nothing holds them all
    whole = [hit for hit in found if hit.whole] or [hit for hit in found if hit.score >= found[0].score / 2]
    return sorted(whole, key=lambda hit: recency_key(hit.record), reverse=True)[:limit]


def find_hits(
    kb: Workspace, index: Index, query: Query, wanted: Filter, limit: int, groups: Sequence[SynonymGroup]
) -> tuple[RetrievedHits, Message]:
    """Return what words find, with the help of vectors where the settings name an embedder; and what took part."""
    if kb.config.embedder == NO_MODEL:
        return retrieve_hits(index, query, wanted, limit=limit, groups=groups), msg("lexical")
    from kb.search.embedding import SemanticQuery

    semantic = SemanticQuery(kb, index, query.text, wanted)
    found = retrieve_hits(index, query, wanted, limit=limit, groups=groups, meaning=semantic.semantic_source)
    return found, semantic.ran


def _list_newest(index: Index, wanted: Filter) -> list[SearchHit]:
    """Return the live records *wanted*, the newest first."""
    records = index.records(wanted._replace(statuses=wanted.statuses or tuple(LIVE)))
    return [SearchHit(record) for record in sorted(records, key=recency_key, reverse=True)]


def insert_successors(
    index: Index, hits: Sequence[SearchHit], *, adding: bool = True, named: Collection[str] = ()
) -> Iterator[tuple[SearchHit, Message | str]]:
    """Yield *hits* in their order, each once, a superseded one after its live successor of the same scope.

    With each comes a note, which says what it supersedes, or "". A successor that was not found is shown all the same
    where *adding* is true. The records whose paths are in *named* were asked for by their ids: they come before their
    successors.
    """
    given: set[str] = set()
    found = {hit.record.path: hit for hit in hits}
    for hit in hits:
        old = hit.record
        own: tuple[SearchHit, Message | str] = (hit, "")
        newer: list[tuple[SearchHit, Message | str]] = []
        for new, _ in index.find_referrers(old.id, "supersedes") if old.status == Status.SUPERSEDED else ():
            if new.scope == old.scope and new.status in LIVE and (adding or new.path in found):
                newer.append((found.get(new.path) or hit._replace(record=new), msg("it supersedes {id}", id=old.id)))
        for each, note in [own, *newer] if old.path in named else [*newer, own]:
            if each.record.path not in given:
                given.add(each.record.path)
                yield each, note


# -- snippets: the piece of a text that shows why it was found -----------------------------------


class Snippet(NamedTuple):
    """A piece of a text on one line, and where in it the question's words stand."""

    text: str
    matches: tuple[tuple[int, int], ...] = ()  # Start and end offsets in *text*, in order, not overlapping

    def highlight_matches(self, before: str, after: str) -> str:
        """Return the text with *before* and *after* around every match."""
        parts, at = [], 0
        for start, end in self.matches:
            parts += [self.text[at:start], before, self.text[start:end], after]
            at = end
        return "".join((*parts, self.text[at:]))


def build_snippet(text: str, query: Query, *, width: int = 100) -> Snippet:
    """Return the *width* characters of *text* around most words of *query*; its beginning where none is there.

    "…" at an end says that something is missing there; it counts towards *width*.
    """
    line = one_line(text)
    width = max(width, MIN_WIDTH)
    found = _find_matches(line, query)
    start = _find_window_start(found, width, len(line))
    end = min(start + width, len(line))
    head, tail = start > 0, end < len(line)
    piece = ("…" if head else "") + line[start + head : end - tail] + ("…" if tail else "")
    inside = tuple((s - start, e - start) for s, e in found if s >= start + head and e <= end - tail)
    return Snippet(piece, inside)


def _find_matches(line: str, query: Query) -> list[tuple[int, int]]:
    """Return where the terms of *query* are in *line*: its meaningful words as whole words, or else as it was asked.

    A function word is marked only where nothing else of the query is there. A word is marked whole: "pay" in
    "payments" marks "payments", and "i" marks nothing in "in".
    """
    asked = [*query.text.split(), *query.folded]
    telling = [word for word in asked if not is_function_word(word)]
    stems = [stem(word) for word in (*map(fold_text, telling), *query.subjects) if word.isascii()]
    inside = [word for word in telling if len(word) > _SHORT or word[:1] >= FIRST_CJK]
    for needles, ends in (
        (telling, _WIDENED),
        (query.subjects, _WIDENED),
        (stems, _WIDENED),
        (asked, _ALONE),
        (inside, _ANYWHERE),
    ):
        pattern = _build_pattern(tuple(needles), ends)
        found = [match.span() for match in islice(_iter_matches(pattern, needles, line), _MATCHES)] if pattern else []
        if found:
            return found
    return []


def _iter_matches(pattern: re.Pattern[str], needles: Iterable[str], line: str) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer(line)` does; *pattern*: as `_build_pattern` makes it of *needles*.

    In a line of ASCII it is tried only where a needle is: to find one takes a tenth of the time.
    """
    own = [needle for needle in needles if needle.isascii()]
    if not line.isascii() or any(needle.lower() != needle.upper() for needle in needles if not needle.isascii()):
        yield from pattern.finditer(line)  # some letters beyond ASCII are others in capitals: ſ is S
        return
    lower, end = line.lower(), 0
    for at in sorted({at for needle in own for at in _find_all(lower, needle.lower())}):
        if at >= end and (match := pattern.match(line, at)):
            end = match.end()
            yield match


def _find_all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


@lru_cache(maxsize=64)
def _build_pattern(needles: tuple[str, ...], ends: str) -> re.Pattern[str] | None:
    """Return the pattern for any of *needles*, the longest first so that a part does not hide the whole.

    A spaced word begins with a needle; beside CJK characters a word ends anyway. A needle of one or two letters is a
    word by itself: "is" does not mark "island".
    """
    parts = []
    for needle in sorted(dict.fromkeys(needles), key=lambda needle: (-len(needle), needle)):
        before = after = ""
        if ends != _ANYWHERE and re.match(_LETTER, needle):
            before = f"(?<!{_LETTER})"
        if ends != _ANYWHERE and re.match(_LETTER, needle[-1]):
            after = f"{_LETTER}*+" if ends == _WIDENED and len(needle) > _SHORT else f"(?!{_LETTER})"
        parts.append(f"{before}(?i:{re.escape(needle)}){after}")
    return re.compile("|".join(parts)) if parts else None


def _find_window_start(found: Sequence[tuple[int, int]], width: int, length: int) -> int:
    """Return where the window begins that holds most of the matches *found*, a quarter of it before the first."""
    if not found or length <= width:
        return 0
    first = max(found, key=lambda span: sum(span[0] <= s and e <= span[0] + width * 3 // 4 for s, e in found))[0]
    return max(0, min(first - width // 4, length - width))
