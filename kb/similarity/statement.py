"""Read what a title or a sentence states: its duty, its terms, its numbers and its choice.

Two statements can then be compared piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from kb.similarity.choice import Choice, find_slot, parse_choice
from kb.similarity.lexicon import LABELS, PLACES, SETTERS, UNITS
from kb.similarity.word_terms import MarkedWord, is_question, tokenise_statement
from kb.startup.namedtuple import NamedTuple


class Quantity(NamedTuple):
    """A number with what it measures."""

    amount: str
    unit: str
    is_setting: bool
    """False where the number belongs to a name: phase 2, CentOS 7."""


class Statement(NamedTuple):
    """What one sentence states."""

    text: str
    terms: tuple[str, ...] = ()
    """The words that carry weight, in order, each once, one word for all of a meaning; numbers and units left out."""
    duty: str = "must"
    """must, may, need not, must not; "" where the sentence says more than one."""
    is_explicit: bool = False
    numbers: tuple[Quantity, ...] = ()
    places: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    choice: Choice | None = None


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Return what *text*, a title or one sentence, states, without the reason it gives; a question rules nothing."""
    found = tokenise_statement(text)
    terms = tuple(dict.fromkeys(word.text for word in found if word.mark in ("term", "undo")))
    duty, is_explicit = ("", False) if is_question(text) else resolve_duty([word.mark for word in found])
    return Statement(
        text,
        terms,
        duty,
        is_explicit,
        tuple(_iter_numbers(found)),
        PLACES & set(terms),
        frozenset(word.mark for word in found),
        parse_choice(found, duty),
    )


def parse_titled_statement(title: str, sentence: str) -> Statement:
    """Return what *sentence* states under *title*: the title says about what."""
    head, body = parse_statement(title), parse_statement(sentence)
    duty = body.duty if body.is_explicit else head.duty
    if head.is_explicit and head.duty != duty:
        duty = ""
    return Statement(
        sentence,
        tuple(dict.fromkeys(head.terms + body.terms)),
        duty,
        head.is_explicit or body.is_explicit,
        tuple(dict.fromkeys(head.numbers + body.numbers)),
        head.places | body.places,
        head.marks | body.marks,
        _resolve_choice(head, body),
    )


def _resolve_choice(head: Statement, body: Statement) -> Choice | None:
    """Return what *body* chooses; where it does not say for what, the title does: "Message broker", "Use Kafka."."""
    if head.choice is not None:
        return body.choice
    if body.choice is None:
        return parse_statement(f"{head.text}: {body.text}").choice
    if body.choice.role:
        return body.choice
    return body.choice._replace(
        role=frozenset(head.terms), slot=find_slot([MarkedWord("term", term) for term in head.terms])
    )


def extract_amounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return the numbers in *text* with what they measure, sorted: 1 minute equals 60 秒."""
    return tuple(sorted((number.amount, number.unit) for number in parse_statement(text).numbers))


# -- duty -----------------------------------------------------------------------------------------

_OPPOSITE = {"must": "must not", "may": "must not", "need not": "must", "must not": "must"}
_OFF = {"must": "must not", "must not": "must", "may": "need not", "need not": "may"}


def resolve_duty(marks: list[str]) -> tuple[str, bool]:
    """Return what words with *marks* oblige to, and whether they say so expressly; "" where they say two things."""
    said = {mark for mark in marks if mark in ("must", "may", "need not")}
    if len(said) > 1:
        return "", True
    duty = next(iter(said), "must")
    for mark in marks:
        if mark == "not":
            duty = _OPPOSITE[duty]
        elif mark in ("off", "undo"):
            duty = _OFF[duty]
    return duty, bool(said) or any(mark in ("not", "off", "on", "undo") for mark in marks)


# -- numbers --------------------------------------------------------------------------------------


def _iter_numbers(found: list[MarkedWord]) -> Iterator[Quantity]:
    nothing = MarkedWord("", "")
    for at, word in enumerate(found):
        if word.mark == "number":
            before = found[at - 1] if at else nothing
            after = found[at + 1] if at + 1 < len(found) else nothing
            unit, factor = UNITS.get(after.text, ("", 1.0))
            earlier = {word.mark for word in found[: max(at - 1, 0)]}
            yield Quantity(normalise_amount(word.text, factor), unit, is_setting(before, after, earlier))


def is_setting(before: MarkedWord, after: MarkedWord, earlier: set[str]) -> bool:
    """Return whether a number is a setting (port 8000, 30 days, use Python 3.11), not a name (phase 2, CentOS 7)."""
    if before.text in LABELS:
        return False
    if after.text in UNITS or before.mark in ("is", "to", "must") or {before.text, after.text} & SETTERS:
        return True
    if after.mark == "term" and not before.is_name:
        return True
    return before.is_name and bool({"use", "must"} & earlier)


def normalise_amount(digits: str, factor: float) -> str:
    """Return what *digits* count, in the measure of which one is *factor*."""
    plain = digits.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits) else digits
    return f"{float(plain) * factor:.10g}" if re.fullmatch(r"\d+(?:\.\d+)?", plain) else plain
