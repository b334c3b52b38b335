"""The file of the index: its tables, how a record becomes a row and comes back, and how it is opened and made.

Its failures are IndexFailed; a file that cannot be used is thrown away.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from kb.adr.adopted import find_adopted_citations
from kb.errors import IndexFailed
from kb.files import read_clone_mark
from kb.i18n import msg
from kb.records.kinds import SIGNATURE
from kb.records.model import (
    AGENT,
    LIVE,
    Record,
    Section,
    imported_number,
    list_aliases,
    list_field,
    list_spoken_numbers,
    list_titles,
)
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import build_index_terms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any
else:
    try:
        import _sqlite3 as sqlite3  # what `sqlite3` adds is converters of dates, for which it loads `datetime`
    except ImportError:
        import sqlite3

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


ADOPTED = "adopted"
"""The note that names the adopted folders, with their scopes, whose files the index has read."""
SINCE = "since"
"""The note with the day since which uses of records are counted."""
USED = "used:"
"""Begins the note on uses of a record: balance and last day, `-1 2026-11-23`."""

# The number of this schema; the digit counts the changes of meaning that the text above does not show.
SCHEMA = zlib.crc32(TABLES.encode() + b"13") & 0x7FFFFFFF


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
    hidden: tuple[str, ...] = ()  # scopes to leave out: those of agents other than the caller
    category: str = ""  # records with this tag, or of this domain
    is_folder: bool = False  # `path` is a folder: records that name anything below it as well


ALL = Filter()

# `impact` names a file, a folder or a glob: "src/auth" and "src/auth/*.py" both govern src/auth/token.py. Whoever asks
# it of a value asks SQLite, so that there is one rule. A longer value is no path, and as a glob it would be an error.
_GOVERNS = (
    "CASE WHEN length(value) > 4096 THEN 0"
    " ELSE rtrim(value, '/') = ? OR ? GLOB value OR ? GLOB rtrim(value, '/') || '/*' END"
)


def normalise_path(path: str) -> str:
    """Return *path*, as it was typed, as `impact` has it: ./src/pay.py, src/pay.py and src/pay.py/ are one path."""
    return posixpath.normpath(path.replace("\\", "/"))


def list_governing(impact: Iterable[str], path: str) -> list[str]:
    """Return those of *impact* that govern *path*, by the rule used for finding records."""
    values = (json.dumps(list(impact)), *[normalise_path(path)] * 3)
    return [value for (value,) in _open_memory().execute(f"SELECT value FROM json_each(?) WHERE {_GOVERNS}", values)]


@lru_cache(maxsize=1)
def _open_memory() -> sqlite3.Connection:
    """Return a database without tables, which any thread may ask."""
    return sqlite3.connect(_MEMORY, check_same_thread=False)


# Path and stamp of the files in one folder, as the index knows them; `build_span` gives the values.
FILES_IN_FOLDER = " UNION ALL ".join(
    f"SELECT path, stamp FROM {table} WHERE path > ?1 AND path < ?2 AND instr(substr(path, ?3), '/') = 0"
    for table in ("records", "broken")
)


def build_span(folder: str) -> tuple[str, str, int]:
    """Return the bounds of the paths under *folder*, and the offset of the rest of the path."""
    # "0" follows "/" in order, so every path under the folder is between the two, and an index finds it
    return folder + "/", folder + "0", len(folder) + 2


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
    filed = "r.n IN (SELECT n FROM facets WHERE facet IN ('tag', 'domain') AND value = ?)"
    given = ((tagged, wanted.tag), (filed, wanted.category), ("r.day >= ?", wanted.since), ("r.day <= ?", wanted.until))
    for term, value in given:
        if value:
            parts.append(term)
            values.append(value)
    if wanted.hidden:
        parts.append(f"r.scope NOT IN ({build_placeholders(wanted.hidden)})")
        values += wanted.hidden
    if wanted.path:
        path = normalise_path(wanted.path)
        below = " OR instr(value, ?) = 1" if wanted.is_folder else ""
        parts.append(f"r.n IN (SELECT n FROM facets WHERE facet = 'impact' AND ({_GOVERNS}{below}))")
        values += [path] * 3
        if wanted.is_folder:
            values.append("" if path == "." else f"{path}/")
    return " AND ".join(parts), values


_MAX_CACHED_CHARACTERS = 100  # characters of the longest piece of a text whose terms are worth remembering
_known_terms = lru_cache(maxsize=1 << 16)(build_index_terms)


def compute_index_terms(text: str) -> str:
    """Return `build_index_terms(text)`: the same words come up over and over in a knowledge base.

    A piece between spaces that has only ASCII letters is cut up by itself; others are taken together, since no phrase
    may reach from one unspaced run into the next.
    """
    if text.isascii():
        return " ".join(filter(None, map(_recall_terms, text.split())))
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
    return _known_terms(text) if len(text) < _MAX_CACHED_CHARACTERS else build_index_terms(text)


class IndexedWords(NamedTuple):
    """The columns of a record in the table `words`. It stores no text: deleting a row needs its columns again."""

    title: str
    tags: str
    body: str


def extract_words(record: Record) -> IndexedWords:
    """Return the words by which *record* is found."""
    live = build_scope_term(record.scope) if record.status in LIVE else ""
    return IndexedWords(
        compute_index_terms("\n".join(list_titles(record))),
        f"{compute_index_terms(join_tags(record))} {live}",
        compute_index_terms(join_body(record)),
    )


def join_tags(record: Record) -> str:
    """Return what *record* is filed under."""
    names = (record.id, *list_aliases(record.extra), *list_spoken_numbers(record.extra))
    return " ".join((*record.tags, *record.impact, *names))


def join_body(record: Record) -> str:
    """Return the text of *record*."""
    return "\n".join([*(section.text for section in record.sections), record.user])


def extract_facets(record: Record) -> list[tuple[str, str, str]]:
    """Return the facets by which *record* can be found: facet, value, detail."""
    from kb.records.citations import extract_rejected_options, find_citations, find_record_links

    facets = [("tag", tag, "") for tag in record.tags]
    facets += [("domain", domain, "") for domain in list_field(record, "domain")]
    facets += [("impact", path, "") for path in record.impact]
    facets += [("claim", key, value) for key, value in record.claims.items()]
    if lines := list_field(record, SIGNATURE):
        from kb.similarity.failure_signatures import read_signature

        family, *errors = read_signature(lines)
        facets += [("signature", family, "family")] if family else []
        facets += [("signature", line, "") for line in errors]
    facets += [("supersedes", target, "") for target in record.supersedes]
    facets += [("amends", target, "") for target in record.amends]
    facets += [("source", source, f"{record.scope} {record.id:0>12}") for source in record.sources]
    facets += [("option", value, sort) for value, sort in extract_rejected_options(record)]
    facets += [("number", str(number), "")] if (number := imported_number(record.extra)) is not None else []
    body = join_body(record)
    cites = [*find_citations(body), *find_record_links(body)]
    cites += [("", one.id, one.line) for one in find_adopted_citations(record, body)]
    return facets + [("cites", cited, f"{project}:{line}") for project, cited, line in cites]


def dump_record(record: Record) -> bytes:
    """Return *record*, without its path, encoded for a row."""
    return zlib.compress(json.dumps(record[:-1], ensure_ascii=False, default=str).encode(), 1)


_SECTIONS = Record._fields.index("sections")


def parse_record(path: str, data: bytes) -> Record:
    """Return the record decoded from a row."""
    # JSON has no tuples: lists become tuples again, and sections their own type.
    values = json.loads(zlib.decompress(data))
    fields: list[Any] = [tuple(value) if isinstance(value, list) else value for value in values]
    fields[_SECTIONS] = tuple(Section(*section) for section in fields[_SECTIONS])
    return Record._make([*fields, path])


load_record = lru_cache(maxsize=4096)(parse_record)
"""The same, remembered: a process asks for the same records again and again."""


# -- file -----------------------------------------------------------------------------------------

_MEMORY = ":memory:"


def open_index(path: str) -> tuple[Connection, bool]:
    """Open the index *path* and return whether it was made just now: there was none, or none that can be used.

    Where nothing can be written it is made in memory, for this process alone: questions are answered all the same.
    One that another clone has made, as it comes with a copy or an archive, is thrown away before it is read.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            return _connect(path)
        except IndexFailed as error:
            # A locked index is somebody at work, not damage.
            if "locked" in str(error):
                raise
            _delete_index_files(path)
            return _connect(path)
    except (OSError, IndexFailed):
        if os.path.isdir(folder) and os.access(folder, os.W_OK):
            raise
        return _connect(_MEMORY)


