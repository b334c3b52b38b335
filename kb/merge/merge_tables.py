"""Three-way merge of markdown tables, row by row: a row is known by its first cell, wherever it stands."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_lines import has_new_duplicates, iter_merge_runs
from kb.merge.sides import (
    ConflictLocation,
    MergeReport,
    is_trivial_merge,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.text.line_ends import split_lines

_BAR = re.compile(r"(?<!\\)\|")


class MarkdownTable(NamedTuple):
    """A table, its rows by the text of their first cells."""

    head: tuple[str, str]
    """The row of titles and the rule below it."""
    rows: dict[str, str]


def merge_table(base: str, ours: str, theirs: str, ledger: MergeReport, place: ConflictLocation) -> str | None:
    """Return the merge of three tables (*base* may be ""), conflicts between their rows.

    None for tables whose titles or columns both sides changed, or that cannot be told row from row.
    """
    head = _merge_head(base, ours, theirs)
    if head is None:
        return None
    tables = [_parse_rows(text) for text in (base, ours, theirs)]
    if any(table is None for table in tables):
        found = _merge_unnamed_rows(*(split_lines(text)[2:] for text in (base, ours, theirs)))
        return None if found is None else head + found
    old, mine, other = (table or {} for table in tables)
    merged = {
        name: _merge_row(old.get(name), mine.get(name), other.get(name), ledger, place)
        for name in order_all_names(old, mine, other)
    }
    kept = {name: row for name, row in merged.items() if row is not None}
    return head + "".join(kept[name] for name in order_names(old, mine, other, kept))


def _merge_head(base: str, ours: str, theirs: str) -> str | None:
    """Return the first two rows of the merge."""
    old, mine, other = (split_lines(text)[:2] for text in (base, ours, theirs))
    if len(split_cells(mine[0])) != len(split_cells(other[0])):
        return None
    rows: list[str] = []
    for before, one, two in zip(old or ("", ""), mine, other, strict=True):
        if is_trivial_merge(before, one, two):
            rows.append(merge_trivially(before, one, two))
        elif is_trivial_merge(split_cells(before), split_cells(one), split_cells(two)) or set(
            "".join(split_cells(one) + split_cells(two))
        ) <= set(":- "):
            rows.append(min(one, two))
        else:
            return None
    return "".join(rows)


def _parse_rows(text: str) -> dict[str, str] | None:
    """Return the rows of a table by their first cells; None where these are empty or not unique."""
    rows = split_lines(text)[2:]
    names = [split_cells(row)[0] for row in rows]
    return dict(zip(names, rows, strict=True)) if all(names) and len(set(names)) == len(names) else None


def _merge_row(
    base: str | None, ours: str | None, theirs: str | None, ledger: MergeReport, place: ConflictLocation
) -> str | None:
    """Return what becomes of one row; None where it goes."""
    if _parse_cells(ours) == _parse_cells(theirs):
        return None if ours is None or theirs is None else merge_trivially(base or "", *sorted((ours, theirs)))
    if base is not None and _parse_cells(base) in (_parse_cells(ours), _parse_cells(theirs)):
        row = theirs if _parse_cells(ours) == _parse_cells(base) else ours
        if row is None:
            side = ledger.name_removing_side(ours, theirs)
            ledger.removed.append(msg("{side} removed the table row {name}", side=side, name=split_cells(base)[0]))
        return row
    if base is None and (ours is None or theirs is None):
        return ours or theirs
    return ledger.mark_conflict(place, ours or "", theirs or "")


def _parse_cells(row: str | None) -> list[str] | None:
    return None if row is None else split_cells(row)


def split_cells(row: str) -> list[str]:
    """Return the cells of a table's *row*, without the space around them."""
    inside = row.strip().removeprefix("|")
    if inside.endswith("|") and not inside.endswith("\\|"):
        inside = inside[:-1]
    return [cell.strip() for cell in _BAR.split(inside)]


def _merge_unnamed_rows(base: list[str], ours: list[str], theirs: list[str]) -> str | None:
    """Return the merge of rows without names, new ones of one place by their texts; None for conflicts."""
    found: list[str] = []
    for run in iter_merge_runs(base, ours, theirs, apart=True):
        if not run.is_trivial and run.base:
            return None
        found += run.trivial_result if run.is_trivial else sorted({*run.ours, *run.theirs})
    return None if has_new_duplicates(found, ours, theirs) else "".join(found)
