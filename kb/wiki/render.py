"""Render the wiki's elements and markdown as HTML that is safe whatever the records contain.

Records hold what agents and transcripts said. Raw HTML is shown as text, links lead to pages of the wiki or to http,
https and mailto, and pictures become links, whatever extensions the site itself has switched on.
"""

from __future__ import annotations

import contextlib
import html
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kb.records.kinds import BY_PREFIX
from kb.records.model import Reference
from kb.text.segment import one_line, slugify

if TYPE_CHECKING:
    from typing import Any


# -- markdown that stays what it is, whatever text is in it ------------------------------------

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
_MAX_OPEN_BRACKETS = 1000
"""Brackets of one paragraph; a long list of links has some hundred."""
_REFERENCE = re.compile(r"(?:([\w.-]+):)?([A-Z]{1,2}\d{3,})")
_NUMBERED = re.compile(
    r"(?i)(?<![\w./-])(?:ADRs?|架构决策|决策记录)[-_ #]{0,2}\d{1,7}+(?!\w|\.\d)"
    r"(?:(?:, ?|、|[-–—/]|(?:,| )? ?(?:and|to|和|至|与) ?)#?\d{3,7}+(?!\w|\.\d))*+"
)
"""`ADR 0277`, `ADR-277`, and rows of numbers ("ADRs 0016–0023"), by which imported records speak of one another."""
_NUMBER = re.compile(r"\d{1,7}")
_LINKED = re.compile(r"!?\[[^\[\]]*\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]]*\])|<[^<>\s]*>|https?://\S+")
"""What leads somewhere already."""


def escape_markdown(text: str, *, is_piece: bool = False) -> str:
    """Return *text* on one line as markdown that shows exactly this; a piece of a line keeps the spaces around."""
    return _SPECIAL.sub(r"\\\1", text if is_piece else one_line(text))


def sanitise_title(text: str) -> str:
    """Return *text* for the places where themes print a title without escaping it, some after unescaping it."""
    return one_line(text).translate(_LOOKALIKES)


def iter_title_pieces(title: str) -> Iterator[tuple[str, bool]]:
    """Yield *title* on one line in pieces, each with whether it is code, without the backticks around that."""
    line, at = one_line(title), 0
    for start, end in _iter_code_spans(line):
        marks = len(line[start:end]) - len(line[start:end].lstrip("`"))
        if at < start:
            yield line[at:start], False
        yield line[start + marks : end - marks].strip() or line[start:end], True
        at = end
    if line[at:]:
        yield line[at:], False


def render_title(title: str) -> Html:
    """Return *title* as HTML, its code as code."""
    return Html(
        "".join(f"<code>{html.escape(t)}</code>" if code else html.escape(t) for t, code in iter_title_pieces(title))
    )


def format_plain_title(title: str) -> str:
    """Return *title* as text without backticks, for places that can show no code."""
    return "".join(text for text, _ in iter_title_pieces(title))


def escape_title(title: str) -> str:
    """Return *title* on one line as markdown that shows its words, and its code as code."""
    pieces = []
    for text, is_code in iter_title_pieces(title):
        fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
        pad = " " if "`" in text else ""
        pieces.append(f"{fence}{pad}{text}{pad}{fence}" if is_code else escape_markdown(text, is_piece=True))
    return "".join(pieces)


_FENCE_ROW = re.compile(r"(?m)^[ \t>]*(?:`{3,}|~{3,})[^\n]*$")
_BLOCK_LEAD = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t>]*|(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)")
_RULER_ROW = re.compile(r"(?m)^(?=[ \t|:]*-)[ \t|:-]+$")
_SHOWN_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{0,500}(?:[ \t][^()\n]{0,200})?\)")
_NAMED_LINK = re.compile(r"\[\[(?:[^\[\]|\n]{1,200}\|)?([^\[\]|\n]{1,200})\]\]")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!`)`{1,2}(?!`)")
_CELL = re.compile(r"(?<![ \t])[ \t]*+(?<!\\)\|[ \t]*+")


def strip_markup(text: str, *, lines: bool = False, code: bool = False) -> str:
    """Return the markdown *text* as a reader would say it: without marks, links by their words.

    On one line, or with its *lines*, where an item keeps a point; with the backticks of its *code*, or without.
    """
    text = _RULER_ROW.sub("", _FENCE_ROW.sub("", text))
    text = _BLOCK_LEAD.sub(lambda m: "• " if lines and m.group().strip()[0] in "-*+" else "", text)
    if "[" in text:
        text = _NAMED_LINK.sub(r"\1", _SHOWN_LINK.sub(r"\1", text))
    if "|" in text:
        text = "\n".join(
            _CELL.sub(" · ", row.strip().strip("|").strip()) if "|" in row else row for row in text.split("\n")
        )
    text = _EMPHASIS.sub(lambda m: m.group() if code and m.group()[0] == "`" else "", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() if lines else one_line(text)


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
    if text.count("[") <= _MAX_OPEN_BRACKETS:
        return text
    parts = text.split("\n\n")
    for number, part in enumerate(parts):
        if part.count("[") > _MAX_OPEN_BRACKETS:
            fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(part)), default=0))
            parts[number] = f"{fence}text\n{part}\n{fence}"
    return "\n\n".join(parts)


