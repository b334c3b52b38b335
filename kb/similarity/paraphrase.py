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
    # 50 GB / 20 GB, 7 天 / 90 天; "Logs with Fluent Bit" / "Logs with Vector", Fluentd 采集日志 / Vector 采集日志
    if (new.numbers - old.numbers and old.numbers - new.numbers) or _has_different_names(new, old):
        return 0.0
    # "Android 9 or newer": a number in a title has to stand somewhere in the other record
    if _collect_title_amounts(mine.title) - _collect_amounts(old):
        return 0.0
    if _collect_title_amounts(theirs.title) - _collect_amounts(new):
        return 0.0
    if rules and _are_titles_contrary(mine.title, theirs.title):
        return 0.0
    shares = _compute_covered_share(new, old, theirs.why), _compute_covered_share(old, new, mine.why)
    named = (
        _compute_covered_share(build_profile(mine.title, ""), old, theirs.why),
        _compute_covered_share(build_profile(theirs.title, ""), new, mine.why),
    )
    against, share = _count_differences(new, old), sum(shares) / 2
    if against > 1 or share < (APART if against else RETOLD) or min(shares) < LEAST or min(named) < NAMED:
        return 0.0
    common_numbers = new.numbers & old.numbers
    if not (common_numbers or new.names & old.names or max(named) == 1.0 or (share >= APART and not against)):
        return 0.0
    common = sum_weights(new, new.terms.keys() & old.terms.keys()) + NAME * len(common_numbers)
    return share if share * common >= EVIDENCE else 0.0


def _collect_title_amounts(title: str) -> set[str]:
    """Return the numbers in *title* that tell it from others; one ("once", "a single") is said without saying it."""
    return _collect_amounts(build_profile(title, "")) - {"1"}


def _collect_amounts(profile: Profile) -> set[str]:
    return {amount for amount, _ in profile.numbers}


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
    covered = sum_weights(one, one.terms.keys() & terms) + NAME * len(one.numbers & other.numbers)
    return covered / (sum(one.terms.values()) + NAME * len(one.numbers) or 1)


# -- what speaks against it -----------------------------------------------------------------------


def _count_differences(new: Profile, old: Profile) -> int:
    """Return how many signs there are that two records speak of two things."""
    signs = 0
    for one, other in ((new, old), (old, new)):
        # One says in title and decision what the other never says: 退货单 / 换货单
        signs += any(term.isascii() or not {*term} <= other.words for term in one.stressed - other.terms.keys())
        # "Several replicas" / "a single replica", 多个 / 单个
        signs += 2 * _is_several_against_one(one, other)
        # "Every member can edit" / "Only owners can edit", 所有人可以改 / 只有管理员可以改
        signs += 2 * _is_all_against_only(one, other)
    # "sequential" / "parallel", 明文 / 密文
    if any(are_opposites(a, b, loose=True) for a in new.words - old.words for b in old.words - new.words):
        signs += 2
    # "Invoices are exported at 03:00" / "Orders are exported at 03:00", 电子发票用 PDF / 电子合同用 PDF
    signs += _has_swapped_words(new.clauses[0], old.clauses[0], new, old) or any(
        _are_twin_clauses(mine, theirs, new, old) for mine in new.core for theirs in old.core
    )
    # One denies in short what the other says: "no retries" / "three retries", 不重试 / 重试三次
    return signs + bool(_collect_denied_words(new) & old.affirmed or _collect_denied_words(old) & new.affirmed)


def _is_several_against_one(one: Profile, other: Profile) -> bool:
    is_single = "single" in other.words or any(amount == "1" for amount, _ in other.numbers - one.numbers)
    return "several" in one.words and "several" not in other.words and is_single


def _is_all_against_only(one: Profile, other: Profile) -> bool:
    is_open = any(clause.is_open and "except" not in clause.marks for clause in one.core)
    return is_open and _is_restricting(other.core) and not _is_restricting(one.clauses)


def _is_restricting(clauses: Sequence[Clause]) -> bool:
    return any(word.lead == "only" for clause in clauses for word in clause.words)


def _collect_denied_words(record: Profile) -> frozenset[str]:
    """Return the words of short denials that *record* does not affirm elsewhere."""
    short = (clause for clause in record.clauses if clause.duty == "must not" and len(clause.words) <= SHORT)
    return frozenset(text for clause in short for text in clause.texts) - record.affirmed


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
    left = _find_gap_neighbours(mine, find_own_positions(mine, theirs, old))
    return not left.isdisjoint(_find_gap_neighbours(theirs, find_own_positions(theirs, mine, new)))


def _find_gap_neighbours(clause: Clause, positions: Sequence[int]) -> set[tuple[str, str]]:
    """Return the neighbours of each run at *positions* of a word or more; numbers are compared elsewhere."""
    texts = ["", *(word.text for word in clause.words), ""]
    own = [position for position in positions if clause.words[position].mark != "number"]
    starts = [position for position in own if position - 1 not in own]
    ends = [position + 1 for position in own if position + 1 not in own]
    runs = zip(starts, ends, strict=True)
    return {(texts[a], texts[b + 1]) for a, b in runs if sum(map(weigh_word, clause.words[a:b])) >= 1}
