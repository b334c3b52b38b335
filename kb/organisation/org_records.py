"""Filter records of the readable repositories, read them page by page, and find single ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kb.errors import BadInput
from kb.i18n import msg
from kb.index.postings import hash_term
from kb.index.schema import (
    ALL,
    Filter,
    extract_words,
    list_governing,
    load_record,
    normalise_path,
    parse_record,
)
from kb.organisation.hub_engine import MASK, Reader, build_label, filter_rows, group_keys, load_rows, number_month
from kb.organisation.hub_lists import MAX_WEIGHT
from kb.organisation.org_rank import (
    RankedRow,
    find_holding,
    load_all_rows,
    load_term_keys,
)
from kb.organisation.org_values import KeptRecord, OrgRecord, RecordPage
from kb.records.model import GLOBAL, Record, list_aliases, list_field, list_titles
from kb.search.rank import fold_titles
from kb.search.retrieve import read_text

MAX_LIMIT = 500
"""Maximum number of records in one answer."""


# -- filters ------------------------------------------------------------------------------------------


def _has_columns(wanted: Filter) -> bool:
    return wanted._replace(tag="", category="", path="") != ALL


def find_allowed_rows(reader: Reader, wanted: Filter) -> NDArray[np.bool_] | None:
    """Return the mask of the rows that may match *wanted*, with few others, or None if all may."""
    columns = (("kind", wanted.kinds), ("status", wanted.statuses), ("scope", wanted.scopes))
    asked = [[build_label(sort, value) for value in values] for sort, values in columns if values]
    masks = [find_holding(reader, list(map(hash_term, labels))) for labels in (*asked, *_list_labels(wanted))]
    if wanted.since or wanted.until:
        # days within a month, and rows without a month, are filtered by the day itself
        months = load_all_rows(reader).months
        first, last = number_month(wanted.since), number_month(wanted.until) or MAX_WEIGHT
        masks.append((months == 0) | ((months >= first) & (months <= last)))
    return np.logical_and.reduce(masks) if masks else None


def _list_labels(wanted: Filter) -> list[list[str]]:
    """Return the labels for filters without a column: a matching record has one label of each list."""
    asked: list[list[str]] = []
    if wanted.tag:
        asked.append([build_label("tag", wanted.tag)])
    if wanted.category:
        asked.append([build_label("filed", wanted.category)])
    if wanted.path:
        parts = normalise_path(wanted.path).split("/")
        asked.append([build_label("path", "/".join(parts[:depth])) for depth in range(len(parts) + 1)])
    return asked


def filter_ranked(reader: Reader, rows: Sequence[RankedRow], wanted: Filter) -> list[RankedRow]:
    """Return those of *rows* whose columns match *wanted*."""
    if not rows or not _has_columns(wanted):
        return list(rows)
    matching = filter_rows(reader, np.asarray([row.key for row in rows], np.int64), wanted)
    return [row for row in rows if row.key in matching]


def is_wanted(record: Record, wanted: Filter, *, with_columns: bool = False) -> bool:
    """Return whether *record* matches the filters of *wanted* without a column; *with_columns*: all of them."""
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
    return not wanted.path or bool(list_governing(record.impact, wanted.path))


# -- records that are weighed -------------------------------------------------------------------------

_RECORD_BYTES, _TEXT_BYTES = 4_000, 80
"""Estimated overhead in bytes of a cached record, and of each of its texts."""


def load_kept_records(reader: Reader, keys: Collection[int]) -> dict[int, KeptRecord]:
    """Return the analysed records of the rows *keys*, in the order of *keys*, from the cache where possible."""
    names = {key: (reader.marks[key >> 32], key & MASK) for key in keys}
    known = reader.cache.records.find(names.values())
    missing = [key for key, name in names.items() if name not in known]
    if missing:
        rows = load_rows(reader, np.asarray(missing, np.int64))
        new = {names[key]: analyse_record(*row) for key, row in rows.items()}
        reader.cache.records.keep(new)
        known |= new
    return {key: known[name] for key, name in names.items()}


def analyse_record(path: str, data: bytes) -> KeptRecord:
    """Return the record of a row with all values that queries need."""
    record = parse_record(path, data)
    cut = [column.split() for column in extract_words(record)]
    columns = tuple(f" {' '.join(terms)} " for terms in cut)
    said = read_text(list_titles(record), "\n".join(section.text for section in record.sections))
    texts = (*columns, said.folded, said.folded, record.user, *(marked for marked, _ in said.titles))
    size = _RECORD_BYTES + sum(_TEXT_BYTES + len(text) * (2 - text.isascii()) for text in (*texts, *said.terms))
    return KeptRecord(record, columns, sum(map(len, cut)), said, fold_titles(record), size)


# -- lists and single records -------------------------------------------------------------------------


def find_repository_record(reader: Reader, repo: str, name: str) -> OrgRecord | None:
    """Return the record with the id or uid *name*; of several, the global one, or else the first by scope."""
    if repo not in reader.names:
        return None
    records = [load_record(path, data) for _, path, data in reader.find_named(name, [reader.names.index(repo)])]
    records = records or list(_find_by_alias(reader, repo, name))
    best = min(records, key=lambda one: (one.scope != GLOBAL, one.scope, one.path), default=None)
    return OrgRecord(repo, best) if best else None


def _find_by_alias(reader: Reader, repo: str, name: str) -> Iterator[Record]:
    """Yield the records that had the id *name* before a renumbering; aliases are among the words of a record."""
    position = reader.names.index(repo)
    numbers = group_keys(load_term_keys(reader, [hash_term(name.casefold())]).tolist()).get(position, [])
    for _, path, data in reader.list_rows(position, ALL, MAX_LIMIT, "", numbers) if numbers else ():
        record = load_record(path, data)
        if name in list_aliases(record.extra):
            yield record


def list_repository_records(reader: Reader, wanted: Filter, limit: int, after: str) -> RecordPage:
    """Return at most *limit* records *wanted* after the page that returned *after*; raise BadInput for another text."""
    repo, colon, path = after.partition(":")
    if after and not colon:
        raise BadInput(msg("{after} does not come from a page of records", after=after))
    limit = max(1, min(limit, MAX_LIMIT))
    found: list[OrgRecord] = []
    for one in _iter_records(reader, wanted, repo, path, limit + 1):
        found.append(one)
        if len(found) > limit:
            last = found[limit - 1]
            return RecordPage(tuple(found[:limit]), f"{last.repo}:{last.record.path}")
    return RecordPage(tuple(found), "")


def iter_records(reader: Reader, wanted: Filter = ALL) -> Iterator[OrgRecord]:
    """Yield every record *wanted* in the order of repository and path."""
    yield from _iter_records(reader, wanted, "", "", MAX_LIMIT)


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
