"""Rank the rows of all readable repositories by the terms of a question, and count its phrases.

The score of a row is the sum of weight times worth over its terms. It is computed for every row with a term: lists are
arrays, adding a list is adding arrays, and a million records fit into a few megabytes. Pruning rows that cannot win
(threshold algorithm of Fagin, Lotem and Naor) took three times as long, because common words overlap.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb.index.postings import hash_term
from kb.organisation.hub_engine import ANY, EVERY, Reader
from kb.organisation.hub_lists import AllRows, Keys, TermList, build_term_list, find_bucket, join_packed
from kb.text.segment import stem

MAX_LOADED = 3_000_000
"""Postings that one question may read: about fifteen of the commonest words of a million records."""
_NO_LIMIT = 1 << 62
_FEW = 20_000
"""Up to this many rows, look up each row in the lists; for more, going through the lists is faster."""
_SAMPLED = 16_384
"""Rows in the sample from which the score of the best rows is estimated."""
_MARGIN = 8
"""Additional rows of the sample that must reach the estimated score, beyond their share of the wanted rows."""
_MOST_32_BITS = 2**31 - 1

_NO_WEIGHTS = np.empty(0, np.uint16)

Scores = NDArray[np.int32] | NDArray[np.int64]


class RankedRow(NamedTuple):
    """A row, its score, and the number of its terms."""

    key: int
    score: int
    held: int
    telling: int
    """The number of its distinctive terms, of which a row needs one."""


class Ranking(NamedTuple):
    """The best rows."""

    rows: list[RankedRow]
    """The best first; of equal ones by the name of the repository, then by their number."""
    is_exact: bool


def rank_rows(
    keys: Keys,
    lists: Mapping[int, TermList],
    worths: Mapping[int, int],
    limit: int,
    telling: Collection[int] = (),
    allowed: NDArray[np.bool_] | None = None,
) -> Ranking:
    """Return the *limit* best rows; *worths*: term → score of one unit of weight.

    *keys*: all rows. *telling*: the terms that `RankedRow.telling` counts. *allowed*: mask of the rows to rank.
    """
    terms = [term for term, worth in worths.items() if worth > 0 and lists[term].records]
    is_exact = all(len(lists[term].places) for term in terms)
    asked = [(lists[term], worths[term]) for term in terms]
    among = None if allowed is None else np.flatnonzero(allowed).astype(np.int32)
    if not terms or limit < 1 or not len(keys if among is None else among):
        return Ranking([], is_exact)
    if among is not None and len(among) <= _FEW:
        scores = _score_few(among, asked)
        chosen = _select_best(scores, limit)
        best, points = among[chosen], scores[chosen]
    else:
        scores = _add_up(len(keys), asked)
        if allowed is not None:
            scores *= allowed
        best = _select_best(scores, limit).astype(np.int32)
        points = scores[best]
    counts, telling_counts = np.zeros(len(best), np.int64), np.zeros(len(best), np.int64)
    for term in terms:
        _, is_held = _find_in_list(lists[term], best)
        counts += is_held
        telling_counts += is_held & (term in telling)
    columns = (keys[best], points, counts, telling_counts)
    return Ranking([RankedRow(*row) for row in zip(*(column.tolist() for column in columns), strict=True)], is_exact)


def _add_up(rows: int, lists: Collection[tuple[TermList, int]]) -> Scores:
    """Return the scores of all *rows* rows."""
    scores = _make_scores(rows, lists)
    for one, worth in lists:
        np.add.at(scores, one.places, np.multiply(one.weights, worth, dtype=scores.dtype))  # three times as fast as +=
    return scores


def _score_few(places: NDArray[np.int32], lists: Collection[tuple[TermList, int]]) -> Scores:
    """Return the score of the row at each of *places*, which are ascending."""
    scores = _make_scores(len(places), lists)
    for one, worth in lists:
        found, held = _find_in_list(one, places)
        scores[held] += np.multiply(one.weights[found[held]], worth, dtype=scores.dtype)
    return scores


def _make_scores(rows: int, lists: Collection[tuple[TermList, int]]) -> Scores:
    """Return zero scores for *rows* rows, of a type wide enough for the sums of *lists*."""
    most = sum(1024 * worth for _, worth in lists)
    return np.zeros(rows, np.int32) if most <= _MOST_32_BITS else np.zeros(rows, np.int64)


def _find_in_list(one: TermList, places: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each of *places* its index in the list, and whether it is in the list."""
    if not len(one.places):
        return np.zeros(len(places), np.int64), np.zeros(len(places), np.bool_)
    indices = np.searchsorted(one.places, places)
    indices[indices == len(one.places)] = 0
    held: NDArray[np.bool_] = one.places[indices] == places
    return indices, held


