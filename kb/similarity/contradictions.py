"""Decide whether a candidate contradicts a record: the two cannot both hold.

Precision before recall: a false contradiction opens a review that wastes a person's time. So every rule but the claims
asks that both sides speak of the same thing in the same words (as far as `statement` can tell) and differ in one point.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from kb.i18n import Message, msg
from kb.records.model import LIVE, Candidate, Record
from kb.similarity.differences import Difference, find_difference, find_loose_difference, is_worth_comparing
from kb.similarity.statement import Statement, build_profile, parse_statement, parse_titled_statement
from kb.similarity.statement_words import split_plain_sentences
from kb.similarity.word_marks import UNITS
from kb.startup.lazy_regex import regex
from kb.text.segment import clip

SENTENCES = 6
"""Sentences of a decision that are compared; the first ones say what was decided."""

SHOWN = 120
"""Characters of a sentence that a reason quotes."""

RULING = frozenset({"decision", "constraint", "interface", "pattern", "preference", "domain-note"})
"""Kinds that say what holds. A pitfall tells what went wrong and a checklist what to do: neither rules anything out."""

_CLAIM_NUMBER = regex(r"(-?\d+(?:\.\d+)?)\s*([^\d\s]*)")


def find_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return why *candidate* and *record* cannot both hold, or None."""
    return find_literal_contradiction(candidate, record) or find_free_contradiction(candidate, record)


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
    found = find_difference(old, new, shares_paths=shares_paths)
    if found is None and (shares_paths or _is_same_topic(new, old)):
        same_title = set(new.terms) == set(old.terms)
        mine = list(_iter_statements(candidate.title, candidate.decision))
        differences = (
            find_difference(theirs, ours, shares_paths=shares_paths, same_title=same_title)
            for theirs in _iter_statements(record.title, record.section("decision"))
            for ours in mine
        )
        found = next(filter(None, differences), None)
    return _describe_difference(found, record.scoped_id) if found else None


def find_free_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return the one point in which two decisions differ that are worded freely, or None."""
    decision = record.section("decision")
    if not candidate.decision or not decision:
        return None
    if not (_are_rulings(candidate, record) and _can_contradict(candidate, record)):
        return None
    if not is_worth_comparing(f"{candidate.title} {candidate.decision}", f"{record.title} {decision}"):
        return None
    new, old = build_profile(candidate.title, candidate.decision), build_profile(record.title, decision)
    found = find_loose_difference(old, new)
    return _describe_difference(found, record.scoped_id) if found else None


def _describe_difference(found: Difference, record_id: str) -> Message:
    old, new = clip(found.old, SHOWN), clip(found.new, SHOWN)
    if found.point == "duty":
        return msg("“{new}” says the opposite of “{old}” in [{id}]", new=new, old=old, id=record_id)
    if found.point == "number":
        return msg("“{new}” changes a number of “{old}” in [{id}]", new=new, old=old, id=record_id)
    if found.point == "rejection":
        return msg("“{new}” turns down what “{old}” in [{id}] chose", new=new, old=old, id=record_id)
    return msg("“{new}” chooses otherwise than “{old}” in [{id}]", new=new, old=old, id=record_id)


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
    for sentence in split_plain_sentences(decision)[:SENTENCES]:
        yield parse_titled_statement(title, sentence)


def _is_same_topic(one: Statement, other: Statement) -> bool:
    """Return whether the titles share as many terms as the shorter has besides one: what is compared further."""
    shared = set(one.terms) & set(other.terms)
    return len(shared) >= max(1, min(len(one.terms), len(other.terms)) - 1)


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
