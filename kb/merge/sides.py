"""Three versions of one thing: what one side alone decides, in which order things stand, how a dispute is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.text.line_ends import detect_newline

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

FRONT, MACHINE, USER, OUTSIDE, FILE = "front", "machine", "user", "outside", "file"
"""Where a conflict can be: a key of the front, the MACHINE or the USER block, beside the blocks, the whole file."""


class ConflictLocation(NamedTuple):
    """Where a conflict is."""

    block: str
    name: str = ""
    """The key of the front or the heading of the section; "" for neither."""


class MergeConflict(NamedTuple):
    """What two sides say of one thing, and only a person can decide."""

    block: str
    name: str
    said: Message


class MergeReport:
    """What a merge has to tell: its conflicts, and what one side removed."""

    def __init__(self, labels: tuple[str, str] = ("ours", "theirs")) -> None:
        """Name the sides by *labels*."""
        self.labels = labels
        self.conflicts: list[MergeConflict] = []
        self.removed: list[Message] = []

    def mark_conflict(self, place: ConflictLocation, ours: str, theirs: str) -> str:
        """Note a conflict at *place* and return both sides between conflict markers."""
        self.conflicts.append(MergeConflict(place.block, place.name, _describe_conflict(place, ours, theirs)))
        mine, other = self.labels
        end = detect_newline(max(ours, theirs))
        ours, theirs = ensure_line_end(ours, end), ensure_line_end(theirs, end)
        return f"<<<<<<< {mine}{end}{ours}======={end}{theirs}>>>>>>> {other}{end}"

    def name_removing_side(self, ours: object, theirs: object) -> str:
        """Return how the side that has nothing (None) is called, or both."""
        return " + ".join(label for label, value in zip(self.labels, (ours, theirs), strict=True) if value is None)

    def add_report(self, other: MergeReport) -> None:
        """Add what *other* has to tell."""
        self.conflicts += other.conflicts
        self.removed += other.removed


def ensure_line_end(text: str, end: str) -> str:
    """Return *text* with a line *end* behind its last line."""
    return text if not text or text.endswith(("\n", "\r")) else text + end


def _describe_conflict(place: ConflictLocation, ours: str, theirs: str) -> Message:
    where = describe_location(place)
    if not (ours and theirs):
        return msg("{place}: one side removed what the other changed", place=where)
    if place.block == FRONT:
        return msg("{place}: both sides changed it; put the right value into the front matter", place=where)
    return msg("{place}: both sides changed the same lines", place=where)


def describe_location(place: ConflictLocation) -> Message:
    """Return how *place* is called."""
    if place.block == FRONT:
        return msg("front, {key}", key=place.name)
    if place.block == MACHINE:
        return msg("MACHINE block, {section}", section=place.name) if place.name else msg("MACHINE block")
    return msg("USER block") if place.block == USER else msg("outside the blocks")


# -- what one side alone decides -------------------------------------------------------------------


def is_trivial_merge(base: object, ours: object, theirs: object) -> bool:
    """Return whether at most one side changed the *base*, or both alike."""
    return ours == theirs or base in (ours, theirs)


def merge_trivially(base: T, ours: T, theirs: T) -> T:
    """Return what stands where `is_trivial_merge`."""
    return theirs if ours == base else ours


# -- the order of things with names ----------------------------------------------------------------


def order_names(
    base: Collection[str],
    ours: Collection[str],
    theirs: Collection[str],
    kept: Collection[str],
    rank: Callable[[str], int] = lambda name: 0,
) -> list[str]:
    """Return the names *kept* in one order, whichever side is ours.

    Known names stand as in the base, or as on the one side that moved them; where both moved them differently, as in
    the base. A new name stands behind the one it follows on its side; where both sides put new ones there, by *rank*
    and then by name.
    """
    old = _order_known([name for name in base if name in kept], ours, theirs)
    place = {name: number for number, name in enumerate(old)}
    new: dict[str, int] = {}
    for side in (ours, theirs):
        last = -1
        for name in side:
            last = place.get(name, last)
            if name in kept and name not in place:
                new[name] = max(new.get(name, last), last)
    behind: dict[int, list[str]] = {}
    for name, at in new.items():
        behind.setdefault(at, []).append(name)
    found = _order_new(behind.get(-1, []), ours, theirs, rank)
    for number, name in enumerate(old):
        found += [name, *_order_new(behind.get(number, []), ours, theirs, rank)]
    return found


def order_all_names(base: Collection[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    """Return every name of three in one order, whichever side is ours."""
    return order_names(base, ours, theirs, {*base, *ours, *theirs})


def _order_known(old: list[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    known = frozenset(old)
    mine, other = ([name for name in side if name in known] for side in (ours, theirs))
    moved = [side for side in (mine, other) if side != _filter_names(old, side)]
    if not moved or (len(moved) == 2 and _filter_names(mine, other) != _filter_names(other, mine)):
        return old
    leading: list[str] = max(moved, key=_rank_by_length)
    led = dict.fromkeys(leading)
    last: str | None = None
    missing: dict[str | None, list[str]] = {}
    for name in old:
        last = name if name in led else last
        missing.setdefault(last, []).extend([] if name in led else [name])
    found = missing.get(None, [])
    for name in led:
        found += [name, *missing[name]]
    return found


def _rank_by_length(names: list[str]) -> tuple[int, list[str]]:
    return len(names), names


def _filter_names(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return those of *names* that are *wanted*."""
    some = frozenset(wanted)
    return [name for name in names if name in some]


def _order_new(
    names: list[str], ours: Collection[str], theirs: Collection[str], rank: Callable[[str], int]
) -> list[str]:
    """Return new *names* of one place as the side that has them all orders them, else by rank."""
    if len(names) < 2:
        return names
    orders = [order for side in (ours, theirs) if len(order := _filter_names(side, names)) == len(names)]
    if orders and all(order == orders[0] for order in orders):
        return orders[0]
    return sorted(names, key=lambda name: (rank(name), name))
