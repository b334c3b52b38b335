"""Three-way merge of fronts, key by key, as text: order, quotes, comments and unknown keys stay as they are.

A front is always left as YAML that can be read. Where both sides say different things under one key, the value of the
base stays, or the lesser of two new ones, and both are shown between conflict markers in the MACHINE block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.merge.merge_fields import COUNTER, FrontMatterSides, MergedField, merge_field
from kb.merge.merge_lines import iter_merge_runs
from kb.merge.sides import (
    FRONT,
    ConflictLocation,
    MergeReport,
    is_trivial_merge,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.records.blocks import escape_block
from kb.records.front_matter import KEYS, MAX_DEPTH, edit_front_matter, find_front_matter, format_entry
from kb.text.line_ends import split_lines

if TYPE_CHECKING:
    from typing import Any


class FrontMatterEntry(NamedTuple):
    """One key of a front as it is written."""

    lead: str
    """The comments and empty rows above it."""
    body: str
    value: Any
    remark: str
    """The comment behind a value on one row."""


class ParsedFrontMatter(NamedTuple):
    """A front, cut key by key."""

    parts: dict[str, FrontMatterEntry]
    tail: str
    """What stands behind the last key."""

    @property
    def values(self) -> dict[str, Any]:
        """The values by key."""
        return {key: part.value for key, part in self.parts.items()}


class MergedFrontMatter(NamedTuple):
    """A merged front, and what of it is disputed."""

    source: str
    shown: str
    """The disputed keys between conflict markers."""
    disputed: frozenset[str] = frozenset()


def merge_front_matter(base: str | None, ours: str, theirs: str, ledger: MergeReport) -> MergedFrontMatter:
    """Return the merge of the YAML of three fronts; without a *base*, of two."""
    if base is not None and base in (ours, theirs):
        merged = MergedFrontMatter(merge_trivially(base, ours, theirs), "")
    else:
        attempt = MergeReport(ledger.labels)
        found = _merge_by_key(base, ours, theirs, attempt)
        if found is None:
            return mark_front_disputed(base, ours, theirs, ledger)
        ledger.add_report(attempt)
        merged = found
    ledger.removed += _iter_removed(base or "", merged.source, ours, theirs, ledger)
    return merged


def mark_front_disputed(base: str | None, ours: str, theirs: str, ledger: MergeReport) -> MergedFrontMatter:
    """Return the front of the base, or the lesser of the two, with both between conflict markers."""
    source = min(ours, theirs) if base is None else base
    shown = ledger.mark_conflict(ConflictLocation(FRONT, "---"), escape_block(ours), escape_block(theirs))
    return MergedFrontMatter(source, shown, frozenset(KEYS))


@lru_cache(maxsize=8)
def split_front_keys(source: str) -> ParsedFrontMatter | None:
    """Return a front cut key by key; None where it cannot be read or is not written one key a row."""
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


def _merge_by_key(base: str | None, ours: str, theirs: str, ledger: MergeReport) -> MergedFrontMatter | None:
    """Return the merge of fronts that are written one key a row; None for others."""
    old, mine, other = (split_front_keys(source) for source in (base or "", ours, theirs))
    if old is None or mine is None or other is None:
        return None
    fronts = FrontMatterSides(old.values, mine.values, other.values, base is not None)
    bodies: dict[str, str] = {}
    values: dict[str, str] = {}
    shown: dict[str, str] = {}
    for key in order_all_names(old.parts, mine.parts, other.parts):
        body, field = _merge_key(key, old.parts.get(key), mine.parts.get(key), other.parts.get(key), fronts)
        if body is not None:
            bodies[key], values[key] = body, repr(field.value)
        if field.is_disputed:
            shown[key] = _show_dispute(key, field, mine.parts.get(key), other.parts.get(key), ledger)
    order = order_names(old.parts, mine.parts, other.parts, bodies, _rank_key)
    source = "".join(_merge_lead(key, old, mine, other) + bodies[key] for key in order)
    source += _merge_comments(old.tail, mine.tail, other.tail)
    read = split_front_keys(source)
    if read is None or {key: repr(value) for key, value in read.values.items()} != values:
        return None
    return MergedFrontMatter(source, "".join(shown.values()), frozenset(shown))


def _rank_key(key: str) -> int:
    return KEYS.index(key) if key in KEYS else len(KEYS)


def _merge_key(
    key: str,
    base: FrontMatterEntry | None,
    ours: FrontMatterEntry | None,
    theirs: FrontMatterEntry | None,
    fronts: FrontMatterSides,
) -> tuple[str | None, MergedField]:
    """Return the rows of one key, None where it goes, and what became of its value."""
    both_counted = key == COUNTER and ours is not None and base != ours == theirs
    if not both_counted and is_trivial_merge(*(part and part.body for part in (base, ours, theirs))):
        part = theirs if ours == base or (ours and base and ours.body == base.body) else ours
        return (part.body, MergedField(part.value)) if part else (None, MergedField(None))
    field = merge_field(key, fronts)
    if field.value is None:
        return None, field
    body = _build_body(key, field, base, [part for part in (ours, theirs) if part])
    if body is not None:
        return body, field
    kept = base or min((part for part in (ours, theirs) if part), key=_get_body)
    return kept.body, MergedField(kept.value, True, *(part and part.value for part in (ours, theirs)))


def _get_body(part: FrontMatterEntry) -> str:
    return part.body


def _build_body(
    key: str, field: MergedField, base: FrontMatterEntry | None, sides: list[FrontMatterEntry]
) -> str | None:
    """Return rows that say the merged value and keep what else they said; None where a comment would be lost."""
    parts = [*([base] if base else []), *sorted(sides, key=_get_body)]
    remarks = [base.remark if base else "", sides[0].remark, sides[-1].remark]
    if not is_trivial_merge(*remarks):
        return None
    fitting = [part for part in parts if part.remark == merge_trivially(*remarks)]
    for part in fitting:
        if repr(part.value) == repr(field.value):
            return part.body
    rows = _merge_block_list(key, field.value, [part.body for part in (base, *sides) if part])
    if rows is not None:
        return rows
    if any(len(split_lines(part.body)) > 1 and "#" in part.body for part in parts):
        return None
    return _replace_value((fitting or parts)[0].body, key, field.value)


def _replace_value(body: str, key: str, value: object) -> str:
    text = edit_front_matter(f"---\n{body}---\n", {key: value})
    span = find_front_matter(text)
    return text[span.start : span.end] if span else body


def _merge_block_list(key: str, value: Any, bodies: list[str]) -> str | None:
    """Return the rows of three block lists merged, where they say *value* but for its order."""
    if len(bodies) != 3 or not isinstance(value, list):
        return None
    found: list[str] = []
    for run in iter_merge_runs(*map(split_lines, bodies), apart=True):
        if not run.is_trivial and run.base:
            return None
        found += run.trivial_result if run.is_trivial else sorted({*run.ours, *run.theirs})
    body = "".join(found)
    read = split_front_keys(body)
    said = read.values.get(key) if read else None
    same = isinstance(said, list) and sorted(map(repr, said)) == sorted(map(repr, value))
    return body if same else None


def _show_dispute(
    key: str, field: MergedField, ours: FrontMatterEntry | None, theirs: FrontMatterEntry | None, ledger: MergeReport
) -> str:
    """Return what both sides say under *key* between conflict markers, as they write it where it is all disputed."""
    return ledger.mark_conflict(
        ConflictLocation(FRONT, key), _format_side(key, field.ours, ours), _format_side(key, field.theirs, theirs)
    )


def _format_side(key: str, value: Any, part: FrontMatterEntry | None) -> str:
    if value is None:
        return ""
    return escape_block(part.body.strip() if part and repr(part.value) == repr(value) else format_entry(key, value))


# -- what is no value ------------------------------------------------------------------------------


def _merge_lead(key: str, *sides: ParsedFrontMatter) -> str:
    leads = [side.parts[key].lead if key in side.parts else None for side in sides]
    old, mine, other = leads
    if mine is None or other is None:
        return mine or other or old or ""
    return _merge_comments(old or "", mine, other)


def _merge_comments(base: str, ours: str, theirs: str) -> str:
    """Return the comments of both sides, each row once."""
    found: list[str] = []
    for run in iter_merge_runs(split_lines(base), split_lines(ours), split_lines(theirs)):
        first, second = sorted((run.ours, run.theirs))
        found += run.trivial_result if run.is_trivial else [*first, *(row for row in second if row not in first)]
    return "".join(found)


def _iter_removed(base: str, merged: str, ours: str, theirs: str, ledger: MergeReport) -> Iterator[Message]:
    """Yield what of the base is gone."""
    read = [split_front_keys(source) for source in (base, merged, ours, theirs)]
    if any(found is None for found in read):
        return
    old, new, mine, other = (found.values if found else {} for found in read)
    for key, value in old.items():
        have = (mine.get(key), other.get(key))
        if key not in new:
            yield msg("{side} removed the key {key}", side=ledger.name_removing_side(*have), key=key)
        elif gone := _list_removed_items(value, new[key]):
            side = ledger.name_removing_side(*(None if _list_removed_items(value, there) else there for there in have))
            yield msg("{side} removed {items} from {key}", side=side, items=", ".join(gone), key=key)


def _list_removed_items(before: Any, after: Any) -> list[str]:
    """Return the items of a list, or the keys of a mapping, that are no longer there."""
    if isinstance(before, dict):
        return [key for key in before if key not in (after if isinstance(after, dict) else ())]
    if isinstance(before, list):
        return [str(item) for item in before if item not in (after if isinstance(after, list) else ())]
    return []
