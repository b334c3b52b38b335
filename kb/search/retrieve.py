"""Ask the index, and reckon what speaks for each record it finds: from terms to hits with scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from kb.index.database import Index
from kb.index.postings import ScoredRow, WeightedTerm
from kb.index.schema import ALL, Filter
from kb.records.model import Record
from kb.search import query as queries
from kb.search import query_terms, retrieve, spelling, synonyms
from kb.search.rank import SearchHit
from kb.search.synonyms import SynonymGroup
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, fold_text, iter_runs

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


class SemanticSource(NamedTuple):
    """What else than words can tell which records answer."""

    near: Callable[[], Mapping[int, float]]
    """Asked once, where some of the words are enough: the rows nearest in meaning, the higher the nearer."""
    share: float
    """Of the score, 0.0–1.0."""


class RetrievedHits(NamedTuple):
    """What the index says to a question."""

    terms: tuple[WeightedTerm, ...]
    hits: list[SearchHit]
    """Not in order yet."""


def retrieve_hits(
    index: Index,
    query: str,
    wanted: Filter = ALL,
    *,
    limit: int = 10,
    groups: Sequence[SynonymGroup] = (),
    meaning: SemanticSource | None = None,
) -> RetrievedHits:
    """Return the hits for *query*: those that hold all of it, and, where that is no answer yet, those that hold some.

    One word is a filter: what holds it is the answer. With more words, few records that happen to hold them
    all do not make the others wrong; and a sentence is a question. *meaning* may find what has none of the words.
    """
    said = len(queries.extract_subjects(query))
    is_said = said >= SENTENCE or not query_terms.FUNCTION_EN.isdisjoint(fold_text(query).split())
    whole = retrieve_matching_all(index, query, wanted, limit, scanned=not is_said)
    if whole.hits and (said < WORDS or (said < SENTENCE and len(whole.hits) >= FEW)):
        return whole
    known = {hit.record.path for hit in whole.hits}
    some = retrieve_matching_any(index, query, wanted, limit, groups, meaning)
    return some._replace(hits=whole.hits + [hit for hit in some.hits if hit.record.path not in known])


def retrieve_matching_any(
    index: Index,
    query: str,
    wanted: Filter = ALL,
    limit: int = READ,
    groups: Sequence[SynonymGroup] = (),
    meaning: SemanticSource | None = None,
) -> RetrievedHits:
    """Return the records that hold some of what *query* asks for, or are near it in meaning, each with its score."""
    terms = expand_query_terms(index, query, groups)
    rows = _keep_word_matches(index, query, terms, index.postings.rank_rows(terms, wanted))
    parts = {row.n: {"terms": row.score / (rows[0].score or 1)} for row in rows}
    if meaning and (near := meaning.near()):
        parts = retrieve.fuse_scores({n: part["terms"] for n, part in parts.items()}, near, meaning.share)
    _add_neighbour_boost(index, terms, parts)
    records = _load_scored_records(index, query, terms, parts, wanted, max(limit, READ))
    return RetrievedHits(tuple(terms), _build_hits(records, parts))


def _keep_word_matches(
    index: Index, query: str, terms: Sequence[WeightedTerm], rows: Sequence[ScoredRow]
) -> Sequence[ScoredRow]:
    """Return those of *rows* that hold a word of *query*, not only single characters of its unspaced words.

    A word that no record has is absent: 罚息 is not answered by a record for its 息 in 利息. Where single characters
    are all that was asked, they are words.
    """
    if all(map(_is_cjk_character, query_terms.weigh_query_terms(query))):
        return rows
    held = index.postings.find_held_terms(
        [term for term in terms if not _is_cjk_character(term.term)], [row.n for row in rows]
    )
    return [row for row in rows if row.n in held]


def _is_cjk_character(term: str) -> bool:
    return len(term) == 1 and term >= FIRST_CJK


def expand_query_terms(index: Index, query: str, groups: Sequence[SynonymGroup] = ()) -> list[WeightedTerm]:
    """Return the terms that are to rank what answers *query*: its own, their synonyms, and for unknown words others."""
    own = query_terms.weigh_query_terms(query)
    wider = {term: SYNONYM for term in synonyms.iter_synonym_terms(query, groups) if term not in own}
    known = index.postings.find_known_terms({**own, **wider})
    there = {term.term for term in known}
    for term in (term for term in own if term not in there and spelling.count_allowed_typos(term)):
        meant = spelling.find_nearest_words(
            term, index.postings.find_similar_words(term, spelling.count_allowed_typos(term))
        )
        known += index.postings.find_known_terms(
            {other: MISSPELLED * own[term] for other in meant if other not in there}
        )[:1]
    return sorted(known, key=lambda term: (-term.worth, term.term))


def retrieve_matching_all(
    index: Index, query: str, wanted: Filter, limit: int, *, scanned: bool = True
) -> RetrievedHits:
    """Return the records that hold all of *query*: by the index, and, where those are few, *scanned* for it."""
    terms = index.postings.find_known_terms(query_terms.weigh_query_terms(query))
    rows = _match_rows(index, queries.build_match_expression(query), terms, wanted, 3 * limit)
    if scanned and len(rows) < limit:
        rows += [n for n in index.find_containing_rows(fold_text(query).split(), wanted, 3 * limit) if n not in rows]
    scores = index.postings.score_rows(terms, rows)
    most = max(scores.values(), default=0) or 1
    parts = {n: {"order": 0.1 / (1 + at), "terms": scores.get(n, 0) / most} for at, n in enumerate(rows)}
    records = _load_scored_records(index, query, terms, parts, wanted, len(rows))
    return RetrievedHits(tuple(terms), [hit._replace(whole=True) for hit in _build_hits(records, parts)])


def _match_rows(index: Index, expression: str, terms: Sequence[WeightedTerm], wanted: Filter, limit: int) -> list[int]:
    """Return the best rows that the full-text *expression* finds; of very many, the best that hold all *terms*."""
    matches = index.count_matches(expression, MANY)
    if matches == MANY:
        best = [row.n for row in index.postings.rank_rows(terms, wanted)]
        for among in (best[: 2 * limit], best):
            held = index.postings.find_held_terms(terms, among)
            whole = [n for n in among if len(held.get(n, ())) == len(terms)]
            if len(whole) >= limit:
                return whole[:limit]
    return index.find_matching_rows(expression, wanted, limit) if matches else []


def _add_neighbour_boost(index: Index, terms: Sequence[WeightedTerm], parts: dict[int, dict[str, float]]) -> None:
    """Add what records of one source lend each other."""
    relatives = index.postings.find_source_groups(parts)
    if not relatives:
        return
    held = {n: [term.term for term in said] for n, said in index.postings.find_held_terms(terms, parts).items()}
    scores = {n: sum(part.values()) for n, part in parts.items()}
    for n, (beside, together) in retrieve.boost_neighbours(scores, relatives, held).items():
        parts.setdefault(n, {}).update(beside=beside, source=together)


def _load_scored_records(
    index: Index,
    query: str,
    terms: Sequence[WeightedTerm],
    parts: Mapping[int, dict[str, float]],
    wanted: Filter,
    read: int,
) -> dict[int, Record]:
    """Return the records of the best *read* rows of *parts*, to which is added what their texts say."""
    worth = {term.term: float(term.worth) for term in terms[:TELLING]}
    about, is_row = extract_ngrams(query), len(query.split()) > 1 or len(terms) > TELLING
    records = index.load_rows(_select_best_rows(parts, read), wanted)
    for n, record in records.items():
        if is_row:
            text = fold_text("\n".join(section.text for section in record.sections))
            parts[n]["close"] = CLOSE_WEIGHT * score_proximity(text, worth)
        parts[n]["title"] = TITLE_WEIGHT * score_title_overlap(record.title, about)
    return records


def _select_best_rows(parts: Mapping[int, dict[str, float]], read: int) -> list[int]:
    """Return the best *read* rows of *parts*, and those as good as the last."""
    sums = {n: sum(part.values()) for n, part in parts.items()}
    least = sorted(sums.values(), reverse=True)[:read][-1:]
    return [n for n, much in sums.items() if much >= least[0]]


def _build_hits(records: Mapping[int, Record], parts: Mapping[int, dict[str, float]]) -> list[SearchHit]:
    return [SearchHit(record, sum(parts[n].values()), parts=parts[n]) for n, record in records.items()]


WIDTH = 60
"""Characters within which words say one thing together: half a sentence of English, two of Chinese."""

_OFTEN = 8
"""Places of one word that are looked at."""

_GRAMS = (3, 4)


def score_proximity(text: str, worth: Mapping[str, float]) -> float:
    """Return the largest share of *worth* whose terms stand within `WIDTH` characters of the folded *text*, 0.0–1.0."""
    places = sorted((at, term) for term in worth for at in _find_offsets(text, term))
    inside: Counter[str] = Counter()
    best = now = 0.0
    first = 0
    for at, term in places:
        now += 0.0 if inside[term] else worth[term]
        inside[term] += 1
        while at - places[first][0] > WIDTH:
            left = places[first][1]
            inside[left] -= 1
            now -= 0.0 if inside[left] else worth[left]
            first += 1
        best = max(best, now)
    return best / (sum(worth.values()) or 1.0)


def _find_offsets(text: str, term: str) -> list[int]:
    """Return where words that begin with *term* stand in *text*; for a CJK term, wherever it stands."""
    found: list[int] = []
    at = text.find(term)
    while at >= 0 and len(found) < _OFTEN:
        if term >= FIRST_CJK or not at or not text[at - 1].isalnum():
            found.append(at)
        at = text.find(term, at + 1)
    return found


def extract_ngrams(text: str) -> frozenset[str]:
    """Return the pieces of three and four characters of the words of *text*, their ends marked."""
    words = [f" {run} " for run, _ in iter_runs(fold_text(text))]
    return frozenset(word[i : i + size] for word in words for size in _GRAMS for i in range(len(word) - size + 1))


def score_title_overlap(title: str, asked: frozenset[str]) -> float:
    """Return which share of the `extract_ngrams` of *title* are among those *asked*, 0.0–1.0."""
    own = extract_ngrams(title)
    return len(own & asked) / len(own) if own else 0.0


Group = tuple[int, ...]

BESIDE = 0.5
"""What the better one of the two beside a record adds to it, as a share of its own score."""

TOGETHER = 0.7
"""What the best source adds to its records; the weakest adds nothing."""

_SOON = 0.9
"""How soon a source that says a term again and again says no more by it (the k1 of BM25)."""


def boost_neighbours(
    scores: Mapping[int, float], relatives: Mapping[int, Group], held: Mapping[int, Sequence[str]]
) -> dict[int, tuple[float, float]]:
    """Return what their neighbours and their whole source add to the *relatives* of the rows in *scores* (0.0–1.0).

    A row without a score of its own is among them where it stands beside one that has one.
    *held* tells which terms of the question stand in a row.
    """
    strength = _score_groups(sorted(set(relatives.values())), held)
    least, most = min(strength.values(), default=0.0), max(strength.values(), default=0.0)
    added: dict[int, tuple[float, float]] = {}
    for rows, strong in strength.items():
        together = TOGETHER * (strong - least) / (most - least) if most > least else 0.0
        for at, n in enumerate(rows):
            beside = max(scores.get(other, 0.0) for other in (*rows[max(at - 1, 0) : at], *rows[at + 1 : at + 2]))
            if n in scores or beside:
                added[n] = (BESIDE * beside, together)
    return added


def _score_groups(groups: Iterable[Group], held: Mapping[int, Sequence[str]]) -> dict[Group, float]:
    """Return how well each group as a whole answers: BM25 over groups, a row that holds a term being one occurrence."""
    counts = {rows: Counter(term for n in rows for term in held.get(n, ())) for rows in groups}
    spread = Counter(term for count in counts.values() for term in count)
    rare = {term: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for term, n in spread.items()}
    return {
        rows: sum(rare[term] * times / (times + _SOON) for term, times in sorted(count.items()))
        for rows, count in counts.items()
    }


TOP = 100
"""Records of each way that count: the scores of the others tell nothing."""


def fuse_scores(words: Mapping[int, float], meaning: Mapping[int, float], share: float) -> dict[int, dict[str, float]]:
    """Return what *words* and *meaning* add to the score of each row that either finds; *meaning* has the *share*.

    A row that one of them does not find among its best gets nothing from it.
    """
    by_words, by_meaning = _normalise_scores(words), _normalise_scores(meaning)
    return {
        n: {"terms": (1 - share) * by_words.get(n, 0.0), "meaning": share * by_meaning.get(n, 0.0)}
        for n in dict.fromkeys([*by_words, *by_meaning])
    }


def _normalise_scores(scores: Mapping[int, float]) -> dict[int, float]:
    """Return the best `TOP` of *scores*, from 1.0 for the best to 0.0 for the last."""
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    if not best:
        return {}
    most, least = best[0][1], best[-1][1]
    return {n: (score - least) / (most - least) if most > least else 1.0 for n, score in best}
