"""Locks of git's that are held or left over, and which git processes work in a repository."""

from __future__ import annotations

import os
import time

from kb.errors import Busy
from kb.store.files import STALE
from kb.words import say

_PROCESSES = "/proc"


def lock_held(path: str) -> Busy:
    """Return the trouble that the lock *path* is there, with what to do about it.

    git writes no process number into its locks. One that is older than a minute is taken for one of a process that
    died; `kb doctor --fix` makes sure that no git process works there before it takes it away.
    """
    try:
        age = abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        age = 0.0
    if age < STALE:
        return Busy(
            say("another git process holds {path}", path=path),
            hint=say("try again; if its process has died, after a minute: kb doctor --fix"),
        )
    return Busy(
        say("a git process that has died left {path}: nobody has let go of it for {n} minutes", path=path,
            n=int(age // 60)),
        hint=say("take it away: kb doctor --fix"),
    )  # fmt: skip


def git_may_run(*folders: str) -> bool:
    """Return whether a git process works in *folders*, or might where the system does not say."""
    if not os.path.exists(f"{_PROCESSES}/self/comm"):
        return True
    places = tuple(os.path.realpath(folder) for folder in folders)
    for pid in filter(str.isdigit, os.listdir(_PROCESSES)):
        try:
            with open(f"{_PROCESSES}/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if not file.read().startswith("git"):
                    continue
            at = os.readlink(f"{_PROCESSES}/{pid}/cwd")
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            return True
        if any(at == folder or at.startswith(folder + os.sep) for folder in places):
            return True
    return False
