"""Find regular expressions whose time grows faster than the text.

A pump is a text that repeats one piece many times. The pieces come from the pattern itself: what each repetition
repeats, with and without what stands before it. A pattern is run as the package runs it: one that is only ever matched
at the beginning of a text need not be linear when it is searched everywhere.
"""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
import random
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kb
from kb import patterns

_LIKELY = "a1 A_-.\"'/:=,x\t\n<[(`*#@|%+\\中，。"
_SHORT, _BRISK = 1_000, 0.00012
"""Characters of a text, and seconds for it within which a pattern is let go: a quadratic one takes longer."""
_FIRST, _SUSPECT = 4_000, 0.002
"""Characters of the next text, and seconds for it from which the growth is measured."""
_ENOUGH = 0.15
"""Seconds from which the growth is believed."""
_GROWTH = 8.0
"""Times as long for a text four times as long: 4 is linear, 16 quadratic."""
_DOUBT = 5.5
"""Times as long from which a still longer text is tried: a busy machine may have held up the shorter one."""
_LIMIT = 1.5
"""Seconds after which a run is stopped."""


class Pattern(NamedTuple):
    """A regular expression of the package and how it is run."""

    source: str
    flags: int
    where: str
    at_start: bool
    """Whether it is only matched at the beginning of a text."""


class Slow(NamedTuple):
    """A pattern whose time grows too fast, and the text that shows it."""

    pattern: Pattern
    prefix: str
    unit: str
    seconds: tuple[float, ...]


# -- the patterns of the package --------------------------------------------------------------------


