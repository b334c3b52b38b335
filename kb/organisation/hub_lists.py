"""How an engine of a hub keeps its lists: cut into layers by weight, and packed.

Pairs of a hash and a weight are nearly all that an index of a hub holds: the terms of each record, and the records of
each term. So they are packed, in a form that numpy reads for many lists at once.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LAYERS = (760, 620, 480, 0)
"""The least weight of each layer of a list, heaviest first: in the title, said again and again, said once, in a long
text. The layers of ordinary records are about as 1 : 2 : 4 : 4."""
_SHORT_LIST = 48
"""Records of the longest list of one repository that is not cut into layers: a row costs as much as 15 of them."""
_PLAIN, _TABLE, _MANY = b"\0", b"\1", b"\2"
"""The first byte of packed pairs: plain, with a table of their values, or each with its own."""
_TABLE_HEAD, _MANY_HEAD = struct.Struct("<IH"), struct.Struct("<I")
"""How many pairs there are, and how many values in the table."""
_STEP_OF, _HIGH_OF = bytes(byte & 63 for byte in range(256)), bytes(byte >> 6 for byte in range(256))
"""The parts of a byte that has a step of a key and the two highest bits of a value."""
_RAW = -zlib.MAX_WBITS
"""Deflate without a header."""
_LEAST_PACKED = 8
"""Of fewer pairs packing saves nothing."""

Keys = NDArray[np.int64]
"""Rows of several repositories: the position of the repository among the readable ones by name, then the row."""
ListKey = tuple[int, int]
"""A term and a layer."""


class PostingList(NamedTuple):
    """One layer of a term's list with its rows."""

    term: int
    keys: Keys
    weights: NDArray[np.int64]


class StoredList(NamedTuple):
    """One layer of a term's list in one repository, as it is kept; without records it is to go."""

    records: int
    top: int
    pairs: bytes
    """The rows with their weights: `pack_pairs`."""


# -- layers -------------------------------------------------------------------------------------------


def split_into_layers(pairs: Mapping[int, int]) -> dict[int, dict[int, int]]:
    """Return a list by its layers. A short one has one: it is read at once, and most terms are in few records."""
    if len(pairs) <= _SHORT_LIST:
        return {0: dict(pairs)} if pairs else {}
    layers: dict[int, dict[int, int]] = defaultdict(dict)
    for n, weight in pairs.items():
        layers[find_layer(weight)][n] = weight
    return layers


def find_layer(weight: int) -> int:
    """Return the layer of a list that *weight* belongs to."""
    return next(layer for layer, least in enumerate(LAYERS) if weight >= least)


def pack_list(pairs: Mapping[int, int]) -> StoredList:
    """Return a list of rows with their weights as it is kept."""
    return StoredList(len(pairs), max(pairs.values(), default=0), pack_pairs(pairs))


def join_lists(term: int, positions: Sequence[int], packed: Sequence[bytes]) -> PostingList:
    """Return the lists of one term in the repositories at *positions* as one."""
    owners, numbers, weights = unpack_many(packed)
    return PostingList(term, (np.asarray(positions, np.int64)[owners] << 32) | numbers, weights)


# -- pairs --------------------------------------------------------------------------------------------


def pack_pairs(values: Mapping[int, int]) -> bytes:
    """Return *values*, of keys below 2**31 and values below 2**16, in about four bytes each; plain where they are few.

    Keys are hashes and look like chance: the lower three bytes of each are kept as they are. Their first bytes rise
    slowly when they are in order: their steps are compressed. So are values where they are mostly the same, as in a
    record; in a list they are many, and a byte of each is kept as it is.
    """
    keys = np.fromiter(values.keys(), np.int64, len(values))
    order = np.argsort(keys)
    numbers = np.fromiter(values.values(), np.int64, len(values))[order]
    parts = keys[order].astype("<u4").view(np.uint8).reshape(-1, 4)
    if len(values) >= _LEAST_PACKED:
        low, steps = parts[:, :3].tobytes(), np.diff(parts[:, 3], prepend=np.uint8(0))
        table, places = np.unique(numbers, return_inverse=True)
        if 5 * len(table) < len(values) and len(table) <= 256:
            head = _TABLE + _TABLE_HEAD.pack(len(values), len(table)) + table.astype("<u2").tobytes()
            return head + low + _compress(steps.tobytes() + places.astype(np.uint8).tobytes())
        if steps.max() < 64 and numbers.max() < 1024:
            head = _MANY + _MANY_HEAD.pack(len(values))
            highs = steps | (numbers >> 8 << 6).astype(np.uint8)
            return head + low + (numbers & 0xFF).astype(np.uint8).tobytes() + _compress(highs.tobytes())
    return _PLAIN + parts.tobytes() + numbers.astype("<u2").tobytes()


