"""Edit settings in JSON and TOML as text: what is not meant to change keeps its bytes, order, layout and comments.

No library does: they lose the comments of JSON, put a new TOML table into the middle, and mix line ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)
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
    """Return *text* with spaces in place of its comments and of commas after which nothing comes."""
    plain = _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0]), text)
    return _TRAILING_COMMA.sub(lambda match: match[0] if match[0][0] == '"' else " ", plain)


def list_children(text: str, at: int) -> list[JsonSpan]:
    """Return the members of the object, or the items of the list, that begins at *at* in a valid JSON *text*."""
    text = strip_comments(text)
    found, is_object = [], text[at] == "{"
    at = _skip_space(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        found.append(JsonSpan(start, at, end, key))
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at
    return found


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def find_root(text: str) -> int:
    """Return where the value of a valid JSON *text* begins."""
    return _skip_space(strip_comments(text), 0)


def find_member(text: str, at: int, key: str) -> JsonSpan | None:
    """Return the member *key* of the object that begins at *at*; of several the last, as every reader takes it."""
    return next((value for value in reversed(list_children(text, at)) if value.key == key), None)


def find_path(text: str, path: Sequence[str]) -> JsonSpan | None:
    """Return what is at *path*, keys from the root of a JSON *text*; None where there is nothing, or no path."""
    span = None
    at = find_root(text)
    for key in path if text.strip() else ():
        if (span := find_member(text, at, key)) is None:
            return None
        at = span.at
    return span


def put_value(text: str, path: Sequence[str], value: Any, *, as_item: bool = False) -> str:
    """Return *text* with *value* at *path* (keys from the root), or *as_item* after the others of the list there."""
    text = text if text.strip() else "{}\n"
    known = next(length for length in range(len(path), -1, -1) if not length or find_path(text, path[:length]))
    there = find_path(text, path[:known])
    if there and known == len(path):
        return insert_value(text, there.at, value) if as_item else replace_value(text, there, value)
    missing = [value] if as_item else value
    for key in reversed(path[known + 1 :]):
        missing = {key: missing}
    return insert_value(text, there.at if there else find_root(text), missing, path[known])


def insert_value(text: str, at: int, value: object, key: str = "") -> str:
    """Return *text* with *value* as the last in the object (under *key*) or list that begins at *at*."""
    # as the file is written elsewhere: two spaces or a tab, LF or CRLF
    unit, newline = detect_layout(text)
    values = list_children(text, at)
    end = _find_end(text, at) - 1
    outer = _read_indent(text, at)
    inner = outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    entry = (json.dumps(key, ensure_ascii=False) + ": " if key else "") + shown
    if not values:
        kept = text[at + 1 : end].rstrip()  # comments in an empty object
        return text[: at + 1] + kept + newline + inner + entry + newline + outer + text[end:]
    last = values[-1]  # what is added is indented as its neighbour, not as the file elsewhere
    inner = _read_indent(text, last.start) if newline in text[at : last.start] else inner
    comma = _find_comma(text, last.end, end)
    # after the comment on the last line, which is about that value: `"a": 1 // first`
    line = _REST_OF_LINE.match(text, last.end if comma < 0 else comma + 1, end)
    spot = line.end() if line else last.end if comma < 0 else comma + 1
    joint = "," if comma < 0 else ""
    return text[: last.end] + joint + text[last.end : spot] + newline + inner + entry + text[spot:]


def replace_value(text: str, value: JsonSpan, new: object) -> str:
    """Return *text* with *new* in place of *value*, on one line."""
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
    if not number:  # the first: what follows its comma, a comment for instance, is about the next one
        between = text[one.end : behind] + text[behind + 1 : values[1].start]
        return text[: one.start] + (between.lstrip() if between.strip() else "") + text[values[1].start :]
    start = one.start - len(before)
    if behind >= 0:  # in the middle, or the last with a comma after it: `[1, 2,]`
        return text[:start] + before.rstrip() + text[behind + 1 :]
    comma = _find_comma(text, start, one.start)
    return text[:start] + (text[start:comma] + text[comma + 1 : one.start]).rstrip() + text[one.end :]


def remove_path(text: str, path: Sequence[str | int]) -> str:
    """Return *text* without what is at *path* (keys and numbers from the root), and without what held nothing else.

    An object or list with a comment in it stays.
    """
    at, steps = find_root(text), []
    for step in path:
        children = list_children(text, at)
        number = max(n for n, child in enumerate(children) if step in (child.key, n))
        steps.append((at, number))
        at = children[number].at
    for at, number in reversed(steps):
        text = remove_value(text, at, number)
        if text[at : at + 2] not in ("{}", "[]"):
            break
    return text


def _find_end(text: str, at: int) -> int:
    """Return where the value that begins at *at* ends."""
    return int(_DECODER.raw_decode(strip_comments(text), at)[1])


def _find_comma(text: str, start: int, end: int) -> int:
    """Return where between two values, or behind the last one, a comma is outside comments; -1 for nowhere."""
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


# -- TOML --------------------------------------------------------------------------------------------

_TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\r\n])*"|\'[^\'\r\n]*\'|#[^\r\n]*', re.DOTALL
)
_TOML_HEADER = re.compile(r"^[ \t]*\[{1,2}([^\r\n]*?)\]{1,2}[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
_KEY = r'[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|\'[^\']*\''
_NAME = re.compile(rf"\s*(?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*\s*")
_TOML_LINE = re.compile(
    rf"^[ \t]*({_KEY})[ \t]*+=[ \t]*+(\[[^\[\]]*+\]|(?:[^\r\n#]*[^\r\n# \t])?)[ \t]*+(?=#|\r?$)", re.MULTILINE
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def list_tables(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Return name, start and end (that of the next one, or of the text) of the tables of a valid TOML *text*."""
    # a line that looks like a header may be within a text of several lines: """\n[mcp_servers.kb]\n"""
    inside = [match.span() for match in _TOML_TOKEN.finditer(text) if "\n" in match[0]]
    found = [
        (match.start(), tuple(map(_unquote_key, re.findall(_KEY, match[1]))))
        for match in _TOML_HEADER.finditer(text)
        if _NAME.fullmatch(match[1]) and not any(start < match.start() < end for start, end in inside)
    ]
    ends = [*(start for start, _ in found), len(text)][1:]
    return [(name, start, end) for (start, name), end in zip(found, ends, strict=True)]


