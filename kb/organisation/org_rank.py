"""Find the rows of all readable repositories for which the terms of a question speak most, looking at as few as it can.

The score of a row is the sum of weight times worth over the terms it holds. Lists are gone through layer by layer,
those that can add most first. This stops where a row that has not been met yet could no longer come among the best; of
the rows met, those that still could are looked up in the layers that are left. (The threshold algorithm of Fagin, Lotem
and Naor, over lists in layers.) Where that takes more than `MAX_READ` postings, as with many common words, the rest is
left: the answer says so, and `bench.hub` measures what it costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kb.organisation.hub_lists import Keys, Layer, TermList

MAX_READ = 120_000
"""Postings that one question may go through."""
MAX_COMPLETED = 2_048
"""Rows whose score is completed by looking them up."""
_FIRST_READ = 3_000
"""Postings before the first look at whether they are enough; then it is four times more, and so on."""
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


class _Waiting(NamedTuple):
    """A layer that has not been gone through."""

    bound: int
    """What a row can get from it at most."""
    at: int
    """The term, by its place among those asked."""
    number: int
    """The layer, by its place in the list of the term."""
    layer: Layer


def rank_rows(
    lists: Mapping[int, TermList],
    worths: Mapping[int, int],
    limit: int,
    telling: Collection[int] = (),
    allowed: Keys | None = None,
    most: int = MAX_READ,
) -> Ranking:
    """Return the *limit* rows for which the terms speak most; *worths*: what a unit of weight of each term counts.

    *telling*: the terms that `RankedRow.telling` counts. *allowed*: only these rows, ascending. *most*: postings to
    go through.
    """
    terms = [term for term, worth in worths.items() if worth > 0 and lists[term].records]
    if not terms or limit < 1:
        return Ranking([], True)
    is_complete = all(lists[term].layers for term in terms)
    search = _Search([(lists[term], worths[term], term in telling) for term in terms], limit, allowed)
    ranking = search.run(most)
    return ranking._replace(is_exact=ranking.is_exact and is_complete)


class _Search:
    """One search for the best rows."""

    def __init__(self, terms: Sequence[tuple[TermList, int, bool]], limit: int, allowed: Keys | None) -> None:
        self._terms = terms
        self._limit = limit
        self._allowed = allowed
        self._keys: Keys = np.empty(0, np.int64)
        self._sums: NDArray[np.int64] = np.empty(0, np.int64)
        self._masks: NDArray[np.int64] = np.empty(0, np.int64)
        self._complete: dict[int, tuple[int, int, int]] = {}

    def run(self, most: int) -> Ranking:
        """Go through layers and complete rows until the best are known, or *most* postings are through."""
        if self._allowed is not None and len(self._allowed) <= MAX_COMPLETED:
            self._complete_rows(self._allowed)
            return Ranking(self._list_best(), True)
        waiting = [
            _Waiting(layer.top * worth, at, number, layer)
            for at, (one, worth, _) in enumerate(self._terms)
            for number, layer in enumerate(one.layers)
        ]
        waiting.sort(key=lambda one: one[:3])
        total, step, is_enough = 0, _FIRST_READ, False
        while waiting and not is_enough and (total < most or not total):
            taken: list[_Waiting] = []
            count = 0
            while waiting and (not taken or count + len(waiting[-1].layer.keys) <= step):
                taken.append(waiting.pop())
                count += len(taken[-1].layer.keys)
            if total and total + count > most:
                waiting += reversed(taken)
                break
            self._add_layers(taken)
            total, step = total + count, 4 * step
            is_enough = self._is_enough(waiting)
        open_bounds = self._find_open_bounds(waiting)
        is_exact = self._complete_candidates(open_bounds) and (is_enough or not waiting)
        return Ranking(self._list_best(), is_exact)

    def _add_layers(self, taken: Sequence[_Waiting]) -> None:
        """Add what the layers *taken* say to the sums."""
        keys, sums, masks = [self._keys], [self._sums], [self._masks]
        for one in taken:
            added = one.layer.keys
            values = one.layer.weights * np.int64(self._terms[one.at][1])
            if self._allowed is not None:
                is_allowed = np.isin(added, self._allowed)
                added, values = added[is_allowed], values[is_allowed]
            keys.append(added)
            sums.append(values)
            masks.append(np.full(len(added), 1 << min(one.at, 62), np.int64))
        all_keys, all_sums, all_masks = np.concatenate(keys), np.concatenate(sums), np.concatenate(masks)
        if not len(all_keys):
            return
        order = np.argsort(all_keys, kind="stable")
        all_keys = all_keys[order]
        starts = np.flatnonzero(np.concatenate(([True], all_keys[1:] != all_keys[:-1])))
        self._keys = all_keys[starts]
        self._sums = np.add.reduceat(all_sums[order], starts)
        self._masks = np.bitwise_or.reduceat(all_masks[order], starts)

    def _find_open_bounds(self, waiting: Sequence[_Waiting]) -> dict[int, int]:
        """Return by the place of each term what a row can still get from its layers that are left."""
        bounds: dict[int, int] = {}
        for one in waiting:
            bounds[one.at] = max(bounds.get(one.at, 0), one.bound)
        return bounds

    def _is_enough(self, waiting: Sequence[_Waiting]) -> bool:
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
        """Compute the whole scores of the rows *keys*: look them up in every list."""
        missing = np.asarray([key for key in keys.tolist() if key not in self._complete], np.int64)
        scores, held, telling = (np.zeros(len(missing), np.int64) for _ in range(3))
        for one, worth, is_telling in self._terms:
            for layer in one.layers:
                places = np.searchsorted(layer.keys, missing)
                places[places == len(layer.keys)] = 0
                hits = np.flatnonzero(layer.keys[places] == missing)
                scores[hits] += layer.weights[places[hits]] * np.int64(worth)
                held[hits] += 1
                telling[hits] += is_telling
        found = zip(scores.tolist(), held.tolist(), telling.tolist(), strict=True)
        self._complete.update(zip(missing.tolist(), found, strict=True))

    def _list_best(self) -> list[RankedRow]:
        found = [RankedRow(key, *found) for key, found in self._complete.items() if found[0] > 0]
        return sorted(found, key=lambda row: (-row.score, row.key))[: self._limit]