def _compress(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, _RAW, 9, zlib.Z_HUFFMAN_ONLY)
    return packer.compress(data) + packer.flush()


def unpack_pairs(data: bytes) -> dict[int, int]:
    """Return what `pack_pairs` has packed."""
    _, keys, values = unpack_many([data])
    return dict(zip(keys.tolist(), values.tolist(), strict=True))


def unpack_many(packed: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of *packed* at once: the place in *packed* that each comes from, its key and its value."""
    plain = [at for at, data in enumerate(packed) if data[:1] == _PLAIN]
    counts = [len(packed[at]) // 6 for at in plain]
    keys = [np.frombuffer(b"".join(packed[at][1 : 1 + 4 * n] for at, n in zip(plain, counts, strict=True)), "<u4")]
    values = [np.frombuffer(b"".join(packed[at][1 + 4 * n :] for at, n in zip(plain, counts, strict=True)), "<u2")]
    owners = [np.repeat(np.asarray(plain, np.int64), counts)]
    if len(plain) < len(packed):
        for some, more in zip((owners, keys, values), _unpack_compressed(packed), strict=True):
            some.append(more)
    owner, key, value = (np.concatenate(some).astype(np.int64) for some in (owners, keys, values))
    return owner, key, value


def _unpack_compressed(packed: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of those of *packed* that are not plain."""
    places, counts, offsets, size_of_tables = [], [], [], 1024
    tables, low, steps, codes, highs = [np.arange(size_of_tables, dtype="<u2").tobytes()], [], [], [], []
    for at, data in enumerate(packed):
        if data[:1] == _PLAIN:
            continue
        if data[:1] == _TABLE:
            count, size = _TABLE_HEAD.unpack_from(data, 1)
            begin = 1 + _TABLE_HEAD.size + 2 * size
            said = zlib.decompress(data[begin + 3 * count :], _RAW)
            offsets.append(size_of_tables)
            tables.append(data[begin - 2 * size : begin])
            size_of_tables += size
            steps.append(said[:count])
            codes.append(said[count:])
            highs.append(bytes(count))
        else:  # values stand for themselves, as in the first table
            (count,) = _MANY_HEAD.unpack_from(data, 1)
            begin = 1 + _MANY_HEAD.size
            said = zlib.decompress(data[begin + 4 * count :], _RAW)
            offsets.append(0)
            steps.append(said.translate(_STEP_OF))
            codes.append(data[begin + 3 * count : begin + 4 * count])
            highs.append(said.translate(_HIGH_OF))
        places.append(at)
        counts.append(count)
        low.append(data[begin : begin + 3 * count])
    many = np.asarray(counts, np.int64)
    first, second, third = np.frombuffer(b"".join(low), np.uint8).reshape(-1, 3).astype(np.int64).T
    rising = np.cumsum(np.frombuffer(b"\0" + b"".join(steps), np.uint8), dtype=np.int64)
    fourth = rising[1:] - np.repeat(rising[np.cumsum(many) - many], many)
    code = np.frombuffer(b"".join(codes), np.uint8) + (np.frombuffer(b"".join(highs), np.uint8).astype(np.int64) << 8)
    values = np.frombuffer(b"".join(tables), "<u2")[code + np.repeat(np.asarray(offsets, np.int64), many)]
    keys = first | second << 8 | third << 16 | fourth << 24
    return np.repeat(np.asarray(places, np.int64), many), keys, values.astype(np.int64)
