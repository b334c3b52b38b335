"""Put what the index found in order, and decide what of it is worth an agent's attention."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kb.records.model import GLOBAL, LIVE, Record, Reference, Status, imported_number
from kb.search.query import (
    extract_subjects,
    find_imported_numbers,
    find_references,
    is_identifier,
    split_on_stop_words,
    stem,
    truncate_prompt,
)
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, extract_word_terms, fold_text, iter_runs

ENOUGH = 2.0
"""The evidence that makes a record relevant to a prompt: two ordinary terms in its title or tags, or one distinctive
term, or more of them in its body. Chosen for precision: saying nothing costs less than saying something idle."""

IN_BODY = 0.5
"""What a term that stands only in the body counts, where the index tells how rare it is."""

IN_BODY_UNKNOWN = 0.25
"""The same where it does not: any long prompt shares four ordinary words with some body."""

CLOSE = 0.7
"""The share of the best record's evidence that another one needs to be named beside it."""

MOST_OF_TITLE = 0.75
"""The share of a title from which on a prompt names the record by it."""

ENOUGH_OF_TITLE = ((3.0, 0.5), (2.0, 0.9))
"""Words of a title named so, and the evidence that is then enough: more words meet less often by chance."""

FEW = 3
"""Up to so many records a term is as rare as can be."""

COMMON = 0.1
"""The share of all records from which on a term tells next to nothing: `COMMON_WEIGHT`."""

COMMON_WEIGHT = 0.25

RARE = 0.75
"""How rare a lone term has to be to name the subject of a title by itself."""

_DAY = regex(r"[0-9]{4}-[0-9]{2}")

STATUS_WEIGHT: Mapping[str, float] = {Status.ACCEPTED: 1.0, Status.PROPOSED: 0.8}
DEAD_WEIGHT = 0.3
GLOBAL_WEIGHT = 0.9
TITLE_WEIGHT = 0.5
"""What it adds that all that was asked stands in the title."""

FAVOUR = 1.25
"""What it counts that a record is of a kind that answers such questions."""

HEARD, HEARD_OFTEN = 0.05, 9
"""What a record gains at most by coming up again, and in how many further sessions it has to.

The count stands in the record, so that an order never depends on whose machine it is.
"""

AGED = 0.03
"""What a record loses that is a year older than the newest one found: no more than a tie is worth."""

ELSEWHERE_WEIGHT = 0.6


class SearchHit(NamedTuple):
    """A record the index found."""

    record: Record
    score: float = 0.0
    """How well it answers, the higher the better; 0.0 for what only the plain scan found."""
    whole: bool = False
    """True where every term of the question matched: the answer of `match_expression` or of the plain scan."""
    parts: Mapping[str, float] = {}
    """What the score is made of, where it was asked for."""


class ParsedQuery(NamedTuple):
    """What a question is about, ready to be looked for in many records."""

    words: Mapping[str, tuple[str, float]]
    """Stem → the word, and how much it says where it is found."""
    pieces: tuple[str, ...]
    references: tuple[Reference, ...]
    numbers: frozenset[int] = frozenset()
    """The numbers of another tool's records that it asks for: "ADR 7"."""
    text: str = ""
    """The question as it was asked."""


def parse_query(query: str) -> ParsedQuery:
    """Return what *query* is about."""
    kept = set(extract_subjects(query))
    words: dict[str, tuple[str, float]] = {}
    cjk: list[str] = []
    for run, unspaced in iter_runs(truncate_prompt(query)):
        if unspaced:
            cjk += [p for p in split_on_stop_words(run) if any(p[i : i + 2] in kept for i in range(len(p) - 1))]
            continue
        for term in extract_word_terms(run):
            if term in kept:
                distinct = is_identifier(run) and term == extract_word_terms(run)[0]
                words.setdefault(stem(term), (term, ENOUGH if distinct else 1.0))
    return ParsedQuery(
        words, tuple(dict.fromkeys(cjk)), tuple(find_references(query)), find_imported_numbers(query), query
    )


def rank_hits(
    hits: Iterable[SearchHit],
    about: ParsedQuery,
    *,
    scope: str = GLOBAL,
    favoured: Sequence[str] = (),
    aging: float = 1.0,
) -> list[SearchHit]:
    """Return *hits* best first: named by id, then with every term, then by score, title, status, age and scope.

    *scope* is the caller's: its records stand before global ones, those before other projects'. Records of the kinds
    *favoured* count more; age counts *aging* times. The order depends on the hits only, not on the order in which they
    come.
    """
    found = list(hits)
    best = max((hit.score for hit in found), default=0.0)
    newest = max((hit.record.date for hit in found), default="")

    def weigh_hit(hit: SearchHit) -> SearchHit:
        strength = 0.1 + (max(hit.score, 0.0) / best if best > 0 else 0.0)
        factors = {
            "×title": 1 + TITLE_WEIGHT * _compute_title_share(hit.record, about),
            "×standing": _weigh_scope_and_status(hit.record, scope),
            "×kind": FAVOUR if hit.record.kind in favoured else 1.0,
            "×heard": 1 + HEARD * min(max(hit.record.occurrences, 1) - 1, HEARD_OFTEN) / HEARD_OFTEN,
            "×age": 1 - AGED * aging * _compute_age(hit.record.date, newest),
        }
        return hit._replace(score=round(strength * math.prod(factors.values()), 9), parts={**hit.parts, **factors})

    def build_sort_key(hit: SearchHit) -> tuple[bool, bool, float, str, int, str]:
        named = is_named(hit.record, about, scope)
        return not named, not hit.whole, -hit.score, hit.record.scope, len(hit.record.id), hit.record.id

    return sorted(map(weigh_hit, found), key=build_sort_key)


