"""Three-way merge of the MACHINE block: sections are known by their names, wherever they stand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_markdown import merge_text
from kb.merge.sides import (
    MACHINE,
    ConflictLocation,
    MergeReport,
    is_trivial_merge,
    merge_or_default,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.records.blocks import find_headings
from kb.records.kinds import SECTIONS, resolve_section_name
from kb.text.line_ends import split_lines

_RANKS = {f"## {section.name}": number for number, section in enumerate(SECTIONS)}
_DEEPEST = 6


class SectionPiece(NamedTuple):
    """A heading and what follows it."""

    heading: str = ""
    """The row of the heading; "" for what stands before the first one."""
    lead: str = ""
    """The empty rows below it."""
    text: str = ""
    trail: str = ""
    """The empty rows behind the text."""
    title: str = ""
    is_last: bool = False


Pieces = dict[str, SectionPiece]


def merge_sections(base: str, ours: str, theirs: str, report: MergeReport, name: str = "", level: int = 2) -> str:
    """Return the merge of three texts by their headings of *level* and below; *name* is the section they stand in."""
    if ours == theirs:
        return ours
    found = _merge_by_name(base, ours, theirs, report, name, level)
    if found is None:
        found = merge_text(base, ours, theirs, report, ConflictLocation(MACHINE, name))
    # what was removed is in the report by now, also where one side alone decides
    return merge_or_default(base, ours, theirs, found)


def _merge_by_name(base: str, ours: str, theirs: str, report: MergeReport, name: str, level: int) -> str | None:
    """Return the merge by the highest headings there are; None where there are none, or two of one name."""
    for deeper in range(level, _DEEPEST + 1):
        old, mine, other = (_split_pieces(text, deeper, report.kind) for text in (base, ours, theirs))
        if old is None or mine is None or other is None:
            return None
        if len(old) + len(mine) + len(other) > 3:
            break
    else:
        return None
    sides = old, mine, other = old, _match_renamed(mine, old, other), _match_renamed(other, old, mine)
    merged = {
        key: _merge_piece([side.get(key) for side in sides], report, name, deeper) for key in order_all_names(*sides)
    }
    kept = {key: text for key, text in merged.items() if text is not None}
    order = order_names(*sides, kept, lambda key: _RANKS.get(key, len(_RANKS)))
    return "".join(kept[key] + _merge_trail(key, sides, is_last=key == order[-1]) for key in order)


def _split_pieces(text: str, level: int, kind: str) -> Pieces | None:
    """Return *text* cut at its headings of *level*, by name, "" first; None where two have the same name."""
    marks = find_headings(text, level)
    if level == 2 and marks:  # below the title of the record, a heading "# Notes" is one of the sections
        marks += [top for top in find_headings(text, 1) if top.start > marks[0].start]
        marks.sort(key=lambda mark: mark.start)
    edges = [0, *(mark.start for mark in marks), len(text)]
    found = {"": _parse_piece(text[: edges[1]], "", is_last=not marks)}
    for mark, (start, end) in zip(marks, pairwise(edges[1:]), strict=True):
        name = f"{'#' * mark.level} {resolve_section_name(mark.title, kind) or ' '.join(mark.title.casefold().split())}"
        if name in found:
            return None
        found[name] = _parse_piece(text[start:end], mark.title, is_last=end == len(text))
    return found


def _parse_piece(text: str, title: str, *, is_last: bool) -> SectionPiece:
    rows = split_lines(text)
    first = 1 if title or text.startswith("#") else 0
    filled = [number for number in range(first, len(rows)) if rows[number].strip()]
    start, end = (filled[0], filled[-1] + 1) if filled else (first, first)
    heading, lead, body, trail = map("".join, (rows[:first], rows[first:start], rows[start:end], rows[end:]))
    return SectionPiece(heading, lead, body, trail, title, is_last)


def _match_renamed(side: Pieces, old: Pieces, other: Pieces) -> Pieces:
    """Return the pieces of a *side*, under its old name what has only got a new heading."""
    # "## Costs" became "## Price" on one side: the same text under a heading that nobody else has
    gone = {piece.text: name for name, piece in old.items() if name not in side and piece.text}
    new = Counter(piece.text for name, piece in side.items() if name not in old and name not in other)
    return {
        gone.get(piece.text, name) if name not in old and name not in other and new[piece.text] == 1 else name: piece
        for name, piece in side.items()
    }


# -- pieces with names -----------------------------------------------------------------------------


def _merge_piece(versions: list[SectionPiece | None], report: MergeReport, name: str, level: int) -> str | None:
    """Return what becomes of one piece, without the empty rows behind it; None where it goes."""
    base, ours, theirs = versions
    if ours is None or theirs is None:
        return _merge_one_sided(base, ours, theirs, report, name)
    old = base or SectionPiece()
    was, mine, other = ((piece.heading, piece.title) for piece in (old, ours, theirs))
    title = merge_or_default(was, mine, other, was)[1] or min(mine, other)[1]
    inside = " / ".join(filter(None, (name, title)))
    heading = _merge_heading(old, ours, theirs, report, inside)
    text = merge_sections(old.text, ours.text, theirs.text, report, inside, level + 1)
    return heading + _merge_blank_rows(old.lead, ours.lead, theirs.lead) + text


def _merge_one_sided(
    base: SectionPiece | None, ours: SectionPiece | None, theirs: SectionPiece | None, report: MergeReport, name: str
) -> str | None:
    """Return what becomes of a piece that one side at most has."""
    there = ours or theirs
    if there is None:
        return None
    source = there.heading + there.lead + there.text
    if base is None:
        return source
    title = " / ".join(filter(None, (name, there.title)))
    if (there.heading, there.text) == (base.heading, base.text):
        side = report.name_removing_side(ours, theirs)
        report.removed.append(msg("{side} removed the section {name}", side=side, name=title))
        return None
    return report.mark_conflict(ConflictLocation(MACHINE, title), source if ours else "", source if theirs else "")


def _merge_heading(old: SectionPiece, ours: SectionPiece, theirs: SectionPiece, report: MergeReport, name: str) -> str:
    """Return the row of the heading; words for the same section contradict each other in nothing."""
    if is_trivial_merge(old.heading, ours.heading, theirs.heading):
        return merge_trivially(old.heading, ours.heading, theirs.heading)
    # "## Decision" on one side and "## 决策" on the other
    mine, other = (resolve_section_name(side.title, report.kind) for side in (ours, theirs))
    if mine and mine == other:
        return old.heading or min(ours.heading, theirs.heading)
    if ours.title and ours.title.casefold() == theirs.title.casefold():
        return min(ours.heading, theirs.heading)
    return report.mark_conflict(ConflictLocation(MACHINE, name), ours.heading, theirs.heading)


def _merge_trail(key: str, sides: tuple[Pieces, Pieces, Pieces], *, is_last: bool) -> str:
    """Return the empty rows behind a piece, as they are where it stands likewise: at the end, or before another."""
    if is_last:
        return _merge_blank_rows(*(next(reversed(side.values())).trail for side in sides))
    # the last piece of a block has no empty row behind it; one that comes to stand in the middle needs one
    within = [side[key].trail if key in side and not side[key].is_last else None for side in sides]
    if within == [None] * 3:
        return "\n"
    return _merge_blank_rows(*(within[0] or "" if trail is None else trail for trail in within))


def _merge_blank_rows(base: str, ours: str, theirs: str) -> str:
    return merge_or_default(base, ours, theirs, max(ours, theirs))
