"""Search the readable repositories: the terms of a question select candidates, whose texts are then ranked.

The rarity of a word is computed over exactly the repositories that the caller may read: first its record count in each,
then its worth over all. So an answer reveals nothing of another repository, not even by its order. The rest is as on
a laptop (`kb.search`): the same weights and the same parts of the score.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kb.index.postings import WeightedTerm, compute_worth, hash_term
from kb.index.schema import ALL, Filter, load_record
from kb.organisation.hub_engine import Reader, build_label, find_continued_words, find_similar_words
from kb.organisation.hub_lists import TermList
from kb.organisation.hub_records import BaseSettings
from kb.organisation.org_rank import (
    MAX_LOADED,
    RankedRow,
    count_phrases,
    find_holding,
    load_all_rows,
    load_lists,
    load_union,
    parse_phrases,
    rank_rows,
    score_phrases,
)
from kb.organisation.org_records import MAX_LIMIT, filter_ranked, find_allowed_rows, is_wanted, load_kept_records
from kb.organisation.org_values import KeptRecord, OrgAnswer, OrgHit, OrgRecord
from kb.records.kinds import BY_PREFIX
from kb.records.model import GLOBAL, GROUP, LIVE, Record, Status, list_groups, recency_key
from kb.search.answer import LONGEST, build_snippet
from kb.search.intent import detect_intent, split_recent_query
from kb.search.query import FUNCTION_EN, PREFIX_FROM, Query, QueryRun, build_match_expression, parse_query
from kb.search.rank import (
    ELSEWHERE_WEIGHT,
    GLOBAL_WEIGHT,
    SearchHit,
    load_shipped_synonyms,
    rate_naming,
    weigh_hits,
)
from kb.search.retrieve import (
    FEW,
    READ,
    SENTENCE,
    WORDS,
    build_text_question,
    expand_query_terms,
    is_cjk_character,
    score_text,
)
from kb.text.segment import one_line, stem

CANDIDATES = 48
"""Rows selected by terms alone; the texts of the best `READ` of them are read."""
_WHOLE = 3
"""Records with every term to read, as a multiple of those wanted."""
_COMMON = 1e-6
"""The rarity of a word in more than half of all records."""
_CONTINUED = 50
"""Maximum number of words that continue one of the question."""
_MAX_NAMED = 5
"""Maximum number of records that a question may name by id."""
_WIDER = (1, 8, 40)
"""Multiples of the number of candidates to try while a filter leaves too few."""
_MAX_SHARED = 12
"""Records of the project's groups to read besides the rows selected by terms."""


