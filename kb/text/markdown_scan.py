"""Classify the lines of a Markdown text: code, headings, list items, quotes, table rows.

A line is code only inside a fence; an indented heading or marker still counts. Where all fences are at the left
margin, a short scan gives the result of CommonMark; for fences in lists or quotes markdown-it-py is used. HTML hides
no fence. A line with a block marker, neutralised or not, ends a list or quote as a heading does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kb.errors import BadRecord
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import iter_line_numbers, normalise_newlines, skip_line_end, split_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_NESTED = 100_000
"""Maximum characters of a text with fences in lists or quotes: parsing one can take quadratic time."""

_HEADING = regex(r"(?m)^ {0,3}(#{1,6})(?=[ \t\r\n]|\Z)([^\n]*)")
HIGH_HEADING = regex(r"^( {0,3})#{1,2}(?=[ \t\r\n]|\Z)")
"""The hashes of a heading of level 1 or 2."""
_FENCE = regex(r" {0,3}(`{3,}|~{3,})([^\r\n]*)")
_MARKER = regex(r"(?m)^( {0,3})(?:<|&lt;)!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->[ \t]*$")
_MARK = regex(r"[ \t]*+((?:[-*+]|\d{1,9}[.)])(?=[ \t])|\d{1,3}、|#{1,6}(?=[ \t]|$)|>|\||)[ \t]*+")
_KINDS = {">": "quote", "|": "table"}
_CONTAINERS = " \t>-*+0123456789.)"


class OpenFence(NamedTuple):
    """A fence that is still open at the end of the text."""

    marks: str
    """The characters that close it."""
    line: int
    """The 0-based line on which it opens."""


class FencedCode(NamedTuple):
    """The 0-based lines inside fences, and the fence left open at the end."""

    lines: frozenset[int] | set[int]
    left_open: OpenFence | None
    openings: frozenset[int] | set[int] = frozenset()
    """The lines on which a fence opens."""


class MarkdownLine(NamedTuple):
    """One line of a Markdown text."""

    kind: str
    """fence (an opening one), code, heading, item, quote, table, text or blank."""
    text: str
    """Without the line end."""
    start: int
    """Offset of the line in the text."""
    content: int
    """Offset in the line of the text after the mark: “two” in “- two”, “二” in “## 二”."""

    @property
    def body(self) -> str:
        """Return the line without its mark and the space around it; of a heading, without the closing hashes too."""
        body = self.text[self.content :].strip()
        return parse_heading_title(body) if self.kind == "heading" else body


class Heading(NamedTuple):
    """A heading outside code, and the extent of its section."""

    level: int
    title: str
    start: int
    body: int
    end: int


_NONE = FencedCode(frozenset(), None)


def find_fenced_code(text: str) -> FencedCode:
    """Return the fenced code of *text*; raise BadRecord if nested fences are too large or too deep to parse."""
    if "```" not in text and "~~~" not in text:
        return _NONE
    rows = split_lines(text)
    return _parse_nested_fences(text, rows) if any(map(_may_be_nested, rows)) else _scan_top_level_fences(rows)


def find_code_lines(text: str) -> frozenset[int] | set[int]:
    """Return the 0-based lines of *text* that are in fenced code."""
    return find_fenced_code(text).lines


def find_indented_code(text: str) -> set[int]:
    """Return the 0-based lines of *text* that are code by indentation alone."""
    tokens = _create_parser().parse(text)
    return {n for token in tokens if token.type == "code_block" and token.map for n in range(*token.map)}


def scan_markdown(text: str) -> Iterator[MarkdownLine]:
    """Yield the lines of *text* in order; every line inside a fence is code."""
    code = find_fenced_code(text)
    start = 0
    for number, row in enumerate(split_lines(text)):
        line = row.rstrip("\r\n")
        match = None if number in code.lines else _MARK.match(line)
        if number in code.lines:
            kind = "fence" if number in code.openings else "code"
        elif match and (mark := match.group(1)):
            kind = "heading" if mark[0] == "#" else _KINDS.get(mark, "item")
        else:
            kind = "text" if line.strip() else "blank"
        yield MarkdownLine(kind, line, start, match.end() if match and kind != "table" else 0)
        start += len(row)


def find_headings(text: str, level: int = 2) -> list[Heading]:
    """Return the headings of *level* in *text*; a section ends at the next heading of the same or a higher level."""
    code = find_code_lines(text)
    marks = [match for match in _HEADING.finditer(text.replace("\r", "\n")) if len(match.group(1)) <= level]
    if marks and code:
        places = iter_line_numbers(text, (match.start() for match in marks))
        marks = [match for match, line in zip(marks, places, strict=True) if line - 1 not in code]
    ends = [match.start() for match in marks[1:]] + [len(text)] * bool(marks)
    return [
        Heading(level, parse_heading_title(m.group(2)), m.start(), min(skip_line_end(text, m.end()), len(text)), end)
        for m, end in zip(marks, ends, strict=True)
        if len(m.group(1)) == level
    ]


def parse_heading_title(written: str) -> str:
    """Return the title in a heading without its closing run of hashes."""
    title = written.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def _may_be_nested(row: str) -> bool:
    """Return whether *row* may open or close a fence inside a list or quote."""
    # “- ```” and “> ```” open one inside; in “use ``` for code” letters precede it
    at = min((n for n in (row.find("```"), row.find("~~~")) if n >= 0), default=0)
    return at > 0 and row[:at] != " " and not row[:at].strip(_CONTAINERS)


def _scan_top_level_fences(rows: list[str]) -> FencedCode:
    """Return the fenced code among *rows*, in which no fence is nested."""
    code: set[int] = set()
    openings: set[int] = set()
    fence: OpenFence | None = None
    for number, row in enumerate(rows):
        match = _FENCE.match(row)
        if fence:
            code.add(number)
            if match and match.group(1).startswith(fence.marks) and not match.group(2).strip(" \t"):
                fence = None
        # “```a`b” is a code span at the start of a line, not a fence
        elif match and not (match.group(1)[0] == "`" and "`" in match.group(2)):
            code.add(number)
            openings.add(number)
            fence = OpenFence(match.group(1), number)
    return FencedCode(code, fence, openings)


def _parse_nested_fences(text: str, rows: list[str]) -> FencedCode:
    """Return the fenced code of *text* according to markdown-it-py."""
    parser = _create_parser()
    if len(text) > MAX_NESTED:
        about = {"limit": MAX_NESTED}
        raise BadRecord(
            msg("the text has code fences in lists or quotes and is longer than {limit} characters", **about)
        )
    tokens = parser.parse(_MARKER.sub(r"\1# -", normalise_newlines(text)))
    if any(token.level >= parser.options["maxNesting"] - 1 for token in tokens):
        raise BadRecord(msg("lists or quotes are nested too deep to tell code from text"))
    code: set[int] = set()
    openings: set[int] = set()
    left_open: OpenFence | None = None
    end = max((number for number, row in enumerate(rows, 1) if row.strip()), default=0)
    for token in tokens:
        if token.type == "fence" and token.map:
            first, after = token.map
            code.update(range(first, min(after, len(rows))))
            openings.add(first)
            closing = _FENCE.match(rows[first + 1 : after][-1]) if rows[first + 1 : after] else None
            is_closed = closing and closing[1].startswith(token.markup) and not closing[2].strip(" \t")
            ends_here = token.level == 0 and after >= end and not is_closed
            left_open = OpenFence(token.markup, first) if ends_here else None
    return FencedCode(code, left_open, openings)


@cache
def _create_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("html_block")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
