"""Three-way merge of front matter, key by key, as text: order, quotes, comments and unknown keys stay.

Lists merge as sets, counters as sums, the status by its table. The result is always readable YAML: if both sides change
a key differently, the base's value stays (of two new values, the lesser), and both are shown between conflict markers
in the MACHINE block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import msg
from kb.merge.merge_lines import (
    FRONT,
    ConflictLocation,
    MergeReport,
    is_trivial_merge,
    iter_merge_runs,
    merge_additions,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.records.blocks import escape_block
from kb.records.front_matter import KEYS, MAX_DEPTH, edit_front_matter, find_front_matter, format_entry
from kb.records.model import READ_AT, TRANSITIONS, Status
from kb.text.segment import split_lines

if TYPE_CHECKING:
    from typing import Any

_LISTS = ("tags", "impact", "supersedes", "amends", "sources", "aliases")
_MAPPINGS = ("coexists_with", "claims")
_COUNTER = "occurrences"
"""The counter that can grow even if both sides have the same value: one more on each side makes two."""
_LIFE = tuple(map(str, Status))
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class FrontMatterEntry(NamedTuple):
    """One key of a front matter as written."""

    lead: str
    """The comments and empty rows above the key."""
    body: str
    value: Any
    remark: str
    """The comment after a value on the same row."""


class ParsedFrontMatter(NamedTuple):
    """A front matter, split by key."""

    parts: dict[str, FrontMatterEntry]
    tail: str
    """The text after the last key."""

    @property
    def values(self) -> dict[str, Any]:
        """The values by key."""
        return {key: part.value for key, part in self.parts.items()}


class MergedFrontMatter(NamedTuple):
    """A merged front matter, and its conflicts."""

    source: str
    shown: str
    """The conflicting keys between conflict markers."""
    disputed: frozenset[str] = frozenset()


class MergedField(NamedTuple):
    """The merged value of one key; None: the key is removed."""

    value: Any
    is_disputed: bool = False
    ours: Any = None
    """The conflicting value of ours, or None."""
    theirs: Any = None


def merge_front_matter(base: str | None, ours: str, theirs: str, report: MergeReport) -> MergedFrontMatter:
    """Return the merge of the YAML of three front matters; without a *base*, of two."""
    if base is not None and base in (ours, theirs):
        merged = MergedFrontMatter(merge_trivially(base, ours, theirs), "")
    else:
        attempt = MergeReport(report.labels)
        found = _merge_by_key(base, ours, theirs, attempt)
        if found is None:
            return mark_front_disputed(base, ours, theirs, report)
        report.conflicts += attempt.conflicts
        merged = found
    _note_removed(base or "", merged.source, ours, theirs, report)
    return merged


def mark_front_disputed(base: str | None, ours: str, theirs: str, report: MergeReport) -> MergedFrontMatter:
    """Return the front matter of the base, or the lesser of the two, with both between conflict markers."""
    source = min(ours, theirs) if base is None else base
    shown = report.mark_conflict(ConflictLocation(FRONT, "---"), escape_block(ours), escape_block(theirs))
    return MergedFrontMatter(source, shown, frozenset(KEYS))


@lru_cache(maxsize=8)
def _split_front_keys(source: str) -> ParsedFrontMatter | None:
    """Return a front matter split by key, or None if it cannot be read or is not written one key per row."""
    from kb.records.safe_yaml import YamlError, load_yaml

    try:
        read = load_yaml(source, MAX_DEPTH)
    except YamlError:
        return None
    rows, parts, done = split_lines(source), {}, 0
    for key, place in read.entries.items():
        if read.braces or place.line < done or rows[place.line][: place.column].strip():
            return None
        body = rows[place.line : place.last + 1]
        remark = body[-1][place.value_end :].strip() if len(body) == 1 and place.value_end >= 0 else ""
        parts[key] = FrontMatterEntry("".join(rows[done : place.line]), "".join(body), place.value, remark)
        done = place.last + 1
    return ParsedFrontMatter(parts, "".join(rows[done:]))


# -- key by key ------------------------------------------------------------------------------------


def _merge_by_key(base: str | None, ours: str, theirs: str, report: MergeReport) -> MergedFrontMatter | None:
    """Return the merge of front matters written one key per row, or None for others."""
    old, mine, other = (_split_front_keys(source) for source in (base or "", ours, theirs))
    if old is None or mine is None or other is None:
        return None
    names = (old.parts, mine.parts, other.parts)
    bodies: dict[str, str] = {}
    values: dict[str, str] = {}
    shown: dict[str, str] = {}
    for key in order_all_names(*names):
        versions = [parts.get(key) for parts in names]
        body, field = _merge_key(key, versions, (old.values, mine.values, other.values), has_base=base is not None)
        if body is not None:
            bodies[key], values[key] = body, repr(field.value)
        if field.is_disputed:
            said = zip((field.ours, field.theirs), versions[1:], strict=True)
            sides = (_format_side(key, value, part) for value, part in said)
            shown[key] = report.mark_conflict(ConflictLocation(FRONT, key), *sides)
    order = order_names(*names, bodies, lambda key: KEYS.index(key) if key in KEYS else len(KEYS))
    source = "".join(_merge_lead(key, *names) + bodies[key] for key in order)
    source += _merge_comments(old.tail, mine.tail, other.tail)
    # verify that the text parses to the merged values: a comment or quote may have changed the meaning
    read = _split_front_keys(source)
    if read is None or {key: repr(value) for key, value in read.values.items()} != values:
        return None
    return MergedFrontMatter(source, "".join(shown.values()), frozenset(shown))


def _merge_key(
    key: str, versions: list[FrontMatterEntry | None], fronts: tuple[dict[str, Any], ...], *, has_base: bool
) -> tuple[str | None, MergedField]:
    """Return the rows of one key (None: removed) and the merge of its value."""
    base, ours, theirs = versions
    bodies = [part and part.body for part in versions]
    # "occurrences: 3" on both sides and 2 before: each side added one, so the sum is 4
    both_counted = key == _COUNTER and ours is not None and base != ours == theirs
    if not both_counted and is_trivial_merge(*bodies):
        part = theirs if bodies[1] == bodies[0] else ours
        return (part.body, MergedField(part.value)) if part else (None, MergedField(None))
    field = _merge_counter(fronts, has_base=has_base) if key == _COUNTER else _merge_value(key, fronts)
    if field.value is None:
        return None, field
    sides = [part for part in (ours, theirs) if part]
    body = _build_body(key, field, base, sides)
    if body is not None:
        return body, field
    kept = base or min(sides, key=lambda part: part.body)
    return kept.body, MergedField(kept.value, True, *(part and part.value for part in (ours, theirs)))


def _build_body(
    key: str, field: MergedField, base: FrontMatterEntry | None, sides: list[FrontMatterEntry]
) -> str | None:
    """Return rows with the merged value that keep all else they have, or None if a comment would be lost."""
    parts = [*([base] if base else []), *sorted(sides, key=lambda part: part.body)]
    remarks = [base.remark if base else "", sides[0].remark, sides[-1].remark]
    if not is_trivial_merge(*remarks):
        return None
    fitting = [part for part in parts if part.remark == merge_trivially(*remarks)]
    for part in fitting:
        if repr(part.value) == repr(field.value):
            return part.body
    if base and len(sides) == 2 and isinstance(field.value, list):
        rows = "".join(merge_additions(*(split_lines(part.body) for part in (base, *sides))) or ())
        read = _split_front_keys(rows)
        said = read.values.get(key) if read else None
        if isinstance(said, list) and sorted(map(repr, said)) == sorted(map(repr, field.value)):
            return rows
    if any(len(split_lines(part.body)) > 1 and "#" in part.body for part in parts):
        return None  # rewriting the value would lose the comments between its rows
    body = (fitting or parts)[0].body
    text = edit_front_matter(f"---\n{body}---\n", {key: field.value})
    span = find_front_matter(text)
    return text[span.start : span.end] if span else body


def _format_side(key: str, value: Any, part: FrontMatterEntry | None) -> str:
    """Return one side's entry for *key*, exactly as written if the whole entry conflicts."""
    if value is None:
        return ""
    return escape_block(part.body.strip() if part and repr(part.value) == repr(value) else format_entry(key, value))


