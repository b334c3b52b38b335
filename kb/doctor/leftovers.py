"""What processes leave that died, and what keeps the next ones from working: locks, half files, rights, broken refs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator

from kb import __version__
from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, Found, Place, opened
from kb.errors import Busy
from kb.files import STALE, half_written
from kb.git import driver_setup, dropped_records, worktree
from kb.git.git_locks import git_may_run
from kb.git.repository import GivenUp, Repository
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.records.record_paths import CONTENT
from kb.writing import concurrent_git
from kb.writing.publish import owed_files
from kb.writing.transaction import Writing

_OLDEST_PYTHON = (3, 11)
_SEE_ABOVE = msg("git does not work there")


def versions(place: Place) -> Found:
    """Name the versions at work."""
    said = msg("kb {version}, Python {python}", version=__version__, python=sys.version.split()[0])
    return Found(OK if sys.version_info >= _OLDEST_PYTHON else FAILED, said)


def permissions(place: Place) -> Found:
    """Look whether everything can be written that a write has to."""
    kb = opened(place)
    kept = kb.repository
    places = [os.path.join(kb.root, CONTENT), kb.state.made(), kept.git_dir, kept.common_dir, kept.private]
    places += [os.path.join(kept.common_dir, name) for name in ("objects", "refs", "refs/heads", "logs")]
    files = [os.path.join(kept.git_dir, "index"), kb.state.path("index.db")]
    for path in [path for path in (*places, *files) if os.path.exists(path)]:
        if not os.access(path, os.W_OK | (os.X_OK if os.path.isdir(path) else 0)):
            remedy = msg("run: chmod u+w {path}", path=path)
            return Found(FAILED, msg("{path} cannot be written by you", path=path), remedy)
    return Found(OK, msg("everything can be written"))


# -- locks ---------------------------------------------------------------------------------------------


def locks(place: Place) -> Found:
    """Look for locks of git's that nobody has let go of for a minute, and for one of a kb that died."""
    found = list(_locks(opened(place)))
    if not found:
        return Found(OK, msg("no lock is left over"))
    return Found(FAILED, msg("{n} locks of git are left over: {path}", n=len(found), path=found[0]))


def _locks(kb: KnowledgeBase) -> Iterator[str]:
    kept = kb.repository
    tops = [os.path.join(folder, name) for folder in sorted({kept.git_dir, kept.common_dir}) for name in _names(folder)]
    walk = os.walk(os.path.join(kept.common_dir, "refs"))
    below = [os.path.join(folder, name) for folder, _, names in walk for name in names]
    for path in (*tops, *below):
        if path.endswith(".lock") and (_is_old(path) or _is_abandoned(kept, path)):
            yield path


def _is_abandoned(kept: Repository, path: str) -> bool:
    """Return whether *path* is git's lock on the index, taken by a kb that has died with it."""
    try:
        if not os.path.samefile(path, os.path.join(kept.git_dir, worktree.MARK)):
            return False
        with kept.locked(given_up=lambda: True):
            return os.path.exists(path)
    except (OSError, GivenUp, Busy):
        return False


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_old(path: str) -> bool:
    """Return whether *path* has been there for a minute, or comes from a time that is yet to come."""
    try:
        return abs(time.time() - os.stat(path).st_mtime) >= STALE
    except OSError:
        return False


def remove_locks(place: Place) -> None:
    """Take away old locks where it is sure that no git process works here; elsewhere a person decides."""
    kept = opened(place).repository
    with contextlib.suppress(GivenUp, Busy), kept.locked(given_up=lambda: True):
        worktree.release_abandoned(kept)
    if git_may_run(kept.top, kept.git_dir, kept.common_dir):
        return
    for path in _locks(opened(place)):
        os.unlink(path)


# -- what git says -------------------------------------------------------------------------------------


def _git_works(repository: Repository) -> bool:
    return not repository.output(["rev-parse", "--is-inside-work-tree"]).code


