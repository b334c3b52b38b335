"""Find the word that somebody meant who wrote one that no record has."""

from __future__ import annotations

from collections.abc import Iterable

from kb.index.postings import SHORTEST

_LONG = 7
"""Letters from which on two slips are allowed."""


def count_allowed_typos(word: str) -> int:
    """Return how many slips a *word* may have, 0–2."""
    if len(word) < SHORTEST or not (word.isascii() and word.isalpha()):
        return 0
    return 2 if len(word) >= _LONG else 1


def find_nearest_words(word: str, words: Iterable[str], limit: int = 5) -> list[str]:
    """Return those of *words* that differ from *word* by no more than its `count_allowed_typos`, the nearest first."""
    from rapidfuzz.distance import OSA

    most = count_allowed_typos(word)
    distances = ((OSA.distance(word, other, score_cutoff=most), other) for other in words)
    return [other for _, other in sorted(pair for pair in distances if pair[0] <= most)[:limit]]