def _merge_lead(key: str, *sides: Mapping[str, FrontMatterEntry]) -> str:
    old, mine, other = (side[key].lead if key in side else None for side in sides)
    if mine is None or other is None:
        return mine or other or old or ""
    return _merge_comments(old or "", mine, other)


def _merge_comments(base: str, ours: str, theirs: str) -> str:
    """Return the comments of both sides, each row once."""
    found: list[str] = []
    for run in iter_merge_runs(split_lines(base), split_lines(ours), split_lines(theirs)):
        first, second = sorted((run.ours, run.theirs))
        found += [*first, *(row for row in second if row not in first)] if run.settled is None else run.settled
    return "".join(found)


def _note_removed(base: str, merged: str, ours: str, theirs: str, report: MergeReport) -> None:
    """Report what the merge removed from the base."""
    read = [_split_front_keys(source) for source in (base, merged, ours, theirs)]
    if None in read:
        return
    old, new, mine, other = (found.values if found else {} for found in read)
    for key, value in old.items():
        have = (mine.get(key), other.get(key))
        if key not in new:
            side = report.name_removing_side(*have)
            report.removed.append(msg("{side} removed the key {key}", side=side, key=key))
        elif gone := _list_removed_items(value, new[key]):
            side = report.name_removing_side(*(None if _list_removed_items(value, there) else there for there in have))
            items = list(gone)
            report.removed.append(msg("{side} removed {items} from {key}", side=side, items=items, key=key))


