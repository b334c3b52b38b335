"""Three-way merge of Markdown text: by lines, and where that is safe by list items and table rows.

Two items added at one place are both kept, dated notes in the order of their days. Fenced code is merged by lines too;
a conflict in it encloses the whole fence, so that the markers are visible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kb.i18n import msg
from kb.merge.merge_lines import (
    ConflictLocation,
    MergeReport,
    MergeRun,
    has_new_duplicates,
    is_trivial_merge,
    iter_merge_runs,
    merge_additions,
    merge_trivially,
    order_all_names,
    order_names,
    split_common_ends,
)
from kb.text.markdown_scan import find_fenced_code
from kb.text.segment import clip, detect_newline, one_line, split_lines

_ITEM = re.compile(r"(?:[ \t]*+[\r\n]++)*+( *+)(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_BULLET = re.compile(r"(?:[ \t]*+[\r\n]++)*+ *+[-*+](?:[ \t]|$)")
_DATED = re.compile(r"[\r\n]*[-*+] +([12][0-9]{3}-[01][0-9]-[0-3][0-9])\b")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ROW = re.compile(r" {0,3}\|")
_RULE = re.compile(r" {0,3}\|(?=[ \t:|]*-)[ \t:|-]*+$")
_BAR = re.compile(r"(?<!\\)\|")
_ENDS_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|>|\||<!--)")

Rule = Callable[[MergeRun, MergeReport, ConflictLocation], list[str] | None]
"""A way to merge a run that both sides changed; returns None if it does not apply."""


def merge_text(
    base: str, ours: str, theirs: str, report: MergeReport, location: ConflictLocation, *, structured: bool = True
) -> str:
    """Return the merge of three texts, with conflicts between conflict markers.

    Unless *structured*, only lines and fenced code count.
    """
    cut = [tokenise_markdown(text, structured=structured) for text in (base, ours, theirs)]
    for run in iter_merge_runs(*cut, apart=True):
        text = one_line("".join(run.base))
        if text and run.settled == []:
            side = report.name_removing_side(run.ours or None, run.theirs or None)
            where = location.describe()
            said = msg("{side} removed from {place}: {text}", side=side, place=where, text=clip(text, 60))
            report.removed.append(said)
    if is_trivial_merge(base, ours, theirs):
        return merge_trivially(base, ours, theirs)
    rules = (_merge_items, _merge_table, _merge_code) if structured else (_merge_code,)
    found = [token for run in iter_merge_runs(*cut) for token in _merge_run(run, report, location, rules)]
    return "".join(_iter_unique_notes(found, cut[1:]) if structured else found)


def merge_lines(base: str, ours: str, theirs: str, report: MergeReport, location: ConflictLocation) -> str:
    """Return the merge of three texts by their lines alone."""
    cut = (split_lines(text) for text in (base, ours, theirs))
    return "".join(token for run in iter_merge_runs(*cut) for token in _merge_run(run, report, location, ()))


def _merge_run(run: MergeRun, report: MergeReport, location: ConflictLocation, rules: Sequence[Rule]) -> list[str]:
    if run.settled is not None:
        return run.settled
    head, middle, tail = split_common_ends(run)
    # a common last item "  - c" belongs to "- a" on one side and to "- b" on the other
    while tail and _measure_indent(tail[0]) > 0 and (middle.ours or middle.theirs):
        middle.ours.append(tail[0])
        middle.theirs.append(tail.pop(0))
    for rule in rules:
        found = rule(middle, report, location)
        if found is not None:
            return [*head, *found, *tail]
    return [*head, report.mark_conflict(location, "".join(middle.ours), "".join(middle.theirs)), *tail]


# -- tokens ----------------------------------------------------------------------------------------


def tokenise_markdown(text: str, *, structured: bool = True) -> list[str]:
    """Split *text* into tokens that join to *text*; unless *structured*, lists and tables are split into lines."""
    rows, code = split_lines(text), find_fenced_code(text).lines
    found: list[str] = []
    at = 0
    while at < len(rows):
        end = at + 1
        if at in code:
            end = next((n for n in range(at, len(rows)) if n not in code), len(rows))
        elif structured and _is_table_start(rows, at):
            end = next((n for n in range(at, len(rows)) if not _ROW.match(rows[n])), len(rows))
        elif structured:
            # the empty rows between two list items belong to the second one
            is_after_item = bool(found) and _measure_indent(found[-1]) >= 0
            first = next((n for n in range(at, len(rows)) if rows[n].strip()), at) if is_after_item else at
            if first not in code and _ITEM.match(rows[first]):
                end = _find_item_end(rows, code, first)
        found.append("".join(rows[at:end]))
        at = end
    return found


def _is_table_start(rows: Sequence[str], at: int) -> bool:
    return bool(_ROW.match(rows[at]) and at + 1 < len(rows) and _RULE.match(rows[at + 1].rstrip("\r\n")))


def _find_item_end(rows: list[str], code: Collection[int], first: int) -> int:
    """Return the row after the item that starts at row *first*; deeper rows belong to it, except other items."""
    depth = _measure_depth(rows[first])  # "- a", "  more of a", "", "  a second paragraph of a"; "  - b" is an item
    end = first + 1
    for number in range(first + 1, len(rows)):
        row = rows[number]
        if not row.strip():
            continue
        is_below = _measure_depth(row) > depth and (number in code or not _ITEM.match(row))
        # "- one" followed by "two" at the margin is still one paragraph
        goes_on = number == end and number not in code and not _ITEM.match(row) and not _ENDS_PARAGRAPH.match(row)
        if not is_below and not goes_on:
            break
        end = number + 1
    return end


def _measure_depth(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


def _measure_indent(token: str) -> int:
    """Return the indentation of the list item *token*, or -1 if it is not one."""
    match = _ITEM.match(token)
    return len(match[1]) if match else -1


# -- lists -----------------------------------------------------------------------------------------


def _merge_items(run: MergeRun, report: MergeReport, location: ConflictLocation) -> list[str] | None:
    """Merge a run of list items one by one; other text may change beside an added item."""
    found: list[str] = []
    last = None
    for part in iter_merge_runs(*run, apart=True):
        is_changed = not part.base == part.ours == part.theirs
        if last and is_changed and not _can_touch(last, part):
            return None
        merged = _merge_added_items(part) if part.settled is None else part.settled
        if merged is None:
            return None
        found += merged
        last = part if is_changed else None
    return None if has_new_duplicates(*map(_group_nested_items, (found, run.ours, run.theirs))) else found


def _can_touch(one: MergeRun, other: MergeRun) -> bool:
    """Return whether two changes may be adjacent: one adds items, or both concern items only."""
    are_items = [_has_only_bullets(run) for run in (one, other)]
    return all(are_items) or (are_items[0] and not one.base) or (are_items[1] and not other.base)


def _has_only_bullets(run: MergeRun) -> bool:
    """Return whether *run* has only unnumbered items, so that others may precede and follow them."""
    return all(_BULLET.match(token) for side in run for token in side)


def _merge_added_items(run: MergeRun) -> list[str] | None:
    """Return the items both sides added at one place, each once, or None if their depths differ."""
    if run.base or not _has_only_bullets(run) or _measure_indent(run.ours[0]) != _measure_indent(run.theirs[0]):
        return None
    first, second = sorted(map(_group_nested_items, (run.ours, run.theirs)))
    known = {family.strip() for family in first}
    found = [*first, *(family for family in second if family.strip() not in known)]
    are_dated = all(map(_parse_note_day, found))
    return sorted(found, key=lambda family: (_parse_note_day(family), family)) if are_dated else found


def _group_nested_items(tokens: Iterable[str]) -> list[str]:
    """Return *tokens* with every item joined to the deeper ones below it."""
    found: list[str] = []
    depth = -1
    for token in tokens:
        indent = _measure_indent(token)
        if indent > depth >= 0:
            found[-1] += token
        else:
            found.append(token)
            depth = indent
    return found


def _parse_note_day(token: str) -> str:
    """Return the day (YYYY-MM-DD) of a dated note, or ""."""
    match = _DATED.match(token)
    return match[1] if match else ""


def _iter_unique_notes(found: list[str], sides: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield *found* without repeating a dated note more often than either side: both may have added it."""
    seen: Counter[str] = Counter()
    for token in found:
        seen[token] += 1
        if seen[token] == 1 or not _parse_note_day(token) or seen[token] <= max(side.count(token) for side in sides):
            yield token


