"""The interface between a hub and the database of its index, and the code that both engines share.

An engine stores, per repository, the records as rows, and for every term the list of its records with the term's weight
in each. The weights are the integers of `kb.index.postings`, so that a record scores the same on the hub and on a
laptop.

Shared code: turning a record into a row, and updating the lists after a change. `kb.organisation.hub_lists` packs the
lists.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from kb.index.postings import collect_vocabulary, compute_hashed_weights, hash_term
from kb.index.schema import ALL, Filter, build_placeholders, dump_record, load_record
from kb.index.schema import SCHEMA as RECORD_SCHEMA
from kb.organisation.hub_lists import (
    MAX_NUMBER,
    MAX_WEIGHT,
    Keys,
    Packed,
    ReadCache,
    change_postings,
    find_bucket,
    join_postings,
    pack_postings,
    unpack_postings,
)
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_values import BrokenFile
from kb.records.model import Record, list_field
from kb.text.segment import fold_text

SCHEMA = zlib.crc32(f"{RECORD_SCHEMA} 7".encode()) & 0x7FFFFFFF
"""The schema number of the index; the last digit counts changes of meaning. An index with another number is rebuilt."""
_MAX_BATCH = 5_000
"""Records whose terms are added to the lists at once."""
MASK = 0xFFFFFFFF
_LABEL = "\0"
"""Begins a label: a term that occurs in no text, for filtering records."""
EVERY = f"{_LABEL}every"
"""The label of every record; its list has all rows."""
ANY = f"{_LABEL}any\0"
"""Begins a term that stands for a word and all its continuations."""
_FIRST_YEAR = 1971
LINKED = f"{_LABEL}linked"
"""The label of a record that supersedes or amends one of another scope or repository."""
SETTINGS = "settings"
"""The note with the settings of a repository: `hub_records.BaseSettings`."""
_WORDS = "words "
"""Begins the key of a note with the words of a repository that start with one letter."""


class StoredRow(NamedTuple):
    """A record as stored by an engine."""

    n: int
    """Its number in its repository, derived from its path, so that it does not depend on the order of changes."""
    path: str
    id: str
    uid: str
    kind: str
    scope: str
    status: str
    day: str
    data: bytes
    """The record: `kb.index.schema.load_record`."""


class KnownRow(NamedTuple):
    """The stored values of a record that a change needs."""

    n: int
    data: bytes


class RepositoryState(NamedTuple):
    """The state of a repository in an engine."""

    commit: str = ""
    records: int = 0
    broken: tuple[BrokenFile, ...] = ()
    fetched: str = ""
    """Time of the last successful fetch: ISO 8601, UTC."""
    error: str = ""


class RowStore(Protocol):
    """The rows of one repository within one transaction."""

    def find_rows(self, paths: Collection[str] | None) -> dict[str, KnownRow]:
        """Return the rows at *paths* by path, or all rows for None."""

    def find_taken(self, numbers: Collection[int]) -> set[int]:
        """Return those of *numbers* that are taken by rows."""

    def replace_rows(self, gone: Collection[int], new: Sequence[StoredRow]) -> None:
        """Delete the rows with the numbers *gone*, then insert *new*."""

    def read_slots(self, slots: Collection[int]) -> dict[int, bytes]:
        """Return the contents of *slots*."""

    def write_slots(self, slots: Mapping[int, bytes]) -> None:
        """Replace the contents of *slots*; delete a slot without bytes."""

    def read_notes(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the existing notes of *keys*: small values stored per repository."""

    def write_notes(self, notes: Mapping[str, bytes]) -> None:
        """Replace *notes*; delete empty ones."""

    def replace_broken(self, looked: Collection[str] | None, broken: Sequence[BrokenFile]) -> None:
        """Replace the broken files at the paths *looked* (None: all) by *broken*."""


