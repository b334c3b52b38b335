"""Read what a text states: one sentence as a `Statement`, a record as a `Profile` of its clauses.

Two statements, or two clauses, can then be compared piece by piece. Words are weighed, not understood: in a profile a
name weighs more than a word, and what any record could say weighs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile

from kb.similarity.choice import Choice, find_slot, parse_choice
from kb.similarity.lexicon import PLACES, loose_opposites, near_words
from kb.similarity.statement_words import Word, is_question, mark_settings, split_plain_sentences, tokenise
from kb.similarity.word_marks import BOUNDS, COUNTED, PLAIN
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import strip_inflection

SENTENCES = 8
"""Sentences of a decision that a profile reads; what follows tells the circumstances."""

CORE = 12
"""Clauses of title and first sentence that are laid beside another record's; what has more is a list."""

NAME = 2.0
"""What a name, an identifier or a number weighs; any other word weighs 1, a single Chinese character one half."""


class Statement(NamedTuple):
    """What one sentence states."""

    text: str
    words: tuple[Word, ...] = ()
    """Those of the reason it gives included."""
    terms: tuple[str, ...] = ()
    """The words that carry weight, in order, each once, one for all of a meaning; without numbers, units and reason."""
    duty: str = "must"
    """must, may, need not, must not; "" where the sentence says more than one."""
    is_explicit: bool = False
    numbers: tuple[Word, ...] = ()
    places: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    choice: Choice | None = None


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Return what *text*, a title or one sentence, states; a question rules nothing."""
    said, reason = tokenise(text)
    terms = tuple(dict.fromkeys(word.text for word in said if word.mark in ("term", "undo")))
    duty, is_explicit = ("", False) if is_question(text) else resolve_duty([word.mark for word in said])
    numbers = tuple(word for word in said if word.mark == "number")
    marks = frozenset(word.mark for word in said)
    choice = parse_choice(said, duty)
    return Statement(text, (*said, *reason), terms, duty, is_explicit, numbers, PLACES & set(terms), marks, choice)


def parse_titled_statement(title: str, sentence: str) -> Statement:
    """Return what *sentence* states under *title*: the title says about what."""
    head, body = parse_statement(title), parse_statement(sentence)
    duty = body.duty if body.is_explicit else head.duty
    return Statement(
        sentence,
        (),
        tuple(dict.fromkeys(head.terms + body.terms)),
        "" if head.is_explicit and head.duty != duty else duty,
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
    slot = find_slot([Word("term", term) for term in head.terms])
    return body.choice._replace(role=frozenset(head.terms), slot=slot)


def extract_amounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return the numbers in *text* with what they measure, sorted: 1 minute equals 60 秒."""
    return tuple(sorted((number.text, number.unit) for number in parse_statement(text).numbers))


# -- duty -----------------------------------------------------------------------------------------

_DENIED = {"must": "must not", "may": "must not", "need not": "must", "must not": "must"}
"""“Must not”, “may not”, 不得: what a "not" makes of a duty."""
_TURNED_OFF = {"must": "must not", "must not": "must", "may": "need not", "need not": "may"}
"""“Must be disabled”, “may be disabled” (and need not be on), 可以停用."""


def resolve_duty(marks: list[str]) -> tuple[str, bool]:
    """Return what words with *marks* oblige to, and whether they say so expressly; "" where they say two things."""
    said = {mark for mark in marks if mark in ("must", "may", "need not")}
    if len(said) > 1:
        return "", True
    duty = next(iter(said), "must")
    for mark in marks:
        if mark == "not":
            duty = _DENIED[duty]
        elif mark in ("off", "undo"):
            duty = _TURNED_OFF[duty]
    return duty, bool(said) or any(mark in ("not", "off", "on", "undo") for mark in marks)


# -- clauses --------------------------------------------------------------------------------------

