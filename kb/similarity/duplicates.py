"""Decide whether a candidate repeats an existing record.

The title finds what to compare and never decides alone: among real issue titles more than 0.8 alike, one in five or
fewer is a duplicate. Kind, scope, duty, numbers and text have to agree too, and neither title may replace a term of
the other: “cache the sessions” and “cache the profiles” differ. `free_wording` finds paraphrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from kb.records.kinds import RULING
from kb.records.model import LIVE, Candidate, Record, SimilarRecord
from kb.similarity.contradictions import find_contradiction
from kb.similarity.free_wording import ComparedText, compute_agreement, is_worth_comparing, score_overlap
from kb.similarity.lexicon import SENSES
from kb.similarity.statement import is_order_swapped, parse_statement
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import (
    extract_bigrams,
    extract_run_terms,
    extract_word_terms,
    iter_runs,
    normalise,
    strip_inflection,
)

THRESHOLD = 0.8  # Titles more similar than this are compared further (SHI-23)

# Share of the significant terms of one decision that the other record must have (measured in bench/dedup.py)
BODY_AGREEMENT = 0.5

_MIN_SIMILARITY = 0.2  # Of title and decision; below it two records only share common words

# Records compared word by word where no title matches; a candidate hardly ever has more that are near it
_MAX_CLOSEST_RECORDS = 6

FACT_TERMS = 24  # Significant terms of the longest text that counts as a further fact: two or three sentences

_DIGIT = regex(r"\d")


class DuplicateMatch(NamedTuple):
    """The record a candidate repeats or adds to."""

    record: Record
    score: float  # Similarity of the titles; for a paraphrase, that of title and decision together


# -- similarity -----------------------------------------------------------------------------------


def score_titles(one: str, other: str) -> float:
    """Return the similarity of two titles for ranking (0.0–1.0): the Dice coefficient of their character bigrams.

    It ignores order, so it is never below `compute_similarity`.
    """
    first, second = _count_bigrams(one), _count_bigrams(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def compute_similarity(one: str, other: str, above: float = 0.0) -> float:
    """Return the similarity of two titles (0.0–1.0), in the same way for Chinese and English.

    It is twice the length of the longest common subsequence of their character bigrams (so case, width and
    punctuation do not count: `kb.text.segment.extract_bigrams`) over the number of bigrams of both. A result that is
    not over *above* may be the upper bound `score_titles` instead: then nothing heavy is loaded.
    """
    bound = score_titles(one, other)
    if bound <= above:
        return bound
    first, second = extract_bigrams(one), extract_bigrams(other)
    if first == second:
        return bound
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(first, second)


@lru_cache(maxsize=4096)
def _count_bigrams(title: str) -> frozenset[tuple[str, int]]:
    """Return the bigrams of *title*, each numbered by occurrence, so that an intersection counts the shared ones."""
    times: dict[str, int] = {}
    for pair in extract_bigrams(title):
        times[pair] = times.get(pair, 0) + 1
    return frozenset((pair, number) for pair, count in times.items() for number in range(count))


def find_similar_titles(
    title: str, titles: Iterable[tuple[str, str, str, str]], n: int = 3
) -> tuple[SimilarRecord, ...]:
    """Return the *n* of *titles* (id, scope, title, normalised title) most similar to *title*, most similar first.

    Only those that share most bigrams with it are compared; a title that shares none is left out.
    """
    mine = set(extract_bigrams(title))
    shares = []
    for row in titles:
        letters = row[3].replace(" ", "")
        if common := sum([pair in letters for pair in mine]):
            shares.append((common / (len(mine) + len(letters)), row))
    best = sorted(shares, key=lambda share: -share[0])[: 4 * n]
    found = (SimilarRecord(id, scope, other, round(score_titles(title, other), 3)) for _, (id, scope, other, _) in best)
    return _select_most_similar(found, n)


def find_similar(candidate: Candidate, records: Iterable[Record], n: int = 3) -> tuple[SimilarRecord, ...]:
    """Return the *n* records most similar to the candidate, most similar first, without those at 0.

    The score compares the titles, or title and decision together if that is higher.
    """
    found = []
    for record in records:
        score = score_titles(candidate.title, record.title)
        if candidate.decision and (decision := record.section("decision")):
            texts = f"{candidate.title} {candidate.decision}", f"{record.title} {decision}"
            score = max(score, score_overlap(*texts))
            score = score if score >= _MIN_SIMILARITY else 0.0
        found.append(SimilarRecord(record.id, record.scope, record.title, round(score, 3)))
    return _select_most_similar(found, n)


def _select_most_similar(found: Iterable[SimilarRecord], n: int) -> tuple[SimilarRecord, ...]:
    return tuple(sorted((s for s in found if s.score > 0), key=lambda s: (-s.score, s.scope, s.id))[:n])


# -- duplicates -----------------------------------------------------------------------------------


def find_duplicate(
    candidate: Candidate, records: Sequence[Record], threshold: float = THRESHOLD
) -> DuplicateMatch | None:
    """Return the live record that *candidate* repeats or adds to, or None if it is a new record.

    A record with a similar title wins over a paraphrase; a *threshold* of 1 matches nothing.
    """
    found = find_title_match(candidate, records, threshold)
    if found or threshold >= 1:
        return found
    matches = (match_paraphrase(candidate, record) for record in find_closest_records(candidate, records))
    return next((match for match in matches if match and find_contradiction(candidate, match.record) is None), None)


def find_title_match(candidate: Candidate, records: Iterable[Record], threshold: float) -> DuplicateMatch | None:
    """Return the record equivalent to *candidate* with the most similar title above *threshold*, or None."""
    near = [DuplicateMatch(record, compute_similarity(candidate.title, record.title, threshold)) for record in records]
    over = sorted((m for m in near if m.score > threshold), key=lambda m: (-m.score, m.record.date, m.record.id))
    for match in over:
        is_same = is_equivalent_title(candidate.title, match.record.title) and has_matching_body(
            candidate, match.record
        )
        if is_same and _can_merge(candidate, match.record) and find_contradiction(candidate, match.record) is None:
            return match
    return None


def find_closest_records(candidate: Candidate, records: Iterable[Record]) -> list[Record]:
    """Return the few *records* whose title and decision share most with the candidate's, most similar first."""
    if not candidate.decision:
        return []
    mine = f"{candidate.title} {candidate.decision}"
    near = [(f"{each.title} {decision}", each) for each in records if (decision := each.section("decision"))]
    scored = [(score_overlap(mine, text), record) for text, record in near if is_worth_comparing(mine, text)]
    return [
        record
        for _, record in sorted(scored, key=lambda pair: (-pair[0], pair[1].date, pair[1].id))[:_MAX_CLOSEST_RECORDS]
    ]


