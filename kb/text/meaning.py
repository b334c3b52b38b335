"""Compare what two texts mean, whatever words they use, by small vectors of words.

Each of some 17,000 English stems, Chinese words and Chinese characters has a vector of 36 numbers and a weight; those
of a text add up to one that says what it is about. They are distilled from a multilingual model: the sum of the words
of a sentence is to point where the model's vector of that sentence points. `python -m bench.meanings` makes the file
`models/meanings.bin`; `models/meanings.txt` names what it is made of. Nothing is learned where kb runs, and the file is
read where two records are compared, not before.

Two texts on one subject are near each other even if they contradict, so nothing is decided by this alone.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import stem

PATH = os.path.join(os.path.dirname(__file__), "models", "meanings.bin")
LONGEST_KEY = 4  # Characters of the longest Chinese word that has a vector
CHARACTER = 0.5  # What a Chinese character counts beside the word it is in
OFTEN = 1.5  # What a word counts at most that is said again
MIDDLE = 7.5  # What is taken off the four bits of a number
STEPS, LARGEST = 16.0, 255  # A weight is 2 ** ((byte - LARGEST) / STEPS)

_RUN = regex(r"[A-Za-z]{2,}|[一-鿿]+")
_PART = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # Of a name in camel case


class MeaningTable(NamedTuple):
    """The words that have a vector."""

    keys: Sequence[str]  # Stems, words and characters in the order of their code points
    weights: bytes
    numbers: bytes  # Two of four bits each to a byte
    dimensions: int


@cache
def load_meanings(path: str = PATH) -> MeaningTable:
    """Return the table that comes with kb, read once."""
    with open(path, "rb") as file:
        header, _, rest = file.read().partition(b"\n")
    dimensions, count, size = map(int, header.split())
    keys = zlib.decompress(rest[:size]).decode().split("\n")
    return MeaningTable(keys, rest[size : size + count], rest[size + count :], dimensions)


@lru_cache(maxsize=512)
def embed_meaning(*parts: tuple[str, float]) -> tuple[float, ...]:
    """Return the vector, of length 1.0, of a text in *parts*, each with what its words count; () if it has none."""
    table = load_meanings()
    counted: dict[str, float] = {}
    for text, factor in parts:
        for key, count in count_keys(text, table.keys).items():
            counted[key] = max(counted.get(key, 0.0), factor * min(count, OFTEN))
    width = table.dimensions // 2
    high, low = [0.0] * width, [0.0] * width
    for key, count in counted.items():
        row = bisect_left(table.keys, key)
        factor = count * 2 ** ((table.weights[row] - LARGEST) / STEPS)
        for at, pair in enumerate(table.numbers[row * width : (row + 1) * width]):
            high[at] += factor * ((pair >> 4) - MIDDLE)
            low[at] += factor * ((pair & 15) - MIDDLE)
    length = sum(number * number for number in (*high, *low)) ** 0.5
    return tuple(number / length for number in (*high, *low)) if length else ()


def measure_likeness(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how near (-1.0–1.0) two vectors of `embed_meaning` are; 0.0 where a text has none."""
    return sum(mine * theirs for mine, theirs in zip(one, other, strict=False))


def count_keys(text: str, keys: Sequence[str]) -> Mapping[str, float]:
    """Return which of the sorted *keys* are in *text*, and how often; a Chinese character counts as CHARACTER."""
    counted: Counter[str] = Counter()
    for match in _RUN.finditer(text):
        for key, count in _iter_keys(match.group()):
            if _has_key(keys, key):
                counted[key] += count  # type: ignore[assignment]
        if not match.group().isascii():
            counted.update(_iter_unspaced_words(match.group(), keys))
    return counted


def _iter_keys(run: str) -> Iterator[tuple[str, float]]:
    """Yield the stems of a *run* of letters, or its Chinese characters, with what each counts."""
    if run.isascii():
        yield from ((stem(part.lower()), 1.0) for part in _PART.findall(run))
    else:
        yield from ((character, CHARACTER) for character in run)


def _iter_unspaced_words(run: str, keys: Sequence[str]) -> Iterator[str]:
    """Yield the words of several characters in a Chinese *run*, from each place on the longest."""
    at = 0
    while at < len(run):
        sizes = range(min(LONGEST_KEY, len(run) - at), 1, -1)
        size = next((size for size in sizes if _has_key(keys, run[at : at + size])), 0)
        if size:
            yield run[at : at + size]
        at += size or 1


def _has_key(keys: Sequence[str], key: str) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key