def package_patterns() -> list[Pattern]:
    """Return every regular expression of the package, compiled at once, lazily, or handed to `re` as a literal."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(kb.__path__, "kb.")
        if _imports(found.name)
    ]
    everywhere = _searched({module.__name__: ast.parse(Path(str(module.__file__)).read_text()) for module in modules})
    found: dict[tuple[str, int], Pattern] = {}
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, (re.Pattern, patterns._Pattern)) and isinstance(value.pattern, str):
                at_start = (module.__name__, name) not in everywhere
                _add(found, value, f"{module.__name__}.{name}", at_start)
    for value in gc.get_objects():
        if isinstance(value, patterns._Pattern) and isinstance(value._source, str):
            _add(found, value, "a table", False)
    for module in modules:
        for pattern in _literals(module.__name__, ast.parse(Path(str(module.__file__)).read_text())):
            found.setdefault((pattern.source, pattern.flags), pattern)
    return list(found.values())


def _imports(name: str) -> bool:
    return not name.endswith("__main__")


def _add(found: dict[tuple[str, int], Pattern], value: Any, where: str, at_start: bool) -> None:
    key = (value.pattern, int(value.flags))
    old = found.get(key)
    if old is None or (where != "a table" and old.at_start and not at_start):
        found[key] = Pattern(value.pattern, int(value.flags), where, at_start)


def _searched(trees: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """Return the module and name of every pattern that is used in any other way than matched at the beginning."""
    searched: set[tuple[str, str]] = set()
    for module, tree in trees.items():
        origins = {
            (alias.asname or alias.name): (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        at_start = {id(name) for name in _matched_at_start(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in at_start:
                searched.add(origins.get(node.id, (module, node.id)))
                searched.add((module, node.id))
    return searched


def _matched_at_start(tree: ast.Module) -> Iterator[ast.Name]:
    """Yield the names in `X.match(text)`, `X.fullmatch(text)` and `map(X.match, texts)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map":
            mapped = node.args[0]
            if isinstance(mapped, ast.Attribute) and mapped.attr == "match" and isinstance(mapped.value, ast.Name):
                yield mapped.value
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.attr in ("match", "fullmatch")
            and len(node.args) == 1
        ):
            yield node.func.value


def _literals(module: str, tree: ast.Module) -> Iterator[Pattern]:
    """Yield the patterns that are handed to functions of `re` as literals."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            first = node.args[0] if node.args else None
            if node.func.value.id == "re" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                flags = sum(
                    int(getattr(re, name.attr))
                    for name in ast.walk(node)
                    if isinstance(name, ast.Attribute)
                    and isinstance(name.value, ast.Name)
                    and name.value.id == "re"
                    and name.attr.isupper()
                )
                at_start = node.func.attr in ("match", "fullmatch")
                whole = int(re.compile(first.value, flags).flags)
                yield Pattern(first.value, whole, f"{module}:{node.lineno}", at_start)


# -- pumps ------------------------------------------------------------------------------------------


def pumps(source: str, flags: int) -> Iterator[tuple[str, str]]:
    """Yield a beginning and a piece to repeat behind it, for every repetition in the pattern."""
    rng = random.Random(1)
    tree = parser.parse(source, flags)
    found: list[tuple[str, str]] = []
    _repetitions(tree, "", rng, found)
    seen: set[tuple[str, str]] = set()
    for before, body in found:
        whole = _sample(tree, rng)
        for unit in (body, before + body, whole, body + "\n"):
            for beginning in ("", before[:200]):
                if unit and (beginning, unit) not in seen and len(unit) <= 400:
                    seen.add((beginning, unit))
                    yield beginning, unit


def _repetitions(tree: Any, before: str, rng: random.Random, found: list[tuple[str, str]]) -> None:
    for code, value in tree:
        if code in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, high, body = value
            if high > 1:
                found += [(before, _sample(body, rng)) for _ in range(3)]
            _repetitions(body, before, rng, found)
        elif code is sre.SUBPATTERN:
            _repetitions(value[3], before, rng, found)
        elif code is sre.BRANCH:
            for branch in value[1]:
                _repetitions(branch, before, rng, found)
        elif code in (sre.ASSERT, sre.ASSERT_NOT):
            _repetitions(value[1], before, rng, found)
        elif code is sre.ATOMIC_GROUP:
            _repetitions(value, before, rng, found)
        before = (before + _sample([(code, value)], rng))[-400:]


def _sample(tree: Any, rng: random.Random) -> str:
    """Return a text that *tree* may match, look-around apart."""
    text = ""
    for code, value in tree:
        if code is sre.LITERAL:
            text += chr(value)
        elif code is sre.NOT_LITERAL:
            text += rng.choice([char for char in 'ax1 ."' if ord(char) != value])
        elif code is sre.ANY:
            text += rng.choice("a 1.")
        elif code is sre.IN:
            text += rng.choice(_members(value) or [""])
        elif code is sre.BRANCH:
            text += _sample(rng.choice(value[1]), rng)
        elif code is sre.SUBPATTERN:
            text += _sample(value[3], rng)
        elif code is sre.ATOMIC_GROUP:
            text += _sample(value, rng)
        elif code in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            low, high, body = value
            for _ in range(min(low, 40) or int(high > 0 and rng.random() < 0.5)):
                text += _sample(body, rng)
    return text


def _members(items: list[tuple[Any, Any]]) -> list[str]:
    """Return likely members of a set of characters."""
    found = [char for char in _LIKELY if _holds(items, char)]
    return (
        found or [char for char in (*map(chr, range(32, 127)), "中", "。", "\u200b", "：") if _holds(items, char)][:1]
    )


def _holds(items: list[tuple[Any, Any]], char: str) -> bool:
    wordy = char.isalnum() or char == "_"
    held = negated = False
    for code, value in items:
        if code is sre.NEGATE:
            negated = True
        elif code is sre.LITERAL:
            held = held or value == ord(char)
        elif code is sre.RANGE:
            held = held or value[0] <= ord(char) <= value[1]
        elif code is sre.CATEGORY:
            name = str(value)
            is_one = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": wordy}[name.rpartition("_")[2]]
            held = held or is_one != ("_NOT_" in name)
    return held != negated


# -- time -------------------------------------------------------------------------------------------


class _TooLong(Exception):
    pass


def find_slow(pattern: Pattern) -> Slow | None:
    """Return the pump for which the time of *pattern* grows faster than the text, or None."""
    compiled = re.compile(pattern.source, pattern.flags)
    for prefix, unit in pumps(pattern.source, pattern.flags):
        if _seconds(compiled, pattern.at_start, prefix, unit, _SHORT) > _BRISK and (
            seconds := _grows(compiled, pattern.at_start, prefix, unit)
        ):
            return Slow(pattern, prefix, unit, seconds)
    return None


def _grows(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str) -> tuple[float, ...]:
    """Return the seconds for texts of rising length, when they rise too fast; else ()."""
    length, seconds = _FIRST, [_best(compiled, at_start, prefix, unit, _FIRST)]
    if seconds[0] <= _SUSPECT or seconds[0] > _LIMIT / 2:
        return tuple(seconds) if seconds[0] > _SUSPECT else ()
    while True:
        length *= 4
        seconds.append(_best(compiled, at_start, prefix, unit, length))
        if seconds[-1] < _GROWTH * seconds[-2]:
            if len(seconds) > 2 or seconds[-1] < _DOUBT * seconds[-2]:
                return ()
            continue
        if seconds[-1] > _ENOUGH:
            return tuple(seconds)


def _best(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str, length: int) -> float:
    """Return the shortest of up to three runs: whatever else the machine does only makes one longer."""
    runs = []
    for _ in range(3):
        runs.append(_seconds(compiled, at_start, prefix, unit, length))
        if runs[-1] > _ENOUGH:
            break
    return min(runs)


def _seconds(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str, length: int) -> float:
    """Return the seconds of processor time that one run takes, at most about `_LIMIT`."""
    text = prefix + unit * max(1, length // len(unit)) + "\x00"

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT)
    start = time.process_time()
    try:
        if at_start:
            compiled.match(text)
            compiled.fullmatch(text)
        else:
            for _ in compiled.finditer(text):
                pass
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - start
