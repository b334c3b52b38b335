"""Edit the tables of a TOML text: what is not meant to change keeps its bytes, order, layout and comments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_TOKEN = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\r\n])*"|\'[^\'\r\n]*\'|#[^\r\n]*', re.DOTALL)
_HEADER = re.compile(r"^[ \t]*\[{1,2}([^\r\n]*?)\]{1,2}[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
_KEY = r'[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|\'[^\']*\''
_NAME = re.compile(rf"\s*(?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*\s*")
_LINE = re.compile(
    rf"^[ \t]*({_KEY})[ \t]*+=[ \t]*+(\[[^\[\]]*+\]|(?:[^\r\n#]*[^\r\n# \t])?)[ \t]*+(?=#|\r?$)", re.MULTILINE
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlTable(NamedTuple):
    """A table with a header of its own."""

    name: tuple[str, ...]
    start: int
    """Where its header line begins."""
    end: int
    """Where the next header begins, or the text ends."""


def list_tables(text: str) -> list[TomlTable]:
    """Return the tables of a valid TOML *text* in their order."""
    inside = [match.span() for match in _TOKEN.finditer(text) if "\n" in match[0]]
    found = [
        (match.start(), _parse_table_name(match[1]))
        for match in _HEADER.finditer(text)
        if _NAME.fullmatch(match[1]) and not any(start < match.start() < end for start, end in inside)
    ]
    ends = [*(start for start, _ in found), len(text)][1:]
    return [TomlTable(name, start, end) for (start, name), end in zip(found, ends, strict=True)]


def _parse_table_name(header: str) -> tuple[str, ...]:
    return tuple(_unquote_key(match) for match in re.findall(_KEY, header))


def _unquote_key(key: str) -> str:
    return str(json.loads(key)) if key[0] == '"' else key.strip("'")


def set_table(text: str, name: Sequence[str], values: Mapping[str, object]) -> str:
    """Return *text* with the table *name* that holds *values*: texts and lists of texts.

    In a table that is there the keys are set and the others stay; a new one stands at the end.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    there = next((table for table in list_tables(text) if table.name == tuple(name)), None)
    if there is None:
        header = ".".join(key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in name)
        rows = [f"[{header}]", *(f"{key} = {_format_value(value)}" for key, value in values.items()), ""]
        gap = "" if not text.strip() else newline if text.endswith(newline) else 2 * newline
        return text + gap + newline.join(rows)
    body = text[there.start : there.end]
    for key, value in values.items():
        body = _set_key(body, key, _format_value(value), newline)
    return text[: there.start] + body + text[there.end :]


def _set_key(body: str, key: str, value: str, newline: str) -> str:
    for line in _LINE.finditer(body):
        if _unquote_key(line[1]) == key:
            return body[: line.start(2)] + value + body[line.end(2) :]
    head = body.index("\n") + 1 if "\n" in body else len(body)
    return body[:head] + ("" if "\n" in body else newline) + f"{key} = {value}{newline}" + body[head:]


def remove_table(text: str, name: Sequence[str]) -> str:
    """Return *text* without the table *name* and those below it; comments in front of the next table stay."""
    for table in reversed(list_tables(text)):
        if table.name[: len(name)] == tuple(name):
            rows = text[table.start : table.end].splitlines(keepends=True)
            while len(rows) > 1 and (not rows[-1].strip() or rows[-1].lstrip().startswith("#")):
                rows.pop()
            before, after = text[: table.start], text[table.start + len("".join(rows)) :]
            if not after.strip():
                before = before.rstrip() + ("\n" if before.strip() and not after else "")
            elif after.startswith(("\n", "\r\n")) and (not before.strip() or before.endswith(("\n\n", "\r\n\r\n"))):
                after = after.removeprefix("\r").removeprefix("\n")
            text = before + after
    return text


def _format_value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
