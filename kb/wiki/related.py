"""Which records speak of the same things: those that share rare words in their titles and decisions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from kb.records.model import Record
from kb.text.segment import SEPARATOR, build_index_terms

SHOWN = 5
"""Similar records named on a page, at most."""
RARE = 40
"""A word in more records than this, or in more than an eighth of them, tells nothing."""
TELLING = 16
"""So many of its rarest words stand for a record."""
LEAST = 0.2
"""Share of a record's own weight (0.0–1.0) that another one must have in common with it, in two words at least."""


def find_related_records(records: Sequence[Record]) -> list[tuple[int, ...]]:
    """Return for each of *records* the places of those most like it, best first."""
    said = [_collect_terms(record) for record in records]
    found_in = Counter(term for terms in said for term in terms)
    most = min(RARE, max(2, len(records) // 8))
    weight = {term: math.log(1 + len(records) / n) for term, n in found_in.items() if n <= most}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for place, terms in enumerate(said):
        for term in terms & weight.keys():
            having[term].append(place)
    return [_find_nearest(place, terms, weight, having) for place, terms in enumerate(said)]


def _collect_terms(record: Record) -> set[str]:
    pieces = set(f"{record.title}\n{record.section('decision')[:400]}".split())
    words = {term for piece in pieces for term in _split_terms(piece)}
    return words | {f"#{tag.casefold()}" for tag in record.tags} | {f"/{path}" for path in record.impact}


@lru_cache(maxsize=1 << 16)
def _split_terms(piece: str) -> tuple[str, ...]:
    """Return the terms of a *piece* without white space: no term reaches over it."""
    return tuple(term for term in build_index_terms(piece).split() if term != SEPARATOR and len(term) > 1)


def _find_nearest(
    place: int, terms: set[str], weight: dict[str, float], having: dict[str, list[int]]
) -> tuple[int, ...]:
    rarest = sorted((term for term in terms if term in weight), key=lambda term: (-weight[term], term))[:TELLING]
    own = sum(weight[term] for term in rarest)
    score: defaultdict[int, float] = defaultdict(float)
    shared: Counter[int] = Counter()
    for term in rarest:
        for other in having[term]:
            score[other] += weight[term]
            shared[other] += 1
    near = [other for other in score if other != place and shared[other] > 1 and score[other] >= LEAST * own]
    return tuple(sorted(near, key=lambda other: (-score[other], other))[:SHOWN])
