"""Tell the lines of a markdown text: which are code, headings, list items, quotes, rows of a table.

A line is code only in a fence: whatever else indents or hides a line, a heading or marker in it still counts.
Where every fence is at the edge of the page, a short scan finds what CommonMark finds; where fences are in lists
or quotes, markdown-it-py does. HTML hides no fence; a line with a block marker, neutralised or not, ends a list or
quote as a heading does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kb.errors import BadRecord
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import normalise_newlines, split_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_NESTED = 100_000
"""Characters of a text with fences in lists or quotes: such a text can take time that grows with its square."""

_FENCE = regex(r" {0,3}(`{3,}|~{3,})([^\r\n]*)")
_MARKER = regex(r"(?m)^( {0,3})(?:<|&lt;)!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->[ \t]*$")
_MARK = regex(r"[ \t]*+((?:[-*+]|\d{1,9}[.)])(?=[ \t])|\d{1,3}、|#{1,6}(?=[ \t]|$)|>|\||)[ \t]*+")
_KINDS = {">": "quote", "|": "table"}
_CONTAINERS = " \t>-*+0123456789.)"


class OpenFence(NamedTuple):
    """A fence that the end of the text leaves open."""

    marks: str
    """The characters that close it."""
    line: int
    """The 0-based line on which it opens."""


class FencedCode(NamedTuple):
    """The 0-based lines that are in fences, and the fence left open at the end."""

    lines: frozenset[int] | set[int]
    left_open: OpenFence | None
    openings: frozenset[int] | set[int] = frozenset()
    """Those on which a fence opens."""


class MarkdownLine(NamedTuple):
    """One line of a markdown text."""

    kind: str
    """fence (it opens one), code, heading, item, quote, table, text or blank."""
    text: str
    """Without the line end."""
    start: int
    """Offset of the line in the whole text."""
    content: int
    """Offset in the line of what follows the mark: “two” in “- two”, “二” in “## 二”."""

    @property
    def body(self) -> str:
        """Return the line without its mark and the space around it."""
        return self.text[self.content :].strip()


_NONE = FencedCode(frozenset(), None)


def find_fenced_code(text: str) -> FencedCode:
    """Return what of *text* is fenced code; raise BadRecord for fences in what is too large or too deep to tell."""
    if "```" not in text and "~~~" not in text:
        return _NONE
    rows = split_lines(text)
    return _parse_nested_fences(text, rows) if any(map(_may_be_nested, rows)) else _scan_top_level_fences(rows)


def find_code_lines(text: str) -> frozenset[int] | set[int]:
    """Return the 0-based lines of *text* that are in fenced code."""
    return find_fenced_code(text).lines


def find_indented_code(text: str) -> set[int]:
    """Return the 0-based lines of *text* that are code by their indentation alone."""
    tokens = _create_parser().parse(text)
    return {n for token in tokens if token.type == "code_block" and token.map for n in range(*token.map)}


def scan_markdown(text: str) -> Iterator[MarkdownLine]:
    """Yield the lines of *text* in order; what is in a fence is code, whatever it looks like."""
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


def _may_be_nested(row: str) -> bool:
    """Return whether *row* may open or close a fence inside a list or a quote."""
    # “- ```” and “> ```” open one inside; in “use ``` for code” letters precede it
    at = min((n for n in (row.find("```"), row.find("~~~")) if n >= 0), default=0)
    return at > 0 and row[:at] != " " and not row[:at].strip(_CONTAINERS)


def _scan_top_level_fences(rows: list[str]) -> FencedCode:
    """Return the code among *rows*, no fence of which is nested."""
    found: set[int] = set()
    openings: set[int] = set()
    fence: OpenFence | None = None
    for number, row in enumerate(rows):
        match = _FENCE.match(row)
        if fence:
            found.add(number)
            if match and match.group(1).startswith(fence.marks) and not match.group(2).strip(" \t"):
                fence = None
        # “```a`b” is a code span that begins a line, no fence
        elif match and not (match.group(1)[0] == "`" and "`" in match.group(2)):
            found.add(number)
            openings.add(number)
            fence = OpenFence(match.group(1), number)
    return FencedCode(found, fence, openings)


def _parse_nested_fences(text: str, rows: list[str]) -> FencedCode:
    """Return the code of *text* as markdown-it-py sees it."""
    parser = _create_parser()
    if len(text) > MAX_NESTED:
        about = {"limit": MAX_NESTED}
        raise BadRecord(
            msg("the text has code fences in lists or quotes and is longer than {limit} characters", **about)
        )
    tokens = parser.parse(_MARKER.sub(r"\1# -", normalise_newlines(text)))
    if any(token.level >= parser.options["maxNesting"] - 1 for token in tokens):
        raise BadRecord(msg("lists or quotes are nested too deep to tell code from text"))
    found: set[int] = set()
    openings: set[int] = set()
    left_open: OpenFence | None = None
    end = max((number for number, row in enumerate(rows, 1) if row.strip()), default=0)
    for token in tokens:
        if token.type == "fence" and token.map:
            first, after = token.map
            found.update(range(first, min(after, len(rows))))
            openings.add(first)
            closing = _FENCE.match(rows[first + 1 : after][-1]) if rows[first + 1 : after] else None
            is_closed = closing and closing[1].startswith(token.markup) and not closing[2].strip(" \t")
            ends_here = token.level == 0 and after >= end and not is_closed
            left_open = OpenFence(token.markup, first) if ends_here else None
    return FencedCode(found, left_open, openings)


@cache
def _create_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("html_block")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
