"""Three-way merge of sequences of texts (lines, list items, table rows): the runs that differ, and on which side.

Lines are matched as in patience diff: lines unique on both sides are anchors, and the algorithm recurses between them.
Small remaining gaps go to `difflib`. A large gap without a common line counts as replaced, so that no file takes more
than a few times its reading time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from posixpath import commonprefix
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.text.segment import detect_newline, normalise_newlines

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

FRONT, MACHINE, USER, OUTSIDE, FILE = "front", "machine", "user", "outside", "file"
"""Where a conflict can be: a front matter key, the MACHINE or USER block, outside the blocks, or the whole file."""


class ConflictLocation(NamedTuple):
    """Where a conflict is."""

    block: str
    name: str = ""
    """The front matter key or the section heading, or ""."""

    def describe(self) -> Message:
        """Return its description for a message."""
        if self.block == FRONT:
            return msg("front, {key}", key=self.name)
        if self.block == MACHINE:
            return msg("MACHINE block, {section}", section=self.name) if self.name else msg("MACHINE block")
        return msg("USER block") if self.block == USER else msg("outside the blocks")


class MergeConflict(NamedTuple):
    """A conflict between two sides that only a person can decide."""

    block: str
    name: str
    said: Message


class MergeReport:
    """What a merge reports: its conflicts, and what one side removed."""

    def __init__(self, labels: tuple[str, str] = ("ours", "theirs")) -> None:
        """Name the sides by *labels*."""
        self.labels = labels
        self.kind = ""
        self.conflicts: list[MergeConflict] = []
        self.removed: list[Message] = []

    def mark_conflict(self, location: ConflictLocation, ours: str, theirs: str) -> str:
        """Record a conflict at *location* and return both sides between conflict markers."""
        where = location.describe()
        if not (ours and theirs):
            said = msg("{place}: one side removed what the other changed", place=where)
        elif location.block == FRONT:
            said = msg("{place}: both sides changed it; put the right value into the front matter", place=where)
        else:
            said = msg("{place}: both sides changed the same lines", place=where)
        self.conflicts.append(MergeConflict(*location, said))
        mine, other = self.labels
        end = detect_newline(max(ours, theirs))
        ours, theirs = ensure_line_end(ours, end), ensure_line_end(theirs, end)
        return f"<<<<<<< {mine}{end}{ours}======={end}{theirs}>>>>>>> {other}{end}"

    def name_removing_side(self, ours: object, theirs: object) -> str:
        """Return the label of the side that is None, or of both."""
        return " + ".join(label for label, value in zip(self.labels, (ours, theirs), strict=True) if value is None)


def ensure_line_end(text: str, end: str) -> str:
    """Return *text* with a line *end* after its last line."""
    return text if not text or text.endswith(("\n", "\r")) else text + end


def is_trivial_merge(base: object, ours: object, theirs: object) -> bool:
    """Return whether at most one side changed the *base*, or both changed it alike."""
    return ours == theirs or base in (ours, theirs)


def merge_trivially(base: T, ours: T, theirs: T) -> T:
    """Return the merge of versions for which `is_trivial_merge` holds."""
    return theirs if ours == base else ours


def merge_or_default(base: T, ours: T, theirs: T, default: T) -> T:
    """Return the merge if it is trivial, else *default*; for differences not worth a question."""
    return merge_trivially(base, ours, theirs) if is_trivial_merge(base, ours, theirs) else default


# -- the order of things with names ----------------------------------------------------------------


def order_names(
    base: Collection[str],
    ours: Collection[str],
    theirs: Collection[str],
    kept: Collection[str],
    rank: Callable[[str], int] = lambda name: 0,
) -> list[str]:
    """Return the names *kept* in an order that does not depend on which side is ours.

    Known names follow the base, or the one side that moved them; if both moved them differently, the base. A new name
    follows its predecessor on its own side; several new names in one place are sorted by *rank* and then by name.
    """
    known = _order_known([name for name in base if name in kept], ours, theirs)
    # each new name is stored under its known predecessor: in "why, costs, impact", costs follows why
    place = {name: number for number, name in enumerate(known)}
    new: dict[str, int] = {}
    for side in (ours, theirs):
        last = -1
        for name in side:
            last = place.get(name, last)
            if name in kept and name not in place:
                new[name] = max(new.get(name, last), last)
    behind: dict[int, list[str]] = defaultdict(list)
    for name, at in new.items():
        behind[at].append(name)

    def order_new(names: list[str]) -> list[str]:
        # if one side has both "costs" and "risks", its order counts, even if the other has only one of them
        orders = [order for side in (ours, theirs) if len(order := _filter_names(side, names)) == len(names)]
        if orders and all(order == orders[0] for order in orders):
            return orders[0]
        return sorted(names, key=lambda name: (rank(name), name))

    found = order_new(behind[-1])
    for number, name in enumerate(known):
        found += [name, *order_new(behind[number])]
    return found


def order_all_names(base: Collection[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    """Return all names of three versions in an order that does not depend on which side is ours."""
    return order_names(base, ours, theirs, {*base, *ours, *theirs})


def _order_known(old: list[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    """Return the base's names in the order of the side that moved them; names it lacks follow their neighbour."""
    mine, other = (_filter_names(side, old) for side in (ours, theirs))
    moved = [side for side in (mine, other) if side != _filter_names(old, side)]
    # base "why, impact, rollback": ours "rollback, why, impact" moved a name, theirs "why, impact" only lacks one
    if not moved or (len(moved) == 2 and _filter_names(mine, other) != _filter_names(other, mine)):
        return old
    leading: list[str] = max(moved, key=lambda names: (len(names), names))
    found = list(dict.fromkeys(leading))
    led = frozenset(found)
    for before, name in pairwise([None, *old]):
        if name not in led and name is not None:
            found.insert(0 if before is None else found.index(before) + 1, name)
    return found


