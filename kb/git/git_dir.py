"""Where git keeps its things, read from the files its documentation describes (gitrepository-layout).

Links on the way are followed as git follows them: else another file would be read for its settings than git reads.
"""

from __future__ import annotations

import os


def find_git_dir(folder: str) -> tuple[str, str] | None:
    """Return work tree and git directory around *folder*."""
    while True:
        mark = os.path.join(folder, ".git")
        if os.path.isdir(mark):
            return folder, mark
        pointer = read_first_line(mark)
        if pointer.startswith("gitdir: "):
            return folder, os.path.realpath(os.path.join(folder, pointer[8:]))
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def find_common_dir(git_dir: str) -> str:
    """Return the directory that all worktrees of *git_dir* share."""
    shared = read_first_line(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, shared)) if shared else git_dir


def read_first_line(path: str) -> str:
    """Return the first line of a file, or "" when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""


def find_packed_ref(path: str, name: str) -> str:
    """Return the object of the ref *name* in a packed-refs file, or ""."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next((line.split(" ", 1)[0] for line in file if line.rstrip("\n").endswith(" " + name)), "")
    except FileNotFoundError:
        return ""