class Reader(Protocol):
    """A snapshot of the readable repositories."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the repositories; `Keys` contain positions in this list."""

    @property
    def states(self) -> Mapping[str, tuple[str, int]]:
        """Commit and number of records of each of them."""

    @property
    def version(self) -> str:
        """Identifies the state of all repositories; it changes whenever one of them changes."""

    @property
    def marks(self) -> Sequence[str]:
        """For each of *names*, a text that identifies its state and changes with it."""

    @property
    def cache(self) -> ReadCache:
        """The cache of earlier reads."""

    def read_heads(self, terms: Collection[int]) -> tuple[dict[int, int], dict[int, Packed]]:
        """Return the number of postings in the own slots of *terms*, and the contents of their shared slots."""

    def read_slots(self, terms: Collection[int]) -> dict[int, Packed]:
        """Return the contents of the own slots of *terms*."""

    def select_rows(self, columns: Sequence[str], keys: Keys, wanted: Filter = ALL) -> Iterable[tuple[Any, ...]]:
        """Yield key and *columns* of those rows among *keys* that match *wanted*, in any order."""

    def read_notes(self, key: str) -> dict[int, bytes]:
        """Return position → note of each repository that has one."""

    def list_rows(
        self, position: int, wanted: Filter, limit: int, after: str, among: Collection[int] | None
    ) -> list[tuple[int, str, bytes]]:
        """Return number, path and data of one repository's rows after the path *after*, ordered by path.

        *among*: only rows with these numbers.
        """

    def find_named(self, name: str, positions: Collection[int]) -> list[tuple[int, str, bytes]]:
        """Return position, path and data of rows with the id or uid *name* in some repositories, in order."""


class Engine(Protocol):
    """A database with the index of every repository. Its errors are IndexFailed."""

    def read_state(self, name: str) -> RepositoryState:
        """Return the state of the repository *name*."""

    def note_fetch(self, name: str, fetched: str, error: str) -> None:
        """Save the result of the last fetch; *fetched* "" keeps the time of the last successful one."""

    def apply_change(self, name: str, change: RepositoryChange) -> tuple[int, int] | None:
        """Bring the index to another commit in one transaction; return how many records were written and removed.

        Return None if the index is not at the commit *before* that the change is based on.
        """

    def keep_repositories(self, names: Collection[str]) -> None:
        """Delete every repository except *names* from the index."""

    def open_reader(self, readable: frozenset[str]) -> AbstractContextManager[Reader]:
        """Open a snapshot of the repositories *readable*, which cannot read any other."""

    def optimise(self) -> None:
        """Optimise the database after many changes."""

    def close(self) -> None:
        """Close every connection."""


# -- rows ---------------------------------------------------------------------------------------------


def build_row(n: int, record: Record) -> StoredRow:
    """Return the row of *record*."""
    about = (record.path, record.id, record.uid, record.kind, record.scope, record.status, record.date)
    path, id_, uid, kind, scope, status, day = (text.replace("\0", "\ufffd") for text in about)
    return StoredRow(n, path, id_, uid, kind, scope, status, day, dump_record(record))


def compute_weights(record: Record) -> dict[int, int]:
    """Return the weight of each term of *record*, and 1 for each label; for the label EVERY, its month."""
    labels = dict.fromkeys(map(hash_term, _list_labels(record)), 1)
    return {**labels, hash_term(EVERY): number_month(record.date), **compute_hashed_weights(record)}


def number_month(day: str) -> int:
    """Return the number of the month of an ISO day, 1–1023, or 0 if it is no day or out of range."""
    year, month = day[:4], day[5:7]
    if not ((year + month).isascii() and year.isdecimal() and month.isdecimal() and day[4:5] == "-"):
        return 0
    number = 12 * (int(year) - _FIRST_YEAR) + int(month)
    return number if 0 < number < MAX_WEIGHT else 0