def _select_best(scores: Scores, limit: int) -> NDArray[np.int64]:
    """Return the indices of the *limit* highest positive *scores*, the highest first, equal ones by index."""
    step = max(1, len(scores) // _SAMPLED)
    sample = scores[::step]
    rank = min(limit // step + _MARGIN + (step == 1) * limit, len(sample))
    guess = max(1, int(np.sort(sample)[len(sample) - rank]))  # numpy sorts faster than it selects
    places = np.flatnonzero(scores >= guess)
    if len(places) < limit and guess > 1:
        places = np.flatnonzero(scores)
    candidates = scores[places]
    if len(places) > limit:
        # of the scores equal to the last one, only the first by index
        least = np.sort(candidates)[len(candidates) - limit]
        above = np.flatnonzero(candidates > least)
        chosen = np.concatenate([above, np.flatnonzero(candidates == least)[: limit - len(above)]])
        places, candidates = places[chosen], candidates[chosen]
    return places[np.lexsort((places, -candidates.astype(np.int64)))]


# -- phrases: what a full-text index finds and how it puts it in order ------------------------------

COLUMN_WEIGHTS = (8.0, 3.0, 1.0)
"""Weights of title, tags and body, as in `Index.find_matching_rows`."""
_PHRASE = re.compile(r'"([^"]*)"(\*?)')


class AskedPhrase(NamedTuple):
    """A phrase of a `build_match_expression`, matched by word stems without a full-text index."""

    stems: tuple[str, ...]
    beginning: str
    """A prefix that the last word may have instead, or ""."""


_stem = lru_cache(maxsize=1 << 14)(stem)


def parse_phrases(expression: str) -> list[AskedPhrase]:
    """Return the phrases of *expression*, all of which a record must contain."""
    phrases = ((phrase.split(), star) for phrase, star in _PHRASE.findall(expression))
    return [AskedPhrase(tuple(map(stem, words)), words[-1] if star else "") for words, star in phrases]


def count_phrases(phrases: Iterable[AskedPhrase], columns: Sequence[str]) -> list[tuple[int, ...]] | None:
    """Return for each of *phrases* its count in each of *columns*, or None if a phrase is in no column.

    *columns*: those of `extract_words`, with one space before, after and between their terms.
    """
    phrase_counts = []
    for phrase in phrases:
        counts = tuple(_count_phrase(column, phrase) for column in columns)
        if not any(counts):
            return None
        phrase_counts.append(counts)
    return phrase_counts


def _count_phrase(column: str, phrase: AskedPhrase) -> int:
    """Return how often *column* contains *phrase*, with adjacent words."""
    stems, beginning = phrase
    count, first = 0, f" {stems[0]}"
    at = column.find(first)
    while at >= 0:  # a word begins with its stem, so most words of a text need no check
        count += _has_phrase_at(column, at + 1, stems, beginning)
        at = column.find(first, at + 1)
    return count


def _has_phrase_at(column: str, start: int, stems: Sequence[str], beginning: str) -> bool:
    """Return whether the words of *column* from *start* on have *stems*; the last may also begin with *beginning*."""
    last = len(stems) - 1
    for at, wanted in enumerate(stems):
        end = column.find(" ", start)
        word = column[start:end]
        if _stem(word) != wanted and not (beginning and at == last and word.startswith(beginning)):
            return False
        start = end + 1
    return True


def score_phrases(counts: Sequence[Sequence[int]], rarities: Sequence[float], length: int, usual: float) -> float:
    """Return the score of a record from its `count_phrases`, as in the full-text index: BM25 over columns.

    *length*: the terms in all its columns; *usual*: those of an average record.
    """
    score = 0.0
    for each, rarity in zip(counts, rarities, strict=True):
        often = sum(weight * count for weight, count in zip(COLUMN_WEIGHTS, each, strict=True))
        score += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / (usual or 1)))
    return score


