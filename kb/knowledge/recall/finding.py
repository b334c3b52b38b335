"""Ask the index, and reckon what speaks for each record it finds: from terms to hits with scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kb.reading import asking, kin, synonyms, typos
from kb.reading import query as queries
from kb.reading.closeness import closeness, grams, title_in
from kb.reading.rank import Hit
from kb.reading.synonyms import Group
from kb.store.index import Index
from kb.store.postings import Term
from kb.store.rows import ALL, Filter
from kb.text import folded
from kb.values import NamedTuple

READ = 24
"""Records whose text is looked at; the others of those found keep the score of their terms."""

WORDS = 2
SENTENCE = 6
"""Below `WORDS` meaningful terms are a filter, from `SENTENCE` on they are a question."""

FEW = 3
"""Records that hold all that was asked and are no answer yet."""

TELLING = 8
"""Terms of a question whose closeness is measured."""

SYNONYM = 0.4
"""What a synonym counts beside the word that was asked."""

MISSPELLED = 0.7
"""What a word counts that is spelled like one that no record has."""

CLOSE_WEIGHT = 0.2
TITLE_WEIGHT = 0.3


class Found(NamedTuple):
    """What the index says to a question."""

    terms: tuple[Term, ...]
    hits: list[Hit]
    """Not in order yet."""


def found(index: Index, query: str, wanted: Filter = ALL, *, limit: int = 10, groups: Sequence[Group] = ()) -> Found:
    """Return the hits for *query*: those that hold all of it, and, where that is no answer yet, those that hold some.

    One word is a filter: what holds it is the answer. With more words, few records that happen to hold them
    all do not make the others wrong; and a sentence is a question.
    """
    whole = all_of(index, query, wanted, limit)
    said = len(queries.subjects(query))
    if whole.hits and (said < WORDS or (said < SENTENCE and len(whole.hits) >= FEW)):
        return whole
    known = {hit.record.path for hit in whole.hits}
    some = some_of(index, query, wanted, limit, groups)
    return some._replace(hits=whole.hits + [hit for hit in some.hits if hit.record.path not in known])


def some_of(index: Index, query: str, wanted: Filter = ALL, limit: int = READ, groups: Sequence[Group] = ()) -> Found:
    """Return the records that hold some of what *query* asks for, each with its score."""
    terms = known_terms(index, query, groups)
    rows = index.postings.best(terms, wanted)
    if not rows:
        return Found(tuple(terms), [])
    parts = {row.n: {"terms": row.score / (rows[0].score or 1)} for row in rows}
    _add_kin(index, terms, parts)
    return Found(tuple(terms), _hits(index, query, terms, parts, wanted, max(limit, READ)))


def known_terms(index: Index, query: str, groups: Sequence[Group] = ()) -> list[Term]:
    """Return the terms that are to rank what answers *query*: its own, their synonyms, and for unknown words others."""
    own = asking.asked(query)
    wider = {term: SYNONYM for term in synonyms.others(query, groups) if term not in own}
    known = index.postings.known({**own, **wider})
    there = {term.term for term in known}
    for term in (term for term in own if term not in there and typos.slips(term)):
        meant = typos.nearest(term, index.postings.spelled_like(term, typos.slips(term)))
        known += index.postings.known({other: MISSPELLED * own[term] for other in meant if other not in there})[:1]
    return sorted(known, key=lambda term: (-term.worth, term.term))


def all_of(index: Index, query: str, wanted: Filter, limit: int) -> Found:
    """Return the records that hold all of *query*: by the index, and, where those are few, by the plain scan."""
    rows = index.matching(queries.match_expression(query), wanted, 3 * limit)
    if len(rows) < limit:
        rows += [n for n in index.containing(folded(query).split(), wanted, 3 * limit) if n not in rows]
    terms = index.postings.known(asking.asked(query))
    scores = index.postings.weighed(terms, rows)
    most = max(scores.values(), default=0) or 1
    parts = {n: {"order": 0.1 / (1 + at), "terms": scores.get(n, 0) / most} for at, n in enumerate(rows)}
    hits = _hits(index, query, terms, parts, wanted, len(rows))
    return Found(tuple(terms), [hit._replace(whole=True) for hit in hits])


def _add_kin(index: Index, terms: Sequence[Term], parts: dict[int, dict[str, float]]) -> None:
    """Add what records of one source lend each other."""
    relatives = index.postings.relatives(parts)
    if not relatives:
        return
    held = {n: [term.term for term in said] for n, said in index.postings.holding(terms, parts).items()}
    scores = {n: part["terms"] for n, part in parts.items()}
    for n, (beside, together) in kin.lent(scores, relatives, held).items():
        parts.setdefault(n, {}).update(beside=beside, source=together)


def _hits(
    index: Index, query: str, terms: Sequence[Term], parts: Mapping[int, dict[str, float]], wanted: Filter, read: int
) -> list[Hit]:
    """Return the best *read* rows of *parts*, and those as good as the last, as hits with what their texts add."""
    sums = {n: sum(part.values()) for n, part in parts.items()}
    least = sorted(sums.values(), reverse=True)[: max(read, 1)][-1:]
    best = [n for n, much in sums.items() if much >= least[0]]
    worth = {term.term: float(term.worth) for term in terms[:TELLING]}
    about, is_row = grams(query), len(query.split()) > 1 or len(terms) > TELLING
    hits = []
    for n, record in index.at(best, wanted).items():
        part = parts[n]
        if is_row:
            part["close"] = CLOSE_WEIGHT * closeness(
                folded("\n".join(section.text for section in record.sections)), worth
            )
        part["title"] = TITLE_WEIGHT * title_in(record.title, about)
        hits.append(Hit(record, sum(part.values()), parts=part))
    return hits
