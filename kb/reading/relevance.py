"""Decide which of the records found are worth handing to somebody who said what the work is about.

A prompt is answered only where `kb.reading.rank.relevant` says so: nobody asked. A task or a question was said on
purpose, so a record may also be told whose title and tags hold half of what was said, or whose text holds all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kb.reading import rank
from kb.reading.rank import ENOUGH, Asked, Hit
from kb.record import GLOBAL, LIVE, Record

SHARE = 0.5
"""The share of what was asked, in whole words, that is enough in a title."""


def worth_telling(
    hits: Sequence[Hit],
    text: str,
    *,
    scope: str = GLOBAL,
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
    synonyms: Iterable[str] = (),
) -> list[Hit]:
    """Return those of *hits*, in their order, that are about the task or question *text*.

    *frequency* and *total* are what `rank.relevant` takes; *synonyms* are other words for what was said.
    """
    sure = {hit.record.path for hit in rank.relevant(hits, text, scope=scope, frequency=frequency, total=total)}
    about = rank.asked(text)
    wider = rank.asked(" ".join((text, *synonyms))) if synonyms else about
    enough = min(ENOUGH, math.ceil(SHARE * said_in(about)) or 1)

    def is_told(hit: Hit) -> bool:
        return hit.record.path in sure or (
            hit.record.status in LIVE and (hit.whole or rank.evidence(_head(hit.record), wider) >= enough)
        )

    return [hit for hit in hits if is_told(hit)]


def _head(record: Record) -> Record:
    """Return *record* without its text: in a long one half of any question stands somewhere."""
    return record._replace(sections=())


def holding(hits: Sequence[Hit], words: str) -> list[Hit]:
    """Return those of *hits* that hold any of *words*."""
    about = rank.asked(words)
    return [hit for hit in hits if rank.evidence(hit.record, about) > 0]


def said_in(about: Asked) -> float:
    """Return how much was asked: 1.0 for a word, and for two characters of an unspaced one."""
    return len(about.words) + sum(len(piece) / 2 for piece in about.pieces)