def refs(place: Place) -> Found:
    """Look whether every branch, and every ref of kb's, names an object that is there."""
    kept = opened(place).repository
    if not _git_works(kept):
        return Found(SKIPPED, _SEE_ABOVE)
    output = kept.output(["for-each-ref", "--format=%(objecttype)", "refs/heads", "refs/kb"])
    words = [line for line in output.error.splitlines() if line.strip()]
    if output.code or words:
        return Found(FAILED, msg("git says: {problem}", problem=words[0] if words else f"exit {output.code}"))
    head = kept.head()
    if head.oid and kept.output(["rev-parse", "-q", "--verify", "HEAD^{tree}"]).code:
        return Found(FAILED, msg("the last commit cannot be read: {commit}", commit=head.oid))
    return Found(OK, msg("{n} refs can be read", n=output.out.count(b"\n")))


def merge_driver(place: Place) -> Found:
    """Look whether git in this clone hands records that both sides changed to kb, and whether that works."""
    kb = opened(place)
    if not _git_works(kb.repository):
        return Found(SKIPPED, _SEE_ABOVE)
    if driver_setup.attribute(kb.repository) != driver_setup.NAME:
        return Found(NOTE, msg("git merges records by lines"), msg("run: kb init"))
    if not driver_setup.is_installed(kb.repository):
        return Found(NOTE, msg("this clone does not merge records with this kb"))
    if not driver_setup.works(kb.repository, place.environment):
        return Found(FAILED, msg("the merge driver does not merge"))
    return Found(OK, msg("records are merged by kb"))


def install_driver(place: Place) -> None:
    """Tell git in this clone how to merge records, where its attributes ask for kb."""
    kb = opened(place)
    if driver_setup.attribute(kb.repository) == driver_setup.NAME:
        driver_setup.install(kb.repository)


# -- what lies about -----------------------------------------------------------------------------------


def queue(place: Place) -> Found:
    """Count the calls that wait and whose writers are gone."""
    folder = opened(place).state.path("queue")
    n = sum(1 for name in _names(folder) if name.endswith(".json") and _is_old(os.path.join(folder, name)))
    return Found(NOTE if n else OK, msg("{n} calls wait that nobody has answered", n=n))


def checkout_follows(place: Place) -> Found:
    """Look for files that could not be written when what they hold was committed."""
    kb = opened(place)
    owed = sorted(owed_files(kb))
    dropped_records.put_back_if_free(kb)
    concurrent_git.keep_lost_work(kb)
    if kept := concurrent_git.tell_kept_work(kb):
        return Found(NOTE, kept)
    if not owed and (lost := dropped_records.still_dropped(kb)):
        said = msg("{n} files are committed and git's index does not have them: {path}", n=len(lost), path=lost[0])
        return Found(NOTE, said, msg("keep it: git add {path}", path=lost[0]))
    if not owed and (put_back := dropped_records.tell_put_back(kb)):
        return Found(OK, put_back)
    if not owed:
        return Found(OK, msg("the files are as they were committed, or as you have them"))
    return Found(NOTE, msg("{n} files are committed and could not be written here: {path}", n=len(owed), path=owed[0]))


def let_follow(place: Place) -> None:
    """Write the files that could not be written; where that is still so, they stay owed."""
    with contextlib.suppress(Busy), Writing(opened(place), "", "").transaction():
        pass


def leftovers(place: Place) -> Found:
    """Look for half files and folders of work of processes that died."""
    found = list(_leftovers(opened(place)))
    if not found:
        return Found(OK, msg("nothing is left half done"))
    return Found(NOTE, msg("{n} files were left half done: {path}", n=len(found), path=found[0]))


def _leftovers(kb: KnowledgeBase) -> Iterator[str]:
    yield from kb.state.half_written()
    yield from half_written(kb.repository.private)
    for folder, _, _ in os.walk(os.path.join(kb.root, CONTENT)):
        yield from half_written(folder)
    works = (os.path.join(kb.repository.private, name) for name in _names(kb.repository.private))
    yield from (path for path in works if path.rpartition("/")[2].startswith(("merge-", "driver-")) and _is_old(path))


def clear_leftovers(place: Place) -> None:
    """Take away what was left half done; nobody reads it."""
    for path in _leftovers(opened(place)):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
