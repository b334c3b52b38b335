"""Estimate whether a candidate is about the question that a record decides, whatever words either uses.

Two people who write about one thing share its rare words and little else. What they share is weighed in both
directions: how much of what each says the other says too, the terms of the title more, those of the reason less, those
that many records near by have less. In Chinese, pairs of characters count, single ones, and words of near meaning, the
last beside English words of that meaning as well. What the two mean by small vectors of words counts beside that, so
that no word need be common. A logistic model makes a likelihood of it. `python -m bench.subjects`
has fitted it, on pairs that others wrote and on public decision records, each beside those before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from kb.records.model import Candidate, Record
from kb.similarity.clauses import Profile, build_profile
from kb.similarity.free_wording import score_overlap, stresses_more
from kb.similarity.lexicon import ALIASES, CHOICES, OPPOSITES, PLAIN_NAMES, RIVALS, SAME, near_words
from kb.similarity.stance import PATH, Stance, extract_terms, parse_stance
from kb.similarity.tokens import FUNCTION_CHARACTERS, LONGEST_WORD, weigh_term
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.meaning import embed_meaning, measure_likeness
from kb.text.segment import has_cjk, iter_runs, one_line, stem

READ, READ_WHY = 600, 300  # Characters of a decision that are read, and of a reason; by words as many of that as well
COMPARED = 12  # Records that are weighed: those whose words begin alike most often
Measure = Callable[[str, Sequence[str]], Sequence[float] | None]
"""Returns how near the vectors of texts are to that of another; None where they cannot be made."""

_NAME = regex(r"@?[^\W_](?:[\w+#.-]*[\w+#])?")
TITLE, WHY = 1.5, 0.3  # What a term of a title and one of a reason weigh beside one of a decision
CHARACTER, MEANING = 0.5, 0.5  # What a Chinese character weighs, and what a word means, beside the word itself
LEAST_REASON = 2.0  # What the reasons of two records have to weigh for half of it to count
FEW = 3  # From this many records on it matters how many of them say a term
COMMON = 0.5  # How much lighter a term is at most that all of them say

# What is worded alike and differs is about two things, and the rules for equal words have read it: "orders are exported
# each night", "invoices are exported each night". Shares of the word triples, and of the beginnings of words.
ALIKE_SPACED, ALIKE_UNSPACED, ALIKE_APART = 0.2, 0.25, 0.3


class SubjectComparison(NamedTuple):
    """What two records have in common, and what not."""

    mutual: float  # How much of what each says the other says too (0.0–1.0), the mean of both directions
    least: float  # The lesser of the two
    evidence: float  # What the common terms weigh, as a logarithm
    argued: float  # How much of what only the reasons of the two say the other record says too (0.0–1.0)
    is_among_others: bool  # Whether there are more records near by: the likest of several is often no more than that
    apart: int  # How many of the two say in title and decision what the other never says
    names: int  # How many names both have, at most two
    is_of_one_kind: bool  # What went wrong and what was decided have a topic in common more often than a question
    names_alternatives: bool  # Whether each chooses another alternative of one choice, Kafka and SQS
    meaning: float  # How near what they mean is (-1.0–1.0)
    standing_out: float  # How much nearer that is than to the other records near by, on average


class Factors(NamedTuple):
    """What each figure of a comparison counts for the likelihood (log-odds) that two records are about one question."""

    bias: float
    mutual: float
    least: float
    evidence: float
    argued: float
    is_among_others: float
    apart: float
    names: float
    is_of_one_kind: float
    names_alternatives: float
    meaning: float
    standing_out: float
    nearness: float = 0.0  # For each NEARNESS_STEP by which the nearness of their vectors exceeds what is usual


WORDS = Factors(-2.22, 3.35, 2.82, 0.80, 2.88, -2.80, -1.30, 0.37, 0.28, 2.43, 2.15, 3.38)
WITH_VECTORS = Factors(-0.52, 2.02, 1.92, 0.33, 1.45, -2.84, -1.15, 0.02, 0.1, 2.59, 0.77, 3.28, 1.28)
USUAL_NEARNESS, NEARNESS_STEP = (0.87, 0.91), (0.03, 0.02)
"""Of two records about two things, for English and for Chinese: there vectors lie closer together."""


# -- what a text is about -------------------------------------------------------------------------


@cache
def _list_meanings() -> Mapping[str, str]:
    """Return Chinese word → what stands for all words of its meaning."""
    rows = (row.removeprefix("~").split("|") for row in reversed(SAME))
    return {word: f"~{stem(row[0])}" for row in rows for word in row if not word.isascii()}


@cache
def _list_heads() -> frozenset[str]:
    """Return the English words that stand for others of near meaning."""
    return frozenset(near_words().values())


def _iter_unspaced_terms(run: str) -> Iterator[tuple[str, float]]:
    """Yield the characters of an unspaced *run* that mean something, and what its known words mean, each weighed."""
    meanings = _list_meanings()
    at = 0
    while at < len(run):
        sizes = range(min(LONGEST_WORD, len(run) - at), 0, -1)
        size = next((size for size in sizes if run[at : at + size] in meanings), 0)
        if size:
            meaning = meanings[run[at : at + size]]
            yield meaning, MEANING * (weigh_term(meaning[1:]) or MEANING)
        at += size or 1
    yield from ((f"{character}~", CHARACTER) for character in run if character not in FUNCTION_CHARACTERS)


@lru_cache(maxsize=512)
def weigh_subject(title: str, decision: str, why: str = "") -> Mapping[str, float]:
    """Return what a text is about: each of its terms with its weight, those that only its reason says last."""
    weights = dict(weigh_subject(title, decision)) if why else {}
    for text, factor in ((why[:READ], WHY),) if why else ((title, TITLE), (decision[:READ], 1.0)):
        text = PATH.sub(" ", text)
        for term in extract_terms(text):
            if weight := factor * weigh_term(stem(term) if term in _list_heads() else term):
                weights.setdefault(term, weight)
                if term in _list_heads():
                    weights.setdefault(f"~{stem(term)}", MEANING * weight)
        for run, is_unspaced in iter_runs(text):
            for term, weight in _iter_unspaced_terms(run) if is_unspaced else ():
                weights.setdefault(term, factor * weight)
    return weights


# -- what is chosen --------------------------------------------------------------------------------


@cache
def _list_choices() -> Mapping[str, Mapping[int, str]]:
    """Return name → the choices of which it is an alternative, each with the writing that stands for it there.

    Choices of which two alternatives may well hold side by side have a number below 0.
    """
    rivals = tuple(row.partition(" @ ")[0] for row in RIVALS)
    loose = tuple(row for row in CHOICES if row[0] == "~")
    opposites = tuple(row for row in OPPOSITES if row[0] != "~" and "||" not in row)
    strict = (*(row for row in CHOICES if row[0] != "~"), *rivals)
    rows: dict[str, dict[int, str]] = {}
    for number, row in (*enumerate(strict), *((~at, row) for at, row in enumerate((*loose, *opposites)))):
        for alternative in row.removeprefix("~").split("|"):
            first, *others = alternative.split("=")
            for name in (first, *others):
                rows.setdefault(name, {})[number] = first
    for alias, _, name in (row.partition(" = ") for row in ALIASES):
        rows[alias] = {**rows.get(alias, {}), **rows.get(name, {})}
    return rows


@lru_cache(maxsize=512)
def find_choices(text: str) -> Mapping[int, frozenset[str]]:
    """Return what *text* names of each choice that has well-known alternatives, such as brokers, formats, licences."""
    choices, found = _list_choices(), dict[int, set[str]]()
    words = _NAME.findall(text)
    lower = [word.casefold() for word in words]
    names = {
        word for word, as_written in zip(lower, words, strict=True) if word not in PLAIN_NAMES or word != as_written
    }
    names |= {" ".join(lower[at : at + size]) for size in (2, 3) for at in range(len(lower) - size + 1)}
    names |= {name for name in choices if not name.isascii() and name in text}
    for name in names & choices.keys():
        for number, writing in choices[name].items():
            found.setdefault(number, set()).add(writing)
    return {number: frozenset(names) for number, names in found.items()}


def name_alternatives(one: str, other: str, *, strictly: bool = False) -> bool:
    """Return whether each of two texts names another alternative of one choice: Kafka and SQS, JSON and XML.

    *strictly*: of one that leaves no room for two, as natural languages and browsers do.
    """
    mine, theirs = find_choices(one), find_choices(other)
    return any(
        not mine[number] & theirs[number] for number in mine.keys() & theirs.keys() if number >= 0 or not strictly
    )


# -- a candidate and the records near it ----------------------------------------------------------


class Nearest(NamedTuple):
    """A record near a candidate, and how the two compare."""

    record: Record
    comparison: SubjectComparison
    is_unspaced: bool


def find_likeliest(
    candidate: Candidate, records: Sequence[Record], measure: Measure | None = None
) -> tuple[Record, float] | None:
    """Return the likeliest of *records* to be about the question of *candidate*, with how likely (0.0–1.0).

    *measure* computes how near the vectors of a model are, where there is one. None where there is nothing to compare.
    """
    near = compare_nearest(candidate, records)
    if not near:
        return None
    nearness: Sequence[float | None] | None = None
    if measure:
        texts = [
            write_subject(each.record.title, each.record.section("decision"), each.record.section("why"))
            for each in near
        ]
        nearness = measure(write_subject(candidate.title, candidate.decision, candidate.why), texts)
    likely = [estimate_likelihood(each, much) for each, much in zip(near, nearness or [None] * len(near), strict=True)]
    at = max(range(len(near)), key=lambda number: likely[number])
    return near[at].record, likely[at]


def write_subject(title: str, decision: str, why: str) -> str:
    """Return the text whose vector stands for a record."""
    return f"{title}\n{decision[:READ]}\n{why[:READ_WHY]}".rstrip()


def compare_nearest(candidate: Candidate, records: Sequence[Record]) -> list[Nearest]:
    """Return how COMPARED of *records*, those nearest by their words, compare with *candidate*, the nearest first.

    Without those that have no decision, and those that are worded alike and differ.
    """
    said = f"{candidate.title} {candidate.decision}"
    overlaps = [score_overlap(said, f"{record.title} {record.section('decision')}") for record in records]
    first = sorted(range(len(records)), key=lambda at: (-overlaps[at], -at))[:COMPARED]
    compared = [at for at in first if records[at].section("decision")]
    if not candidate.decision or not compared:
        return []
    mine = _read_subject(candidate.kind, candidate.title, candidate.decision, candidate.why)
    subjects = []
    for record in map(records.__getitem__, compared):
        why = record.section("why")  # The very same one is a phrase that stands under many records
        why = "" if one_line(why) == one_line(candidate.why) else why
        subjects.append(_read_subject(record.kind, record.title, record.section("decision"), why))
    rarity = compute_rarity([each.terms for each in subjects])
    meanings = [measure_likeness(mine.meaning, theirs.meaning) for theirs in subjects]
    found = []
    for at, theirs, meaning in zip(compared, subjects, meanings, strict=True):
        apart = stresses_more(theirs.profile, mine.profile) + stresses_more(mine.profile, theirs.profile)
        if (apart > 1 and overlaps[at] > ALIKE_APART) or _is_worded_alike(mine, theirs):
            continue
        others = len(meanings) - 1
        comparison = _compare_subjects(mine, theirs, rarity)._replace(
            is_among_others=len(records) > 1,
            apart=apart,
            meaning=meaning,
            standing_out=meaning - (sum(meanings) - meaning) / others if others else 0.0,
        )
        found.append(Nearest(records[at], comparison, mine.is_unspaced))
    return sorted(found, key=lambda near: -near.comparison.mutual)


class _Subject(NamedTuple):
    """A record as its subject is compared."""

    kind: str
    terms: Mapping[str, float]  # What title, decision and reason say, with its weight
    ruled: Mapping[str, float]  # Of these what title and decision say
    profile: Profile
    stance: Stance
    is_unspaced: bool
    meaning: Sequence[float]


def _read_subject(kind: str, title: str, decision: str, why: str) -> _Subject:
    return _Subject(
        kind,
        weigh_subject(title, decision, why),
        weigh_subject(title, decision),
        build_profile(title, decision),
        parse_stance(title, decision),
        has_cjk(f"{title} {decision}"),
        embed_meaning((title, 1.0), (decision[:READ], 1.0), (why[:READ_WHY], WHY)),
    )


def _compare_subjects(mine: _Subject, theirs: _Subject, rarity: Mapping[str, float]) -> SubjectComparison:
    """Return how the words of two subjects compare."""
    shares = compute_shares(mine.terms, theirs.terms, rarity)
    common_terms = mine.terms.keys() & theirs.terms.keys()
    common = sum(min(mine.terms[term], theirs.terms[term]) * rarity.get(term, 1.0) for term in common_terms)
    return SubjectComparison(
        sum(shares) / 2,
        min(shares),
        math.log1p(common),
        _compute_argued_share(mine, theirs),
        is_among_others=False,
        apart=0,
        names=min(len(mine.profile.names & theirs.profile.names), 2),
        is_of_one_kind=mine.kind == theirs.kind,
        names_alternatives=name_alternatives(mine.stance.affirmed_text, theirs.stance.affirmed_text),
        meaning=0.0,
        standing_out=0.0,
    )


def _compute_argued_share(one: _Subject, other: _Subject) -> float:
    """Return how much of what only the reasons of two records say the other of them says too (0.0–1.0).

    A reason of a word or two, "it was measured", says little in both.
    """
    said, common = LEAST_REASON, 0.0
    for mine, theirs in ((one, other), (other, one)):
        reasons = {term: weight for term, weight in mine.terms.items() if term not in mine.ruled}
        said += sum(reasons.values())
        common += sum(weight for term, weight in reasons.items() if term in theirs.terms)
    return common / said


def _is_worded_alike(one: _Subject, other: _Subject) -> bool:
    most = ALIKE_UNSPACED if one.is_unspaced else ALIKE_SPACED
    shorter = min(len(one.stance.wording), len(other.stance.wording))
    return len(one.stance.wording & other.stance.wording) >= most * shorter > 0


def compute_rarity(subjects: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the factors of the terms of several records near a candidate: the more say a term, the less it says.

    Six records on "dead letter queues" are about six brokers. Two records say nothing of what is common.
    """
    if len(subjects) < FEW:
        return {}
    counts = Counter(term for each in subjects for term in each)
    return {term: 1 - COMMON * (count - 1) / len(subjects) for term, count in counts.items()}