def _list_removed_items(before: Any, after: Any) -> list[str]:
    """Return the items of a list, or the keys of a mapping, that were removed."""
    if not isinstance(before, list | dict):
        return []
    left = after if isinstance(after, type(before)) else ()
    return [item if isinstance(before, dict) else str(item) for item in before if item not in left]


# -- values ----------------------------------------------------------------------------------------


def _merge_value(key: str, fronts: Sequence[Mapping[str, Any]]) -> MergedField:
    """Return the merge of the values under *key*, which both sides changed."""
    base, ours, theirs = values = [front.get(key) for front in fronts]
    if is_trivial_merge(*map(repr, values)):
        return MergedField(theirs if repr(ours) == repr(base) else ours)
    if key == "status":
        # one side accepted a proposed record, the other deprecated it: apply both steps in order
        for first, second in ((ours, theirs), (theirs, ours)):
            steps = ((base or Status.PROPOSED, first), (base or Status.PROPOSED, second), (first, second))
            if all(_can_transition(before, after) for before, after in steps):
                return MergedField(second)
        return _build_disputed(values)
    if key == "confirmed":  # of two confirmations the later day counts
        days = [day for day in (ours, theirs) if isinstance(day, str) and _DAY.fullmatch(day)]
        return MergedField(max(days)) if len(days) == 2 else _build_disputed(values)
    if key == READ_AT and isinstance(ours, str) and isinstance(theirs, str):
        return MergedField(max(ours, theirs))
    lists = [_coerce_list(value, key) for value in values]
    if None not in lists:
        return _merge_lists(key, [items or [] for items in lists])
    mappings = [_coerce_mapping(value, key) for value in values]
    return _build_disputed(values) if None in mappings else _merge_mappings([items or {} for items in mappings])


