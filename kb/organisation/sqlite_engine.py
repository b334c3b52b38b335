"""The index of a hub in SQLite: one file per repository, so that a caller opens no file without access to it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kb.errors import IndexFailed
from kb.files import remove_file
from kb.i18n import Message, msg
from kb.index.schema import ALL, Filter
from kb.organisation.hub_engine import (
    SCHEMA,
    KnownRow,
    RepositoryState,
    StoredRow,
    apply_to_store,
    build_column_condition,
    group_keys,
)
from kb.organisation.hub_lists import Keys, Packed, ReadCache, find_bucket
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_values import BrokenFile

_TABLES = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    n INTEGER PRIMARY KEY, path TEXT NOT NULL, id TEXT NOT NULL, uid TEXT NOT NULL, kind TEXT NOT NULL,
    scope TEXT NOT NULL, status TEXT NOT NULL, day TEXT NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX records_path ON records (path);
CREATE INDEX records_id ON records (id);
CREATE INDEX records_uid ON records (uid);
CREATE TABLE postings (slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE notes (key TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE broken (path TEXT NOT NULL, problem TEXT NOT NULL, line INTEGER NOT NULL);
"""
_PATIENCE = 20.0
"""Seconds to wait for another process that is writing to the same file."""
_AMONG = "(SELECT value FROM json_each(?))"
"""Passes any number of values in one parameter."""


@contextlib.contextmanager
def _convert_failures() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = msg("the index cannot be used: {problem}", problem=error)
        raise IndexFailed(message, hint=msg("remove its file and run: kb hub sync")) from error


