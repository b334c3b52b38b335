"""Find the rows of all readable repositories for which the terms of a question speak most.

The score of a row is the sum of weight times worth over the terms it holds. It is computed for every row that holds
one: a list is an array, to add one is to add an array to another, and a million records have room in a few megabytes.
To leave out what cannot win, layer by layer (Fagin, Lotem and Naor), took three times as long: common words overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb.index.postings import hash_term
from kb.organisation.hub_engine import EVERY, Reader
from kb.organisation.hub_lists import AllRows, Keys, TermList, build_term_list, find_bucket, join_packed

_MAX_LOADED = 3_000_000
"""Postings that one question may read: of a million records some fifteen of the commonest words."""
_NO_LIMIT = 1 << 62
_SAMPLED = 16_384
"""Rows from whose scores it is guessed how many points the best ones have."""
_MARGIN = 8
"""Rows of the sample that are to have as many points as guessed, beyond their share of those wanted."""
_MOST_32_BITS = 2**31 - 1

Scores = NDArray[np.int32] | NDArray[np.int64]


class RankedRow(NamedTuple):
    """A row, its score, and how many of the terms it holds."""

    key: int
    score: int
    held: int
    telling: int
    """How many of the terms that a row has to hold one of."""


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
    """Return the *limit* rows for which the terms speak most; *worths*: what a unit of weight of each term counts.

    *keys*: all rows. *telling*: the terms that `RankedRow.telling` counts. *allowed*: which rows may come.
    """
    terms = [term for term, worth in worths.items() if worth > 0 and lists[term].records]
    is_exact = all(len(lists[term].places) for term in terms)
    if not terms or limit < 1 or not len(keys):
        return Ranking([], is_exact)
    scores = _add_up(len(keys), [(lists[term], worths[term]) for term in terms])
    if allowed is not None:
        scores *= allowed
    best = _select_best(scores, limit)
    held, told = np.zeros(len(best), np.int64), np.zeros(len(best), np.int64)
    for term in terms:
        is_held = _has(lists[term], best)
        held += is_held
        told += is_held & (term in telling)
    columns = (keys[best], scores[best], held, told)
    return Ranking([RankedRow(*row) for row in zip(*(column.tolist() for column in columns), strict=True)], is_exact)


def _add_up(rows: int, lists: Collection[tuple[TermList, int]]) -> Scores:
    """Return the score of each of so many *rows*."""
    most = sum(1024 * worth for _, worth in lists)
    scores: Scores = np.zeros(rows, np.int32) if most <= _MOST_32_BITS else np.zeros(rows, np.int64)
    for one, worth in lists:
        np.add.at(scores, one.places, np.multiply(one.weights, worth, dtype=scores.dtype))  # thrice as fast as +=
    return scores


def _has(one: TermList, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of each of *places* whether the list has it."""
    if not len(one.places):
        return np.zeros(len(places), np.bool_)
    found = np.searchsorted(one.places, places)
    found[found == len(one.places)] = 0
    held: NDArray[np.bool_] = one.places[found] == places
    return held


def _select_best(scores: Scores, limit: int) -> NDArray[np.int64]:
    """Return where the *limit* highest of *scores* are that are above zero, the highest first, then by place."""
    step = max(1, len(scores) // _SAMPLED)
    sample = scores[::step]
    rank = min(limit // step + _MARGIN + (step == 1) * limit, len(sample))
    guess = max(1, int(np.sort(sample)[len(sample) - rank]))  # numpy sorts faster than it selects
    places = np.flatnonzero(scores >= guess)
    if len(places) < limit and guess > 1:
        places = np.flatnonzero(scores)
    found = scores[places]
    if len(places) > limit:
        # of those that are equal to the last one only the first by place
        least = np.sort(found)[len(found) - limit]
        above = np.flatnonzero(found > least)
        chosen = np.concatenate([above, np.flatnonzero(found == least)[: limit - len(above)]])
        places, found = places[chosen], found[chosen]
    return places[np.lexsort((places, -found.astype(np.int64)))]


# -- lists --------------------------------------------------------------------------------------------


def load_all_rows(reader: Reader) -> AllRows:
    """Return all rows of the readable repositories."""
    rows = reader.cache.find_rows(reader.version)
    if rows is None:
        every = hash_term(EVERY)
        found = reader.read_slots([find_bucket(every), every])
        rows = AllRows(*join_packed(every, found.get(find_bucket(every), ()), found.get(every, ())))
        reader.cache.keep_rows(reader.version, rows)
    return rows


def load_lists(reader: Reader, terms: Collection[int], most: int = _MAX_LOADED) -> dict[int, TermList]:
    """Return the list of each of *terms*.

    The shortest are read first, as long as they have no more than *most* postings; the others come without places.
    """
    found = reader.cache.find_lists(reader.version, terms)
    missing = [term for term in terms if term not in found]
    if not missing:
        return found
    keys = load_all_rows(reader).keys
    counts, shared = reader.read_heads(missing)
    left = most - sum(one.records for one in found.values())
    read: list[int] = []
    for term, count in sorted(counts.items(), key=lambda item: item[1]):
        left -= count
        if left < 0:
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
    return found | new | {term: nothing._replace(records=counts[term]) for term in counts if term not in own}


def load_term_keys(reader: Reader, terms: Collection[int]) -> Keys:
    """Return the rows that hold one of *terms*, ascending."""
    keys: Keys = load_all_rows(reader).keys[find_holding(reader, terms)]
    return keys


def find_holding(reader: Reader, terms: Collection[int]) -> NDArray[np.bool_]:
    """Return of all rows which hold one of *terms*."""
    holds = np.zeros(len(load_all_rows(reader).keys), np.bool_)
    for one in load_lists(reader, terms, _NO_LIMIT).values():
        holds[one.places] = True
    return holds
