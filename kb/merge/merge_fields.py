"""Three-way merge of the values in a front: lists as sets, counters as sums, the status by its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.merge.sides import is_trivial_merge, order_all_names, order_names
from kb.records.model import TRANSITIONS, Status

if TYPE_CHECKING:
    from typing import Any

LISTS = ("tags", "impact", "supersedes", "amends", "sources", "aliases")
MAPPINGS = ("coexists_with", "claims")
COUNTER = "occurrences"
"""The key that both sides may have changed where they say the same: one more and one more are two."""
_LIFE = tuple(map(str, Status))


class MergedField(NamedTuple):
    """What becomes of the value under one key; None: the key goes."""

    value: Any
    is_disputed: bool = False
    ours: Any = None
    """What ours says of what is disputed; None: nothing."""
    theirs: Any = None


class FrontMatterSides(NamedTuple):
    """The values of three fronts; a base that is not there has none."""

    base: Mapping[str, Any]
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    has_base: bool


def merge_field(key: str, fronts: FrontMatterSides) -> MergedField:
    """Return the merge of the values under *key*, which both sides changed."""
    base, ours, theirs = (values.get(key) for values in fronts[:3])
    if key == COUNTER:
        return _merge_counter(fronts)
    if is_trivial_merge(repr(base), repr(ours), repr(theirs)):
        return MergedField(theirs if repr(ours) == repr(base) else ours)
    if key == "status":
        return _merge_status(base, ours, theirs)
    if key == "confirmed":
        return _merge_latest_day(base, ours, theirs)
    lists = [_coerce_list(value, key) for value in (base, ours, theirs)]
    if all(items is not None for items in lists):
        return _merge_lists(key, *(items or [] for items in lists))
    mappings = [_coerce_mapping(value, key) for value in (base, ours, theirs)]
    if all(items is not None for items in mappings):
        return _merge_mappings(*(items or {} for items in mappings))
    return _build_disputed(base, ours, theirs)


def _build_disputed(base: Any, ours: Any, theirs: Any) -> MergedField:
    """Return a field that keeps the base's value, or, without one, the lesser of the two."""
    kept = base if base is not None else min((ours, theirs), key=repr)
    return MergedField(kept, True, ours, theirs)


# -- counters, status, days ------------------------------------------------------------------------


def _merge_counter(fronts: FrontMatterSides) -> MergedField:
    """Return the count of the base with what each side added; a source that both counted counts once."""
    counts = [values.get("occurrences", 1) for values in fronts[:3]]
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
        return _build_disputed(*(values.get("occurrences") for values in fronts[:3]))
    base, ours, theirs = counts
    old, mine, other = (
        frozenset(map(repr, _coerce_list(values.get("sources"), "sources") or ())) for values in fronts[:3]
    )
    shared = len((mine & other) - old)
    if not fronts.has_base and (ours, mine) == (theirs, other):
        return MergedField(ours)
    if not fronts.has_base:
        base, shared = max(1, min(shared, ours, theirs)), 0
    return MergedField(max(1, ours + theirs - base - max(0, min(shared, ours - base, theirs - base))))


def _merge_status(base: Any, ours: Any, theirs: Any) -> MergedField:
    """Return the status that a record has after both steps, where the table lets one follow the other."""
    start = base or Status.PROPOSED
    for first, second in ((ours, theirs), (theirs, ours)):
        if _can_transition(start, first) and _can_transition(start, second) and _can_transition(first, second):
            return MergedField(second)
    return _build_disputed(base, ours, theirs)


def _can_transition(before: Any, after: Any) -> bool:
    """Return whether the table lets a record go on from *before* to *after*; going back is a person undoing a step."""
    if before not in _LIFE or after not in _LIFE:
        return False
    return before == after or (after in TRANSITIONS[before] and _LIFE.index(before) < _LIFE.index(after))


def _merge_latest_day(base: Any, ours: Any, theirs: Any) -> MergedField:
    """Return the later of two days (YYYY-MM-DD); a record confirmed twice was last confirmed then."""
    if all(isinstance(day, str) and _is_day(day) for day in (ours, theirs)):
        return MergedField(max(ours, theirs))
    return _build_disputed(base, ours, theirs)


def _is_day(word: str) -> bool:
    return len(word) == 10 and word[4] == word[7] == "-" and word.replace("-", "").isdigit()


# -- lists and mappings ----------------------------------------------------------------------------


def _coerce_list(value: Any, key: str) -> list[Any] | None:
    """Return *value* as a list; one word where kb expects several is a list of one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value] if key in LISTS and not isinstance(value, dict) else None


def _coerce_mapping(value: Any, key: str) -> dict[str, Any] | None:
    if value is None:
        return {}
    if isinstance(value, list) and key in MAPPINGS and all(isinstance(item, str) for item in value):
        return dict.fromkeys(value, "")
    return value if isinstance(value, dict) else None


def _merge_lists(key: str, base: list[Any], ours: list[Any], theirs: list[Any]) -> MergedField:
    """Return the items of the base that neither side removed, with those that either added."""
    old, mine, other = (_index_items(items, key) for items in (base, ours, theirs))
    kept = {name for name in (*mine, *other) if name not in old or (name in mine and name in other)}
    items = [_pick_item(name, old, mine, other) for name in order_names(old, mine, other, kept)]
    return MergedField(items or None)


def _index_items(items: list[Any], key: str) -> dict[str, Any]:
    """Return *items* by what tells them apart: tags in any case; only a list kb does not know has one twice."""
    found: dict[str, Any] = {}
    for item in items:
        name = repr(item).casefold() if key == "tags" else repr(item)
        while name in found and key not in LISTS:
            name += " again"
        found.setdefault(name, item)
    return found


def _pick_item(name: str, old: Mapping[str, Any], mine: Mapping[str, Any], other: Mapping[str, Any]) -> Any:
    ways = [repr(side.get(name)) for side in (old, mine, other)]
    if name in old and ways[0] in ways[1:]:
        return other[name] if ways[0] == ways[1] else mine[name]
    return min((side[name] for side in (mine, other) if name in side), key=repr)


def _merge_mappings(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> MergedField:
    """Return the merge of three mappings, key by key."""
    found: dict[str, Any] = {}
    disputed: list[str] = []
    for name in order_all_names(base, ours, theirs):
        ways = [repr(side[name]) if name in side else "" for side in (base, ours, theirs)]
        if is_trivial_merge(*ways):
            side = theirs if ways[1] == ways[0] else ours
            found |= {name: side[name]} if name in side else {}
        else:
            disputed.append(name)
            found[name] = base[name] if name in base else min(ours[name], theirs[name], key=repr)
    merged = {name: found[name] for name in order_names(base, ours, theirs, found)} or None
    shown = ({name: side[name] for name in disputed if name in side} or None for side in (ours, theirs))
    return MergedField(merged, bool(disputed), *shown)