def find_told_scopes(
    project: str, settings: Mapping[str, BaseSettings], declared: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """Return repository → scopes whose records apply to *project*: its own scope, and those of its groups.

    *settings*: those of every readable repository. The settings of a base declare its own groups; *declared*, group
    name → projects or repositories, applies to all. A repository stands for the project named in its settings.
    """
    names = {project, *(repo for repo, one in settings.items() if one.project == project)}
    shared = {f"{GROUP}{name}" for name, members in declared.items() if not names.isdisjoint(members)}
    scopes = {}
    for repo, one in settings.items():
        own = {group for name in names for group in list_groups(one.groups, name)}
        scopes[repo] = frozenset({f"project/{project}", *shared, *own, *([GLOBAL] if repo in names else [])})
    return scopes


def search_repositories(
    reader: Reader, text: str, wanted: Filter = ALL, limit: int = 10, told: Mapping[str, frozenset[str]] = {}
) -> OrgAnswer:
    """Return the *limit* records *wanted* that answer *text* best.

    *told*: repository → scopes that apply to the project, from `find_told_scopes`. Their records come before others
    with every term, and otherwise score as on a laptop.
    """
    query = parse_query(one_line(text[:LONGEST]))
    limit = max(0, min(limit, MAX_LIMIT))
    if not query.text or not limit:
        return OrgAnswer((), 0, {})
    strategy = detect_intent(query).strategy
    about, kinds, statuses = split_recent_query(query) if strategy.newest else (query, (), ())
    is_recent = bool(strategy.newest and about.subjects)
    if is_recent:
        query = about
        wanted = wanted._replace(kinds=wanted.kinds or kinds, statuses=wanted.statuses or statuses)
    search = _Search(reader, query, wanted, limit, told)
    hits = _put_in_order(search.find_hits(), query, () if is_recent else strategy.kinds, strategy.recent, told)
    if is_recent:  # records with some of the words are an answer only if none has them all
        hits = [one for one in hits if one.whole] or [one for one in hits if one.score >= hits[0].score / 2]
        hits.sort(key=lambda one: recency_key(one.record), reverse=True)
    hits = [_show(hit, query) for hit in hits[:limit]]
    return OrgAnswer(
        tuple(hits),
        search.weighed,
        dict(Counter(hit.repo for hit in hits)),
        tuple((term.term, term.frequency) for term in search.terms),
        search.is_exact,
    )


Mask = NDArray[np.bool_]
"""A flag for each row."""
Found = dict[tuple[str, str], SearchHit]
"""Hits by repository and path."""


class _Search:
    """One query on the readable repositories: first records with all terms, then those with some."""

    def __init__(
        self, reader: Reader, query: Query, wanted: Filter, limit: int, told: Mapping[str, frozenset[str]]
    ) -> None:
        self._reader = reader
        self._query = query
        self._wanted = wanted
        self._limit = limit
        self._lists: dict[int, TermList] = {}
        self._total = sum(records for _, records in reader.states.values())
        self._allowed = find_allowed_rows(reader, wanted)
        self._shared = _find_shared(reader, told)
        self._keys = load_all_rows(reader).keys
        self.terms: list[WeightedTerm] = []
        """The terms used for ranking, the most distinctive first."""
        self.weighed = 0
        self.is_exact = True

    def find_hits(self) -> Found:
        """Return the hits, as `retrieve_hits` does: a few records with all words do not answer a sentence."""
        query = self._query
        hits = self._find_whole()
        for one in (*_find_named(self._reader, query), *self._find_numbered()):
            if is_wanted(one.record, self._wanted, with_columns=True):
                hits.setdefault((one.repo, one.record.path), SearchHit(one.record, whole=True))
        count = len(query.subjects)
        if not hits or (count >= WORDS and (count >= SENTENCE or len(hits) < FEW)):
            hits = self._find_some() | hits
        self.weighed = len(hits)
        return hits

    def find_known_terms(self, asked: Mapping[str, float]) -> list[WeightedTerm]:
        """Return those of the terms *asked* that are in any readable record, the most distinctive first."""
        numbers = {hash_term(term): term for term in asked}
        self._lists |= load_lists(self._reader, [number for number in numbers if number not in self._lists])
        counts = {term: self._lists[number].records for number, term in numbers.items()}
        known = [
            WeightedTerm(term, count, compute_worth(asked[term], count, self._total))
            for term, count in counts.items()
            if count
        ]
        return sorted(known, key=lambda term: (-term.worth, term.term))

    def find_similar_words(self, word: str, slips: int) -> list[str]:
        """Return the words of readable records that *word*, found in none, may be a misspelling of."""
        return find_similar_words(self._reader, word, slips)

    def _find_whole(self) -> Found:
        """Return the hits with every term, as a full-text index would find them."""
        self.terms = own = self.find_known_terms(self._query.weights)
        expression = build_match_expression(self._query.text)
        candidates = self._find_candidates() if expression else None
        if candidates is None:
            return {}
        held_rows, rarities = candidates
        if self._allowed is not None:
            held_rows &= self._allowed
        worths = {hash_term(term.term): term.worth for term in own}
        rows = [*itertools.chain(*self._rank_wanted(worths, _WHOLE * self._limit, held_rows))]
        if len(rows) < self._limit:  # a record that only matches word prefixes has no term of the question
            known = {row.key for row in rows}
            keys = self._keys[held_rows][: 2 * READ].tolist()
            others = [RankedRow(key, 0, 0, 0) for key in keys if key not in known]
            rows += filter_ranked(self._reader, others, self._wanted)
        loaded = self._load(row.key for row in rows)
        matching = self._sort_by_phrases(expression, loaded, rarities)
        chosen = {row.key: row for row in rows}
        order = {key: 0.1 / (1 + at) for at, key in enumerate(matching)}
        return self._weigh([chosen[key] for key in matching], loaded, own, order)

    def _sort_by_phrases(
        self, expression: str, loaded: Mapping[int, KeptRecord], rarities: Sequence[float]
    ) -> list[int]:
        """Return those of the records *loaded* that match *expression*, the best first, as in a full-text index.

        The average length is computed over these alone, because no engine stores the lengths of all records.
        """
        phrases = parse_phrases(expression)
        counts = {key: found for key, one in loaded.items() if (found := count_phrases(phrases, one.columns))}
        usual = sum(one.length for one in loaded.values()) / (len(loaded) or 1)

        def build_key(key: int) -> tuple[float, int, str, int, str]:
            rare = rarities if len(rarities) == len(counts[key]) else [1.0] * len(counts[key])
            record, length = loaded[key].record, loaded[key].length
            score = score_phrases(counts[key], rare, length, usual)
            return -score, key >> 32, record.scope, len(record.id), record.id

        return sorted(counts, key=build_key)

    def _find_candidates(self) -> tuple[NDArray[np.bool_], list[float]] | None:
        """Return the mask of the rows that may have every word, and the rarity of each word, as in a full-text index.

        Return None if not all lists were read.
        """
        count, remaining = len(self._keys), MAX_LOADED
        mask = np.ones(count, np.bool_)
        rarities: list[float] = []
        for run in self._query.runs:
            has: NDArray[np.bool_] | None = None
            for terms in self._list_ways_to_hold(run):
                one = load_union(self._reader, terms, remaining)
                if one is None:
                    return None
                remaining -= one.records
                some = np.zeros(count, np.bool_)
                some[one.places] = True
                has = some if has is None else has & some
            if has is None:
                rarities.append(_COMMON)
                continue
            mask &= has
            records = int(np.count_nonzero(has))
            rarities.append(max(_COMMON, math.log((count - records + 0.5) / (records + 0.5))))
        return mask, rarities

    def _list_ways_to_hold(self, run: QueryRun) -> list[list[str]]:
        """Return for each part of *run* the terms of which a matching record contains at least one.

        Function words are left out: their lists take longest to read, and the text is checked later anyway.
        """
        if not run.is_unspaced and run.text.casefold() in FUNCTION_EN:
            return []
        if run.is_unspaced:
            return [[run.text[at : at + 2]] for at in range(max(1, len(run.text) - 1))]
        word = stem(run.parts[0])
        is_begun = len(word) >= PREFIX_FROM and word.isascii() and word.isalpha()
        return [[word, *(find_continued_words(self._reader, word, _CONTINUED) if is_begun else ())]]

    def _find_some(self) -> Found:
        """Return the best hits with some of the terms or their likely spellings."""
        self.terms = terms = expand_query_terms(self, self._query, load_shipped_synonyms())
        # a word in no record counts as absent, whatever its single characters match: see `retrieve_hits`
        are_all_characters = all(map(is_cjk_character, self._query.weights))
        telling = frozenset(
            hash_term(term.term) for term in terms if are_all_characters or not is_cjk_character(term.term)
        )
        if not telling:
            return {}
        worths = {hash_term(term.term): term.worth for term in terms}
        rows, near = self._rank_wanted(worths, max(CANDIDATES, self._limit), self._allowed, telling)
        read = max(READ, self._limit)
        least = rows[read - 1].score if len(rows) >= read else 0
        chosen = [*(row for row in rows if row.score >= least), *near]
        return self._weigh(chosen, self._load(row.key for row in chosen), terms, {})

    def _rank_wanted(
        self, worths: Mapping[int, int], most: int, allowed: Mask | None, telling: frozenset[int] = frozenset()
    ) -> tuple[list[RankedRow], list[RankedRow]]:
        """Return the *most* best-ranked rows among those *allowed* that match the filter, the best first.

        Add rows shared by the groups of the project, which might not be among the best of many with the same words. A
        row needs one of the terms *telling*, if there are any.
        """
        every, lists = self._keys, self._lists
        wanted_rows: list[RankedRow] = []
        for times in _WIDER:
            ranking = rank_rows(every, lists, worths, times * most, telling=telling, allowed=allowed)
            wanted_rows = filter_ranked(self._reader, ranking.rows, self._wanted)
            if len(wanted_rows) >= most or len(ranking.rows) < times * most:
                break
        self.is_exact = ranking.is_exact
        rows = [row for row in wanted_rows if row.telling or not telling][:most]
        near: list[RankedRow] = []
        if self._shared is not None:
            among = self._shared if allowed is None else self._shared & allowed
            ranked = rank_rows(every, lists, worths, _MAX_SHARED, telling=telling, allowed=among).rows
            near = filter_ranked(self._reader, ranked, self._wanted)
            near = [row for row in near if (row.telling or not telling) and row not in rows]
        return rows, near

    def _find_numbered(self) -> Iterator[OrgRecord]:
        """Yield the records with a number from the question, “ADR 7” or #7; ids are terms, too."""
        numbers = sorted(self._query.numbers)[:_MAX_NAMED]
        ids = [f"{prefix}{number:03d}" for number in numbers for prefix in ("adr", *map(str.lower, BY_PREFIX))]
        asked = dict.fromkeys([*ids, *(f"adr{number}" for number in numbers)], 1.0)
        places = [self._lists[hash_term(term.term)].places for term in self.find_known_terms(asked)] if numbers else []
        keys = self._keys[np.unique(np.concatenate(places))][:READ] if places else ()
        for key, one in self._load(map(int, keys)).items():
            if rate_naming(one.record, self._query, one.record.scope):
                yield OrgRecord(self._reader.names[key >> 32], one.record)

    def _load(self, keys: Iterable[int]) -> dict[int, KeptRecord]:
        """Return those records of the rows *keys* that match the filter."""
        loaded = load_kept_records(self._reader, list(keys))
        return {key: one for key, one in loaded.items() if is_wanted(one.record, self._wanted)}

    def _weigh(
        self,
        rows: Sequence[RankedRow],
        loaded: Mapping[int, KeptRecord],
        terms: Sequence[WeightedTerm],
        order: Mapping[int, float],
    ) -> Found:
        """Return the hits for *rows*, scored by their texts; *order*: scores by position, of rows with all terms."""
        question = build_text_question(self._query, terms)
        most = max((row.score for row in rows), default=0) or 1
        found: Found = {}
        for row in rows:
            if one := loaded.get(row.key):
                parts = {"terms": row.score / most, **({"order": order[row.key]} if order else {})}
                parts |= score_text(question, one.said)
                repo = self._reader.names[row.key >> 32]
                hit = SearchHit(one.record, sum(parts.values()), bool(order), parts, one.heading)
                found[repo, one.record.path] = hit
        return found


def _find_shared(reader: Reader, told: Mapping[str, frozenset[str]]) -> Mask | None:
    """Return the mask of the rows in group scopes of *told*, or None if there is none."""
    scopes = sorted({scope for one in told.values() for scope in one if scope.startswith(GROUP)})
    if not scopes:
        return None
    positions = load_all_rows(reader).keys >> 32
    mask = np.zeros(len(positions), np.bool_)
    for scope in scopes:
        of_them = [at for at, name in enumerate(reader.names) if scope in told.get(name, ())]
        mask |= find_holding(reader, [hash_term(build_label("scope", scope))]) & np.isin(positions, of_them)
    return mask if mask.any() else None


def _put_in_order(
    found: Found, query: Query, kinds: Sequence[str], recent: float, told: Mapping[str, frozenset[str]]
) -> list[OrgHit]:
    """Return the hits of *found*, the best first; records that *query* names by id come before all others."""
    weighed = weigh_hits(found.values(), query, None, favoured=kinds, aging=recent)
    near = [_weigh_nearness(repo, hit, told) for (repo, _), hit in zip(found, weighed, strict=True)]
    ordered = sorted(near, key=lambda hit: (-_rate_naming(hit, query), *_build_sort_key(hit)))
    return list(_insert_successors(ordered, query))


def _rate_naming(hit: OrgHit, query: Query) -> int:
    """Return how surely *query* names *hit*; before the colon of an id may be its repository or its project."""
    if not query.references and not query.numbers:
        return 0
    own = tuple(one._replace(project="") if one.project == hit.repo else one for one in query.references)
    return rate_naming(hit.record, query._replace(references=own), hit.record.scope)


def _insert_successors(hits: Sequence[OrgHit], query: Query) -> Iterator[OrgHit]:
    """Yield *hits*, with each superseded one after its live successor if that is a hit too."""
    given: set[tuple[str, str]] = set()
    for hit in hits:
        newer = [
            one
            for one in (hits if hit.record.status == Status.SUPERSEDED and not _rate_naming(hit, query) else ())
            if (one.repo, one.record.scope) == (hit.repo, hit.record.scope)
            and hit.record.id in one.record.supersedes
            and one.record.status in LIVE
        ]
        for one in (*newer, hit):
            if (key := (one.repo, one.record.path)) not in given:
                given.add(key)
                yield one


def _weigh_nearness(repo: str, hit: SearchHit, told: Mapping[str, frozenset[str]]) -> OrgHit:
    """Return *hit* with a bonus for records of the project, as on a laptop."""
    scope, is_told = hit.record.scope, hit.record.scope in told.get(repo, ())
    own = scope.startswith("project/")
    nearness = 1.0 if not told or (is_told and own) else GLOBAL_WEIGHT if is_told else ELSEWHERE_WEIGHT
    return OrgHit(repo, hit.record, round(hit.score * nearness, 9), "", hit.whole, is_told)


def _build_sort_key(hit: OrgHit) -> tuple[bool, bool, float, str, int, str, str]:
    record = hit.record
    return not hit.whole, hit.whole and not hit.told, -hit.score, hit.repo, len(record.id), record.id, record.path


def _show(hit: OrgHit, query: Query) -> OrgHit:
    """Return *hit* with a snippet that shows why it was found."""
    text = "\n".join([_join_sections(hit.record), hit.record.user]).strip() or hit.record.title
    snippet = build_snippet(text, query).highlight_matches("«", "»")
    return hit._replace(score=round(hit.score, 4), snippet=snippet)


def _join_sections(record: Record) -> str:
    return "\n".join(section.text for section in record.sections)


def _find_named(reader: Reader, query: Query) -> Iterator[OrgRecord]:
    """Yield the records that *query* names by id; `payments:D014` means a repository, or else a project."""
    for reference in query.references[:_MAX_NAMED]:
        own = [at for at, name in enumerate(reader.names) if name == reference.project]
        alone = reference._replace(project="" if own else reference.project)
        asked = Query("", references=(alone,))
        for position, path, data in reader.find_named(reference.id, own or range(len(reader.names))):
            record = load_record(path, data)
            if rate_naming(record, asked, record.scope if not alone.project else GLOBAL):
                yield OrgRecord(reader.names[position], record)
