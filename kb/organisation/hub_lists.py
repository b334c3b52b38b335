"""Pack the lists of a hub's index: for each term the records that contain it, with its weight in each.

Lists take nearly all the space of a hub's index, and most of them are short. So a posting is one number of 32 bits, of
record number and weight. A long list of one repository has a row of its own in the table; short lists share rows,
chosen by some bits of the term. Reading many lists means reading one array.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kb.organisation.hub_records import BaseSettings
from kb.organisation.org_values import KeptRecord

K = TypeVar("K")
V = TypeVar("V")

NUMBER_BITS, _WEIGHT_BITS = 22, 10
"""Bits of a posting: a repository has at most 50,000 records, a weight is at most `kb.index.postings.SCALE`."""
MAX_WEIGHT = (1 << _WEIGHT_BITS) - 1
MAX_NUMBER = (1 << NUMBER_BITS) - 1
_LONGEST_SHARED = 48
"""Postings of the longest list that shares a row; a row of its own costs as much as 15 postings."""
_BUCKET_BITS = 11
"""Bits of a term that select the shared row; with 5,000 records about 17 lists share one."""
_BUCKET_MASK = (1 << _BUCKET_BITS) - 1
_COUNT = struct.Struct("<H")
_REST_BYTES = 3
"""Bytes for the rest of a term."""
_CACHED_LISTS = 256_000_000
"""Bytes of lists to cache per process: some hundred common words of a million records."""
_CACHED_RECORDS = 96_000_000
"""Bytes of records to cache per process, with their words: some ten thousand records."""
_CACHED_SETTINGS = 4_000_000
"""Bytes of repository settings to cache per process."""

_ALL_ROWS = -1
"""The cache key of all rows, in place of a term."""

Keys = NDArray[np.int64]
"""Rows of several repositories: the position of the repository among the readable ones by name, then the row."""
Packed = Sequence[tuple[int, bytes]]
"""The contents of one slot in several repositories, each with the position of its repository."""


class TermPostings(NamedTuple):
    """Postings of many terms, in the order of term and record: arrays of one length."""

    terms: NDArray[np.int64]
    numbers: NDArray[np.int64]
    weights: NDArray[np.int64]


class TermList(NamedTuple):
    """The rows of all readable repositories that contain a term."""

    places: NDArray[np.int32]
    """The positions of its rows among all rows, ascending; empty if the list was not read."""
    weights: NDArray[np.uint16]
    """The weight of the term in each of them."""
    records: int


class AllRows(NamedTuple):
    """All rows of the readable repositories."""

    keys: Keys
    """Ascending."""
    months: NDArray[np.uint16]
    """The month of each, see `kb.organisation.hub_engine.number_month`."""


_NO_KEYS: Keys = np.empty(0, np.int64)


# -- how they are kept --------------------------------------------------------------------------------


def find_bucket(term: int) -> int:
    """Return the slot shared by the short lists of this and other terms: negative, unlike any term."""
    return -1 - (term & _BUCKET_MASK)


def pack_postings(postings: TermPostings) -> dict[int, bytes]:
    """Return the packed slots of all *postings* of a repository, or of some of its slots."""
    terms, numbers, weights = postings
    order = np.lexsort((numbers, terms >> _BUCKET_BITS, terms & _BUCKET_MASK))
    terms = terms[order]
    packed = (numbers[order] << _WEIGHT_BITS | weights[order]).astype("<u4")
    starts = np.flatnonzero(np.diff(terms, prepend=-1))
    counts = np.diff(starts, append=len(terms))
    heads = terms[starts]
    slots: dict[int, bytes] = {}
    is_long = counts > _LONGEST_SHARED
    for term, start, count in zip(*(one[is_long].tolist() for one in (heads, starts, counts)), strict=True):
        slots[term] = packed[start : start + count].tobytes()
    shared = packed[np.repeat(~is_long, counts)]
    heads, counts = heads[~is_long], counts[~is_long]
    buckets = heads & _BUCKET_MASK
    rests = (heads >> _BUCKET_BITS).astype("<u4").view(np.uint8).reshape(-1, 4)[:, :_REST_BYTES]
    ends = np.cumsum(counts)
    firsts = np.flatnonzero(np.diff(buckets, prepend=-1)).tolist()
    for first, last in pairwise([*firsts, len(heads)]):
        body = shared[ends[first] - counts[first] : ends[last - 1]]
        directory = rests[first:last].tobytes() + counts[first:last].astype(np.uint8).tobytes()
        slots[-1 - int(buckets[first])] = _COUNT.pack(last - first) + directory + body.tobytes()
    return slots


def unpack_postings(slots: Mapping[int, bytes]) -> TermPostings:
    """Return the postings packed by `pack_postings`."""
    terms: list[NDArray[np.int64]] = []
    bodies: list[bytes] = []
    for slot, data in slots.items():
        if slot >= 0:
            terms.append(np.full(len(data) // 4, slot, np.int64))
            bodies.append(data)
            continue
        (lists,) = _COUNT.unpack_from(data)
        begin = _COUNT.size + _REST_BYTES * lists
        rests = np.zeros((lists, 4), np.uint8)
        rests[:, :_REST_BYTES] = np.frombuffer(data[_COUNT.size : begin], np.uint8).reshape(-1, _REST_BYTES)
        heads = rests.view("<u4").ravel().astype(np.int64) << _BUCKET_BITS | (-1 - slot)
        terms.append(np.repeat(heads, np.frombuffer(data[begin : begin + lists], np.uint8)))
        bodies.append(data[begin + lists :])
    packed = np.frombuffer(b"".join(bodies), "<u4").astype(np.int64)
    all_terms = np.concatenate([_NO_KEYS, *terms])
    order = np.lexsort((packed, all_terms))
    return TermPostings(all_terms[order], packed[order] >> _WEIGHT_BITS, packed[order] & MAX_WEIGHT)


def change_postings(before: TermPostings, gone: TermPostings, new: TermPostings) -> TermPostings:
    """Return *before* without the postings *gone*, ignoring their weights, and with those of *new*."""
    held, lost, added = (one.terms << NUMBER_BITS | one.numbers for one in (before, gone, new))
    stays = ~np.isin(held, np.concatenate([lost, added]))
    columns = (np.concatenate([one[stays], other]) for one, other in zip(before, new, strict=True))
    return TermPostings(*columns)


def join_postings(weights: Mapping[int, Mapping[int, int]]) -> TermPostings:
    """Return the postings of *weights*: record → term → weight."""
    counts = [len(one) for one in weights.values()]
    total = sum(counts)
    numbers = np.repeat(np.fromiter(weights.keys(), np.int64, len(counts)), counts)
    terms = np.fromiter((term for one in weights.values() for term in one), np.int64, total)
    return TermPostings(
        terms, numbers, np.fromiter((w for one in weights.values() for w in one.values()), np.int64, total)
    )


# -- how they are read --------------------------------------------------------------------------------


def build_term_list(keys: Keys, term: int, shared: Packed, own: Packed) -> TermList:
    """Return the list of *term*, which is in shared slots of some repositories and in own slots of others.

    *keys*: all rows of the repositories.
    """
    found, weights = join_packed(term, shared, own)
    return TermList(np.searchsorted(keys, found).astype(np.int32), weights, len(found))


def join_packed(term: int, shared: Packed, own: Packed) -> tuple[Keys, NDArray[np.uint16]]:
    """Return the rows that contain *term*, ascending, and its weight in each."""
    bodies = sorted([*((at, _find_in_bucket(data, term)) for at, data in shared), *own])
    packed = np.frombuffer(b"".join(data for _, data in bodies), "<u4")
    positions = np.repeat(np.asarray([at for at, _ in bodies], np.int64), [len(data) // 4 for _, data in bodies])
    return positions << 32 | packed >> _WEIGHT_BITS, (packed & MAX_WEIGHT).astype(np.uint16)


def _find_in_bucket(data: bytes, term: int) -> bytes:
    """Return the postings of *term* in a shared slot, or b""."""
    (lists,) = _COUNT.unpack_from(data)
    begin = _COUNT.size + _REST_BYTES * lists
    rest = (term >> _BUCKET_BITS).to_bytes(_REST_BYTES, "little")
    at = data.find(rest, _COUNT.size, begin)
    while at >= 0 and (at - _COUNT.size) % _REST_BYTES:
        at = data.find(rest, at + 1, begin)
    if at < 0:
        return b""
    place = (at - _COUNT.size) // _REST_BYTES
    start = begin + lists + 4 * sum(data[begin : begin + place])
    return data[start : start + 4 * data[begin + place]]


class BoundedCache(Generic[K, V]):
    """An LRU cache with a limit in bytes."""

    def __init__(self, most: int, measure: Callable[[V], int]) -> None:
        """Cache at most *most* bytes; *measure* estimates the bytes of one value."""
        self._most = most
        self._measure = measure
        self._held = 0
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, names: Iterable[K]) -> dict[K, V]:
        """Return the cached values of *names*."""
        found: dict[K, V] = {}
        with self._lock:
            for name in names:
                if (one := self._kept.get(name)) is not None:
                    self._kept.move_to_end(name)
                    found[name] = one
        return found

    def keep(self, new: Mapping[K, V]) -> None:
        """Cache *new*, and drop the least recently used values beyond the limit."""
        with self._lock:
            for name, one in new.items():
                if name not in self._kept:
                    self._kept[name] = one
                    self._held += self._measure(one)
            while self._held > self._most:
                self._held -= self._measure(self._kept.popitem(last=False)[1])


class ReadCache:
    """Cached lists and records of one process; a list is cached for exactly the repositories it was read from.

    Callers take versions and marks from their own snapshot, so they cannot read values of other repositories.
    """

    def __init__(self, lists: int = _CACHED_LISTS, records: int = _CACHED_RECORDS) -> None:
        """Cache at most so many bytes of *lists*, and of *records*."""
        self._lists: BoundedCache[tuple[str, int], TermList | AllRows | list[str]] = BoundedCache(lists, _measure)
        self.records: BoundedCache[tuple[str, int], KeptRecord] = BoundedCache(records, lambda one: one.size)
        """Keys: the mark of the repository (`Reader.marks`) and the number of the row."""
        self.settings: BoundedCache[str, dict[str, BaseSettings]] = BoundedCache(_CACHED_SETTINGS, _measure_settings)
        """The settings of all repositories, by version."""

    def find_lists(self, version: str, terms: Iterable[int]) -> dict[int, TermList]:
        """Return the lists of *terms* cached for *version*."""
        lists = self._lists.find((version, term) for term in terms)
        return {term: one for (_, term), one in lists.items() if isinstance(one, TermList)}

    def find_rows(self, version: str) -> AllRows | None:
        """Return all rows cached for *version*, or None."""
        rows = self._lists.find([(version, _ALL_ROWS)]).get((version, _ALL_ROWS))
        return rows if isinstance(rows, AllRows) else None

    def keep_rows(self, version: str, rows: AllRows) -> None:
        """Cache *rows* for *version*."""
        self.keep(version, {_ALL_ROWS: rows})

    def find_words(self, version: str, letter: str) -> list[str] | None:
        """Return the words with the first letter *letter* cached for *version*, or None."""
        name = (version, _ALL_ROWS - ord(letter))
        words = self._lists.find([name]).get(name)
        return words if isinstance(words, list) else None

    def keep_words(self, version: str, letter: str, words: list[str]) -> None:
        """Cache *words* as those with the first letter *letter*."""
        self.keep(version, {_ALL_ROWS - ord(letter): words})

    def keep(self, version: str, lists: Mapping[int, TermList | AllRows | list[str]]) -> None:
        """Cache *lists* for *version*."""
        self._lists.keep({(version, term): one for term, one in lists.items()})


def _measure(one: TermList | AllRows | list[str]) -> int:
    if isinstance(one, list):
        return 600 + 64 * len(one)
    return 600 + sum(column.nbytes for column in one[:2])


def _measure_settings(settings: dict[str, BaseSettings]) -> int:
    return sum(500 + sum(map(len, (one.project, one.wiki_url, *one.groups))) for one in settings.values())
