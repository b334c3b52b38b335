"""How words are put on a page: as markdown that does nothing but show them, or plainly; and how much of it fits.

What a record says is text of strangers in a pull request. It must not become a mention, a link, a reference to an
issue, a formula or HTML there, and the whole must fit into one comment.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kb.text.segment import one_line

_REFERENCE = re.compile(r"(?:[@#!$%~^]|&amp;)(?=[\w\"'])|\bGH-(?=\d)|\bwww(?=\.)|:(?=//)", re.IGNORECASE)
"""What GitHub or GitLab would take for the beginning of a mention, a reference or an address."""
_APART = "&#8203;"
_MARKUP = re.compile(r"[\\`*_~\[\]{}]")
_BLOCK = re.compile(r"^([0-9]{0,9})([#+=.)-])")
"""What would begin a heading, a list or a line below a heading."""
_TICKS = re.compile("`+")


class PageStyle(NamedTuple):
    """How words are put on a page."""

    text: Callable[[str], str]
    code: Callable[[str], str]
    strong: Callable[[str], str]
    """Emphasises what `text` has returned."""
    heading: str
    limit: int
    """Characters of the page."""


class PageItem(NamedTuple):
    """One item of a part: as it is wanted, and on one line for where there is no room."""

    full: str
    brief: str


class PagePart(NamedTuple):
    """A heading and the items below it."""

    title: str
    items: Sequence[PageItem]
    end: str = ""
    """What stands below the last one."""


def escape_markdown(text: str) -> str:
    """Return *text* as markdown that shows it on one line and does nothing else."""
    plain = html.escape(one_line(text), quote=False)
    apart = _REFERENCE.sub(lambda match: match.group() + _APART, plain)
    escaped = _MARKUP.sub(r"\\\g<0>", apart).replace("$", "&#36;")
    return _BLOCK.sub(r"\1\\\2", escaped)


def format_code(text: str) -> str:
    """Return *text* as a code span, whatever ticks it has itself."""
    plain = one_line(text)
    ticks = "`" * (1 + max(map(len, _TICKS.findall(plain)), default=0))
    room = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{room}{plain}{room}{ticks}" if plain else ""


MARKDOWN = PageStyle(escape_markdown, format_code, "**{}**".format, "### ", 60_000)
"""For a comment; GitHub takes 65,536 characters."""
PLAIN = PageStyle(one_line, one_line, str, "", 1_000_000)
"""For a terminal."""


def fit_parts(parts: Sequence[PagePart], room: int, more: Callable[[int], str]) -> str:
    """Return *parts*, those without items left out, in *room* characters.

    Where not everything fits, the parts share the room: items become brief, and what is left out is counted in words
    by *more*.
    """
    parts = [part for part in parts if part.items]
    wanted = {number: len(_render_whole(part)) for number, part in enumerate(parts)}
    given: dict[int, int] = {}
    for number in sorted(wanted, key=wanted.__getitem__):
        given[number] = min(wanted[number], room // (len(parts) - len(given)))
        room -= given[number]
    return "".join(
        _render_whole(part) if given[number] == wanted[number] else _render_shortened(part, given[number], more)
        for number, part in enumerate(parts)
    )


def _render_whole(part: PagePart) -> str:
    return _render_part(part, [item.full for item in part.items])


def _render_part(part: PagePart, rows: Sequence[str]) -> str:
    return "\n" + part.title + "\n\n" + "".join(row + "\n" for row in rows) + part.end


def _render_shortened(part: PagePart, room: int, more: Callable[[int], str]) -> str:
    """Return as many of the items as fit into *room*, as many of those in full as fit too, and how many are missing."""
    room -= len(_render_whole(part._replace(items=()))) + len(more(len(part.items))) + 1
    kept = list(_iter_fitting(part.items, room))
    room -= sum(len(item.brief) + 1 for item in kept)
    rows = []
    for item in kept:
        further = len(item.full) - len(item.brief)
        rows.append(item.full if further <= room else item.brief)
        room -= further if further <= room else 0
    missing = len(part.items) - len(kept)
    return _render_part(part, [*rows, more(missing)] if missing else rows)


def _iter_fitting(items: Sequence[PageItem], room: int) -> Iterator[PageItem]:
    for item in items:
        room -= len(item.brief) + 1
        if room < 0:
            return
        yield item
