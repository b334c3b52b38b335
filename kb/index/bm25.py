"""How much a term says: BM25 over fields (BM25F), with constants chosen on development data (docs/search.md).

A term's weight in a record is reckoned when the record is indexed, its rarity when a question is asked; the score of a
record is the sum of rarity times weight. All are whole numbers, so that no sum depends on the order of its parts.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

from kb.records.model import Record, list_spoken_numbers
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import FIRST_CJK, collect_ranking_terms, fold_text, iter_runs

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T", int, str)

K1 = 0.9
"""How soon a term that is repeated says no more: the smaller the sooner."""

B = 0.4
"""How much more often a long text has to use a term than a short one for the same weight."""

SCALE = 1000
"""Parts of a unit in which weights and rarities are counted; a term that stood in a record without end had one."""


SHORTEST = 4
"""Letters of the shortest word that is looked for where somebody misspelled it."""


class RankedField(NamedTuple):
    """A part of a record."""

    weight: float
    length: int
    """Words and CJK characters of an ordinary one. A constant: what one record says must not depend on the others."""


TITLE = RankedField(3.0, 10)
TAGS = RankedField(1.5, 10)
BODY = RankedField(1.0, 150)

_MONTHS = (
    "", "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def hash_term(term: str) -> int:
    """Return the number under which *term* is kept; two in two thousand million share one, which costs nothing."""
    return zlib.crc32(term.encode()) & 0x7FFFFFFF


def compute_hashed_weights(record: Record) -> dict[int, int]:
    """Return the weight of each term of *record*, by the number of the term."""
    return _compute_weights(record, lambda piece: piece.numbers)


def compute_term_weights(record: Record) -> dict[str, int]:
    """Return the weight of each term of *record*."""
    return _compute_weights(record, lambda piece: piece.terms)


def _compute_weights(record: Record, terms: Callable[[_PieceTerms], Iterable[T]]) -> dict[T, int]:
    said: dict[T, float] = {}
    for field, text in (
        (TITLE, record.title),
        (TAGS, " ".join((*record.tags, *record.impact, record.id, *list_spoken_numbers(record.extra)))),
        (BODY, "\n".join((*(section.text for section in record.sections), record.user, _spell_out_date(record.date)))),
    ):
        pieces = [(_analyse_piece(piece), times) for piece, times in Counter(text.split()).items()]
        length = sum(piece.length * times for piece, times in pieces)
        each = field.weight / (1 - B + B * length / field.length)
        for piece, times in pieces:
            for term in terms(piece):
                said[term] = said.get(term, 0.0) + each * times
    return {term: round(SCALE * much / (much + K1)) for term, much in said.items()}


def collect_vocabulary(record: Record) -> set[str]:
    """Return the terms of *record* that somebody might misspell: words of letters only."""
    text = " ".join((record.title, *record.tags, *(section.text for section in record.sections)))
    return {word for piece in set(text.split()) for word in _analyse_piece(piece).words}


def collect_spellings(record: Record) -> set[str]:
    """Return the spaced words of *record* as a plain scan reads them."""
    text = " ".join((record.title, *record.tags, *record.impact, record.id, *list_spoken_numbers(record.extra)))
    text = "\n".join((text, *(section.text for section in record.sections), record.user))
    return {word for piece in set(text.split()) for word in _analyse_piece(piece).spelled}


class _PieceTerms(NamedTuple):
    terms: tuple[str, ...]
    numbers: tuple[int, ...]
    words: tuple[str, ...]
    spelled: tuple[str, ...]
    length: int
    """Its words and CJK characters."""


@lru_cache(maxsize=1 << 16)
def _analyse_piece(piece: str) -> _PieceTerms:
    """Return the terms of a *piece* without white space: no term reaches over it, and most are said over and over."""
    found = list(iter_runs(piece))
    terms = collect_ranking_terms(found)
    numbers = {term: hash_term(term) for term in dict.fromkeys(terms)}
    words = tuple(term for term in numbers if len(term) >= SHORTEST and term.isascii() and term.isalpha())
    spelled = tuple(fold_text(run) for run, unspaced in dict.fromkeys(found) if not unspaced)
    length = sum(len(term) > 1 or term < FIRST_CJK for term in terms)
    return _PieceTerms(tuple(terms), tuple([numbers[term] for term in terms]), words, spelled, length)


def compute_idf(frequency: int, total: int) -> float:
    """Return how much a term says that stands in *frequency* of *total* records (the idf of BM25)."""
    return math.log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5))


def _spell_out_date(date: str) -> str:
    """Return the words that name the day *date* (ISO): people ask for what was decided in May."""
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    if not (year + month + day).isascii() or not (month + day).isdigit() or int(month) >= len(_MONTHS):
        return date
    return f"{year} {_MONTHS[int(month)]} {int(day or 0)}"