def copy_index(source: str, target: str) -> None:
    """Copy the index *source* to the file *target*, which is not there yet; raise IndexFailed."""
    try:
        with contextlib.closing(sqlite3.connect(source)) as one, contextlib.closing(sqlite3.connect(target)) as other:
            one.backup(other)
    except sqlite3.Error as error:
        raise _build_unusable_error(error) from error


def _connect(path: str) -> tuple[Connection, bool]:
    try:
        db = sqlite3.connect(path, timeout=20, isolation_level=None, factory=Connection)
    except sqlite3.Error as error:
        raise _build_unusable_error(error) from error
    try:
        db.path = path if path != _MEMORY else ""
        db.execute("PRAGMA synchronous=OFF")
        clone = 0  # the mark of an index that this clone has made; 0 where it cannot be told from another's
        if db.path and (mark := read_clone_mark(os.path.dirname(path))):
            clone = zlib.crc32(mark.encode()) >> 1
        schema, maker = db.fetch_value("PRAGMA user_version"), db.fetch_value("PRAGMA application_id")
        if schema == SCHEMA and maker != clone:
            raise IndexFailed("another clone's")
        return db, schema != SCHEMA and _create_tables(db, clone)
    except BaseException:
        db.close()
        raise


def _create_tables(db: Connection, clone: int) -> bool:
    """Make the tables, with the mark of this *clone*; return whether there were none: others may have been faster."""
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("BEGIN IMMEDIATE")
    schema = db.fetch_value("PRAGMA user_version")
    if schema not in (0, SCHEMA):
        raise IndexFailed("another schema")
    if schema == 0:
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id={clone}")
        db.execute(f"PRAGMA user_version={SCHEMA}")
    db.execute("COMMIT")
    return bool(schema == 0)


