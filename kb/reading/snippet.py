"""Cut the piece of a text that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from kb.reading.query import subjects
from kb.text import folded, one_line
from kb.values import NamedTuple

MIN_WIDTH = 8
_MATCHES = 20
"""So many matches decide where the window stands; a long text may have thousands."""


class Snippet(NamedTuple):
    """A piece of a text on one line, and where in it the question's words stand."""

    text: str
    matches: tuple[tuple[int, int], ...] = ()
    """Start and end offsets in *text*, in order, not overlapping."""

    def marked(self, before: str, after: str) -> str:
        """Return the text with *before* and *after* around every match."""
        parts, at = [], 0
        for start, end in self.matches:
            parts += [self.text[at:start], before, self.text[start:end], after]
            at = end
        return "".join((*parts, self.text[at:]))


def snippet(text: str, query: str, *, width: int = 100) -> Snippet:
    """Return the *width* characters of *text* around most words of *query*; its beginning where none stands there.

    "…" at an end says that something is missing there; it counts towards *width*.
    """
    line = one_line(text)
    width = max(width, MIN_WIDTH)
    found = _matches(line, query)
    start = _start(found, width, len(line))
    end = min(start + width, len(line))
    head, tail = start > 0, end < len(line)
    piece = ("…" if head else "") + line[start + head : end - tail] + ("…" if tail else "")
    inside = tuple((s - start, e - start) for s, e in found if s >= start + head and e <= end - tail)
    return Snippet(piece, inside)


def _matches(line: str, query: str) -> list[tuple[int, int]]:
    """Return where the terms of *query* stand in *line*: those it was asked with, or else its meaningful words."""
    for needles in ([*query.split(), *folded(query).split()], subjects(query)):
        pattern = _pattern(needles)
        found = [match.span() for match in islice(pattern.finditer(line), _MATCHES)] if pattern else []
        if found:
            return found
    return []


def _pattern(needles: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern for any of *needles*, the longest first so that a part does not hide the whole."""
    distinct = sorted(dict.fromkeys(needles), key=lambda needle: (-len(needle), needle))
    return re.compile("|".join(map(re.escape, distinct)), re.IGNORECASE) if distinct else None


def _start(found: Sequence[tuple[int, int]], width: int, length: int) -> int:
    """Return where the window begins that holds most of the matches *found*, a quarter of it before the first."""
    if not found or length <= width:
        return 0
    first = max(found, key=lambda span: sum(span[0] <= s and e <= span[0] + width * 3 // 4 for s, e in found))[0]
    return max(0, min(first - width // 4, length - width))
