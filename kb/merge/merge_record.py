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
from kb.merge.merge_front_matter import Merged as MergedFront
from kb.merge.merge_front_matter import merged_front, whole_front
from kb.merge.merge_lines import in_one_style
from kb.merge.merge_markdown import merged_lines, merged_text
from kb.merge.merge_sections import merged_sections
from kb.merge.sides import FILE, FRONT, MACHINE, OUTSIDE, USER, Conflict, Ledger, Place, ended, is_settled, settled
from kb.records.blocks import blocks, refuse_conflict_markers
from kb.records.front_matter import body_start, decode, front, front_span
from kb.records.record_file import record_of
from kb.text.line_ends import newline
from kb.text.segment import one_line

LABELS = ("ours", "theirs")


class Merged(NamedTuple):
    """What became of two versions of a file."""

    data: bytes
    conflicts: tuple[Conflict, ...] = ()
    removed: tuple[Message, ...] = ()
    """What one side removed and the other had left alone: it is gone, and told."""


class _Parts(NamedTuple):
    """A record file cut into what is merged apart; joined in the order of `_written` it is the file."""

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


_NOTHING = _Parts("", "", "", "", ("", "", ""), "", "", False)


def merged(base: bytes | None, ours: bytes, theirs: bytes, *, path: str, labels: tuple[str, str] = LABELS) -> Merged:
    """Return the merge of two versions of the record file *path* that came from *base*, None for two new files.

    What cannot be read as a record is merged line by line and is always a conflict.
    """
    if ours == theirs or (base is not None and is_settled(base, ours, theirs)):
        return Merged(settled(base or b"", ours, theirs))
    problem: Message | str = msg("its parts do not fit together")
    try:
        for data in sorted((ours, theirs)):
            record_of(decode(data, path), path)
        mine, other = (_cut(decode(data, path), path) for data in (ours, theirs))
        old = None if base is None else _base(base, path)
        if base is not None and old is None:
            return _on_broken_base(base, ours, theirs, path, labels)
        for coarse in (False, True):
            ledger, swapped = Ledger(labels), Ledger(labels)
            parts = _merge(old, mine, other, ledger, coarse=coarse)
            if not _holds(parts, ledger, path):
                continue
            if not ledger.conflicts or _holds(_merge(old, other, mine, swapped, coarse=coarse), swapped, path):
                return Merged(_written(parts).encode(), tuple(ledger.conflicts), tuple(ledger.removed))
    except BadRecord as error:
        problem = error.message
    return _by_lines(base or b"", ours, theirs, labels, problem)


def _base(data: bytes, path: str) -> _Parts | None:
    """Return the parts of a base, be there conflict markers in it; None for one that cannot be read."""
    try:
        return _cut(decode(data, path), path)
    except BadRecord:
        return None


def _on_broken_base(base: bytes, ours: bytes, theirs: bytes, path: str, labels: tuple[str, str]) -> Merged:
    """Return the merge by lines of two records whose base is none; it stands where it is a record."""
    found = _by_lines(base, ours, theirs, labels, msg("the version both come from cannot be read"))
    try:
        record_of(decode(found.data, path), path)
    except BadRecord:
        return found
    return Merged(found.data)


def _by_lines(base: bytes, ours: bytes, theirs: bytes, labels: tuple[str, str], problem: Message | str) -> Merged:
    ledger = Ledger(labels)
    old, mine, other = (data.decode("utf-8", "surrogateescape") for data in (base, ours, theirs))
    text = in_one_style(old, mine, other, lambda a, b, c: _lines_and_front(a, b, c, ledger))
    said = msg("it cannot be merged as a record ({problem}); look through all of its lines", problem=problem)
    return Merged(text.encode("utf-8", "surrogateescape"), (Conflict(FILE, "", said),))


def _lines_and_front(base: str, ours: str, theirs: str, ledger: Ledger) -> str:
    """Return the merge of three texts by lines; no conflict markers stand in a front: they show both behind it."""
    old, mine, other = (text[: body_start(text)] for text in (base, ours, theirs))
    if not (mine and other):
        text = merged_lines(base, ours, theirs, ledger, Place(FILE))
        return ledger.shown(Place(FILE), ours, theirs) if ledger.conflicts and front_span(text) else text
    alone = Ledger()
    head, shown = merged_lines(old, mine, other, alone, Place(FILE)), ""
    if alone.conflicts or body_start(head) != len(head):
        head = _readable([old, *sorted((mine, other))])
        shown = ledger.shown(Place(FRONT, "---"), mine, other)
    rest = (base[len(old) :], ours[len(mine) :], theirs[len(other) :])
    body = shown + merged_lines(*rest, ledger, Place(FILE))
    return ended(head, newline(head)) + body if body else head


def _readable(heads: Sequence[str]) -> str:
    """Return the first front of *heads* that can be read; of none, the first there is."""
    for head in filter(None, heads):
        with suppress(BadRecord):
            if front(head):
                return head
    return next(filter(None, heads))


def _holds(parts: _Parts, ledger: Ledger, path: str) -> bool:
    """Return whether a merge is a record, or, with conflicts, the parts of one whose markers nothing hides."""
    text = _written(parts)
    try:
        if not ledger.conflicts:
            record_of(text, path)
        if _cut(text, path) != parts:
            return False
    except BadRecord:
        return False
    try:
        refuse_conflict_markers(text, path)
    except BadRecord:
        return True
    return not ledger.conflicts