def _list_labels(record: Record) -> Iterator[str]:
    for sort, value in (("kind", record.kind), ("status", record.status), ("scope", record.scope)):
        yield build_label(sort, value)
    for tag in record.tags:
        yield from (build_label("tag", tag), build_label("filed", tag))
    for domain in list_field(record, "domain"):
        yield build_label("filed", domain)
    for path in record.impact:
        # of a glob take the folder before its first wildcard: src/*/pay.py may govern anything under src
        fixed = path.replace("\\", "/").partition("*")[0].partition("?")[0].partition("[")[0]
        yield build_label("path", (fixed if fixed == path else fixed.rpartition("/")[0]).rstrip("/"))
    if any(":" in name for name in (*record.supersedes, *record.amends)):
        yield LINKED


def build_label(sort: str, value: str) -> str:
    """Return the label of a record for *value*."""
    return f"{_LABEL}{sort}\0{fold_text(value)}"


# -- changes ------------------------------------------------------------------------------------------


def apply_to_store(store: RowStore, change: RepositoryChange) -> tuple[int, int]:
    """Apply *change* to the rows of a repository; return how many records were written and removed."""
    known = store.find_rows(None if change.is_whole else change.looked)
    by_path = {one.path: one for one in change.records}
    removed = [row.n for path, row in known.items() if path not in by_path]
    lists = _ListChange(store)
    for path, row in known.items():
        if path not in by_path:
            lists.remove(row.n, load_record(path, row.data))
    numbers = _NumberGiver(store, {row.n for row in known.values()}, is_complete=change.is_whole)
    updated = 0
    pending: list[Record] = []
    for record in by_path.values():
        before = known.get(record.path)
        if before is None or before.data != dump_record(record):
            pending.append(record)
    store.replace_rows(removed, ())
    for at in range(0, len(pending), _MAX_BATCH):
        rows: list[StoredRow] = []
        gone: list[int] = []
        for record in pending[at : at + _MAX_BATCH]:
            if before := known.get(record.path):
                n = before.n
                gone.append(n)
                lists.remove(n, load_record(record.path, before.data))
            else:
                n = numbers.give(record.path)
            lists.add(n, record)
            rows.append(build_row(n, record))
        store.replace_rows(gone, rows)
        lists.write()
        updated += len(rows)
    lists.write()
    store.replace_broken(None if change.is_whole else change.looked, change.broken)
    store.write_notes({SETTINGS: change.settings})
    return updated, len(removed)


class _NumberGiver:
    """Row numbers derived from paths; if two paths give the same, the second gets the next free one."""

    def __init__(self, store: RowStore, known: set[int], *, is_complete: bool) -> None:
        self._store = store
        self._taken = known
        self._is_complete = is_complete

    def give(self, path: str) -> int:
        n = number_path(path)
        while n in self._taken or (not self._is_complete and self._store.find_taken([n])):
            n = (n + 1) & MAX_NUMBER
        self._taken.add(n)
        return n


def number_path(path: str) -> int:
    """Return the number of a row with this *path*, unless another path has taken it."""
    return zlib.crc32(path.encode("utf-8", "surrogateescape")) & MAX_NUMBER


class _ListChange:
    """Pending changes of the lists of a repository."""

    def __init__(self, store: RowStore) -> None:
        self._store = store
        self._gone: dict[int, Mapping[int, int]] = {}
        self._new: dict[int, Mapping[int, int]] = {}
        self._words: dict[int, str] = {}

    def remove(self, n: int, record: Record) -> None:
        self._gone[n] = compute_weights(record)
        self._note_words(record)

    def add(self, n: int, record: Record) -> None:
        self._new[n] = compute_weights(record)
        self._note_words(record)

    def _note_words(self, record: Record) -> None:
        self._words.update((hash_term(word), word) for word in collect_vocabulary(record))

    def write(self) -> None:
        """Write the pending changes."""
        gone, new = join_postings(self._gone), join_postings(self._new)
        terms = {*gone.terms.tolist(), *new.terms.tolist()}
        if terms:
            contents = self._store.read_slots({*terms, *map(find_bucket, terms)})
            before = unpack_postings(contents)
            after = change_postings(before, gone, new)
            slots = pack_postings(after)
            changed = {slot: data for slot, data in slots.items() if contents.get(slot) != data}
            self._store.write_slots(changed | dict.fromkeys(contents.keys() - slots.keys(), b""))
            remaining = set(after.terms.tolist())
            moved = remaining.symmetric_difference(before.terms.tolist())
            self._write_words({word: term in remaining for term, word in self._words.items() if term in moved})
        self._gone.clear()
        self._new.clear()
        self._words.clear()

    def _write_words(self, is_held: Mapping[str, bool]) -> None:
        """Add words to the dictionary for misspelt queries, or remove them."""
        by_letter: dict[str, list[str]] = defaultdict(list)
        for word in is_held:
            by_letter[_WORDS + word[0]].append(word)
        known = self._store.read_notes(by_letter) if by_letter else {}
        notes: dict[str, bytes] = {}
        for key, words in by_letter.items():
            vocabulary = {*unpack_words(known.get(key, b""))}
            vocabulary = vocabulary.difference(words) | {word for word in words if is_held[word]}
            notes[key] = zlib.compress(" ".join(sorted(vocabulary)).encode()) if vocabulary else b""
        if notes:
            self._store.write_notes(notes)


