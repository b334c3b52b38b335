"""Find out whether everything that a pattern matches holds one of a few pieces of text."""

from collections.abc import Iterable, Iterator
from re import IGNORECASE, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_GAP = "\0"
"""Stands for text that may be anything."""
_MOST = 20_000


def find_without(source: str, flags: int, needs: Iterable[str]) -> str | None:
    """Return what *source* may match that holds none of *needs*, gaps as dots; None where there is nothing such."""
    texts = _extend({""}, _parser.parse(source, flags), tuple(needs), bool(flags & IGNORECASE))
    return min(texts, key=len).replace(_GAP, "…") if texts else None


def _extend(texts: set[str], parsed: Iterable[Any], needs: tuple[str, ...], folded: bool) -> set[str]:
    """Return *texts*, each followed by all that *parsed* may match, but for those that hold one of *needs*."""
    for operator, argument in parsed:
        texts = {made for made in _step(texts, operator, argument, needs, folded) if not _holds(made, needs)}
        if len(texts) > _MOST:
            raise ValueError("too many alternatives")
    return texts


def _holds(text: str, needs: tuple[str, ...]) -> bool:
    return any(need in text for need in needs)


def _step(texts: set[str], operator: Any, argument: Any, needs: tuple[str, ...], folded: bool) -> Iterator[str]:
    c = _constants
    if operator is c.LITERAL:
        letter = chr(argument)
        yield from (text + (letter.casefold() if folded else letter) for text in texts)
    elif operator in (c.AT, c.ASSERT, c.ASSERT_NOT):
        yield from texts
    elif operator is c.IN and len(argument) <= 8 and all(kind is c.LITERAL for kind, _ in argument):
        for _, code in argument:
            yield from (text + (chr(code).casefold() if folded else chr(code)) for text in texts)
    elif operator is c.BRANCH:
        for branch in argument[1]:
            yield from _extend(texts, branch, needs, folded)
    elif operator is c.SUBPATTERN:
        yield from _extend(texts, argument[3], needs, folded)
    elif operator is c.ATOMIC_GROUP:
        yield from _extend(texts, argument, needs, folded)
    elif operator in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        least, most, inside = argument
        if least == 0:
            yield from texts
        if least <= 1 <= most:
            yield from _extend(texts, inside, needs, folded)
        if most > 1:  # the first and the last of them, with whatever between
            ends = {text + _GAP for text in _extend(texts, inside, needs, folded)}
            yield from _extend(ends, inside, needs, folded)
    else:
        yield from (text + _GAP for text in texts)
