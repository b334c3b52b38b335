"""Three-way merge of the MACHINE block: sections are known by their names, wherever they stand."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_markdown import merge_text
from kb.merge.sides import (
    MACHINE,
    ConflictLocation,
    MergeReport,
    is_trivial_merge,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.records.blocks import Heading, find_headings
from kb.records.kinds import SECTIONS, resolve_section_name
from kb.text.line_ends import split_lines

_RANKS = {f"## {section.name}": number for number, section in enumerate(SECTIONS)}
_DEEPEST = 6


class SectionPiece(NamedTuple):
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
    def trimmed_source(self) -> str:
        """The piece without the empty rows behind it."""
        return self.heading + self.lead + self.text


Pieces = dict[str, SectionPiece]


def merge_sections(base: str, ours: str, theirs: str, ledger: MergeReport, name: str = "", level: int = 2) -> str:
    """Return the merge of three texts by their headings of *level* and below; *name* is the section they stand in."""
    if ours == theirs:
        return ours
    found = _merge_by_name(base, ours, theirs, ledger, name, level)
    if found is None:
        found = merge_text(base, ours, theirs, ledger, ConflictLocation(MACHINE, name))
    return merge_trivially(base, ours, theirs) if is_trivial_merge(base, ours, theirs) else found


def _merge_by_name(base: str, ours: str, theirs: str, ledger: MergeReport, name: str, level: int) -> str | None:
    """Return the merge by the highest headings there are; None where there are none, or two of one name."""
    for deeper in range(level, _DEEPEST + 1):
        old, mine, other = (split_pieces(text, deeper) for text in (base, ours, theirs))
        if old is None or mine is None or other is None:
            return None
        if len(old) + len(mine) + len(other) > 3:
            return _merge_pieces(
                old, _match_renamed(mine, old, other), _match_renamed(other, old, mine), ledger, name, deeper
            )
    return None


def split_pieces(text: str, level: int) -> Pieces | None:
    """Return *text* cut at its headings of *level*, by name, "" first; None where two have the same name."""
    marks = find_headings(text, level)
    if level == 2 and marks:
        marks = sorted([*marks, *(top for top in find_headings(text, 1) if top.start > marks[0].start)], key=_get_start)
    edges = [0, *(mark.start for mark in marks), len(text)]
    found = {"": _parse_piece(text[: edges[1]], "", is_last=not marks)}
    for mark, (start, end) in zip(marks, pairwise(edges[1:]), strict=True):
        name = f"{'#' * mark.level} {resolve_section_name(mark.title) or ' '.join(mark.title.casefold().split())}"
        if name in found:
            return None
        found[name] = _parse_piece(text[start:end], mark.title, is_last=end == len(text))
    return found


def _get_start(heading: Heading) -> int:
    return heading.start


def _parse_piece(text: str, title: str, *, is_last: bool) -> SectionPiece:
    rows = split_lines(text)
    first = 1 if title or text.startswith("#") else 0
    filled = [number for number in range(first, len(rows)) if rows[number].strip()]
    start, end = (filled[0], filled[-1] + 1) if filled else (first, first)
    heading, lead, body, trail = (
        "".join(part) for part in (rows[:first], rows[first:start], rows[start:end], rows[end:])
    )
    return SectionPiece(heading, lead, body, trail, title, is_last)


def _match_renamed(side: Pieces, old: Pieces, other: Pieces) -> Pieces:
    """Return the pieces of a *side*, under its old name what has only got a new heading."""
    gone = {piece.text: name for name, piece in old.items() if name not in side and piece.text}
    new = [piece.text for name, piece in side.items() if name not in old and name not in other]
    found = {text: name for text, name in gone.items() if new.count(text) == 1}
    return {
        found.get(piece.text, name) if name not in old and name not in other else name: piece
        for name, piece in side.items()
    }


# -- pieces with names -----------------------------------------------------------------------------


def _merge_pieces(old: Pieces, mine: Pieces, other: Pieces, ledger: MergeReport, name: str, level: int) -> str:
    merged = {
        key: _merge_piece(old.get(key), mine.get(key), other.get(key), ledger, name, level)
        for key in order_all_names(old, mine, other)
    }
    kept = {key: text for key, text in merged.items() if text is not None}
    order = order_names(old, mine, other, kept, lambda key: _RANKS.get(key, len(_RANKS)))
    sides = (old, mine, other)
    return "".join(kept[key] + _merge_trail(key, sides, is_last=key == order[-1]) for key in order)


def _merge_trail(key: str, sides: tuple[Pieces, Pieces, Pieces], *, is_last: bool) -> str:
    """Return the empty rows behind a piece, as they are where it stands likewise: at the end, or before another."""
    if is_last:
        trails = [next(reversed(side.values())).trail for side in sides]
    else:
        within = [side[key].trail if key in side and not side[key].is_last else None for side in sides]
        if not any(trail is not None for trail in within):
            return "\n"
        trails = [trail if trail is not None else within[0] or "" for trail in within]
    return _merge_blank_rows(*trails)


def _merge_piece(
    base: SectionPiece | None,
    ours: SectionPiece | None,
    theirs: SectionPiece | None,
    ledger: MergeReport,
    name: str,
    level: int,
) -> str | None:
    """Return what becomes of one piece, without the empty rows behind it; None where it goes."""
    if ours is None or theirs is None:
        return _merge_one_sided(base, ours, theirs, ledger, name)
    old = base or SectionPiece("", "", "", "", "", is_last=False)
    was, mine, other = ((piece.heading, piece.title) for piece in (old, ours, theirs))
    _, title = merge_trivially(was, mine, other) if is_trivial_merge(was, mine, other) else was
    named = title or min(mine, other)[1]
    inside = " / ".join(filter(None, (name, named)))
    heading = _merge_heading(old, ours, theirs, ledger, inside)
    text = merge_sections(old.text, ours.text, theirs.text, ledger, inside, level + 1)
    return heading + _merge_blank_rows(old.lead, ours.lead, theirs.lead) + text


def _merge_heading(old: SectionPiece, ours: SectionPiece, theirs: SectionPiece, ledger: MergeReport, name: str) -> str:
    """Return the row of the heading; words for the same section contradict each other in nothing."""
    if is_trivial_merge(old.heading, ours.heading, theirs.heading):
        return merge_trivially(old.heading, ours.heading, theirs.heading)
    if resolve_section_name(ours.title) and resolve_section_name(ours.title) == resolve_section_name(theirs.title):
        return old.heading or min(ours.heading, theirs.heading)
    if ours.title and ours.title.casefold() == theirs.title.casefold():
        return min(ours.heading, theirs.heading)
    return ledger.mark_conflict(ConflictLocation(MACHINE, name), ours.heading, theirs.heading)


def _merge_blank_rows(base: str, ours: str, theirs: str) -> str:
    return merge_trivially(base, ours, theirs) if is_trivial_merge(base, ours, theirs) else max(ours, theirs)


def _merge_one_sided(
    base: SectionPiece | None, ours: SectionPiece | None, theirs: SectionPiece | None, ledger: MergeReport, name: str
) -> str | None:
    """Return what becomes of a piece that one side at most has."""
    there = ours or theirs
    if there is None:
        return None
    if base is None:
        return there.trimmed_source
    title = " / ".join(filter(None, (name, there.title)))
    if (there.heading, there.text) == (base.heading, base.text):
        side = ledger.name_removing_side(ours, theirs)
        ledger.removed.append(msg("{side} removed the section {name}", side=side, name=title))
        return None
    mine, other = ("" if piece is None else piece.trimmed_source for piece in (ours, theirs))
    return ledger.mark_conflict(ConflictLocation(MACHINE, title), mine, other)
