"""Elements of the wiki's own, and its markdown, as HTML in which no text can do more than be read.

Records hold what agents and transcripts said. Raw HTML is shown as text, links lead to pages of the wiki or to http,
https and mailto, and pictures become links, whatever extensions the site itself has switched on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kb.text.segment import one_line
from kb.wiki.markup import slugify_headings

if TYPE_CHECKING:
    from typing import Any

START = "data/lists.js"
"""The data with which the scripts of every page begin; kb/wiki/data_files.py makes it."""
OUTSIDE = re.compile(r"(?i)(?:https?://|mailto:)")
LARGEST_COLOURED = 20_000
"""Characters beyond which code is shown without colours."""
_HREF = re.compile(r'href="kb:([^"]*)"')


# -- elements -------------------------------------------------------------------------------------


class Html(str):
    """HTML that was made by `element`: it is put on a page as it stands."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str) -> Html:
    """Return an element; a child that is no Html is text. `class_` is class, `data_x` data-x; "" leaves one out."""
    written = "".join(
        [f' {name.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for name, value in attributes.items() if value]
    )
    return Html(f"<{tag}{written}>{join_html(*children)}</{tag}>")


def join_html(*children: str) -> Html:
    """Return *children* one behind the other; one that is no Html is text."""
    return Html("".join([child if isinstance(child, Html) else html.escape(child) for child in children]))


def join_with(separator: str, parts: Iterable[str]) -> Html:
    """Return *parts* with *separator* between them."""
    pieces: list[str] = []
    for part in parts:
        pieces += [separator, part] if pieces else [part]
    return join_html(*pieces)


def open_tag(tag: str, **attributes: str) -> Html:
    """Return the beginning of an element that a later part of the page ends with `close_tag`."""
    return Html(element(tag, **attributes).removesuffix(f"</{tag}>"))


def close_tag(tag: str) -> Html:
    """Return the end of an element."""
    return Html(f"</{tag}>")


def link_to(uri: str, *children: str, **attributes: str) -> Html:
    """Return a link to the page or file *uri* of the wiki ("tags.md#x"), wherever the site puts it."""
    return element("a", *children, href=f"kb:{uri}", **attributes)


def render_list(rows: Iterable[str], **attributes: str) -> Html:
    """Return *rows* as a list; "" for none."""
    items = [element("li", row) for row in rows]
    return element("ul", *items, **attributes) if items else Html("")


def render_row(cells: Iterable[str]) -> Html:
    """Return *cells* as a row of a table."""
    return element("tr", *(element("td", cell) for cell in cells))


def render_table(heads: Iterable[str], rows: Iterable[Html], **attributes: str) -> Html:
    """Return a table with *heads* above *rows*, which `render_row` has made."""
    head = element("thead", element("tr", *(element("th", word) for word in heads)))
    return element("table", head, element("tbody", *rows), **attributes)


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
        return f'href="{html.escape(own(uri) + mark + anchor)}"'

    shown = []
    for part, tokens in zip(parts, parsed, strict=True):
        for token in tokens:
            if token.type == "inline":
                _resolve_links(token.children or [], target)
            elif token.type in ("th_open", "td_open") and token.attrs:
                token.attrs = {"class": f"kb-{str(token.attrGet('style')).rpartition(':')[2]}"}
        is_html = isinstance(part, Html)
        shown.append(_HREF.sub(resolve_href, part) if is_html else parser.renderer.render(tokens, parser.options, {}))
    shown.append(element("div", data_kb=own(START), hidden="hidden"))
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
    """Point every link to its page; what leads nowhere becomes marked text."""
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
    words = tokens[index].info.split()
    code = _highlight_code(tokens[index].content, words[0] if words else "")
    return f'<div class="highlight"><pre><code>{code}</code></pre></div>\n'


def _highlight_code(code: str, language: str) -> str:
    if not language or len(code) > LARGEST_COLOURED:
        return html.escape(code)
    from pygments import highlight  # type: ignore[import-untyped]
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))
