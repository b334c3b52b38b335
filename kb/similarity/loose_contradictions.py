"""Find the one point in which two records of one subject differ: a duty, a number, a name, or a word and its opposite.

Two clauses are laid beside each other. What neither shares with the other record at all must stand in one place on each
side: where they differ in two places they speak of two things.
"""

from __future__ import annotations

from collections.abc import Sequence

from kb.similarity.content_profile import CONTRARY_ROW, Clause, ClauseToken, ContentProfile
from kb.similarity.lexicon import OPPOSITE_OF, PLACES, RIVAL_ROWS
from kb.startup.namedtuple import NamedTuple

SUBJECT = 2.0
"""What the words must weigh at least that two clauses share."""

AGREED = 0.4
"""Share of what either decides that the other must tell of, but for the point in which they differ."""

_OPPOSED = frozenset({frozenset({"must", "must not"}), frozenset({"must", "need not"}), frozenset({"may", "must not"})})


class LooseContradiction(NamedTuple):
    """Two sentences that cannot both hold."""

    point: str
    """duty, number or choice."""
    new: str
    old: str


def find_loose_contradiction(new: ContentProfile, old: ContentProfile) -> LooseContradiction | None:
    """Return the first point in which two records of one subject differ, or None."""
    for mine in new.core:
        for theirs in old.core:
            found = _find_difference(mine, theirs, new, old) if mine.units and theirs.units else None
            if found and min(_compute_agreed_share(new, old, found), _compute_agreed_share(old, new, found)) >= AGREED:
                return LooseContradiction(found[0], mine.text, theirs.text)
    return None


def _compute_agreed_share(one: ContentProfile, other: ContentProfile, point: tuple[str, frozenset[str]]) -> float:
    """Return the share of what *one* decides that the *other* record tells of, the *point* left out."""
    units = {unit.text: unit.weight for clause in one.core for unit in clause.units if not unit.is_number}
    told = {text: weight for text, weight in units.items() if text not in point[1]}
    return sum(told[text] for text in told if text in other.words) / (sum(told.values()) or 1)


def _weigh_shared_words(one: Clause, other: Clause) -> float:
    """Return what the words weigh that two clauses share, those of the sentences before them included."""
    here = {unit.text: unit.weight for unit in (*one.units, *other.units) if not unit.is_number}
    ours, theirs = ({*(unit.text for unit in clause.units), *clause.before} for clause in (one, other))
    return sum(weight for text, weight in here.items() if text in ours and text in theirs)


def _find_difference(
    mine: Clause, theirs: Clause, new: ContentProfile, old: ContentProfile
) -> tuple[str, frozenset[str]] | None:
    """Return what two clauses differ in, and the words they say it by."""
    shared = _weigh_shared_words(mine, theirs)
    if shared < 1 or _collect_places(mine, new) != _collect_places(theirs, old):
        return None
    left, right = find_own_positions(mine, theirs, old), find_own_positions(theirs, mine, new)
    opposed = frozenset({mine.duty, theirs.duty}) in _OPPOSED
    if not left or not right:
        return ("duty", frozenset()) if opposed and _is_denial(mine, theirs, left, right, new, old) else None
    if opposed or not (_is_contiguous(mine, left) and _is_contiguous(theirs, right)):
        return None
    if shared < SUBJECT and not (is_fully_covered(mine, theirs, left) and is_fully_covered(theirs, mine, right)):
        return None
    values = frozenset([*(mine.units[i].text for i in left), *(theirs.units[i].text for i in right)])
    a, b = [mine.units[i] for i in left], [theirs.units[i] for i in right]
    if all(unit.is_number for unit in (*a, *b)):
        same = [unit.unit for unit in a] == [unit.unit for unit in b] and all(unit.is_setting for unit in (*a, *b))
        same = same and not (mine.bound and theirs.bound and mine.bound != theirs.bound)
        return ("number", values) if same else None
    if all(sum(bool(unit.lead) for unit in units) > 1 for units in (a, b)):
        return None
    is_denied = (mine.duty == "must not") != (theirs.duty == "must not")
    if is_denied or {"also", "besides", "support"} & (mine.marks | theirs.marks):
        return None
    ends = left[-1] == len(mine.units) - 1 and right[-1] == len(theirs.units) - 1
    if _are_exclusive(a, b, ends) or _is_reserved(a, theirs) or _is_reserved(b, mine):
        return "choice", values
    is_said = mine.text not in (new.clauses[0].text, old.clauses[0].text)
    return ("choice", values) if is_said and _is_core_value_changed(a, b, new, old) else None


def _is_reserved(only: Sequence[ClauseToken], clause: Clause) -> bool:
    """Return whether one clause reserves for *only* these what another leaves to any."""
    return only[0].lead == "only" and (clause.is_open or clause.duty == "may")