_SEQUENCE = regex(r"(?i)先[^。，；]{1,40}[再后]|后才|以后|\b(?:first|then|once|only after)\b")


def match_paraphrase(candidate: Candidate, record: Record) -> DuplicateMatch | None:
    """Return *record* with the agreement of both texts if they are paraphrases, else None."""
    if not _can_merge(candidate, record):
        return None
    share = compute_agreement(
        ComparedText(candidate.title, candidate.decision, candidate.why),
        ComparedText(record.title, record.section("decision"), record.section("why")),
        rules=candidate.kind in RULING,
    )
    # In other words it cannot be told which step comes first: “clear the cache once the row is written”, 先删缓存再写库
    if not share or all(_SEQUENCE.search(text) for text in (candidate.decision, record.section("decision"))):
        return None
    return DuplicateMatch(record, share)


def _can_merge(candidate: Candidate, record: Record) -> bool:
    """Return whether *candidate* may be merged into *record*.

    It must be live and in the same scope, and either of the same kind or with the same title and decision. The
    candidate must not name it in `supersedes`, `amends` or `coexists_with`.
    """
    if record.status not in LIVE or record.scope != candidate.scope:
        return False
    if record.id in (*candidate.supersedes, *candidate.amends, *candidate.coexists_with):
        return False
    if record.kind == candidate.kind:
        return True
    # The same title, with the same decision if both have one, is a duplicate in any kind
    mine, theirs = normalise(candidate.decision), normalise(record.section("decision"))
    return normalise(candidate.title) == normalise(record.title) and (mine in theirs or theirs in mine)


