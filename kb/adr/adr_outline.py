"""Split a foreign decision record into headings and field lines, and find the places of it that may change.

Everything else of the file keeps its bytes. Texts here have `\\n` as line ends; `adr_style.edit_lines` sees to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.adr.adr_fields import name_field, parse_date, parse_status
from kb.adr.adr_text import match_section
from kb.adr.adr_words import FIELD_BY_WORD
from kb.records.front_matter import find_body_start, find_front_matter
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import one_line, split_lines


class AdrPart(NamedTuple):
    """A heading and the text up to the next one; level 0 is the text before any heading."""

    level: int
    heading: str
    text: str
    line: str = ""
    """The heading as it is in the file, with its line end."""


class StatusPlace(NamedTuple):
    """Where a file says its status: offsets of the text that says it, markup around it left out."""

    sort: str
    """front, field, heading or section."""
    start: int
    end: int


class AdrOutline(NamedTuple):
    """A file in its parts, which together are its text."""

    front: str
    """The front matter with its marks, or ""."""
    above: str
    """What stands before the title."""
    title: AdrPart | None
    header: list[AdrPart]
    """What stands between title and first section: mostly nothing, else a second title, or a table of contents."""
    sections: list[AdrPart]


class AdrFields(NamedTuple):
    """What the lines of a file say about it, whatever their form."""

    status: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    others: Mapping[str, str] = {}
    rest: str = ""
    """The lines that are not fields, or that say more than a field can hold."""
    bulleted: str = ""
    """The bullet before the status or date line: "*", "-" or ""."""


# -- fields in lines ------------------------------------------------------------------------------

_FIELD = re.compile(
    r"[ \t]*(?:>[ \t]?)?(?:([-*+•])[ \t]+)?(?:\*\*|__)?([^\W\d_][\w '’-]{0,30}?(?: ?\([\w ]{1,12}\))?)(?:\*\*|__)?"
    r"[ \t]*[:：][ \t]*(?:\*\*|__)?[ \t]*+((?:.*[^ \t\n])?)[ \t]*+$"
)
_ROW = re.compile(
    r"[ \t]*+\|[ \t]*+()(?:\*\*)?([^|*]{1,30}?)(?:\*\*)?[ \t]*\|[ \t]*+((?:[^|]*[^| \t])?)[ \t]*\|?[ \t]*+$"
)
_DATE_FIELDS = ("date", "day", "created", "updated")
_HEADER_WORDS = "|".join(word for word, name in FIELD_BY_WORD.items() if name in ("status", *_DATE_FIELDS))
_NEXT_FIELD = re.compile(
    r"(?<![ \t])(?:[ \t]++[|·•][ \t]++(?=(?:\*\*|__)?[^\W\d_][\w -]{0,30}(?:\*\*|__)?[:：])"
    rf"|[ \t]*+[,;.，；。—–·][ \t]*+(?=(?:\*\*|__)?(?:{_HEADER_WORDS})(?:\*\*|__)?[ \t]?[:：]))",
    re.IGNORECASE,
)
"""What is between fields that share a line: “**Status:** Accepted | **Date:** 2025-03-26”, “Status: done. Date: …”."""
_BARE_DATE = re.compile(r"()(Date)[ \t]++(\d(?:.*[^ \t\n])?)[ \t]*$")
_LABELLED = re.compile(r"\[([^\[\]\n]*+)\]\([^()\n]*+\)")
"""A link, of which only the words are a name."""


class FieldLine(NamedTuple):
    """A line that gives a field a value: `Date: …`, `- Status: …`, `| Status | … |`."""

    name: str
    """status, date, created, tags, deciders or author."""
    bullet: str
    start: int
    """The offset of the value in the line; markup behind it is no part of it."""
    end: int
    value: str


def parse_field_line(line: str) -> FieldLine | None:
    """Return the field in *line*, or None for another line."""
    match = _FIELD.match(line.rstrip("\n")) or _BARE_DATE.match(line) or _ROW.match(line)
    name = name_field(match[2]) if match else ""
    if not match or not name:
        return None
    return _build_field(name, match[1] or "", match.start(3), match[3].strip())


def _build_field(name: str, bullet: str, start: int, value: str) -> FieldLine | None:
    """Return the field *name*; "Accepted: 2026-06-30" is a date, "Created: by hand" is none."""
    if name in _DATE_FIELDS[1:] and not parse_date(value, day_first=True).date:
        return None
    return FieldLine("date" if name == "day" else name, bullet, start, start + len(value.rstrip("*_\\ ")), value)


def list_line_fields(line: str) -> list[FieldLine]:
    """Return the fields in *line*: mostly one, or several with bars between them."""
    bare = line.rstrip("\n")
    is_field = _FIELD.match(bare) is not None
    bars = [] if bare.lstrip().startswith("|") else [*_NEXT_FIELD.finditer(bare)]
    bars = [bar for bar in bars if is_field or bar.group().strip() in "|·•"]
    starts = [0, *(bar.end() for bar in bars)]
    ends = [*(bar.start() for bar in bars), len(bare)]
    found = [(start, parse_field_line(bare[start:end])) for start, end in zip(starts, ends, strict=True)]
    return [one._replace(start=start + one.start, end=start + one.end) for start, one in found if one]


_RULE_ROW = re.compile(r"[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+(?:\||(?=\n|\Z)))++[ \t]*+\n?\Z")


def _split_cells(row: str) -> list[tuple[int, str]]:
    """Return the cells of a table's *row*, each with the offset of its text."""
    start = len(row) - len(row.lstrip().removeprefix("|"))
    cells = []
    for cell in row[start:].rstrip().removesuffix("|").split("|"):
        cells.append((start + len(cell) - len(cell.lstrip()), cell.strip()))
        start += len(cell) + 1
    return cells


