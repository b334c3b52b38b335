"""Decide whether two records say the same in other words.

What both say must agree by far, and nothing may speak against it: a wrong merge hides a decision in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kb.similarity.differences import SUBJECT, find_own_positions, is_fully_covered, weigh_overlap
from kb.similarity.lexicon import are_opposites
from kb.similarity.statement import NAME, Clause, Profile, build_profile, parse_statement, sum_weights, weigh_word

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


class ComparedText(NamedTuple):
    """What a record says."""

    title: str
    decision: str
    why: str


def compute_agreement(mine: ComparedText, theirs: ComparedText, *, rules: bool) -> float:
    """Return how much of what each of the two says the other says too; 0.0 where it is too little or something differs.

    Names, numbers and words of title and decision are weighed; the reason of the other may say them. Two that *rule*
    something must not do so in another place or by the opposite duty.
    """
    new, old = build_profile(mine.title, mine.decision), build_profile(theirs.title, theirs.decision)
    if (new.numbers - old.numbers and old.numbers - new.numbers) or _has_different_names(new, old):
        return 0.0
    if _collect_title_amounts(mine.title) - _collect_amounts(old) or _collect_title_amounts(
        theirs.title
    ) - _collect_amounts(new):
        return 0.0
    if rules and _are_titles_contrary(mine.title, theirs.title):
        return 0.0
    against = _count_differences(new, old)
    shares = _compute_covered_share(new, old, theirs.why), _compute_covered_share(old, new, mine.why)
    named = (
        _compute_covered_share(build_profile(mine.title, ""), old, theirs.why),
        _compute_covered_share(build_profile(theirs.title, ""), new, mine.why),
    )
    share = sum(shares) / 2
    if against > 1 or share < (APART if against else RETOLD) or min(shares) < LEAST or min(named) < NAMED:
        return 0.0
    common_numbers, common_names = new.numbers & old.numbers, new.names & old.names
    if not (common_numbers or common_names or max(named) == 1.0 or (share >= APART and not against)):
        return 0.0
    common = sum_weights(new, new.terms.keys() & old.terms.keys()) + NAME * len(common_numbers)
    return share if share * common >= EVIDENCE else 0.0


def _collect_title_amounts(title: str) -> set[str]:
    """Return the numbers in *title* that tell it from others; one ("once", "a single") is said without saying it."""
    return _collect_amounts(build_profile(title, "")) - {"1"}


def _collect_amounts(told: Profile) -> set[str]:
    return {amount for amount, _ in told.numbers}


def _are_titles_contrary(one: str, other: str) -> bool:
    """Return whether one title allows or demands and the other denies, or they hold in different places."""
    a, b = parse_statement(one), parse_statement(other)
    denies = {"must not", "need not"} & {a.duty, b.duty} and len({*a.terms} & {*b.terms}) > 1
    return (bool(denies) and a.duty != b.duty) or (a.places ^ b.places) - {"test"} != set()


def _has_different_names(one: Profile, other: Profile) -> bool:
    """Return whether each of two records names what the other does not, in its title or beside too few common names."""
    mine, theirs = one.names - other.words, other.names - one.words
    if not mine or not theirs:
        return False
    return bool(mine & one.title) or bool(theirs & other.title) or len(one.names & other.names) < len(mine | theirs)


def _compute_covered_share(one: Profile, other: Profile, why: str) -> float:
    """Return the share of what *one* says that the *other* says too, be it as its reason."""
    terms = other.terms.keys() | (build_profile("", why).terms.keys() if why else set())
    whole = sum(one.terms.values()) + NAME * len(one.numbers)
    return (
        (sum_weights(one, one.terms.keys() & terms) + NAME * len(one.numbers & other.numbers)) / whole if whole else 0.0
    )


# -- what speaks against it -----------------------------------------------------------------------


def _count_differences(new: Profile, old: Profile) -> int:
    """Return how many signs there are that two records speak of two things.

    Each time that one says in title and decision what the other never says; where titles or clauses are alike but for
    one place; and where one denies in short what the other says. A word and its opposite, several against one and all
    against only some are two signs.
    """
    swapped = _has_swapped_words(new.clauses[0], old.clauses[0], new, old)
    swapped = swapped or any(_are_twin_clauses(mine, theirs, new, old) for mine in new.core for theirs in old.core)
    denied = _collect_denied_words(new) & old.affirmed or _collect_denied_words(old) & new.affirmed
    against = (
        _is_several_against_one(new, old)
        or _is_several_against_one(old, new)
        or _is_all_against_only(new, old)
        or _is_all_against_only(old, new)
    )
    against = against or any(
        are_opposites(a, b, loose=True) for a in new.words - old.words for b in old.words - new.words
    )
    return 2 * against + _has_unmatched_core(new, old) + _has_unmatched_core(old, new) + swapped + bool(denied)


def _has_unmatched_core(one: Profile, other: Profile) -> bool:
    """Return whether *one* says in title and decision what *other* has no word of, nor all the characters."""
    return any(term.isascii() or not {*term} <= other.words for term in one.stressed - other.terms.keys())


def _is_several_against_one(one: Profile, other: Profile) -> bool:
    is_single = "single" in other.words or any(amount == "1" for amount, _ in other.numbers - one.numbers)
    return "several" in one.words and "several" not in other.words and is_single


def _is_all_against_only(one: Profile, other: Profile) -> bool:
    is_open = any(clause.is_open and "except" not in clause.marks for clause in one.core)
    restricts = any(word.lead == "only" for clause in other.core for word in clause.words)
    return is_open and restricts and not any(word.lead == "only" for clause in one.clauses for word in clause.words)


def _collect_denied_words(record: Profile) -> frozenset[str]:
    """Return the words of short denials that *record* does not affirm elsewhere."""
    short = (clause for clause in record.clauses if clause.duty == "must not" and len(clause.words) <= SHORT)
    return frozenset(word.text for clause in short for word in clause.words) - record.affirmed


def _are_twin_clauses(mine: Clause, theirs: Clause, new: Profile, old: Profile) -> bool:
    """Return whether two clauses are the same but for what stands in one place."""
    left, right = find_own_positions(mine, theirs, old), find_own_positions(theirs, mine, new)
    if not (left and right and is_fully_covered(mine, theirs, left) and is_fully_covered(theirs, mine, right)):
        return False
    return _has_swapped_words(mine, theirs, new, old)


def _has_swapped_words(mine: Clause, theirs: Clause, new: Profile, old: Profile) -> bool:
    """Return whether between the same neighbours each clause has a word that the other's record has not."""
    if weigh_overlap(mine, theirs) < SUBJECT:
        return False
    return bool(
        _find_gap_neighbours(mine, find_own_positions(mine, theirs, old))
        & _find_gap_neighbours(theirs, find_own_positions(theirs, mine, new))
    )


def _find_gap_neighbours(clause: Clause, places: Sequence[int]) -> set[tuple[str, str]]:
    """Return the neighbours of each run at *places* of a word or more; numbers are compared elsewhere."""
    words = clause.words
    texts = ["", *(word.text for word in words), ""]
    own = [place for place in places if words[place].mark != "number"]
    starts = [place for place in own if place - 1 not in own]
    ends = [place for place in own if place + 1 not in own]
    runs = [
        run
        for run in zip(starts, ends, strict=True)
        if sum(weigh_word(word) for word in words[run[0] : run[1] + 1]) >= 1
    ]
    return {(texts[start], texts[end + 2]) for start, end in runs}