def compute_shares(
    one: Mapping[str, float], other: Mapping[str, float], rarity: Mapping[str, float]
) -> tuple[float, float]:
    """Return how much of what *one* says the *other* says too, and the reverse (0.0–1.0)."""
    found = []
    for mine, theirs in ((one, other), (other, one)):
        weights = {term: weight * rarity.get(term, 1.0) for term, weight in mine.items()}
        found.append(sum(w for term, w in weights.items() if term in theirs) / (sum(weights.values()) or 1.0))
    return found[0], found[1]


def estimate_likelihood(near: Nearest, nearness: float | None = None) -> float:
    """Return how likely (0.0–1.0) the record *near* a candidate is about the question of it.

    *nearness* of their vectors (-1.0–1.0), where it is known, counts as well.
    """
    factors = WORDS if nearness is None else WITH_VECTORS
    score = factors.bias + sum(factor * figure for factor, figure in zip(factors[1:], near.comparison, strict=False))
    if nearness is not None:
        score += factors.nearness * scale_nearness(nearness, is_unspaced=near.is_unspaced)
    return 1 / (1 + math.exp(-score))


def scale_nearness(nearness: float, *, is_unspaced: bool) -> float:
    """Return by how many steps *nearness* exceeds what is usual in the language of two records."""
    return (nearness - USUAL_NEARNESS[is_unspaced]) / NEARNESS_STEP[is_unspaced]