def replace_citations(
    text: str,
    citation: Callable[[Reference], str],
    named: Callable[[str, str], str],
    numbered: Callable[[int, str], str] | None = None,
) -> str:
    """Return the markdown *text* with its citations replaced; code stays, and a fence left open is closed.

    *citation* returns what replaces `[D001]`, *named* what replaces `[[what|label]]`, *numbered* what replaces a number
    of `ADR 0277`: it is given the number and the words.
    """
    has_numbers = numbered is not None and _NUMBERED.search(text) is not None
    if "[" not in text and "```" not in text and "~~~" not in text and not has_numbers:
        return text
    rows = text.split("\n")
    tokens = _parse_blocks(text)
    in_code = _find_code_rows(tokens)

    def link_numbers(piece: str, row_number: int) -> str:
        return _replace_numbers(piece, numbered) if has_numbers and numbered and row_number not in in_code else piece

    for number, row in enumerate(rows):
        pieces: list[str] = []
        start = 0
        for mention in _iter_mentions(row) if number not in in_code else ():
            stop = mention.end()
            if mention[1]:
                shown = named(mention[1].strip(), (mention[2] or "").strip())
            else:
                # In `[D001][C002](url)` the last bracket is a link's label: it stays.
                stop = row.rindex("[", mention.start(), stop) if row[stop : stop + 1] in ("(", "[") else stop
                shown = _CITATION.sub(lambda m: citation(Reference(m[1] or "", m[2])), row[mention.start() : stop])
            pieces += [link_numbers(row[start : mention.start()], number), shown]
            start = stop
        rows[number] = "".join(pieces) + link_numbers(row[start:], number)
    # A fence left open would swallow what the page shows after the text.
    return "\n".join(rows) + _find_missing_fence(tokens, rows)


def _replace_numbers(row: str, numbered: Callable[[int, str], str]) -> str:
    """Return *row* with the numbers of ADRs replaced that stand neither in code nor in a link."""
    found = [*_NUMBERED.finditer(row)]
    if not found or _DEFINITION.match(row):
        return row
    taken = [*_iter_code_spans(row), *(match.span() for match in _LINKED.finditer(row))]
    pieces, at = [], 0
    for match in found:
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        # The first number takes the words before it along: "ADR 0277" is one link.
        begin = match.start()
        for number in _NUMBER.finditer(row, match.start(), match.end()):
            pieces += [row[at:begin], numbered(int(number.group()), row[begin : number.end()])]
            at = number.end()
            following = _NUMBER.search(row, at, match.end())
            begin = following.start() if following else at
    return "".join(pieces) + row[at:]


