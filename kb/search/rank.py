"""Rank the search hits of the index, and find words of a query, or their synonyms in two languages, in a text."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from kb.errors import BadInput
from kb.i18n import msg
from kb.index.schema import SINCE, USED
from kb.records.kinds import BY_NAME, parse_uid_day
from kb.records.model import (
    AGENT,
    GLOBAL,
    GROUP,
    Record,
    Status,
    imported_number,
    list_aliases,
    list_titles,
    parse_scope_name,
)
from kb.search.query import WORD_LISTS, Query
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.templates import FOLDER
from kb.text.segment import (
    FIRST_CJK,
    collect_ranking_terms,
    extract_ranking_terms,
    extract_word_terms,
    fold_text,
    iter_runs,
    stem,
)

if TYPE_CHECKING:
    from kb.index.database import Index
    from kb.workspace import Workspace

STATUS_WEIGHT: Mapping[str, float] = {Status.ACCEPTED: 1.0, Status.PROPOSED: 0.8}
DEAD_WEIGHT = 0.3
GLOBAL_WEIGHT = 0.9
ELSEWHERE_WEIGHT = 0.6

TITLE_WEIGHT = 0.5  # Bonus when the title contains every term of the query
_KIND_WEIGHT = 1.25  # Factor of the kinds of record that answer such questions

# Bonus of a record seen in _OCCURRENCES_FOR_MAX further sessions or more. The record holds the count, so that the order
# is the same on every machine.
_MAX_OCCURRENCE_BONUS, _OCCURRENCES_FOR_MAX = 0.05, 9

# Bonus of a record used in _USES_FOR_MAX more sessions than contradicted it; negative the other way round. Being shown
# does not count: otherwise records that are often shown would be shown ever more often.
MAX_USE_BONUS, _USES_FOR_MAX = 0.05, 5
DORMANT_WEIGHT = 0.8
DORMANT_DAYS = 180  # days without being shown, used or confirmed after which a record is no longer shown unasked
UNCONFIRMED_DAYS = 90  # the same for a proposed learning that nobody has confirmed

_AGE_PENALTY_PER_YEAR = 0.03  # Against the newest hit, for one year at most: enough to decide between equal scores


class SearchHit(NamedTuple):
    """A record found by the index."""

    record: Record
    score: float = 0.0  # Relevance, higher is better; 0.0 for a hit of the plain scan only
    # Whether every term of the query matched, in a match expression or in the plain scan
    whole: bool = False
    parts: Mapping[str, float] = {}  # The factors of the score, if requested
    heading: str = ""  # The result of `fold_titles`, if it was stored


def rank_hits(
    hits: Iterable[SearchHit],
    query: Query,
    *,
    scope: str = GLOBAL,
    favoured: Sequence[str] = (),
    aging: float = 1.0,
    uses: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """Return *hits* best first: those named by id, then those with every term, then by the score of `weigh_hits`.

    *scope* is the caller's: its records rank above global ones, and those above records of other projects. Kinds in
    *favoured* rank higher; *aging* multiplies the age penalty; *uses* holds the weights of `weigh_uses`. The order of
    *hits* does not matter.
    """

    def build_sort_key(hit: SearchHit) -> tuple[int, bool, float, str, int, str]:
        record = hit.record
        named = rate_naming(record, query, scope)
        return -named, not hit.whole, -hit.score, record.scope, len(record.id), record.id

    return sorted(weigh_hits(hits, query, scope, favoured=favoured, aging=aging, uses=uses), key=build_sort_key)


def weigh_hits(
    hits: Iterable[SearchHit],
    query: Query,
    scope: str | None,
    *,
    favoured: Sequence[str] = (),
    aging: float = 1.0,
    uses: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """Return *hits* in their order, each with its final score, from which `rank_hits` sorts.

    With *scope* None every scope weighs the same.
    """
    hits = list(hits)
    best = max((hit.score for hit in hits), default=0.0)
    newest = max((hit.record.date for hit in hits), default="")

    def weigh_hit(hit: SearchHit) -> SearchHit:
        strength = 0.1 + (max(hit.score, 0.0) / best if best > 0 else 0.0)
        repeats = max(hit.record.occurrences, 1) - 1
        factors = {
            "×title": 1 + TITLE_WEIGHT * compute_title_share(hit.heading or fold_titles(hit.record), query),
            "×standing": _weigh_scope_and_status(hit.record, hit.record.scope if scope is None else scope),
            "×kind": _KIND_WEIGHT if hit.record.kind in favoured else 1.0,
            "×heard": 1 + _MAX_OCCURRENCE_BONUS * min(repeats, _OCCURRENCES_FOR_MAX) / _OCCURRENCES_FOR_MAX,
            "×used": (uses or {}).get(hit.record.uid, 1.0),
            "×age": 1 - _AGE_PENALTY_PER_YEAR * aging * _compute_age(hit.record.date, newest),
        }
        return hit._replace(score=round(strength * math.prod(factors.values()), 9), parts={**hit.parts, **factors})

    return [weigh_hit(hit) for hit in hits]


def weigh_uses(index: Index, records: Sequence[Record], find_day: Callable[[int], str]) -> dict[str, float]:
    """Return the use weights of *records* by uid, without those of 1: 0.95–1.05, times DORMANT_WEIGHT if dormant.

    *find_day* returns the ISO date that is the given number of days ago.
    """
    dormant, uses, weights = find_dormant(index, records, find_day), _load_uses(index, records), {}
    for record in records:
        balance = max(-_USES_FOR_MAX, min(uses.get(record.uid, (0, ""))[0], _USES_FOR_MAX))
        weight = (1 + MAX_USE_BONUS * balance / _USES_FOR_MAX) * (DORMANT_WEIGHT if record.path in dormant else 1)
        if weight != 1:
            weights[record.uid] = weight
    return weights


def find_dormant(index: Index, records: Sequence[Record], find_day: Callable[[int], str]) -> set[str]:
    """Return the paths of the dormant *records*, which are no longer shown unasked; *find_day* as in `weigh_uses`.

    A record is dormant if it was not shown, used or confirmed for `DORMANT_DAYS`. A proposed learning is dormant if it
    was neither written nor confirmed for `UNCONFIRMED_DAYS`. Kinds shown at every start and records with the tag
    `pinned` never are. Days count from when kb first saw the record and began to count, so that no upgrade and no
    import silences a whole base.
    """
    since = index.get_note(SINCE) if records else ""
    if not since:
        return set()
    uses, before, unconfirmed = _load_uses(index, records), find_day(DORMANT_DAYS), find_day(UNCONFIRMED_DAYS)
    dormant = set()
    for record in records:
        kind = BY_NAME.get(record.kind)
        if kind is None or kind.always or "pinned" in record.tags:
            continue
        seen = max(since, parse_uid_day(record.uid) or record.date, record.confirmed)
        if record.kind == "learning" and record.status == Status.PROPOSED:
            is_dormant = seen < unconfirmed
        else:
            is_dormant = max(seen, uses.get(record.uid, (0, ""))[1]) < before
        if is_dormant:
            dormant.add(record.path)
    return dormant


def _load_uses(index: Index, records: Iterable[Record]) -> dict[str, tuple[int, str]]:
    """Return, by uid, uses minus contradictions in sessions, and the last day of use or display; "" and 0 if never."""
    notes = index.list_notes(USED, list({record.uid for record in records}))
    parts = {uid: value.partition(" ") for uid, value in notes.items()}
    return {uid: (int(balance or 0), day) for uid, (balance, _, day) in parts.items()}


def _weigh_scope_and_status(record: Record, scope: str) -> float:
    is_near = record.scope == GLOBAL or record.scope.startswith((GROUP, AGENT))
    nearness = 1.0 if record.scope == scope else GLOBAL_WEIGHT if is_near else ELSEWHERE_WEIGHT
    return nearness * STATUS_WEIGHT.get(record.status, DEAD_WEIGHT)


def _compute_age(date: str, newest: str) -> float:
    """Return how much older the ISO day *date* is than *newest* in years, 0.0–1.0."""
    years = [
        int(day[:4]) + int(day[5:7]) / 12
        for day in (date, newest)
        if day[:7].isascii() and day[4:5] == "-" and (day[:4] + day[5:7]).isdigit() and len(day) > 6
    ]
    return min(years[1] - years[0], 1.0) if len(years) == 2 else 0.0


def is_named(record: Record, query: Query, scope: str) -> bool:
    """Return whether *query* names *record* by id; an id without a project means the scope of the caller, or global."""
    return rate_naming(record, query, scope) > 0


def rate_naming(record: Record, query: Query, scope: str) -> int:
    """Return how precisely *query* names *record*: 2 by id or imported number, 1 by the number in its id, 0 not at all.

    “ADR 7” names the imported ADR 7, or D007 if none was imported.
    """
    if query.numbers and imported_number(record.extra) in query.numbers:
        return 2
    names = (record.id, *list_aliases(record.extra)) if query.references else ()
    for reference in query.references:
        project = reference.project
        scopes = (parse_scope_name(project),) if project else (GLOBAL, scope)
        if reference.id in names and record.scope in scopes:
            return 2
    digits = record.id.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") if query.numbers else ""
    return int(digits.isdecimal() and int(digits) in query.numbers and record.scope in (GLOBAL, scope))


# -- words of a question in a text ----------------------------------------------------------------


def fold_titles(record: Record) -> str:
    """Return the titles of *record*, folded for `compute_title_share`."""
    return fold_with_name_parts(" ".join(list_titles(record)))


def compute_title_share(title: str, query: Query) -> float:
    """Return the share of the query terms (0.0–1.0) that are in *title*, a result of `fold_titles`."""
    asked = len(query.words) + sum(len(piece) for piece in query.pieces)
    present = sum(has_word(word_stem, title) for word_stem in query.words)
    present += sum(len(part) for part in find_common_substrings(query.pieces, title))
    return min(present / asked, 1.0) if asked else 0.0


def fold_with_name_parts(text: str) -> str:
    """Return *text* folded, followed by the parts of its code names, so that “user” finds `getUser`."""
    parts = (part for run, unspaced in iter_runs(text) if not unspaced for part in extract_word_terms(run)[1:])
    return " ".join((fold_text(text), *parts))


def has_word(word_stem: str, text: str) -> bool:
    """Return whether a spaced word with the stem *word_stem* occurs in the folded *text*."""
    at = text.find(word_stem)
    while at >= 0:
        end = at + len(word_stem)
        while end < len(text) and is_spaced_letter(text[end]):
            end += 1
        if (at == 0 or not is_spaced_letter(text[at - 1])) and stem(text[at:end]) == word_stem:
            return True
        at = text.find(word_stem, end)
    return False


def is_spaced_letter(character: str) -> bool:
    """Return whether *character* is a letter or digit of a script that puts spaces between words."""
    return character < FIRST_CJK and character.isalnum()


def find_common_substrings(parts: Iterable[str], text: str) -> set[str]:
    """Return the longest substrings, two characters or more, that *parts* have in common with *text*."""
    substrings = set()
    for part in parts:
        at = 0
        while at < len(part) - 1:
            end = at + 1
            while end < len(part) and part[at : end + 1] in text:
                end += 1
            if end - at > 1:
                substrings.add(part[at:end])
            at = max(end, at + 1)
    return substrings


# -- synonyms --------------------------------------------------------------------------------------

SYNONYMS = "synonyms.yaml"
MAX_SYNONYMS = 1_000_000  # Characters read of a synonym file

MAX_GROUPS = 5000
_GROUP = regex(r"-\s*\[(.*)\]")


class SynonymGroup(NamedTuple):
    """Words with the same meaning."""

    words: tuple[str, ...]  # Folded


def parse_synonym_groups(text: str, path: str) -> list[SynonymGroup]:
    """Return the groups in *text*, a YAML list of lists such as `- [缓存, cache]`; raise BadInput."""
    groups: list[SynonymGroup] = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition(" #")[0].strip()
        if not entry or entry.startswith("#"):
            continue
        match = _GROUP.fullmatch(entry)
        words = [fold_text(word.strip(" \t\"'")) for word in match.group(1).split(",")] if match else []
        words = [" ".join(word.split()) for word in words if word.strip()]
        if len(words) < 2 or len(groups) == MAX_GROUPS:
            problem, hint = msg("this is not a group of synonyms"), msg("write: - [缓存, cache, caching]")
            raise BadInput(problem, path=path, line=number, hint=hint)
        groups.append(SynonymGroup(tuple(words)))
    return groups


@lru_cache(maxsize=1)
def load_shipped_synonyms() -> list[SynonymGroup]:
    """Return the synonym groups shipped with kb; their file is folded already, because a hook reads it."""
    with open(os.path.join(FOLDER, SYNONYMS), encoding="utf-8") as file:
        return [SynonymGroup(tuple(line[3:-2].split(", "))) for line in file if line.startswith("- [")]


def load_synonyms(kb: Workspace) -> list[SynonymGroup]:
    """Return the synonym groups shipped with kb and those of the knowledge base; raise BadInput."""
    return load_shipped_synonyms() + _load_groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _load_groups(path: str, name: str) -> list[SynonymGroup]:
    with contextlib.suppress(FileNotFoundError):
        stat = os.stat(path)
        return _read_groups(path, name, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return []


@lru_cache(maxsize=4)
def _read_groups(path: str, name: str, version: tuple[int, ...]) -> list[SynonymGroup]:
    """Return the groups in *version* of a file, cached for processes that search often."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse_synonym_groups(file.read(MAX_SYNONYMS), name)


