"""What a record says in short, so that two records can be compared that say it in other words.

Words are weighed, not understood: a name weighs more than a word, and what any record could say weighs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile

from kb.similarity.lexicon import OPPOSITE_OF, RIVAL_ROWS, UNITS
from kb.similarity.loose_lexicon import BOUNDS, CONTRARY, COUNTED, NEAR, PLAIN
from kb.similarity.statement import is_setting, normalise_amount, resolve_duty
from kb.similarity.word_terms import MarkedWord, split_sentences, stem, tokenise_statement
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

SENTENCES = 8
"""Sentences of a decision that are read; what follows tells the circumstances."""

CORE = 12
"""Clauses of title and first sentence that are laid beside another record's; what has more is a list."""

NAME = 2.0
"""What a name, an identifier or a number weighs; any other word weighs 1."""

_PLAIN = frozenset(form for word in PLAIN.split("|") for form in (word, stem(word)))
CONTRARY_ROW = {form: row.split("|")[0] for row in CONTRARY for word in row.split("|") for form in (word, stem(word))}
"""Word → the row of contrary words it stands in."""
_NEAR = {
    form: row.split("|")[0]
    for row in NEAR
    for word in row.split("|")
    for form in (word, stem(word))
    if form not in OPPOSITE_OF and form not in RIVAL_ROWS and form not in CONTRARY_ROW
}
_SAYING = frozenset({"term", "undo", "besides"})
"""Marks of the words that say something."""
_LONGEST = 4
"""Characters of the longest Chinese word in the tables."""

_ITEMS = regex(r"(?:^|(?<=\s))\d{1,2}[.)、]\s*(?=\D)")
_MADE = regex(r"(?=[\w#+-]*?[\d._#+])[\w#+-]*+[\w.#+-]*+")
_LEADING = frozenset({"use", "as", "as the", "is", "in", "to"})
"""Marks of the words behind which stands what is chosen."""
_BY = frozenset({"by", "under"})
_OPEN = frozenset({"any", "anyone", "anybody", "everyone", "everybody", "every", "all", "任何", "所有", "任意", "一切"})
_ONLY = frozenset({"only", "只有", "仅", "只"})


class ClauseToken(NamedTuple):
    """A word or a number of a clause."""

    text: str
    lead: str = ""
    """The mark of the word before, where it leads a choice: use, in, is, …"""
    is_name: bool = False
    unit: str = ""
    """What a number measures."""
    is_number: bool = False
    is_setting: bool = False
    """False for a number that belongs to a name."""

    @property
    def weight(self) -> float:
        """Return how much the word tells of the subject."""
        return NAME if self.is_name or self.is_number else 0.5 if _is_cjk_character(self.text) else 1.0


class Clause(NamedTuple):
    """What stands between two commas."""

    text: str
    """The sentence it stands in."""
    units: tuple[ClauseToken, ...]
    duty: str
    """must, may, need not, must not, or "" where it says two things."""
    is_explicit: bool
    marks: frozenset[str]
    is_open: bool = False
    """True where it speaks of any or every one."""
    bound: str = ""
    """≤ or ≥, where it bounds a number."""
    before: frozenset[str] = frozenset()
    """The words of the sentence that stand before it."""


class ContentProfile(NamedTuple):
    """What a record says in short."""

    terms: dict[str, float]
    """Word → its weight; of Chinese without known words the bigrams."""
    words: frozenset[str]
    """The same by single words and characters."""
    affirmed: frozenset[str]
    """Those of clauses that deny nothing."""
    title: frozenset[str]
    """Those of the title."""
    kept: frozenset[str]
    """Terms that title and decision both say."""
    names: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    clauses: tuple[Clause, ...]
    """The title's first."""
    core: tuple[Clause, ...]
    """Those of the title and the first sentence: what was decided."""


@lru_cache(maxsize=1024)
def build_profile(title: str, decision: str) -> ContentProfile:
    """Return the gist of a record's *title* and *decision*."""
    texts = [title, *split_sentences(_ITEMS.sub("", decision))[:SENTENCES]]
    terms: dict[str, float] = {}
    kept: set[str] = set()
    first: frozenset[str] = frozenset()
    clauses = []
    for number, text in enumerate(texts):
        before: frozenset[str] = frozenset()
        own = []
        for part in _split_clauses(_normalise_words(text)):
            clause = _parse_clause(text, part)._replace(before=before)
            before |= {unit.text for unit in clause.units}
            own.append(clause)
            names = {unit.text for unit in clause.units if unit.is_name}
            for term in _extract_terms(part):
                kept.update({term} if number and term in first else ())
                terms[term] = max(terms.get(term, 0.0), NAME if term in names else 1.0)
        first = first or frozenset(terms)
        says_more = any(clause.is_explicit for clause in own)
        clauses += [c._replace(duty="") if says_more and not c.is_explicit else c for c in own]
    units = [unit for clause in clauses for unit in clause.units]
    return ContentProfile(
        terms,
        frozenset(unit.text for unit in units if not unit.is_number),
        frozenset(unit.text for clause in clauses if clause.duty != "must not" for unit in clause.units),
        frozenset(unit.text for clause in clauses if clause.text == title for unit in clause.units),
        frozenset(kept),
        frozenset(unit.text for unit in units if unit.is_name),
        frozenset((unit.text, unit.unit) for unit in units if unit.is_number),
        tuple(clauses),
        tuple(clause for clause in clauses if clause.text in texts[:2])[:CORE],
    )


