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
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import kb
from kb.startup import lazy_regex

_LIKELY = "a1 A_-.\"'/:=,x\t\n<[(`*#@|%+\\中，。"
_TIMES, _SHORTEST = 120, 600
"""How often a piece is repeated at first, and the characters that this comes to at least."""
_BRISK = 6e-8
"""Seconds a character within which a pattern is let go: one that takes longer has its growth measured."""
_ENOUGH, _STEPS = 0.02, 3
"""Seconds, and lengths tried, from which the growth is believed: a bound of hundreds is only reached in long texts."""
_GROWTH = 8.0
"""Times as long for a text four times as long: 4 is linear, 16 quadratic."""
_DOUBT = 5.5
"""Times as long from which a still longer text is tried: what is bounded grows as fast in short ones."""
_PLAIN = 11.0
"""Times as long for which the longer text is tried at once."""
_MOST = 60
"""Pumps of one pattern that are tried."""
_TRIED = 8
"""Pumps of one pattern that are tried on long texts: those whose time grows fastest."""
_LIMIT, _LATE = 0.05, 1000.0
"""Seconds after which a run is stopped, and the seconds that stand for one that was."""
_EXACT = 0.004
"""Seconds from which a run may have been interrupted by other work of the machine."""


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
    named = [
        (module.__name__, name, value)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, (re.Pattern, lazy_regex._LazyPattern)) and isinstance(value.pattern, str)
    ]
    nodes = {module.__name__: _nodes(module, {name for _, name, _ in named}) for module in modules}
    everywhere = _searched(nodes)
    found: dict[tuple[str, int], Pattern] = {}
    for module, name, value in named:
        _add(found, value, f"{module}.{name}", (module, name) not in everywhere)
    for value in gc.get_objects():
        if isinstance(value, lazy_regex._LazyPattern) and isinstance(value._source, str):
            _add(found, value, "a table", False)
    for place, inside in nodes.items():
        for pattern in _literals(place, inside):
            found.setdefault((pattern.source, pattern.flags), pattern)
    return list(found.values())


def _nodes(module: ModuleType, names: set[str]) -> list[ast.AST]:
    """Return the nodes of the source of *module*; none where it has no pattern, neither named nor as a literal."""
    source = Path(str(module.__file__)).read_text()
    if "re." not in source and names.isdisjoint(re.findall(r"\w+", source)):
        return []
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:  # as `ast.walk`, in half its time
        for value in vars(node).values():
            if isinstance(value, list):
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                nodes.append(value)
    return nodes


def _imports(name: str) -> bool:
    return not name.endswith("__main__")


def _add(found: dict[tuple[str, int], Pattern], value: Any, where: str, at_start: bool) -> None:
    key = (value.pattern, int(value.flags))
    old = found.get(key)
    if old is None or (where != "a table" and old.at_start and not at_start):
        found[key] = Pattern(value.pattern, int(value.flags), where, at_start)