def _unquote_key(key: str) -> str:
    return str(json.loads(key)) if key[0] == '"' else key.strip("'")


def set_table(text: str, name: Sequence[str], values: Mapping[str, object]) -> str:
    """Return *text* with the table *name* that holds *values*: texts and lists of texts.

    In a table that is there the keys are set and the others stay; a new one is at the end.
    """
    newline = detect_layout(text)[1]
    rows = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
    there = next(((start, end) for table, start, end in list_tables(text) if table == tuple(name)), None)
    if there is None:
        header = ".".join(key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in name)
        gap = "" if not text.strip() else newline if text.endswith(newline) else 2 * newline
        return text + gap + newline.join([f"[{header}]", *(f"{key} = {value}" for key, value in rows.items()), ""])
    body = text[there[0] : there[1]]
    for key, value in rows.items():
        line = next((line for line in _TOML_LINE.finditer(body) if _unquote_key(line[1]) == key), None)
        if line:
            body = body[: line.start(2)] + value + body[line.end(2) :]
        else:  # below the header, which may end the text without a line end
            head, end, rest = body.partition("\n")
            body = f"{head}{end or newline}{key} = {value}{newline}{rest}"
    return text[: there[0]] + body + text[there[1] :]


def remove_table(text: str, name: Sequence[str]) -> str:
    """Return *text* without the table *name* and those below it; comments in front of the next table stay."""
    # the last first, so that the places of the others hold
    for table, start, end in reversed(list_tables(text)):
        if table[: len(name)] == tuple(name):
            rows = text[start:end].splitlines(keepends=True)
            # what is above the next header is about the next table
            while len(rows) > 1 and (not rows[-1].strip() or rows[-1].lstrip().startswith("#")):
                rows.pop()
            before, after = text[:start], text[start + len("".join(rows)) :]
            if not after.strip():
                before = before.rstrip() + ("\n" if before.strip() and not after else "")
            elif after.startswith(("\n", "\r\n")) and (not before.strip() or before.endswith(("\n\n", "\r\n\r\n"))):
                after = after.removeprefix("\r").removeprefix("\n")
            text = before + after
    return text
