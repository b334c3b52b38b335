"""Rank what the index found, and find the words of a query, or their synonyms in two languages, in a text."""

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

TITLE_WEIGHT = 0.5  # What it adds that all that was asked is in the title
FAVOUR = 1.25  # What it counts that a record is of a kind that answers such questions

# What a record gains at most by coming up again, and in how many further sessions it has to.
# The count is in the record, so that an order never depends on whose machine it is.
HEARD, HEARD_OFTEN = 0.05, 9

# What a record gains or loses at most by what became of it when it was told, and by how many sessions. Being told
# counts nothing: what is shown often would be shown more often.
HELPED, HELPED_OFTEN = 0.05, 5
DORMANT_WEIGHT = 0.8
DORMANT_DAYS = 180  # days without being told, used or confirmed after which a record is no longer told unasked
UNCONFIRMED_DAYS = 90  # the same for a proposed learning that nobody has confirmed

AGED = 0.03  # What a record loses that is a year older than the newest one found: no more than a tie is worth


class SearchHit(NamedTuple):
    """A record the index found."""

    record: Record
    score: float = 0.0  # How well it answers, the higher the better; 0.0 for what only the plain scan found
    # True where every term of the question matched: the answer of a match expression or of the plain scan
    whole: bool = False
    parts: Mapping[str, float] = {}  # What the score is made of, where it was asked for
    heading: str = ""  # Its `fold_titles`, where somebody keeps them


def rank_hits(
    hits: Iterable[SearchHit],
    query: Query,
    *,
    scope: str = GLOBAL,
    favoured: Sequence[str] = (),
    aging: float = 1.0,
    uses: Mapping[str, float] | None = None,
) -> list[SearchHit]:
    """Return *hits* best first: named by id, then with every term, then by score, title, status, age and scope.

    *scope* is the caller's: its records precede global ones, those before other projects'. Records of the kinds
    *favoured* count more; age counts *aging* times, and *uses* has the weights of `weigh_uses`. The order depends on
    the hits only, not on the order in which they come.
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
    """Return *hits* in their order, each with the score by which `rank_hits` puts it in its place.

    *scope* None is nobody's: no record is nearer than another.
    """
    found = list(hits)
    best = max((hit.score for hit in found), default=0.0)
    newest = max((hit.record.date for hit in found), default="")

    def weigh_hit(hit: SearchHit) -> SearchHit:
        strength = 0.1 + (max(hit.score, 0.0) / best if best > 0 else 0.0)
        factors = {
            "×title": 1 + TITLE_WEIGHT * compute_title_share(hit.heading or fold_titles(hit.record), query),
            "×standing": _weigh_scope_and_status(hit.record, hit.record.scope if scope is None else scope),
            "×kind": FAVOUR if hit.record.kind in favoured else 1.0,
            "×heard": 1 + HEARD * min(max(hit.record.occurrences, 1) - 1, HEARD_OFTEN) / HEARD_OFTEN,
            "×used": (uses or {}).get(hit.record.uid, 1.0),
            "×age": 1 - AGED * aging * _compute_age(hit.record.date, newest),
        }
        return hit._replace(score=round(strength * math.prod(factors.values()), 9), parts={**hit.parts, **factors})

    return [weigh_hit(hit) for hit in found]


def weigh_uses(index: Index, records: Sequence[Record], find_day: Callable[[int], str]) -> dict[str, float]:
    """Return by uid what the use of each of *records* weighs, where that is not 1: 0.95–1.05, times 0.8 if dormant.

    *find_day* returns the ISO day so many days ago.
    """
    dormant, uses, found = find_dormant(index, records, find_day), _load_uses(index, records), {}
    for record in records:
        balance = max(-HELPED_OFTEN, min(uses.get(record.uid, (0, ""))[0], HELPED_OFTEN))
        weight = (1 + HELPED * balance / HELPED_OFTEN) * (DORMANT_WEIGHT if record.path in dormant else 1)
        if weight != 1:
            found[record.uid] = weight
    return found


def find_dormant(index: Index, records: Sequence[Record], find_day: Callable[[int], str]) -> set[str]:
    """Return the paths of those of *records* that are no longer told unasked; *find_day* as `weigh_uses` has it.

    Nobody was told, used or confirmed such a one for `DORMANT_DAYS`; a proposed learning was neither written nor
    confirmed for `UNCONFIRMED_DAYS`. What is told at every start and what is pinned (a tag) never is. Time counts from
    the day kb first saw the record and began to count, so that no upgrade and no import silences a whole base.
    """
    since = index.get_note(SINCE) if records else ""
    if not since:
        return set()
    uses, before, unconfirmed = _load_uses(index, records), find_day(DORMANT_DAYS), find_day(UNCONFIRMED_DAYS)
    found = set()
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
            found.add(record.path)
    return found


def _load_uses(index: Index, records: Iterable[Record]) -> dict[str, tuple[int, str]]:
    """Return by uid in how many more sessions a record was used than contradicted, and the last day it was told or
    used; of those that ever were."""
    noted = index.list_notes(USED, list({record.uid for record in records}))
    parts = {uid: value.partition(" ") for uid, value in noted.items()}
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
    """Return how surely *query* names *record*: 2 by its id or the number it was imported with, 1 by its number, 0 not.

    So “ADR 7” is the imported ADR 7, and D007 where none was imported.
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
    """Return the titles of *record* as `compute_title_share` looks into them."""
    return fold_with_name_parts(" ".join(list_titles(record)))