def iter_numbers(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each number of `ADR 0277` in *text* that is in neither code nor a link: number, words and row from 0."""
    if not _NUMBERED.search(text):
        return
    in_code = _find_code_rows(_parse_blocks(text)) if "`" in text or "    " in text or "~~~" in text else ()
    found: list[tuple[int, str]] = []

    def keep(number: int, words: str) -> str:
        found.append((number, words))
        return words

    for row_number, row in enumerate(text.split("\n")):
        if row_number not in in_code:
            found.clear()
            _replace_numbers(row, keep)
            yield from ((number, words, row_number) for number, words in found)


def iter_wiki_links(text: str) -> Iterator[tuple[str, int]]:
    """Yield what each `[[wiki link]]` of *text* outside code names, with the row it is in, from 0."""
    in_code = _find_code_rows(_parse_blocks(text)) if "[[" in text else ()
    for number, row in enumerate(text.split("\n")):
        if "[[" in row and number not in in_code:
            yield from ((mention[1].strip(), number) for mention in _iter_mentions(row) if mention[1])


def _find_code_rows(tokens: Sequence[Any]) -> set[int]:
    """Return the rows, counted from 0, that are blocks of code."""
    return {n for token in tokens if token.type in ("fence", "code_block") for n in range(*token.map)}


def _iter_mentions(line: str) -> Iterator[re.Match[str]]:
    """Yield the citations and wiki links of *line*; in the definition of a link and in code there are none."""
    if _DEFINITION.match(line):
        return
    # Code and mentions both come from left to right, so one pass over both is enough.
    spans = iter([*_iter_code_spans(line), (len(line), len(line))])
    # `[D001]` in backticks is code, and so is "``a ` [D001]``".
    first, end = next(spans)
    for mention in _MENTION.finditer(line):
        while end <= mention.start():
            first, end = next(spans)
        if first >= mention.start():
            yield mention


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


START = "data/lists.js"
"""The data with which the scripts of every page begin; kb/wiki/build_cache.py makes it."""
OUTSIDE = re.compile(r"(?i)(?:https?://|mailto:)")
MAX_COLOURED_CHARACTERS = 20_000
"""Characters beyond which code is shown without colours."""
_HREF = re.compile(r'href="kb:([^"]*)"')


def encode_json(value: object) -> str:
    """Return *value* as JSON without spaces, Chinese as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Html(str):
    """HTML of the wiki's own: it is put on a page as it stands, any other text is escaped."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def join_html(*children: str) -> Html:
    """Return *children* one after the other; one that is no Html is text."""
    return Html("".join([child if isinstance(child, Html) else html.escape(child) for child in children]))


# -- pages ----------------------------------------------------------------------------------------


class PageHeading(NamedTuple):
    """A heading of a rendered page."""

    level: int
    anchor: str
    text: str
    """Plain text, not escaped."""


class RenderedPage(NamedTuple):
    """A page as HTML, with its headings in order."""

    html: str
    headings: tuple[PageHeading, ...]


def render_page(parts: Sequence[str], target: Callable[[str], str], own: Callable[[str], str]) -> RenderedPage:
    """Return the *parts* of a page as HTML.

    *target* returns the address of a link of the text, "" if there is none; *own* that of a page or file of the wiki
    that the page itself names. Every part stands for itself: nothing that one opens reaches into the next.
    """
    parser = _create_parser()
    parsed = [[] if isinstance(part, Html) else parser.parse(part) for part in parts]
    opened = [
        (token, _extract_text(tokens[n + 1]))
        for tokens in parsed
        for n, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    headings = []
    for (token, text), slug in zip(opened, slugify_headings(text for _, text in opened), strict=True):
        token.attrSet("id", slug)
        headings.append(PageHeading(int(token.tag[1]), slug, text))

    def resolve_href(match: re.Match[str]) -> str:
        uri, mark, anchor = html.unescape(match[1]).partition("#")
        uri, query_mark, query = uri.partition("?")
        return f'href="{html.escape(own(uri) + query_mark + query + mark + anchor)}"'

    shown = []
    for part, tokens in zip(parts, parsed, strict=True):
        for token in tokens:
            if token.type == "inline":
                _resolve_links(token.children or [], target)
            elif token.type in ("th_open", "td_open") and token.attrs:
                token.attrs = {"class": f"kb-{str(token.attrGet('style')).rpartition(':')[2]}"}
        is_html = isinstance(part, Html)
        shown.append(_HREF.sub(resolve_href, part) if is_html else parser.renderer.render(tokens, parser.options, {}))
    shown.append(f'<div data-kb="{html.escape(own(START))}" hidden="hidden"></div>')
    return RenderedPage("\n".join(shown), tuple(headings))


@cache
def _create_parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("fence", _render_fence)
    parser.add_render_rule("image", _render_image)
    return parser


def _extract_text(token: Any) -> str:
    shown = (child for child in token.children or [] if child.type in ("text", "code_inline", "softbreak"))
    return one_line("".join(child.content or " " for child in shown))


def _resolve_links(tokens: list[Any], target: Callable[[str], str]) -> None:
    """Point every link to its page; a broken one becomes marked text."""
    open_links: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href") or "")
            address = href if OUTSIDE.match(href) else target(href)
            token.tag = "a" if address else "span"
            hint = str(token.attrGet("title") or "")
            token.attrs = {"href": address} if address else {"class": "kb-nowhere", "title": href}
            if address and hint:
                token.attrs["title"] = hint
            open_links.append(token.tag)
        elif token.type == "link_close":
            token.tag = open_links.pop()


def _render_image(renderer: Any, tokens: list[Any], index: int, options: Any, env: Any) -> str:
    source = str(tokens[index].attrGet("src") or "")
    label = html.escape(tokens[index].content or source)
    if OUTSIDE.match(source):
        return f'<a href="{html.escape(source)}">{label}</a>'
    return f'<span class="kb-nowhere" title="{html.escape(source)}">{label}</span>'


def _render_fence(renderer: Any, tokens: list[Any], index: int, options: Any, env: Any) -> str:
    """Return a block of code, with colours where its language is known and it is not too long."""
    code, words = tokens[index].content, tokens[index].info.split()
    shown = html.escape(code)
    if words and len(code) <= MAX_COLOURED_CHARACTERS:
        from pygments import highlight  # type: ignore[import-untyped]
        from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
        from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
        from pygments.util import ClassNotFound  # type: ignore[import-untyped]

        with contextlib.suppress(ClassNotFound):
            lexer = get_lexer_by_name(words[0], stripnl=False)
            shown = str(highlight(code, lexer, HtmlFormatter(nowrap=True)))
    return f'<div class="highlight"><pre><code>{shown}</code></pre></div>\n'
