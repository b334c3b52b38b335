"""The tables of the index, and how a record becomes a row and comes back."""

import json
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from kb.record import Record, Section

TABLES = """
CREATE TABLE records (
    n INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL, uid TEXT NOT NULL, id TEXT NOT NULL,
    kind TEXT NOT NULL, scope TEXT NOT NULL, status TEXT NOT NULL, day TEXT NOT NULL, title TEXT NOT NULL,
    same TEXT NOT NULL, plain TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX records_id ON records (id);
CREATE INDEX records_uid ON records (uid);
CREATE INDEX records_same ON records (same);
CREATE INDEX records_kind ON records (kind, scope);
CREATE VIRTUAL TABLE words USING fts5(title, tags, body, tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE facets (n INTEGER NOT NULL, facet TEXT NOT NULL, value TEXT NOT NULL, rest TEXT NOT NULL);
CREATE INDEX facets_value ON facets (facet, value);
CREATE INDEX facets_n ON facets (n);
CREATE TABLE broken (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, problem TEXT NOT NULL, line INTEGER NOT NULL);
CREATE TABLE folders (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, tally TEXT NOT NULL);
CREATE TABLE numbers (scope TEXT, prefix TEXT, number INTEGER NOT NULL, PRIMARY KEY (scope, prefix));
CREATE TABLE held (name TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


SCHEMA = zlib.crc32(TABLES.encode() + b"1") & 0x7FFFFFFF
"""The number of this schema; the digit counts the changes of meaning that the text above does not show."""


class Found(NamedTuple):
    """A record and how well the index finds it answers: the lower the better (bm25)."""

    record: Record
    score: float


class Filter(NamedTuple):
    """Which records are wanted; an empty field wants all."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    tag: str = ""
    since: str = ""
    """ISO day: records of that day or later."""


ALL = Filter()


STAMPS_OF_FOLDER = " UNION ALL ".join(
    f"SELECT path, stamp FROM {table} WHERE path > ? AND path < ? AND instr(substr(path, ?), '/') = 0"
    for table in ("records", "broken")
)
"""Path and stamp of the files in one folder, as the index knows them; the values of `between` twice."""


def between(folder: str) -> tuple[str, str, int]:
    """Return the values for one table of STAMPS_OF_FOLDER."""
    return folder + "/", folder + "0", len(folder) + 2


def marks(values: Iterable[object]) -> str:
    """Return a question mark for each of *values*."""
    return ", ".join("?" for _ in values)


def where(wanted: Filter) -> tuple[str, list[str]]:
    """Return the condition on the table `records r` that *wanted* states, and its values."""
    parts: list[str] = ["1"]
    values: list[str] = []
    for column, among in (("kind", wanted.kinds), ("status", wanted.statuses), ("scope", wanted.scopes)):
        if among:
            parts.append(f"r.{column} IN ({marks(among)})")
            values += among
    if wanted.tag:
        parts.append("r.n IN (SELECT n FROM facets WHERE facet = 'tag' AND value = ?)")
        values.append(wanted.tag)
    if wanted.since:
        parts.append("r.day >= ?")
        values.append(wanted.since)
    return " AND ".join(parts), values


def dumped(record: Record) -> str:
    """Return *record* without its path as the text a row keeps."""
    return json.dumps(record[:-1], ensure_ascii=False, default=str)


def loaded(path: str, data: str) -> Record:
    """Return the record that a row keeps."""
    fields: list[Any] = [tuple(value) if isinstance(value, list) else value for value in json.loads(data)]
    record = Record._make([*fields, path])
    return record._replace(sections=tuple(Section(*section) for section in record.sections))
