"""Three-way merge of markdown tables, row by row: a row is known by its first cell, wherever it stands."""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_lines import runs, says_twice
from kb.merge.sides import Ledger, Place, all_in_order, in_order, is_settled, settled
from kb.text.line_ends import lines

_BAR = re.compile(r"(?<!\\)\|")


class Table(NamedTuple):
    """A table, its rows by the text of their first cells."""

    head: tuple[str, str]
    """The row of titles and the rule below it."""
    rows: dict[str, str]


def merged_table(base: str, ours: str, theirs: str, ledger: Ledger, place: Place) -> str | None:
    """Return the merge of three tables (*base* may be ""), conflicts between their rows.

    None for tables whose titles or columns both sides changed, or that cannot be told row from row.
    """
    head = _head(base, ours, theirs)
    if head is None:
        return None
    tables = [_rows(text) for text in (base, ours, theirs)]
    if any(table is None for table in tables):
        found = _unnamed(*(lines(text)[2:] for text in (base, ours, theirs)))
        return None if found is None else head + found
    old, mine, other = (table or {} for table in tables)
    merged = {
        name: _row(old.get(name), mine.get(name), other.get(name), ledger, place)
        for name in all_in_order(old, mine, other)
    }
    kept = {name: row for name, row in merged.items() if row is not None}
    return head + "".join(kept[name] for name in in_order(old, mine, other, kept))


def _head(base: str, ours: str, theirs: str) -> str | None:
    """Return the first two rows of the merge."""
    old, mine, other = (lines(text)[:2] for text in (base, ours, theirs))
    if len(cells(mine[0])) != len(cells(other[0])):
        return None
    rows: list[str] = []
    for before, one, two in zip(old or ("", ""), mine, other, strict=True):
        if is_settled(before, one, two):
            rows.append(settled(before, one, two))
        elif is_settled(cells(before), cells(one), cells(two)) or set("".join(cells(one) + cells(two))) <= set(":- "):
            rows.append(min(one, two))
        else:
            return None
    return "".join(rows)


def _rows(text: str) -> dict[str, str] | None:
    """Return the rows of a table by their first cells; None where these are empty or not unique."""
    rows = lines(text)[2:]
    names = [cells(row)[0] for row in rows]
    return dict(zip(names, rows, strict=True)) if all(names) and len(set(names)) == len(names) else None


def _row(base: str | None, ours: str | None, theirs: str | None, ledger: Ledger, place: Place) -> str | None:
    """Return what becomes of one row; None where it goes."""
    if _says(ours) == _says(theirs):
        return None if ours is None or theirs is None else settled(base or "", *sorted((ours, theirs)))
    if base is not None and _says(base) in (_says(ours), _says(theirs)):
        row = theirs if _says(ours) == _says(base) else ours
        if row is None:
            side = ledger.gone_from(ours, theirs)
            ledger.removed.append(msg("{side} removed the table row {name}", side=side, name=cells(base)[0]))
        return row
    if base is None and (ours is None or theirs is None):
        return ours or theirs
    return ledger.shown(place, ours or "", theirs or "")


def _says(row: str | None) -> list[str] | None:
    return None if row is None else cells(row)


def cells(row: str) -> list[str]:
    """Return the cells of a table's *row*, without the space around them."""
    inside = row.strip().removeprefix("|")
    if inside.endswith("|") and not inside.endswith("\\|"):
        inside = inside[:-1]
    return [cell.strip() for cell in _BAR.split(inside)]


def _unnamed(base: list[str], ours: list[str], theirs: list[str]) -> str | None:
    """Return the merge of rows without names, new ones of one place by their texts; None for conflicts."""
    found: list[str] = []
    for run in runs(base, ours, theirs, apart=True):
        if not run.is_settled and run.base:
            return None
        found += run.settled if run.is_settled else sorted({*run.ours, *run.theirs})
    return None if says_twice(found, ours, theirs) else "".join(found)
