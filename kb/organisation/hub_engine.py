"""The seam between a hub and the database that keeps its index: what both engines hold, and what they are asked.

An engine keeps, of each repository on its own, the records as rows, and for every term the list of the records that
hold it with its weight there: the whole numbers of `kb.index.postings`, so that a record says as much for a question on
the hub as on a laptop.

What both do alike is here: how a record becomes a row, and how the lists follow a change. How lists are packed is
said in `kb.organisation.hub_lists`.
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
"""The number of what engines keep; the last digit counts changes of meaning. Another one is thrown away."""
_MAX_BATCH = 5_000
"""Records whose terms are brought into the lists at once."""
MASK = 0xFFFFFFFF
_LABEL = "\0"
"""With this begins a term that no text has: what a record is filed under."""
EVERY = f"{_LABEL}every"
"""The label of every record: its list has all rows."""
ANY = f"{_LABEL}any\0"
"""With this begins what stands for a word or any that continues it."""
_FIRST_YEAR = 1971
LINKED = f"{_LABEL}linked"
"""The label of a record that supersedes or amends one of another scope or repository."""
SETTINGS = "settings"
"""The note with the settings of a repository: `hub_records.BaseSettings`."""
_WORDS = "words "
"""What the key of a note begins with that has the words of a repository that begin with one letter."""


class StoredRow(NamedTuple):
    """A record as an engine keeps it."""

    n: int
    """Its number in its repository: made from its path, so that an index is the same however it came to be."""
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
    """What is kept of a record, as far as a change needs it."""

    n: int
    data: bytes


class RepositoryState(NamedTuple):
    """What an engine knows of a repository as a whole."""

    commit: str = ""
    records: int = 0
    broken: tuple[BrokenFile, ...] = ()
    fetched: str = ""
    """ISO 8601, UTC, of the last fetch that succeeded."""
    error: str = ""


class RowStore(Protocol):
    """The rows of one repository within one transaction."""

    def find_rows(self, paths: Collection[str] | None) -> dict[str, KnownRow]:
        """Return the rows at *paths*, by path; None: all."""

    def find_taken(self, numbers: Collection[int]) -> set[int]:
        """Return those of *numbers* that rows have."""

    def replace_rows(self, gone: Collection[int], new: Sequence[StoredRow]) -> None:
        """Delete the rows with the numbers *gone*, then insert *new*."""

    def read_slots(self, slots: Collection[int]) -> dict[int, bytes]:
        """Return what is kept in *slots*."""

    def write_slots(self, slots: Mapping[int, bytes]) -> None:
        """Replace what is kept in *slots*; one without bytes goes."""

    def read_notes(self, keys: Collection[str]) -> dict[str, bytes]:
        """Return the notes of *keys* that there are: small things that are kept of a repository as a whole."""

    def write_notes(self, notes: Mapping[str, bytes]) -> None:
        """Replace *notes*; an empty one goes."""

    def replace_broken(self, looked: Collection[str] | None, broken: Sequence[BrokenFile]) -> None:
        """Forget the broken files at the paths *looked*, None: all, and keep *broken*."""


class Reader(Protocol):
    """One look at the readable repositories, as they are at one moment."""

    @property
    def names(self) -> Sequence[str]:
        """The repositories, by name; the position is what `Keys` have."""

    @property
    def states(self) -> Mapping[str, tuple[str, int]]:
        """Commit and number of records of each of them."""

    @property
    def version(self) -> str:
        """What names the repositories as they are: another one wherever one of them is another, or changes."""

    @property
    def marks(self) -> Sequence[str]:
        """Of each of *names* what names the repository as it is: another one wherever it changes."""

    @property
    def cache(self) -> ReadCache:
        """What was read before."""

    def read_heads(self, terms: Collection[int]) -> tuple[dict[int, int], dict[int, Packed]]:
        """Return how many postings the slots of *terms* have, and what is in the slots that they share with others."""

    def read_slots(self, terms: Collection[int]) -> dict[int, Packed]:
        """Return what is in the slots of *terms*."""

    def select_rows(self, columns: Sequence[str], keys: Keys, wanted: Filter = ALL) -> Iterable[tuple[Any, ...]]:
        """Yield key and *columns* of those of the rows *keys* whose columns are as *wanted*, in any order."""

    def read_notes(self, key: str) -> dict[int, bytes]:
        """Return the note of each repository that has one, by its position."""

    def list_rows(
        self, position: int, wanted: Filter, limit: int, after: str, among: Collection[int] | None
    ) -> list[tuple[int, str, bytes]]:
        """Return number, path and data of rows of one repository after the path *after*, in the order of paths.

        *among*: of these numbers only.
        """

    def find_named(self, name: str, positions: Collection[int]) -> list[tuple[int, str, bytes]]:
        """Return position, path and data of the rows of some repositories that have the id or uid *name*, in order."""


class Engine(Protocol):
    """A database with the index of every repository. Its failures are IndexFailed."""

    def read_state(self, name: str) -> RepositoryState:
        """Return what is known of the repository *name*."""

    def note_fetch(self, name: str, fetched: str, error: str) -> None:
        """Note how the last fetch ended; *fetched* "" leaves the time of the last good one."""

    def apply_change(self, name: str, change: RepositoryChange) -> tuple[int, int] | None:
        """Let the index show another commit, all at once; return how many records were written and removed.

        None where it does not show the commit *before* that the change was made for.
        """

    def keep_repositories(self, names: Collection[str]) -> None:
        """Forget every repository but *names*."""

    def open_reader(self, readable: frozenset[str]) -> AbstractContextManager[Reader]:
        """Open a look at the repositories *readable*: nothing of another can be read by it."""

    def optimise(self) -> None:
        """Do what a database likes to have done after many changes."""

    def close(self) -> None:
        """Close every connection."""


# -- rows ---------------------------------------------------------------------------------------------


def build_row(n: int, record: Record) -> StoredRow:
    """Return the row of *record*."""
    about = (record.path, record.id, record.uid, record.kind, record.scope, record.status, record.date)
    path, id_, uid, kind, scope, status, day = (text.replace("\0", "\ufffd") for text in about)
    return StoredRow(n, path, id_, uid, kind, scope, status, day, dump_record(record))


def compute_weights(record: Record) -> dict[int, int]:
    """Return the weight of each term of *record*, and 1 for each label; that of every record weighs its month."""
    labels = dict.fromkeys(map(hash_term, _list_labels(record)), 1)
    return {**labels, hash_term(EVERY): number_month(record.date), **compute_hashed_weights(record)}


def number_month(day: str) -> int:
    """Return the number of the month of an ISO day, 1–1023; 0 where it is none, or too far off."""
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
        # of a glob the folder before its first sign: src/*/pay.py may govern what is below src
        fixed = path.replace("\\", "/").partition("*")[0].partition("?")[0].partition("[")[0]
        yield build_label("path", (fixed if fixed == path else fixed.rpartition("/")[0]).rstrip("/"))
    if any(":" in name for name in (*record.supersedes, *record.amends)):
        yield LINKED


def build_label(sort: str, value: str) -> str:
    """Return the term that a record has for being filed under *value*."""
    return f"{_LABEL}{sort}\0{fold_text(value)}"


# -- changes ------------------------------------------------------------------------------------------


def apply_to_store(store: RowStore, change: RepositoryChange) -> tuple[int, int]:
    """Bring the rows of a repository to what *change* says; return how many records were written and removed."""
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
    """Numbers of rows, made from paths: where two paths give one, the second gets the next that is free."""

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
    """Return the number that a row with this *path* has, unless another path has it."""
    return zlib.crc32(path.encode("utf-8", "surrogateescape")) & MAX_NUMBER


class _ListChange:
    """What is to change in the lists of a repository."""

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
        """Write what has come together."""
        gone, new = join_postings(self._gone), join_postings(self._new)
        terms = {*gone.terms.tolist(), *new.terms.tolist()}
        if terms:
            held = self._store.read_slots({*terms, *map(find_bucket, terms)})
            before = unpack_postings(held)
            after = change_postings(before, gone, new)
            slots = pack_postings(after)
            changed = {slot: data for slot, data in slots.items() if held.get(slot) != data}
            self._store.write_slots(changed | dict.fromkeys(held.keys() - slots.keys(), b""))
            kept = set(after.terms.tolist())
            moved = kept.symmetric_difference(before.terms.tolist())
            self._write_words({word: term in kept for term, word in self._words.items() if term in moved})
        self._gone.clear()
        self._new.clear()
        self._words.clear()

    def _write_words(self, is_held: Mapping[str, bool]) -> None:
        """Add words to those that somebody may have misspelled, or take them out."""
        by_letter: dict[str, list[str]] = defaultdict(list)
        for word in is_held:
            by_letter[_WORDS + word[0]].append(word)
        known = self._store.read_notes(by_letter) if by_letter else {}
        notes: dict[str, bytes] = {}
        for key, words in by_letter.items():
            kept = {*unpack_words(known.get(key, b""))}
            kept = kept.difference(words) | {word for word in words if is_held[word]}
            notes[key] = zlib.compress(" ".join(sorted(kept)).encode()) if kept else b""
        if notes:
            self._store.write_notes(notes)


def unpack_words(data: bytes) -> list[str]:
    """Return the words of a note."""
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
    """Return the words of readable records that begin as *word* does and are as long but for *slips* letters."""
    return [other for other in load_words(reader, word[0]) if abs(len(other) - len(word)) <= slips]


def find_continued_words(reader: Reader, beginning: str, most: int) -> list[str]:
    """Return at most *most* words of readable records that begin with *beginning*, in order."""
    words = load_words(reader, beginning[0])
    first = bisect_left(words, beginning)
    return [word for word in words[first : first + most] if word.startswith(beginning)]


# -- reading ------------------------------------------------------------------------------------------


def load_rows(reader: Reader, keys: Keys) -> dict[int, tuple[str, bytes]]:
    """Return path and data of each of the rows *keys*."""
    return {key: (path, data) for key, path, data in reader.select_rows(["path", "data"], keys)}


def filter_rows(reader: Reader, keys: Keys, wanted: Filter) -> set[int]:
    """Return those of *keys* whose columns are as *wanted*."""
    return {key for (key,) in reader.select_rows([], keys, wanted)}


def split_keys(keys: Keys) -> tuple[list[int], list[int]]:
    """Return the positions and the numbers of rows."""
    return (keys >> 32).tolist(), (keys & MASK).tolist()


def group_keys(keys: Iterable[int]) -> dict[int, list[int]]:
    """Return the numbers of rows by the position of their repository."""
    found: dict[int, list[int]] = defaultdict(list)
    for key in keys:
        found[key >> 32].append(key & MASK)
    return found


def build_column_condition(wanted: Filter, mark: str = "?") -> tuple[str, list[str]]:
    """Return the condition that *wanted* states on the columns of a row, and its values; *mark* stands for a value."""
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
