"""Let what was written together speak for each other: an answer often stands beside the words of the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
