"""Stamps of the files that only kb writes, so that a hook can ask at every tool call whether one has changed.

It asks the disk alone and loads nothing of kb. `kb/guard/outside_changes.py` takes the snapshot and says what a
change means. The file: a header and then one row for each folder and each file, fields parted by one NUL, rows by two.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from kb.startup.namedtuple import NamedTuple

FOLDER = "guard"
_FILE = "files"
_RUNNING, _TURN = "running-", "turn-"
MOST = 500
"""Files that one hook looks at: 3 to 6 µs each. Where there are more, every call looks at the folders and at a part."""
SETTINGS = "kb.toml\nrisk.yaml"
"""The settings that an agent changes on the word of a person, a file a line."""
_BLOCK = 65_536
"""Bytes of the snapshot that are read at once: about MOST rows."""
_SLASH = ord("/")
GONE = "-"
"""The stamp of a missing file, and the id of an unknown content."""
_STALE = 7200.0
"""Seconds after which a call that has not ended is taken to have died."""


class FileStamp(NamedTuple):
    """The state of a file or folder at the last check."""

    stamp: str
    oid: str = GONE
    """Git's name of the content; of a folder GONE."""
    mark: str = GONE
    """`k`: not committed, a copy is kept; `a` and git's name of what it had before: as an agent left it, and was told
    so; else GONE."""


class GuardSnapshot(NamedTuple):
    """All files that only kb writes, as they were."""

    ref: str
    head: str
    """The commit that was checked out."""
    mode: str
    """The setting `guard` in kb.toml, read before an agent could change it."""
    writer: str
    folders: dict[str, FileStamp]
    files: dict[str, FileStamp]
    """By path: relative to the root of the knowledge base, or absolute for one outside."""


def compute_stamp(path: str) -> str:
    """Return a stamp that changes with the file or folder *path*, or GONE if it is missing.

    The time of change is the system's own: no program can set it back, as `touch -d` sets the time of writing.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return GONE
    return f"{found.st_ctime_ns}:{found.st_size}:{found.st_ino}"


def guard_path(root: str, *parts: str) -> str:
    """Return a path in the folder of the guard."""
    return os.path.join(root, ".kb", FOLDER, *parts)


def _read_clone_stamp(root: str) -> str:
    try:
        return str(os.stat(os.path.join(root, ".kb", "clone"), follow_symlinks=False).st_ctime_ns)
    except OSError:
        return ""


# -- asked before anything is loaded -----------------------------------------------------------------


def is_unchanged(root: str, folder: str) -> bool:
    """Return whether all folders of the snapshot, and up to MOST of its files, are as they were.

    *folder* is where the call is made: a memory bank there that the snapshot does not have is a change.
    """
    try:
        with open(guard_path(root, _FILE), "rb", buffering=0) as file:
            header, folders, rows = _read_part(file.fileno())
    except (OSError, ValueError):
        return False
    if header.partition(b"\0")[0] != _read_clone_stamp(root).encode() or not header:
        return False
    top = os.fsencode(root) + b"/"
    for row in folders.split(b"\0\0") + rows:
        path, _, rest = row.partition(b"\0")
        if path and _compute_stamp_bytes(path if path[0] == _SLASH else top + path) != rest.partition(b"\0")[0]:
            return False
    return all(os.fsencode(to_snapshot_key(root, bank)) + b"\0" in folders for bank in iter_memory_banks(folder))


def _compute_stamp_bytes(path: bytes) -> bytes:
    """Return what `compute_stamp` does, in bytes: a hook asks for hundreds of them."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return b"-"
    return b"%d:%d:%d" % (found.st_ctime_ns, found.st_size, found.st_ino)


