"""The index of a hub in PostgreSQL: plain tables whose rows carry their repository, and row-level security by it.

Queries run in the role `kb_hub_reader`, which owns nothing: the database shows it only the rows of the repositories
named in the transaction, even if a statement lacks a condition. A change runs in a transaction that names the one
repository it may touch. Every table enforces its policies for its owner, too.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from kb.errors import IndexFailed
from kb.i18n import msg
from kb.index.schema import ALL, Filter
from kb.organisation.hub_engine import (
    SCHEMA,
    KnownRow,
    RepositoryState,
    StoredRow,
    apply_to_store,
    build_column_condition,
    split_keys,
)
from kb.organisation.hub_lists import Keys, Packed, ReadCache, find_bucket
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_values import BrokenFile
from kb.organisation.sqlite_engine import dump_message, load_message

READER = "kb_hub_reader"
"""The role for reading. It is created if missing, which requires the right to create roles."""
_TABLES = """
CREATE SCHEMA kb_hub;
CREATE TABLE kb_hub.schema_number (number integer NOT NULL);
CREATE TABLE kb_hub.repositories (
    repo integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" UNIQUE NOT NULL,
    commit text NOT NULL DEFAULT '', records integer NOT NULL DEFAULT 0, stamp text NOT NULL
    DEFAULT md5(random()::text),
    fetched text NOT NULL DEFAULT '', error text NOT NULL DEFAULT '');
CREATE TABLE kb_hub.records (
    repo integer NOT NULL, n integer NOT NULL, path text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    uid text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, scope text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL, day text COLLATE "C" NOT NULL, data bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (repo, n));
-- none on the path: it would be the largest, and a page of a list or a push may look at every row of a repository
CREATE INDEX records_id ON kb_hub.records (id, repo);
CREATE INDEX records_uid ON kb_hub.records (uid, repo) WHERE uid <> '';
CREATE TABLE kb_hub.postings (
    slot integer NOT NULL, repo integer NOT NULL, data bytea STORAGE EXTERNAL NOT NULL, PRIMARY KEY (slot, repo));
CREATE TABLE kb_hub.notes (
    repo integer NOT NULL, key text COLLATE "C" NOT NULL, data bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (key, repo));
CREATE TABLE kb_hub.broken (
    repo integer NOT NULL, path text COLLATE "C" NOT NULL, problem text NOT NULL, line integer NOT NULL);
CREATE INDEX broken_path ON kb_hub.broken (repo, path);
"""
_SECURED = ("repositories", "records", "postings", "notes", "broken")
_POLICIES = """
ALTER TABLE kb_hub.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE kb_hub.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY reading ON kb_hub.{table} FOR SELECT TO {reader} USING (repo = ANY (
    (SELECT string_to_array(current_setting('kb_hub.readable', true), ',')::integer[])::integer[]));
CREATE POLICY changing ON kb_hub.{table} TO CURRENT_USER USING (
    (SELECT current_setting('kb_hub.changing', true)) IN ('all', repo::text));
GRANT SELECT ON kb_hub.{table} TO {reader};
"""
_ROLE = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{READER}') THEN CREATE ROLE {READER} NOLOGIN; END IF;
    -- since version 16 a member may not always become its role
    IF NOT pg_has_role(current_user, '{READER}',
        CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END)
    THEN GRANT {READER} TO CURRENT_USER; END IF;
END $$;
"""
_PATIENCE = 5.0
"""Seconds to wait for a connection."""
_MAX_SEEN = 256
"""Sets of repositories to cache reads for: callers with the same rights read the same rows."""
_LOCK = 7_045_771
"""The number of the lock held while tables are created."""
_PAIRS = "unnest(%s::integer[], %s::integer[]) AS asked (repo, n)"


@contextlib.contextmanager
def _convert_failures() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        problem = str(error).strip().partition("\n")[0]
        message = msg("the database cannot be used: {problem}", problem=problem)
        raise IndexFailed(message, hint=msg("see whether PostgreSQL runs and KB_HUB_DSN is right")) from error


