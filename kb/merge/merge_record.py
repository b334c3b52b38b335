"""Three-way merge of a whole record file: its front key by key, its MACHINE block by sections, its USER block by lines.

The promise: what one side alone changed is taken, what both say differently is shown between conflict markers and
never decided, and not a byte of an unedited USER block changes. A merge that would not keep it, whichever side were
ours, is made more coarsely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.merge.merge_front_matter import MergedFrontMatter, mark_front_disputed, merge_front_matter
from kb.merge.merge_lines import merge_ignoring_line_ends
from kb.merge.merge_markdown import merge_lines, merge_text
from kb.merge.merge_sections import merge_sections
from kb.merge.sides import (
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
    merge_trivially,
)
from kb.records.blocks import find_blocks, refuse_conflict_markers
from kb.records.front_matter import decode_record, find_body_start, find_front_matter, parse_front_matter
from kb.records.record_file import parse_record
from kb.text.line_ends import detect_newline
from kb.text.segment import one_line

LABELS = ("ours", "theirs")


class MergedRecord(NamedTuple):
    """What became of two versions of a file."""

    data: bytes
    conflicts: tuple[MergeConflict, ...] = ()
    removed: tuple[Message, ...] = ()
    """What one side removed and the other had left alone: it is gone, and told."""


class _RecordParts(NamedTuple):
    """A record file cut into what is merged apart; joined in the order of `_join_parts` it is the file."""

    mark: str
    """A byte order mark, or ""."""
    opening: str
    front: str
    closing: str
    outside: tuple[str, str, str]
    """Before, between and behind the blocks, with the lines of their markers."""
    machine: str
    user: str
    user_first: bool


_NOTHING = _RecordParts("", "", "", "", ("", "", ""), "", "", False)


def merge_record(
    base: bytes | None, ours: bytes, theirs: bytes, *, path: str, labels: tuple[str, str] = LABELS
) -> MergedRecord:
    """Return the merge of two versions of the record file *path* that came from *base*, None for two new files.

    What cannot be read as a record is merged line by line and is always a conflict.
    """
    if ours == theirs or (base is not None and is_trivial_merge(base, ours, theirs)):
        return MergedRecord(merge_trivially(base or b"", ours, theirs))
    problem: Message | str = msg("its parts do not fit together")
    try:
        for data in sorted((ours, theirs)):
            parse_record(decode_record(data, path), path)
        mine, other = (_split_parts(decode_record(data, path), path) for data in (ours, theirs))
        old = None if base is None else _split_base(base, path)
        if base is not None and old is None:
            return _merge_broken_base(base, ours, theirs, path, labels)
        for coarse in (False, True):
            ledger, swapped = MergeReport(labels), MergeReport(labels)
            parts = _merge_parts(old, mine, other, ledger, coarse=coarse)
            if not _is_valid_merge(parts, ledger, path):
                continue
            if not ledger.conflicts or _is_valid_merge(
                _merge_parts(old, other, mine, swapped, coarse=coarse), swapped, path
            ):
                return MergedRecord(_join_parts(parts).encode(), tuple(ledger.conflicts), tuple(ledger.removed))
    except BadRecord as error:
        problem = error.message
    return _merge_by_lines(base or b"", ours, theirs, labels, problem)


def _split_base(data: bytes, path: str) -> _RecordParts | None:
    """Return the parts of a base, be there conflict markers in it; None for one that cannot be read."""
    try:
        return _split_parts(decode_record(data, path), path)
    except BadRecord:
        return None


def _merge_broken_base(base: bytes, ours: bytes, theirs: bytes, path: str, labels: tuple[str, str]) -> MergedRecord:
    """Return the merge by lines of two records whose base is none; it stands where it is a record."""
    found = _merge_by_lines(base, ours, theirs, labels, msg("their common base cannot be read"))
    try:
        parse_record(decode_record(found.data, path), path)
    except BadRecord:
        return found
    return MergedRecord(found.data)


def _merge_by_lines(
    base: bytes, ours: bytes, theirs: bytes, labels: tuple[str, str], problem: Message | str
) -> MergedRecord:
    ledger = MergeReport(labels)
    old, mine, other = (data.decode("utf-8", "surrogateescape") for data in (base, ours, theirs))
    text = merge_ignoring_line_ends(old, mine, other, lambda a, b, c: _merge_lines_and_front(a, b, c, ledger))
    said = msg("it cannot be merged as a record ({problem}); look through all of its lines", problem=problem)
    return MergedRecord(text.encode("utf-8", "surrogateescape"), (MergeConflict(FILE, "", said),))


def _merge_lines_and_front(base: str, ours: str, theirs: str, ledger: MergeReport) -> str:
    """Return the merge of three texts by lines; no conflict markers stand in a front: they show both behind it."""
    old, mine, other = (text[: find_body_start(text)] for text in (base, ours, theirs))
    if not (mine and other):
        text = merge_lines(base, ours, theirs, ledger, ConflictLocation(FILE))
        return (
            ledger.mark_conflict(ConflictLocation(FILE), ours, theirs)
            if ledger.conflicts and find_front_matter(text)
            else text
        )
    alone = MergeReport()
    head, shown = merge_lines(old, mine, other, alone, ConflictLocation(FILE)), ""
    if alone.conflicts or find_body_start(head) != len(head):
        head = _pick_readable_front([old, *sorted((mine, other))])
        shown = ledger.mark_conflict(ConflictLocation(FRONT, "---"), mine, other)
    rest = (base[len(old) :], ours[len(mine) :], theirs[len(other) :])
    body = shown + merge_lines(*rest, ledger, ConflictLocation(FILE))
    return ensure_line_end(head, detect_newline(head)) + body if body else head


def _pick_readable_front(heads: Sequence[str]) -> str:
    """Return the first front of *heads* that can be read; of none, the first there is."""
    for head in filter(None, heads):
        with suppress(BadRecord):
            if parse_front_matter(head):
                return head
    return next(filter(None, heads))


def _is_valid_merge(parts: _RecordParts, ledger: MergeReport, path: str) -> bool:
    """Return whether a merge is a record, or, with conflicts, the parts of one whose markers nothing hides."""
    text = _join_parts(parts)
    try:
        if not ledger.conflicts:
            parse_record(text, path)
        if _split_parts(text, path) != parts:
            return False
    except BadRecord:
        return False
    try:
        refuse_conflict_markers(text, path)
    except BadRecord:
        return True
    return not ledger.conflicts


# -- parts -----------------------------------------------------------------------------------------


def _split_parts(text: str, path: str) -> _RecordParts:
    inside, spans, body = find_front_matter(text), find_blocks(text, path), find_body_start(text)
    if inside is None or not _parse_values(text[inside.start : inside.end]):
        raise BadRecord(msg("the file has no frontmatter"), path=path, line=1)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    user_first = spans.user.start < spans.machine.start
    first, second = (spans.user, spans.machine) if user_first else (spans.machine, spans.user)
    return _RecordParts(
        mark,
        text[len(mark) : inside.start],
        text[inside.start : inside.end],
        text[inside.end : body],
        (text[body : first.start], text[first.end : second.start], text[second.end :]),
        text[slice(*spans.machine)],
        text[slice(*spans.user)],
        user_first,
    )


@lru_cache(maxsize=8)
def _parse_values(source: str) -> Mapping[str, object]:
    """Return the values in the YAML of a front."""
    return parse_front_matter(f"---\n{source}---\n")


def _join_parts(parts: _RecordParts) -> str:
    before, between, behind = parts.outside
    first, second = (parts.user, parts.machine) if parts.user_first else (parts.machine, parts.user)
    head = parts.mark + parts.opening + parts.front + parts.closing
    return head + before + first + between + second + behind


def _merge_parts(
    base: _RecordParts | None, ours: _RecordParts, theirs: _RecordParts, ledger: MergeReport, *, coarse: bool
) -> _RecordParts:
    """Return the parts of the merge; *coarse*: a block that both sides changed is shown as a whole."""
    old = base or _NOTHING
    are_two = _has_two_records(base, ours, theirs, ledger)
    found: list[MergedFrontMatter] = []

    def merge_fronts(before: str, mine: str, other: str) -> str:
        merge = mark_front_disputed if are_two else merge_front_matter
        found.append(merge(None if base is None else before, mine, other, ledger))
        return found[0].source

    source = merge_ignoring_line_ends(old.front, ours.front, theirs.front, merge_fronts)
    whole = coarse or are_two
    return _RecordParts(
        merge_trivially(old.mark, ours.mark, theirs.mark),
        _merge_delimiter(old.opening, ours.opening, theirs.opening),
        source,
        _merge_delimiter(old.closing, ours.closing, theirs.closing),
        _merge_outside(old, ours, theirs, ledger),
        _merge_machine_block(old, ours, theirs, found[0], ledger, whole=whole),
        _merge_user_block(old, ours, theirs, ledger, whole=whole),
        merge_trivially(old.user_first, ours.user_first, theirs.user_first),
    )


def _has_two_records(base: _RecordParts | None, ours: _RecordParts, theirs: _RecordParts, ledger: MergeReport) -> bool:
    """Return whether two records of different origin stand under one name."""
    mine, other = (_parse_values(side.front) for side in (ours, theirs))
    one, two = (str(values.get("uid") or "") for values in (mine, other))
    if not (one and two):
        one, two = (str(values["id"]) if base is None else "" for values in (mine, other))
    if one == two:
        return False
    words = msg("two records stand under one name: keep one here and give the other a number and a file of its own")
    ledger.conflicts.append(MergeConflict(FILE, "", words))
    return True


def _merge_delimiter(base: str, ours: str, theirs: str) -> str:
    """Return a line of three dashes, about which nobody needs to be asked."""
    return merge_trivially(base, ours, theirs) if is_trivial_merge(base, ours, theirs) else base or min(ours, theirs)


def _merge_outside(
    old: _RecordParts, ours: _RecordParts, theirs: _RecordParts, ledger: MergeReport
) -> tuple[str, str, str]:
    first, second, third = (
        merge_ignoring_line_ends(*texts, lambda a, b, c: merge_lines(a, b, c, ledger, ConflictLocation(OUTSIDE)))
        for texts in zip(old.outside, ours.outside, theirs.outside, strict=True)
    )
    return first, second, third


# -- blocks ----------------------------------------------------------------------------------------


def _merge_machine_block(
    old: _RecordParts,
    ours: _RecordParts,
    theirs: _RecordParts,
    fronts: MergedFrontMatter,
    ledger: MergeReport,
    *,
    whole: bool,
) -> str:
    """Return the MACHINE block: what is disputed of the front, then the block itself."""

    def merge_block(base: str, mine: str, other: str) -> str:
        if whole and not is_trivial_merge(base, mine, other):
            return fronts.shown + ledger.mark_conflict(ConflictLocation(MACHINE), mine, other)
        titled = _apply_merged_title(fronts, ((old, base), (ours, mine), (theirs, other)))
        return fronts.shown + merge_sections(*titled, ledger)

    return merge_ignoring_line_ends(old.machine, ours.machine, theirs.machine, merge_block)


def _apply_merged_title(fronts: MergedFrontMatter, sides: Sequence[tuple[_RecordParts, str]]) -> tuple[str, str, str]:
    """Return the texts of three MACHINE blocks under the merged title, where each has had that of its own front."""
    titles = [_format_title(parts.front) if parts.front else "" for parts, _ in sides]
    texts = [text for _, text in sides]
    if not fronts.disputed & {"id", "title"} and all(map(str.startswith, texts, titles)):
        new = _format_title(fronts.source)
        texts = [new + text.removeprefix(own) if own else text for own, text in zip(titles, texts, strict=True)]
    base, mine, other = texts
    return base, mine, other


def _format_title(source: str) -> str:
    """Return the row of the title that belongs to a front."""
    values = _parse_values(source)
    return f"# [{one_line(str(values.get('id')))}] {one_line(str(values.get('title')))}\n"


def _merge_user_block(
    old: _RecordParts, ours: _RecordParts, theirs: _RecordParts, ledger: MergeReport, *, whole: bool
) -> str:
    def merge_block(base: str, mine: str, other: str) -> str:
        if whole and not is_trivial_merge(base, mine, other):
            return ledger.mark_conflict(ConflictLocation(USER), mine, other)
        return merge_text(base, mine, other, ledger, ConflictLocation(USER), structured=False)

    return merge_ignoring_line_ends(old.user, ours.user, theirs.user, merge_block)
