"""Three-way merge of markdown text: by lines, and where it is safe by list items and table rows.

Two items that are added at one place are both kept, dated notes in the order of their days. Code between fences is
merged by lines as well, but a conflict in it stands around its fences, where everybody sees the markers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.i18n import msg
from kb.merge.merge_lines import MergeRun, has_new_duplicates, iter_merge_runs, split_common_ends
from kb.merge.sides import (
    ConflictLocation,
    MergeReport,
    describe_location,
    is_trivial_merge,
    merge_trivially,
    order_all_names,
    order_names,
)
from kb.text.line_ends import detect_newline, split_lines
from kb.text.markdown_scan import find_fenced_code
from kb.text.segment import clip, one_line

_ITEM = re.compile(r"(?:[ \t]*+[\r\n]++)*+( *+)([-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_DATED = re.compile(r"[-*+] +([12][0-9]{3}-[01][0-9]-[0-3][0-9])\b")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ROW = re.compile(r" {0,3}\|")
_RULE = re.compile(r" {0,3}\|(?=[ \t:|]*-)[ \t:|-]*+$")
_ENDS_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|>|\||<!--)")


def tokenise_markdown(text: str, *, structured: bool = True) -> list[str]:
    """Return the tokens of *text*; joined they are *text*. Unless *structured*, lists and tables are lines."""
    rows, code = split_lines(text), find_fenced_code(text).lines
    found: list[str] = []
    at = 0
    while at < len(rows):
        end = _find_token_end(rows, code, at, after_item=bool(found) and is_list_item(found[-1])) if structured else at
        if at in code:
            end = next((n for n in range(at, len(rows)) if n not in code), len(rows))
        end = max(end, at + 1)
        found.append("".join(rows[at:end]))
        at = end
    return found


def is_list_item(token: str) -> bool:
    """Return whether *token* is an item of a list."""
    return _ITEM.match(token) is not None


def is_unnumbered_item(token: str) -> bool:
    """Return whether *token* is an item of a list without numbers, so that others may stand before and behind it."""
    match = _ITEM.match(token)
    return match is not None and not match.group(2)[0].isdigit()


def measure_indent(token: str) -> int:
    """Return how far the item *token* is indented."""
    match = _ITEM.match(token)
    return len(match.group(1)) if match else 0


def group_nested_items(tokens: Iterable[str]) -> list[str]:
    """Return *tokens* with every item joined to the deeper ones below it."""
    found: list[str] = []
    depth = -1
    for token in tokens:
        is_below = depth >= 0 and is_list_item(token) and measure_indent(token) > depth
        if is_below:
            found[-1] += token
        else:
            found.append(token)
            depth = measure_indent(token) if is_list_item(token) else -1
    return found


def parse_note_day(token: str) -> str:
    """Return the day (YYYY-MM-DD) of a dated note, or ""."""
    match = _DATED.match(token.lstrip("\r\n"))
    return match.group(1) if match else ""


def is_code_block(token: str) -> bool:
    """Return whether *token* is a block of fenced code."""
    return _FENCE.match(token) is not None and len(split_lines(token)) > 1


def is_table(token: str) -> bool:
    """Return whether *token* is a table."""
    rows = split_lines(token)
    return len(rows) > 1 and _is_table_start(rows, 0)


def _is_table_start(rows: list[str], at: int) -> bool:
    return bool(_ROW.match(rows[at]) and at + 1 < len(rows) and _RULE.match(rows[at + 1].rstrip("\r\n")))


def _find_token_end(rows: list[str], code: Collection[int], at: int, *, after_item: bool) -> int:
    """Return the row behind the item or table that begins at row *at*; *at* where neither does."""
    if at not in code and _is_table_start(rows, at):
        return next((n for n in range(at, len(rows)) if not _ROW.match(rows[n])), len(rows))
    first = next((n for n in range(at, len(rows)) if rows[n].strip()), len(rows)) if after_item else at
    if first == len(rows) or first in code or not _ITEM.match(rows[first]):
        return at
    return _find_item_end(rows, code, first)


def _find_item_end(rows: list[str], code: Collection[int], first: int) -> int:
    """Return the row behind the item at row *first*: what is indented deeper belongs to it, but for other items."""
    depth = _measure_depth(rows[first])
    end = first + 1
    for number in range(first + 1, len(rows)):
        row = rows[number]
        if not row.strip():
            continue
        is_below = _measure_depth(row) > depth and (number in code or not _ITEM.match(row))
        goes_on = number == end and number not in code and not _ITEM.match(row) and not _ENDS_PARAGRAPH.match(row)
        if not is_below and not goes_on:
            break
        end = number + 1
    return end


def _measure_depth(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


Rule = Callable[[MergeRun, MergeReport, ConflictLocation], list[str] | None]
"""A way to merge a run that both sides changed; None where it is not the way for this one."""


def merge_text(
    base: str, ours: str, theirs: str, ledger: MergeReport, place: ConflictLocation, *, structured: bool = True
) -> str:
    """Return the merge of three texts; what contradicts each other stands between conflict markers.

    Unless *structured*, nothing but lines and fenced code counts.
    """
    cut = [tokenise_markdown(text, structured=structured) for text in (base, ours, theirs)]
    _note_removed(cut, ledger, place)
    if is_trivial_merge(base, ours, theirs):
        return merge_trivially(base, ours, theirs)
    rules = (_merge_items, _merge_table_run, _merge_code_run) if structured else (_merge_code_run,)
    found = [token for run in iter_merge_runs(*cut) for token in _merge_run(run, ledger, place, rules)]
    return "".join(_iter_unique_notes(found, cut[1:]) if structured else found)


def merge_lines(base: str, ours: str, theirs: str, ledger: MergeReport, place: ConflictLocation) -> str:
    """Return the merge of three texts of which nothing is known but their lines."""
    cut = (split_lines(text) for text in (base, ours, theirs))
    return "".join(token for run in iter_merge_runs(*cut) for token in _merge_run(run, ledger, place, ()))


def _merge_run(run: MergeRun, ledger: MergeReport, place: ConflictLocation, rules: Sequence[Rule]) -> list[str]:
    if run.is_trivial:
        return run.trivial_result
    head, middle, tail = split_common_ends(run)
    while tail and measure_indent(tail[0]) and (middle.ours or middle.theirs):  # it belongs to two different items
        middle.ours.append(tail[0])
        middle.theirs.append(tail.pop(0))
    for rule in rules:
        found = rule(middle, ledger, place)
        if found is not None:
            return [*head, *found, *tail]
    return [*head, ledger.mark_conflict(place, "".join(middle.ours), "".join(middle.theirs)), *tail]


def _note_removed(cut: Sequence[Sequence[str]], ledger: MergeReport, place: ConflictLocation) -> None:
    """Note what one side took away without putting anything in its place."""
    base, ours, theirs = cut
    for run in iter_merge_runs(base, ours, theirs, apart=True):
        text = one_line("".join(run.base))
        if text and run.is_trivial and not run.trivial_result:
            side = ledger.name_removing_side(run.ours or None, run.theirs or None)
            words = msg(
                "{side} removed from {place}: {text}", side=side, place=describe_location(place), text=clip(text, 60)
            )
            ledger.removed.append(words)


# -- lists -----------------------------------------------------------------------------------------


def _merge_items(run: MergeRun, ledger: MergeReport, place: ConflictLocation) -> list[str] | None:
    """Merge a run of list items one by one; what is no item may be changed beside an item that is added."""
    found: list[str] = []
    last = None
    for part in iter_merge_runs(*run, apart=True):
        if last and _is_changed(last) and _is_changed(part) and not _can_touch(last, part):
            return None
        merged = part.trivial_result if part.is_trivial else _merge_added_items(part)
        if merged is None:
            return None
        found += merged
        last = part
    return None if has_new_duplicates(*map(group_nested_items, (found, run.ours, run.theirs))) else found


def _is_changed(run: MergeRun) -> bool:
    return run.ours != run.base or run.theirs != run.base


def _can_touch(one: MergeRun, other: MergeRun) -> bool:
    return any(not run.base and _has_only_items(run) for run in (one, other)) or (
        _has_only_items(one) and _has_only_items(other)
    )


def _has_only_items(run: MergeRun) -> bool:
    return all(is_unnumbered_item(token) for side in run for token in side)


def _merge_added_items(run: MergeRun) -> list[str] | None:
    """Return the items both sides added at one place, each once; None where they are of different depths."""
    if run.base or not _has_only_items(run) or len({measure_indent(side[0]) for side in (run.ours, run.theirs)}) != 1:
        return None
    first, second = sorted(map(group_nested_items, (run.ours, run.theirs)))
    known = {family.strip() for family in first}
    found = [*first, *(family for family in second if family.strip() not in known)]
    return (
        sorted(found, key=lambda family: (parse_note_day(family), family)) if all(map(parse_note_day, found)) else found
    )


def _iter_unique_notes(found: list[str], sides: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield *found* with no dated note more often than on one of the *sides*: both may have added it, apart."""
    seen: Counter[str] = Counter()
    for token in found:
        seen[token] += 1
        if seen[token] == 1 or not parse_note_day(token) or seen[token] <= max(side.count(token) for side in sides):
            yield token


# -- tables and code -------------------------------------------------------------------------------


def _merge_table_run(run: MergeRun, ledger: MergeReport, place: ConflictLocation) -> list[str] | None:
    """Merge a table that both sides changed, or added, row by row."""
    if len(run.base) > 1 or any(len(side) != 1 for side in run[1:]) or not all(is_table(t) for s in run for t in s):
        return None
    table = merge_table("".join(run.base), run.ours[0], run.theirs[0], ledger, place)
    return None if table is None else [table]


def _merge_code_run(run: MergeRun, ledger: MergeReport, place: ConflictLocation) -> list[str] | None:
    """Merge a block of code that both sides changed by its lines, where that leaves no conflict."""
    if any(len(side) != 1 or not is_code_block(side[0]) for side in run):
        return None
    alone = MergeReport()
    text = merge_lines(run.base[0], run.ours[0], run.theirs[0], alone, place)
    is_one = tokenise_markdown(text) == [text] and text.endswith(detect_newline(text))
    return [text] if not alone.conflicts and is_one else None


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
