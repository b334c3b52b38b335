"""Remember which commits a job was written as, so that no branch, worktree or later call writes it again.

A job is what waits in the queue or the spool; it keeps its name when it moves from the one to the other. The commits
are noted before the refs move. A job whose process died in between was not written, and none of its commits is on any
ref; one whose process died later was, and one of them is.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence

from kb.files import json_bytes, write_atomic
from kb.git.git_log import filter_existing_commits
from kb.git.git_process import build_git_error, is_inconclusive
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_FILE = "landed.json"
"""In the part of the git directory that all worktrees share: {job: [commit, …]}."""
_MOST = 256
"""Jobs that are remembered; a file of the spool goes when its job is done, and more than a few never wait for that."""


@contextlib.contextmanager
def claim_job(path: str) -> Iterator[bool]:
    """Claim the spooled file *path* and yield whether it is this process that lands it.

    The claim is a lock on the file, which ends with its process.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield os.path.lexists(path)  # what cannot be opened is set aside by the one who reads it
        return
    try:
        yield _try_lock(file) and os.path.lexists(path)
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    """Lock *file* and return whether that went without waiting."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def note_commits(kb: Workspace, jobs: Sequence[str], commits: Sequence[str]) -> None:
    """Note that *jobs* are about to be published as *commits*, together; under the lock of the repository.

    Where they change nothing, the commit that says all of it already stands for them.
    """
    if not jobs:
        return
    known = _load_jobs(kb)
    for job in jobs:
        known[job] = [*known.pop(job, []), *commits]
    kept = list(known)[-_MOST:]
    write_atomic(_jobs_path(kb), json_bytes({name: known[name] for name in kept}), synced=True)


def has_landed(kb: Workspace, job: str) -> bool:
    """Return whether *job* was published: one of its commits is on some ref; raise GitFailed where git cannot look."""
    commits = filter_existing_commits(kb.repository, _load_jobs(kb).get(job, ()))
    if not commits:
        return False
    asked = ["for-each-ref", "--count=1", "--format=%(refname)", *(f"--contains={commit}" for commit in commits)]
    output = kb.repository.run_git(asked)
    if is_inconclusive(output):
        raise build_git_error(asked, output)
    return bool(output.out.strip())


def _jobs_path(kb: Workspace) -> str:
    return os.path.join(kb.repository.private, _FILE)


def _load_jobs(kb: Workspace) -> dict[str, Any]:
    try:
        with open(_jobs_path(kb), encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
