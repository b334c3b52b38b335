"""Read a record freely: its sentences as clauses, all of them together as a `Profile`.

What is worded freely is compared clause by clause. Words are weighed, not understood: a name weighs more than a word,
and what any record could say weighs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from kb.similarity.lexicon import BOUNDS, COUNTED, OPPOSITE_OF, PLAIN, RIVAL_ROWS, loose_opposites, near_words
from kb.similarity.statement import parse_statement, resolve_duty
from kb.similarity.tokens import Word, mark_settings, split_plain_sentences
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import strip_inflection

SENTENCES = 8  # Sentences of a decision that a profile reads; what follows gives the circumstances
CORE = 12  # Clauses of title and first sentence that are laid beside another record's; what has more is a list
# What a name, an identifier or a number weighs; any other word weighs 1, a single Chinese character one half
NAME = 2.0
SUBJECT = 2.0  # What the words must weigh at least that two clauses share

_PLAIN = frozenset(form for word in PLAIN.split("|") for form in (word, strip_inflection(word)))
_SAYING = frozenset({"term", "undo", "besides"})  # Marks of the words that say something
_LONGEST = 4  # Characters of the longest Chinese word in the loose rows
# A word that somebody made: an identifier, a version, a file.
_MADE = regex(r"(?=[\w#+-]*?[\d._#+])[\w#+-]*+[\w.#+-]*+")
# Marks of the words after which stands what is chosen
_LEADING = frozenset({"use", "as", "as the", "is", "in", "to"})
_OPEN = frozenset({"any", "anyone", "anybody", "everyone", "everybody", "every", "all", "任何", "所有", "任意", "一切"})
_ONLY = frozenset({"only", "只有", "仅", "只"})


class Clause(NamedTuple):
    """What is between two commas, read by the loose rows of the lexicon."""

    text: str  # The sentence it is in
    words: tuple[Word, ...]  # The words and numbers that say something
    texts: frozenset[str]  # Their texts
    terms: tuple[str, ...]  # The words without the numbers; of Chinese without known words the bigrams
    duty: str  # must, may, need not, must not, or "" where it says two things
    is_explicit: bool
    marks: frozenset[str]
    is_open: bool  # True where it speaks of any or every one
    bound: str  # ≤ or ≥, where it bounds a number
    before: frozenset[str] = frozenset()  # The words of the sentence that precede it


def weigh_word(word: Word) -> float:
    """Return how much *word* says about the subject."""
    return NAME if word.is_name or word.mark == "number" else 0.5 if _is_cjk_character(word) else 1.0


def _is_cjk_character(word: Word) -> bool:
    return len(word.text) == 1 and not word.text.isascii()


@lru_cache(maxsize=4096)
def parse_clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a title or sentence, its reason included; identifiers are read as the words they join.

    Where one clause says what it obliges to, those that do not are read without a duty.
    """
    # A clause ends at a comma, and before what is turned down: "X instead of Y", 用 X 而不是 Y
    parts: list[list[Word]] = [[]]
    for word in _join_characters(parse_statement(text.replace("_", " ")).words):
        if (word.mark == "over" and word.text != "over") or (word.mark == "comma" and word.text in ",，;；"):
            parts.append([])
        if word.mark != "comma":
            parts[-1].append(word)
    clauses: list[Clause] = []
    before: frozenset[str] = frozenset()
    for part in parts:
        clauses.append(_parse_clause(text, part)._replace(before=before))
        before |= clauses[-1].texts
    is_explicit = any(clause.is_explicit for clause in clauses)
    return tuple(clause._replace(duty="") if is_explicit and not clause.is_explicit else clause for clause in clauses)


def _join_characters(words: tuple[Word, ...]) -> Iterator[Word]:
    """Yield *words* read loosely, single Chinese characters put together where the loose rows know the word."""
    known = (near_words(), _PLAIN, loose_opposites())
    at = 0
    while at < len(words):
        characters = takewhile(lambda word: word.mark == "term" and _is_cjk_character(word), words[at : at + _LONGEST])
        run = "".join(word.text for word in characters)
        prefixes = (run[:size] for size in range(len(run), 1, -1))
        joined = next((text for text in prefixes if any(text in table for table in known)), "")
        yield _read_loosely(Word("term", joined) if joined else words[at])
        at += len(joined) or 1


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


