"""The file of the index: open it, make it, and throw it away when it cannot be used. Its failures are IndexFailed."""

from __future__ import annotations

import contextlib
import os
import zlib

from kb.errors import IndexFailed
from kb.files import read_clone_mark
from kb.i18n import msg
from kb.index.schema import SCHEMA, TABLES
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any
else:
    try:
        import _sqlite3 as sqlite3  # what `sqlite3` adds is converters of dates, for which it loads `datetime`
    except ImportError:
        import sqlite3


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

    def fetch_value(self, sql: str, values: Any = ()) -> Any:
        """Return the first value of the first row, or None."""
        row = self.execute(sql, values).fetchone()
        return row[0] if row else None


def _convert_error(error: sqlite3.Error, connection: sqlite3.Connection) -> IndexFailed:
    """Return the error to raise; what is damaged is thrown away, and the next to open the index builds it anew."""
    # Nothing is lost: the index is a cache of files that git keeps.
    if "malformed" in str(error) and isinstance(connection, Connection) and connection.path:
        _delete_index_files(connection.path)
        return IndexFailed(msg("the index was damaged and has been thrown away"), hint=msg("try again"))
    return _build_unusable_error(error)


def _build_unusable_error(error: sqlite3.Error) -> IndexFailed:
    return IndexFailed(msg("the index cannot be used: {problem}", problem=error), hint=msg("run: kb doctor --fix"))


def _delete_index_files(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
