"""The index: one SQLite file that mirrors the record files of the checkout. It is a cache; deleting it loses nothing.

A file is read again when its stamp (time of change, size, inode) differs from the one the index knows. A schema of
another number or a broken file is thrown away and built anew; nothing is ever migrated.
"""

import contextlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.errors import BadRecord
from kb.record import LIVE, Record, Section
from kb.text import folded, index_terms, normalise

_TABLES = """
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


SCHEMA = zlib.crc32(_TABLES.encode() + b"1") & 0x7FFFFFFF
"""The number of this schema; the digit counts the changes of meaning that the text above does not show."""


IndexFailed = sqlite3.Error
"""What is raised when the index cannot be kept: no space, a folder that cannot be written, a lock held too long."""


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


class Index:
    """The index of the records below the *folders* of *root*, kept in the file *path*."""

    def __init__(self, path: str, root: str, folders: Sequence[str]) -> None:
        """Open the index and make an empty one where there is none, or none that can be used."""
        self.path = path
        self.root = root
        self.folders = tuple(folders)
        self.is_new = False
        self._db = self._opened()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _opened(self) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path + end)
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=20, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=OFF")
            (schema,) = db.execute("PRAGMA user_version").fetchone()
            if schema == SCHEMA:
                return db
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN IMMEDIATE")
            (schema,) = db.execute("PRAGMA user_version").fetchone()
            if schema not in (0, SCHEMA):
                raise sqlite3.DatabaseError("another schema")
            if schema == 0:
                for statement in _TABLES.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={SCHEMA}")
                self.is_new = True
            db.execute("COMMIT")
            return db
        except BaseException:
            db.close()
            raise

    @contextlib.contextmanager
    def changing(self, *, keep: bool = True) -> Iterator[None]:
        """Make all changes inside visible together; none when an exception leaves the block or *keep* is False."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        try:
            self._db.execute("COMMIT" if keep else "ROLLBACK")
        except sqlite3.Error:
            self._db.execute("ROLLBACK")
            raise

    # keeping up with the files

    def refresh(self, edited: Iterable[str] | None = None) -> list[str]:
        """Bring the index up to the checkout and return the paths of the files that were read again.

        *edited* names the files that may have been edited in place; None looks at every file. New, replaced and
        deleted files are always found: they change the stamp of their folder.
        """
        known = {path: (stamp, tally) for path, stamp, tally in self._db.execute("SELECT * FROM folders")}
        seen = {path: stamp for top in self.folders for path, stamp in self._folders_below(top)}
        stale = {path for path, stamp in seen.items() if path not in known or known[path][0] != stamp}
        if edited is None:
            stale |= {path for path in seen.keys() - stale if self._tally(path) != known[path][1]}
        gone = known.keys() - seen.keys()
        changed = {path: stamp for path in edited or () if (stamp := self._new_stamp(path)) is not None}
        if not stale and not gone and not changed:
            return []
        changed.update(self._changed_files(stale | gone))
        with self.changing():
            for path, stamp in changed.items():
                self._read_again(path, stamp)
            for path in gone:
                self._db.execute("DELETE FROM folders WHERE path = ?", (path,))
            for path in stale | {p.rpartition("/")[0] for p in changed} & seen.keys():
                row = (path, seen[path], self._known_tally(path))
                self._db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", row)
        return list(changed)

    def _new_stamp(self, path: str) -> str | None:
        """Return the stamp of the file *path* ("" when it is gone), or None if the index knows it as it is."""
        row = self._db.execute(
            "SELECT stamp FROM records WHERE path = ?1 UNION SELECT stamp FROM broken WHERE path = ?1", (path,)
        )
        known = row.fetchone()
        if not path.endswith(".md") or not path.startswith(tuple(folder + "/" for folder in self.folders)):
            return None
        try:
            stamp = _stamp(os.stat(os.path.join(self.root, *path.split("/")), follow_symlinks=False))
        except OSError:
            stamp = ""
        return None if (known[0] if known else "") == stamp else stamp

    def _tally(self, folder: str) -> str:
        """Return the sum of the stamps of the files in *folder*: one number to compare instead of a row for each."""
        total = 0
        try:
            with os.scandir(os.path.join(self.root, folder)) as entries:
                for entry in entries:
                    if entry.name[-3:] == ".md" and entry.name[0] != "." and not entry.is_symlink():
                        total += _weight(entry.stat())
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return str(total)

    def _known_tally(self, folder: str) -> str:
        return str(sum(map(_stamp_weight, self._stamps(folder).values())))

    def _stamps(self, folder: str) -> dict[str, str]:
        """Return path and stamp of the files in *folder* as the index knows them."""
        return dict(self._db.execute(_STAMPS_OF_FOLDER, (*_between(folder), *_between(folder))).fetchall())

    def _names_in(self, folder: str) -> Iterator[str]:
        """Yield the names in *folder* that may be records."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            yield from (n for n in os.listdir(os.path.join(self.root, folder)) if n[-3:] == ".md" and n[0] != ".")

    def _folders_below(self, folder: str) -> Iterator[tuple[str, str]]:
        place = os.path.join(self.root, folder)
        try:
            stat = os.stat(place)
            if stat.st_nlink > 2 or stat.st_nlink < 2:
                with os.scandir(place) as entries:
                    for name in sorted(e.name for e in entries if e.is_dir(follow_symlinks=False) and e.name[0] != "."):
                        yield from self._folders_below(f"{folder}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            return
        yield folder, f"{stat.st_mtime_ns}:{stat.st_ino}"

    def _changed_files(self, folders: Iterable[str]) -> dict[str, str]:
        """Return path and stamp ("" when it is gone) of the files in *folders* that the index does not know so."""
        changed: dict[str, str] = {}
        for folder in folders:
            known = dict(self._db.execute(_STAMPS_OF_FOLDER, (*_between(folder), *_between(folder))).fetchall())
            present = dict(self._files_in(folder))
            changed.update({path: stamp for path, stamp in present.items() if known.get(path) != stamp})
            changed.update({path: "" for path in known if path not in present})
        return changed

    def _files_in(self, folder: str) -> Iterator[tuple[str, str]]:
        try:
            with os.scandir(os.path.join(self.root, folder)) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(".md") and name[0] != "." and entry.is_file(follow_symlinks=False):
                        yield f"{folder}/{name}", _stamp(entry.stat(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return

    def is_current(self, path: str) -> bool:
        """Tell whether the file *path* is as the index knows it."""
        row = self._db.execute("SELECT stamp FROM records WHERE path = ?", (path,)).fetchone()
        try:
            return bool(row) and row[0] == _stamp(os.stat(os.path.join(self.root, *path.split("/"))))
        except OSError:
            return False

    def _read_again(self, path: str, stamp: str) -> None:
        self._forget(path)
        if not stamp:
            return
        from kb import markdown

        try:
            with open(os.path.join(self.root, *path.split("/")), "rb") as file:
                record = markdown.read(file.read(), path)
        except BadRecord as error:
            row = (
                path,
                stamp,
                json.dumps([error.message.template, dict(error.message.values)], default=str),
                error.line,
            )
            self._db.execute("INSERT INTO broken VALUES (?, ?, ?, ?)", row)
        except FileNotFoundError:
            return
        else:
            self._insert(record, stamp)

    def _forget(self, path: str) -> None:
        for (n,) in self._db.execute("SELECT n FROM records WHERE path = ?", (path,)).fetchall():
            self._db.execute("DELETE FROM words WHERE rowid = ?", (n,))
            self._db.execute("DELETE FROM facets WHERE n = ?", (n,))
            self._db.execute("DELETE FROM records WHERE n = ?", (n,))
        self._db.execute("DELETE FROM broken WHERE path = ?", (path,))

    def put(self, record: Record) -> None:
        """Make the index know *record* as it stands in its file, or will stand in a moment."""
        self._forget(record.path)
        try:
            stamp = _stamp(os.stat(os.path.join(self.root, *record.path.split("/"))))
        except FileNotFoundError:
            stamp = "planned"
        self._insert(record, stamp)

    def settle(self, paths: Iterable[str]) -> None:
        """Take the files *paths*, just written, as what `put` said of them."""
        folders = set()
        for path in paths:
            stamp = _stamp(os.stat(os.path.join(self.root, *path.split("/"))))
            self._db.execute("UPDATE records SET stamp = ? WHERE path = ?", (stamp, path))
            folders.add(path.rpartition("/")[0])
        for folder in folders:
            stat = os.stat(os.path.join(self.root, *folder.split("/")))
            stamps = self._stamps(folder)
            if len(stamps) == sum(1 for _ in self._names_in(folder)):
                row = (folder, f"{stat.st_mtime_ns}:{stat.st_ino}", str(sum(map(_stamp_weight, stamps.values()))))
                self._db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", row)

    def reread(self, paths: Iterable[str]) -> None:
        """Read the files *paths* again, whatever the index took them for."""
        for path in paths:
            try:
                stamp = _stamp(os.stat(os.path.join(self.root, *path.split("/"))))
            except FileNotFoundError:
                stamp = ""
            self._read_again(path, stamp)

    def _insert(self, record: Record, stamp: str) -> None:
        from kb.citations import citations

        body = "\n".join([*(section.text for section in record.sections), record.user])
        tags = " ".join((*record.tags, *record.impact, record.id))
        values = (
            record.path, stamp, record.uid, record.id, record.kind, record.scope, record.status, record.date,
            record.title, normalise(record.title), folded(f"{record.title}\n{tags}\n{body}"), _dumped(record),
        )  # fmt: skip
        cursor = self._db.execute(f"INSERT INTO records VALUES (NULL{', ?' * len(values)})", values)
        n = cursor.lastrowid
        self._db.execute(
            "INSERT INTO words (rowid, title, tags, body) VALUES (?, ?, ?, ?)",
            (n, index_terms(record.title), index_terms(tags), index_terms(body)),
        )
        facets = [("tag", tag, "") for tag in record.tags]
        facets += [("impact", path, "") for path in record.impact]
        facets += [("claim", key, value) for key, value in record.claims.items()]
        facets += [("supersedes", target, "") for target in record.supersedes]
        facets += [("amends", target, "") for target in record.amends]
        facets += [("cites", cited, f"{project}:{line}") for project, cited, line in citations(body)]
        self._db.executemany("INSERT INTO facets VALUES (?, ?, ?, ?)", [(n, *facet) for facet in facets])
        self.reserve(record.scope, record.id)

    # numbers

    def reserve(self, scope: str, record_id: str) -> None:
        """Remember that *record_id* has been given out in *scope*; numbers are never used twice."""
        prefix = record_id.rstrip("0123456789")
        number = record_id[len(prefix) :]
        if prefix and number:
            self._db.execute(
                "INSERT INTO numbers VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = max(number, excluded.number)",
                (scope, prefix, int(number)),
            )

    def next_id(self, scope: str, prefix: str) -> str:
        """Return the next free id of *prefix* in *scope*."""
        row = self._db.execute("SELECT number FROM numbers WHERE scope = ? AND prefix = ?", (scope, prefix)).fetchone()
        return f"{prefix}{(row[0] if row else 0) + 1:03d}"

    def numbers(self) -> list[tuple[str, str, int]]:
        """Return scope, prefix and the highest number given out of all of them."""
        return list(self._db.execute("SELECT scope, prefix, number FROM numbers ORDER BY scope, prefix"))

    # asking

    def records(self, wanted: Filter = ALL) -> list[Record]:
        """Return the records *wanted*, by scope and id."""
        where, values = _where(wanted)
        rows = self._db.execute(
            f"SELECT path, data FROM records r WHERE {where} ORDER BY scope, kind, length(id), id", values
        )
        return [_loaded(path, data) for path, data in rows]

    def count(self, wanted: Filter = ALL) -> int:
        """Return how many records are *wanted*."""
        where, values = _where(wanted)
        (number,) = self._db.execute(f"SELECT count(*) FROM records r WHERE {where}", values).fetchone()
        return int(number)

    def named(self, record_id: str) -> list[Record]:
        """Return the records with the id or uid *record_id*, of all scopes."""
        rows = self._db.execute(
            "SELECT path, data FROM records WHERE id = ? OR uid = ? ORDER BY scope", (record_id, record_id)
        )
        return [_loaded(path, data) for path, data in rows]

    def search(self, expression: str, wanted: Filter = ALL, limit: int = 20) -> list[Found]:
        """Return what the FTS5 *expression* finds, best first; the title weighs eight times the body, tags three times."""
        if not expression:
            return []
        where, values = _where(wanted)
        rows = self._db.execute(
            "SELECT r.path, r.data, w.score FROM"
            " (SELECT rowid, bm25(words, 8.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ?) w"
            f" JOIN records r ON r.n = w.rowid WHERE {where} ORDER BY w.score, r.scope, length(r.id), r.id LIMIT ?",
            (expression, *values, limit),
        )
        return [Found(_loaded(path, data), score) for path, data, score in rows]

    def containing(self, terms: Sequence[str], wanted: Filter = ALL, limit: int = 20) -> list[Record]:
        """Return the records in whose folded text all *terms* (folded too) stand, newest first: right by definition."""
        if not terms:
            return []
        where, values = _where(wanted)
        has = " AND ".join("instr(r.plain, ?)" for _ in terms)
        rows = self._db.execute(
            f"SELECT r.path, r.data FROM records r WHERE {has} AND {where} ORDER BY r.day DESC, r.id LIMIT ?",
            (*terms, *values, limit),
        )
        return [_loaded(path, data) for path, data in rows]

    def frequencies(self, terms: Iterable[str], enough: int) -> dict[str, int]:
        """Return in how many records each of *terms* stands, counted up to *enough*."""
        statement = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return {term: self._db.execute(statement, (f'"{term}"', enough)).fetchone()[0] for term in terms}

    def near(
        self,
        title: str,
        expression: str,
        claims: Iterable[str],
        impact: Iterable[str],
        scopes: Sequence[str],
        limit: int = 50,
    ) -> list[Record]:
        """Return live records that could say the same as, or the contrary of, something with these marks."""
        marks = [("claim", key) for key in claims] + [("impact", path) for path in impact]
        parts = ["SELECT n FROM records WHERE same = ?"]
        values: list[object] = [normalise(title)]
        if expression:
            parts.append(
                "SELECT * FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 8.0, 3.0, 1.0) LIMIT ?)"
            )
            values += [f"title : ({expression})", limit]
        for facet, value in marks:
            parts.append("SELECT n FROM (SELECT n FROM facets WHERE facet = ? AND value = ? LIMIT ?)")
            values += [facet, value, limit]
        rows = self._db.execute(
            f"SELECT path, data FROM records WHERE n IN ({' UNION '.join(parts)}) AND scope IN ({_marks(scopes)})"
            f" AND status IN ({_marks(LIVE)}) ORDER BY scope, id",
            (*values, *scopes, *LIVE),
        )
        return [_loaded(path, data) for path, data in rows]

    def pointing_to(self, record_id: str, facet: str) -> list[tuple[Record, str]]:
        """Return the records with the *facet* "cites", "supersedes" or "amends" on *record_id*, each with its detail."""
        rows = self._db.execute(
            "SELECT r.path, r.data, f.rest FROM facets f JOIN records r ON r.n = f.n WHERE f.facet = ? AND f.value = ?"
            " ORDER BY r.scope, r.id, f.rest",
            (facet, record_id),
        )
        return [(_loaded(path, data), rest) for path, data, rest in rows]

    def tallies(self, column: str) -> dict[str, int]:
        """Return how many records each value of "kind", "scope", "status" or the facet "tag" has."""
        if column == "tag":
            rows = self._db.execute(
                "SELECT value, count(*) FROM facets WHERE facet = 'tag' GROUP BY value ORDER BY value"
            )
        else:
            if column not in ("kind", "scope", "status"):
                raise ValueError(column)
            rows = self._db.execute(f"SELECT {column}, count(*) FROM records GROUP BY {column} ORDER BY {column}")
        return dict(rows.fetchall())

    def broken(self) -> list[tuple[str, str, int]]:
        """Return path, problem and line of every file that is no readable record."""
        return list(self._db.execute("SELECT path, problem, line FROM broken ORDER BY path"))

    # what is held

    def held(self) -> list[tuple[str, dict[str, Any]]]:
        """Return name and content of everything in the inbox, as the index last saw it."""
        return [
            (name, json.loads(data)) for name, data in self._db.execute("SELECT name, data FROM held ORDER BY name")
        ]

    def hold(self, name: str, entry: Mapping[str, Any] | None) -> None:
        """Remember an inbox *entry* under *name*; None forgets it."""
        self._db.execute("DELETE FROM held WHERE name = ?", (name,))
        if entry is not None:
            self._db.execute("INSERT INTO held VALUES (?, ?)", (name, json.dumps(entry, ensure_ascii=False)))

    def note(self, key: str) -> str:
        """Return what was noted under *key*, or ""."""
        row = self._db.execute("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_note(self, key: str, value: str) -> None:
        """Note *value* under *key*."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, value))


