"""HTML of the wiki's own making, in which every text is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

_LINK = re.compile(r'href="kb:([^"]*)"')


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


def open_tag(tag: str, **attributes: str) -> Html:
    """Return the beginning of an element that a later part of the page ends with `close_tag`."""
    return Html(element(tag, **attributes).removesuffix(f"</{tag}>"))


def close_tag(tag: str) -> Html:
    """Return the end of an element."""
    return Html(f"</{tag}>")


def build_href(uri: str) -> str:
    """Return the href that leads to the page *uri* ("tags.md#x"), wherever the site puts it."""
    return f"kb:{uri}"


def resolve_hrefs(text: str, address: Callable[[str], str]) -> str:
    """Return the Html *text* with what `build_href` has made replaced by the *address* of each page or file."""

    def replace_href(match: re.Match[str]) -> str:
        uri, mark, anchor = html.unescape(match[1]).partition("#")
        return f'href="{html.escape(address(uri) + mark + anchor)}"'

    return _LINK.sub(replace_href, text)
