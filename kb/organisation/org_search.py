"""Search the readable repositories: a question becomes terms, terms find candidates, their texts put them in order.

How rare a word is is reckoned over exactly the repositories that the caller may read, in two phases: how many records
have it in each, then what it counts in all. So an answer says nothing of another repository, not even by its order. The
rest is as on a laptop (`kb.search`): the same weights, the same parts of the score.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kb.errors import BadInput
from kb.i18n import msg
from kb.index.postings import WeightedTerm, compute_worth, hash_term
from kb.index.schema import ALL, Filter, load_record
from kb.organisation.hub_engine import Reader, build_label, filter_rows, group_keys, load_rows, number_month
from kb.organisation.hub_lists import MAX_WEIGHT
from kb.organisation.hub_records import BaseSettings
from kb.organisation.org_rank import (
    RankedRow,
    Ranking,
    find_holding,
    load_all_rows,
    load_lists,
    load_term_keys,
    rank_rows,
)
from kb.organisation.org_values import OrgAnswer, OrgHit, OrgRecord, RecordPage
from kb.records.model import GLOBAL, GROUP, Record, list_aliases, list_field, list_groups
from kb.search.answer import LONGEST, build_snippet
from kb.search.intent import detect_intent
from kb.search.query import Query, parse_query
from kb.search.rank import ELSEWHERE_WEIGHT, GLOBAL_WEIGHT, SearchHit, rate_naming, weigh_hits
from kb.search.retrieve import READ, build_text_question, is_cjk_character, score_text
from kb.text.segment import one_line

CANDIDATES = 48
"""Rows that the terms alone choose; the texts of the best `READ` of them are looked at."""
_MAX_NAMED = 5
"""Records that a question may name by their ids."""
_WIDER = (1, 8, 40)
"""How many times as many candidates are taken where a filter leaves too few of them."""
_MAX_SHARED = 12
"""Records of the asking project's groups that are looked at besides those that the terms alone choose."""
_MAX_LIMIT = 500


