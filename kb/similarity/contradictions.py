"""Decide whether a candidate contradicts a record: the two cannot both hold.

Precision before recall: a false contradiction opens a review that wastes a person's time. So every rule but the claims
asks that both sides speak of the same thing in the same words (as far as `statement` can tell) and differ in one point.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from kb.i18n import Message, msg
from kb.records.model import LIVE, Candidate, Record
from kb.similarity.choice import Choice
from kb.similarity.lexicon import OPPOSITE_OF, RIVAL_ROWS, RIVALS, UNITS
from kb.similarity.prefilter import is_worth_comparing
from kb.similarity.statement import Statement, parse_statement, parse_titled_statement
from kb.similarity.word_terms import split_sentences
from kb.startup.lazy_regex import regex
from kb.text.segment import clip

SENTENCES = 6
"""Sentences of a decision that are compared; the first ones say what was decided."""

SHOWN = 120
"""Characters of a sentence that a reason quotes."""

RULING = frozenset({"decision", "constraint", "interface", "pattern", "preference", "domain-note"})
"""Kinds that say what holds. A pitfall tells what went wrong and a checklist what to do: neither rules anything out."""

_OPPOSED = frozenset({frozenset({"must", "must not"}), frozenset({"must", "need not"}), frozenset({"may", "must not"})})
_CHOOSING = frozenset({"use", "as", "as the", "is", "in", "for", "to"})
_CLAIM_NUMBER = regex(r"(-?\d+(?:\.\d+)?)\s*([^\d\s]*)")


def find_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return why *candidate* and *record* cannot both hold, or None."""
    return find_literal_contradiction(candidate, record) or find_loose_difference(candidate, record)


