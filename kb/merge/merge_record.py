"""Three-way merge of a record file: front matter by key, MACHINE block by section, USER block by line.

The promise: a change of one side is taken; different changes of both are shown between conflict markers and never
decided; an unedited USER block keeps every byte. A merge that would break this promise, with either side as ours, is
repeated more coarsely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.merge.merge_front_matter import MergedFrontMatter, mark_front_disputed, merge_front_matter
from kb.merge.merge_lines import (
    FILE,
    FRONT,
    MACHINE,
    OUTSIDE,
    USER,
    ConflictLocation,
    MergeConflict,
    MergeReport,
    ensure_line_end,
    is_trivial_merge,
    merge_ignoring_line_ends,
    merge_or_default,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.merge.merge_markdown import merge_lines, merge_text
from kb.records.blocks import find_record_blocks, refuse_conflict_markers
from kb.records.front_matter import decode_record, find_body_start, find_front_matter, parse_front_matter
from kb.records.kinds import SECTIONS, resolve_section_name
from kb.records.record_file import parse_record
from kb.text.markdown_scan import find_headings
from kb.text.segment import detect_newline, one_line, split_lines

LABELS = ("ours", "theirs")


class MergedRecord(NamedTuple):
    """The merge of two versions of a file."""

    data: bytes
    conflicts: tuple[MergeConflict, ...] = ()
    removed: tuple[Message, ...] = ()
    """Text that one side removed and the other left unchanged: it is removed and reported."""


class _RecordParts(NamedTuple):
    """A record file split into separately merged parts; `_join_parts` restores the file."""

    mark: str = ""
    """A byte order mark, or ""."""
    opening: str = ""
    front: str = ""
    closing: str = ""
    outside: tuple[str, ...] = ("", "", "")
    """The text before, between and after the blocks, with the marker lines."""
    machine: str = ""
    user: str = ""
    user_first: bool = False


def merge_record(
    base: bytes | None, ours: bytes, theirs: bytes, *, path: str, labels: tuple[str, str] = LABELS
) -> MergedRecord:
    """Return the merge of two versions of the record file *path* that came from *base*, None for two new files.

    What is not a valid record is merged by lines, and always counts as a conflict.
    """
    if ours == theirs or (base is not None and is_trivial_merge(base, ours, theirs)):
        return MergedRecord(merge_trivially(base or b"", ours, theirs))
    problem: Message | str = msg("its parts do not fit together")
    try:
        for data in sorted((ours, theirs)):
            parse_record(decode_record(data, path), path)
        mine, other = (_split_parts(decode_record(data, path), path) for data in (ours, theirs))
        old = None
        if base is not None:
            try:
                old = _split_parts(decode_record(base, path), path)  # even if it has conflict markers
            except BadRecord:
                return _merge_broken_base(base, ours, theirs, path, labels)
        for coarse in (False, True):
            report, swapped = MergeReport(labels), MergeReport(labels)
            text = _join_parts(_merge_parts(old, mine, other, report, coarse=coarse))
            if not _is_valid_merge(text, report, path):
                continue
            # swapping the sides can hide markers in another way, so check both orders
            if not report.conflicts or _is_valid_merge(
                _join_parts(_merge_parts(old, other, mine, swapped, coarse=coarse)), swapped, path
            ):
                return MergedRecord(text.encode(), tuple(report.conflicts), tuple(report.removed))
    except BadRecord as error:
        problem = error.message
    return _merge_by_lines(base or b"", ours, theirs, labels, problem)


def _is_valid_merge(text: str, report: MergeReport, path: str) -> bool:
    """Return whether a merge is a valid record, or with conflicts, a record whose markers are all visible."""
    try:
        _split_parts(text, path)
        if not report.conflicts:
            parse_record(text, path)
    except BadRecord:
        return False
    try:
        refuse_conflict_markers(text, path)
    except BadRecord:
        return True
    return not report.conflicts


# -- files that are no records ---------------------------------------------------------------------


def _merge_broken_base(base: bytes, ours: bytes, theirs: bytes, path: str, labels: tuple[str, str]) -> MergedRecord:
    """Return the merge by lines of two records whose base is not a record, if the result is one."""
    found = _merge_by_lines(base, ours, theirs, labels, msg("their common base cannot be read"))
    try:
        parse_record(decode_record(found.data, path), path)
    except BadRecord:
        return found
    return MergedRecord(found.data)


def _merge_by_lines(
    base: bytes, ours: bytes, theirs: bytes, labels: tuple[str, str], problem: Message | str
) -> MergedRecord:
    report = MergeReport(labels)
    old, mine, other = (data.decode("utf-8", "surrogateescape") for data in (base, ours, theirs))
    text = merge_ignoring_line_ends(old, mine, other, lambda a, b, c: _merge_lines_and_front(a, b, c, report))
    said = msg("it cannot be merged as a record ({problem}); look through all of its lines", problem=problem)
    return MergedRecord(text.encode("utf-8", "surrogateescape"), (MergeConflict(FILE, "", said),))


def _merge_lines_and_front(base: str, ours: str, theirs: str, report: MergeReport) -> str:
    """Return the merge by lines; conflicts in the front matter are shown after it, so that it stays readable."""
    old, mine, other = (text[: find_body_start(text)] for text in (base, ours, theirs))
    if not (mine and other):
        text = merge_lines(base, ours, theirs, report, ConflictLocation(FILE))
        is_front_torn = report.conflicts and find_front_matter(text)
        return report.mark_conflict(ConflictLocation(FILE), ours, theirs) if is_front_torn else text
    alone = MergeReport()
    head, shown = merge_lines(old, mine, other, alone, ConflictLocation(FILE)), ""
    if alone.conflicts or find_body_start(head) != len(head):
        heads = [head for head in (old, *sorted((mine, other))) if head]
        head = next(filter(_is_readable_front, heads), heads[0])
        shown = report.mark_conflict(ConflictLocation(FRONT, "---"), mine, other)
    rest = (base[len(old) :], ours[len(mine) :], theirs[len(other) :])
    body = shown + merge_lines(*rest, report, ConflictLocation(FILE))
    return ensure_line_end(head, detect_newline(head)) + body if body else head


def _is_readable_front(head: str) -> bool:
    try:
        return bool(parse_front_matter(head))
    except BadRecord:
        return False


# -- parts -----------------------------------------------------------------------------------------


def _split_parts(text: str, path: str) -> _RecordParts:
    inside, spans, body = find_front_matter(text), find_record_blocks(text, path), find_body_start(text)
    if inside is None or not _parse_values(text[inside.start : inside.end]):
        raise BadRecord(msg("the file has no frontmatter"), path=path, line=1)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    first, second = sorted((spans.user, spans.machine))
    return _RecordParts(
        mark,
        text[len(mark) : inside.start],
        text[inside.start : inside.end],
        text[inside.end : body],
        (text[body : first.start], text[first.end : second.start], text[second.end :]),
        text[slice(*spans.machine)],
        text[slice(*spans.user)],
        first == spans.user,
    )


@lru_cache(maxsize=8)
def _parse_values(source: str) -> Mapping[str, object]:
    """Return the values in the YAML of a front matter."""
    return parse_front_matter(f"---\n{source}---\n")


def _join_parts(parts: _RecordParts) -> str:
    before, between, behind = parts.outside
    first, second = (parts.user, parts.machine) if parts.user_first else (parts.machine, parts.user)
    head = parts.mark + parts.opening + parts.front + parts.closing
    return head + before + first + between + second + behind


def _merge_parts(
    base: _RecordParts | None, ours: _RecordParts, theirs: _RecordParts, report: MergeReport, *, coarse: bool
) -> _RecordParts:
    """Return the merged parts; *coarse*: show a block that both sides changed as a whole."""
    old = base or _RecordParts()
    are_two = _has_two_records(base, ours, theirs, report)
    fronts: list[MergedFrontMatter] = []

    def merge_fronts(before: str, mine: str, other: str) -> str:
        merge = mark_front_disputed if are_two else merge_front_matter
        fronts.append(merge(None if base is None else before, mine, other, report))
        return fronts[0].source

    def merge_outside(before: str, mine: str, other: str) -> str:
        return merge_lines(before, mine, other, report, ConflictLocation(OUTSIDE))

    def merge_machine(before: str, mine: str, other: str) -> str:
        """Return the conflicts of the front matter, then the block itself."""
        if (coarse or are_two) and not is_trivial_merge(before, mine, other):
            return fronts[0].shown + report.mark_conflict(ConflictLocation(MACHINE), mine, other)
        titles = [_format_title(source) if source else "" for source in (old.front, ours.front, theirs.front)]
        texts = [before, mine, other]
        # if each side's heading matches its own front matter, use the merged title in all three
        if not fronts[0].disputed & {"id", "title"} and all(map(str.startswith, texts, titles)):
            new = _format_title(fronts[0].source)
            texts = [new + text.removeprefix(own) if own else text for own, text in zip(titles, texts, strict=True)]
        before, mine, other = texts
        report.kind = str(_parse_values(ours.front).get("kind", ""))
        return fronts[0].shown + merge_sections(before, mine, other, report)

    def merge_user(before: str, mine: str, other: str) -> str:
        if (coarse or are_two) and not is_trivial_merge(before, mine, other):
            return report.mark_conflict(ConflictLocation(USER), mine, other)
        return merge_text(before, mine, other, report, ConflictLocation(USER), structured=False)

    # a `---` line is not worth a question
    opening, closing = (
        merge_or_default(*lines, lines[0] or min(lines[1:]))
        for lines in ((old.opening, ours.opening, theirs.opening), (old.closing, ours.closing, theirs.closing))
    )
    front = merge_ignoring_line_ends(old.front, ours.front, theirs.front, merge_fronts)
    outside = zip(old.outside, ours.outside, theirs.outside, strict=True)
    return _RecordParts(
        merge_trivially(old.mark, ours.mark, theirs.mark),
        opening,
        front,
        closing,
        tuple(merge_ignoring_line_ends(*texts, merge_outside) for texts in outside),
        merge_ignoring_line_ends(old.machine, ours.machine, theirs.machine, merge_machine),
        merge_ignoring_line_ends(old.user, ours.user, theirs.user, merge_user),
        merge_trivially(old.user_first, ours.user_first, theirs.user_first),
    )


def _has_two_records(base: _RecordParts | None, ours: _RecordParts, theirs: _RecordParts, report: MergeReport) -> bool:
    """Return whether the sides are two different records with one file name."""
    mine, other = (_parse_values(side.front) for side in (ours, theirs))
    # one id, two uids: each side has written its own D007-retry.md
    one, two = (str(values.get("uid") or "") for values in (mine, other))
    if not (one and two):
        one, two = (str(values["id"]) if base is None else "" for values in (mine, other))
    if one == two:
        return False
    words = msg("two records stand under one name: keep one here and give the other a number and a file of its own")
    report.conflicts.append(MergeConflict(FILE, "", words))
    return True


def _format_title(source: str) -> str:
    """Return the heading row for a front matter."""
    values = _parse_values(source)
    return f"# [{one_line(str(values.get('id')))}] {one_line(str(values.get('title')))}\n"


# -- sections -------------------------------------------------------------------------------------

_RANKS = {f"## {section.name}": number for number, section in enumerate(SECTIONS)}
_MAX_HEADING_LEVEL = 6


class SectionPiece(NamedTuple):
    """A heading and its text."""

    heading: str = ""
    """The heading row, or "" for the text before the first heading."""
    lead: str = ""
    """The empty rows below the heading."""
    text: str = ""
    trail: str = ""
    """The empty rows after the text."""
    title: str = ""
    is_last: bool = False


Pieces = dict[str, SectionPiece]


def merge_sections(base: str, ours: str, theirs: str, report: MergeReport, name: str = "", level: int = 2) -> str:
    """Return the merge of three texts by their headings of *level* and below; *name* is the section they are in."""
    if ours == theirs:
        return ours
    found = _merge_by_name(base, ours, theirs, report, name, level)
    if found is None:
        found = merge_text(base, ours, theirs, report, ConflictLocation(MACHINE, name))
    # removals are already in the report, also those that only one side made
    return merge_or_default(base, ours, theirs, found)


def _merge_by_name(base: str, ours: str, theirs: str, report: MergeReport, name: str, level: int) -> str | None:
    """Return the merge by the highest headings, or None if there are none or two have the same name."""
    for deeper in range(level, _MAX_HEADING_LEVEL + 1):
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
    """Split *text* at its headings of *level*, by name, "" first; None if two have the same name."""
    marks = find_headings(text, level)
    if level == 2 and marks:  # below the record's title, a heading "# Notes" is a section too
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
    """Return the pieces of a *side*; a piece with only its heading changed keeps its old name."""
    # "## Costs" became "## Price" on one side: the same text under a heading unknown to the others
    gone = {piece.text: name for name, piece in old.items() if name not in side and piece.text}
    new = Counter(piece.text for name, piece in side.items() if name not in old and name not in other)
    return {
        gone.get(piece.text, name) if name not in old and name not in other and new[piece.text] == 1 else name: piece
        for name, piece in side.items()
    }


# -- pieces with names -----------------------------------------------------------------------------


def _merge_piece(versions: list[SectionPiece | None], report: MergeReport, name: str, level: int) -> str | None:
    """Return the merged piece without trailing empty rows, or None if it is removed."""
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
    """Return the merge of a piece that at most one side has."""
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
    """Return the heading row; different words for the same section are no conflict."""
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
    """Return the empty rows after a piece, taken from a side where its position (last or not) is the same."""
    if is_last:
        return _merge_blank_rows(*(next(reversed(side.values())).trail for side in sides))
    # the last piece of a block has no empty row after it, but needs one if it moves to the middle
    within = [side[key].trail if key in side and not side[key].is_last else None for side in sides]
    if within == [None] * 3:
        return "\n"
    return _merge_blank_rows(*(within[0] or "" if trail is None else trail for trail in within))


def _merge_blank_rows(base: str, ours: str, theirs: str) -> str:
    return merge_or_default(base, ours, theirs, max(ours, theirs))