_PLAIN = frozenset(form for word in PLAIN.split("|") for form in (word, strip_inflection(word)))
_SAYING = frozenset({"term", "undo", "besides"})
"""Marks of the words that say something."""
_LONGEST = 4
"""Characters of the longest Chinese word in the loose rows."""
_MADE = regex(r"(?=[\w#+-]*?[\d._#+])[\w#+-]*+[\w.#+-]*+")
"""A word that somebody made: an identifier, a version, a file."""
_LEADING = frozenset({"use", "as", "as the", "is", "in", "to"})
"""Marks of the words behind which stands what is chosen."""
_BY = frozenset({"by", "under"})
_OPEN = frozenset({"any", "anyone", "anybody", "everyone", "everybody", "every", "all", "任何", "所有", "任意", "一切"})
_ONLY = frozenset({"only", "只有", "仅", "只"})


class Clause(NamedTuple):
    """What stands between two commas, read by the loose rows of the lexicon."""

    text: str
    """The sentence it stands in."""
    words: tuple[Word, ...]
    """The words and numbers that say something."""
    texts: frozenset[str]
    """Their texts."""
    terms: tuple[str, ...]
    """The words without the numbers; of Chinese without known words the bigrams."""
    duty: str
    """must, may, need not, must not, or "" where it says two things."""
    is_explicit: bool
    marks: frozenset[str]
    is_open: bool
    """True where it speaks of any or every one."""
    bound: str
    """≤ or ≥, where it bounds a number."""
    before: frozenset[str] = frozenset()
    """The words of the sentence that stand before it."""


def weigh_word(word: Word) -> float:
    """Return how much *word* tells of the subject."""
    return NAME if word.is_name or word.mark == "number" else 0.5 if _is_cjk_character(word.text) else 1.0


def _is_cjk_character(text: str) -> bool:
    return len(text) == 1 and not text.isascii()


