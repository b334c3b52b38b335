"""What tells that a file may have changed: its stamp; and the stamps of a whole folder as one number."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from stat import S_ISREG

from kb.files import resolve_within


def format_stamp(stat: os.stat_result) -> str:
    """Return what changes when a file is written or replaced."""
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def compute_weight(stat: os.stat_result) -> int:
    """Return the stamp as a number to be summed up."""
    return (stat.st_mtime_ns * 31 + stat.st_size) * (2 * stat.st_ino + 1)


def parse_stamp_weight(stamp: str) -> int:
    """Return for a stamp what `compute_weight` returns for the file it was taken from; 0 for a file not yet written."""
    time, _, rest = stamp.partition(":")
    size, _, inode = rest.partition(":")
    return (int(time) * 31 + int(size)) * (2 * int(inode) + 1) if inode else 0


def read_clone_mark(folder: str) -> str:
    """Return what tells the state folder *folder* of one clone from that of any other; "" before it is made.

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
        place = resolve_within(root, folder)
        stat = os.stat(place)
        if not counts or stat.st_nlink != 2:
            with os.scandir(place) as entries:
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
                    total += compute_weight(entry.stat())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return str(total)