# -- lists --------------------------------------------------------------------------------------------


def load_all_rows(reader: Reader) -> AllRows:
    """Return all rows of the readable repositories."""
    rows = reader.cache.find_rows(reader.version)
    if rows is None:
        every = hash_term(EVERY)
        slots = reader.read_slots([find_bucket(every), every])
        rows = AllRows(*join_packed(every, slots.get(find_bucket(every), ()), slots.get(every, ())))
        reader.cache.keep_rows(reader.version, rows)
    return rows


def load_lists(reader: Reader, terms: Collection[int], most: int = MAX_LOADED) -> dict[int, TermList]:
    """Return the list of each of *terms*.

    The shortest are read first, up to *most* postings in all; the others are returned without places.
    """
    lists = reader.cache.find_lists(reader.version, terms)
    missing = [term for term in terms if term not in lists]
    if not missing:
        return lists
    keys = load_all_rows(reader).keys
    counts, shared = reader.read_heads(missing)
    remaining = most - sum(one.records for one in lists.values())
    read: list[int] = []
    for term, count in sorted(counts.items(), key=lambda item: item[1]):
        remaining -= count
        if remaining < 0:
            break
        read.append(term)
    own = reader.read_slots(read) if read else {}
    new = {
        term: build_term_list(keys, term, shared.get(find_bucket(term), ()), own.get(term, ()))
        for term in missing
        if term not in counts or term in own
    }
    reader.cache.keep(reader.version, new)
    nothing = build_term_list(keys, 0, (), ())
    return lists | new | {term: nothing._replace(records=counts[term]) for term in counts if term not in own}


def load_union(reader: Reader, terms: Sequence[str], most: int) -> TermList | None:
    """Return the rows that contain any of *terms*, or None if these have more than *most* postings together.

    The other terms must follow from the first one. `records` counts postings here, and there are no weights.
    """
    number = hash_term(terms[0] if len(terms) == 1 else f"{ANY}{terms[0]}")
    union = reader.cache.find_lists(reader.version, [number]).get(number)
    if union is None:
        numbers = {hash_term(term) for term in terms}
        lists = load_lists(reader, numbers, most)
        if any(one.records and not len(one.places) for one in lists.values()):
            return None
        if len(terms) == 1:
            union = lists[number]
        else:
            holds = np.zeros(len(load_all_rows(reader).keys), np.bool_)
            for one in lists.values():
                holds[one.places] = True
            places = np.flatnonzero(holds).astype(np.int32)
            union = TermList(places, _NO_WEIGHTS, sum(one.records for one in lists.values()))
            reader.cache.keep(reader.version, {number: union})
    return union if union.records <= most else None


def load_term_keys(reader: Reader, terms: Collection[int]) -> Keys:
    """Return the rows that contain one of *terms*, ascending."""
    keys: Keys = load_all_rows(reader).keys[find_holding(reader, terms)]
    return keys


def find_holding(reader: Reader, terms: Collection[int]) -> NDArray[np.bool_]:
    """Return the mask of the rows that contain one of *terms*."""
    holds = np.zeros(len(load_all_rows(reader).keys), np.bool_)
    for one in load_lists(reader, terms, _NO_LIMIT).values():
        holds[one.places] = True
    return holds