class _Repositories(NamedTuple):
    """A snapshot of the repositories that some callers may read."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each name, its number in the column `repo`."""
    states: Mapping[str, tuple[str, int]]
    marks: tuple[str, ...]
    """For each name, its number and its stamp, which differs after each change."""
    positions: Mapping[int, int]
    """Number → position among the names."""
    version: str


class PostgresEngine:
    """The tables of the schema `kb_hub` in one database."""

    def __init__(self, dsn: str, connections: int = 8) -> None:
        """Connect to the database of *dsn*, with at most *connections* connections; create missing tables.

        Tables of another schema number are dropped, because they can be rebuilt.
        """
        with _convert_failures():
            with psycopg.connect(dsn, autocommit=True, connect_timeout=10) as db:
                _prepare(db)
            self._pool = ConnectionPool(
                dsn, min_size=1, max_size=connections, timeout=_PATIENCE, kwargs={"autocommit": True}, open=True
            )
        self._numbers: dict[str, int] = {}
        self._cache = ReadCache()
        self._seen: dict[frozenset[str], _Repositories] = {}

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def optimise(self) -> None:
        """Update the statistics of the database and free unused space."""
        with _convert_failures(), self._pool.connection() as db:
            for table in ("records", "postings"):
                db.execute(f"VACUUM (ANALYZE) kb_hub.{table}")

    def keep_repositories(self, names: Collection[str]) -> None:
        """Delete every repository except *names* from the index."""
        with _convert_failures(), self._change("all") as db:
            gone = db.execute(
                "SELECT repo FROM kb_hub.repositories WHERE NOT name = ANY(%s)", (list(names),)
            ).fetchall()
            for table in reversed(_SECURED):
                db.execute(f"DELETE FROM kb_hub.{table} WHERE repo = ANY(%s)", ([repo for (repo,) in gone],))
        self._numbers.clear()

    def read_state(self, name: str) -> RepositoryState:
        """Return the state of the repository *name*."""
        columns = "SELECT name, commit, records, fetched, error FROM kb_hub.repositories"
        with _convert_failures(), self._read({name}, columns) as (db, row):
            broken = db.execute("SELECT path, problem, line FROM kb_hub.broken ORDER BY path, ctid").fetchall()
        if row is None or row[0] != name:
            return RepositoryState()
        _, commit, records, fetched, error = row
        files = tuple(BrokenFile(path, load_message(problem), line) for path, problem, line in broken)
        return RepositoryState(commit, records, files, fetched, error)

    def note_fetch(self, name: str, fetched: str, error: str) -> None:
        """Save the result of the last fetch; *fetched* "" keeps the time of the last successful one."""
        with _convert_failures():
            repo = self._find_number(name)
            statement = "UPDATE kb_hub.repositories SET error = %s, fetched = coalesce(nullif(%s, ''), fetched)"
            with self._change(str(repo)) as db:
                db.execute(f"{statement} WHERE repo = %s", (error.replace("\0", ""), fetched, repo))

    def apply_change(self, name: str, change: RepositoryChange) -> tuple[int, int] | None:
        """Bring the index to another commit in one transaction; return how many records were written and removed."""
        with _convert_failures():
            repo = self._find_number(name)
            with self._change(str(repo)) as db:
                # the lock on this row serialises the writers of one repository
                state = db.execute(
                    "SELECT commit FROM kb_hub.repositories WHERE repo = %s FOR UPDATE", (repo,)
                ).fetchone()
                if state is None or (not change.is_whole and state[0] != change.before):
                    self._numbers.pop(name, None)
                    return None
                done = apply_to_store(_PostgresStore(db, repo), change)
                counted = "(SELECT count(*) FROM kb_hub.records WHERE repo = %s)"
                db.execute(
                    f"UPDATE kb_hub.repositories SET commit = %s, stamp = %s, records = {counted} WHERE repo = %s",
                    (change.commit, secrets.token_hex(8), repo, repo),
                )
        return done

    @contextlib.contextmanager
    def open_reader(self, readable: frozenset[str]) -> Iterator[PostgresReader]:
        """Open a snapshot of the repositories *readable*: the database shows no row of another."""
        stamps = "SELECT coalesce(string_agg(repo || ' ' || stamp, ',' ORDER BY repo), '') FROM kb_hub.repositories"
        with _convert_failures(), self._read(readable, stamps) as (db, version):
            seen = self._seen.get(readable)
            if seen is None or version != (seen.version,):
                seen = self._read_repositories(db, readable)
            yield PostgresReader(db, seen, self._cache)

    def _read_repositories(self, db: psycopg.Connection[Any], readable: frozenset[str]) -> _Repositories:
        rows = db.execute("SELECT name, repo, commit, records, stamp FROM kb_hub.repositories ORDER BY name").fetchall()
        if not {row[0] for row in rows} <= readable:  # the tables were rebuilt, so the numbers have changed
            self._numbers.clear()
            raise IndexFailed(msg("the database was rebuilt in the meantime"), hint=msg("try again"))
        marks = {repo: f"{repo} {stamp}" for _, repo, _, _, stamp in rows}
        seen = self._seen[readable] = _Repositories(
            tuple(name for name, *_ in rows),
            tuple(repo for _, repo, *_ in rows),
            {name: (commit, records) for name, _, commit, records, _ in rows},
            tuple(marks.values()),
            {row[1]: position for position, row in enumerate(rows)},
            ",".join(marks[repo] for repo in sorted(marks)),
        )
        while len(self._seen) > _MAX_SEEN:
            self._seen.pop(next(iter(self._seen), readable), None)
        return seen

    @contextlib.contextmanager
    def _read(self, names: Collection[str], query: LiteralString) -> Iterator[tuple[psycopg.Connection[Any], Any]]:
        """Yield a connection in the reading role that only sees the repositories *names*, and the first row of *query*.

        All of this is one message to the server, because most queries take no longer than one round trip."""
        allowed = ",".join(map(str, self._find_numbers(names)))
        with self._pool.connection() as db:
            results = db.execute(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                f"SET LOCAL ROLE {READER}; SET LOCAL jit = off; SET LOCAL kb_hub.readable = '{allowed}'; {query}"
            )
            try:
                while results.nextset():
                    pass
                yield db, results.fetchone()
            finally:
                if not db.closed:
                    with contextlib.suppress(psycopg.Error):
                        db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _change(self, repo: str) -> Iterator[psycopg.Connection[Any]]:
        """Yield a connection in a transaction that may change one repository, or "all"."""
        with self._pool.connection() as db, db.transaction():
            db.execute("SELECT set_config('kb_hub.changing', %s, true)", (repo,))
            yield db

    def _find_numbers(self, names: Collection[str]) -> list[int]:
        if any(name not in self._numbers for name in names):
            with self._change("all") as db:
                rows = db.execute("SELECT name, repo FROM kb_hub.repositories").fetchall()
            self._numbers.update(rows)
        return [self._numbers[name] for name in names if name in self._numbers]

    def _find_number(self, name: str) -> int:
        """Return the number of a repository, after assigning one if it has none."""
        if not self._find_numbers([name]):
            with self._change("all") as db:
                statement = "INSERT INTO kb_hub.repositories (name) VALUES (%s) ON CONFLICT DO NOTHING"
                db.execute(statement, (name,))
        return self._find_numbers([name])[0]


