"""Three-way merge of fronts, key by key, as text: order, quotes, comments and unknown keys stay as they are.

A front is always left as YAML that can be read. Where both sides say different things under one key, the value of the
base stays, or the lesser of two new ones, and both are shown between conflict markers in the MACHINE block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.merge.merge_fields import COUNTER, Field, Fronts, merged_field
from kb.merge.merge_lines import runs
from kb.merge.sides import FRONT, Ledger, Place, all_in_order, in_order, is_settled, settled
from kb.records.blocks import contained
from kb.records.front_matter import KEYS, MAX_DEPTH, edit_front, entry, front_span
from kb.text.line_ends import lines

if TYPE_CHECKING:
    from typing import Any


class Part(NamedTuple):
    """One key of a front as it is written."""

    lead: str
    """The comments and empty rows above it."""
    body: str
    value: Any
    remark: str
    """The comment behind a value on one row."""


class Written(NamedTuple):
    """A front, cut key by key."""

    parts: dict[str, Part]
    tail: str
    """What stands behind the last key."""

    @property
    def values(self) -> dict[str, Any]:
        """The values by key."""
        return {key: part.value for key, part in self.parts.items()}


class Merged(NamedTuple):
    """A merged front, and what of it is disputed."""

    source: str
    shown: str
    """The disputed keys between conflict markers."""
    disputed: frozenset[str] = frozenset()


def merged_front(base: str | None, ours: str, theirs: str, ledger: Ledger) -> Merged:
    """Return the merge of the YAML of three fronts; without a *base*, of two."""
    if base is not None and base in (ours, theirs):
        merged = Merged(settled(base, ours, theirs), "")
    else:
        attempt = Ledger(ledger.labels)
        found = _by_key(base, ours, theirs, attempt)
        if found is None:
            return whole_front(base, ours, theirs, ledger)
        ledger.take(attempt)
        merged = found
    ledger.removed += _removed(base or "", merged.source, ours, theirs, ledger)
    return merged


def whole_front(base: str | None, ours: str, theirs: str, ledger: Ledger) -> Merged:
    """Return the front of the base, or the lesser of the two, with both between conflict markers."""
    source = min(ours, theirs) if base is None else base
    shown = ledger.shown(Place(FRONT, "---"), contained(ours), contained(theirs))
    return Merged(source, shown, frozenset(KEYS))


@lru_cache(maxsize=8)
def written(source: str) -> Written | None:
    """Return a front cut key by key; None where it cannot be read or is not written one key a row."""
    from kb.records.safe_yaml import YamlError, load

    try:
        read = load(source, MAX_DEPTH)
    except YamlError:
        return None
    rows, parts, done = lines(source), {}, 0
    for key, place in read.entries.items():
        if read.braces or place.line < done or rows[place.line][: place.column].strip():
            return None
        body = rows[place.line : place.last + 1]
        remark = body[-1][place.value_end :].strip() if len(body) == 1 and place.value_end >= 0 else ""
        parts[key] = Part("".join(rows[done : place.line]), "".join(body), place.value, remark)
        done = place.last + 1
    return Written(parts, "".join(rows[done:]))


# -- key by key ------------------------------------------------------------------------------------


def _by_key(base: str | None, ours: str, theirs: str, ledger: Ledger) -> Merged | None:
    """Return the merge of fronts that are written one key a row; None for others."""
    old, mine, other = (written(source) for source in (base or "", ours, theirs))
    if old is None or mine is None or other is None:
        return None
    fronts = Fronts(old.values, mine.values, other.values, base is not None)
    bodies: dict[str, str] = {}
    values: dict[str, str] = {}
    shown: dict[str, str] = {}
    for key in all_in_order(old.parts, mine.parts, other.parts):
        body, field = _part(key, old.parts.get(key), mine.parts.get(key), other.parts.get(key), fronts)
        if body is not None:
            bodies[key], values[key] = body, repr(field.value)
        if field.is_disputed:
            shown[key] = _shown(key, field, mine.parts.get(key), other.parts.get(key), ledger)
    order = in_order(old.parts, mine.parts, other.parts, bodies, _rank)
    source = "".join(_lead(key, old, mine, other) + bodies[key] for key in order)
    source += _comments(old.tail, mine.tail, other.tail)
    read = written(source)
    if read is None or {key: repr(value) for key, value in read.values.items()} != values:
        return None
    return Merged(source, "".join(shown.values()), frozenset(shown))


def _rank(key: str) -> int:
    return KEYS.index(key) if key in KEYS else len(KEYS)


def _part(
    key: str, base: Part | None, ours: Part | None, theirs: Part | None, fronts: Fronts
) -> tuple[str | None, Field]:
    """Return the rows of one key, None where it goes, and what became of its value."""
    both_counted = key == COUNTER and ours is not None and base != ours == theirs
    if not both_counted and is_settled(*(part and part.body for part in (base, ours, theirs))):
        part = theirs if ours == base or (ours and base and ours.body == base.body) else ours
        return (part.body, Field(part.value)) if part else (None, Field(None))
    field = merged_field(key, fronts)
    if field.value is None:
        return None, field
    body = _body(key, field, base, [part for part in (ours, theirs) if part])
    if body is not None:
        return body, field
    kept = base or min((part for part in (ours, theirs) if part), key=_as_written)
    return kept.body, Field(kept.value, True, *(part and part.value for part in (ours, theirs)))


def _as_written(part: Part) -> str:
    return part.body


def _body(key: str, field: Field, base: Part | None, sides: list[Part]) -> str | None:
    """Return rows that say the merged value and keep what else they said; None where a comment would be lost."""
    parts = [*([base] if base else []), *sorted(sides, key=_as_written)]
    remarks = [base.remark if base else "", sides[0].remark, sides[-1].remark]
    if not is_settled(*remarks):
        return None
    fitting = [part for part in parts if part.remark == settled(*remarks)]
    for part in fitting:
        if repr(part.value) == repr(field.value):
            return part.body
    rows = _rows_merged(key, field.value, [part.body for part in (base, *sides) if part])
    if rows is not None:
        return rows
    if any(len(lines(part.body)) > 1 and "#" in part.body for part in parts):
        return None
    return _with_value((fitting or parts)[0].body, key, field.value)


def _with_value(body: str, key: str, value: object) -> str:
    text = edit_front(f"---\n{body}---\n", {key: value})
    span = front_span(text)
    return text[span.start : span.end] if span else body


def _rows_merged(key: str, value: Any, bodies: list[str]) -> str | None:
    """Return the rows of three block lists merged, where they say *value* but for its order."""
    if len(bodies) != 3 or not isinstance(value, list):
        return None
    found: list[str] = []
    for run in runs(*map(lines, bodies), apart=True):
        if not run.is_settled and run.base:
            return None
        found += run.settled if run.is_settled else sorted({*run.ours, *run.theirs})
    body = "".join(found)
    read = written(body)
    said = read.values.get(key) if read else None
    same = isinstance(said, list) and sorted(map(repr, said)) == sorted(map(repr, value))
    return body if same else None


def _shown(key: str, field: Field, ours: Part | None, theirs: Part | None, ledger: Ledger) -> str:
    """Return what both sides say under *key* between conflict markers, as they write it where it is all disputed."""
    return ledger.shown(Place(FRONT, key), _row(key, field.ours, ours), _row(key, field.theirs, theirs))


def _row(key: str, value: Any, part: Part | None) -> str:
    if value is None:
        return ""
    return contained(part.body.strip() if part and repr(part.value) == repr(value) else entry(key, value))


# -- what is no value ------------------------------------------------------------------------------


def _lead(key: str, *sides: Written) -> str:
    leads = [side.parts[key].lead if key in side.parts else None for side in sides]
    old, mine, other = leads
    if mine is None or other is None:
        return mine or other or old or ""
    return _comments(old or "", mine, other)


def _comments(base: str, ours: str, theirs: str) -> str:
    """Return the comments of both sides, each row once."""
    found: list[str] = []
    for run in runs(lines(base), lines(ours), lines(theirs)):
        first, second = sorted((run.ours, run.theirs))
        found += run.settled if run.is_settled else [*first, *(row for row in second if row not in first)]
    return "".join(found)


def _removed(base: str, merged: str, ours: str, theirs: str, ledger: Ledger) -> Iterator[Message]:
    """Yield what of the base is gone."""
    read = [written(source) for source in (base, merged, ours, theirs)]
    if any(found is None for found in read):
        return
    old, new, mine, other = (found.values if found else {} for found in read)
    for key, value in old.items():
        have = (mine.get(key), other.get(key))
        if key not in new:
            yield msg("{side} removed the key {key}", side=ledger.gone_from(*have), key=key)
        elif gone := _gone(value, new[key]):
            side = ledger.gone_from(*(None if _gone(value, there) else there for there in have))
            yield msg("{side} removed {items} from {key}", side=side, items=", ".join(gone), key=key)


def _gone(before: Any, after: Any) -> list[str]:
    """Return the items of a list, or the keys of a mapping, that are no longer there."""
    if isinstance(before, dict):
        return [key for key in before if key not in (after if isinstance(after, dict) else ())]
    if isinstance(before, list):
        return [str(item) for item in before if item not in (after if isinstance(after, list) else ())]
    return []
