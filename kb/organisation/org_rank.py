"""Find the rows of all readable repositories for which the terms of a question speak most, reading as little as that
takes.

The score of a row is the sum of weight times worth over the terms it holds. Lists are read layer by layer, those that
can add most first. Reading stops where a row that has not been met yet could no longer come among the best; of the rows
met, those that still could are completed from their vectors. (The threshold algorithm of Fagin, Lotem and Naor, over
lists in layers.) Where that takes more than `MAX_READ` entries, as with many common words, the rest is left: the answer
says so, and `bench.hub` measures what it costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb.organisation.hub_engine import LayerCount, Reader
from kb.organisation.hub_lists import Keys, ListKey, unpack_many

MAX_READ = 120_000
"""Entries of lists that one question may read."""
MAX_COMPLETED = 2_048
"""Rows whose score is completed from their vectors."""
_FIRST_READ = 3_000
"""Entries that are read before the first look at whether it is enough; then it is four times more, and so on."""
_CHUNK = 192
"""Rows that are completed at once."""


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


class _Layer(NamedTuple):
    bound: int
    """What a row can get from it at most."""
    at: int
    """The term, by its place among those asked."""
    key: ListKey
    records: int


def rank_rows(
    reader: Reader,
    worths: Mapping[int, int],
    layers: Sequence[LayerCount],
    limit: int,
    telling: Collection[int] = (),
    allowed: Keys | None = None,
    most: int = MAX_READ,
) -> Ranking:
    """Return the *limit* rows for which the terms speak most; *worths*: what a unit of weight of each term counts.

    *telling*: the terms that `RankedRow.telling` counts. *allowed*: only these rows, ascending. *most*: entries to
    read.
    """
    terms = [term for term, worth in worths.items() if worth > 0]
    if not terms or limit < 1:
        return Ranking([], True)
    return _Search(reader, {term: worths[term] for term in terms}, limit, frozenset(telling), allowed).run(layers, most)


class _Search:
    """One search for the best rows."""

    def __init__(
        self, reader: Reader, worths: Mapping[int, int], limit: int, telling: frozenset[int], allowed: Keys | None
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._allowed = allowed
        self._terms = list(worths)
        self._worths = worths
        self._keys: Keys = np.empty(0, np.int64)
        self._sums: NDArray[np.int64] = np.empty(0, np.int64)
        self._masks: NDArray[np.int64] = np.empty(0, np.int64)
        self._complete: dict[int, tuple[int, int, int]] = {}
        self._order = np.argsort(np.asarray(self._terms, np.int64))
        self._sorted_terms = np.asarray(self._terms, np.int64)[self._order]
        self._sorted_worths = np.asarray([worths[term] for term in self._terms], np.int64)[self._order]
        self._is_telling = np.asarray([term in telling for term in self._terms], np.int64)[self._order]

    def run(self, layers: Sequence[LayerCount], most: int) -> Ranking:
        """Read and complete until the best are known, or *most* entries are read."""
        if self._allowed is not None and len(self._allowed) <= MAX_COMPLETED:
            self._complete_rows(self._allowed)
            return Ranking(self._list_best(), True)
        places = {term: at for at, term in enumerate(self._terms)}
        waiting = sorted(
            _Layer(one.top * self._worths[one.term], places[one.term], (one.term, one.layer), one.records)
            for one in layers
            if one.term in places
        )
        total, step, is_enough = 0, _FIRST_READ, False
        while waiting and not is_enough and (total < most or not total):
            taken: list[_Layer] = []
            count = 0
            while waiting and (not taken or count + waiting[-1].records <= step):
                taken.append(waiting.pop())
                count += taken[-1].records
            if total and total + count > most:
                waiting += reversed(taken)
                break
            self._read_lists(taken)
            total, step = total + count, 4 * step
            is_enough = self._is_enough(waiting)
        open_bounds = self._find_open_bounds(waiting)
        is_exact = self._complete_candidates(open_bounds) and (is_enough or not waiting)
        return Ranking(self._list_best(), is_exact)

    def _read_lists(self, taken: Sequence[_Layer]) -> None:
        """Add what the layers *taken* say to the sums."""
        places = {one.key[0]: one.at for one in taken}
        keys, sums, masks = [self._keys], [self._sums], [self._masks]
        for one in self._reader.read_lists([layer.key for layer in taken]):
            keys.append(one.keys)
            sums.append(one.weights * self._worths[one.term])
            masks.append(np.full(len(one.keys), 1 << min(places[one.term], 62), np.int64))
        all_keys, all_sums, all_masks = np.concatenate(keys), np.concatenate(sums), np.concatenate(masks)
        if self._allowed is not None:
            is_allowed = np.isin(all_keys, self._allowed)
            all_keys, all_sums, all_masks = all_keys[is_allowed], all_sums[is_allowed], all_masks[is_allowed]
        if not len(all_keys):
            return
        order = np.argsort(all_keys, kind="stable")
        all_keys = all_keys[order]
        starts = np.flatnonzero(np.concatenate(([True], all_keys[1:] != all_keys[:-1])))
        self._keys = all_keys[starts]
        self._sums = np.add.reduceat(all_sums[order], starts)
        self._masks = np.bitwise_or.reduceat(all_masks[order], starts)

    def _find_open_bounds(self, waiting: Sequence[_Layer]) -> dict[int, int]:
        """Return by the place of each term what a row can still get from its layers that are not read."""
        bounds: dict[int, int] = {}
        for one in waiting:
            bounds[one.at] = max(bounds.get(one.at, 0), one.bound)
        return bounds

    def _is_enough(self, waiting: Sequence[_Layer]) -> bool:
        """Return whether no row that has not been met can come among the best."""
        if not waiting:
            return True
        unseen = sum(self._find_open_bounds(waiting).values())
        least = self._find_least()
        if least > unseen:
            return True
        # what is known of the best so far is a part of their scores: with the rest they may be enough
        potential = self._compute_bounds(self._find_open_bounds(waiting))
        if len(potential) < self._limit or self._select_largest(potential, self._limit) <= unseen:
            return False
        best = np.argsort(-self._sums, kind="stable")[: self._limit]
        self._complete_rows(self._keys[best])
        return self._find_least() > unseen

    def _compute_bounds(self, bounds: Mapping[int, int]) -> NDArray[np.int64]:
        """Return the most that each row met can have in the end."""
        most = self._sums.copy()
        for at, bound in bounds.items():
            most[(self._masks >> min(at, 62)) & 1 == 0] += bound
        return most

    def _find_least(self) -> int:
        """Return the score that the last of the best has at least; -1 where they are too few."""
        whole = sorted((score for score, _, _ in self._complete.values()), reverse=True)[: self._limit]
        least = whole[-1] if len(whole) == self._limit else -1
        if len(self._sums) >= self._limit:
            least = max(least, self._select_largest(self._sums, self._limit))
        return least

    @staticmethod
    def _select_largest(values: NDArray[np.int64], rank: int) -> int:
        return int(np.partition(values, len(values) - rank)[len(values) - rank])

    def _complete_candidates(self, bounds: Mapping[int, int]) -> bool:
        """Complete the rows that can be among the best; return whether that were all of them."""
        most = self._compute_bounds(bounds)
        near = np.flatnonzero(most >= self._find_least())
        near = near[np.lexsort((self._keys[near], -most[near]))]
        at, size = 0, self._limit
        while at < len(near):
            best = self._list_best()
            if len(best) == self._limit:
                # of rows with as much as the last of the best only those with a smaller number would come before it
                last = best[-1]
                left = near[at:]
                can = (most[left] > last.score) | ((most[left] == last.score) & (self._keys[left] < last.key))
                near, at = left[can], 0
                if not len(near):
                    return True
            if len(self._complete) >= MAX_COMPLETED:
                return False
            self._complete_rows(self._keys[near[at : at + size]])
            at, size = at + size, _CHUNK
        return True

    def _complete_rows(self, keys: Keys) -> None:
        """Compute the whole scores of the rows *keys* from their vectors."""
        missing = [key for key in keys.tolist() if key not in self._complete]
        if not missing:
            return
        rows = self._reader.read_vectors(np.asarray(missing, np.int64))
        owners, terms, weights = unpack_many([data for _, data in rows])
        places = np.searchsorted(self._sorted_terms, terms)
        places[places == len(self._sorted_terms)] = 0
        hits = np.flatnonzero(self._sorted_terms[places] == terms)
        scores, held, telling = (np.zeros(len(rows), np.int64) for _ in range(3))
        np.add.at(scores, owners[hits], weights[hits] * self._sorted_worths[places[hits]])
        np.add.at(held, owners[hits], 1)
        np.add.at(telling, owners[hits], self._is_telling[places[hits]])
        found = zip(scores.tolist(), held.tolist(), telling.tolist(), strict=True)
        self._complete.update(zip((key for key, _ in rows), found, strict=True))

    def _list_best(self) -> list[RankedRow]:
        found = [RankedRow(key, *found) for key, found in self._complete.items() if found[0] > 0]
        return sorted(found, key=lambda row: (-row.score, row.key))[: self._limit]