def compute_title_share(title: str, query: Query) -> float:
    """Return the share of what was asked that is in *title*, the `fold_titles` of a record, 0.0–1.0."""
    asked = len(query.words) + sum(len(piece) for piece in query.pieces)
    present = sum(has_word(word_stem, title) for word_stem in query.words)
    present += sum(len(part) for part in find_common_substrings(query.pieces, title))
    return min(present / asked, 1.0) if asked else 0.0


def fold_with_name_parts(text: str) -> str:
    """Return *text* folded, with the parts of its names in code after it, so that `getUser` answers to "user"."""
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


# -- synonyms --------------------------------------------------------------------------------------

SYNONYMS = "synonyms.yaml"
MAX_SYNONYMS = 1_000_000  # Characters of a file of synonyms that are read

MAX_GROUPS = 5000
_GROUP = regex(r"-\s*\[(.*)\]")


class SynonymGroup(NamedTuple):
    """Words that say the same."""

    words: tuple[str, ...]  # Folded


def parse_synonym_groups(text: str, path: str) -> list[SynonymGroup]:
    """Return the groups in *text*, the lines of a YAML list of lists: `- [缓存, cache]`; raise BadInput."""
    groups: list[SynonymGroup] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition(" #")[0].strip()
        if not said or said.startswith("#"):
            continue
        match = _GROUP.fullmatch(said)
        words = [fold_text(word.strip(" \t\"'")) for word in match.group(1).split(",")] if match else []
        words = [" ".join(word.split()) for word in words if word.strip()]
        if len(words) < 2 or len(groups) == MAX_GROUPS:
            problem, hint = msg("this is not a group of synonyms"), msg("write: - [缓存, cache, caching]")
            raise BadInput(problem, path=path, line=number, hint=hint)
        groups.append(SynonymGroup(tuple(words)))
    return groups


@lru_cache(maxsize=1)
def load_shipped_synonyms() -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb, whose file is written as it is compared: a hook reads it."""
    with open(os.path.join(FOLDER, SYNONYMS), encoding="utf-8") as file:
        return [SynonymGroup(tuple(line[3:-2].split(", "))) for line in file if line.startswith("- [")]


def load_synonyms(kb: Workspace) -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb, and those of the knowledge base; raise BadInput."""
    return load_shipped_synonyms() + _load_groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _load_groups(path: str, name: str) -> list[SynonymGroup]:
    with contextlib.suppress(FileNotFoundError):
        stat = os.stat(path)
        return _read_groups(path, name, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return []


@lru_cache(maxsize=4)
def _read_groups(path: str, name: str, version: tuple[int, ...]) -> list[SynonymGroup]:
    """Return the groups in *version* of a file; a process that searches often reads it once."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse_synonym_groups(file.read(MAX_SYNONYMS), name)


def collect_word_lists(synonyms: Sequence[SynonymGroup] = ()) -> dict[str, object]:
    """Return the lists of words by which kb cuts a question, by name, and the groups of *synonyms*; none: its own.

    A search outside of kb, such as that of the wiki in a browser, needs them to rank as kb does.
    """
    groups = synonyms or load_shipped_synonyms()
    lists: dict[str, object] = {name: sorted(words) for name, words in WORD_LISTS.items()}
    return {**lists, "synonyms": [list(group.words) for group in groups]}


class Synonyms(NamedTuple):
    """What words of a question mean, in other words."""

    said: frozenset[str]  # The terms of the question
    others: tuple[tuple[str, ...], ...]  # The terms of each other word of that meaning


def find_synonyms(query: Query, groups: Sequence[SynonymGroup]) -> list[Synonyms]:
    """Return what words of *query* mean in other words, of which the query has not every term itself."""
    line = " ".join(query.folded)
    own = set(collect_ranking_terms((run.text.casefold(), run.is_unspaced) for run in query.runs))
    found = []
    for group in groups:
        # most groups have no word in the line, and to look for a part of one costs least
        said = [word for word in group.words if word in line and _has_word_or_plural(word, line)]
        if said:
            terms = (extract_ranking_terms(word) for word in group.words)
            others = tuple(tuple(each) for each in terms if not own.issuperset(each))
            found.append(
                Synonyms(frozenset(own.intersection(chain.from_iterable(map(extract_ranking_terms, said)))), others)
            )
    return found


def iter_synonym_terms(query: Query, groups: Sequence[SynonymGroup]) -> Iterator[str]:
    """Yield the terms that say what words of *query* say, those the query has itself left out.

    A part of a longer Chinese word says nothing of it: of 缓存, 缓.
    """
    for synonyms in find_synonyms(query, groups):
        for terms in synonyms.others:
            yield from (term for term in terms if len(term) > 1 or len(terms) == 1)


def _has_word_or_plural(word: str, line: str) -> bool:
    """Return whether *word* occurs in *line*: a spaced one as a word or its plural, an unspaced one anywhere."""
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
    """Return whether what follows a word is the ending of its plural."""
    return any(rest.startswith(end) and not is_spaced_letter(rest[len(end) :][:1] or " ") for end in ("s", "es"))
