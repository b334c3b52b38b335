"""The index: one SQLite file that mirrors the record files of the checkout. It is a cache; deleting it loses nothing.

A file is read again if its stamp (change time, size, inode) differs from the indexed one. An index with another schema
number or a damaged file is deleted and rebuilt; nothing is ever migrated.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kb.adr.adopted import OWN_FILES, RecordFiles
from kb.errors import BadRecord, NoDecision
from kb.files import (
    format_stamp,
    iter_folders,
    iter_record_files,
    iter_record_names,
    parse_stamp_checksum,
    read_file_stamp,
    sum_stamps,
)
from kb.index.postings import Passages, Postings
from kb.index.schema import (
    ALL,
    FILES_IN_FOLDER,
    Filter,
    build_condition,
    build_placeholders,
    build_scope_term,
    build_span,
    dump_record,
    extract_facets,
    extract_words,
    join_body,
    join_tags,
    load_record,
    open_index,
)
from kb.records.model import LIVE, Record
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import extract_run_terms, extract_word_terms, fold_text, iter_runs, normalise

if TYPE_CHECKING:
    from typing import Any

_MAX_NUMBER_DIGITS = 11  # digits; a longer number was never given out by kb, and SQLite may not hold it
_BULK_RELOAD_FILES = 100  # above so many changed files the page cache of SQLite gets 64 MB instead of two
_MAX_SPELLINGS = 1000  # words that hold what was asked; where there are more, a plain scan looks at every record
_NAMED = "FROM records WHERE id = ?1 OR uid = ?1 ORDER BY scope"


class Index:
    """The index of the records below the *folders* of *root*, kept in the file *path*."""

    def __init__(self, path: str, root: str, folders: Sequence[str], files: RecordFiles = OWN_FILES) -> None:
        """Open the index, or create an empty one if it is unusable; *files* says how to parse each file."""
        self.path = path
        self.root = root
        self.folders = (*folders, *files.list_tops())
        self.files = files
        self.complete: Callable[[Collection[str]], None] | None = None  # links adopted records after these have changed
        self._db, self.is_new = open_index(path)
        self.postings = Postings(self._db)
        self.passages = Passages(self._db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextlib.contextmanager
    def batch_changes(self, *, keep: bool = True) -> Iterator[None]:
        """Commit all changes in the block together; none after an exception or if *keep* is False."""
        with self._db.batch_changes(keep=keep):
            yield

    # -- keeping up with the files --------------------------------------------------------------------

    def refresh(self, edited: Iterable[str] | None = None) -> list[str]:
        """Update the index from the checkout and return the paths of the files read again.

        *edited* names the files that may have been edited in place or replaced; None checks every file. New and deleted
        files are always found, because they change the stamp of their folder.
        """
        known = {path: (stamp, checksum) for path, stamp, checksum in self._db.execute("SELECT * FROM folders")}
        seen = {path: stamp for top in self.folders for path, stamp in iter_folders(self.root, top)}
        stale = {path for path, stamp in seen.items() if path not in known or known[path][0] != stamp}
        # An edit in place does not change the folder's stamp, but the sum over its files.
        if edited is None:
            stale |= {path for path in seen.keys() - stale if sum_stamps(self.root, path) != known[path][1]}
        gone = known.keys() - seen.keys()
        changed = {path: stamp for path in edited or () if (stamp := self._find_new_stamp(path)) is not None}
        if not stale and not gone and not changed:
            return []
        for folder in stale:
            changed.update(self._find_changed_files(folder, in_place=edited is None))
        changed |= {path: "" for folder in gone for path in self._load_stamps(folder)}  # also where it is still there
        self._db.execute(f"PRAGMA cache_size=-{64_000 if len(changed) > _BULK_RELOAD_FILES else 2_000}")
        with self.batch_changes():
            for path, stamp in changed.items():
                self._reload_file(path, stamp)
            self._complete_adopted(changed)
            self._db.executemany("DELETE FROM folders WHERE path = ?", [(path,) for path in gone])
            touched = {path.rpartition("/")[0] for path in changed}
            for path in stale | touched & seen.keys():
                checksum = known[path][1] if edited is not None and path in known and path not in touched else ""
                checksum = checksum or str(sum(map(parse_stamp_checksum, self._load_stamps(path).values())))
                self._db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?, ?)", (path, seen[path], checksum))
        return list(changed)

    def _find_new_stamp(self, path: str) -> str | None:
        """Return the stamp of the file *path* ("" if missing), or None if the indexed one is current."""
        if not path.endswith(".md") or not path.startswith(tuple(folder + "/" for folder in self.folders)):
            return None
        either = "SELECT stamp FROM records WHERE path = ?1 UNION SELECT stamp FROM broken WHERE path = ?1"
        stamp = read_file_stamp(self.root, path)
        return None if (self._db.fetch_value(either, (path,)) or "") == stamp else stamp

    def _load_stamps(self, folder: str) -> dict[str, str]:
        """Return path and indexed stamp of the files in *folder*."""
        return dict(self._db.execute(FILES_IN_FOLDER, build_span(folder)).fetchall())

    def _find_changed_files(self, folder: str, *, in_place: bool) -> dict[str, str]:
        """Return path and stamp ("" if missing) of the files in *folder* that differ from the index.

        Without *in_place* look only for new and deleted files, with one system call for the folder.
        """
        known = self._load_stamps(folder)
        if in_place:
            present = dict(iter_record_files(self.root, folder))
        else:
            paths = [f"{folder}/{name}" for name in iter_record_names(self.root, folder)]
            present = {path: known.get(path) or read_file_stamp(self.root, path) for path in paths}
        changed = {path: stamp for path, stamp in present.items() if stamp and known.get(path) != stamp}
        return changed | dict.fromkeys(known.keys() - present.keys(), "")

    def is_current(self, path: str) -> bool:
        """Return whether the indexed stamp of the file *path* is current."""
        stamp = self._db.fetch_value("SELECT stamp FROM records WHERE path = ?", (path,))
        return stamp is not None and bool(stamp == read_file_stamp(self.root, path))

    def reload_files(self, paths: Iterable[str]) -> None:
        """Read the files *paths* again, whatever their indexed stamps."""
        for path in (changed := list(paths)):
            self._reload_file(path, read_file_stamp(self.root, path))
        self._complete_adopted(changed)

    def _reload_file(self, path: str, stamp: str) -> None:
        record, broken = None, None
        if stamp:
            try:
                with open(os.path.join(self.root, *path.split("/")), "rb") as file:
                    record = self.files.read(file.read(), path)
            except NoDecision:
                broken = (path, stamp, "", 0)  # not a problem, and not to be read again
            except BadRecord as error:
                problem = json.dumps([error.message.template, dict(error.message.values)], default=str)
                broken = (path, stamp, problem, error.line)
            except FileNotFoundError:
                pass
        self._replace_record(path, record, stamp)
        if broken:
            self._db.execute("INSERT INTO broken VALUES (?, ?, ?, ?)", broken)

    def put_record(self, record: Record) -> None:
        """Index *record* as it is in its file, or will be in a moment."""
        try:
            stamp = format_stamp(os.stat(os.path.join(self.root, *record.path.split("/"))))
        except FileNotFoundError:
            stamp = "planned"  # the commit writes the file; then `save_stamps` sets its stamp
        self._replace_record(record.path, record, stamp)
        self._complete_adopted([record.path])

    def _complete_adopted(self, paths: Iterable[str]) -> None:
        if self.complete and (adopted := [path for path in paths if self.files.find_folder(path)]):
            self.complete(adopted)

    def update_record(self, record: Record) -> None:
        """Replace the indexed *record* with one that has values beyond its file."""
        if stamp := self._db.fetch_value("SELECT stamp FROM records WHERE path = ?", (record.path,)):
            self._replace_record(record.path, record, stamp)

    def list_adopted(self) -> list[Record]:
        """Return the records of all adopted folders."""
        rows = "SELECT path, data FROM records WHERE path > ? AND path < ?"
        return [load_record(*row) for t in self.files.list_tops() for row in self._db.execute(rows, build_span(t)[:2])]

    def _replace_record(self, path: str, record: Record | None, stamp: str) -> None:
        """Set the record of the file *path* (None: no record); write only what differs."""
        self._db.execute("DELETE FROM broken WHERE path = ?", (path,))
        row = self._db.execute("SELECT n, data FROM records WHERE path = ?", (path,)).fetchone()
        n, known = (row[0], load_record(path, row[1])) if row else (None, None)
        if record and known == record:
            self._db.execute("UPDATE records SET stamp = ? WHERE n = ?", (stamp, n))
            return
        self._db.execute("DELETE FROM records WHERE n = ?", (n,))
        if record:
            about = (record.uid, record.id, record.kind, record.scope, record.status, record.date, record.title)
            plain = fold_text(f"{record.title}\n{join_tags(record)}\n{join_body(record)}")
            values = (n, path, stamp, *about, normalise(record.title), plain, dump_record(record))
            n = self._db.execute(f"INSERT INTO records VALUES ({build_placeholders(values)})", values).lastrowid
            if self.files.is_counted(record):
                self.reserve_id(record.scope, record.id)
        n = n or 0
        before, after = (extract_words(one) if one else None for one in (known, record))
        # The table of words stores no text: deleting a row requires its old values.
        if before and before != after:
            statement = "INSERT INTO words (words, rowid, title, tags, body) VALUES ('delete', ?, ?, ?, ?)"
            self._db.execute(statement, (n, *before))
        if after and before != after:
            self._db.execute("INSERT INTO words (rowid, title, tags, body) VALUES (?, ?, ?, ?)", (n, *after))
        self.postings.update_row(n, known, record)
        self.passages.update_row(n, known, record)
        self._db.execute("DELETE FROM facets WHERE n = ?", (n,))
        facets = [(n, *facet) for facet in extract_facets(record)] if record else []
        self._db.executemany("INSERT INTO facets VALUES (?, ?, ?, ?)", facets)

    def save_stamps(self, stamps: Mapping[str, str]) -> None:
        """Store *stamps* (path → stamp) for files just written with the content given to `put_record`.

        Their folders count as known, except one with a file that is not indexed: somebody else has added it.
        """
        changes: dict[str, int] = {}
        for path, stamp in stamps.items():
            before = self._db.fetch_value("SELECT stamp FROM records WHERE path = ?", (path,)) or ""
            self._db.execute("UPDATE records SET stamp = ? WHERE path = ?", (stamp, path))
            folder = path.rpartition("/")[0]
            changes[folder] = changes.get(folder, 0) + parse_stamp_checksum(stamp) - parse_stamp_checksum(before)
        for folder, change in changes.items():
            checksum = self._db.fetch_value("SELECT checksum FROM folders WHERE path = ?", (folder,))
            stat = os.stat(os.path.join(self.root, *folder.split("/")))
            present = sum(1 for _ in iter_record_names(self.root, folder))
            known = self._db.fetch_value(f"SELECT count(*) FROM ({FILES_IN_FOLDER})", build_span(folder))
            if checksum is not None and known == present:
                values = (f"{stat.st_mtime_ns}:{stat.st_ino}", str(int(checksum or 0) + change), folder)
                self._db.execute("UPDATE folders SET stamp = ?, checksum = ? WHERE path = ?", values)

    # -- numbers ----------------------------------------------------------------------------------------

    def reserve_id(self, scope: str, record_id: str) -> None:
        """Remember that *record_id* is assigned in *scope*; numbers are never reused."""
        prefix = record_id.rstrip("0123456789")
        number = record_id[len(prefix) :]
        if prefix and 0 < len(number) <= _MAX_NUMBER_DIGITS:
            raise_to = "ON CONFLICT DO UPDATE SET number = max(number, excluded.number)"
            self._db.execute(f"INSERT INTO numbers VALUES (?, ?, ?) {raise_to}", (scope, prefix, int(number)))

    def next_id(self, scope: str, prefix: str) -> str:
        """Return the next free id of *prefix* in *scope*."""
        last = self._db.fetch_value("SELECT number FROM numbers WHERE scope = ? AND prefix = ?", (scope, prefix))
        return f"{prefix}{(last or 0) + 1:03d}"

    def set_reader(self, find_reader: Callable[[], str] | None) -> None:
        """Let *find_reader* return the calling agent ("": a person), to hide other agents' records. None: show all."""
        self._db.find_reader = find_reader

    def list_numbers(self) -> list[tuple[str, str, int]]:
        """Return scope, prefix and highest assigned number of each."""
        return list(self._db.execute("SELECT scope, prefix, number FROM numbers ORDER BY scope, prefix"))

    # -- asking -----------------------------------------------------------------------------------------

    def records(self, wanted: Filter = ALL, limit: int = -1) -> list[Record]:
        """Return the records *wanted*, by scope and id; at most *limit* of them, -1 for all."""
        return list(self.iter_records(wanted, limit))

    def iter_records(self, wanted: Filter = ALL, limit: int = -1) -> Iterator[Record]:
        """Yield the `records`; decode each only when it is needed."""
        condition, values = build_condition(self._db.restrict_filter(wanted))
        order = "ORDER BY scope, kind, length(id), id LIMIT ?"
        rows = self._db.execute(f"SELECT path, data FROM records r WHERE {condition} {order}", (*values, limit))
        yield from (load_record(path, data) for path, data in rows)

    def count(self, wanted: Filter = ALL) -> int:
        """Return the number of *wanted* records."""
        condition, values = build_condition(self._db.restrict_filter(wanted))
        return int(self._db.fetch_value(f"SELECT count(*) FROM records r WHERE {condition}", values))

    def find_last_row(self) -> int:
        """Return the highest row number, which is close to the number of records; counting takes long."""
        return self._db.fetch_value("SELECT max(n) FROM records") or 0

    def list_facet_values(
        self, facet: str, wanted: Filter = ALL, *, without: Collection[str] = (), limit: int = -1
    ) -> list[str]:
        """Return the values of *facet* in the *wanted* records, except those with the uids *without*."""
        condition, values = build_condition(self._db.restrict_filter(wanted))
        among = f"n IN (SELECT n FROM records r WHERE {condition} AND uid NOT IN ({build_placeholders(without)}))"
        statement = f"SELECT DISTINCT value FROM facets WHERE +facet = ? AND {among} LIMIT ?"
        return [value for (value,) in self._db.execute(statement, (facet, *values, *without, limit))]

    def find_by_facet(self, facet: str, among: Sequence[str], wanted: Filter = ALL) -> list[tuple[str, str, Record]]:
        """Return value, detail and record where a record *wanted* has one of *among* as a value of *facet*."""
        condition, values = build_condition(self._db.restrict_filter(wanted))
        statement = (
            "SELECT f.value, f.rest, r.path, r.data FROM facets f JOIN records r ON r.n = f.n"
            f" WHERE f.facet = ? AND f.value IN ({build_placeholders(among)}) AND {condition} ORDER BY r.day DESC, r.id"
        )
        rows = self._db.execute(statement, (facet, *among, *values))
        return [(value, rest, load_record(path, data)) for value, rest, path, data in rows]

    def find_by_id(self, record_id: str) -> list[Record]:
        """Return the records with the id or uid *record_id*, of all scopes."""
        rows = self._db.execute(f"SELECT path, data, scope {_NAMED}", (record_id,))
        return [load_record(*row[:2]) for row in rows if row[2] not in self._db.list_hidden_scopes(by_name=True)]

    def list_scopes(self, record_id: str) -> list[str]:
        """Return the scopes that have a record with the id or uid *record_id*."""
        scopes = [scope for (scope,) in self._db.execute(f"SELECT scope {_NAMED}", (record_id,)).fetchall()]
        return [scope for scope in scopes if scope not in self._db.list_hidden_scopes()]

    def load_rows(self, rows: Sequence[int], wanted: Filter = ALL) -> dict[int, Record]:
        """Return those of the records in *rows* that are *wanted*."""
        condition, values = build_condition(self._db.restrict_filter(wanted))
        statement = f"SELECT n, path, data FROM records r WHERE n IN ({build_placeholders(rows)}) AND {condition}"
        rows_found = self._db.execute(statement, (*rows, *values)).fetchall()
        return {n: load_record(path, data) for n, path, data in rows_found}

    def find_matching_rows(self, expression: str, wanted: Filter = ALL, limit: int = 20) -> list[int]:
        """Return the rows that the FTS5 *expression* finds, best first."""
        if not expression:
            return []
        condition, values = build_condition(self._db.restrict_filter(wanted))
        rows = self._db.execute(
            "SELECT r.n FROM (SELECT rowid, bm25(words, 8.0, 3.0, 1.0) AS score FROM words WHERE words MATCH ?) w"
            f" JOIN records r ON r.n = w.rowid WHERE {condition} ORDER BY w.score, r.scope, length(r.id), r.id LIMIT ?",
            (expression, *values, limit),
        )
        return [n for (n,) in rows]

    def find_containing_rows(self, terms: Sequence[str], wanted: Filter = ALL, limit: int = 20) -> list[int]:
        """Return the rows whose folded text contains all *terms* (also folded), newest first.

        This is an exact substring scan, limited to the records with words that contain the parts of a term.
        """
        parts = list(self._iter_scan_expressions(terms)) if terms else [""]
        if "" in parts:
            return []
        condition, values = build_condition(self._db.restrict_filter(wanted))
        few = "r.n IN (SELECT rowid FROM words WHERE words MATCH ?)" if parts else "1"
        has = " AND ".join("instr(r.plain, ?)" for _ in terms)
        statement = f"SELECT r.n FROM records r WHERE {few} AND {has} AND {condition}"
        given = (*([" AND ".join(parts)] if parts else []), *terms, *values, limit)
        newest = "r.day DESC, substr(r.uid, 1, 10) DESC, r.scope, length(r.id) DESC, r.id DESC"
        rows = self._db.execute(f"{statement} ORDER BY {newest} LIMIT ?", given)
        return [n for (n,) in rows]

    def _iter_scan_expressions(self, terms: Iterable[str]) -> Iterator[str]:
        """Yield FTS5 expressions for the scan: each CJK run of *terms*, and the words that contain the longest
        spaced one, or "" if there are none."""
        runs = [run for term in terms for run in iter_runs(term)]
        for run in (run for run, unspaced in runs if unspaced):
            phrase = " ".join(extract_run_terms(run)[:-1] or [run])
            yield f'"{phrase}"' + ("*" if len(run) == 1 else "")
        longest = max((run for run, unspaced in runs if not unspaced), key=len, default="")
        statement = "SELECT word FROM spellings WHERE instr(word, ?) LIMIT ?"
        rows = self._db.execute(statement, (longest, _MAX_SPELLINGS + 1)).fetchall()
        if longest and len(rows) <= _MAX_SPELLINGS:
            words = dict.fromkeys(extract_word_terms(word)[0] for (word,) in rows)
            yield "(" + " OR ".join(f'"{word}"' for word in words) + ")" if words else ""

    def find_comparable(
        self,
        title: str,
        expression: str,
        claims: Iterable[str],
        impact: Iterable[str],
        scopes: Sequence[str],
        limit: int = 50,
        rare_terms: str = "",
    ) -> list[Record]:
        """Return live records of *scopes* that may duplicate or contradict a candidate with these values.

        They share a title word, match *rare_terms* anywhere, or share a claim or a path; at most *limit* of each. Where
        there are at most twelve, all: two that decide one thing may share no word.
        """
        parts = ["SELECT n FROM records WHERE same = ?"]
        values: list[object] = [normalise(title)]
        # The scope is a word in the column of tags, so FTS5 searches and filters in one step.
        scope_terms = " OR ".join(map(build_scope_term, scopes))
        for match in filter(None, (expression and f"title : ({expression})", rare_terms)):
            best = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 8.0, 3.0, 1.0) LIMIT ?"
            parts.append(f"SELECT * FROM ({best})")
            values += [f"({match}) AND tags : ({scope_terms})", limit]
        live = f"r.scope IN ({build_placeholders(scopes)}) AND r.status IN ({build_placeholders(LIVE)})"
        shared = f"SELECT f.n FROM facets f JOIN records r ON r.n = f.n WHERE facet = ? AND value = ? AND {live}"
        for facet, value in (*(("claim", key) for key in claims), *(("impact", path) for path in impact)):
            parts.append(f"SELECT n FROM ({shared} LIMIT ?)")
            values += [facet, value, *scopes, *LIVE, limit]
        some = f"SELECT n FROM records r WHERE {live} LIMIT 13"
        parts.append(f"SELECT n FROM ({some}) WHERE (SELECT COUNT(*) FROM ({some})) < 13")
        found = f"SELECT path, data FROM records r WHERE n IN ({' UNION '.join(parts)}) AND {live} ORDER BY scope, id"
        rows = self._db.execute(found, (*values, *[*scopes, *LIVE] * 3))
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
        select = "SELECT r.path, r.data, f.rest, r.scope FROM facets f JOIN records r ON r.n = f.n"
        order = "WHERE f.facet = ? AND f.value = ? ORDER BY r.scope, r.id, f.rest"
        rows, hidden = self._db.execute(f"{select} {order}", (facet, record_id)), self._db.list_hidden_scopes()
        return [(load_record(path, data), rest) for path, data, rest, scope in rows if scope not in hidden]

    def list_error_lines(self) -> list[str]:
        """Return every distinct error line that identifies a pitfall."""
        rows = self._db.execute("SELECT DISTINCT value FROM facets WHERE facet = 'signature' AND rest = ''")
        return [line for (line,) in rows]

    def count_by_column(self, column: str, wanted: Filter = ALL) -> dict[str, int]:
        """Return the number of *wanted* records for each value of "kind", "scope", "status" or the facet "tag"."""
        if column not in ("kind", "scope", "status", "tag"):
            raise ValueError(column)
        condition, values = build_condition(self._db.restrict_filter(wanted))
        among = "facets f JOIN records r ON r.n = f.n AND f.facet = 'tag'" if column == "tag" else "records r"
        value = "f.value" if column == "tag" else column
        statement = f"SELECT {value}, count(*) FROM {among} WHERE {condition} GROUP BY {value} ORDER BY {value}"
        return dict(self._db.execute(statement, values).fetchall())

    def list_broken(self) -> list[tuple[str, str, int]]:
        """Return path, problem and line of every file that is not a valid record."""
        return list(self._db.execute("SELECT path, problem, line FROM broken WHERE problem != '' ORDER BY path"))

    # -- what is held, and notes --------------------------------------------------------------------------

    def list_held_entries(self) -> list[tuple[str, dict[str, Any]]]:
        """Return name and content of every inbox entry, as last indexed."""
        return [(n, json.loads(data)) for n, data in self._db.execute("SELECT name, data FROM held ORDER BY name")]

    def save_held_entry(self, name: str, entry: Mapping[str, Any] | None) -> None:
        """Remember an inbox *entry* under *name*; None forgets it."""
        self._db.execute("DELETE FROM held WHERE name = ?", (name,))
        if entry is not None:
            values = (name, json.dumps(entry, ensure_ascii=False, sort_keys=True))  # as the inbox has it
            self._db.execute("INSERT INTO held VALUES (?, ?)", values)

    def get_note(self, key: str) -> str:
        """Return the note *key*, or ""."""
        return self._db.fetch_value("SELECT value FROM notes WHERE key = ?", (key,)) or ""

    def list_notes(self, prefix: str, keys: Sequence[str]) -> dict[str, str]:
        """Return the notes *prefix* + each of *keys*; keys without a note are left out."""
        few = [prefix + key for key in keys] if len(keys) <= 500 else []  # any SQLite takes so many values
        among = f"WHERE key IN ({build_placeholders(few)})" if few else ""
        rows = self._db.execute(f"SELECT key, value FROM notes {among}", few) if keys else ()
        return {key[len(prefix) :]: value for key, value in rows if key.startswith(prefix)}

    def set_note(self, key: str, value: str) -> None:
        """Note *value* under *key*."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, value))
