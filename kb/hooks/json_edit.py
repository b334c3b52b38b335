"""Edit JSON as text: what is not meant to change keeps its bytes, order, layout and comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_SPARE = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*+(?:/\*(?:[^\r\n*]|\*(?!/))*+\*/[ \t]*+)*+(?://[^\r\n]*+)?(?=\r?\n)")
_DECODER = json.JSONDecoder()


class JsonSpan(NamedTuple):
    """A value in a JSON text."""

    start: int
    """Where it begins; for a member of an object, where its key begins."""
    at: int
    """Where the value itself begins."""
    end: int
    key: str = ""


def strip_comments(text: str) -> str:
    """Return *text* with spaces in the place of its comments and of commas behind which nothing comes."""
    plain = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0]), text)
    return _SPARE.sub(lambda match: match[0] if match[0][0] == '"' else " ", plain)


def list_children(text: str, at: int) -> list[JsonSpan]:
    """Return the members of the object, or the items of the list, that begins at *at* in a valid JSON *text*."""
    return list(_iter_children(strip_comments(text), at))


def _iter_children(text: str, at: int) -> Iterator[JsonSpan]:
    is_object = text[at] == "{"
    at = _skip_space(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield JsonSpan(start, at, end, key)
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def find_root(text: str) -> int:
    """Return where the value of a valid JSON *text* begins."""
    return _skip_space(strip_comments(text), 0)


def find_member(text: str, at: int, key: str) -> JsonSpan | None:
    """Return the member *key* of the object that begins at *at*; of several the last, as every reader takes it."""
    return next((value for value in reversed(list_children(text, at)) if value.key == key), None)


def insert_value(text: str, at: int, value: object, key: str = "") -> str:
    """Return *text* with *value* as the last in the object (under *key*) or list that begins at *at*."""
    unit, newline = detect_layout(text)
    values = list_children(text, at)
    end = _find_end(text, at) - 1
    outer = _read_indent(text, at)
    inner = outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    entry = (json.dumps(key, ensure_ascii=False) + ": " if key else "") + shown
    if not values:
        kept = text[at + 1 : end].rstrip()
        return text[: at + 1] + kept + newline + inner + entry + newline + outer + text[end:]
    last = values[-1]
    inner = _read_indent(text, last.start) if newline in text[at : last.start] else inner
    comma = _find_comma(text, last.end, end)
    line = _REST_OF_LINE.match(text, last.end if comma < 0 else comma + 1, end)
    place = line.end() if line else last.end if comma < 0 else comma + 1
    joint = "," if comma < 0 else ""
    return text[: last.end] + joint + text[last.end : place] + newline + inner + entry + text[place:]


def replace_value(text: str, value: JsonSpan, new: object) -> str:
    """Return *text* with *new* in the place of *value*, on one line."""
    return text[: value.at] + json.dumps(new, ensure_ascii=False) + text[value.end :]


def remove_value(text: str, at: int, number: int) -> str:
    """Return *text* without the member or item *number* of the object or list that begins at *at*."""
    values = list_children(text, at)
    one, end = values[number], _find_end(text, at) - 1
    before = text[values[number - 1].end if number else at + 1 : one.start]
    behind = _find_comma(text, one.end, values[number + 1].start if number + 1 < len(values) else end)
    if len(values) == 1:
        after = text[one.end : end] if behind < 0 else text[one.end : behind] + text[behind + 1 : end]
        return text[: at + 1] + ((before + after) if (before + after).strip() else "") + text[end:]
    if not number:
        between = text[one.end : behind] + text[behind + 1 : values[1].start]
        return text[: one.start] + (between.lstrip() if between.strip() else "") + text[values[1].start :]
    start = one.start - len(before)
    if behind >= 0:
        return text[:start] + before.rstrip() + text[behind + 1 :]
    comma = _find_comma(text, start, one.start)
    return text[:start] + (text[start:comma] + text[comma + 1 : one.start]).rstrip() + text[one.end :]


def _find_end(text: str, at: int) -> int:
    """Return where the value that begins at *at* ends."""
    return int(_DECODER.raw_decode(strip_comments(text), at)[1])


def _find_comma(text: str, start: int, end: int) -> int:
    """Return where between two values, or behind the last one, a comma stands outside comments; -1 for nowhere."""
    plain = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]), text)
    return plain.find(",", start, end)


def detect_layout(text: str) -> tuple[str, str]:
    """Return the indent of one level and the line end of *text*: two spaces and a newline where it shows none."""
    newline = "\r\n" if "\r\n" in text else "\n"
    indented = re.search(r"[\[{]\r?\n([ \t]+)", text)
    return (indented[1] if indented else "  "), newline


def _read_indent(text: str, at: int) -> str:
    """Return the space with which the line of *at* begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
