"""Estimate whether a candidate is about the question that a record decides, whatever words either uses.

Two people who write about one thing share its rare words and little else. What they share is weighed in both
directions: how much of what each says the other says too, the terms of the title more, those of the reason less, those
that many records near by have less. In Chinese, pairs of characters count, single ones, and words of near meaning, the
last beside English words of that meaning as well. A logistic model makes a likelihood of it. `python -m bench.subjects`
has fitted it, on pairs that others wrote and on public decision records, each beside those before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from kb.records.model import Candidate, Record
from kb.similarity.clauses import build_profile
from kb.similarity.free_wording import score_overlap, stresses_more
from kb.similarity.lexicon import CHOICES, OPPOSITES, PLAIN_NAMES, RIVALS, SAME, near_words
from kb.similarity.stance import PATH, extract_terms, parse_stance
from kb.similarity.statement_words import BINDING, LONGEST_WORD, weigh_term
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import has_cjk, iter_runs, stem

READ, READ_WHY = 600, 300  # Characters of a decision that are read, and of a reason; by words as many of that as well
COMPARED = 6  # Records whose terms are weighed: those whose words begin alike most often
MEASURED = 12  # The same where there are vectors, which tell of records that have no word in common as well
_NAME = regex(r"@?[^\W_](?:[\w+#.-]*[\w+#])?")
TITLE, WHY = 1.5, 0.3  # What a term of a title and one of a reason weigh beside one of a decision
CHARACTER, MEANING = 0.5, 0.5  # What a Chinese character weighs, and what a word means, beside the word itself
FEW = 3  # From this many records on it matters how many of them say a term
LEAST_EVIDENCE, LEAST_LENGTH = 1.6, 4.0  # What common terms, and all terms of the shorter one, have to weigh
LEAST_TERMS, LEAST_UNSPACED = 2, 3  # Words that both say: “refund” alone, or 订单 and 存储, is a topic and no question
COMMON = 0.5  # How much lighter a term is at most that all of them say

# What is worded alike and differs is about two things, and the rules for equal words have read it: "orders are exported
# each night", "invoices are exported each night". Shares of the word triples, and of the beginnings of words.
ALIKE_SPACED, ALIKE_UNSPACED, ALIKE_APART = 0.2, 0.25, 0.3


class SubjectComparison(NamedTuple):
    """What two records have in common, and what not."""

    mutual: float  # How much of what each says the other says too (0.0–1.0), the mean of both directions
    least: float  # The lesser of the two
    evidence: float  # What the common terms weigh, as a logarithm
    length: float  # What all terms of the shorter one weigh, as a logarithm
    is_unspaced: bool
    is_among_others: bool  # Whether there are more records near by: the likest of several is often no more than that
    apart: int  # How many of the two say in title and decision what the other never says
    has_other_numbers: bool  # Whether each has a number that the other has not
    names_alternatives: bool = False  # Whether each names another alternative of one choice, Kafka and SQS


class Factors(NamedTuple):
    """What each figure of a comparison counts for the likelihood (log-odds) that two records are about one question."""

    bias: float
    mutual: float
    least: float
    evidence: float
    length: float
    is_unspaced: float
    is_among_others: float
    apart: float
    has_other_numbers: float
    names_alternatives: float
    nearness: float = 0.0  # For each NEARNESS_STEP by which the nearness of their vectors exceeds what is usual


WORDS = Factors(1.31, 2.59, 3.75, 0.35, -0.64, 1.22, -0.82, -1.34, -0.15, 1.63)
WITH_VECTORS = Factors(0.78, 0.94, 1.67, 1.03, -0.77, 0.84, -1.54, -0.96, -0.07, 3.1, 1.72)
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
    yield from ((f"{character}~", CHARACTER) for character in run if character not in BINDING)


@lru_cache(maxsize=512)
def weigh_subject(title: str, decision: str, why: str = "") -> Mapping[str, float]:
    """Return what a text is about: each of its terms with its weight."""
    weights: dict[str, float] = {}
    for text, factor in ((title, TITLE), (decision[:READ], 1.0), (why[:READ], WHY)):
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
def _list_choices() -> Mapping[str, frozenset[int]]:
    """Return name → the choices of which it is an alternative."""
    plain = [row for row in OPPOSITES if row[0] != "~" and "||" not in row]
    rows: dict[str, set[int]] = {}
    for number, row in enumerate((*CHOICES, *(row.partition(" @ ")[0] for row in RIVALS), *plain)):
        for name in row.split("|"):
            rows.setdefault(name, set()).add(number)
    return {name: frozenset(numbers) for name, numbers in rows.items()}


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
        for number in choices[name]:
            found.setdefault(number, set()).add(name)
    return {number: frozenset(names) for number, names in found.items()}


def name_alternatives(one: str, other: str) -> bool:
    """Return whether each of two texts names another alternative of one choice: Kafka and SQS, JSON and XML."""
    mine, theirs = find_choices(one), find_choices(other)
    return any(not mine[number] & theirs[number] for number in mine.keys() & theirs.keys())


# -- a candidate and the records near it ----------------------------------------------------------


class Nearest(NamedTuple):
    """A record near a candidate, and how the two compare."""

    record: Record
    comparison: SubjectComparison
    has_common_words: bool = True  # Whether enough is common for words to tell anything


def find_nearest(candidate: Candidate, records: Sequence[Record]) -> Nearest | None:
    """Return the one of *records* whose words agree most with those of *candidate* and are not arranged as its words.

    None where too little is common, or one of the two has no decision.
    """
    return next((near for near in compare_nearest(candidate, records) if near.has_common_words), None)


def find_likeliest(
    candidate: Candidate, records: Sequence[Record], measure: Callable[[str, Sequence[str]], Sequence[float] | None]
) -> tuple[Record, float] | None:
    """Return the likeliest of *records* to be about the question of *candidate* by words and vectors, with how likely.

    *measure* computes how near vectors are; None where it cannot, or where there is nothing to compare.
    """
    near = compare_nearest(candidate, records, MEASURED)
    texts = [
        write_subject(each.record.title, each.record.section("decision"), each.record.section("why")) for each in near
    ]
    nearness = measure(write_subject(candidate.title, candidate.decision, candidate.why), texts) if near else None
    if nearness is None:
        return None
    likely = [estimate_likelihood(each.comparison, much) for each, much in zip(near, nearness, strict=True)]
    at = max(range(len(near)), key=lambda number: likely[number])
    return near[at].record, likely[at]


def write_subject(title: str, decision: str, why: str) -> str:
    """Return the text whose vector stands for a record."""
    return f"{title}\n{decision[:READ]}\n{why[:READ_WHY]}".rstrip()


def compare_nearest(candidate: Candidate, records: Sequence[Record], most: int = COMPARED) -> list[Nearest]:
    """Return how the *most* of *records* that are nearest by their words compare with *candidate*, the nearest first.

    Without those that have no decision, and those that are worded alike and differ.
    """
    said = f"{candidate.title} {candidate.decision}"
    texts = [f"{record.title} {record.section('decision')}" for record in records]
    overlaps = [score_overlap(said, text) for text in texts]
    first = sorted(range(len(records)), key=lambda at: (-overlaps[at], -at if most > COMPARED else at))[:most]
    compared = [at for at in first if (overlaps[at] or most > COMPARED) and records[at].section("decision")]
    if not candidate.decision or not compared:
        return []
    least_terms = LEAST_UNSPACED if has_cjk(said) else LEAST_TERMS
    mine = weigh_subject(candidate.title, candidate.decision, candidate.why)
    # a reason may be of any decision; and what stands for a meaning or a character repeats what a word has said
    ruled = [term for term in weigh_subject(candidate.title, candidate.decision) if "~" not in (term[0], term[-1])]
    near = [records[at] for at in compared]
    subjects = [weigh_subject(each.title, each.section("decision"), each.section("why")) for each in near]
    rarity = compute_rarity(subjects)
    shares = [compute_shares(mine, theirs, rarity) for theirs in subjects]
    found = []
    for number in sorted(range(len(near)), key=lambda number: (-sum(shares[number]), number)):
        record, theirs, overlap = near[number], subjects[number], overlaps[compared[number]]
        old = build_profile(record.title, record.section("decision"))
        new = build_profile(candidate.title, candidate.decision)
        apart = stresses_more(old, new) + stresses_more(new, old)
        if (apart > 1 and overlap > ALIKE_APART) or _is_worded_alike(candidate, record):
            continue
        size = min(sum(mine.values()), sum(theirs.values()))
        common = sum(min(mine[term], theirs[term]) * rarity.get(term, 1.0) for term in mine.keys() & theirs.keys())
        rules = weigh_subject(record.title, record.section("decision"))
        comparison = SubjectComparison(
            sum(shares[number]) / 2,
            min(shares[number]),
            math.log1p(common),
            math.log1p(size),
            has_cjk(said),
            len(records) > 1,
            apart,
            bool(new.numbers - old.numbers and old.numbers - new.numbers),
            name_alternatives(said, texts[compared[number]]),
        )
        is_enough = common >= LEAST_EVIDENCE and size >= LEAST_LENGTH
        is_common = comparison.names_alternatives or sum(term in rules for term in ruled) >= least_terms
        found.append(Nearest(record, comparison, is_enough and is_common))
    return found


def _is_worded_alike(candidate: Candidate, record: Record) -> bool:
    old, new = parse_stance(record.title, record.section("decision")), parse_stance(candidate.title, candidate.decision)
    most = ALIKE_UNSPACED if has_cjk(candidate.title) else ALIKE_SPACED
    shorter = min(len(old.wording), len(new.wording))
    return len(old.wording & new.wording) >= most * shorter > 0


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


def estimate_likelihood(comparison: SubjectComparison, nearness: float | None = None) -> float:
    """Return how likely (0.0–1.0) two records that compare so are about one question.

    *nearness* of their vectors (-1.0–1.0), where it is known, counts as well.
    """
    factors = WORDS if nearness is None else WITH_VECTORS
    score = factors.bias + sum(factor * figure for factor, figure in zip(factors[1:], comparison, strict=False))
    if nearness is not None:
        score += factors.nearness * scale_nearness(comparison, nearness)
    return 1 / (1 + math.exp(-score))


def scale_nearness(comparison: SubjectComparison, nearness: float) -> float:
    """Return by how many steps *nearness* exceeds what is usual in the language of two records that compare so."""
    return (nearness - USUAL_NEARNESS[comparison.is_unspaced]) / NEARNESS_STEP[comparison.is_unspaced]