# -- titles and bodies ----------------------------------------------------------------------------


def is_equivalent_title(one: str, other: str) -> bool:
    """Return whether two similar titles mean the same thing."""
    a, b = parse_statement(one), parse_statement(other)
    # "Bump the library to 3.13.0" / "… to 3.14.0", 迁移计划第 1 阶段 / 第 2 阶段
    if a.amounts != b.amounts:
        return False
    if normalise(one) == normalise(other):
        return True
    # "Allow guests to read" / "Require guests to read", 生产环境的数据库必须备份 / 数据库必须备份, 除管理员外禁止导出
    if a.duty != b.duty or a.places != b.places or {"except", "also"} & (a.marks ^ b.marks):
        return False
    # "Orders are sent before invoices" / "Invoices are sent before orders", 先写缓存后写数据库 / 先写数据库后写缓存
    if set(a.terms) == set(b.terms):
        return not is_order_swapped(a, b)
    left, right = (
        [term for term in mine if not any(_is_same_word(term, their) for their in theirs)]
        for mine, theirs in ((a.terms, b.terms), (b.terms, a.terms))
    )
    # "Cache the user sessions" / "Cache the user profiles", 用户登录接口 / 用户注册接口
    if left and right:
        return False
    # "Run the whole schema check" / "… in tests", 缓存商品页面 / 在客户端缓存商品页面: one is about a part of the other
    longer, shorter = (a, b) if left else (b, a)
    narrows = {"in", "for", "from", "order"} & (longer.marks - shorter.marks) or "use" in shorter.marks - longer.marks
    return not ((left or right) and narrows)


def _is_same_word(one: str, other: str) -> bool:
    """Return whether two stems are forms of one word; stems with different digits never are."""
    short, long = sorted((one, other), key=len)
    is_alike = len(short) >= 4 and long.startswith(short[: max(4, len(short) - 1)]) and len(long) - len(short) <= 3
    return one == other or (is_alike and not _DIGIT.search(one + other))


def has_matching_body(candidate: Candidate, record: Record) -> bool:
    """Return whether the two decisions have the same subject.

    A side without a decision agrees. Otherwise BODY_AGREEMENT of the significant terms of one decision must be in the
    title, decision or reason of the other side; the other may have more. Under equivalent titles, a decision of up to
    FACT_TERMS terms counts as a further fact and agrees.
    """
    mine, theirs = (
        _extract_significant_terms(candidate.decision),
        _extract_significant_terms(record.section("decision")),
    )
    if not mine or not theirs:
        return True
    is_same_title = set(parse_statement(candidate.title).terms) == set(parse_statement(record.title).terms)
    if is_same_title and len(mine) <= FACT_TERMS:
        return True
    all_mine = mine.union(*map(_extract_significant_terms, (candidate.title, candidate.why)))
    all_theirs = theirs.union(*map(_extract_significant_terms, (record.title, *(s.text for s in record.sections))))
    return max(len(mine & all_theirs) / len(mine), len(theirs & all_mine) / len(theirs)) >= BODY_AGREEMENT


def _extract_significant_terms(text: str) -> frozenset[str]:
    """Return the significant terms of *text*: stems of English words, bigrams of Chinese."""
    terms: set[str] = set()
    for run, unspaced in iter_runs(text):
        terms.update(extract_run_terms(run)[:-1] if unspaced else map(strip_inflection, extract_word_terms(run)))
    return frozenset(term for term in terms if SENSES.get(term, ("term",))[0] in ("term", "undo"))
