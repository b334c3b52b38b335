"""Tell how close together the words of a question stand in a text, and how much of a title they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kb.text.segment import FIRST_CJK, fold_text, iter_runs

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