def find_told_scopes(
    project: str, settings: Mapping[str, BaseSettings], declared: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """Return by repository the scopes whose records hold for *project*: its own, and those of the groups it is in.

    *settings*: those of every readable repository. A base says of its own groups who is in them; *declared*, name of a
    group → projects or repositories, says it for all. A repository stands for the project that its settings name.
    """
    names = {project, *(repo for repo, one in settings.items() if one.project == project)}
    shared = {f"{GROUP}{name}" for name, members in declared.items() if not names.isdisjoint(members)}
    found = {}
    for repo, one in settings.items():
        own = {group for name in names for group in list_groups(one.groups, name)}
        found[repo] = frozenset({f"project/{project}", *shared, *own, *([GLOBAL] if repo in names else [])})
    return found


def search_repositories(
    reader: Reader, text: str, wanted: Filter = ALL, limit: int = 10, told: Mapping[str, frozenset[str]] = {}
) -> OrgAnswer:
    """Return the *limit* records *wanted* that answer *text* best.

    *told*: by repository the scopes that hold for the project that asks, as `find_told_scopes` finds them. Their
    records come before those of others that hold every term as well, and otherwise count as on a laptop.
    """
    query = parse_query(one_line(text[:LONGEST]))
    limit = max(0, min(limit, _MAX_LIMIT))
    if not query.text or not limit:
        return OrgAnswer((), 0, {})
    numbers = {hash_term(term): term for term in query.weights}
    lists = load_lists(reader, numbers)
    keys = load_all_rows(reader).keys
    counts = {number: one.records for number, one in lists.items()}
    total = sum(records for _, records in reader.states.values())
    terms = sorted(
        (
            WeightedTerm(term, counts[number], compute_worth(query.weights[term], counts[number], total))
            for number, term in numbers.items()
            if counts[number]
        ),
        key=lambda term: (-term.worth, term.term),
    )
    are_all_characters = all(map(is_cjk_character, query.weights))
    telling = {hash_term(term.term) for term in terms if are_all_characters or not is_cjk_character(term.term)}
    allowed = _find_allowed(reader, wanted)
    ranking = Ranking([], True)
    if telling:
        worths = {hash_term(term.term): term.worth for term in terms}
        most = max(CANDIDATES, limit)
        for times in _WIDER:
            ranking = rank_rows(keys, lists, worths, times * most, telling=telling, allowed=allowed)
            found = _filter_ranked(reader, ranking.rows, wanted)
            if len(found) >= most or len(ranking.rows) < times * most:
                break
        ranking = ranking._replace(rows=[row for row in found if row.telling][:most])
    near: list[RankedRow] = []
    if telling and (shared := _find_shared(reader, told)) is not None:
        # of many that say the same words those of a group might not be among the best by their terms
        among = shared if allowed is None else shared & allowed
        near = rank_rows(keys, lists, worths, _MAX_SHARED, telling=telling, allowed=among).rows
        near = [row for row in _filter_ranked(reader, near, wanted) if row.telling]
    # what holds every term is an answer before what says some of them more often
    best = sorted(ranking.rows, key=lambda row: (row.held < len(query.weights), -row.score, row.key))
    chosen = [*best[: max(READ, limit)], *near]
    hits = _read_hits(reader, query, terms, list(dict.fromkeys(chosen)), wanted, limit, told)
    return OrgAnswer(
        tuple(hits),
        len({*ranking.rows, *near}),
        dict(Counter(hit.repo for hit in hits)),
        tuple((term.term, term.frequency) for term in terms),
        ranking.is_exact,
    )


def _find_shared(reader: Reader, told: Mapping[str, frozenset[str]]) -> NDArray[np.bool_] | None:
    """Return of all rows whether they are of groups that *told* has; None where none is."""
    scopes = sorted({scope for one in told.values() for scope in one if scope.startswith(GROUP)})
    if not scopes:
        return None
    positions = load_all_rows(reader).keys >> 32
    found = np.zeros(len(positions), np.bool_)
    for scope in scopes:
        of_them = [at for at, name in enumerate(reader.names) if scope in told.get(name, ())]
        found |= find_holding(reader, [hash_term(build_label("scope", scope))]) & np.isin(positions, of_them)
    return found if found.any() else None


def _read_hits(
    reader: Reader,
    query: Query,
    terms: Sequence[WeightedTerm],
    rows: Sequence[RankedRow],
    wanted: Filter,
    limit: int,
    told: Mapping[str, frozenset[str]],
) -> list[OrgHit]:
    """Return the hits for *rows*, their texts weighed, and for the records that *query* names; the best first."""
    loaded = load_rows(reader, np.asarray([row.key for row in rows], np.int64)) if rows else {}
    question = build_text_question(query, terms)
    most = max((row.score for row in rows), default=0) or 1
    found: dict[tuple[str, str], SearchHit] = {}
    for row in rows:
        repo = reader.names[row.key >> 32]
        record = load_record(*loaded[row.key])
        if is_wanted(record, wanted):
            parts = {"terms": row.score / most, **score_text(question, record, _join_sections(record))}
            is_whole = row.held == len(query.weights)
            found[repo, record.path] = SearchHit(record, sum(parts.values()), is_whole, parts)
    named: dict[tuple[str, str], SearchHit] = {}
    for one in _find_named(reader, query):
        if is_wanted(one.record, wanted, with_columns=True):
            named[one.repo, one.record.path] = found.pop((one.repo, one.record.path), SearchHit(one.record, whole=True))
    asked = detect_intent(query).strategy
    ordered: list[OrgHit] = []
    for some in (named, found):
        weighed = weigh_hits(some.values(), query, None, favoured=asked.kinds, aging=asked.recent)
        pairs = zip((repo for repo, _ in some), weighed, strict=True)
        ordered += sorted((_weigh_nearness(repo, hit, told) for repo, hit in pairs), key=_build_sort_key)
    return [_show(hit, query) for hit in ordered[:limit]]


def _weigh_nearness(repo: str, hit: SearchHit, told: Mapping[str, frozenset[str]]) -> OrgHit:
    """Return *hit* with what it counts to the project that asks: on a laptop the same records are nearer, too."""
    scope, is_told = hit.record.scope, hit.record.scope in told.get(repo, ())
    own = scope.startswith("project/")
    nearness = 1.0 if not told or (is_told and own) else GLOBAL_WEIGHT if is_told else ELSEWHERE_WEIGHT
    return OrgHit(repo, hit.record, round(hit.score * nearness, 9), "", hit.whole, is_told)


def _build_sort_key(hit: OrgHit) -> tuple[bool, bool, float, str, int, str, str]:
    record = hit.record
    return not hit.whole, hit.whole and not hit.told, -hit.score, hit.repo, len(record.id), record.id, record.path


def _show(hit: OrgHit, query: Query) -> OrgHit:
    """Return *hit* with the words that show why it was found."""
    text = "\n".join([_join_sections(hit.record), hit.record.user]).strip() or hit.record.title
    snippet = build_snippet(text, query).highlight_matches("«", "»")
    return hit._replace(score=round(hit.score, 4), snippet=snippet)


def _join_sections(record: Record) -> str:
    return "\n".join(section.text for section in record.sections)


def _find_named(reader: Reader, query: Query) -> Iterator[OrgRecord]:
    """Yield the records that *query* names by id: `payments:D014` means the repository first, then a project."""
    for reference in query.references[:_MAX_NAMED]:
        own = [at for at, name in enumerate(reader.names) if name == reference.project]
        alone = reference._replace(project="" if own else reference.project)
        asked = Query("", references=(alone,))
        for position, path, data in reader.find_named(reference.id, own or range(len(reader.names))):
            record = load_record(path, data)
            if rate_naming(record, asked, record.scope if not alone.project else GLOBAL):
                yield OrgRecord(reader.names[position], record)


# -- filters ------------------------------------------------------------------------------------------


def _has_columns(wanted: Filter) -> bool:
    return wanted._replace(tag="", category="", path="") != ALL


def _find_allowed(reader: Reader, wanted: Filter) -> NDArray[np.bool_] | None:
    """Return of all rows whether they can be *wanted*: few others can; None where all do."""
    columns = (("kind", wanted.kinds), ("status", wanted.statuses), ("scope", wanted.scopes))
    asked = [[build_label(sort, value) for value in values] for sort, values in columns if values]
    found = [find_holding(reader, list(map(hash_term, labels))) for labels in (*asked, *_list_labels(wanted))]
    if wanted.since or wanted.until:
        # a part of a month is weeded out by the day itself, as is whatever has no month
        months = load_all_rows(reader).months
        first, last = number_month(wanted.since), number_month(wanted.until) or MAX_WEIGHT
        found.append((months == 0) | ((months >= first) & (months <= last)))
    return np.logical_and.reduce(found) if found else None


def _list_labels(wanted: Filter) -> list[list[str]]:
    """Return the labels for what no column says: of each list a record *wanted* has one."""
    asked: list[list[str]] = []
    if wanted.tag:
        asked.append([build_label("tag", wanted.tag)])
    if wanted.category:
        asked.append([build_label("filed", wanted.category)])
    if wanted.path:
        parts = _normalise_path(wanted.path).split("/")
        asked.append([build_label("path", "/".join(parts[:depth])) for depth in range(len(parts) + 1)])
    return asked


def _normalise_path(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


def _filter_ranked(reader: Reader, rows: Sequence[RankedRow], wanted: Filter) -> list[RankedRow]:
    """Return those of *rows* whose columns are as *wanted*."""
    if not rows or not _has_columns(wanted):
        return list(rows)
    kept = filter_rows(reader, np.asarray([row.key for row in rows], np.int64), wanted)
    return [row for row in rows if row.key in kept]


def is_wanted(record: Record, wanted: Filter, *, with_columns: bool = False) -> bool:
    """Return whether *record* is as *wanted* in what no column says; *with_columns* in what columns say as well."""
    if with_columns and _has_columns(wanted):
        for value, among in ((record.kind, wanted.kinds), (record.status, wanted.statuses)):
            if among and value not in among:
                return False
        if (wanted.scopes and record.scope not in wanted.scopes) or record.scope in wanted.hidden:
            return False
        if (wanted.since and record.date < wanted.since) or (wanted.until and record.date > wanted.until):
            return False
    if wanted.tag and wanted.tag not in record.tags:
        return False
    if wanted.category and wanted.category not in (*record.tags, *list_field(record, "domain")):
        return False
    return not wanted.path or _governs(record.impact, _normalise_path(wanted.path))


def _governs(impact: Iterable[str], path: str) -> bool:
    """Return whether one of the paths, folders and globs of *impact* holds *path*: as `kb.index.schema` says it."""
    for value in impact:
        folder, pattern = value.rstrip("/"), value.replace("[^", "[!")
        globs = (pattern, pattern.rstrip("/") + "/*")
        if folder == path or any(fnmatch.fnmatchcase(path, one) for one in globs):
            return True
    return False


# -- lists and single records -------------------------------------------------------------------------


def find_repository_record(reader: Reader, repo: str, name: str) -> OrgRecord | None:
    """Return the record with the id or uid *name*: of several the global one, then the first by scope."""
    if repo not in reader.names:
        return None
    found = [load_record(path, data) for _, path, data in reader.find_named(name, [reader.names.index(repo)])]
    found = found or list(_find_by_alias(reader, repo, name))
    best = min(found, key=lambda one: (one.scope != GLOBAL, one.scope, one.path), default=None)
    return OrgRecord(repo, best) if best else None


def _find_by_alias(reader: Reader, repo: str, name: str) -> Iterator[Record]:
    """Yield the records that had the id *name* before they were renumbered: aliases are words of a record."""
    position = reader.names.index(repo)
    numbers = group_keys(load_term_keys(reader, [hash_term(name.casefold())]).tolist()).get(position, [])
    for _, path, data in reader.list_rows(position, ALL, _MAX_LIMIT, "", numbers) if numbers else ():
        record = load_record(path, data)
        if name in list_aliases(record.extra):
            yield record


def list_repository_records(reader: Reader, wanted: Filter, limit: int, after: str) -> RecordPage:
    """Return at most *limit* records *wanted* behind the page that gave *after*; raise BadInput for another text."""
    repo, colon, path = after.partition(":")
    if after and not colon:
        raise BadInput(msg("{after} does not come from a page of records", after=after))
    limit = max(1, min(limit, _MAX_LIMIT))
    found: list[OrgRecord] = []
    for one in _iter_records(reader, wanted, repo, path, limit + 1):
        found.append(one)
        if len(found) > limit:
            last = found[limit - 1]
            return RecordPage(tuple(found[:limit]), f"{last.repo}:{last.record.path}")
    return RecordPage(tuple(found), "")


def iter_records(reader: Reader, wanted: Filter = ALL) -> Iterator[OrgRecord]:
    """Yield every record *wanted* in the order of repository and path."""
    yield from _iter_records(reader, wanted, "", "", _MAX_LIMIT)


def _iter_records(reader: Reader, wanted: Filter, repo: str, path: str, at_once: int) -> Iterator[OrgRecord]:
    labelled = [find_holding(reader, list(map(hash_term, labels))) for labels in _list_labels(wanted)]
    keys = load_all_rows(reader).keys[np.logical_and.reduce(labelled)] if labelled else None
    numbers = None if keys is None else group_keys(keys.tolist())
    for position, name in enumerate(reader.names):
        among = None if numbers is None else numbers.get(position, [])
        if name < repo or among == []:
            continue
        after = path if name == repo else ""
        while rows := reader.list_rows(position, wanted, at_once, after, among):
            for _, after, data in rows:
                record = load_record(after, data)
                if is_wanted(record, wanted):
                    yield OrgRecord(name, record)
            if len(rows) < at_once:
                break
