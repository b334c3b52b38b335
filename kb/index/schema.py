"""The tables of the index, and how a record becomes a row and comes back."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from functools import lru_cache

from kb.records.kinds import SIGNATURE
from kb.records.model import LIVE, Record, Section, list_field, list_spoken_numbers
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import build_index_terms

if TYPE_CHECKING:
    from typing import Any

TABLES = """
CREATE TABLE records (
    n INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL, uid TEXT NOT NULL, id TEXT NOT NULL,
    kind TEXT NOT NULL, scope TEXT NOT NULL, status TEXT NOT NULL, day TEXT NOT NULL, title TEXT NOT NULL,
    same TEXT NOT NULL, plain TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX records_stamps ON records (path, stamp);
CREATE INDEX records_id ON records (id);
CREATE INDEX records_uid ON records (uid);
CREATE INDEX records_same ON records (same);
CREATE INDEX records_kind ON records (kind, scope, status);
CREATE INDEX records_titles ON records (scope, status, day, id, title, same, kind);
CREATE VIRTUAL TABLE words USING fts5(title, tags, body, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE postings (t INTEGER, n INTEGER, w INTEGER NOT NULL, PRIMARY KEY (t, n)) WITHOUT ROWID;
CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE spellings (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE passages (digest INTEGER, n INTEGER, waits INTEGER NOT NULL, PRIMARY KEY (digest, n)) WITHOUT ROWID;
CREATE INDEX passages_waiting ON passages (n) WHERE waits;
CREATE TABLE facets (n INTEGER NOT NULL, facet TEXT NOT NULL, value TEXT NOT NULL, rest TEXT NOT NULL);
CREATE INDEX facets_value ON facets (facet, value);
CREATE INDEX facets_n ON facets (n);
CREATE TABLE broken (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, problem TEXT NOT NULL, line INTEGER NOT NULL);
CREATE TABLE folders (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE numbers (scope TEXT, prefix TEXT, number INTEGER NOT NULL, PRIMARY KEY (scope, prefix));
CREATE TABLE held (name TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


# The number of this schema; the digit counts the changes of meaning that the text above does not show.
SCHEMA = zlib.crc32(TABLES.encode() + b"5") & 0x7FFFFFFF


def build_scope_term(scope: str) -> str:
    """Return the term that the words of a record of *scope* have while it is live, beside its tags."""
    return f"xscope{zlib.crc32(scope.encode()):08x}"


class Filter(NamedTuple):
    """Which records are wanted; an empty field wants all."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    tag: str = ""
    since: str = ""  # ISO day: records of that day or later
    until: str = ""  # ISO day: records of that day or earlier
    path: str = ""  # as typed, from the project's root: records that name it, or a folder it is in, in their impact


ALL = Filter()

# `impact` names a file, a folder or a glob: "src/auth" and "src/auth/*.py" both govern src/auth/token.py.
_GOVERNS = (
    "r.n IN (SELECT n FROM facets WHERE facet = 'impact' AND (rtrim(value, '/') = ? OR ? GLOB value"
    " OR ? GLOB rtrim(value, '/') || '/*'))"
)


def build_placeholders(values: Iterable[object]) -> str:
    """Return a question mark for each of *values*."""
    return ", ".join("?" for _ in values)


def build_condition(wanted: Filter) -> tuple[str, list[str]]:
    """Return the condition on the table `records r` that *wanted* states, and its values."""
    parts: list[str] = ["1"]
    values: list[str] = []
    for column, among in (("kind", wanted.kinds), ("status", wanted.statuses), ("scope", wanted.scopes)):
        if among:
            parts.append(f"r.{column} IN ({build_placeholders(among)})")
            values += among
    tagged = "r.n IN (SELECT n FROM facets WHERE facet = 'tag' AND value = ?)"
    for term, value in ((tagged, wanted.tag), ("r.day >= ?", wanted.since), ("r.day <= ?", wanted.until)):
        if value:
            parts.append(term)
            values.append(value)
    if wanted.path:
        # ./src/pay.py, src/pay.py and src/pay.py/ are one path to the index: callers pass it as it was typed
        parts.append(_GOVERNS)
        values += [os.path.normpath(wanted.path).replace(os.sep, "/")] * 3
    return " AND ".join(parts), values


_SHORT = 100  # characters of the longest piece of a text whose terms are worth remembering
_known_terms = lru_cache(maxsize=1 << 16)(build_index_terms)


def compute_index_terms(text: str) -> str:
    """Return `build_index_terms(text)`: what stands in a knowledge base says the same words over and over.

    A piece between spaces that has only ASCII letters is cut up by itself; others are taken together, since no phrase
    may reach from one unspaced run into the next.
    """
    found: list[str] = []
    others: list[str] = []
    for piece in text.split():
        if not piece.isascii():
            others.append(piece)
        elif known := _recall_terms(piece):
            found += (_recall_terms(" ".join(others)), known)
            others = []
    return " ".join(filter(None, (*found, _recall_terms(" ".join(others)))))


def _recall_terms(text: str) -> str:
    return _known_terms(text) if len(text) < _SHORT else build_index_terms(text)


class IndexedWords(NamedTuple):
    """What a row of the table `words` says of a record. The table keeps no text: to delete a row is to say it again."""

    title: str
    tags: str
    body: str


def extract_words(record: Record) -> IndexedWords:
    """Return the words by which *record* is found."""
    live = build_scope_term(record.scope) if record.status in LIVE else ""
    return IndexedWords(
        compute_index_terms("\n".join((record.title, *list_field(record, "asked")))),
        f"{compute_index_terms(join_tags(record))} {live}",
        compute_index_terms(join_body(record)),
    )


def join_tags(record: Record) -> str:
    """Return what *record* is filed under."""
    return " ".join((*record.tags, *record.impact, record.id, *list_spoken_numbers(record.extra)))


def join_body(record: Record) -> str:
    """Return the text of *record*."""
    return "\n".join([*(section.text for section in record.sections), record.user])


def extract_facets(record: Record) -> list[tuple[str, str, str]]:
    """Return what else *record* is asked for by: facet, value, detail."""
    from kb.records.citations import find_citations, find_record_links

    facets = [("tag", tag, "") for tag in record.tags]
    facets += [("impact", path, "") for path in record.impact]
    facets += [("claim", key, value) for key, value in record.claims.items()]
    facets += [("signature", line, "") for line in list_field(record, SIGNATURE)]
    facets += [("supersedes", target, "") for target in record.supersedes]
    facets += [("amends", target, "") for target in record.amends]
    facets += [("source", source, f"{record.scope} {record.id:0>12}") for source in record.sources]
    body = join_body(record)
    cites = (*find_citations(body), *find_record_links(body))
    return facets + [("cites", cited, f"{project}:{line}") for project, cited, line in cites]


def dump_record(record: Record) -> bytes:
    """Return *record* without its path as a row keeps it."""
    return zlib.compress(json.dumps(record[:-1], ensure_ascii=False, default=str).encode(), 1)


_SECTIONS = Record._fields.index("sections")


@lru_cache(maxsize=4096)
def load_record(path: str, data: bytes) -> Record:
    """Return the record that a row keeps."""
    # JSON has no tuples: lists become tuples again, and sections their own type.
    kept = json.loads(zlib.decompress(data))
    fields: list[Any] = [tuple(value) if isinstance(value, list) else value for value in kept]
    fields[_SECTIONS] = tuple(Section(*section) for section in fields[_SECTIONS])
    return Record._make([*fields, path])
