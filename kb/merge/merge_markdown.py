"""Three-way merge of markdown text: by lines, and where it is safe by list items and table rows.

Two items that are added at one place are both kept, dated notes in the order of their days. Code between fences is
merged by lines as well, but a conflict in it stands around its fences, where everybody sees the markers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kb.i18n import msg
from kb.merge.markdown_tokens import day, families, indent, is_code, is_loose_item, is_table, tokens
from kb.merge.merge_lines import Run, runs, says_twice, with_common_ends
from kb.merge.merge_tables import merged_table
from kb.merge.sides import Ledger, Place, is_settled, named, settled
from kb.text.line_ends import lines, newline
from kb.text.segment import clip, one_line

Rule = Callable[[Run, Ledger, Place], list[str] | None]
"""A way to merge a run that both sides changed; None where it is not the way for this one."""


def merged_text(base: str, ours: str, theirs: str, ledger: Ledger, place: Place, *, structured: bool = True) -> str:
    """Return the merge of three texts; what contradicts each other stands between conflict markers.

    Unless *structured*, nothing but lines and fenced code counts.
    """
    cut = [tokens(text, structured=structured) for text in (base, ours, theirs)]
    _note_removed(cut, ledger, place)
    if is_settled(base, ours, theirs):
        return settled(base, ours, theirs)
    rules = (_as_items, _as_table, _as_code) if structured else (_as_code,)
    found = [token for run in runs(*cut) for token in _merged(run, ledger, place, rules)]
    return "".join(_notes_once(found, cut[1:]) if structured else found)


def merged_lines(base: str, ours: str, theirs: str, ledger: Ledger, place: Place) -> str:
    """Return the merge of three texts of which nothing is known but their lines."""
    cut = (lines(text) for text in (base, ours, theirs))
    return "".join(token for run in runs(*cut) for token in _merged(run, ledger, place, ()))


def _merged(run: Run, ledger: Ledger, place: Place, rules: Sequence[Rule]) -> list[str]:
    if run.is_settled:
        return run.settled
    head, middle, tail = with_common_ends(run)
    while tail and indent(tail[0]) and (middle.ours or middle.theirs):  # it belongs to two different items
        middle.ours.append(tail[0])
        middle.theirs.append(tail.pop(0))
    for rule in rules:
        found = rule(middle, ledger, place)
        if found is not None:
            return [*head, *found, *tail]
    return [*head, ledger.shown(place, "".join(middle.ours), "".join(middle.theirs)), *tail]


def _note_removed(cut: Sequence[Sequence[str]], ledger: Ledger, place: Place) -> None:
    """Note what one side took away without putting anything in its place."""
    base, ours, theirs = cut
    for run in runs(base, ours, theirs, apart=True):
        text = one_line("".join(run.base))
        if text and run.is_settled and not run.settled:
            side = ledger.gone_from(run.ours or None, run.theirs or None)
            words = msg("{side} removed from {place}: {text}", side=side, place=named(place), text=clip(text, 60))
            ledger.removed.append(words)


# -- lists -----------------------------------------------------------------------------------------


def _as_items(run: Run, ledger: Ledger, place: Place) -> list[str] | None:
    """Merge a run of list items one by one; what is no item may be changed beside an item that is added."""
    found: list[str] = []
    last = None
    for part in runs(*run, apart=True):
        if last and _changes(last) and _changes(part) and not _may_touch(last, part):
            return None
        merged = part.settled if part.is_settled else _both_added(part)
        if merged is None:
            return None
        found += merged
        last = part
    return None if says_twice(*map(families, (found, run.ours, run.theirs))) else found


def _changes(run: Run) -> bool:
    return run.ours != run.base or run.theirs != run.base


def _may_touch(one: Run, other: Run) -> bool:
    return any(not run.base and _are_items(run) for run in (one, other)) or (_are_items(one) and _are_items(other))


def _are_items(run: Run) -> bool:
    return all(is_loose_item(token) for side in run for token in side)


def _both_added(run: Run) -> list[str] | None:
    """Return the items both sides added at one place, each once; None where they are of different depths."""
    if run.base or not _are_items(run) or len({indent(side[0]) for side in (run.ours, run.theirs)}) != 1:
        return None
    first, second = sorted(map(families, (run.ours, run.theirs)))
    known = {family.strip() for family in first}
    found = [*first, *(family for family in second if family.strip() not in known)]
    return sorted(found, key=lambda family: (day(family), family)) if all(map(day, found)) else found


def _notes_once(found: list[str], sides: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield *found* with no dated note more often than on one of the *sides*: both may have added it, apart."""
    seen: Counter[str] = Counter()
    for token in found:
        seen[token] += 1
        if seen[token] == 1 or not day(token) or seen[token] <= max(side.count(token) for side in sides):
            yield token


# -- tables and code -------------------------------------------------------------------------------


def _as_table(run: Run, ledger: Ledger, place: Place) -> list[str] | None:
    """Merge a table that both sides changed, or added, row by row."""
    if len(run.base) > 1 or any(len(side) != 1 for side in run[1:]) or not all(is_table(t) for s in run for t in s):
        return None
    table = merged_table("".join(run.base), run.ours[0], run.theirs[0], ledger, place)
    return None if table is None else [table]


def _as_code(run: Run, ledger: Ledger, place: Place) -> list[str] | None:
    """Merge a block of code that both sides changed by its lines, where that leaves no conflict."""
    if any(len(side) != 1 or not is_code(side[0]) for side in run):
        return None
    alone = Ledger()
    text = merged_lines(run.base[0], run.ours[0], run.theirs[0], alone, place)
    is_one = tokens(text) == [text] and text.endswith(newline(text))
    return [text] if not alone.conflicts and is_one else None
