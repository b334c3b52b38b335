"""Three-way merge of markdown text: by lines, and where it is safe by list items and table rows.

Two items that are added at one place are both kept, dated notes in the order of their days. Code between fences is
merged by lines as well, but a conflict in it stands around its fences, where everybody sees the markers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kb.i18n import msg
from kb.merge.markdown_tokens import (
    group_nested_items,
    is_code_block,
    is_table,
    is_unnumbered_item,
    measure_indent,
    parse_note_day,
    tokenise_markdown,
)
from kb.merge.merge_lines import MergeRun, has_new_duplicates, iter_merge_runs, split_common_ends
from kb.merge.merge_tables import merge_table
from kb.merge.sides import ConflictLocation, MergeReport, describe_location, is_trivial_merge, merge_trivially
from kb.text.line_ends import detect_newline, split_lines
from kb.text.segment import clip, one_line

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
