"""File access: read files that may be missing, write atomically, detect changes by stamps."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from stat import S_ISREG

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".kb-", ".tmp"
STALE = 60.0
"""Seconds after which a temporary file is assumed to be left by a dead process: no write takes that long."""


def read_if_exists(path: str) -> bytes | None:
    """Return the bytes of a file, or None if there is none; do not block on a pipe."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb", opener=open_nonblocking) as file:
        return file.read()
    return None


def open_nonblocking(path: str, flags: int) -> int:
    """Open *path* for `open` without blocking on a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def resolve_within(root: str, path: str) -> str:
    """Return the full path of *path* below *root*; raise FileNotFoundError if a link or `..` leads elsewhere.

    A clone can contain links to anything on its reader's machine, so nothing is read through one. *root* is a real
    path.
    """
    full = root.rstrip(os.sep)
    for name in path.split("/"):
        full = f"{full}{os.sep}{name}"
        # only below the root, which is real: `os.path.realpath` would also check every folder above it
        if name in ("", os.curdir, os.pardir) or os.path.islink(full):
            raise FileNotFoundError(errno.ENOENT, "a link leads there", path)
    return full


def write_file(path: str, data: bytes) -> None:
    """Write a file, creating the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def write_atomic(path: str, data: bytes, *, synced: bool = False, only_if: Callable[[], bool] | None = None) -> bool:
    """Write a file so that a reader sees the old or the new version, never a part; keep its permissions.

    *synced*: the contents are on disk when this returns; for the name call `sync_folders`. *only_if* is called last,
    when the new file is on disk: if it returns false, nothing is written, and False is returned.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = os.path.join(os.path.dirname(path), f"{_TEMPORARY_PREFIX}{os.getpid()}{_TEMPORARY_SUFFIX}")
    remove_file(beside)  # left by a dead process, or a link somebody has put there
    try:
        with open(beside, "xb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        if only_if and not only_if():
            remove_file(beside)
            return False
        os.replace(beside, path)
    except BaseException:
        remove_file(beside)
        raise
    return True


def sync_folders(folders: Iterable[str]) -> None:
    """Sync *folders* so that the names in them survive a power failure, if the file system can."""
    for folder in folders:
        with contextlib.suppress(OSError):
            file = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def list_half_written(folder: str, age: float = STALE) -> list[str]:
    """Return the temporary files in *folder* that a dead `write_atomic` left at least *age* seconds ago."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_TEMPORARY_PREFIX) and entry.name.endswith(_TEMPORARY_SUFFIX):
                with contextlib.suppress(OSError):
                    if abs(time.time() - entry.stat().st_mtime) >= age:
                        found.append(entry.path)
    return sorted(found)


def remove_half_written(folder: str, age: float = STALE) -> None:
    """Remove the files listed by `list_half_written` in *folder*."""
    for path in list_half_written(folder, age):
        with contextlib.suppress(OSError):
            os.unlink(path)


def remove_file(path: str) -> None:
    """Remove a file if it exists."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def remove_folder(folder: str) -> None:
    """Remove a folder with its contents if it exists; of a link, only the link itself."""
    if os.path.islink(folder):
        os.unlink(folder)
        return
    for top, folders, files in os.walk(folder, topdown=False):
        for path in (os.path.join(top, name) for name in (*files, *folders)):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(folder)


def try_lock(file: int) -> bool:
    """Lock the open *file* against other processes; return False instead of waiting."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def json_bytes(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    """Return *value* as JSON; lone surrogates (from names that are not UTF-8) survive a round trip."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, sort_keys=sort_keys).encode()


def format_stamp(stat: os.stat_result) -> str:
    """Return a stamp that changes when a file is written or replaced."""
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def read_stamp(path: str) -> str:
    """Return the stamp of the file *path*, or "" if there is none."""
    try:
        return format_stamp(os.stat(path))
    except OSError:
        return ""


def compute_stamp_checksum(stat: os.stat_result) -> int:
    """Return the stamp of a file as one number; a folder's checksum is the sum of those of its files."""
    return (stat.st_mtime_ns * 31 + stat.st_size) * (2 * stat.st_ino + 1)


def parse_stamp_checksum(stamp: str) -> int:
    """Return the checksum of the file with *stamp*; 0 for a file not yet written."""
    time, _, rest = stamp.partition(":")
    size, _, inode = rest.partition(":")
    return (int(time) * 31 + int(size)) * (2 * int(inode) + 1) if inode else 0


def read_clone_mark(folder: str) -> str:
    """Return the mark that identifies the state folder *folder* of this clone, or "" if it does not exist.

    It is the change time of the file `clone` there, in nanoseconds. No archive, copy or pull can set it, so no file
    that comes with a clone can contain it.
    """
    try:
        return str(os.stat(os.path.join(folder, "clone"), follow_symlinks=False).st_ctime_ns)
    except OSError:
        return ""


def iter_folders(root: str, folder: str, counts: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the folders from *folder* down, each with its stamp.

    If the file system *counts* each folder as a link of its parent, a folder with two links has no subfolders.
    """
    try:
        full = resolve_within(root, folder)
        stat = os.stat(full)
        # on ext4 and the like a folder has a link for itself, for its name and for each subfolder
        if not counts or stat.st_nlink != 2:
            with os.scandir(full) as entries:
                below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            counts = bool(below) and stat.st_nlink == 2 + len(below)
            for name in sorted(name for name in below if name[0] != "."):
                yield from iter_folders(root, f"{folder}/{name}", counts)
    except (FileNotFoundError, NotADirectoryError):
        return
    yield folder, f"{stat.st_mtime_ns}:{stat.st_ino}"


def iter_record_files(root: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the files in *folder* that may be records, each with its stamp."""
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(".md") and name[0] != "." and entry.is_file(follow_symlinks=False):
                    yield f"{folder}/{name}", format_stamp(entry.stat(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return


def read_file_stamp(root: str, path: str) -> str:
    """Return the stamp of the file *path*, or "" if it is missing or not a regular file."""
    try:
        stat = os.stat(resolve_within(root, path), follow_symlinks=False)
    except OSError:
        return ""
    return format_stamp(stat) if S_ISREG(stat.st_mode) else ""


def iter_record_names(root: str, folder: str) -> Iterator[str]:
    """Yield the names in *folder* that may be records."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from (n for n in os.listdir(os.path.join(root, folder)) if n[-3:] == ".md" and n[0] != ".")


def sum_stamps(root: str, folder: str) -> str:
    """Return the sum of the stamps of the files in *folder*: one number to compare instead of a row per file."""
    total = 0
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if entry.name[-3:] == ".md" and entry.name[0] != "." and not entry.is_symlink():
                    total += compute_stamp_checksum(entry.stat())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return str(total)
