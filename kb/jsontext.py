"""Edit JSON as text: what is not meant to change keeps its bytes, order, layout and comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from kb.values import NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class Value(NamedTuple):
    """A value in a JSON text."""

    start: int
    """Where it begins; for a member of an object, where its key begins."""
    at: int
    """Where the value itself begins."""
    end: int
    key: str = ""


@lru_cache(maxsize=4)
def plain(text: str) -> str:
    """Return *text* with spaces in the place of its comments, so that every place in it stays where it is."""
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text)


def inside(text: str, at: int) -> list[Value]:
    """Return the members of the object, or the items of the list, that begins at *at* in a valid JSON *text*."""
    return list(_inside(plain(text), at))


def _inside(text: str, at: int) -> Iterator[Value]:
    is_object = text[at] == "{"
    at = _past(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _past(text, _past(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield Value(start, at, end, key)
        at = _past(text, end)
        at = _past(text, at + 1) if text[at] == "," else at


def _past(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def top(text: str) -> int:
    """Return where the value of a valid JSON *text* begins."""
    return _past(plain(text), 0)


def member(text: str, at: int, key: str) -> Value | None:
    """Return the member *key* of the object that begins at *at*; of several the last, as every reader takes it."""
    return next((value for value in reversed(inside(text, at)) if value.key == key), None)


def added(text: str, at: int, value: object, key: str = "") -> str:
    """Return *text* with *value* as the last in the object (under *key*) or list that begins at *at*."""
    unit, newline = layout(text)
    values = inside(text, at)
    end = _DECODER.raw_decode(plain(text), at)[1] - 1
    outer = _margin(text, at)
    inner = outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    entry = (json.dumps(key, ensure_ascii=False) + ": " if key else "") + shown
    if values:
        last = values[-1]
        inner = _margin(text, last.start) if newline in text[at : last.start] else inner
        told, space = _split(text[last.end : end])
        return text[: last.end] + "," + told + newline + inner + entry + space + text[end:]
    told, _ = _split(text[at + 1 : end])
    return text[: at + 1] + told + newline + inner + entry + newline + outer + text[end:]


def without(text: str, at: int, number: int) -> str:
    """Return *text* without the member or item *number* of the object or list that begins at *at*."""
    values = inside(text, at)
    gone = values[number]
    if len(values) == 1:
        end = _DECODER.raw_decode(plain(text), at)[1] - 1
        told = _split(text[at + 1 : gone.start])[0] + _split(text[gone.end : end])[0]
        return text[: at + 1] + (told + text[gone.end + len(text[gone.end : end].rstrip()) :] if told else text[end:])
    if number:
        before = values[number - 1].end
        return text[:before] + _split(_without_comma(text[before : gone.start]))[0] + text[gone.end :]
    return text[: gone.start] + _without_comma(text[gone.end : values[1].start]).lstrip() + text[values[1].start :]


def _split(between: str) -> tuple[str, str]:
    """Return the comments in *between*, which holds nothing else, and the space behind them."""
    told = between.rstrip()
    return told, between[len(told) :]


def _without_comma(between: str) -> str:
    at = plain(between).index(",")
    return between[:at] + between[at + 1 :]


def layout(text: str) -> tuple[str, str]:
    """Return the indent of one level and the line end of *text*: two spaces and a newline where it shows none."""
    newline = "\r\n" if "\r\n" in text else "\n"
    indented = re.search(r"[\[{]\r?\n([ \t]+)", text)
    return (indented[1] if indented else "  "), newline


def _margin(text: str, at: int) -> str:
    """Return the space with which the line of *at* begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
