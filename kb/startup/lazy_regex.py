"""Regular expressions that are compiled when they are first used.

Compiling one takes `re` from a tenth of a millisecond to several; a hook runs at every prompt, loads modules with some
two hundred patterns, and uses thirty. Of a long alternation most texts can match no part: `regex_rows` stands for one,
and compiles the parts of which a text has the words.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

IGNORECASE = re.IGNORECASE
MULTILINE = re.MULTILINE
DOTALL = re.DOTALL

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


class _LazyPattern:
    """Stands for a pattern until something is asked of it; from then on its methods are the pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        # what is an attribute of its own is found before __getattr__ is asked: from now on nothing is lost
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        self.pattern = compiled.pattern
        self.flags = compiled.flags
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as `re.compile(source, flags)`, compiled at its first use."""
    if TYPE_CHECKING:
        return re.compile(source, flags)
    standing: Any = _LazyPattern(source, flags)
    return standing


def bytes_regex(source: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Return what behaves as `re.compile(source, flags)` for bytes, compiled at its first use."""
    if TYPE_CHECKING:
        return re.compile(source, flags)
    standing: Any = _LazyPattern(source, flags)
    return standing


class PatternRows:
    """Stands for the alternation of its rows, and compiles only those that may match what is searched."""

    def __init__(self, rows: Iterable[tuple[Iterable[str], str]], flags: int) -> None:
        """Take for each row the pieces of text of which one is in whatever it matches, and its source."""
        self.rows = tuple((tuple(needs), regex(source, flags)) for needs, source in rows)
        self._ignores_case = bool(flags & IGNORECASE)

    def iter_likely(self, text: str) -> Iterator[re.Pattern[str]]:
        """Yield the patterns of the rows that may match in *text*."""
        # as IGNORECASE has it: ſ is an s to it, K (the sign of kelvins) a k, and ı an i
        there = text.casefold().replace("ı", "i") if self._ignores_case else text
        for needs, pattern in self.rows:
            if any(map(there.__contains__, needs)):
                yield pattern

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match in *text*; of two that begin at one place that of the earlier row."""
        found = (match for row in self.iter_likely(text) if (match := row.search(text, pos, endpos)))
        return min(found, key=lambda match: match.start(), default=None)

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """Yield the matches in *text*, none of which is empty, one after the other."""
        while match := self.search(text, pos, endpos):
            yield match
            pos = match.end()


def regex_rows(*rows: tuple[Iterable[str], str], flags: int = 0) -> PatternRows:
    """Return what searches as the alternation of *rows* does, each of pieces of text and a source.

    One of the pieces, in lower case where case is ignored, must be in all that the source matches.
    """
    return PatternRows(rows, flags)
