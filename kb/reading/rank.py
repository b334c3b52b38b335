"""Put what the index found in order, and decide what of it is worth an agent's attention."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kb.reading.query import cited, folded, is_identifier, pieces, read_part, stem, subjects
from kb.record import GLOBAL, LIVE, Record, Reference, Status
from kb.text import runs, word_terms

ENOUGH = 2.0
"""The evidence that makes a record relevant to a prompt: two ordinary terms in its title or tags, or one distinctive
term, or the double of it in its body. Chosen for precision: saying nothing costs less than saying something idle."""

IN_BODY = 0.5
"""What a term that stands only in the body counts, compared with one in title or tags."""

COMMON = 0.1
"""The share of all records from which on a term tells next to nothing."""

STATUS_WEIGHT: Mapping[str, float] = {Status.ACCEPTED: 1.0, Status.PROPOSED: 0.8}
DEAD_WEIGHT = 0.3
GLOBAL_WEIGHT = 0.9
ELSEWHERE_WEIGHT = 0.6


class Hit(NamedTuple):
    """A record the index found."""

    record: Record
    score: float = 0.0
    """The index's bm25: the more negative the better; 0.0 for what only the plain scan found."""
    whole: bool = False
    """True where every term of the question matched: the answer of `match_expression` or of the plain scan."""


class Asked(NamedTuple):
    """What a question is about, ready to be looked for in many records."""

    words: Mapping[str, tuple[str, float]]
    """Stem → the word, and how much it says where it is found."""
    pieces: tuple[str, ...]
    references: tuple[Reference, ...]


class Place(NamedTuple):
    """A text to look in: the stems of its spaced words, and the text itself for unspaced runs."""

    stems: frozenset[str]
    text: str


def asked(query: str) -> Asked:
    """Return what *query* is about."""
    kept = set(subjects(query))
    words: dict[str, tuple[str, float]] = {}
    cjk: list[str] = []
    for run, unspaced in runs(read_part(query)):
        if unspaced:
            cjk += [p for p in pieces(run) if any(p[i : i + 2] in kept for i in range(len(p) - 1))]
            continue
        for term in word_terms(run):
            if term in kept:
                distinct = is_identifier(run) and term == word_terms(run)[0]
                words.setdefault(stem(term), (term, ENOUGH if distinct else 1.0))
    return Asked(words, tuple(dict.fromkeys(cjk)), tuple(cited(query)))


def ranked(hits: Iterable[Hit], query: str, *, project: str = "") -> list[Hit]:
    """Return *hits* best first: named by id, then with every term, then by bm25, title, status and scope together.

    *project* is the caller's project; its records stand before global ones, those before other projects'. The order
    depends on the hits only, not on the order in which they come.
    """
    found = list(hits)
    best = max((-hit.score for hit in found), default=0.0)
    about = asked(query)

    def place(hit: Hit) -> tuple[bool, bool, float, str, str]:
        strength = 0.1 + (max(-hit.score, 0.0) / best if best > 0 else 0.0)
        weight = strength * (1 + _title_share(hit.record, about)) * _standing(hit.record, project)
        named = _is_named(hit.record, about.references, project)
        return not named, not hit.whole, -round(weight, 9), hit.record.scope, hit.record.id

    return sorted(found, key=place)


def relevant(
    hits: Sequence[Hit],
    query: str,
    *,
    project: str = "",
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
) -> list[Hit]:
    """Return those of *hits*, in their order, that the prompt *query* is really about; often none.

    *frequency* may tell in how many of *total* records a term of `subjects(query)` stands; common terms then count
    less. A record that *query* names by id is always relevant; another only while it is live.
    """
    about = asked(query)
    rarity = _rarity(frequency or {}, total)
    return [
        hit
        for hit in hits
        if _is_named(hit.record, about.references, project)
        or (hit.record.status in LIVE and evidence(hit.record, about, rarity) >= ENOUGH)
    ]


def evidence(record: Record, about: Asked, rarity: Mapping[str, float] | None = None) -> float:
    """Return how much speaks for *record* being about what was asked: 1.0 for an ordinary term in title or tags."""
    rare = rarity or {}
    head = _place(" ".join((record.title, *record.tags)))
    body = _place("\n".join(section.text for section in record.sections))
    worth = 0.0
    for word_stem, (term, weight) in about.words.items():
        here = 1.0 if word_stem in head.stems else IN_BODY if word_stem in body.stems else 0.0
        worth += here * weight * rare.get(term, 1.0)
    in_head = _shared(about.pieces, head.text)
    in_body = {part for part in _shared(about.pieces, body.text) if not any(part in h or h in part for h in in_head)}
    worth += sum(_length_weight(part) * _rarest(part, rare) for part in in_head)
    worth += sum(IN_BODY * _length_weight(part) * _rarest(part, rare) for part in in_body)
    return worth


def _place(text: str) -> Place:
    words = (term for run, unspaced in runs(text) if not unspaced for term in word_terms(run))
    return Place(frozenset(map(stem, words)), folded(text))


def _shared(parts: Iterable[str], text: str) -> set[str]:
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


def _length_weight(part: str) -> float:
    """Return how much a shared unspaced string says: two characters are one word, four are two words in a row."""
    return min(len(part) / 2, ENOUGH)


def _rarest(part: str, rarity: Mapping[str, float]) -> float:
    known = [rarity[part[i : i + 2]] for i in range(len(part) - 1) if part[i : i + 2] in rarity]
    return max(known, default=1.0)


def _rarity(frequency: Mapping[str, int], total: int) -> dict[str, float]:
    """Return for each term 1.0 (in one record) down to 0.25 (in a tenth of all or more); in a small house all count."""
    if total * COMMON < 4:
        return {}
    steps = math.log(total * COMMON)
    return {term: max(0.25, 1.0 - 0.75 * math.log(max(n, 1)) / steps) for term, n in frequency.items()}


def _title_share(record: Record, about: Asked) -> float:
    """Return which share of what was asked stands in the title, 0.0–1.0."""
    title = _place(record.title)
    asked_for = len(about.words) + sum(len(piece) for piece in about.pieces)
    present = sum(word_stem in title.stems for word_stem in about.words)
    present += sum(len(part) for part in _shared(about.pieces, title.text))
    return min(present / asked_for, 1.0) if asked_for else 0.0


def _standing(record: Record, project: str) -> float:
    own = record.scope == f"project/{project}"
    nearness = 1.0 if own else GLOBAL_WEIGHT if record.scope == GLOBAL else ELSEWHERE_WEIGHT
    return nearness * STATUS_WEIGHT.get(record.status, DEAD_WEIGHT)


def _is_named(record: Record, references: Iterable[Reference], project: str) -> bool:
    """Tell whether a reference names *record*; without a project it means the caller's own or a global record."""
    own = (GLOBAL, f"project/{project}")
    return any(
        reference.id == record.id
        and (record.scope in own if not reference.project else record.scope in _scopes_of(reference.project))
        for reference in references
    )


def _scopes_of(name: str) -> tuple[str, ...]:
    return (GLOBAL,) if name == GLOBAL else (f"project/{name}",)