# -- code and tables -------------------------------------------------------------------------------


def _merge_code(run: MergeRun, report: MergeReport, location: ConflictLocation) -> list[str] | None:
    """Merge a code block by its lines if that leaves no conflict."""
    if any(len(side) != 1 or not _FENCE.match(side[0]) or len(split_lines(side[0])) < 2 for side in run):
        return None
    # markers inside a fence would be code to every reader: for a conflict, show the whole block
    alone = MergeReport()
    text = merge_lines(run.base[0], run.ours[0], run.theirs[0], alone, location)
    is_one = tokenise_markdown(text) == [text] and text.endswith(detect_newline(text))
    return [text] if not alone.conflicts and is_one else None


def _merge_table(run: MergeRun, report: MergeReport, location: ConflictLocation) -> list[str] | None:
    """Merge a table that both sides changed or added, row by row; conflicts are between its rows.

    Return None if both sides changed its titles or columns, or if its rows cannot be identified.
    """
    if len(run.base) > 1 or len(run.ours) != 1 or len(run.theirs) != 1:
        return None
    cut = [split_lines("".join(side)) for side in run]
    if not all(_is_table_start(rows, 0) for rows in cut if rows) or (head := _merge_head(*cut)) is None:
        return None
    tables = [_key_rows(rows[2:]) for rows in cut]
    if any(table is None for table in tables):
        added = merge_additions(*(rows[2:] for rows in cut))
        if added is None or has_new_duplicates(added, cut[1][2:], cut[2][2:]):
            return None
        return [head + "".join(added)]
    old, mine, other = (table or {} for table in tables)
    merged = {
        name: _merge_row(old.get(name), mine.get(name), other.get(name), report, location)
        for name in order_all_names(old, mine, other)
    }
    kept = {name: row for name, row in merged.items() if row is not None}
    return [head + "".join(kept[name] for name in order_names(old, mine, other, kept))]