def _find_table_fields(rows: Sequence[str]) -> dict[int, list[FieldLine]]:
    """Return the fields of tables whose first row names them: “| Status | Date |”, a rule, and one row of values.

    By the number of that row; the rows above it have none. A table of several rows is a history, or anything else, and
    “| Status | Accepted |” above a rule is itself a name with its value.
    """
    found: dict[int, list[FieldLine]] = {}
    for number in range(2, len(rows)):
        head, rule, row, *after = rows[number - 2 : number + 2]
        if "|" not in head or "|" not in row or "|" in "".join(after) or not _RULE_ROW.match(rule):
            continue
        heads = [name.strip("*_ ") for _, name in _split_cells(head)]
        names = [name_field(name) for name in heads]
        is_pair = len(heads) == 2 and parse_status(heads[1]).certain
        if not is_pair and (sum(map(bool, names)) > 1 or (len(names) == 1 and names[0])):
            cells = ((name, *cell) for name, cell in zip(names, _split_cells(row), strict=False) if name and cell[1])
            fields = (_build_field(name, "", start, value) for name, start, value in cells)
            found |= {number - 2: [], number - 1: [], number: [field for field in fields if field]}
    return found


def _find_fields(rows: Sequence[str]) -> Iterator[tuple[int, list[FieldLine]]]:
    """Yield the fields of each of *rows* with its number, those of tables and quotations included.

    What a quotation says counts where no other line says it: “> **Status:** accepted” may be the legend of a form. A
    status with nothing behind it is the line below.
    """
    tables = _find_table_fields(rows)
    found = [tables.get(number, list_line_fields(row)) for number, row in enumerate(rows)]
    for number in range(1, len(rows)):
        row, above = rows[number], found[number - 1]
        is_bare = [(field.name, field.value) for field in above] == [("status", "")]
        if is_bare and not found[number] and parse_status(row).certain:
            start = len(row) - len(row.lstrip())
            moved = above[0]._replace(start=start, end=len(row.rstrip()), value=row.strip())
            found[number - 1], found[number] = [], [moved]
    quoted = [row.lstrip().startswith(">") for row in rows]
    own = {field.name for number, fields in enumerate(found) for field in fields if not quoted[number]}
    for number, fields in enumerate(found):
        yield number, [field for field in fields if not quoted[number] or field.name not in own]


