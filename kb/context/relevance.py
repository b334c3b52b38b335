"""Decide which of the records found are worth handing to somebody who said what the work is about.

A prompt is answered only where `kb.search.rank.filter_relevant` says so: nobody asked. A task or a question was said on
purpose, so a record may also be told whose title and tags hold half of what was said. Of a question it is known what
its terms are worth; a record that holds most of that, or half and a word of it in its title, is told as well, and the
first of them all where it holds half and surely a word of it: one run of unspaced characters is worth half of a short
question ("加拿大的首都"), and where words are not spaced it may be no word of the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kb.records.model import GLOBAL, LIVE, Record
from kb.search import rank
from kb.search.rank import ENOUGH, ParsedQuery, SearchHit
from kb.text.segment import extract_ranking_terms, has_cjk

SHARE = 0.5
"""The share of what was asked, in whole words, that is enough in a title."""

MOST = 0.75
"""The share of what the terms of a question are worth that is enough anywhere in a record."""

READ = 8
"""Records whose whole text is weighed, the best first."""


def filter_task_hits(
    hits: Sequence[SearchHit],
    about: ParsedQuery,
    *,
    scope: str = GLOBAL,
    frequency: Mapping[str, int] | None = None,
    total: int = 0,
    synonyms: Iterable[str] = (),
    worth: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """Return those of *hits*, in their order, that are about the task or question *about*.

    *frequency* and *total* are what `rank.relevant` takes; *synonyms* are other words for what was said; *worth* has
    the terms of a question, those too that no record has.
    """
    sure = {hit.record.path for hit in rank.filter_relevant(hits, about, scope=scope, frequency=frequency, total=total)}
    wider = rank.parse_query(" ".join((about.text, *synonyms))) if synonyms else about
    enough = min(ENOUGH, math.ceil(SHARE * count_query_words(about)) or 1)

    names = _extract_rare_names(about, frequency or {}, total)
    first = next((hit.record.path for hit in hits if hit.record.status in LIVE), "")
    read = {hit.record.path for hit in hits[:READ]} if worth else set()

    def is_relevant(hit: SearchHit) -> bool:
        if hit.record.path in sure or hit.record.status not in LIVE:
            return hit.record.path in sure
        in_head = rank.score_evidence(_strip_sections(hit.record), wider)
        held = _compute_held_share(hit.record, worth) if worth and hit.record.path in read else 0.0
        if rank.score_evidence(_strip_sections(hit.record), names) >= 1:
            return True
        if in_head >= enough or held >= MOST:
            return True
        is_first = hit.record.path == first
        return held >= SHARE and (in_head >= 1 or (is_first and rank.has_query_word(hit.record, about)))

    return [hit for hit in hits if is_relevant(hit)]


def _extract_rare_names(about: ParsedQuery, frequency: Mapping[str, int], total: int) -> ParsedQuery:
    """Return the names in *about*: the spaced words of a Chinese one that few records have, as react in “升级 react”.

    What else such a text says is often other words than the record's; the name is what it is about.
    """
    few = max(rank.FEW, rank.COMMON * total)
    words = about.words if has_cjk(about.text) else {}
    return ParsedQuery({root: said for root, said in words.items() if 0 < frequency.get(said[0], 0) <= few}, (), ())


def _strip_sections(record: Record) -> Record:
    """Return *record* without its text: in a long one half of any question stands somewhere."""
    return record._replace(sections=())


def _compute_held_share(record: Record, worth: Mapping[str, float]) -> float:
    """Return the share of *worth* whose terms stand in *record*."""
    texts = (record.title, *record.tags, *(section.text for section in record.sections))
    terms = set(extract_ranking_terms(" ".join(texts)))
    return sum(much for term, much in worth.items() if term in terms) / (sum(worth.values()) or 1.0)


def filter_keyword_hits(hits: Sequence[SearchHit], keywords: Sequence[str]) -> list[SearchHit]:
    """Return those of *hits* that hold any of *keywords*, and that as a whole."""
    return [hit for hit in hits if any(rank.has_whole_keyword(hit.record, keyword) for keyword in keywords)]


def count_query_words(about: ParsedQuery) -> float:
    """Return how much was asked: 1.0 for a word, and for two characters of an unspaced one."""
    return len(about.words) + sum(len(piece) / 2 for piece in about.pieces)
