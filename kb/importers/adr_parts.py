"""Cut a foreign decision record into headings, texts and field lines, whatever its dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kb.importers.adr_fields import parse_date, parse_status
from kb.text.line_ends import split_lines
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import has_cjk, one_line


class AdrPart(NamedTuple):
    """A heading and the text up to the next one; level 0 is the text before any heading."""

    level: int
    heading: str
    text: str
    line: str = ""
    """The heading as it stands in the file, with its line end."""


class AdrFields(NamedTuple):
    """What the lines of a file say about it, whatever their form."""

    status: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    others: Mapping[str, str] = {}
    rest: str = ""
    """The lines that are no fields, or that say more than a field can hold."""
    bulleted: str = ""
    """The bullet before the status or date line: "*", "-" or ""."""


# -- the text in parts ----------------------------------------------------------------------------

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]++((?:.*[^ \t\n])?))?[ \t]*+$")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_UNDERLINE = re.compile(r"(={3,}|-{3,})[ \t]*$")
_NO_PARAGRAPH = re.compile(r"[ \t]*$|[ \t]*(?:[-*+>|#<]|\d+[.)][ \t])| {4}|\t|(?:```|~~~)")


def split_parts(body: str) -> list[AdrPart]:
    """Return *body* cut at its headings outside code, of all ranks; the first part has the text before them."""
    rows = split_lines(body)
    code = find_code_lines(body)
    found: list[tuple[int, str, list[str], str]] = [(0, "", [], "")]
    skip = -1
    for number, row in enumerate(rows):
        if number == skip:
            continue
        heading = None if number in code else _parse_heading(rows, number)
        if heading is None:
            found[-1][2].append(row)
            continue
        level, title, length = heading
        found.append((level, title, [], "".join(rows[number : number + length])))
        skip = number + 1 if length == 2 else -1
    return [AdrPart(level, title, "".join(text), line) for level, title, text, line in found]


def _parse_heading(rows: list[str], number: int) -> tuple[int, str, int] | None:
    """Return level, title and number of lines of the heading that begins on the line *number*, or None."""
    bare = rows[number].rstrip("\n")
    match = _ATX.match(bare)
    if match:
        return len(match.group(1)), _CLOSING.sub("", match.group(2) or "").strip(), 1
    after_blank = number == 0 or not rows[number - 1].strip()
    if not after_blank or number + 1 >= len(rows) or _NO_PARAGRAPH.match(bare):
        return None
    under = _UNDERLINE.match(rows[number + 1].rstrip("\n"))
    return (1 if under.group(1)[0] == "=" else 2, bare.strip(), 2) if under else None


def merge_subparts(pieces: list[AdrPart], cut: int) -> list[AdrPart]:
    """Return *pieces* with those deeper than the rank *cut* put back into the text of the part above them."""
    whole: list[AdrPart] = []
    for piece in pieces:
        if whole and piece.level > cut:
            whole[-1] = whole[-1]._replace(text=whole[-1].text + piece.line + piece.text)
        else:
            whole.append(piece)
    return whole


# -- fields in lines ------------------------------------------------------------------------------

_FIELD = re.compile(
    r"[ \t]*(?:([-*+])[ \t]+)?(?:\*\*|__)?([A-Za-z\u4e00-\u9fff][\w \u4e00-\u9fff-]{0,30}?)(?:\*\*|__)?[ \t]*"
    r"[:：][ \t]*(?:\*\*|__)?[ \t]*+((?:.*[^ \t\n])?)[ \t]*+$"
)
_ROW = re.compile(
    r"[ \t]*+\|[ \t]*+()(?:\*\*)?([^|*]{1,30}?)(?:\*\*)?[ \t]*\|[ \t]*+((?:[^|]*[^| \t])?)[ \t]*\|[ \t]*+$"
)
_BARE_DATE = re.compile(r"()(Date)[ \t]++(\d(?:.*[^ \t\n])?)[ \t]*$")
_FIELD_NAMES = {
    "status": "status",
    "状态": "status",
    "当前状态": "status",
    "date": "date",
    "日期": "date",
    "决策日期": "date",
    "创建日期": "date",
    "tags": "tags",
    "标签": "tags",
    "deciders": "deciders",
    "decision-makers": "deciders",
    "decision makers": "deciders",
    "决策者": "deciders",
    "决策人": "deciders",
    "author": "author",
    "authors": "author",
    "作者": "author",
}


def parse_fields(text: str) -> AdrFields:
    """Return what the field lines of *text* (`Date: …`, `- Status: …`, `| Status | … |`) say, and the other lines."""
    values: dict[str, str] = {}
    rest: list[str] = []
    bullet = ""
    for row in split_lines(text):
        match = _FIELD.match(row.rstrip("\n")) or _BARE_DATE.match(row) or _ROW.match(row)
        name = _FIELD_NAMES.get(match.group(2).strip().lower(), "") if match else ""
        if not match or not name or name in values:
            rest.append(row)
            continue
        values[name] = match.group(3).strip()
        bullet = match.group(1) or bullet if name in ("status", "date") else bullet
        if not _is_fully_parsed(name, values[name]):
            rest.append(row)
    return AdrFields(
        status=values.pop("status", ""),
        date=values.pop("date", ""),
        tags=split_list(values.pop("tags", "")),
        others=values,
        rest="".join(rest).strip("\n"),
        bulleted=bullet,
    )


def _is_fully_parsed(name: str, value: str) -> bool:
    """Return whether the field holds all that its line says, so that the line need not stay in the text."""
    if name == "status":
        return parse_status(value).exact
    return parse_date(value).exact and bool(parse_date(value).date) if name == "date" else True


def split_list(value: object) -> tuple[str, ...]:
    """Return the words of a list, or of a text that separates them by commas."""
    items = value if isinstance(value, list) else re.split(r"[,，、;；]", str(value or "").strip("{}[]"))
    return tuple(word for word in (one_line(str(item)) for item in items) if word)


def flatten_value(value: object) -> str:
    """Return a scalar of a front as text; `{accepted}`, which YAML reads as a mapping, is the word inside."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}" if inner is None else f"{key}: {inner}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(flatten_value(item) for item in value)
    return "" if value is None else str(value).strip()


PREAMBLES = ("前言", "Preamble")


def choose_preamble_heading(text: str) -> str:
    """Return the heading under which a record keeps *text* that stands before a file's first section."""
    return PREAMBLES[0] if has_cjk(text) else PREAMBLES[1]