def collect_word_lists(synonyms: Sequence[SynonymGroup] = ()) -> dict[str, object]:
    """Return the word lists that kb parses queries with, by name, and *synonyms*, by default the shipped groups.

    A search outside kb, such as the wiki's in a browser, needs them to rank as kb does.
    """
    groups = synonyms or load_shipped_synonyms()
    lists: dict[str, object] = {name: sorted(words) for name, words in WORD_LISTS.items()}
    return {**lists, "synonyms": [list(group.words) for group in groups]}


class Synonyms(NamedTuple):
    """Words of a query and their synonyms."""

    asked_terms: frozenset[str]  # The terms of the query
    synonym_terms: tuple[tuple[str, ...], ...]  # The terms of each synonym


def find_synonyms(query: Query, groups: Sequence[SynonymGroup]) -> list[Synonyms]:
    """Return the synonyms of words in *query*, without those whose terms are all in the query already."""
    line = " ".join(query.folded)
    own = set(collect_ranking_terms((run.text.casefold(), run.is_unspaced) for run in query.runs))
    result = []
    for group in groups:
        # most groups have no word in the line, and the substring test is the cheapest
        asked_words = [word for word in group.words if word in line and _has_word_or_plural(word, line)]
        if asked_words:
            asked_terms = own.intersection(chain.from_iterable(map(extract_ranking_terms, asked_words)))
            terms = (extract_ranking_terms(word) for word in group.words)
            others = tuple(tuple(each) for each in terms if not own.issuperset(each))
            result.append(Synonyms(frozenset(asked_terms), others))
    return result


def iter_synonym_terms(query: Query, groups: Sequence[SynonymGroup]) -> Iterator[str]:
    """Yield the terms of the synonyms of words in *query*.

    A single character of a longer Chinese word is left out, because it means something else: 缓 of 缓存.
    """
    for synonyms in find_synonyms(query, groups):
        for terms in synonyms.synonym_terms:
            yield from (term for term in terms if len(term) > 1 or len(terms) == 1)


def _has_word_or_plural(word: str, line: str) -> bool:
    """Return whether *word* occurs in *line*: with spaces as a whole word or its plural, Chinese anywhere."""
    at = line.find(word)
    while at >= 0:
        end = at + len(word)
        if word[0] >= FIRST_CJK or not (at and is_spaced_letter(line[at - 1])):
            rest = line[end : end + 3]
            if word[-1] >= FIRST_CJK or not rest[:1] or not is_spaced_letter(rest[0]) or _is_plural_ending(rest):
                return True
        at = line.find(word, at + 1)
    return False


def _is_plural_ending(rest: str) -> bool:
    """Return whether *rest*, the text after a word, starts with a plural ending."""
    return any(rest.startswith(end) and not is_spaced_letter(rest[len(end) :][:1] or " ") for end in ("s", "es"))