def _build_disputed(values: Sequence[Any]) -> MergedField:
    """Return a conflict that keeps the base's value, or without one the lesser of the two."""
    base, ours, theirs = values
    return MergedField(min((ours, theirs), key=repr) if base is None else base, True, ours, theirs)


def _can_transition(before: Any, after: Any) -> bool:
    """Return whether the table allows *before* → *after*; a step back is a person undoing one."""
    if before not in _LIFE or after not in _LIFE:
        return False
    return before == after or (after in TRANSITIONS[before] and _LIFE.index(before) < _LIFE.index(after))


def _merge_counter(fronts: Sequence[Mapping[str, Any]], *, has_base: bool) -> MergedField:
    """Return the base's count plus the additions of each side; a session counted by both counts once."""
    counts = [front.get(_COUNTER, 1) for front in fronts]
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
        return _build_disputed([front.get(_COUNTER) for front in fronts])
    base, ours, theirs = counts
    old, mine, other = (frozenset(map(repr, _coerce_list(front.get("sources"), "sources") or ())) for front in fronts)
    shared = len((mine & other) - old)  # sessions counted by both sides
    if not has_base and (ours, mine) == (theirs, other):
        return MergedField(ours)
    if not has_base:
        base, shared = max(1, min(shared, ours, theirs)), 0
    return MergedField(max(1, ours + theirs - base - max(0, min(shared, ours - base, theirs - base))))


def _coerce_list(value: Any, key: str) -> list[Any] | None:
    """Return *value* as a list; a single word where kb expects several is a list of one."""
    if value is None or isinstance(value, list):
        return value or []
    return [value] if key in _LISTS and not isinstance(value, dict) else None


def _coerce_mapping(value: Any, key: str) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value or {}
    is_list_of_names = isinstance(value, list) and key in _MAPPINGS and all(isinstance(item, str) for item in value)
    return dict.fromkeys(value, "") if is_list_of_names else None


def _merge_lists(key: str, lists: list[list[Any]]) -> MergedField:
    """Return the items of the base that neither side removed, plus those that either added."""
    old, mine, other = (_index_items(items, key) for items in lists)
    kept = {name for name in (*mine, *other) if name not in old or (name in mine and name in other)}
    items = []
    for name in order_names(old, mine, other, kept):
        ways = [repr(side.get(name)) for side in (old, mine, other)]
        if name in old and ways[0] in ways[1:]:
            items.append(other[name] if ways[0] == ways[1] else mine[name])
        else:
            items.append(min((side[name] for side in (mine, other) if name in side), key=repr))
    return MergedField(items or None)


def _index_items(items: list[Any], key: str) -> dict[str, Any]:
    """Return *items* by key; tags ignore case; only lists unknown to kb may repeat an item."""
    found: dict[str, Any] = {}
    for item in items:
        name = repr(item).casefold() if key == "tags" else repr(item)
        # "steps: [test, build, test]" is unknown to kb: its second "test" is a separate item
        while name in found and key not in _LISTS:
            name += " again"
        found.setdefault(name, item)
    return found


def _merge_mappings(mappings: list[dict[str, Any]]) -> MergedField:
    """Return the merge of three mappings, key by key."""
    base, ours, theirs = mappings
    found: dict[str, Any] = {}
    disputed: list[str] = []
    for name in order_all_names(base, ours, theirs):
        ways = [repr(side[name]) if name in side else "" for side in mappings]
        if is_trivial_merge(*ways):
            side = theirs if ways[1] == ways[0] else ours
            found |= {name: side[name]} if name in side else {}
        else:
            disputed.append(name)
            found[name] = base[name] if name in base else min(ours[name], theirs[name], key=repr)
    merged = {name: found[name] for name in order_names(base, ours, theirs, found)} or None
    shown = ({name: side[name] for name in disputed if name in side} or None for side in (ours, theirs))
    return MergedField(merged, bool(disputed), *shown)
