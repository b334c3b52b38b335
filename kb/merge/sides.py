"""Three versions of one thing: what one side alone decides, in which order things stand, how a dispute is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import pairwise
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

    def describe(self) -> Message:
        """Return how a message calls it."""
        if self.block == FRONT:
            return msg("front, {key}", key=self.name)
        if self.block == MACHINE:
            return msg("MACHINE block, {section}", section=self.name) if self.name else msg("MACHINE block")
        return msg("USER block") if self.block == USER else msg("outside the blocks")


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
        self.kind = ""
        self.conflicts: list[MergeConflict] = []
        self.removed: list[Message] = []

    def mark_conflict(self, location: ConflictLocation, ours: str, theirs: str) -> str:
        """Note a conflict at *location* and return both sides between conflict markers."""
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
        """Return how the side that has nothing (None) is called, or both."""
        return " + ".join(label for label, value in zip(self.labels, (ours, theirs), strict=True) if value is None)


def ensure_line_end(text: str, end: str) -> str:
    """Return *text* with a line *end* behind its last line."""
    return text if not text or text.endswith(("\n", "\r")) else text + end


def is_trivial_merge(base: object, ours: object, theirs: object) -> bool:
    """Return whether at most one side changed the *base*, or both alike."""
    return ours == theirs or base in (ours, theirs)


def merge_trivially(base: T, ours: T, theirs: T) -> T:
    """Return what stands where `is_trivial_merge`."""
    return theirs if ours == base else ours


def merge_or_default(base: T, ours: T, theirs: T, default: T) -> T:
    """Return what stands where `is_trivial_merge`, else *default*: for what nobody needs to be asked about."""
    return merge_trivially(base, ours, theirs) if is_trivial_merge(base, ours, theirs) else default


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
    known = _order_known([name for name in base if name in kept], ours, theirs)
    # a new name is remembered by the known one before it: in "why, costs, impact" costs stands behind why
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
        # one side has both "costs" and "risks": its order holds, also where the other has only one of them
        orders = [order for side in (ours, theirs) if len(order := _filter_names(side, names)) == len(names)]
        if orders and all(order == orders[0] for order in orders):
            return orders[0]
        return sorted(names, key=lambda name: (rank(name), name))

    found = order_new(behind[-1])
    for number, name in enumerate(known):
        found += [name, *order_new(behind[number])]
    return found


def order_all_names(base: Collection[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    """Return every name of three in one order, whichever side is ours."""
    return order_names(base, ours, theirs, {*base, *ours, *theirs})


def _order_known(old: list[str], ours: Collection[str], theirs: Collection[str]) -> list[str]:
    """Return the names of the base as the side that moved them has them; what it lacks stays behind its neighbour."""
    mine, other = (_filter_names(side, old) for side in (ours, theirs))
    moved = [side for side in (mine, other) if side != _filter_names(old, side)]
    # base "why, impact, rollback": ours "rollback, why, impact" moved one, theirs "why, impact" only lacks one
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
