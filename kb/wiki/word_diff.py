"""What differs between two texts, shown word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from kb.wiki.html import Html, element, join_html

AROUND = 1
"""Unchanged lines shown before and after a change."""
LONGEST = 4_000
"""Words beyond which a changed passage is shown as taken out and put in as a whole."""

_WORD = re.compile("[^\\W\x00-\u2e7f]|\\w+|\\s+|.")
_MARKER = re.compile(r"(?m)^<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->\n?")


class DiffPiece(NamedTuple):
    """A run of text: in both ("="), only in the old ("-") or only in the new ("+")."""

    sign: str
    text: str


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Return *old* and *new* as one run of pieces."""
    before, after = (_WORD.findall(text) for text in (old, new))
    if len(before) + len(after) > LONGEST:
        return [DiffPiece("-", old), DiffPiece("+", new)]
    found: list[DiffPiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(DiffPiece("=", "".join(before[a:b])))
            continue
        found += [DiffPiece("-", "".join(before[a:b]))] if b > a else []
        found += [DiffPiece("+", "".join(after[c:d]))] if d > c else []
    return found


def render_side_by_side(old: str, new: str) -> tuple[Html, Html]:
    """Return *old* with what is gone marked, and *new* with what has come."""
    pieces = diff_words(old, new)
    left, right = ([p for p in pieces if p.sign != sign] for sign in "+-")
    return join_html(*map(_render_piece, left)), join_html(*map(_render_piece, right))


def render_line_diff(old: str, new: str) -> Html:
    """Return what changed from one version of a record file to the next, line by line and word by word."""
    before, after = (_MARKER.sub("", text).splitlines() for text in (old, new))
    rows: list[Html] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND):
        rows += [element("p", "⋯", class_="kb-gap")] if rows else []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [element("p", line) for line in before[a:b] if line.strip()]
            else:
                rows += _render_rows(diff_words("\n".join(before[a:b]), "\n".join(after[c:d])))
    return element("div", *rows, class_="kb-diff") if rows else Html("")


def _render_rows(pieces: list[DiffPiece]) -> Iterator[Html]:
    """Yield *pieces* as paragraphs, one for each line of either text that has any letters."""
    row: list[Html] = []
    for piece in pieces:
        head, *rest = piece.text.split("\n")
        row += [_render_piece(DiffPiece(piece.sign, head))] if head else []
        for line in rest:
            yield from [element("p", *row)] if row else []
            row = [_render_piece(DiffPiece(piece.sign, line))] if line else []
    yield from [element("p", *row)] if row else []


def _render_piece(piece: DiffPiece) -> Html:
    return element({"-": "del", "+": "ins"}[piece.sign], piece.text) if piece.sign in "-+" else join_html(piece.text)
