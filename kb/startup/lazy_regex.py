"""Regular expressions that are compiled when they are first used, and once on a machine.

Compiling one takes `re` from a tenth of a millisecond to several; a hook runs at every prompt and uses thirty. So the
compiled code is kept in the user's cache folder, as Python keeps its own in `__pycache__`. Whatever is wrong with the
cache, or with the private names of `re` used here, the pattern is compiled as ever.
"""

from __future__ import annotations

import atexit
import os
import re
import sys

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

IGNORECASE = re.IGNORECASE
MULTILINE = re.MULTILINE
DOTALL = re.DOTALL

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split")


class _Pattern:
    """Stands for a pattern until something is asked of it; from then on its methods are the pattern's own."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = _CACHE.compiled(self._source, int(self._flags))
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        self.pattern = compiled.pattern
        self.flags = compiled.flags
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as `re.compile(source, flags)`, compiled at its first use.

    For what stands in the program only: a pattern made of somebody's words would stay in the cache, words and all.
    """
    if TYPE_CHECKING:
        return re.compile(source, flags)
    standing: Any = _Pattern(source, flags)
    return standing


def bytes_regex(source: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """Return what behaves as `re.compile(source, flags)` for bytes, compiled at its first use."""
    if TYPE_CHECKING:
        return re.compile(source, flags)
    standing: Any = _Pattern(source, flags)
    return standing


class _Cache:
    """The compiled patterns of this user, for this very Python."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | bytes, int], Any] | None = None
        self._new = False

    def compiled(self, source: str | bytes, flags: int) -> re.Pattern[Any]:
        """Return the pattern *source*, from the cache if it is there."""
        if self._known is None:
            self._known = self._loaded()
            atexit.register(self._keep)
        try:
            import _sre  # type: ignore[import-not-found]

            entry = self._known.get((source, flags))
            if entry is None:
                self._known[source, flags] = entry = _code(source, flags)
                self._new = True
            all_flags, code, groups, names, indexed = entry
            pattern: re.Pattern[Any] = _sre.compile(source, all_flags, code, groups, names, indexed)
            return pattern
        except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
            return re.compile(source, flags)

    def _loaded(self) -> dict[tuple[str | bytes, int], Any]:
        import marshal

        try:
            with open(_path(), "rb") as file:
                version, known = marshal.loads(file.read())
            return dict(known) if version == sys.version else {}
        except (OSError, ValueError, EOFError, TypeError):
            return {}

    def _keep(self) -> None:
        """Write the cache when it has grown; a folder that cannot be written is no reason to complain."""
        if not self._new:
            return
        import marshal

        path = _path()
        beside = f"{path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(beside, "wb") as file:
                file.write(marshal.dumps((sys.version, {**self._loaded(), **(self._known or {})})))
            os.replace(beside, path)
        except OSError:
            return


def _code(source: str | bytes, flags: int) -> tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]:
    """Return what `re._compiler.compile` hands to the engine for *source*."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(source, flags)
    names = dict(parsed.state.groupdict)
    indexed: list[str | None] = [None] * parsed.state.groups
    for name, number in names.items():
        indexed[number] = name
    code = [int(word) for word in _compiler._code(parsed, flags)]
    return int(flags | parsed.state.flags), code, parsed.state.groups - 1, names, tuple(indexed)


def _path() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.join(base, "kb", f"patterns-{sys.implementation.cache_tag}.marshal")


_CACHE = _Cache()
