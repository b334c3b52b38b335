"""Pieces of markdown that stay what they are, whatever text stands in them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb.records.kinds import BY_PREFIX
from kb.records.model import Reference
from kb.text.segment import one_line, slugify

if TYPE_CHECKING:
    from typing import Any

_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~!#])")
_LOOKALIKES = str.maketrans({"<": "‹", ">": "›", '"': "”", "&": "&amp;"})
_TICKS = re.compile(r"`+")
_ID = rf"(?:{'|'.join(sorted(BY_PREFIX, key=len, reverse=True))})[0-9]{{3,9}}"
_CITATION = re.compile(rf"\[(?:([\w.-]{{1,100}}):)?({_ID})\]")
_MENTION = re.compile(
    rf"(?<![A-Za-z0-9_\]!\\])(?:\[\[(?!\s)([^\[\]|]{{1,200}})(?:\|([^\[\]|]{{1,200}}))?\]\]"
    rf"|(?:\[(?:[\w.-]{{1,100}}:)?{_ID}\])+)"
)
_DEFINITION = re.compile(r" {0,3}\[[^\[\]]+\]:[ \t]*\S+[ \t]*$")
_MOST_OPEN = 1000
"""Brackets of one paragraph; a long list of links has some hundred."""
_REFERENCE = re.compile(r"(?:([\w.-]+):)?([A-Z]{1,2}\d{3,})")


def escape_markdown(text: str) -> str:
    """Return *text* on one line as markdown that shows exactly this text."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def sanitise_title(text: str) -> str:
    """Return *text* for the places where themes print a title without escaping it, some after unescaping it."""
    return one_line(text).translate(_LOOKALIKES)


def format_link(label: str, uri: str, page: str, hint: str = "") -> str:
    """Return a link from *page* to *uri*, both relative to the wiki's top; *label* is markdown, *hint* text."""
    path, _, anchor = uri.partition("#")
    target = posixpath.relpath(path, posixpath.dirname(page) or ".") if path else ""
    title = f' "{sanitise_title(hint)}"'.replace("\\", "\\\\") if hint else ""
    return f"[{label}](<{target}{'#' + anchor if anchor else ''}>{title})"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; every cell is markdown on one line in which a pipe is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def parse_reference(words: str) -> Reference:
    """Return what *words* ("D001", "shop:D001") refer to; a word of another form is an id as it stands."""
    match = _REFERENCE.fullmatch(words.strip().strip("[]"))
    return Reference(match[1] or "", match[2]) if match else Reference("", words)


def limit_open_brackets(text: str) -> str:
    """Return the markdown *text* with every paragraph as code that opens more brackets than a reader could close.

    The time of mkdocs' markdown grows with the square of the brackets that stay open in one paragraph.
    """
    if text.count("[") <= _MOST_OPEN:
        return text
    parts = text.split("\n\n")
    for number, part in enumerate(parts):
        if part.count("[") > _MOST_OPEN:
            fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(part)), default=0))
            parts[number] = f"{fence}text\n{part}\n{fence}"
    return "\n\n".join(parts)


def replace_citations(text: str, citation: Callable[[Reference], str], named: Callable[[str, str], str]) -> str:
    """Return the markdown *text* with its citations replaced; code stays, and a fence left open is closed.

    *citation* returns what replaces `[D001]`, *named* what replaces `[[what|label]]`.
    """
    if "[" not in text and "```" not in text and "~~~" not in text:
        return text
    rows = text.split("\n")
    tokens = _parse_blocks(text)
    in_code = _find_code_rows(tokens)
    out = [row if n in in_code else _replace_line_citations(row, citation, named) for n, row in enumerate(rows)]
    return "\n".join(out) + _find_missing_fence(tokens, rows)


def iter_wiki_links(text: str) -> Iterator[tuple[str, str]]:
    """Yield what each `[[wiki link]]` of *text* outside code names, with the row it stands in."""
    if "[[" not in text:
        return
    in_code = _find_code_rows(_parse_blocks(text))
    found: list[str] = []

    def collect(words: str, label: str) -> str:
        found.append(words)
        return label

    for number, row in enumerate(text.split("\n")):
        if "[[" in row and number not in in_code:
            found.clear()
            _replace_line_citations(row, lambda reference: reference.id, collect)
            yield from [(words, row) for words in found]


def _find_code_rows(tokens: Sequence[Any]) -> set[int]:
    """Return the rows, counted from 0, that are blocks of code."""
    return {n for token in tokens if token.type in ("fence", "code_block") for n in range(*token.map)}


def _replace_line_citations(line: str, citation: Callable[[Reference], str], named: Callable[[str, str], str]) -> str:
    """Return *line* with its citations replaced; in a link, its definition or code they are none."""
    if _DEFINITION.match(line):
        return line
    spans = iter([*_iter_code_spans(line), (len(line), len(line))])
    first, end = next(spans)
    pieces: list[str] = []
    start = 0
    for mention in _MENTION.finditer(line):
        while end <= mention.start():
            first, end = next(spans)
        if first < mention.start():
            continue
        stop = mention.end()
        if mention[1]:
            shown = named(mention[1].strip(), (mention[2] or "").strip())
        else:
            # In `[D001][C002](url)` the last bracket is a link's label: it stays.
            if line[stop : stop + 1] in ("(", "["):
                stop = line.rindex("[", mention.start(), stop)
            shown = _CITATION.sub(
                lambda match: citation(Reference(match[1] or "", match[2])), line[mention.start() : stop]
            )
        pieces += [line[start : mention.start()], shown]
        start = stop
    return "".join(pieces) + line[start:]


def _iter_code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield where inline code stands: a run of backticks up to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    at = 0
    while at < len(runs):
        start, end = runs[at]
        close = next((n for n in range(at + 1, len(runs)) if runs[n][1] - runs[n][0] == end - start), None)
        if close is not None:
            yield start, runs[close][1]
        at = at + 1 if close is None else close + 1


def _parse_blocks(text: str) -> list[Any]:
    """Return the blocks of *text* with their lines unread: many open brackets in them would cost minutes."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).disable("inline").parse(text)


def _find_missing_fence(tokens: list[Any], rows: list[str]) -> str:
    """Return the closing line that an open fence at the end of the text lacks, or ""."""
    last = tokens[-1] if tokens else None
    if last is None or last.type != "fence":
        return ""
    first, end = last.map
    row = rows[end - 1].strip()
    closes = end - first > 1 and len(row) >= len(last.markup) and set(row) == {last.markup[0]}
    return "" if closes else "\n" + last.markup


def number_duplicates(names: Iterable[str], separator: str) -> list[str]:
    """Return *names* in order, numbered behind *separator* where one, upper or lower case, came before."""
    taken: set[str] = set()
    found = []
    for stem in names:
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}{separator}{number}"
        taken.add(name.casefold())
        found.append(name)
    return found


def slugify_headings(headings: Iterable[str]) -> list[str]:
    """Return the anchor of each heading of one page, in order."""
    return number_duplicates((slugify(one_line(heading)) for heading in headings), "_")