def _parse_clause(text: str, part: list[Word]) -> Clause:
    bounds = [BOUNDS[word.text] for word in part if word.text in BOUNDS]
    marks = [word.text if word.text == "without" else word.mark for word in part]
    is_turned_down = marks[:1] == ["over"] and part[0].text != "over"
    duty, is_explicit = ("must not", True) if is_turned_down else resolve_duty(marks)
    words: list[Word] = []
    terms: list[str] = []
    lead = character = ""
    for word in mark_settings(part):
        says = word.mark in _SAYING and word.text not in BOUNDS
        # A lead holds for the next word that says something, past the fillers: "use the X", 采用该 X
        if word.mark == "number":
            words.append(word._replace(lead=lead, is_setting=word.is_setting or bool(bounds)))
            lead = ""
        elif word.text in ("by", "under"):
            lead = "by"
        elif says:
            words.append(Word("term", word.text, word.is_name, lead=lead))
            lead = ""
        elif word.mark in _LEADING or word.text in _ONLY:
            lead = "only" if word.text in _ONLY else word.mark
        elif word.mark:
            lead = ""
        is_single = word.mark in _SAYING and _is_cjk_character(word)
        if character and is_single:
            terms.append(character + word.text)
        elif says and not is_single:
            terms.append(word.text)
        character = word.text if is_single else ""
    return Clause(
        text,
        tuple(words),
        frozenset(word.text for word in words),
        tuple(terms),
        duty,
        is_explicit,
        frozenset(marks),
        any(word.text in _OPEN for word in part),
        next(filter(None, bounds), ""),
    )


# -- two clauses ----------------------------------------------------------------------------------


def weigh_shared_words(one: Clause, other: Clause, *, with_sentence: bool = False) -> float:
    """Return what the words weigh that two clauses share, *with_sentence* those of the sentences before them too."""
    weights = {word.text: weigh_word(word) for word in (*one.words, *other.words) if word.mark != "number"}
    mine, theirs = (each.texts | each.before if with_sentence else each.texts for each in (one, other))
    return sum(weight for text, weight in weights.items() if text in mine & theirs)


def find_own_positions(one: Clause, other: Clause, record: Profile) -> list[int]:
    """Return the positions in *one* of what neither *other* nor, unless it is a value, its *record* has."""
    there = {(word.text, word.unit) for word in other.words}
    return [
        position
        for position, word in enumerate(one.words)
        if (word.text, word.unit) not in there
        and (word.mark == "number" or word.text not in (record.affirmed if is_value(word) else record.words))
    ]


def is_value(word: Word) -> bool:
    """Return whether *word* may be what is chosen: saying it of something else, or denying it, is not saying it."""
    return word.is_name or any(word.text in table for table in (RIVAL_ROWS, OPPOSITE_OF, loose_opposites()))


def is_fully_covered(one: Clause, other: Clause, own: Sequence[int]) -> bool:
    """Return whether each word of *one* is its *own* or one of *other*."""
    return len(own) + sum(word.text in other.texts for word in one.words) >= len(one.words)


# -- profiles -------------------------------------------------------------------------------------


class Profile(NamedTuple):
    """What a record says in short, so that two records can be compared that say it in other words."""

    terms: dict[str, float]  # Term → its weight
    words: frozenset[str]  # The same by single words and characters
    affirmed: frozenset[str]  # Words and numbers of the clauses that deny nothing
    title: frozenset[str]  # Those of the title
    stressed: frozenset[str]  # Terms that title and decision both say
    names: frozenset[str]
    numbers: frozenset[tuple[str, str]]  # Amounts with what they measure
    clauses: tuple[Clause, ...]  # The title's first
    core: tuple[Clause, ...]  # Those of the title and the first sentence: what was decided

    def sum_weights(self, terms: Iterable[str]) -> float:
        """Return what *terms* weigh."""
        return sum(self.terms.get(term, 0.0) for term in terms)


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