def _searched(nodes: dict[str, list[ast.AST]]) -> set[tuple[str, str]]:
    """Return the module and name of every pattern that is used in any other way than matched at the beginning."""
    searched: set[tuple[str, str]] = set()
    for module, inside in nodes.items():
        origins = {
            (alias.asname or alias.name): (node.module or "", alias.name)
            for node in inside
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        at_start = {id(name) for name in _matched_at_start(inside)}
        for node in inside:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in at_start:
                searched.add(origins.get(node.id, (module, node.id)))
                searched.add((module, node.id))
    return searched


def _matched_at_start(nodes: list[ast.AST]) -> Iterator[ast.Name]:
    """Yield the names in `X.match(text)`, `X.fullmatch(text)` and `map(X.match, texts)`."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "map":
            mapped = node.args[0]
            if isinstance(mapped, ast.Attribute) and mapped.attr == "match" and isinstance(mapped.value, ast.Name):
                yield mapped.value
        elif (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.attr in ("match", "fullmatch")
            and len(node.args) == 1
        ):
            yield function.value


def _literals(module: str, nodes: list[ast.AST]) -> Iterator[Pattern]:
    """Yield the patterns that are handed to functions of `re` as literals."""
    for node in nodes:
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


class _Before(NamedTuple):
    """Three texts that may stand before a part of a pattern."""

    least: str = ""
    """Without what need not be there: "passwordpassword…" has `password\\W*\\w*=` begin at each of them."""
    some: str = ""
    """With some of it."""
    whole: str = ""
    """With every repetition once, so that none of them swallows the pump: only behind "= a" do blanks have
    `=[ \\t]*(.*?)[ \\t]*$` begin at each of them."""

    def followed_by(self, part: Any, rng: random.Random) -> _Before:
        return _Before(
            *((text + sample([part], rng, chance))[-400:] for text, chance in zip(self, _CHANCES, strict=True))
        )


_CHANCES = (0.0, 0.5, 1.0)


def pumps(source: str, flags: int) -> Iterator[tuple[str, str]]:
    """Yield a beginning and a piece to repeat behind it, for every repetition in the pattern."""
    rng = random.Random(1)
    tree = parser.parse(source, flags)
    found: list[tuple[_Before, str]] = []
    _repetitions(tree, _Before(), rng, found)
    seen: set[tuple[str, str]] = set()
    for before, body in found:
        whole = sample(tree, rng)
        for unit in (body, before.some + body, whole, body + "\n", before.least):
            for beginning in ("", before.some[:200], *((before.whole[:200],) if unit == body else ())):
                if unit and (beginning, unit) not in seen and len(unit) <= 400:
                    seen.add((beginning, unit))
                    yield beginning, unit


def _repetitions(tree: Any, before: _Before, rng: random.Random, found: list[tuple[_Before, str]]) -> None:
    """Add to *found*, for every repetition, what may stand before it, and a text that it repeats."""
    for code, value in tree:
        if code in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, high, body = value
            if high > 1:
                found += [(before, sample(body, rng)) for _ in range(3)]
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
        before = before.followed_by((code, value), rng)


def sample(tree: Any, rng: random.Random, chance: float = 0.5) -> str:
    """Return a text that *tree* may match, look-around apart; what need not be there is there with this *chance*.

    With a chance of one, it is of letters where letters will do.
    """
    text = ""
    for code, value in tree:
        if code is sre.LITERAL:
            text += chr(value)
        elif code is sre.NOT_LITERAL:
            text += rng.choice([char for char in 'ax1 ."' if ord(char) != value])
        elif code is sre.ANY:
            text += "a" if chance == 1 else rng.choice("a 1.")
        elif code is sre.IN:
            members = _members(tuple(value)) or [""]
            text += members[0] if chance == 1 else rng.choice(members)
        elif code is sre.BRANCH:
            text += sample(rng.choice(value[1]), rng, chance)
        elif code is sre.SUBPATTERN:
            text += sample(value[3], rng, chance)
        elif code is sre.ATOMIC_GROUP:
            text += sample(value, rng, chance)
        elif code in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            low, high, body = value
            for _ in range(min(low, 100) or int(high > 0 and rng.random() < chance)):
                text += sample(body, rng, chance)
    return text


@cache
def _members(items: tuple[tuple[Any, Any], ...]) -> list[str]:
    """Return likely members of a set of characters."""
    found = [char for char in _LIKELY if _holds(items, char)]
    return (
        found or [char for char in (*map(chr, range(32, 127)), "中", "。", "\u200b", "：") if _holds(items, char)][:1]
    )


def _holds(items: tuple[tuple[Any, Any], ...], char: str) -> bool:
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
    with _stopped_when_late():
        for prefix, unit in _suspects(compiled, pattern):
            seconds = _grows(compiled, pattern.at_start, prefix, unit)
            if seconds and _grows(compiled, pattern.at_start, prefix, unit):
                return Slow(pattern, prefix, unit, seconds)
    return None


def _suspects(compiled: re.Pattern[str], pattern: Pattern) -> Iterator[tuple[str, str]]:
    """Yield up to `_TRIED` pumps whose time grows fast in short texts: the plain ones at once, then by their growth."""
    others: list[tuple[float, str, str]] = []
    left = _TRIED
    for prefix, unit in _some(list(pumps(pattern.source, pattern.flags))):
        growth = _growth(compiled, pattern.at_start, prefix, unit)
        if growth > _PLAIN and left:
            left -= 1
            yield prefix, unit
        elif growth > _DOUBT:
            others.append((growth, prefix, unit))
    for _, prefix, unit in sorted(others, reverse=True)[:left]:
        yield prefix, unit


def _some(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return *found*, or of very many the first and as many of the others, spread over the pattern."""
    if len(found) <= _MOST:
        return found
    half = _MOST // 2
    return found[:half] + random.Random(2).sample(found[half:], half)


def _growth(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str) -> float:
    """Return how many times longer a short text takes than a quarter of it.

    It is 0 where the text takes no time to speak of, `_LATE` where it takes so much that it is stopped.
    """
    times = _times(unit)
    seconds = _seconds(compiled, at_start, prefix, unit, times)
    if seconds == _LATE or seconds <= _BRISK * (len(prefix) + times * len(unit)):
        return seconds if seconds == _LATE else 0.0
    return seconds / min(_seconds(compiled, at_start, prefix, unit, times // 4) for _ in range(2))


def _grows(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str) -> tuple[float, ...]:
    """Return the seconds for texts of rising length, when they rise too fast up to the longest; else ()."""
    times = _times(unit)
    seconds = [_best(compiled, at_start, prefix, unit, times)]
    while seconds[-1] != _LATE and (seconds[-1] < _ENOUGH or len(seconds) < _STEPS):
        times *= 4
        seconds.append(_seconds(compiled, at_start, prefix, unit, times, max(_LIMIT, 1.1 * _GROWTH * seconds[-1])))
        if seconds[-1] < (_GROWTH if len(seconds) > 2 else _DOUBT) * seconds[-2]:
            return ()
        if seconds[-1] < _ENOUGH:
            seconds[-1] = min(seconds[-1], _best(compiled, at_start, prefix, unit, times))
    return tuple(seconds)


def _times(unit: str) -> int:
    """Return how often *unit* is repeated at first."""
    return max(_TIMES, _SHORTEST // len(unit))


def _best(compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str, times: int) -> float:
    """Return the shortest of up to three runs: whatever else the machine does only makes one longer."""
    runs = []
    for _ in range(3):
        runs.append(_seconds(compiled, at_start, prefix, unit, times))
        if runs[-1] > _ENOUGH / 8:
            break
    return min(runs)


@contextmanager
def _stopped_when_late() -> Iterator[None]:
    """Have `_seconds` stopped at its limit."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _seconds(
    compiled: re.Pattern[str], at_start: bool, prefix: str, unit: str, times: int, limit: float = _LIMIT
) -> float:
    """Return the seconds of processor time that one run takes, or `_LATE` when that is more than *limit*.

    The clock is the thread's: while a timer runs, that of the process only moves in steps of milliseconds. Short runs
    are timed by the clock on the wall, which is exact where the thread's may stand still.
    """
    text = prefix + unit * times + "\x00"
    start, on_the_wall = time.thread_time(), time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        if at_start:
            compiled.match(text)
            compiled.fullmatch(text)
        else:
            for _ in compiled.finditer(text):
                pass
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TooLong:
        return _LATE
    took = time.perf_counter() - on_the_wall
    return took if took < _EXACT else time.thread_time() - start