def parse_fields(text: str) -> AdrFields:
    """Return what the field lines of *text* (`Date: …`, `- Status: …`, `| Status | … |`) say, and the other lines."""
    values: dict[str, str] = {}
    rest: list[str] = []
    bullet = ""
    rows = split_lines(text)
    tables = _find_table_fields(rows)
    for number, found in _find_fields(rows):
        row, fields = rows[number], [field for field in found if field.name not in values]
        # A line that says more than the fields can hold stays in the text as well.
        is_whole = len(fields) == 1 and not _NEXT_FIELD.search(row) and fields[0].name != "updated"
        if fields and number in tables:
            is_whole = len(fields) == len(_split_cells(row))
        for field in fields:
            name, value = field.name, field.value
            if name in values:
                continue
            values[name] = value if name in ("status", *_DATE_FIELDS) else _LABELLED.sub(r"\1", value)
            if name in ("status", "date", "created"):
                bullet = field.bullet or bullet
                day = parse_date(value)
                is_whole &= parse_status(value).exact if name == "status" else day.exact and bool(day.date)
        if not is_whole:
            rest.append(row)
        elif number in tables:
            del rest[-2:]
        elif fields[0].value == row.strip():
            del rest[-1:]
    # the day a file was created counts only where nothing says when it was decided, its last change after that
    days = [text for text in (values.pop("date", ""), values.pop("created", ""), values.pop("updated", "")) if text]
    return AdrFields(
        status=values.pop("status", ""),
        date=next((text for text in days if parse_date(text, day_first=True).date), days[0] if days else ""),
        tags=split_list(values.pop("tags", "")),
        others=values,
        rest="".join(rest).strip("\n"),
        bulleted=bullet,
    )


def is_quoted(text: str, status: str) -> bool:
    """Return whether *status* is what a field in a quotation of *text* says: of other documents that is usual too."""
    rows = (row for row in split_lines(text) if row.lstrip().startswith(">") and status in row)
    return any((field.name, field.value) == ("status", status) for row in rows for field in list_line_fields(row))


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


# -- the text in parts ----------------------------------------------------------------------------

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]++((?:.*[^ \t\n])?))?[ \t]*+$")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_UNDERLINE = re.compile(r"(={3,}|-{3,})[ \t]*$")
_NO_PARAGRAPH = re.compile(r"[ \t]*$|[ \t]*(?:[-*+>|#<]|\d+[.)][ \t])| {4}|\t|(?:```|~~~)")


def split_parts(body: str) -> list[AdrPart]:
    """Return *body* cut at its headings outside code, of all ranks; the first part has the text before them."""
    rows = split_lines(body)
    code = find_code_lines(body)
    parts = [AdrPart(0, "", "")]
    begin = number = 0
    while number < len(rows):
        level, title, length = (0, "", 1) if number in code else _parse_heading(rows, number)
        if level:
            parts[-1] = parts[-1]._replace(text="".join(rows[begin:number]))
            begin = number + length
            parts.append(AdrPart(level, title, "", "".join(rows[number:begin])))
        number += length
    parts[-1] = parts[-1]._replace(text="".join(rows[begin:]))
    return parts


def _parse_heading(rows: list[str], number: int) -> tuple[int, str, int]:
    """Return level, title and number of lines of the heading that begins on the line *number*; level 0 for none."""
    bare = rows[number].rstrip("\n")
    if match := _ATX.match(bare):
        return len(match[1]), _CLOSING.sub("", match[2] or "").strip(), 1
    after_blank = number == 0 or not rows[number - 1].strip()
    under = _UNDERLINE.match(rows[number + 1].rstrip("\n")) if after_blank and number + 1 < len(rows) else None
    if under is None or _NO_PARAGRAPH.match(bare):
        return 0, "", 1
    return 1 if under[1][0] == "=" else 2, bare.strip(), 2


def find_section_level(parts: Sequence[AdrPart]) -> int:
    """Return the rank of the headings that begin sections: mostly 2, or 1 where they have the rank of the title."""
    known = [part.level for part in parts if match_section(part.heading)]
    return 1 if known.count(1) > 1 else max(2, min(known, default=2))


def merge_subparts(pieces: list[AdrPart], cut: int) -> list[AdrPart]:
    """Return *pieces* with those deeper than the rank *cut* put back into the text of the part above them."""
    whole: list[AdrPart] = []
    for piece in pieces:
        if whole and piece.level > cut:
            whole[-1] = whole[-1]._replace(text=whole[-1].text + piece.line + piece.text)
        else:
            whole.append(piece)
    return whole


# -- the places of a file -------------------------------------------------------------------------