def _merge_head(base: list[str], ours: list[str], theirs: list[str]) -> str | None:
    """Return the title row and the rule below it, or None if both sides changed them."""
    if len(_split_cells(ours[0])) != len(_split_cells(theirs[0])):
        return None
    merged = ""
    for rows in zip(base[:2] or ("", ""), ours[:2], theirs[:2], strict=True):
        cells = [_split_cells(row) for row in rows]
        is_rule = set("".join(cells[1] + cells[2])) <= set(":- ")
        if is_trivial_merge(*rows):
            merged += merge_trivially(*rows)
        elif is_trivial_merge(*cells) or is_rule:
            merged += min(rows[1:])
        else:
            return None
    return merged


def _key_rows(rows: list[str]) -> dict[str, str] | None:
    """Return the *rows* of a table by their first cells, or None if these are empty or not unique."""
    found = {name: row for row in rows if (name := _split_cells(row)[0])}
    return found if len(found) == len(rows) else None


def _merge_row(
    base: str | None, ours: str | None, theirs: str | None, report: MergeReport, location: ConflictLocation
) -> str | None:
    """Return the merged row, or None if it is removed."""
    old, mine, other = (None if row is None else _split_cells(row) for row in (base, ours, theirs))
    if mine == other:
        return None if ours is None or theirs is None else merge_trivially(base or "", *sorted((ours, theirs)))
    if not is_trivial_merge(old, mine, other):
        return report.mark_conflict(location, ours or "", theirs or "")
    if old and (mine is None or other is None):
        side = report.name_removing_side(ours, theirs)
        report.removed.append(msg("{side} removed the table row {name}", side=side, name=old[0]))
    return theirs if mine == old else ours


def _split_cells(row: str) -> list[str]:
    """Return the cells of a table *row*, without surrounding spaces."""
    inside = row.strip().removeprefix("|")
    if inside.endswith("|") and not inside.endswith("\\|"):
        inside = inside[:-1]
    return [cell.strip() for cell in _BAR.split(inside)]
