"""Put together what two ways of searching say: the weighted sum of their scores, each brought to 0.0–1.0."""

from __future__ import annotations

from collections.abc import Mapping

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
