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
    from typing import Any, Self
else:
    try:
        import _sqlite3 as sqlite3  # what `sqlite3` adds is converters of dates, for which it loads `datetime`
    except ImportError:
        import sqlite3


_MEMORY = ":memory:"


def open_index(path: str) -> tuple[Connection, bool]:
    """Open the index *path* and tell whether it was made just now: there was none, or none that can be used.

    Where nothing can be written it is made in memory, for this process alone: questions are answered all the same.
    One that another clone has made, as it comes with a copy or an archive, is thrown away before it is read.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            return _connect(path)
        except IndexFailed as error:
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
        one, other = sqlite3.connect(source), sqlite3.connect(target)
        try:
            one.backup(other)
        finally:
            one.close()
            other.close()
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
        clone = _compute_clone_mark(path) if db.path else None
        (schema,), (maker,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "application_id"))
        if schema == SCHEMA and maker != clone:
            raise IndexFailed("another clone's")
        return db, schema != SCHEMA and _create_tables(db, clone)
    except BaseException:
        db.close()
        raise


def _compute_clone_mark(path: str) -> int | None:
    """Return the mark of an index that this clone has made; None where none can be told from another's."""
    clone = read_clone_mark(os.path.dirname(path))
    return zlib.crc32(clone.encode()) >> 1 if clone else None


def _create_tables(db: Connection, clone: int | None) -> bool:
    """Make the tables, with the mark of this *clone*, and tell whether there were none: others may have been faster."""
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("BEGIN IMMEDIATE")
    (schema,) = db.execute("PRAGMA user_version").fetchone()
    if schema not in (0, SCHEMA):
        raise IndexFailed("another schema")
    if schema == 0:
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id={clone or 0}")
        db.execute(f"PRAGMA user_version={SCHEMA}")
    db.execute("COMMIT")
    return bool(schema == 0)


class Cursor(sqlite3.Cursor):
    """A cursor whose failures are IndexFailed."""

    def execute(self, sql: str, values: Any = (), /) -> Self:
        """Run a statement."""
        try:
            return super().execute(sql, values)
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error

    def executemany(self, sql: str, values: Any, /) -> Self:
        """Run a statement for each of *values*."""
        try:
            return super().executemany(sql, values)
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error

    def fetchmany(self, size: int | None = 1, /) -> list[Any]:
        """Return the next *size* rows, fewer where no more are left."""
        try:
            return super().fetchmany(size)
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.Error as error:
            raise _convert_error(error, self.connection) from error


class Connection(sqlite3.Connection):
    """A connection with such cursors."""

    path = ""
    """The file, so that it can be thrown away."""

    def cursor(self, *_: Any) -> Cursor:  # type: ignore[override]
        """Return a cursor."""
        return super().cursor(Cursor)

    def execute(self, sql: str, values: Any = (), /) -> Cursor:
        """Run a statement in a cursor of its own."""
        return self.cursor().execute(sql, values)

    def executemany(self, sql: str, values: Any, /) -> Cursor:
        """Run a statement for each of *values* in a cursor of its own."""
        return self.cursor().executemany(sql, values)


def _convert_error(error: sqlite3.Error, connection: sqlite3.Connection) -> IndexFailed:
    """Return the error to raise; what is damaged is thrown away, and the next to open the index builds it anew."""
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
