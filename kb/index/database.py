"""The index: one SQLite file that mirrors the record files of the checkout. It is a cache; deleting it loses nothing.

A file is read again when its stamp (time of change, size, inode) differs from the one the index knows. A schema of
another number or a broken file is thrown away and built anew; nothing is ever migrated.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.errors import BadRecord, IndexFailed
from kb.files import (
    format_stamp,
    iter_folders,
    iter_record_files,
    iter_record_names,
    parse_stamp_weight,
    read_file_stamp,
    sum_stamps,
)
from kb.index.connection import open_index
from kb.index.fulltext import query_fulltext, scan_plain_text
from kb.index.passages import Passages
from kb.index.postings import Postings
from kb.index.schema import (
    ALL,
    FILES_IN_FOLDER,
    STAMPS_OF_FOLDER,
    Filter,
    build_condition,
    build_folder_values,
    build_placeholders,
    build_scope_term,
    dump_record,
    extract_facets,
    extract_words,
    join_body,
    join_tags,
    load_record,
)
from kb.records.model import LIVE, Record
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import fold_text, normalise

if TYPE_CHECKING:
    from typing import Any

_TOO_LONG = 12
"""Digits from which on a number was never given out by kb, and SQLite may not hold it."""

_FEW, _NARROW, _WIDE = 100, 2_000, 64_000
"""So many changed files, and the file's pages get 64 MB of memory instead of two."""


