"""Ask the index, and reckon what speaks for each record it finds: from terms to hits with scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kb.index.database import Index
from kb.index.postings import Scored, Term
from kb.index.schema import ALL, Filter
from kb.records.model import Record
from kb.search import neighbour_boost, query_terms, score_fusion, spelling, synonyms
from kb.search import query as queries
from kb.search.proximity import closeness, grams, title_in
from kb.search.rank import Hit
from kb.search.synonyms import Group
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, folded

READ = 24
"""Records whose text is looked at; the others of those found keep the score of their terms."""

WORDS = 2
SENTENCE = 6
"""Below `WORDS` meaningful terms are a filter, from `SENTENCE` on they are a question."""

FEW = 3
"""Records that hold all that was asked and are no answer yet."""

MANY = 200
"""Records that hold all that was asked, from which on the full-text index takes too long to put them in order."""

TELLING = 8
"""Terms of a question whose closeness is measured."""

SYNONYM = 0.4
"""What a synonym counts beside the word that was asked."""

MISSPELLED = 0.7
"""What a word counts that is spelled like one that no record has."""

CLOSE_WEIGHT = 0.2
TITLE_WEIGHT = 0.3


class Meaning(NamedTuple):
    """What else than words can tell which records answer."""

    near: Callable[[], Mapping[int, float]]
    """Asked once, where some of the words are enough: the rows nearest in meaning, the higher the nearer."""
    share: float
    """Of the score, 0.0–1.0."""


class Found(NamedTuple):
    """What the index says to a question."""

    terms: tuple[Term, ...]
    hits: list[Hit]
    """Not in order yet."""


def found(
    index: Index,
    query: str,
    wanted: Filter = ALL,
    *,
    limit: int = 10,
    groups: Sequence[Group] = (),
    meaning: Meaning | None = None,
) -> Found:
    """Return the hits for *query*: those that hold all of it, and, where that is no answer yet, those that hold some.

    One word is a filter: what holds it is the answer. With more words, few records that happen to hold them
    all do not make the others wrong; and a sentence is a question. *meaning* may find what has none of the words.
    """
    said = len(queries.subjects(query))
    is_said = said >= SENTENCE or not query_terms.FUNCTION_EN.isdisjoint(folded(query).split())
    whole = all_of(index, query, wanted, limit, scanned=not is_said)
    if whole.hits and (said < WORDS or (said < SENTENCE and len(whole.hits) >= FEW)):
        return whole
    known = {hit.record.path for hit in whole.hits}
    some = some_of(index, query, wanted, limit, groups, meaning)
    return some._replace(hits=whole.hits + [hit for hit in some.hits if hit.record.path not in known])


def some_of(
    index: Index,
    query: str,
    wanted: Filter = ALL,
    limit: int = READ,
    groups: Sequence[Group] = (),
    meaning: Meaning | None = None,
) -> Found:
    """Return the records that hold some of what *query* asks for, or are near it in meaning, each with its score."""
    terms = known_terms(index, query, groups)
    rows = _sharing_words(index, query, terms, index.postings.best(terms, wanted))
    parts = {row.n: {"terms": row.score / (rows[0].score or 1)} for row in rows}
    if meaning and (near := meaning.near()):
        parts = score_fusion.fused({n: part["terms"] for n, part in parts.items()}, near, meaning.share)
    _add_kin(index, terms, parts)
    records = _read(index, query, terms, parts, wanted, max(limit, READ))
    return Found(tuple(terms), _hits(records, parts))


def _sharing_words(index: Index, query: str, terms: Sequence[Term], rows: Sequence[Scored]) -> Sequence[Scored]:
    """Return those of *rows* that hold a word of *query*, not only single characters of its unspaced words.

    A word that no record has is absent: 罚息 is not answered by a record for its 息 in 利息. Where single characters
    are all that was asked, they are words.
    """
    if all(map(_is_character, query_terms.asked(query))):
        return rows
    held = index.postings.holding([term for term in terms if not _is_character(term.term)], [row.n for row in rows])
    return [row for row in rows if row.n in held]


def _is_character(term: str) -> bool:
    return len(term) == 1 and term >= FIRST_CJK


def known_terms(index: Index, query: str, groups: Sequence[Group] = ()) -> list[Term]:
    """Return the terms that are to rank what answers *query*: its own, their synonyms, and for unknown words others."""
    own = query_terms.asked(query)
    wider = {term: SYNONYM for term in synonyms.others(query, groups) if term not in own}
    known = index.postings.known({**own, **wider})
    there = {term.term for term in known}
    for term in (term for term in own if term not in there and spelling.slips(term)):
        meant = spelling.nearest(term, index.postings.spelled_like(term, spelling.slips(term)))
        known += index.postings.known({other: MISSPELLED * own[term] for other in meant if other not in there})[:1]
    return sorted(known, key=lambda term: (-term.worth, term.term))


def all_of(index: Index, query: str, wanted: Filter, limit: int, *, scanned: bool = True) -> Found:
    """Return the records that hold all of *query*: by the index, and, where those are few, *scanned* for it."""
    terms = index.postings.known(query_terms.asked(query))
    rows = _matching(index, queries.match_expression(query), terms, wanted, 3 * limit)
    if scanned and len(rows) < limit:
        rows += [n for n in index.containing(folded(query).split(), wanted, 3 * limit) if n not in rows]
    scores = index.postings.weighed(terms, rows)
    most = max(scores.values(), default=0) or 1
    parts = {n: {"order": 0.1 / (1 + at), "terms": scores.get(n, 0) / most} for at, n in enumerate(rows)}
    records = _read(index, query, terms, parts, wanted, len(rows))
    return Found(tuple(terms), [hit._replace(whole=True) for hit in _hits(records, parts)])


def _matching(index: Index, expression: str, terms: Sequence[Term], wanted: Filter, limit: int) -> list[int]:
    """Return the best rows that the full-text *expression* finds; of very many, the best that hold all *terms*."""
    matches = index.matches(expression, MANY)
    if matches == MANY:
        best = [row.n for row in index.postings.best(terms, wanted)]
        for among in (best[: 2 * limit], best):
            held = index.postings.holding(terms, among)
            whole = [n for n in among if len(held.get(n, ())) == len(terms)]
            if len(whole) >= limit:
                return whole[:limit]
    return index.matching(expression, wanted, limit) if matches else []


def _add_kin(index: Index, terms: Sequence[Term], parts: dict[int, dict[str, float]]) -> None:
    """Add what records of one source lend each other."""
    relatives = index.postings.relatives(parts)
    if not relatives:
        return
    held = {n: [term.term for term in said] for n, said in index.postings.holding(terms, parts).items()}
    scores = {n: sum(part.values()) for n, part in parts.items()}
    for n, (beside, together) in neighbour_boost.lent(scores, relatives, held).items():
        parts.setdefault(n, {}).update(beside=beside, source=together)


def _read(
    index: Index, query: str, terms: Sequence[Term], parts: Mapping[int, dict[str, float]], wanted: Filter, read: int
) -> dict[int, Record]:
    """Return the records of the best *read* rows of *parts*, to which is added what their texts say."""
    worth = {term.term: float(term.worth) for term in terms[:TELLING]}
    about, is_row = grams(query), len(query.split()) > 1 or len(terms) > TELLING
    records = index.at(_best(parts, read), wanted)
    for n, record in records.items():
        if is_row:
            text = folded("\n".join(section.text for section in record.sections))
            parts[n]["close"] = CLOSE_WEIGHT * closeness(text, worth)
        parts[n]["title"] = TITLE_WEIGHT * title_in(record.title, about)
    return records


def _best(parts: Mapping[int, dict[str, float]], read: int) -> list[int]:
    """Return the best *read* rows of *parts*, and those as good as the last."""
    sums = {n: sum(part.values()) for n, part in parts.items()}
    least = sorted(sums.values(), reverse=True)[:read][-1:]
    return [n for n, much in sums.items() if much >= least[0]]


def _hits(records: Mapping[int, Record], parts: Mapping[int, dict[str, float]]) -> list[Hit]:
    return [Hit(record, sum(parts[n].values()), parts=parts[n]) for n, record in records.items()]