def filter_relevant(
    hits: Sequence[SearchHit],
    about: ParsedQuery,
    *,
    scope: str = GLOBAL,
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
) -> list[SearchHit]:
    """Return those of *hits*, in their order, that the prompt *about* is really about; often none.

    *frequency* may tell in how many of *total* records a term of `subjects(about.text)` stands; common terms then count
    less. A record that the prompt names by id is always relevant; another only while it is live.
    """
    rarity = _compute_rarity(frequency, total) if frequency and total else None
    weights = [score_evidence(hit.record, about, rarity) if hit.record.status in LIVE else 0.0 for hit in hits]
    enough = max(ENOUGH, CLOSE * max(weights, default=0.0))
    return [
        hit
        for hit, weight in zip(hits, weights, strict=True)
        if weight >= enough
        or (rarity and weight >= _find_title_threshold(hit.record, about))
        or is_named(hit.record, about, scope)
        or (rarity and weight and _is_title_subject(hit.record, about, rarity))
    ]


def score_evidence(record: Record, about: ParsedQuery, rarity: Mapping[str, float] | None = None) -> float:
    """Return how much speaks for *record* being about what was asked: 1.0 for an ordinary term in title or tags."""
    rare = rarity or {}
    in_text = IN_BODY_UNKNOWN if rarity is None else IN_BODY
    head = _fold_with_name_parts(" ".join((record.title, *record.tags)))
    body = fold_text("\n".join(section.text for section in record.sections))
    worth = 0.0
    for word_stem, (term, weight) in about.words.items():
        here = 1.0 if _has_word(word_stem, head) else in_text if _has_word(word_stem, body) else 0.0
        worth += here * weight * rare.get(term, 1.0)
    in_head = _find_common_substrings(about.pieces, head)
    in_body = {
        part for part in _find_common_substrings(about.pieces, body) if not any(part in h or h in part for h in in_head)
    }
    worth += sum(_weigh_length(part) * _find_max_rarity(part, rare) for part in in_head)
    worth += sum(in_text * _weigh_length(part) * _find_max_rarity(part, rare) for part in in_body)
    return worth


def has_whole_keyword(record: Record, keyword: str) -> bool:
    """Return whether *record* holds every word of *keyword*, in whichever of their forms.

    Of an unspaced word all characters have to be there: 数据 does not hold 数据库, and 支付的回调 does hold 支付回调.
    Words that any question has ("the", 怎么) are no part of it.
    """
    about = parse_query(keyword)
    text = _fold_record_text(record)
    names = [extract_word_terms(run) for run, unspaced in iter_runs(truncate_prompt(keyword)) if not unspaced]
    wanted = [terms for terms in names if any(stem(term) in about.words for term in terms)]
    if not wanted and not about.pieces:
        return False
    return all(_has_name(terms, text) for terms in wanted) and all(
        _is_composed_of(piece, text) for piece in about.pieces
    )


def has_query_word(record: Record, about: ParsedQuery) -> bool:
    """Return whether *record* surely holds a word of what was asked: a spaced one, or two runs of unspaced characters.

    A lone run may be half of a word, or stand across two.
    """
    text = _fold_record_text(record)
    return (
        any(_has_word(word_stem, text) for word_stem in about.words)
        or len(_find_common_substrings(about.pieces, text)) > 1
    )


def _fold_record_text(record: Record) -> str:
    return fold_text("\n".join((record.title, *record.tags, *(section.text for section in record.sections))))


def _has_name(terms: Sequence[str], text: str) -> bool:
    """Return whether a name stands in the folded *text*, whole or in parts; *terms*: getuser, get, user."""
    parts = terms[1:]
    return _has_word(stem(terms[0]), text) or (bool(parts) and all(_has_word(stem(part), text) for part in parts))


def _is_composed_of(piece: str, text: str) -> bool:
    """Return whether *piece* can be cut into parts of two or three characters that all stand in *text*."""
    reached = {0}
    for end in range(2, len(piece) + 1):
        if any(start in reached and piece[start:end] in text for start in (end - 2, end - 3)):
            reached.add(end)
    return len(piece) in reached


