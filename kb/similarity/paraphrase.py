"""Decide whether two records say the same in other words.

What both say must agree by far, and nothing may speak against it: a wrong merge hides a decision in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.similarity.content_profile import NAME, Clause, Gist, gist, weight
from kb.similarity.loose_contradictions import SUBJECT, are_opposite, beside, is_all, own_places
from kb.similarity.statement import statement

RETOLD = 0.55
"""Share of what both say that must agree (this and what follows is chosen on the dev half of bench/pairs)."""

LEAST = 0.35
"""And the share of what either says: one may say more than the other."""

NAMED = 0.25
"""And the share of what either title says."""

APART = 0.65
"""The share that must agree where one sign speaks against it."""

EVIDENCE = 2.75
"""What the words and numbers that both have must weigh, times the share: less could be any two records."""

SHORT = 4
"""Words of a denial that is about these words and not about what one of them does."""


class Telling(NamedTuple):
    """What a record says."""

    title: str
    decision: str
    why: str


def agreement(mine: Telling, theirs: Telling, *, rules: bool) -> float:
    """Return how much of what each of the two says the other says too; 0.0 where it is too little or something differs.

    Names, numbers and words of title and decision are weighed; the reason of the other may say them. Two that *rule*
    something must not do so in another place or by the opposite duty.
    """
    new, old = gist(mine.title, mine.decision), gist(theirs.title, theirs.decision)
    if (new.numbers - old.numbers and old.numbers - new.numbers) or _name_apart(new, old):
        return 0.0
    if _numbered(mine.title) - _amounts(old) or _numbered(theirs.title) - _amounts(new):
        return 0.0
    if rules and _are_turned(mine.title, theirs.title):
        return 0.0
    against = _signs(new, old)
    shares = _told(new, old, theirs.why), _told(old, new, mine.why)
    named = _told(gist(mine.title, ""), old, theirs.why), _told(gist(theirs.title, ""), new, mine.why)
    share = sum(shares) / 2
    if against > 1 or share < (APART if against else RETOLD) or min(shares) < LEAST or min(named) < NAMED:
        return 0.0
    common_numbers, common_names = new.numbers & old.numbers, new.names & old.names
    if not (common_numbers or common_names or max(named) == 1.0 or (share >= APART and not against)):
        return 0.0
    common = weight(new, new.terms.keys() & old.terms.keys()) + NAME * len(common_numbers)
    return share if share * common >= EVIDENCE else 0.0


def _numbered(title: str) -> set[str]:
    """Return the numbers in *title* that tell it from others; one ("once", "a single") is said without saying it."""
    return _amounts(gist(title, "")) - {"1"}


def _amounts(told: Gist) -> set[str]:
    return {amount for amount, _ in told.numbers}


def _are_turned(one: str, other: str) -> bool:
    """Return whether one title allows or demands and the other denies, or they hold in different places."""
    a, b = statement(one), statement(other)
    denies = {"must not", "need not"} & {a.duty, b.duty} and len({*a.terms} & {*b.terms}) > 1
    return (bool(denies) and a.duty != b.duty) or (a.places ^ b.places) - {"test"} != set()


def _name_apart(one: Gist, other: Gist) -> bool:
    """Return whether each of two records names what the other does not, in its title or beside too few common names."""
    mine, theirs = one.names - other.words, other.names - one.words
    if not mine or not theirs:
        return False
    return bool(mine & one.title) or bool(theirs & other.title) or len(one.names & other.names) < len(mine | theirs)


def _told(one: Gist, other: Gist, why: str) -> float:
    """Return the share of what *one* says that the *other* says too, be it as its reason."""
    terms = other.terms.keys() | (gist("", why).terms.keys() if why else set())
    whole = sum(one.terms.values()) + NAME * len(one.numbers)
    return (weight(one, one.terms.keys() & terms) + NAME * len(one.numbers & other.numbers)) / whole if whole else 0.0


# -- what speaks against it -----------------------------------------------------------------------


def _signs(new: Gist, old: Gist) -> int:
    """Return how many signs there are that two records speak of two things.

    Each time that one says in title and decision what the other never says; where titles or clauses are alike but for
    one place; and where one denies in short what the other says. A word and its opposite, several against one and all
    against only some are two signs.
    """
    swapped = _is_swapped(new.clauses[0], old.clauses[0], new, old)
    swapped = swapped or any(_are_twins(mine, theirs, new, old) for mine in new.core for theirs in old.core)
    denied = _denied(new) & old.affirmed or _denied(old) & new.affirmed
    against = _many_and_one(new, old) or _many_and_one(old, new) or _all_and_only(new, old) or _all_and_only(old, new)
    against = against or any(are_opposite(a, b) for a in new.words - old.words for b in old.words - new.words)
    return 2 * against + _keeps(new, old) + _keeps(old, new) + swapped + bool(denied)


def _keeps(one: Gist, other: Gist) -> bool:
    """Return whether *one* says in title and decision what *other* has no word of, nor all the characters."""
    return any(term.isascii() or not {*term} <= other.words for term in one.kept - other.terms.keys())


def _many_and_one(one: Gist, other: Gist) -> bool:
    is_single = "single" in other.words or any(amount == "1" for amount, _ in other.numbers - one.numbers)
    return "several" in one.words and "several" not in other.words and is_single


def _all_and_only(one: Gist, other: Gist) -> bool:
    is_open = any(clause.is_open and "except" not in clause.marks for clause in one.core)
    restricts = any(unit.lead == "only" for clause in other.core for unit in clause.units)
    return is_open and restricts and not any(unit.lead == "only" for clause in one.clauses for unit in clause.units)


def _denied(record: Gist) -> frozenset[str]:
    """Return the words of short denials that *record* does not affirm elsewhere."""
    short = (clause for clause in record.clauses if clause.duty == "must not" and len(clause.units) <= SHORT)
    return frozenset(unit.text for clause in short for unit in clause.units) - record.affirmed


def _are_twins(mine: Clause, theirs: Clause, new: Gist, old: Gist) -> bool:
    """Return whether two clauses are the same but for what stands in one place."""
    left, right = own_places(mine, theirs, old), own_places(theirs, mine, new)
    if not (left and right and is_all(mine, theirs, left) and is_all(theirs, mine, right)):
        return False
    return _is_swapped(mine, theirs, new, old)


def _is_swapped(mine: Clause, theirs: Clause, new: Gist, old: Gist) -> bool:
    """Return whether between the same neighbours each clause has a word that the other's record has not."""
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