_STAMPS_OF_FOLDER = " UNION ALL ".join(
    f"SELECT path, stamp FROM {table} WHERE path > ? AND path < ? AND instr(substr(path, ?), '/') = 0"
    for table in ("records", "broken")
)


def _between(folder: str) -> tuple[str, str, int]:
    return folder + "/", folder + "0", len(folder) + 2


def _stamp(stat: os.stat_result) -> str:
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def _weight(stat: os.stat_result) -> int:
    return (stat.st_mtime_ns * 31 + stat.st_size) * (2 * stat.st_ino + 1)


def _stamp_weight(stamp: str) -> int:
    """Return for a stamp what `_weight` returns for the file it was taken from; 0 for a file not yet written."""
    time, _, rest = stamp.partition(":")
    size, _, inode = rest.partition(":")
    return (int(time) * 31 + int(size)) * (2 * int(inode) + 1) if inode else 0


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)


def _where(wanted: Filter) -> tuple[str, list[str]]:
    parts: list[str] = ["1"]
    values: list[str] = []
    for column, among in (("kind", wanted.kinds), ("status", wanted.statuses), ("scope", wanted.scopes)):
        if among:
            parts.append(f"r.{column} IN ({_marks(among)})")
            values += among
    if wanted.tag:
        parts.append("r.n IN (SELECT n FROM facets WHERE facet = 'tag' AND value = ?)")
        values.append(wanted.tag)
    if wanted.since:
        parts.append("r.day >= ?")
        values.append(wanted.since)
    return " AND ".join(parts), values


def _dumped(record: Record) -> str:
    return json.dumps(record[:-1], ensure_ascii=False, default=str)


def _loaded(path: str, data: str) -> Record:
    fields: list[Any] = [tuple(value) if isinstance(value, list) else value for value in json.loads(data)]
    record = Record._make([*fields, path])
    return record._replace(sections=tuple(Section(*section) for section in record.sections))