def _is_core_value_changed(
    one: Sequence[ClauseToken], other: Sequence[ClauseToken], new: ContentProfile, old: ContentProfile
) -> bool:
    """Return whether what two clauses put into one place is the heart of both records and says how or where."""
    if one[0].lead != other[0].lead or one[0].lead not in ("in", "by"):
        return False
    return any(unit.text in new.kept for unit in one) and any(unit.text in old.kept for unit in other)


def _collect_places(clause: Clause, record: ContentProfile) -> frozenset[str]:
    """Return where a clause holds: production is not staging."""
    return PLACES & {*_collect_texts(record.clauses[0]), *_collect_texts(clause)}


def _is_denial(
    mine: Clause, theirs: Clause, left: Sequence[int], right: Sequence[int], new: ContentProfile, old: ContentProfile
) -> bool:
    """Return whether one of two clauses denies all of what the other says; a denial of a part leaves the rest."""
    if ("except" in mine.marks) != ("except" in theirs.marks) or "without" in mine.marks | theirs.marks:
        return False
    is_mine = mine.duty == "must not" or theirs.duty == "must"
    denial, own, rest = (mine, left, right) if is_mine else (theirs, right, left)
    said = theirs if is_mine else mine
    shared = weigh_overlap(mine, theirs)
    if any(unit.is_number and unit.text == "0" for unit in said.units) or 0 in rest:
        return False
    if (
        own
        or not shared
        or sum(said.units[place].weight for place in rest) > min(_weigh_shared_words(mine, theirs), SUBJECT)
    ):
        return False
    if 2 * shared < sum(unit.weight for unit in denial.units if not unit.is_number):
        return False
    return not _is_stated_elsewhere(mine, old, shared) and not _is_stated_elsewhere(theirs, new, shared)


def _is_stated_elsewhere(clause: Clause, record: ContentProfile, shared: float) -> bool:
    """Return whether *record* obliges to the same as *clause* elsewhere."""
    if not clause.is_explicit:
        return False
    return any(
        their.duty == clause.duty and their.is_explicit and weigh_overlap(clause, their) >= min(shared, SUBJECT)
        for their in record.clauses
    )


def weigh_overlap(one: Clause, other: Clause) -> float:
    """Return what the words weigh that two clauses share themselves."""
    return _weigh_shared_words(one._replace(before=frozenset()), other._replace(before=frozenset()))


def is_fully_covered(one: Clause, other: Clause, own: Sequence[int]) -> bool:
    """Return whether each word of *one* is its *own* or one of *other*."""
    return len(own) + sum(unit.text in _collect_texts(other) for unit in one.units) >= len(one.units)


def _collect_texts(clause: Clause) -> set[str]:
    return {unit.text for unit in clause.units}


def find_own_positions(one: Clause, other: Clause, record: ContentProfile) -> list[int]:
    """Return the places in *one* of what neither *other* nor, unless it is a value, its record has."""
    there = {(unit.text, unit.unit) for unit in other.units}
    return [
        place
        for place, unit in enumerate(one.units)
        if (unit.text, unit.unit) not in there
        and (unit.is_number or unit.text not in (record.affirmed if _is_value(unit) else record.words))
    ]


def _is_value(unit: ClauseToken) -> bool:
    """Return whether *unit* may be what is chosen: saying it of something else, or denying it, is not saying it."""
    return unit.is_name or unit.text in RIVAL_ROWS or unit.text in OPPOSITE_OF or unit.text in CONTRARY_ROW


def _is_contiguous(clause: Clause, places: Sequence[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


def _are_exclusive(one: Sequence[ClauseToken], other: Sequence[ClauseToken], ends: bool) -> bool:
    """Return whether what two clauses put into one place, or at their *ends*, leaves no room for both."""
    more = [any(not _is_value(unit) and not unit.is_number for unit in units) for units in (one, other)]
    if all(more) and not ends:
        return False
    if any(are_opposite(a.text, b.text) or _are_rivals(a.text, b.text) for a in one for b in other):
        return True
    known = [{unit.text for unit in units} & (RIVAL_ROWS.keys() | OPPOSITE_OF.keys()) for units in (one, other)]
    named = [any(unit.is_name or unit.is_number for unit in units) for units in (one, other)]
    return not all(known) and all(named) and _has_lead(one[0]) and _has_lead(other[0])


def _has_lead(unit: ClauseToken) -> bool:
    """Return whether *unit* stands behind a word that leads a choice; behind "is" a word may be a verb."""
    return bool(unit.lead) and (unit.lead != "is" or unit.is_name or unit.is_number)


def _are_rivals(one: str, other: str) -> bool:
    return one != other and bool(RIVAL_ROWS.get(one, frozenset()) & RIVAL_ROWS.get(other, frozenset()))


def are_opposite(one: str, other: str) -> bool:
    """Return whether two words exclude each other."""
    if one != other and one in CONTRARY_ROW and CONTRARY_ROW[one] == CONTRARY_ROW.get(other):
        return True
    row, writing = OPPOSITE_OF.get(one, (-1, 0))
    other_row, other_writing = OPPOSITE_OF.get(other, (-2, 0))
    return row == other_row and writing != other_writing