def split_outline(text: str) -> AdrOutline:
    """Return the parts of a decision record's *text*."""
    start = find_body_start(text)
    parts = split_parts(text[start:])
    above, *rest = merge_subparts(parts, find_section_level(parts))
    title = None
    if rest and not (rest[0].level > 1 and match_section(rest[0].heading)):
        title, *rest = rest
    first = next((number for number, part in enumerate(rest) if match_section(part.heading)), len(rest))
    return AdrOutline(text[:start], above.text, title, rest[:first], rest[first:])


def _iter_header_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of the lines that may be fields: those before the first section, code left out."""
    outline = split_outline(text)
    rest = sum(len(part.line) + len(part.text) for part in outline.sections)
    start = len(outline.front)
    header = text[start : len(text) - rest]
    code = find_code_lines(header)
    for number, line in enumerate(split_lines(header)):
        if number not in code:
            yield start, line
        start += len(line)


def iter_field_lines(text: str) -> Iterator[tuple[int, FieldLine]]:
    """Yield the field lines of the header, each with the offset of its line; the first of a name is the one read."""
    seen: set[str] = set()
    lines = [*_iter_header_lines(text)]
    for number, fields in _find_fields([line for _, line in lines]):
        for field in fields:
            if field.name not in seen:
                seen.add(field.name)
                yield lines[number][0], field


_STATED = re.compile(
    r"(?mi)^#{1,6}[ \t]++(?:\*\*|__)?(status|statut|estado|stato|статус|状态|狀態|ステータス|状態)(?:\*\*|__)?[ \t]*"
    r"(?:[:：]|(?<=[ \t])[-–—])(?:\*\*|__)?[ \t]*+([^\s*_][^\n]*)$"
)
"""A heading that says the status itself: “# Status: accepted”."""
_DATED = re.compile(
    r"(?mi)^#{1,6}[ \t]++(?:\*\*|__)?(date|datum|fecha|data|дата|日期|日付)(?:\*\*|__)?[ \t]*[:：]"
    r"(?:\*\*|__)?[ \t]*+([^\s*_][^\n]*)$"
)


def open_heading(part: AdrPart) -> AdrPart:
    """Return *part*, or where its heading says the status or the day itself, as the section of that with the text."""
    stated = _STATED.match(part.line) or _DATED.match(part.line)
    return part._replace(heading=stated[1], text=f"\n{stated[2]}\n{part.text}") if stated else part


_STATUS_ROW = re.compile(r"(?mi)^(?:status|state)[ \t]*:[ \t]*+(\S(?:[^\n]*[^\s])?)[ \t]*$")
_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")


def find_status_place(text: str) -> StatusPlace | None:
    """Return where *text* says its status, in the order in which it is read: front matter, field line, section."""
    if (span := find_front_matter(text)) and (match := _STATUS_ROW.search(text, span.start, span.end)):
        return StatusPlace("front", *match.span(1))
    for start, field in iter_field_lines(text):
        if field.name == "status":
            return StatusPlace("field", start + field.start, start + field.end)
    if stated := _STATED.search(text):
        return StatusPlace("heading", *stated.span(2))
    for start, part in iter_sections(text):
        if match_section(part.heading) == "status":
            begin = start + len(part.line)
            lines = [*_iter_own_lines(part.text)]
            for offset, line in lines:  # a section may be a list of fields, of which one is the status
                for field in list_line_fields(line):
                    if field.name == "status":
                        return StatusPlace("section", begin + offset + field.start, begin + offset + field.end)
            for offset, line in lines:
                return StatusPlace("section", begin + offset, begin + offset + len(line.rstrip()))
            return StatusPlace("section", begin, begin)
    return None


def iter_sections(text: str) -> Iterator[tuple[int, AdrPart]]:
    """Yield the sections of *text* with their offsets."""
    sections = split_outline(text).sections
    start = len(text) - sum(len(part.line) + len(part.text) for part in sections)
    for part in sections:
        yield start, part
        start += len(part.line) + len(part.text)


def _iter_own_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of the lines that say something: no comment, no quoted legend, not empty."""
    hidden = [match.span() for match in _COMMENT.finditer(text)]
    start = 0
    for line in split_lines(text):
        is_hidden = any(begin <= start < end for begin, end in hidden)
        if line.strip() and not is_hidden and not line.lstrip().startswith((">", "<!--")):
            yield start, line
        start += len(line)


def read_status(text: str) -> str:
    """Return the words in which *text* says its status, or ""."""
    place = find_status_place(text)
    return text[place.start : place.end].strip("\"'") if place else ""