def _prepare(db: psycopg.Connection[Any]) -> None:
    """Create the role and the tables, unless this version has already created them."""
    db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
        is_there = db.execute("SELECT to_regclass('kb_hub.schema_number')").fetchone()
        if is_there and is_there[0]:
            row = db.execute("SELECT number FROM kb_hub.schema_number").fetchone()
            if row and row[0] == SCHEMA:
                return
        with db.transaction():
            db.execute("DROP SCHEMA IF EXISTS kb_hub CASCADE")
            db.execute(_ROLE)
            db.execute(_TABLES)
            db.execute(f"GRANT USAGE ON SCHEMA kb_hub TO {READER}")
            for table in _SECURED:
                db.execute(_POLICIES.format(table=table, reader=READER))
            db.execute("INSERT INTO kb_hub.schema_number VALUES (%s)", (SCHEMA,))
    finally:
        if not db.closed:
            db.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


class _PostgresStore:
    """The rows of one repository within a transaction."""

    def __init__(self, db: psycopg.Connection[Any], repo: int) -> None:
        self._db = db
        self._repo = repo

    def find_rows(self, paths: Collection[str] | None) -> dict[str, KnownRow]:
        """Return the rows at *paths* by path, or all rows for None."""
        among, values = ("", []) if paths is None else (" AND path = ANY(%s)", [list(paths)])
        statement = f"SELECT path, n, data FROM kb_hub.records WHERE repo = %s{among}"
        rows = self._db.execute(statement, [self._repo, *values], binary=True).fetchall()
        return {path: KnownRow(*row) for path, *row in rows}

    def find_taken(self, numbers: Collection[int]) -> set[int]:
        """Return those of *numbers* that are taken by rows."""
        statement = "SELECT n FROM kb_hub.records WHERE repo = %s AND n = ANY(%s)"
        return {n for (n,) in self._db.execute(statement, (self._repo, list(numbers)))}

    def replace_rows(self, gone: Collection[int], new: Sequence[StoredRow]) -> None:
        """Delete the rows with the numbers *gone*, then insert *new*."""
        if gone:
            self._db.execute("DELETE FROM kb_hub.records WHERE repo = %s AND n = ANY(%s)", (self._repo, list(gone)))
        if new:  # no COPY: the database refuses it on tables with row-level security
            self._db.execute(
                "INSERT INTO kb_hub.records SELECT %s, new.* FROM unnest(%b::integer[], %b::text[], %b::text[],"
                " %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::bytea[]) AS new",
                (self._repo, *map(list, zip(*new, strict=True))),
            )

    def read_slots(self, slots: Collection[int]) -> dict[int, bytes]:
        """Return the contents of *slots*."""
        statement = "SELECT slot, data FROM kb_hub.postings WHERE repo = %s AND slot = ANY(%s)"
        return dict(self._db.execute(statement, (self._repo, list(slots)), binary=True).fetchall())

    def write_slots(self, slots: Mapping[int, bytes]) -> None:
        """Replace the contents of *slots*; delete a slot without bytes."""
        gone = "DELETE FROM kb_hub.postings WHERE repo = %s AND slot = ANY(%s)"
        self._db.execute(gone, (self._repo, list(slots)))
        rows = [(slot, data) for slot, data in sorted(slots.items()) if data]
        self._db.execute(
            "INSERT INTO kb_hub.postings (repo, slot, data)"
            " SELECT %s, new.* FROM unnest(%b::integer[], %b::bytea[]) AS new",
            (self._repo, [slot for slot, _ in rows], [data for _, data in rows]),
        )

    def read_notes(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the existing notes of *keys*."""
        statement = "SELECT key, data FROM kb_hub.notes WHERE repo = %s AND key = ANY(%s)"
        return dict(self._db.execute(statement, (self._repo, list(keys)), binary=True).fetchall())

    def write_notes(self, notes: Mapping[str, bytes]) -> None:
        """Replace *notes*; delete empty ones."""
        self._db.execute("DELETE FROM kb_hub.notes WHERE repo = %s AND key = ANY(%s)", (self._repo, list(notes)))
        with self._db.cursor() as cursor:
            rows = [(self._repo, key, data) for key, data in notes.items() if data]
            cursor.executemany("INSERT INTO kb_hub.notes VALUES (%s, %s, %b)", rows)

    def replace_broken(self, looked: Collection[str] | None, broken: Sequence[BrokenFile]) -> None:
        """Replace the broken files at the paths *looked* (None: all) by *broken*."""
        again = [] if looked is None else [*looked, *(one.path for one in broken)]
        among = "" if looked is None else " AND path = ANY(%s)"
        values = [self._repo] if looked is None else [self._repo, again]
        self._db.execute(f"DELETE FROM kb_hub.broken WHERE repo = %s{among}", values)
        with self._db.cursor() as cursor:
            rows = [(self._repo, one.path, dump_message(one.problem), one.line) for one in broken]
            cursor.executemany("INSERT INTO kb_hub.broken VALUES (%s, %s, %s, %s)", rows)


class PostgresReader:
    """A snapshot of the tables in the reading role."""

    def __init__(self, db: psycopg.Connection[Any], seen: _Repositories, cache: ReadCache) -> None:
        """Read the repositories *seen* through *db*; *cache*: earlier reads."""
        self.names = seen.names
        self.states = seen.states
        self.marks = seen.marks
        self.version = seen.version
        self.cache = cache
        self._repos = seen.numbers
        self._positions = seen.positions
        self._db = db

    def read_heads(self, terms: Collection[int]) -> tuple[dict[int, int], dict[int, Packed]]:
        """Return the number of postings in the own slots of *terms*, and the contents of their shared slots."""
        counts = "SELECT slot, sum(octet_length(data) / 4)::integer FROM kb_hub.postings WHERE slot = ANY(%s)"
        posting_counts = dict(self._fetch(f"{counts} GROUP BY slot", (list(terms),)))
        return posting_counts, self.read_slots({find_bucket(term) for term in terms})

    def read_slots(self, terms: Collection[int]) -> dict[int, Packed]:
        """Return the contents of the own slots of *terms*."""
        statement = "SELECT slot, repo, data FROM kb_hub.postings WHERE slot = ANY(%s)"
        found: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for slot, repo, data in self._fetch(statement, (list(terms),)):
            found[slot].append((self._positions[repo], data))
        return dict(found)

    def select_rows(self, columns: Sequence[str], keys: Keys, wanted: Filter = ALL) -> Iterator[tuple[Any, ...]]:
        """Yield key and *columns* of those rows among *keys* that match *wanted*, in any order."""
        condition, values = build_column_condition(wanted, "%s")
        positions, numbers = split_keys(keys)
        rows = self._fetch(
            f"SELECT {', '.join(['repo', 'n', *columns])} FROM {_PAIRS} JOIN kb_hub.records USING (repo, n)"
            f" WHERE {condition}",
            ([self._repos[position] for position in positions], numbers, *values),
        )
        return ((self._positions[repo] << 32 | n, *row) for repo, n, *row in rows)

    def read_notes(self, key: str) -> dict[int, bytes]:
        """Return position → note of each repository that has one."""
        rows = self._fetch("SELECT repo, data FROM kb_hub.notes WHERE key = %s", (key,))
        return {self._positions[repo]: data for repo, data in rows}

    def list_rows(
        self, position: int, wanted: Filter, limit: int, after: str, among: Collection[int] | None
    ) -> list[tuple[int, str, bytes]]:
        """Return number, path and data of one repository's rows after the path *after*, ordered by path."""
        condition, values = build_column_condition(wanted, "%s")
        few, numbers = ("", []) if among is None else (" AND n = ANY(%s)", [list(among)])
        return self._fetch(
            "SELECT n, path, data FROM kb_hub.records"
            f" WHERE repo = %s AND path > %s AND {condition}{few} ORDER BY path LIMIT %s",
            (self._repos[position], after, *values, *numbers, limit),
        )

    def find_named(self, name: str, positions: Collection[int]) -> list[tuple[int, str, bytes]]:
        """Return position, path and data of rows with the id or uid *name* in some repositories, in order."""
        is_named = "(id = %s OR (uid = %s AND uid <> ''))"
        statement = f"SELECT repo, path, data FROM kb_hub.records WHERE repo = ANY(%s) AND {is_named}"
        rows = self._fetch(statement, ([self._repos[position] for position in positions], name, name))
        return sorted((self._positions[repo], path, data) for repo, path, data in rows)

    def _fetch(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, values, binary=True).fetchall()