def find_literal_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return why *candidate* and *record* cannot both hold as far as they use the same words, or None.

    Only a live record of the same scope can be contradicted (the caller has set `candidate.scope`), and none that the
    candidate replaces or that one of the two says it coexists with.
    """
    if not _can_contradict(candidate, record):
        return None
    claimed = _find_claim_conflict(candidate, record)
    if claimed or not _are_rulings(candidate, record):
        return claimed
    shares_paths = _has_common_path(candidate.impact, record.impact)
    new, old = parse_statement(candidate.title), parse_statement(record.title)
    found = _compare_statements(old, new, record.scoped_id, shares_paths)
    if not found and (shares_paths or _is_same_topic(new, old)):
        found = _compare_decisions(candidate, record, shares_paths)
    return found


def _compare_decisions(candidate: Candidate, record: Record, shares_paths: bool) -> Message | None:
    mine = list(_iter_statements(candidate.title, candidate.decision))
    theirs = list(_iter_statements(record.title, record.section("decision")))
    same_title = set(parse_statement(candidate.title).terms) == set(parse_statement(record.title).terms)
    clashes = (
        _compare_statements(old, new, record.scoped_id, shares_paths, same_title) for old in theirs for new in mine
    )
    return next((said for said in clashes if said), None)


def find_loose_difference(candidate: Candidate, record: Record) -> Message | None:
    """Return the one point in which two decisions differ that are worded freely, or None."""
    decision = record.section("decision")
    if (
        not candidate.decision
        or not decision
        or not (_are_rulings(candidate, record) and _can_contradict(candidate, record))
    ):
        return None
    if not is_worth_comparing(f"{candidate.title} {candidate.decision}", f"{record.title} {decision}"):
        return None
    from kb.similarity.content_profile import build_profile
    from kb.similarity.loose_contradictions import find_loose_contradiction

    found = find_loose_contradiction(
        build_profile(candidate.title, candidate.decision), build_profile(record.title, decision)
    )
    if found is None:
        return None
    said = {"duty": _describe_opposite, "number": _describe_other_number, "choice": _describe_other_choice}[found.point]
    return said(clip(found.old, SHOWN), clip(found.new, SHOWN), record.scoped_id)


def _can_contradict(candidate: Candidate, record: Record) -> bool:
    return record.status in LIVE and record.scope == candidate.scope and not _is_relation_declared(candidate, record)


def _are_rulings(candidate: Candidate, record: Record) -> bool:
    return candidate.kind in RULING and record.kind in RULING


def _is_relation_declared(candidate: Candidate, record: Record) -> bool:
    """Return whether one of the two already says how they stand to each other."""
    names = {record.id, f"[{record.id}]", record.uid, record.scope.removeprefix("project/") + ":" + record.id} - {""}
    named = {*candidate.supersedes, *candidate.amends, *candidate.coexists_with, candidate.updates}
    return bool(names & named) or bool(candidate.updates and candidate.updates in record.coexists_with)


def _iter_statements(title: str, decision: str) -> Iterator[Statement]:
    """Yield what a record states: its title, then each of the first sentences of its decision under that title."""
    yield parse_statement(title)
    for sentence in split_sentences(decision)[:SENTENCES]:
        yield parse_titled_statement(title, sentence)


def _is_same_topic(one: Statement, other: Statement) -> bool:
    """Return whether the titles share as many terms as the shorter has besides one: what is compared further."""
    shared = set(one.terms) & set(other.terms)
    return len(shared) >= max(1, min(len(one.terms), len(other.terms)) - 1)


def _compare_statements(
    old: Statement, new: Statement, record_id: str, shares_paths: bool, same_title: bool = False
) -> Message | None:
    if old.places != new.places or _collect_labels(old) != _collect_labels(new):
        return None
    return (
        _find_duty_conflict(old, new, record_id, shares_paths, same_title)
        or _find_number_conflict(old, new, record_id, shares_paths)
        or _find_choice_conflict(old, new, record_id, shares_paths)
    )


def _clip_statement(one: Statement) -> str:
    return clip(one.text, SHOWN)


def _describe_opposite(old: str, new: str, record_id: str) -> Message:
    return msg("“{new}” says the opposite of “{old}” in [{id}]", new=new, old=old, id=record_id)


def _describe_other_number(old: str, new: str, record_id: str) -> Message:
    return msg("“{new}” changes a number of “{old}” in [{id}]", new=new, old=old, id=record_id)


def _describe_other_choice(old: str, new: str, record_id: str) -> Message:
    return msg("“{new}” chooses otherwise than “{old}” in [{id}]", new=new, old=old, id=record_id)


# -- claims ---------------------------------------------------------------------------------------


def _find_claim_conflict(candidate: Candidate, record: Record) -> Message | None:
    theirs = {_normalise_text(key): value for key, value in record.claims.items()}
    for key, value in candidate.claims.items():
        old = theirs.get(_normalise_text(key))
        if old is not None and normalise_claim(old) != normalise_claim(value):
            return msg(
                "[{id}] claims {key} = {old}; this claims {new}", id=record.scoped_id, key=key, old=old, new=value
            )
    return None


def normalise_claim(value: str) -> str:
    """Return *value* for comparison: case, width and spaces do not count, 90 days equal 90 天 and 90.0 equals 90."""
    plain = _normalise_text(value)
    number = _CLAIM_NUMBER.fullmatch(plain.replace(",", ""))
    if not number or (number.group(2) and number.group(2) not in UNITS):
        return plain
    measure, factor = UNITS.get(number.group(2), ("", 1.0))
    return f"{float(number.group(1)) * factor:.10g} {measure}".strip()


def _normalise_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip("\"'`“”‘’ ").rstrip(".。")


# -- the opposite duty ----------------------------------------------------------------------------


def _find_duty_conflict(
    old: Statement, new: Statement, record_id: str, shares_paths: bool, same_title: bool
) -> Message | None:
    """Find "must" against "need not", "use" against "do not use", "enable" against "disable"."""
    if frozenset({old.duty, new.duty}) not in _OPPOSED or not (old.is_explicit or new.is_explicit):
        return None
    is_whole = _list_amounts(old) == _list_amounts(new) and _is_same_subject(old, new, shares_paths)
    if not is_whole and not (same_title and _is_full_denial(old, new)):
        return None
    return _describe_opposite(_clip_statement(old), _clip_statement(new), record_id)


def _is_full_denial(one: Statement, other: Statement) -> bool:
    """Return whether the denial says no more than what it denies; one that says more is about a part of it."""
    denial, denied = (one, other) if one.duty in ("must not", "need not") else (other, one)
    if "except" in denial.marks | denied.marks or not set(_list_amounts(denial)) <= set(_list_amounts(denied)):
        return False
    return set(denial.terms) < set(denied.terms) or denial.terms == denied.terms


def _is_same_subject(old: Statement, new: Statement, shares_paths: bool) -> bool:
    """Return whether both speak of the same things in the same roles; shared paths excuse one word more on one side."""
    mine, theirs = set(new.terms), set(old.terms)
    if not mine or ("except" in old.marks) != ("except" in new.marks):
        return False
    if mine == theirs:
        turned = old.terms != new.terms and bool({"order", "from", "over"} & (old.marks | new.marks))
        return not turned
    near = mine < theirs or theirs < mine
    return shares_paths and near and len(mine ^ theirs) == 1 and len(mine & theirs) >= 2


def _collect_labels(one: Statement) -> set[str]:
    """Return the numbers that belong to names: phase 1 is not phase 2."""
    return {number.amount for number in one.numbers if not number.is_setting}


def _list_amounts(one: Statement) -> list[tuple[str, str]]:
    return sorted((number.amount, number.unit) for number in one.numbers)


# -- another number -------------------------------------------------------------------------------


def _find_number_conflict(old: Statement, new: Statement, record_id: str, shares_paths: bool) -> Message | None:
    """Find another window, port, version, count or share for the same subject."""
    if not old.numbers or len(old.numbers) != len(new.numbers) or {"besides", "also"} & (old.marks | new.marks):
        return None
    pairs = list(zip(old.numbers, new.numbers, strict=True))
    changed = [(a, b) for a, b in pairs if (a.amount, a.unit) != (b.amount, b.unit)]
    if not changed or any(a.unit != b.unit or not (a.is_setting and b.is_setting) for a, b in changed):
        return None
    if old.duty != new.duty or not _is_same_subject(old, new, shares_paths):
        return None
    return _describe_other_number(_clip_statement(old), _clip_statement(new), record_id)


# -- another choice -------------------------------------------------------------------------------


def _find_choice_conflict(old: Statement, new: Statement, record_id: str, shares_paths: bool) -> Message | None:
    if {"also", "besides"} & (old.marks | new.marks):
        return None
    if _is_term_exchanged(old, new):
        return _describe_other_choice(_clip_statement(old), _clip_statement(new), record_id)
    if old.choice is None or new.choice is None:
        return None
    if _is_choice_rejected(old.choice, new.choice) or _is_choice_rejected(new.choice, old.choice):
        return msg(
            "“{new}” turns down what “{old}” in [{id}] chose",
            new=_clip_statement(new),
            old=_clip_statement(old),
            id=record_id,
        )
    if set(old.terms) == set(new.terms) or not _are_exclusive(old.choice, new.choice, shares_paths):
        return None
    return _describe_other_choice(_clip_statement(old), _clip_statement(new), record_id)


def _is_term_exchanged(old: Statement, new: Statement) -> bool:
    """Return whether both are the same but for one word against its rival or its opposite."""
    gone, come = [t for t in old.terms if t not in new.terms], [t for t in new.terms if t not in old.terms]
    if (
        len(gone) != 1
        or len(come) != 1
        or old.duty != "must"
        or new.duty != "must"
        or _list_amounts(old) != _list_amounts(new)
    ):
        return False
    shared = len(old.terms) - 1
    if _are_opposite(gone[0], come[0]):
        return shared > 0
    return _are_rivals(gone[0], come[0]) and shared > 0 and bool(_CHOOSING & old.marks & new.marks)


def _are_rivals(one: str, other: str) -> bool:
    return one != other and bool(RIVAL_ROWS.get(one, frozenset()) & RIVAL_ROWS.get(other, frozenset()))


def _are_opposite(one: str, other: str) -> bool:
    row, writing = OPPOSITE_OF.get(one, (-1, 0))
    other_row, other_writing = OPPOSITE_OF.get(other, (-2, 0))
    return row == other_row and writing != other_writing


def _is_choice_rejected(chosen: Choice, other: Choice) -> bool:
    """Return whether *other* turns down for the same role, or for every role, what is *chosen*."""
    picked = chosen.picked & other.rejected
    return bool(picked) and (not other.role or _is_same_role(chosen, other))


def _is_same_role(one: Choice, other: Choice) -> bool:
    if one.role == other.role:
        return True
    names = one.picked | other.picked | one.rejected | other.rejected
    return _strip_implied_words(one.role, names) == _strip_implied_words(other.role, names)


def _strip_implied_words(role: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """Return *role* without the words that only say of what sort the *names* are: PostgreSQL as (a database)."""
    implied = {word for name in names for row in RIVAL_ROWS.get(name, ()) for word in RIVALS[row][1].split("|")}
    return role - implied


def _are_exclusive(old: Choice, new: Choice, shares_paths: bool) -> bool:
    """Return whether two picks for one role leave no room for each other.

    Shared paths let one role say more than the other ("orders", "orders storage"); where each names what the other does
    not ("invoices storage", "sessions storage"), one file may well hold both.
    """
    if not _are_distinct(old.picked, new.picked):
        return False
    rivals = any(_are_rivals(a, b) or _are_opposite(a, b) for a in old.picked for b in new.picked)
    if rivals:
        return _is_same_role(old, new) or (shares_paths and (old.role <= new.role or new.role <= old.role))
    if old.role != new.role or not old.role or not (old.slot and new.slot):
        return False
    return (old.are_names and new.are_names) or old.slot == new.slot == "any"


def _are_distinct(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether no thing of *one* is, or is a closer description of, a thing of *other*."""
    if not one or not other:
        return False
    return not any(set(a.split()) <= set(b.split()) or set(b.split()) <= set(a.split()) for a in one for b in other)


# -- paths ----------------------------------------------------------------------------------------


def _has_common_path(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether both name the same path, or one a folder (not the top one) that holds the other's."""
    mine, theirs = {_normalise_path(path) for path in one} - {""}, {_normalise_path(path) for path in other} - {""}
    if mine & theirs:
        return True
    return any(_is_parent_folder(a, b) or _is_parent_folder(b, a) for a in mine for b in theirs)


def _is_parent_folder(folder: str, path: str) -> bool:
    return "/" in folder and path.startswith(folder + "/")


def _normalise_path(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/*").strip(".")