# -- parts -----------------------------------------------------------------------------------------


def _cut(text: str, path: str) -> _Parts:
    inside, spans, body = front_span(text), blocks(text, path), body_start(text)
    if inside is None or not _values(text[inside.start : inside.end]):
        raise BadRecord(msg("the file has no frontmatter"), path=path, line=1)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    user_first = spans.user.start < spans.machine.start
    first, second = (spans.user, spans.machine) if user_first else (spans.machine, spans.user)
    return _Parts(
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
def _values(source: str) -> Mapping[str, object]:
    """Return the values in the YAML of a front."""
    return front(f"---\n{source}---\n")


def _written(parts: _Parts) -> str:
    before, between, behind = parts.outside
    first, second = (parts.user, parts.machine) if parts.user_first else (parts.machine, parts.user)
    head = parts.mark + parts.opening + parts.front + parts.closing
    return head + before + first + between + second + behind


def _merge(base: _Parts | None, ours: _Parts, theirs: _Parts, ledger: Ledger, *, coarse: bool) -> _Parts:
    """Return the parts of the merge; *coarse*: a block that both sides changed is shown as a whole."""
    old = base or _NOTHING
    are_two = _are_two_records(base, ours, theirs, ledger)
    found: list[MergedFront] = []

    def fronts(before: str, mine: str, other: str) -> str:
        merge = whole_front if are_two else merged_front
        found.append(merge(None if base is None else before, mine, other, ledger))
        return found[0].source

    source = in_one_style(old.front, ours.front, theirs.front, fronts)
    whole = coarse or are_two
    return _Parts(
        settled(old.mark, ours.mark, theirs.mark),
        _either(old.opening, ours.opening, theirs.opening),
        source,
        _either(old.closing, ours.closing, theirs.closing),
        _outside(old, ours, theirs, ledger),
        _machine(old, ours, theirs, found[0], ledger, whole=whole),
        _user(old, ours, theirs, ledger, whole=whole),
        settled(old.user_first, ours.user_first, theirs.user_first),
    )


def _are_two_records(base: _Parts | None, ours: _Parts, theirs: _Parts, ledger: Ledger) -> bool:
    """Return whether two records of different origin stand under one name."""
    mine, other = (_values(side.front) for side in (ours, theirs))
    one, two = (str(values.get("uid") or "") for values in (mine, other))
    if not (one and two):
        one, two = (str(values["id"]) if base is None else "" for values in (mine, other))
    if one == two:
        return False
    words = msg("two records stand under one name: keep one here and give the other a number and a file of its own")
    ledger.conflicts.append(Conflict(FILE, "", words))
    return True


def _either(base: str, ours: str, theirs: str) -> str:
    """Return a line of three dashes, about which nobody needs to be asked."""
    return settled(base, ours, theirs) if is_settled(base, ours, theirs) else base or min(ours, theirs)


def _outside(old: _Parts, ours: _Parts, theirs: _Parts, ledger: Ledger) -> tuple[str, str, str]:
    first, second, third = (
        in_one_style(*texts, lambda a, b, c: merged_lines(a, b, c, ledger, Place(OUTSIDE)))
        for texts in zip(old.outside, ours.outside, theirs.outside, strict=True)
    )
    return first, second, third


# -- blocks ----------------------------------------------------------------------------------------


def _machine(old: _Parts, ours: _Parts, theirs: _Parts, fronts: MergedFront, ledger: Ledger, *, whole: bool) -> str:
    """Return the MACHINE block: what is disputed of the front, then the block itself."""

    def merge(base: str, mine: str, other: str) -> str:
        if whole and not is_settled(base, mine, other):
            return fronts.shown + ledger.shown(Place(MACHINE), mine, other)
        titled = _titled(fronts, ((old, base), (ours, mine), (theirs, other)))
        return fronts.shown + merged_sections(*titled, ledger)

    return in_one_style(old.machine, ours.machine, theirs.machine, merge)


def _titled(fronts: MergedFront, sides: Sequence[tuple[_Parts, str]]) -> tuple[str, str, str]:
    """Return the texts of three MACHINE blocks under the merged title, where each has had that of its own front."""
    titles = [_title(parts.front) if parts.front else "" for parts, _ in sides]
    texts = [text for _, text in sides]
    if not fronts.disputed & {"id", "title"} and all(map(str.startswith, texts, titles)):
        new = _title(fronts.source)
        texts = [new + text.removeprefix(own) if own else text for own, text in zip(titles, texts, strict=True)]
    base, mine, other = texts
    return base, mine, other


def _title(source: str) -> str:
    """Return the row of the title that belongs to a front."""
    values = _values(source)
    return f"# [{one_line(str(values.get('id')))}] {one_line(str(values.get('title')))}\n"


def _user(old: _Parts, ours: _Parts, theirs: _Parts, ledger: Ledger, *, whole: bool) -> str:
    def merge(base: str, mine: str, other: str) -> str:
        if whole and not is_settled(base, mine, other):
            return ledger.shown(Place(USER), mine, other)
        return merged_text(base, mine, other, ledger, Place(USER), structured=False)

    return in_one_style(old.user, ours.user, theirs.user, merge)
