"""Bounds on time that hold on a slow or busy machine as well: seconds are those of an idle machine of 2024."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

_UNIT = 0.05
"""Seconds of processor time that `_work` takes on the idle machine."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail when the block takes more than *seconds* of this process's time, counted as on the idle machine.

    Only who is late is measured against the machine: a quadratic pattern is late by a factor of hundreds, a busy
    machine by one that a piece of known work shows as well.
    """
    start = time.process_time()
    yield
    took = time.process_time() - start
    assert took < seconds or took < seconds * slowness(), f"{took:.2f} s, where {seconds} s are meant to do"


def slowness() -> float:
    """Return how many times slower than the idle machine this one is now, at least 1."""
    start = time.process_time()
    _work()
    return max(1.0, 2 * (time.process_time() - start) / _UNIT)


def _work() -> None:
    """Do what the texts' readers do: search, split, count."""
    text = "the quick brown fox, 中文 and `code` " * 400
    for _ in range(66):
        words = re.findall(r"\w+|[^\w\s]", text)
        {word: len(word) for word in words}
        sum(map(len, words))