class Index:
    """The index of the records below the *folders* of *root*, kept in the file *path*."""

    def __init__(self, path: str, root: str, folders: Sequence[str]) -> None:
        """Open the index and make an empty one where there is none, or none that can be used."""
        self.path = path
        self.root = root
        self.folders = tuple(folders)
        self._db, self.is_new = open_index(path)
        self.postings = Postings(self._db)
        self.passages = Passages(self._db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextlib.contextmanager
    def batch_changes(self, *, keep: bool = True) -> Iterator[None]:
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
        except IndexFailed:
            self._db.execute("ROLLBACK")
            raise

    # keeping up with the files

    def refresh(self, edited: Iterable[str] | None = None) -> list[str]:
        """Bring the index up to the checkout and return the paths of the files that were read again.

        *edited* names the files that may have been edited in place or replaced; None looks at every file. New and
        deleted files are always found: they change the stamp of their folder.
        """
        known = {path: (stamp, tally) for path, stamp, tally in self._db.execute("SELECT * FROM folders")}
        seen = {path: stamp for top in self.folders for path, stamp in iter_folders(self.root, top)}
        stale = {path for path, stamp in seen.items() if path not in known or known[path][0] != stamp}
        if edited is None:
            stale |= {path for path in seen.keys() - stale if sum_stamps(self.root, path) != known[path][1]}
        gone = known.keys() - seen.keys()
        changed = {path: stamp for path in edited or () if (stamp := self._find_new_stamp(path)) is not None}
        if not stale and not gone and not changed:
            return []
        changed.update(
            self._find_changed_files(stale | gone) if edited is None else self._find_added_and_deleted(stale | gone)
        )
        self._db.execute(f"PRAGMA cache_size=-{_WIDE if len(changed) > _FEW else _NARROW}")
        with self.batch_changes():
            for path, stamp in changed.items():
                self._reload_file(path, stamp)
            for path in gone:
                self._db.execute("DELETE FROM folders WHERE path = ?", (path,))
            for path in stale | {p.rpartition("/")[0] for p in changed} & seen.keys():
                row = (path, seen[path], self._compute_tally(path))
                self._db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", row)
        return list(changed)

    def _find_new_stamp(self, path: str) -> str | None:
        """Return the stamp of the file *path* ("" when it is gone), or None if the index knows it as it is."""
        row = self._db.execute(
            "SELECT stamp FROM records WHERE path = ?1 UNION SELECT stamp FROM broken WHERE path = ?1", (path,)
        )
        known = row.fetchone()
        if not path.endswith(".md") or not path.startswith(tuple(folder + "/" for folder in self.folders)):
            return None
        stamp = read_file_stamp(self.root, path)
        return None if (known[0] if known else "") == stamp else stamp

    def _compute_tally(self, folder: str) -> str:
        return str(sum(map(parse_stamp_weight, self._load_stamps(folder).values())))

    def _load_stamps(self, folder: str) -> dict[str, str]:
        """Return path and stamp of the files in *folder* as the index knows them."""
        return dict(
            self._db.execute(STAMPS_OF_FOLDER, (*build_folder_values(folder), *build_folder_values(folder))).fetchall()
        )

    def _find_changed_files(self, folders: Iterable[str]) -> dict[str, str]:
        """Return path and stamp ("" when it is gone) of the files in *folders* that the index does not know so."""
        changed: dict[str, str] = {}
        for folder in folders:
            known = self._load_stamps(folder)
            present = dict(iter_record_files(self.root, folder))
            changed.update({path: stamp for path, stamp in present.items() if known.get(path) != stamp})
            changed.update({path: "" for path in known if path not in present})
        return changed

    def _find_added_and_deleted(self, folders: Iterable[str]) -> dict[str, str]:
        """Return path and stamp ("" when it is gone) of the files that *folders* have and the index not, or no more."""
        changed: dict[str, str] = {}
        for folder in folders:
            known = self._load_stamps(folder).keys()
            present = {f"{folder}/{name}" for name in iter_record_names(self.root, folder)}
            changed.update(dict.fromkeys(known - present, ""))
            changed.update({path: stamp for path in present - known if (stamp := read_file_stamp(self.root, path))})
        return changed

    def is_current(self, path: str) -> bool:
        """Return whether the file *path* is as the index knows it."""
        row = self._db.execute("SELECT stamp FROM records WHERE path = ?", (path,)).fetchone()
        return bool(row) and row[0] == read_file_stamp(self.root, path)

    def _reload_file(self, path: str, stamp: str) -> None:
        from kb.records import record_file

        try:
            if not stamp:
                raise FileNotFoundError
            with open(os.path.join(self.root, *path.split("/")), "rb") as file:
                record = record_file.read(file.read(), path)
        except BadRecord as error:
            self._replace_record(path, None)
            said = json.dumps([error.message.template, dict(error.message.values)], default=str)
            self._db.execute("INSERT INTO broken VALUES (?, ?, ?, ?)", (path, stamp, said, error.line))
        except FileNotFoundError:
            self._replace_record(path, None)
        else:
            self._replace_record(path, record, stamp)

    def _replace_record(self, path: str, record: Record | None, stamp: str = "") -> None:
        """Let the file *path* hold *record*; None: no record. What it held and still says is not written again."""
        self._db.execute("DELETE FROM broken WHERE path = ?", (path,))
        row = self._db.execute("SELECT n, data FROM records WHERE path = ?", (path,)).fetchone()
        n, known = (row[0], load_record(path, row[1])) if row else (None, None)
        if record and known == record:
            self._db.execute("UPDATE records SET stamp = ? WHERE n = ?", (stamp, n))
            return
        self._db.execute("DELETE FROM records WHERE n = ?", (n,))
        if record:
            n = self._insert_record(n, record, stamp)
        for part in (self._update_words, self.postings.update_row, self.passages.update_row, self._update_facets):
            part(n or 0, known, record)

    def _update_words(self, n: int, known: Record | None, record: Record | None) -> None:
        before, after = (extract_words(one) if one else None for one in (known, record))
        if before and before != after:
            statement = "INSERT INTO words (words, rowid, title, tags, body) VALUES ('delete', ?, ?, ?, ?)"
            self._db.execute(statement, (n, *before))
        if after and before != after:
            self._db.execute("INSERT INTO words (rowid, title, tags, body) VALUES (?, ?, ?, ?)", (n, *after))

    def _update_facets(self, n: int, known: Record | None, record: Record | None) -> None:
        self._db.execute("DELETE FROM facets WHERE n = ?", (n,))
        facets = [(n, *facet) for facet in extract_facets(record)] if record else []
        self._db.executemany("INSERT INTO facets VALUES (?, ?, ?, ?)", facets)

    def put_record(self, record: Record) -> None:
        """Make the index know *record* as it stands in its file, or will stand in a moment."""
        try:
            stamp = format_stamp(os.stat(os.path.join(self.root, *record.path.split("/"))))
        except FileNotFoundError:
            stamp = "planned"
        self._replace_record(record.path, record, stamp)

    def save_stamps(self, stamps: Mapping[str, str]) -> None:
        """Take the files of *stamps* (path → stamp), just written, as what `put` said of them."""
        changes: dict[str, int] = {}
        for path, stamp in stamps.items():
            (before,) = self._db.execute("SELECT stamp FROM records WHERE path = ?", (path,)).fetchone() or ("",)
            self._db.execute("UPDATE records SET stamp = ? WHERE path = ?", (stamp, path))
            folder = path.rpartition("/")[0]
            changes[folder] = changes.get(folder, 0) + parse_stamp_weight(stamp) - parse_stamp_weight(before)
        for folder, change in changes.items():
            self._update_folder_tally(folder, change)

    def _update_folder_tally(self, folder: str, change: int) -> None:
        """Take *folder* as known, its tally changed by *change*; not when there is a file that the index lacks."""
        row = self._db.execute("SELECT tally FROM folders WHERE path = ?", (folder,)).fetchone()
        (known,) = self._db.execute(
            FILES_IN_FOLDER, (*build_folder_values(folder), *build_folder_values(folder))
        ).fetchone()
        stat = os.stat(os.path.join(self.root, *folder.split("/")))
        if row and known == sum(1 for _ in iter_record_names(self.root, folder)):
            values = (f"{stat.st_mtime_ns}:{stat.st_ino}", str(int(row[0] or 0) + change), folder)
            self._db.execute("UPDATE folders SET stamp = ?, tally = ? WHERE path = ?", values)

    def reload_files(self, paths: Iterable[str]) -> None:
        """Read the files *paths* again, whatever the index took them for."""
        for path in paths:
            self._reload_file(path, read_file_stamp(self.root, path))

    def _insert_record(self, n: int | None, record: Record, stamp: str) -> int:
        values = (
            n,
            record.path,
            stamp,
            record.uid,
            record.id,
            record.kind,
            record.scope,
            record.status,
            record.date,
            record.title,
            normalise(record.title),
            fold_text(f"{record.title}\n{join_tags(record)}\n{join_body(record)}"),
            dump_record(record),
        )
        cursor = self._db.execute(f"INSERT INTO records VALUES ({build_placeholders(values)})", values)
        self.reserve_id(record.scope, record.id)
        return cursor.lastrowid or 0

    # numbers

    def reserve_id(self, scope: str, record_id: str) -> None:
        """Remember that *record_id* has been given out in *scope*; numbers are never used twice."""
        prefix = record_id.rstrip("0123456789")
        number = record_id[len(prefix) :]
        if prefix and 0 < len(number) < _TOO_LONG:
            self._db.execute(
                "INSERT INTO numbers VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = max(number, excluded.number)",
                (scope, prefix, int(number)),
            )

    def next_id(self, scope: str, prefix: str) -> str:
        """Return the next free id of *prefix* in *scope*."""
        row = self._db.execute("SELECT number FROM numbers WHERE scope = ? AND prefix = ?", (scope, prefix)).fetchone()
        return f"{prefix}{(row[0] if row else 0) + 1:03d}"

    def list_numbers(self) -> list[tuple[str, str, int]]:
        """Return scope, prefix and the highest number given out of all of them."""
        return list(self._db.execute("SELECT scope, prefix, number FROM numbers ORDER BY scope, prefix"))

    # asking

    def records(self, wanted: Filter = ALL, most: int = -1) -> list[Record]:
        """Return the records *wanted*, by scope and id; *most*: no more than so many."""
        return list(self.iter_records(wanted, most))

    def iter_records(self, wanted: Filter = ALL, most: int = -1) -> Iterator[Record]:
        """Yield the `records`; those that are not asked for any more are not decoded."""
        condition, values = build_condition(wanted)
        order = "ORDER BY scope, kind, length(id), id LIMIT ?"
        rows = self._db.execute(f"SELECT path, data FROM records r WHERE {condition} {order}", (*values, most))
        yield from (load_record(path, data) for path, data in rows)

    def count(self, wanted: Filter = ALL) -> int:
        """Return how many records are *wanted*."""
        condition, values = build_condition(wanted)
        (number,) = self._db.execute(f"SELECT count(*) FROM records r WHERE {condition}", values).fetchone()
        return int(number)

    def find_last_row(self) -> int:
        """Return the highest row, which is about how many records there are; to count them takes long."""
        (row,) = self._db.execute("SELECT max(n) FROM records").fetchone()
        return int(row or 0)

    def list_impact_paths(self, wanted: Filter = ALL) -> list[str]:
        """Return the paths, as they are written, that the records *wanted* are about."""
        condition, values = build_condition(wanted)
        among = f"n IN (SELECT n FROM records r WHERE {condition})"
        rows = self._db.execute(f"SELECT DISTINCT value FROM facets WHERE +facet = 'impact' AND {among}", values)
        return [path for (path,) in rows]

    def find_by_id(self, record_id: str) -> list[Record]:
        """Return the records with the id or uid *record_id*, of all scopes."""
        rows = self._db.execute(
            "SELECT path, data FROM records WHERE id = ? OR uid = ? ORDER BY scope", (record_id, record_id)
        )
        return [load_record(path, data) for path, data in rows]

    def load_rows(self, rows: Sequence[int], wanted: Filter = ALL) -> dict[int, Record]:
        """Return those of the records in *rows* that are *wanted*."""
        condition, values = build_condition(wanted)
        statement = f"SELECT n, path, data FROM records r WHERE n IN ({build_placeholders(rows)}) AND {condition}"
        found = self._db.execute(statement, (*rows, *values))
        return {n: load_record(path, data) for n, path, data in found.fetchall()}

    def find_matching_rows(self, expression: str, wanted: Filter = ALL, limit: int = 20) -> list[int]:
        """Return the rows that the FTS5 *expression* finds, best first."""
        return query_fulltext(self._db, expression, wanted, limit)

    def count_matches(self, expression: str, most: int) -> int:
        """Return how many rows the FTS5 *expression* finds, *most* at most."""
        statement = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        (number,) = self._db.execute(statement, (expression, most)).fetchone() if expression else (0,)
        return int(number)

    def find_containing_rows(self, terms: Sequence[str], wanted: Filter = ALL, limit: int = 20) -> list[int]:
        """Return the rows in whose folded text all *terms* (folded too) stand, newest first: right by definition."""
        return scan_plain_text(self._db, terms, wanted, limit)

    def find_comparable(
        self,
        title: str,
        expression: str,
        claims: Iterable[str],
        impact: Iterable[str],
        scopes: Sequence[str],
        limit: int = 50,
        telling: str = "",
    ) -> list[Record]:
        """Return live records of *scopes* that could say the same as, or the contrary of, something with these marks.

        Of those that share a word of the title, of those that say anywhere what *telling* asks for, and of those that
        share a claim or a path, at most *limit* each.
        """
        wanted = [("claim", key) for key in claims] + [("impact", path) for path in impact]
        parts = ["SELECT n FROM records WHERE same = ?"]
        values: list[object] = [normalise(title)]
        here = " OR ".join(map(build_scope_term, scopes))
        for asked in filter(None, (expression and f"title : ({expression})", telling)):
            best = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 8.0, 3.0, 1.0) LIMIT ?"
            parts.append(f"SELECT * FROM ({best})")
            values += [f"({asked}) AND tags : ({here})", limit]
        for facet, value in wanted:
            live = f"r.scope IN ({build_placeholders(scopes)}) AND r.status IN ({build_placeholders(LIVE)})"
            shared = f"SELECT f.n FROM facets f JOIN records r ON r.n = f.n WHERE facet = ? AND value = ? AND {live}"
            parts.append(f"SELECT n FROM ({shared} LIMIT ?)")
            values += [facet, value, *scopes, *LIVE, limit]
        rows = self._db.execute(
            f"SELECT path, data FROM records WHERE n IN ({' UNION '.join(parts)}) "
            f"AND scope IN ({build_placeholders(scopes)})"
            f" AND status IN ({build_placeholders(LIVE)}) ORDER BY scope, id",
            (*values, *scopes, *LIVE),
        )
        return [load_record(path, data) for path, data in rows]

    def list_titles(self, scopes: Sequence[str], limit: int) -> list[tuple[str, str, str, str]]:
        """Return id, scope, title and normalised title of the newest live records of *scopes*."""
        columns = "day, id, scope, title, same"
        part = f"SELECT {columns} FROM records WHERE scope = ? AND status = ? ORDER BY day DESC, id DESC LIMIT ?"
        parts = [f"SELECT * FROM ({part})"] * (len(scopes) * len(LIVE))
        values = [value for scope in scopes for status in sorted(LIVE) for value in (scope, status, limit)]
        rows = self._db.execute(f"{' UNION ALL '.join(parts)} ORDER BY day DESC, id DESC LIMIT ?", (*values, limit))
        return [row[1:] for row in rows]

    def find_referrers(self, record_id: str, facet: str) -> list[tuple[Record, str]]:
        """Return the records with the *facet* (cites, supersedes, amends) on *record_id*, each with its detail."""
        rows = self._db.execute(
            "SELECT r.path, r.data, f.rest FROM facets f JOIN records r ON r.n = f.n WHERE f.facet = ? AND f.value = ?"
            " ORDER BY r.scope, r.id, f.rest",
            (facet, record_id),
        )
        return [(load_record(path, data), rest) for path, data, rest in rows]

    def count_by_column(self, column: str, wanted: Filter = ALL) -> dict[str, int]:
        """Return how many of the records *wanted* each value of "kind", "scope", "status" or the facet "tag" has."""
        if column not in ("kind", "scope", "status", "tag"):
            raise ValueError(column)
        condition, values = build_condition(wanted)
        value, among = column, "records r"
        if column == "tag":
            value, among = "f.value", "facets f JOIN records r ON r.n = f.n AND f.facet = 'tag'"
        statement = f"SELECT {value}, count(*) FROM {among} WHERE {condition} GROUP BY {value} ORDER BY {value}"
        return dict(self._db.execute(statement, values).fetchall())

    def list_broken(self) -> list[tuple[str, str, int]]:
        """Return path, problem and line of every file that is no readable record."""
        return list(self._db.execute("SELECT path, problem, line FROM broken ORDER BY path"))

    # what is held

    def list_held_entries(self) -> list[tuple[str, dict[str, Any]]]:
        """Return name and content of everything in the inbox, as the index last saw it."""
        return [
            (name, json.loads(data)) for name, data in self._db.execute("SELECT name, data FROM held ORDER BY name")
        ]

    def save_held_entry(self, name: str, entry: Mapping[str, Any] | None) -> None:
        """Remember an inbox *entry* under *name*; None forgets it."""
        self._db.execute("DELETE FROM held WHERE name = ?", (name,))
        if entry is not None:
            self._db.execute("INSERT INTO held VALUES (?, ?)", (name, json.dumps(entry, ensure_ascii=False)))

    def get_note(self, key: str) -> str:
        """Return what was noted under *key*, or ""."""
        row = self._db.execute("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_note(self, key: str, value: str) -> None:
        """Note *value* under *key*."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, value))
