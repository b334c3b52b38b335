"""Locks of git's that are held or left over, and which git processes work in a repository."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from kb.git.git_process import find_command_index

_PROCESSES = "/proc"
_REWRITING = frozenset({"merge", "rebase", "stash", "am", "cherry-pick", "revert"})
"""Not `commit` and `pull`: they may wait for an editor or for the network, and `pull` runs one of these."""


def can_git_be_running(*folders: str) -> bool:
    """Return whether a git process works in *folders*, or might where the system does not say."""
    if not os.path.exists(f"{_PROCESSES}/self/comm"):
        return True
    try:
        return any(True for _ in _iter_git_processes(*folders))
    except OSError:
        return True


def list_rewriting_commands(*folders: str) -> list[str]:
    """Return the git commands at work in *folders* that put a person's uncommitted work away and bring it back.

    Between their steps nobody holds a lock, and a step that meets one fails. Empty where the system does not say.
    """
    found = []
    with contextlib.suppress(OSError):
        for pid in _iter_git_processes(*folders):
            with (
                contextlib.suppress(OSError),
                open(f"{_PROCESSES}/{pid}/cmdline", encoding="utf-8", errors="replace") as file,
            ):
                words = file.read().split("\0")
                at = find_command_index(words, 1)
                found += [word for word in words[at : at + 1] if word in _REWRITING]
    return found


def _iter_git_processes(*folders: str) -> Iterator[str]:
    """Yield the numbers of the git processes that work in *folders*; raise OSError where one does not say where."""
    places = tuple(os.path.realpath(folder) for folder in folders)
    for pid in filter(str.isdigit, os.listdir(_PROCESSES)):
        try:
            if not _read_first_bytes(f"{_PROCESSES}/{pid}/comm").startswith(b"git"):
                continue
            at = os.readlink(f"{_PROCESSES}/{pid}/cwd")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(at == folder or at.startswith(folder + os.sep) for folder in places):
            yield pid


def _read_first_bytes(path: str) -> bytes:
    """Return the first bytes of a file; there are hundreds, and a file object for each takes three times as long."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 16)
    finally:
        os.close(file)