def _convert_failures(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a *method* of a cursor whose failures are IndexFailed."""

    def call(cursor: sqlite3.Cursor, *values: Any) -> Any:
        try:
            return method(cursor, *values)
        except sqlite3.Error as error:
            raise _convert_error(error, cursor.connection) from error

    return call


class Cursor(sqlite3.Cursor):
    """A cursor whose failures are IndexFailed."""

    execute = _convert_failures(sqlite3.Cursor.execute)
    executemany = _convert_failures(sqlite3.Cursor.executemany)
    fetchone = _convert_failures(sqlite3.Cursor.fetchone)
    fetchall = _convert_failures(sqlite3.Cursor.fetchall)
    fetchmany = _convert_failures(sqlite3.Cursor.fetchmany)
    __next__ = _convert_failures(sqlite3.Cursor.__next__)


class Connection(sqlite3.Connection):
    """A connection with such cursors."""

    path = ""  # the file, so that it can be thrown away
    find_reader: Callable[[], str] | None = None  # which agent asks, "" for a person; None: nothing is hidden

    def cursor(self, *_: Any) -> Cursor:  # type: ignore[override]
        """Return a cursor."""
        return super().cursor(Cursor)

    def execute(self, sql: str, values: Any = (), /) -> Cursor:
        """Run a statement in a cursor of its own."""
        cursor: Cursor = self.cursor().execute(sql, values)
        return cursor

    def executemany(self, sql: str, values: Any, /) -> Any:
        """Run a statement for each of *values* in a cursor of its own."""
        return self.cursor().executemany(sql, values)

    def list_hidden_scopes(self, named: Sequence[str] = (), *, by_name: bool = False) -> tuple[str, ...]:
        """Return the scopes of agents other than the one who asks: the one default filter of every door.

        A person is shown what they name (*named*, or *by_name*: a record by its id), an agent nothing of another's.
        """
        if self.find_reader is None:
            return ()
        # "0" is the character behind "/"; usually no agent has records of its own, and an index says so
        agents = self.execute(
            "SELECT DISTINCT scope FROM records WHERE scope > 'agent/' AND scope < 'agent0'"
        ).fetchall()
        if not agents:
            return ()
        reader = self.find_reader()
        shown = {f"{AGENT}{reader}"} if reader else {scope for (scope,) in agents} if by_name else set(named)
        return tuple(scope for (scope,) in agents if scope not in shown)

    def restrict_filter(self, wanted: Filter) -> Filter:
        """Return *wanted* without the private records of other agents."""
        hidden = self.list_hidden_scopes(wanted.scopes)
        return wanted._replace(hidden=hidden) if hidden else wanted

    @contextlib.contextmanager
    def batch_changes(self, *, keep: bool) -> Iterator[None]:
        """Make all changes inside visible together; none when an exception leaves the block or *keep* is False."""
        if self.in_transaction:
            yield
            return
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK")
            raise
        try:
            self.execute("COMMIT" if keep else "ROLLBACK")
        except IndexFailed:
            self.execute("ROLLBACK")
            raise

    def fetch_value(self, sql: str, values: Any = ()) -> Any:
        """Return the first value of the first row, or None."""
        row = self.execute(sql, values).fetchone()
        return row[0] if row else None


def _convert_error(error: sqlite3.Error, connection: sqlite3.Connection) -> IndexFailed:
    """Return the error to raise; delete a damaged index, so that the next process rebuilds it."""
    # nothing is lost: the index is a cache of files in git
    if "malformed" in str(error) and isinstance(connection, Connection) and connection.path:
        _delete_index_files(connection.path)
        return IndexFailed(msg("the index was damaged and has been deleted"), hint=msg("try again"))
    return _build_unusable_error(error)


def _build_unusable_error(error: sqlite3.Error) -> IndexFailed:
    return IndexFailed(msg("the index cannot be used: {problem}", problem=error), hint=msg("run: kb doctor --fix"))


def _delete_index_files(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