def _fold_with_name_parts(text: str) -> str:
    """Return *text* folded, with the parts of its names in code behind it, so that `getUser` answers to "user"."""
    parts = (part for run, unspaced in iter_runs(text) if not unspaced for part in extract_word_terms(run)[1:])
    return " ".join((fold_text(text), *parts))


def _has_word(word_stem: str, text: str) -> bool:
    """Return whether a spaced word with the stem *word_stem* stands in the folded *text*."""
    at = text.find(word_stem)
    while at >= 0:
        end = at + len(word_stem)
        while end < len(text) and _is_spaced_letter(text[end]):
            end += 1
        if (at == 0 or not _is_spaced_letter(text[at - 1])) and stem(text[at:end]) == word_stem:
            return True
        at = text.find(word_stem, end)
    return False


def _is_spaced_letter(character: str) -> bool:
    return character < FIRST_CJK and character.isalnum()


def _find_common_substrings(parts: Iterable[str], text: str) -> set[str]:
    """Return the longest substrings, two characters or more, that *parts* have in common with *text*."""
    found = set()
    for part in parts:
        at = 0
        while at < len(part) - 1:
            end = at + 1
            while end < len(part) and part[at : end + 1] in text:
                end += 1
            if end - at > 1:
                found.add(part[at:end])
            at = max(end, at + 1)
    return found


def _weigh_length(part: str) -> float:
    """Return how much a shared unspaced string says: two characters are one word, four are two words in a row."""
    return min(len(part) / 2, ENOUGH)


def _find_max_rarity(part: str, rarity: Mapping[str, float]) -> float:
    known = [rarity[part[i : i + 2]] for i in range(len(part) - 1) if part[i : i + 2] in rarity]
    return max(known, default=1.0)


def _compute_rarity(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return for each term 1.0 (in a few records) down to `COMMON_WEIGHT` (in a tenth of all or more)."""
    steps = math.log(max(total * COMMON / FEW, 2))
    lost = 1 - COMMON_WEIGHT
    return {term: max(COMMON_WEIGHT, 1 - lost * math.log(max(n / FEW, 1)) / steps) for term, n in frequency.items()}


def _compute_title_share(record: Record, about: ParsedQuery) -> float:
    """Return which share of what was asked stands in the title, 0.0–1.0."""
    title = _fold_with_name_parts(record.title)
    asked_for = len(about.words) + sum(len(piece) for piece in about.pieces)
    present = sum(_has_word(word_stem, title) for word_stem in about.words)
    present += sum(len(part) for part in _find_common_substrings(about.pieces, title))
    return min(present / asked_for, 1.0) if asked_for else 0.0


def _find_title_threshold(record: Record, about: ParsedQuery) -> float:
    """Return the evidence that makes *record* relevant where most of its title was asked for."""
    bigrams = {piece[i : i + 2] for piece in about.pieces for i in range(len(piece) - 1)}
    terms = extract_subjects(record.title)
    there = [term for term in terms if term in bigrams or stem(term) in about.words]
    words = sum(0.5 if term >= FIRST_CJK else 1.0 for term in there)
    if len(there) < MOST_OF_TITLE * len(terms):
        return ENOUGH
    return next((evidence for least, evidence in ENOUGH_OF_TITLE if words >= least), ENOUGH)


def _is_title_subject(record: Record, about: ParsedQuery, rarity: Mapping[str, float]) -> bool:
    """Return whether all that was asked about, however little, stands in the title and is rare."""
    terms = [rarity.get(term, 0.0) for term, _ in about.words.values()]
    terms += [_find_max_rarity(piece, rarity) for piece in about.pieces]
    return bool(terms) and min(terms) >= RARE and _compute_title_share(record, about) == 1.0


def _compute_age(date: str, newest: str) -> float:
    """Return how much older the ISO day *date* is than *newest* in years, 0.0–1.0."""
    years = [int(day[:4]) + int(day[5:7]) / 12 if _DAY.match(day) else None for day in (date, newest)]
    return min(years[1] - years[0], 1.0) if years[0] is not None and years[1] is not None else 0.0


def _weigh_scope_and_status(record: Record, scope: str) -> float:
    nearness = 1.0 if record.scope == scope else GLOBAL_WEIGHT if record.scope == GLOBAL else ELSEWHERE_WEIGHT
    return nearness * STATUS_WEIGHT.get(record.status, DEAD_WEIGHT)


def is_named(record: Record, about: ParsedQuery, scope: str) -> bool:
    """Return whether a reference names *record*; one without a project means the scope of the caller, or global."""
    own = (GLOBAL, scope)
    if about.numbers and imported_number(record.extra) in about.numbers:
        return True
    return any(
        reference.id == record.id
        and (record.scope in own if not reference.project else record.scope in _list_project_scopes(reference.project))
        for reference in about.references
    )


def _list_project_scopes(name: str) -> tuple[str, ...]:
    return (GLOBAL,) if name == GLOBAL else (f"project/{name}",)