def unpack_words(data: bytes) -> list[str]:
    """Return the words in a note."""
    return zlib.decompress(data).decode().split() if data else []


def load_words(reader: Reader, letter: str) -> list[str]:
    """Return the words of readable records that begin with *letter*, in order."""
    words = reader.cache.find_words(reader.version, letter)
    if words is None:
        notes = reader.read_notes(_WORDS + letter).values()
        words = sorted({word for data in notes for word in unpack_words(data)})
        reader.cache.keep_words(reader.version, letter, words)
    return words


def find_similar_words(reader: Reader, word: str, slips: int) -> list[str]:
    """Return the words of readable records with the first letter of *word* whose length differs by at most *slips*."""
    return [other for other in load_words(reader, word[0]) if abs(len(other) - len(word)) <= slips]


def find_continued_words(reader: Reader, beginning: str, most: int) -> list[str]:
    """Return at most *most* words of readable records that begin with *beginning*, in order."""
    words = load_words(reader, beginning[0])
    first = bisect_left(words, beginning)
    return [word for word in words[first : first + most] if word.startswith(beginning)]


# -- reading ------------------------------------------------------------------------------------------


def load_rows(reader: Reader, keys: Keys) -> dict[int, tuple[str, bytes]]:
    """Return key → path and data of the rows *keys*."""
    return {key: (path, data) for key, path, data in reader.select_rows(["path", "data"], keys)}


def filter_rows(reader: Reader, keys: Keys, wanted: Filter) -> set[int]:
    """Return those of *keys* whose columns match *wanted*."""
    return {key for (key,) in reader.select_rows([], keys, wanted)}


def split_keys(keys: Keys) -> tuple[list[int], list[int]]:
    """Return the positions and the numbers of rows."""
    return (keys >> 32).tolist(), (keys & MASK).tolist()


def group_keys(keys: Iterable[int]) -> dict[int, list[int]]:
    """Return position of the repository → row numbers."""
    found: dict[int, list[int]] = defaultdict(list)
    for key in keys:
        found[key >> 32].append(key & MASK)
    return found


def build_column_condition(wanted: Filter, mark: str = "?") -> tuple[str, list[str]]:
    """Return the SQL condition of *wanted* on the columns of a row, and its values; *mark* is the placeholder."""
    parts: list[str] = []
    values: list[str] = []
    columns = (("kind", wanted.kinds, ""), ("status", wanted.statuses, ""), ("scope", wanted.scopes, ""))
    for column, among, negation in (*columns, ("scope", wanted.hidden, "NOT ")):
        if among:
            parts.append(f"{column} {negation}IN ({build_placeholders(among).replace('?', mark)})")
            values += among
    for condition, value in (("day >=", wanted.since), ("day <=", wanted.until)):
        if value:
            parts.append(f"{condition} {mark}")
            values.append(value)
    return " AND ".join(parts) or "1 = 1", values