def _read_part(file: int) -> tuple[bytes, bytes, list[bytes]]:
    """Return the header and the folders of the snapshot in *file*, and the rows of up to MOST of its files.

    Where there are more, they are rows from anywhere, and no other bytes are read: the snapshot of 10,000 records has
    1.6 MB, and to read it all takes longer than to look at the files.
    """
    read = os.read(file, _BLOCK)
    while read.count(b"\0\0\0") < 2 and (more := os.read(file, _BLOCK)):
        read += more
    header, folders, files = read.split(b"\0\0\0", 2)
    start = len(read) - len(files)
    rows = _read_rows(file, start, MOST + 1)
    # a part that differs from call to call, so that every file is checked after some calls
    if len(rows) > MOST:
        length = os.fstat(file).st_size - start
        rows = _read_rows(file, start + time.monotonic_ns() // 1000 % length, MOST + 1)[1:]  # the first is cut
        rows += _read_rows(file, start, MOST - len(rows))
    return header, folders, rows


def _read_rows(file: int, at: int, most: int) -> list[bytes]:
    """Return the first rows, *most* at most, of *file* from the byte *at* on."""
    data = os.pread(file, _BLOCK, at)
    while data.count(b"\0\0") < most and (more := os.pread(file, _BLOCK, at + len(data))):
        data += more
    return data.split(b"\0\0", most)[:most]


def iter_memory_banks(folder: str) -> Iterator[str]:
    """Yield the memory banks that are in *folder* or above it, up to the top of its repository."""
    try:
        here = os.path.realpath(folder) if folder else ""
    except (OSError, ValueError):
        return
    while here:
        bank = os.path.join(here, "memory-bank")
        if os.path.isdir(bank):
            yield os.path.realpath(bank)
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return
        here = above


def to_snapshot_key(root: str, path: str) -> str:
    """Return how a snapshot names the absolute *path*."""
    top = os.path.realpath(root)
    return path[len(top) + 1 :] if path.startswith(top + os.sep) else path


# -- which calls run ---------------------------------------------------------------------------------


def mark_call_started(root: str, session: str, allowed: str = "") -> None:
    """Note that a call which can write begins; *allowed* names a file that the person lets it change."""
    try:
        with open(_session_path(root, _RUNNING, session), "w", encoding="utf-8") as file:
            file.write(allowed)
        turn = _session_path(root, _TURN, session)
        if not os.path.exists(turn):
            with open(turn, "w", encoding="utf-8"):
                pass
    except OSError:
        return


def mark_call_ended(root: str, session: str, kinds: tuple[str, ...] = (_RUNNING,)) -> None:
    """Note that the call of *session* has ended."""
    for kind in kinds:
        try:
            os.unlink(_session_path(root, kind, session))
        except OSError:
            continue


def mark_turn_ended(root: str, session: str) -> None:
    """Note that the turn of *session* has ended, and its call with it."""
    mark_call_ended(root, session, (_RUNNING, _TURN))


def read_call_start(root: str, session: str) -> int:
    """Return when the running call of *session* began, nanoseconds of the file system's clock; 0: none runs."""
    return _read_mtime(_session_path(root, _RUNNING, session))


def read_turn_start(root: str, session: str) -> int:
    """Return when the first call of the turn began that can write; 0: there was none."""
    return _read_mtime(_session_path(root, _TURN, session))


def read_allowed_file(root: str, session: str) -> str:
    """Return the file that the person lets the running call of *session* change, or ""."""
    try:
        with open(_session_path(root, _RUNNING, session), encoding="utf-8") as file:
            return file.read(4096)
    except (OSError, ValueError):
        return ""


def has_other_calls(root: str, session: str) -> bool:
    """Return whether a call of another session runs."""
    own = _session_path(root, _RUNNING, session)
    try:
        with os.scandir(guard_path(root)) as entries:
            others = [e.path for e in entries if e.name.startswith(_RUNNING) and e.path != own]
    except OSError:
        return False
    return any(time.time() - _read_mtime(path) / 1e9 < _STALE for path in others)


def _session_path(root: str, kind: str, session: str) -> str:
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in session)[:80]
    return guard_path(root, kind + plain)


def _read_mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


# -- kept and read back ------------------------------------------------------------------------------


def encode_snapshot(root: str, snapshot: GuardSnapshot) -> bytes:
    """Return *snapshot* encoded for its file."""
    fields = (_read_clone_stamp(root), snapshot.ref or GONE, snapshot.head or GONE, snapshot.mode, snapshot.writer)
    parts = ["\0".join(fields)]
    for entries in (snapshot.folders, snapshot.files):
        parts.append("\0\0".join("\0".join((path, *entry)) for path, entry in entries.items()))
    return b"\0\0\0".join(map(os.fsencode, parts))


def load_snapshot(root: str) -> GuardSnapshot | None:
    """Return the snapshot of this clone, or None if there is no valid one."""
    try:
        with open(guard_path(root, _FILE), "rb") as file:
            header, folders, files = os.fsdecode(file.read()).split("\0\0\0", 2)
        clone, ref, head, mode, writer = header.split("\0")
        if not clone or clone != _read_clone_stamp(root):
            return None
        tables = []
        for text in (folders, files):
            rows = (row.split("\0") for row in text.split("\0\0") if row)
            tables.append({path: FileStamp(*rest) for path, *rest in rows})
        ref, head = ("" if word == GONE else word for word in (ref, head))
        return GuardSnapshot(ref, head, mode, writer, *tables)
    except (OSError, ValueError):
        return None


def get_snapshot_file(root: str) -> str:
    """Return the file of the snapshot."""
    return guard_path(root, _FILE)