def _normalise_words(text: str) -> list[MarkedWord]:
    """Return the words of *text*, each as the one that stands for it, without a mark where it weighs nothing."""
    return [
        _normalise_word(word)
        for word in _merge_characters(tokenise_statement(text.replace("_", " "), with_reason=True))
    ]


def _merge_characters(found: list[MarkedWord]) -> Iterator[MarkedWord]:
    """Yield the words *found*, with single Chinese characters put together where the tables know the word."""
    at = 0
    while at < len(found):
        run = list(takewhile(_is_character_term, found[at : at + _LONGEST]))
        for size in range(len(run), 1, -1):
            text = "".join(word.text for word in run[:size])
            if text in _NEAR or text in _PLAIN or text in CONTRARY_ROW:
                yield MarkedWord("term", text)
                break
        else:
            size = 1
            yield found[at]
        at += size


def _is_character_term(word: MarkedWord) -> bool:
    return word.mark == "term" and _is_cjk_character(word.text)


def _normalise_word(word: MarkedWord) -> MarkedWord:
    if word.mark == "sole" and word.text in ("primary", "主"):
        return MarkedWord("term", "primary")
    if word.text in COUNTED:
        return MarkedWord("besides" if word.mark == "besides" else "term", COUNTED[word.text])
    if word.mark == "besides":
        return word._replace(mark="support")
    if word.mark not in ("term", "undo"):
        return word
    if (word.text in _PLAIN or word.text.endswith("ly")) and not word.is_name:
        return MarkedWord("", word.text)
    text = _NEAR.get(word.text, word.text)
    return word._replace(text=text, is_name=(word.is_name and text.isascii()) or _MADE.fullmatch(text) is not None)


def _split_clauses(found: list[MarkedWord]) -> Iterator[list[MarkedWord]]:
    """Cut the words of a sentence at its commas."""
    part: list[MarkedWord] = []
    for word in found:
        if (word.mark == "over" and word.text != "over") or (word.mark == "comma" and word.text in ",，;；"):
            yield part
            part = []
        if word.mark != "comma":
            part.append(word)
    yield part


def _parse_clause(text: str, part: list[MarkedWord]) -> Clause:
    units = []
    lead = ""
    nothing = MarkedWord("", "")
    bounds = [BOUNDS[word.text] for word in part if word.text in BOUNDS]
    for at, word in enumerate(part):
        if word.mark == "number":
            after = part[at + 1].text if at + 1 < len(part) else ""
            measure, factor = UNITS.get(after, ("", 1.0))
            earlier = {word.mark for word in part[: max(at - 1, 0)]}
            is_set = bool(bounds) or is_setting(
                part[at - 1] if at else nothing, part[at + 1] if at + 1 < len(part) else nothing, earlier
            )
            units.append(ClauseToken(normalise_amount(word.text, factor), lead, False, measure, True, is_set))
            lead = ""
        elif word.text in _BY:
            lead = "by"
        elif word.mark in _SAYING and word.text not in BOUNDS:
            units.append(ClauseToken(word.text, lead, word.is_name))
            lead = ""
        elif word.mark in _LEADING or word.text in _ONLY:
            lead = "only" if word.text in _ONLY else word.mark
        elif word.mark:
            lead = ""
    marks = [word.text if word.text == "without" else word.mark for word in part]
    duty, is_explicit = resolve_duty(marks)
    if marks[:1] == ["over"] and part[0].text != "over":
        duty, is_explicit = "must not", True
    return Clause(
        text,
        tuple(units),
        duty,
        is_explicit,
        frozenset(marks),
        bool(_OPEN & {w.text for w in part}),
        next(filter(None, bounds), ""),
    )


def _is_cjk_character(text: str) -> bool:
    return len(text) == 1 and not text.isascii()


def _extract_terms(found: Iterable[MarkedWord]) -> list[str]:
    """Return the terms of a sentence: words, and of Chinese without known words the bigrams."""
    terms: list[str] = []
    before = ""
    for word in found:
        single = word.mark in _SAYING and _is_cjk_character(word.text)
        if single and before:
            terms.append(before + word.text)
        elif word.mark in _SAYING and not single and word.text not in BOUNDS:
            terms.append(word.text)
        before = word.text if single else ""
    return terms


def sum_weights(one: ContentProfile, terms: Iterable[str]) -> float:
    """Return what *terms* weigh in *one*."""
    return sum(one.terms.get(term, 0.0) for term in terms)
