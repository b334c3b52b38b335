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
"""Seconds after which a half file is taken to be that of a process that died: no write takes so long."""


def read_if_exists(path: str) -> bytes | None:
    """Return the bytes of a file, or None where there is none; a pipe in its place is not waited for."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb", opener=open_nonblocking) as file:
        return file.read()
    return None


def open_nonblocking(path: str, flags: int) -> int:
    """Open *path* for `open`, and wait for nobody where it is a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def resolve_within(root: str, path: str) -> str:
    """Return the full path of *path*, relative to *root*; raise FileNotFoundError where a link or `..` leads elsewhere.

    A clone can hold links to anything on the machine of its reader, so nothing is read through one. *root* is real.
    """
    full = root.rstrip(os.sep)
    for name in path.split("/"):
        full = f"{full}{os.sep}{name}"
        # only below the root, which is real: `os.path.realpath` would look at every folder above it, too
        if name in ("", os.curdir, os.pardir) or os.path.islink(full):
            raise FileNotFoundError(errno.ENOENT, "a link leads there", path)
    return full


def write_file(path: str, data: bytes) -> None:
    """Write a file and the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def write_atomic(path: str, data: bytes, *, synced: bool = False, only_if: Callable[[], bool] | None = None) -> bool:
    """Write a file so that a reader sees the old or the new one, never a part; permissions are kept.

    *synced*: it is on the disk once this returns; its name is there as well after `sync_folders`. *only_if* is asked
    last of all, when the new file is on the disk: where it says no, nothing is written, and False is returned.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = os.path.join(os.path.dirname(path), f"{_TEMPORARY_PREFIX}{os.getpid()}{_TEMPORARY_SUFFIX}")
    remove_file(beside)  # what a dead process left, or a link that somebody made there
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
    """Let the names in *folders* survive a loss of power, where the file system can."""
    for folder in folders:
        with contextlib.suppress(OSError):
            file = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


def list_half_written(folder: str, age: float = STALE) -> list[str]:
    """Return the files in *folder* that `write_atomic` left when its process died, *age* seconds ago or more."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_TEMPORARY_PREFIX) and entry.name.endswith(_TEMPORARY_SUFFIX):
                with contextlib.suppress(OSError):
                    if abs(time.time() - entry.stat().st_mtime) >= age:
                        found.append(entry.path)
    return sorted(found)


def remove_half_written(folder: str, age: float = STALE) -> None:
    """Take away what is `list_half_written` in *folder*."""
    for path in list_half_written(folder, age):
        with contextlib.suppress(OSError):
            os.unlink(path)


def remove_file(path: str) -> None:
    """Remove a file that may be there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def remove_folder(folder: str) -> None:
    """Remove a folder that may be there, with all that is in it; of a link the link alone, wherever it leads."""
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
    """Lock the open *file* against every other process and return whether that went without waiting."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def json_bytes(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    """Return *value* as JSON; lone surrogates (of a name that is not UTF-8) come back from it as they were."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, sort_keys=sort_keys).encode()


def format_stamp(stat: os.stat_result) -> str:
    """Return what changes when a file is written or replaced."""
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def read_stamp(path: str) -> str:
    """Return the stamp of the file *path*; "" where there is none."""
    try:
        return format_stamp(os.stat(path))
    except OSError:
        return ""


def compute_stamp_checksum(stat: os.stat_result) -> int:
    """Return the stamp of a file as one number; a folder's checksum is the sum of those of its files."""
    return (stat.st_mtime_ns * 31 + stat.st_size) * (2 * stat.st_ino + 1)


def parse_stamp_checksum(stamp: str) -> int:
    """Return the checksum of the file that *stamp* was taken from; 0 for a file not yet written."""
    time, _, rest = stamp.partition(":")
    size, _, inode = rest.partition(":")
    return (int(time) * 31 + int(size)) * (2 * int(inode) + 1) if inode else 0


def read_clone_mark(folder: str) -> str:
    """Return the mark that identifies the state folder *folder* of this clone; "" before it is made.

    It is the time at which the file `clone` there was made, to the nanosecond and as the system keeps it: no archive,
    no copy and no pull can set it, so nothing that comes with files can name it.
    """
    try:
        return str(os.stat(os.path.join(folder, "clone"), follow_symlinks=False).st_ctime_ns)
    except OSError:
        return ""


def iter_folders(root: str, folder: str, counts: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the folders from *folder* down, each with its stamp.

    Where the file system *counts* folders as links of the one above, as it was seen to do there, one with two has none.
    """
    try:
        full = resolve_within(root, folder)
        stat = os.stat(full)
        # on ext4 and the like a folder has a link for itself, for its name and for each folder in it
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
    """Return the stamp of the file *path*; "" for what is gone or no plain file."""
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
    """Return the sum of the stamps of the files in *folder*: one number to compare instead of a row for each."""
    total = 0
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if entry.name[-3:] == ".md" and entry.name[0] != "." and not entry.is_symlink():
                    total += compute_stamp_checksum(entry.stat())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return str(total)
