"""Three-way merge of the MACHINE block: sections are known by their names, wherever they stand."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_markdown import merged_text
from kb.merge.sides import MACHINE, Ledger, Place, all_in_order, in_order, is_settled, settled
from kb.records.blocks import Heading, headings
from kb.records.kinds import SECTIONS, section_named
from kb.text.line_ends import lines

_RANKS = {f"## {section.name}": number for number, section in enumerate(SECTIONS)}
_DEEPEST = 6


class Piece(NamedTuple):
    """A heading and what follows it."""

    heading: str
    """The row of the heading; "" for what stands before the first one."""
    lead: str
    """The empty rows below it."""
    text: str
    trail: str
    """The empty rows behind the text."""
    title: str
    is_last: bool

    @property
    def written(self) -> str:
        """The piece without the empty rows behind it."""
        return self.heading + self.lead + self.text


Pieces = dict[str, Piece]


def merged_sections(base: str, ours: str, theirs: str, ledger: Ledger, name: str = "", level: int = 2) -> str:
    """Return the merge of three texts by their headings of *level* and below; *name* is the section they stand in."""
    if ours == theirs:
        return ours
    found = _merged_by_name(base, ours, theirs, ledger, name, level)
    if found is None:
        found = merged_text(base, ours, theirs, ledger, Place(MACHINE, name))
    return settled(base, ours, theirs) if is_settled(base, ours, theirs) else found


def _merged_by_name(base: str, ours: str, theirs: str, ledger: Ledger, name: str, level: int) -> str | None:
    """Return the merge by the highest headings there are; None where there are none, or two of one name."""
    for deeper in range(level, _DEEPEST + 1):
        old, mine, other = (pieces(text, deeper) for text in (base, ours, theirs))
        if old is None or mine is None or other is None:
            return None
        if len(old) + len(mine) + len(other) > 3:
            return _joined(old, _renamed(mine, old, other), _renamed(other, old, mine), ledger, name, deeper)
    return None


def pieces(text: str, level: int) -> Pieces | None:
    """Return *text* cut at its headings of *level*, by name, "" first; None where two have the same name."""
    marks = headings(text, level)
    if level == 2 and marks:
        marks = sorted([*marks, *(top for top in headings(text, 1) if top.start > marks[0].start)], key=_start)
    edges = [0, *(mark.start for mark in marks), len(text)]
    found = {"": _piece(text[: edges[1]], "", is_last=not marks)}
    for mark, (start, end) in zip(marks, pairwise(edges[1:]), strict=True):
        name = f"{'#' * mark.level} {section_named(mark.title) or ' '.join(mark.title.casefold().split())}"
        if name in found:
            return None
        found[name] = _piece(text[start:end], mark.title, is_last=end == len(text))
    return found


def _start(heading: Heading) -> int:
    return heading.start


def _piece(text: str, title: str, *, is_last: bool) -> Piece:
    rows = lines(text)
    first = 1 if title or text.startswith("#") else 0
    filled = [number for number in range(first, len(rows)) if rows[number].strip()]
    start, end = (filled[0], filled[-1] + 1) if filled else (first, first)
    heading, lead, body, trail = (
        "".join(part) for part in (rows[:first], rows[first:start], rows[start:end], rows[end:])
    )
    return Piece(heading, lead, body, trail, title, is_last)


def _renamed(side: Pieces, old: Pieces, other: Pieces) -> Pieces:
    """Return the pieces of a *side*, under its old name what has only got a new heading."""
    gone = {piece.text: name for name, piece in old.items() if name not in side and piece.text}
    new = [piece.text for name, piece in side.items() if name not in old and name not in other]
    found = {text: name for text, name in gone.items() if new.count(text) == 1}
    return {
        found.get(piece.text, name) if name not in old and name not in other else name: piece
        for name, piece in side.items()
    }


# -- pieces with names -----------------------------------------------------------------------------


def _joined(old: Pieces, mine: Pieces, other: Pieces, ledger: Ledger, name: str, level: int) -> str:
    merged = {
        key: _merged(old.get(key), mine.get(key), other.get(key), ledger, name, level)
        for key in all_in_order(old, mine, other)
    }
    kept = {key: text for key, text in merged.items() if text is not None}
    order = in_order(old, mine, other, kept, lambda key: _RANKS.get(key, len(_RANKS)))
    sides = (old, mine, other)
    return "".join(kept[key] + _gap(key, sides, is_last=key == order[-1]) for key in order)


def _gap(key: str, sides: tuple[Pieces, Pieces, Pieces], *, is_last: bool) -> str:
    """Return the empty rows behind a piece, as they are where it stands likewise: at the end, or before another."""
    if is_last:
        trails = [next(reversed(side.values())).trail for side in sides]
    else:
        within = [side[key].trail if key in side and not side[key].is_last else None for side in sides]
        if not any(trail is not None for trail in within):
            return "\n"
        trails = [trail if trail is not None else within[0] or "" for trail in within]
    return _blank(*trails)


def _merged(
    base: Piece | None, ours: Piece | None, theirs: Piece | None, ledger: Ledger, name: str, level: int
) -> str | None:
    """Return what becomes of one piece, without the empty rows behind it; None where it goes."""
    if ours is None or theirs is None:
        return _on_one_side(base, ours, theirs, ledger, name)
    old = base or Piece("", "", "", "", "", is_last=False)
    was, mine, other = ((piece.heading, piece.title) for piece in (old, ours, theirs))
    _, title = settled(was, mine, other) if is_settled(was, mine, other) else was
    named = title or min(mine, other)[1]
    inside = " / ".join(filter(None, (name, named)))
    heading = _heading(old, ours, theirs, ledger, inside)
    text = merged_sections(old.text, ours.text, theirs.text, ledger, inside, level + 1)
    return heading + _blank(old.lead, ours.lead, theirs.lead) + text


def _heading(old: Piece, ours: Piece, theirs: Piece, ledger: Ledger, name: str) -> str:
    """Return the row of the heading; words for the same section contradict each other in nothing."""
    if is_settled(old.heading, ours.heading, theirs.heading):
        return settled(old.heading, ours.heading, theirs.heading)
    if section_named(ours.title) and section_named(ours.title) == section_named(theirs.title):
        return old.heading or min(ours.heading, theirs.heading)
    if ours.title and ours.title.casefold() == theirs.title.casefold():
        return min(ours.heading, theirs.heading)
    return ledger.shown(Place(MACHINE, name), ours.heading, theirs.heading)


def _blank(base: str, ours: str, theirs: str) -> str:
    return settled(base, ours, theirs) if is_settled(base, ours, theirs) else max(ours, theirs)


def _on_one_side(base: Piece | None, ours: Piece | None, theirs: Piece | None, ledger: Ledger, name: str) -> str | None:
    """Return what becomes of a piece that one side at most has."""
    there = ours or theirs
    if there is None:
        return None
    if base is None:
        return there.written
    title = " / ".join(filter(None, (name, there.title)))
    if (there.heading, there.text) == (base.heading, base.text):
        side = ledger.gone_from(ours, theirs)
        ledger.removed.append(msg("{side} removed the section {name}", side=side, name=title))
        return None
    mine, other = ("" if piece is None else piece.written for piece in (ours, theirs))
    return ledger.shown(Place(MACHINE, title), mine, other)
