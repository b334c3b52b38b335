"""Regular expressions that are compiled when they are first used.

Compiling one takes `re` from a tenth of a millisecond to several; a hook runs at every prompt, loads modules with some
two hundred patterns, and uses thirty.
"""

from __future__ import annotations

import re

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
