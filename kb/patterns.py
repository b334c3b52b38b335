"""Regular expressions that are compiled when they are first used.

Compiling one takes `re` from a tenth of a millisecond to ten of them, and a hook that runs at every prompt uses few.
"""

import re
from typing import TYPE_CHECKING, Any, cast

IGNORECASE = re.IGNORECASE
MULTILINE = re.MULTILINE
DOTALL = re.DOTALL


class _Pattern:
    """Stands for a pattern until something is asked of it; from then on its methods are the pattern's own."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        for method in ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"):
            setattr(self, method, getattr(compiled, method))
        self.pattern = compiled.pattern
        self.flags = compiled.flags
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as `re.compile(source, flags)`, compiled at its first use."""
    if TYPE_CHECKING:
        return re.compile(source, flags)
    return cast("re.Pattern[str]", _Pattern(source, flags))