def _filter_names(names: Collection[str], wanted: Collection[str]) -> list[str]:
    some = frozenset(wanted)
    return [name for name in names if name in some]


_LINE_END = re.compile(r"\r\n|\n|\r")
_SMALL = 20_000
"""Gaps up to this product of their two lengths are compared line by line."""


class MergeRun(NamedTuple):
    """A run of the base and its replacement on each side."""

    base: list[str]
    ours: list[str]
    theirs: list[str]

    @property
    def settled(self) -> list[str] | None:
        """The result if at most one side changed it, or both alike; None if both changed it differently."""
        return merge_trivially(*self) if is_trivial_merge(*self) else None


class _Hunk(NamedTuple):
    """Items *start* to *end* of the base, replaced by items *first* to *after* of a side (0: ours)."""

    start: int
    end: int
    side: int
    first: int
    after: int


def iter_merge_runs(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], *, apart: bool = False
) -> Iterator[MergeRun]:
    """Yield the three sequences, cut into runs changed by one side, by both or by nobody.

    Adjacent changes of both sides form one run. With *apart* they form two, unless they share an item of the base or
    add at the same place.
    """
    sides = (ours, theirs)
    done, shift = 0, [0, 0]  # the end of the last run in the base, and the offset of each side there

    def build_run(start: int, end: int, before: list[int]) -> MergeRun:
        mine, other = (list(side[start + before[n] : end + shift[n]]) for n, side in enumerate(sides))
        return MergeRun(list(base[start:end]), mine, other)

    hunks = sorted(hunk for number, side in enumerate(sides) for hunk in _iter_hunks(base, side, number))
    while hunks:
        start, end, group = hunks[0].start, hunks[0].end, [hunks.pop(0)]
        # a row added right after one that the other side changed is adjacent, but a separate change
        while hunks and (
            hunks[0].start < end or (hunks[0].start == end and (not apart or start == end == hunks[0].end))
        ):
            end = max(end, hunks[0].end)
            group.append(hunks.pop(0))
        if done < start:
            yield build_run(done, start, shift)
        before = list(shift)
        for hunk in group:
            shift[hunk.side] = hunk.after - hunk.end
        yield build_run(start, end, before)
        done = end
    if done < len(base):
        yield build_run(done, len(base), shift)


