"""Remember which commits a spooled job was written as, so that no branch, worktree or later call writes it again.

The commits are noted before the refs move. A job whose process died in between was not written, and none of its commits
is on any ref; one that died later was, and one of them is.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence

from kb.jsonbytes import json_bytes
from kb.store.files import write_whole
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase

_FILE = "landed.json"
"""In the part of the git directory that all worktrees share: {job: [commit, …]}."""
_MOST = 256
"""Jobs that are remembered; a file of the spool goes when its job is done, and more than a few never wait for that."""


@contextlib.contextmanager
def claimed(path: str) -> Iterator[bool]:
    """Claim the spooled file *path* and yield whether it is this process that lands it.

    The claim is a lock on the file, which ends with its process.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield os.path.lexists(path)  # what cannot be opened is set aside by the one who reads it
        return
    try:
        yield _is_locked(file) and os.path.lexists(path)
    finally:
        os.close(file)


def _is_locked(file: int) -> bool:
    """Lock *file* and return whether that went without waiting."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remember(kb: KnowledgeBase, job: str, commits: Sequence[str]) -> None:
    """Note that *job* is about to be published as *commits*; under the lock of the repository."""
    known = _load(kb)
    known[job] = [*known.pop(job, []), *commits]
    jobs = list(known)[-_MOST:]
    write_whole(_path(kb), json_bytes({name: known[name] for name in jobs}), synced=True)


def has_landed(kb: KnowledgeBase, job: str) -> bool:
    """Return whether *job* was published: one of its commits is on some ref."""
    return any(_is_on_a_ref(kb, commit) for commit in _load(kb).get(job, ()))


def _is_on_a_ref(kb: KnowledgeBase, commit: str) -> bool:
    output = kb.repository.output(["for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}"])
    return not output.code and bool(output.out.strip())


def _path(kb: KnowledgeBase) -> str:
    return os.path.join(kb.repository.private, _FILE)


def _load(kb: KnowledgeBase) -> dict[str, Any]:
    try:
        with open(_path(kb), encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