class SqliteEngine:
    """One file per repository in a folder."""

    def __init__(self, folder: str) -> None:
        """Keep the files in *folder*, which is created."""
        self._folder = folder
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._cache = ReadCache()
        self._lock = threading.Lock()
        os.makedirs(folder, exist_ok=True)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
            self._local = threading.local()

    def optimise(self) -> None:
        """Do nothing: SQLite maintains its files itself."""

    def keep_repositories(self, names: Collection[str]) -> None:
        """Delete every repository except *names* from the index."""
        for file in os.listdir(self._folder):
            name, end, rest = file.rpartition(".db")
            if end and rest in ("", "-wal", "-shm") and name not in names:
                remove_file(os.path.join(self._folder, file))

    def read_state(self, name: str) -> RepositoryState:
        """Return the state of the repository *name*."""
        with _convert_failures():
            db = self._connect(name)
            if db is None:
                return RepositoryState()
            values = dict(db.execute("SELECT key, value FROM state").fetchall())
            broken = db.execute("SELECT path, problem, line FROM broken ORDER BY path, rowid").fetchall()
        files = tuple(BrokenFile(path, load_message(problem), line) for path, problem, line in broken)
        commit, count = values.get("commit", ""), int(values.get("records", "0"))
        return RepositoryState(commit, count, files, values.get("fetched", ""), values.get("error", ""))

    def note_fetch(self, name: str, fetched: str, error: str) -> None:
        """Save the result of the last fetch; *fetched* "" keeps the time of the last successful one."""
        values = [("error", error), *([("fetched", fetched)] if fetched else [])]
        with _convert_failures():
            self._make(name).executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", values)

    def apply_change(self, name: str, change: RepositoryChange) -> tuple[int, int] | None:
        """Bring the index to another commit in one transaction; return how many records were written and removed."""
        with _convert_failures():
            db = self._make(name)
            db.execute("BEGIN IMMEDIATE")
            try:
                row = db.execute("SELECT value FROM state WHERE key = 'commit'").fetchone()
                if not change.is_whole and (row[0] if row else "") != change.before:
                    db.execute("ROLLBACK")
                    return None
                done = apply_to_store(_SqliteStore(db), change)
                count = db.execute("SELECT count(*) FROM records").fetchone()[0]
                values = [("commit", change.commit), ("records", str(count)), ("stamp", secrets.token_hex(8))]
                db.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", values)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        return done

    @contextlib.contextmanager
    def open_reader(self, readable: frozenset[str]) -> Iterator[SqliteReader]:
        """Open a snapshot of the repositories *readable*, without opening the file of any other."""
        with _convert_failures():
            files = [(name, db) for name in sorted(readable) if (db := self._connect(name)) is not None]
            try:
                for _, db in files:
                    db.execute("BEGIN")
                yield SqliteReader(files, self._cache)
            finally:
                for _, db in files:
                    if db.in_transaction:
                        db.execute("ROLLBACK")

    def _find_file(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.db")

    def _connect(self, name: str) -> sqlite3.Connection | None:
        """Return this thread's connection to the file of a repository, or None if there is none of this schema."""
        path = self._find_file(name)
        known: dict[str, tuple[sqlite3.Connection, int]] = self._local.__dict__.setdefault("known", {})
        try:
            inode = os.stat(path).st_ino
        except FileNotFoundError:
            inode = 0
        if name in known and known[name][1] == inode:
            return known[name][0]
        if name in known:  # the file was deleted or rebuilt
            self._drop(known.pop(name)[0])
        if not inode:
            return None
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        if db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
            db.close()
            return None
        db.execute("PRAGMA synchronous=NORMAL")
        with self._lock:
            self._opened.append(db)
        known[name] = (db, inode)
        return db

    def _drop(self, db: sqlite3.Connection) -> None:
        with self._lock:
            if db in self._opened:
                self._opened.remove(db)
        db.close()

    def _make(self, name: str) -> sqlite3.Connection:
        """Return a connection to the file of a repository; rebuild the file if it has another schema or is damaged."""
        try:
            if db := self._connect(name):
                return db
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
        path = self._find_file(name)
        for end in ("", "-wal", "-shm"):
            remove_file(path + end)
        made = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        try:
            made.execute("PRAGMA journal_mode=WAL")
            made.execute("BEGIN IMMEDIATE")
            for statement in filter(str.strip, _TABLES.split(";\n")):
                made.execute(statement)
            made.execute(f"PRAGMA user_version={SCHEMA}")
            made.execute("COMMIT")
        finally:
            made.close()
        opened = self._connect(name)
        if opened is None:
            raise IndexFailed(msg("the index cannot be used: {problem}", problem=path))
        return opened


def dump_message(message: Message) -> str:
    """Return *message* encoded for a column."""
    return json.dumps([message.template, dict(message.values)], default=str)


def load_message(text: str) -> Message:
    """Return the message decoded from a column."""
    template, values = json.loads(text)
    return Message(template, values)


class _SqliteStore:
    """The rows of one repository within a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def find_rows(self, paths: Collection[str] | None) -> dict[str, KnownRow]:
        """Return the rows at *paths* by path, or all rows for None."""
        among, values = ("", ()) if paths is None else (f" WHERE path IN {_AMONG}", (json.dumps(list(paths)),))
        rows = self._db.execute(f"SELECT path, n, data FROM records{among}", values)
        return {path: KnownRow(*row) for path, *row in rows}

    def find_taken(self, numbers: Collection[int]) -> set[int]:
        """Return those of *numbers* that are taken by rows."""
        rows = self._db.execute(f"SELECT n FROM records WHERE n IN {_AMONG}", (json.dumps(list(numbers)),))
        return {n for (n,) in rows}

    def replace_rows(self, gone: Collection[int], new: Sequence[StoredRow]) -> None:
        """Delete the rows with the numbers *gone*, then insert *new*."""
        self._db.executemany("DELETE FROM records WHERE n = ?", [(n,) for n in gone])
        self._db.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", new)

    def read_slots(self, slots: Collection[int]) -> dict[int, bytes]:
        """Return the contents of *slots*."""
        statement = f"SELECT slot, data FROM postings WHERE slot IN {_AMONG}"
        return dict(self._db.execute(statement, (json.dumps(list(slots)),)).fetchall())

    def write_slots(self, slots: Mapping[int, bytes]) -> None:
        """Replace the contents of *slots*; delete a slot without bytes."""
        self._db.executemany("DELETE FROM postings WHERE slot = ?", [(slot,) for slot in slots if not slots[slot]])
        rows = [(slot, data) for slot, data in sorted(slots.items()) if data]
        self._db.executemany("INSERT OR REPLACE INTO postings VALUES (?, ?)", rows)

    def read_notes(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the existing notes of *keys*."""
        return dict(self._db.execute(f"SELECT key, data FROM notes WHERE key IN {_AMONG}", (json.dumps(list(keys)),)))

    def write_notes(self, notes: Mapping[str, bytes]) -> None:
        """Replace *notes*; delete empty ones."""
        self._db.executemany("DELETE FROM notes WHERE key = ?", [(key,) for key in notes])
        self._db.executemany("INSERT INTO notes VALUES (?, ?)", [pair for pair in notes.items() if pair[1]])

    def replace_broken(self, looked: Collection[str] | None, broken: Sequence[BrokenFile]) -> None:
        """Replace the broken files at the paths *looked* (None: all) by *broken*."""
        if looked is None:
            self._db.execute("DELETE FROM broken")
        else:
            again = {*looked, *(one.path for one in broken)}
            self._db.executemany("DELETE FROM broken WHERE path = ?", [(path,) for path in again])
        rows = [(one.path, dump_message(one.problem), one.line) for one in broken]
        self._db.executemany("INSERT INTO broken VALUES (?, ?, ?)", rows)


class SqliteReader:
    """A snapshot of several files."""

    def __init__(self, found: Sequence[tuple[str, sqlite3.Connection]], cache: ReadCache) -> None:
        """Read the files *found*, ordered by name; *cache*: earlier reads."""
        self.names = [name for name, _ in found]
        self.cache = cache
        self._files = [db for _, db in found]
        self.states: dict[str, tuple[str, int]] = {}
        self.marks: list[str] = []
        for name, db in found:
            values = dict(db.execute("SELECT key, value FROM state WHERE key NOT IN ('fetched', 'error')").fetchall())
            self.states[name] = (values.get("commit", ""), int(values.get("records", "0")))
            self.marks.append(f"{name} {values.get('stamp', '')}")
        self.version = "\n".join(self.marks)

    def read_heads(self, terms: Collection[int]) -> tuple[dict[int, int], dict[int, Packed]]:
        """Return the number of postings in the own slots of *terms*, and the contents of their shared slots."""
        statement = f"SELECT slot, length(data) / 4 FROM postings WHERE slot IN {_AMONG}"
        counts: Counter[int] = Counter()
        for _, slot, count in self._select_slots(statement, terms):
            counts[slot] += count
        return counts, self.read_slots({find_bucket(term) for term in terms})

    def read_slots(self, terms: Collection[int]) -> dict[int, Packed]:
        """Return the contents of the own slots of *terms*."""
        found: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for position, slot, data in self._select_slots(
            f"SELECT slot, data FROM postings WHERE slot IN {_AMONG}", terms
        ):
            found[slot].append((position, data))
        return dict(found)

    def _select_slots(self, statement: str, slots: Collection[int]) -> Iterator[tuple[int, int, Any]]:
        asked = (json.dumps(list(slots)),)
        for position, db in enumerate(self._files):
            for slot, value in db.execute(statement, asked):
                yield position, slot, value

    def select_rows(self, columns: Sequence[str], keys: Keys, wanted: Filter = ALL) -> Iterator[tuple[Any, ...]]:
        """Yield key and *columns* of those rows among *keys* that match *wanted*, in any order."""
        condition, values = build_column_condition(wanted)
        statement = f"SELECT {', '.join(['n', *columns])} FROM records WHERE n IN {_AMONG} AND {condition}"
        for position, numbers in group_keys(keys.tolist()).items():
            for n, *row in self._files[position].execute(statement, (json.dumps(numbers), *values)):
                yield (position << 32 | n, *row)

    def read_notes(self, key: str) -> dict[int, bytes]:
        """Return position → note of each repository that has one."""
        statement = "SELECT data FROM notes WHERE key = ?"
        return {at: row[0] for at, db in enumerate(self._files) for row in db.execute(statement, (key,))}

    def list_rows(
        self, position: int, wanted: Filter, limit: int, after: str, among: Collection[int] | None
    ) -> list[tuple[int, str, bytes]]:
        """Return number, path and data of one repository's rows after the path *after*, ordered by path."""
        condition, values = build_column_condition(wanted)
        few, numbers = ("", []) if among is None else (f" AND n IN {_AMONG}", [json.dumps(list(among))])
        statement = f"SELECT n, path, data FROM records WHERE path > ? AND {condition}{few} ORDER BY path LIMIT ?"
        return list(self._files[position].execute(statement, (after, *values, *numbers, limit)))

    def find_named(self, name: str, positions: Collection[int]) -> list[tuple[int, str, bytes]]:
        """Return position, path and data of rows with the id or uid *name* in some repositories, in order."""
        statement = "SELECT path, data FROM records WHERE id = ?1 OR uid = ?1 ORDER BY path"
        return [(at, *row) for at in sorted(positions) for row in self._files[at].execute(statement, (name,))]