def merge_additions(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Return the merge, items sorted, if both sides only add at one place; otherwise None."""
    found: list[str] = []
    for run in iter_merge_runs(base, ours, theirs, apart=True):
        if run.settled is None and run.base:
            return None
        found += sorted({*run.ours, *run.theirs}) if run.settled is None else run.settled
    return found


# -- two sequences ---------------------------------------------------------------------------------


def _iter_hunks(base: Sequence[str], side: Sequence[str], number: int) -> Iterator[_Hunk]:
    at, there = 0, 0
    for mine, other in [*_match_items(base, side), (len(base), len(side))]:
        if at < mine or there < other:
            yield _Hunk(at, mine, number, there, other)
        at, there = mine + 1, other + 1


def _match_items(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of the matching items of two sequences, ascending in both."""
    found: list[tuple[int, int]] = []
    gaps = [(0, len(one), 0, len(other))]
    while gaps:
        a, a_end, b, b_end = gaps.pop()
        while a < a_end and b < b_end and one[a] == other[b]:
            found.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and one[a_end - 1] == other[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found.append((a_end, b_end))
        if a == a_end or b == b_end:
            continue
        # a unique line is a reliable match; a lone "```" or "- yes" would match any other
        held = _match_unique_items(one[a:a_end], other[b:b_end])
        if not held:
            found += [(a + i, b + j) for i, j in _match_with_difflib(one[a:a_end], other[b:b_end])]
            continue
        edges = [(a - 1, b - 1), *((a + i, b + j) for i, j in held), (a_end, b_end)]
        found += edges[1:-1]
        gaps += [(i + 1, i_next, j + 1, j_next) for (i, j), (i_next, j_next) in pairwise(edges)]
    return sorted(found)


def _match_unique_items(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest ascending series of items that are unique in each of two sequences."""
    counts, places = Counter(one), Counter(other)
    at = {item: number for number, item in enumerate(other) if places[item] == 1}
    single = [(number, at[item]) for number, item in enumerate(one) if counts[item] == 1 and item in at]
    # patience sorting: `tops` are the last positions of the best series by length, `ends` the items that end them
    tops: list[int] = []
    ends: list[int] = []
    before = [-1] * len(single)
    for number, (_, place) in enumerate(single):
        height = bisect_left(tops, place)
        before[number] = ends[height - 1] if height else -1
        tops[height : height + 1] = [place]
        ends[height : height + 1] = [number]
    found: list[tuple[int, int]] = []
    last = ends[-1] if ends else -1
    while last >= 0:
        found.append(single[last])
        last = before[last]
    return found[::-1]


def _match_with_difflib(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    if len(one) * len(other) > _SMALL:
        return []
    from difflib import SequenceMatcher

    found = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [(block.a + n, block.b + n) for block in found for n in range(block.size)]


# -- what runs and their items have in common ------------------------------------------------------


def merge_ignoring_line_ends(base: str, ours: str, theirs: str, merge: Callable[[str, str, str], str]) -> str:
    """Return *merge* of three texts compared without their line endings, with the merged line endings.

    A change of all line endings on one side is taken. If a text mixes them, they count as part of the lines.
    """
    before, mine, other = (_detect_line_end(text) for text in (base, ours, theirs))
    if before is None or mine is None or other is None or not (before + mine + other).strip("\n"):
        return merge(base, ours, theirs)
    # an editor on Windows saved ours with \r\n, theirs added a row: merge both changes
    mine, other = mine or before, other or before
    end = merge_or_default(before, mine, other, before or min(mine, other))
    return merge(normalise_newlines(base), normalise_newlines(ours), normalise_newlines(theirs)).replace("\n", end)


def _detect_line_end(text: str) -> str | None:
    """Return the only line ending of *text*, "" if it has none, None if it mixes them."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    found = set(_LINE_END.findall(text))
    return found.pop() if len(found) == 1 else None


def split_common_ends(run: MergeRun) -> tuple[list[str], MergeRun, list[str]]:
    """Return the items with which both sides begin, *run* without them, and the items with which both end."""
    head = len(commonprefix([run.ours, run.theirs]))
    ours, theirs = run.ours[head:], run.theirs[head:]
    tail = len(commonprefix([ours[::-1], theirs[::-1]]))
    middle = MergeRun(run.base, ours[: len(ours) - tail], theirs[: len(theirs) - tail])
    return run.ours[:head], middle, ours[len(ours) - tail :]


def has_new_duplicates(found: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether an item occurs more often in the merge *found* than on either side."""
    # ours moved "- a" to the top, theirs moved it to the end: keeping both would duplicate it
    once, *sides = (Counter(item.strip() for item in items) for items in (found, ours, theirs))
    return any(item and count > 1 and all(count > side[item] for side in sides) for item, count in once.items())
