"""Count what speaks against two records being one, although most of their words agree."""

from __future__ import annotations

from collections.abc import Sequence

from kb.writing.clash import SUBJECT, are_opposite, beside, is_all, own_places
from kb.writing.gist import Clause, Gist

SHORT = 4
"""Words of a denial that is about these words and not about what one of them does."""


def signs(new: Gist, old: Gist) -> int:
    """Return how many signs there are that two records speak of two things.

    Each time that one says in title and decision what the other never says; where titles or clauses are alike but for
    one place; and where one denies in short what the other says. A word and its
    opposite, several against one and all against only some are two signs.
    """
    swapped = any(_are_twins(mine, theirs, new, old) for mine in new.core for theirs in old.core)
    if not swapped and new.clauses and old.clauses:
        swapped = _is_swapped(new.clauses[0], old.clauses[0], new, old)
    denied = _denied(new) & old.affirmed or _denied(old) & new.affirmed
    against = _many_and_one(new, old) or _many_and_one(old, new) or _all_and_only(new, old) or _all_and_only(old, new)
    against = against or any(are_opposite(a, b) for a in new.words - old.words for b in old.words - new.words)
    return 2 * against + bool(new.kept - old.terms.keys()) + bool(old.kept - new.terms.keys()) + swapped + bool(denied)


def _many_and_one(one: Gist, other: Gist) -> bool:
    is_single = "single" in other.words or any(amount == "1" for amount, _ in other.numbers - one.numbers)
    return "several" in one.words and "several" not in other.words and is_single


def _all_and_only(one: Gist, other: Gist) -> bool:
    is_open = any(clause.is_open and "except" not in clause.marks for clause in one.core)
    restricts = any("except" in clause.marks and not clause.is_open for clause in other.core)
    return is_open and restricts and not any("except" in clause.marks for clause in one.clauses)


def _denied(record: Gist) -> frozenset[str]:
    """Return the words of short denials that *record* does not affirm elsewhere."""
    short = (clause for clause in record.clauses if clause.duty == "must not" and len(clause.units) <= SHORT)
    return frozenset(unit.text for clause in short for unit in clause.units) - record.affirmed


def _are_twins(mine: Clause, theirs: Clause, new: Gist, old: Gist) -> bool:
    """Tell whether two clauses are the same but for what stands in one place."""
    left, right = own_places(mine, theirs, old), own_places(theirs, mine, new)
    if not (left and right and is_all(mine, theirs, left) and is_all(theirs, mine, right)):
        return False
    return _is_swapped(mine, theirs, new, old)


def _is_swapped(mine: Clause, theirs: Clause, new: Gist, old: Gist) -> bool:
    """Tell whether between the same neighbours each clause has a word that the other's record has not."""
    if beside(mine, theirs) < SUBJECT:
        return False
    return bool(_gaps(mine, own_places(mine, theirs, old)) & _gaps(theirs, own_places(theirs, mine, new)))


def _gaps(clause: Clause, places: Sequence[int]) -> set[tuple[str, str]]:
    """Return the neighbours of each run at *places* of a word or more; numbers are compared elsewhere."""
    units = clause.units
    texts = ["", *(unit.text for unit in units), ""]
    own = [place for place in places if not units[place].is_number]
    starts = [place for place in own if place - 1 not in own]
    ends = [place for place in own if place + 1 not in own]
    runs = [run for run in zip(starts, ends, strict=True) if sum(u.weight for u in units[run[0] : run[1] + 1]) >= 1]
    return {(texts[start], texts[end + 2]) for start, end in runs}