@lru_cache(maxsize=4096)
def parse_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a title or sentence, its reason included; identifiers are read as the words they join.

    Where one clause says what it obliges to, those that do not are read without a duty.
    """
    statement = parse_statement(text.replace("_", " "))
    clauses: list[Clause] = []
    before: frozenset[str] = frozenset()
    for part in _split_clauses([_read_loosely(word) for word in _join_characters(statement.words)]):
        clauses.append(_parse_clause(text, part)._replace(before=before))
        before |= clauses[-1].texts
    if any(clause.is_explicit for clause in clauses):
        clauses = [clause if clause.is_explicit else clause._replace(duty="") for clause in clauses]
    return tuple(clauses)


def _join_characters(words: tuple[Word, ...]) -> Iterator[Word]:
    """Yield *words*, with single Chinese characters put together where the loose rows know the word."""
    known = (near_words(), _PLAIN, loose_opposites())
    at = 0
    while at < len(words):
        run = list(takewhile(_is_character_term, words[at : at + _LONGEST]))
        texts = ("".join(word.text for word in run[:size]) for size in range(len(run), 1, -1))
        joined = next((text for text in texts if any(text in table for table in known)), "")
        yield Word("term", joined) if joined else words[at]
        at += len(joined) or 1


def _is_character_term(word: Word) -> bool:
    return word.mark == "term" and _is_cjk_character(word.text)


def _read_loosely(word: Word) -> Word:
    """Return *word* as the one of near meaning that stands for it, without a mark where any record could say it."""
    if word.mark == "sole" and word.text in ("primary", "主"):
        return Word("term", "primary")
    if word.text in COUNTED:
        return Word("besides" if word.mark == "besides" else "term", COUNTED[word.text])
    if word.mark == "besides":
        return word._replace(mark="support")
    if word.mark not in ("term", "undo"):
        return word
    if (word.text in _PLAIN or word.text.endswith("ly")) and not word.is_name:
        return Word("", word.text)
    text = near_words().get(word.text, word.text)
    return word._replace(text=text, is_name=(word.is_name and text.isascii()) or _MADE.fullmatch(text) is not None)


def _split_clauses(words: list[Word]) -> Iterator[list[Word]]:
    """Cut the *words* of a sentence at its commas, and before what it turns down: instead of, 而不是."""
    part: list[Word] = []
    for word in words:
        if (word.mark == "over" and word.text != "over") or (word.mark == "comma" and word.text in ",，;；"):
            yield part
            part = []
        if word.mark != "comma":
            part.append(word)
    yield part


def _parse_clause(text: str, part: list[Word]) -> Clause:
    bounds = [BOUNDS[word.text] for word in part if word.text in BOUNDS]
    marks = [word.text if word.text == "without" else word.mark for word in part]
    duty, is_explicit = resolve_duty(marks)
    if marks[:1] == ["over"] and part[0].text != "over":
        duty, is_explicit = "must not", True
    words = tuple(_iter_led_words(part, is_bound=bool(bounds)))
    return Clause(
        text,
        words,
        frozenset(word.text for word in words),
        tuple(_iter_terms(part)),
        duty,
        is_explicit,
        frozenset(marks),
        bool(_OPEN & {word.text for word in part}),
        next(filter(None, bounds), ""),
    )


def _iter_led_words(part: list[Word], *, is_bound: bool) -> Iterator[Word]:
    """Yield the words of a clause that say something, each with the mark that leads it."""
    lead = ""
    for word in mark_settings(part):
        if word.mark == "number":
            yield word._replace(lead=lead, is_setting=word.is_setting or is_bound)
            lead = ""
        elif word.text in _BY:
            lead = "by"
        elif word.mark in _SAYING and word.text not in BOUNDS:
            yield Word("term", word.text, word.is_name, lead=lead)
            lead = ""
        elif word.mark in _LEADING or word.text in _ONLY:
            lead = "only" if word.text in _ONLY else word.mark
        elif word.mark:
            lead = ""


def _iter_terms(part: list[Word]) -> Iterator[str]:
    """Yield the terms of a clause: words, and of Chinese without known words the bigrams."""
    before = ""
    for word in part:
        is_single = word.mark in _SAYING and _is_cjk_character(word.text)
        if is_single and before:
            yield before + word.text
        elif word.mark in _SAYING and not is_single and word.text not in BOUNDS:
            yield word.text
        before = word.text if is_single else ""


# -- profiles -------------------------------------------------------------------------------------


class Profile(NamedTuple):
    """What a record says in short, so that two records can be compared that say it in other words."""

    terms: dict[str, float]
    """Term → its weight."""
    words: frozenset[str]
    """The same by single words and characters."""
    affirmed: frozenset[str]
    """Words and numbers of the clauses that deny nothing."""
    title: frozenset[str]
    """Those of the title."""
    stressed: frozenset[str]
    """Terms that title and decision both say."""
    names: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    """Amounts with what they measure."""
    clauses: tuple[Clause, ...]
    """The title's first."""
    core: tuple[Clause, ...]
    """Those of the title and the first sentence: what was decided."""


@lru_cache(maxsize=1024)
def build_profile(title: str, decision: str) -> Profile:
    """Return what a record with *title* and *decision* says in short."""
    texts = [title, *split_plain_sentences(decision)[:SENTENCES]]
    read = [parse_clauses(text) for text in texts]
    clauses = tuple(clause for each in read for clause in each)
    words = [word for clause in clauses for word in clause.words]
    terms: dict[str, float] = {}
    for clause in clauses:
        names = {word.text for word in clause.words if word.is_name}
        for term in clause.terms:
            terms[term] = max(terms.get(term, 0.0), NAME if term in names else 1.0)
    of_title = {term for clause in read[0] for term in clause.terms}
    return Profile(
        terms,
        frozenset(word.text for word in words if word.mark != "number"),
        frozenset(text for clause in clauses if clause.duty != "must not" for text in clause.texts),
        frozenset(text for clause in clauses if clause.text == title for text in clause.texts),
        frozenset(term for each in read[1:] for clause in each for term in clause.terms if term in of_title),
        frozenset(word.text for word in words if word.is_name),
        frozenset((word.text, word.unit) for word in words if word.mark == "number"),
        clauses,
        tuple(clause for clause in clauses if clause.text in texts[:2])[:CORE],
    )


def sum_weights(one: Profile, terms: Iterable[str]) -> float:
    """Return what *terms* weigh in *one*."""
    return sum(one.terms.get(term, 0.0) for term in terms)
