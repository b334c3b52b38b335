"""What processes leave that died, and what keeps the next ones from working: locks, half files, rights, broken refs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator

from kb import __version__
from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, DoctorFinding, DoctorTarget, require_base
from kb.errors import Busy
from kb.files import STALE, list_half_written
from kb.git import driver_setup, dropped_records, worktree
from kb.git.git_locks import can_git_be_running
from kb.git.repository import LockWaitCancelled, Repository
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.records.record_paths import CONTENT
from kb.writing import publish
from kb.writing.publish import list_pending_files
from kb.writing.transaction import transactions

_OLDEST_PYTHON = (3, 11)
_SEE_ABOVE = msg("git does not work there")


def check_versions(place: DoctorTarget) -> DoctorFinding:
    """Name the versions at work."""
    said = msg("kb {version}, Python {python}", version=__version__, python=sys.version.split()[0])
    return DoctorFinding(OK if sys.version_info >= _OLDEST_PYTHON else FAILED, said)


def check_permissions(place: DoctorTarget) -> DoctorFinding:
    """Look whether everything can be written that a write has to."""
    kb = require_base(place)
    kept = kb.repository
    places = [os.path.join(kb.root, CONTENT), kb.state.ensure_folder(), kept.git_dir, kept.common_dir, kept.private]
    places += [os.path.join(kept.common_dir, name) for name in ("objects", "refs", "refs/heads", "logs")]
    files = [os.path.join(kept.git_dir, "index"), kb.state.path("index.db")]
    for path in [path for path in (*places, *files) if os.path.exists(path)]:
        if not os.access(path, os.W_OK | (os.X_OK if os.path.isdir(path) else 0)):
            remedy = msg("run: chmod u+w {path}", path=path)
            return DoctorFinding(FAILED, msg("{path} cannot be written by you", path=path), remedy)
    return DoctorFinding(OK, msg("everything can be written"))


# -- locks ---------------------------------------------------------------------------------------------


def check_locks(place: DoctorTarget) -> DoctorFinding:
    """Look for locks of git's that nobody has let go of for a minute, and for one of a kb that died."""
    found = list(_iter_stale_locks(require_base(place)))
    if not found:
        return DoctorFinding(OK, msg("no lock is left over"))
    return DoctorFinding(FAILED, msg("{n} locks of git are left over: {path}", n=len(found), path=found[0]))


def _iter_stale_locks(kb: KnowledgeBase) -> Iterator[str]:
    kept = kb.repository
    tops = [
        os.path.join(folder, name) for folder in sorted({kept.git_dir, kept.common_dir}) for name in _list_names(folder)
    ]
    walk = os.walk(os.path.join(kept.common_dir, "refs"))
    below = [os.path.join(folder, name) for folder, _, names in walk for name in names]
    for path in (*tops, *below):
        if path.endswith(".lock") and (_is_old(path) or _is_abandoned_lock(kept, path)):
            yield path


def _is_abandoned_lock(kept: Repository, path: str) -> bool:
    """Return whether *path* is git's lock on the index, taken by a kb that has died with it."""
    try:
        if not os.path.samefile(path, os.path.join(kept.git_dir, worktree.MARK)):
            return False
        with kept.hold_lock(given_up=lambda: True):
            return os.path.exists(path)
    except (OSError, LockWaitCancelled, Busy):
        return False


def _list_names(folder: str) -> list[str]:
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


def remove_stale_locks(place: DoctorTarget) -> None:
    """Take away old locks where it is sure that no git process works here; elsewhere a person decides."""
    kept = require_base(place).repository
    with contextlib.suppress(LockWaitCancelled, Busy), kept.hold_lock(given_up=lambda: True):
        worktree.release_abandoned_lock(kept)
    if can_git_be_running(kept.top, kept.git_dir, kept.common_dir):
        return
    for path in _iter_stale_locks(require_base(place)):
        os.unlink(path)


# -- what git says -------------------------------------------------------------------------------------


def _can_run_git(repository: Repository) -> bool:
    return not repository.run_git(["rev-parse", "--is-inside-work-tree"]).code


def check_refs(place: DoctorTarget) -> DoctorFinding:
    """Look whether every branch, and every ref of kb's, names an object that is there."""
    kept = require_base(place).repository
    if not _can_run_git(kept):
        return DoctorFinding(SKIPPED, _SEE_ABOVE)
    output = kept.run_git(["for-each-ref", "--format=%(objecttype)", "refs/heads", "refs/kb"])
    words = [line for line in output.error.splitlines() if line.strip()]
    if output.code or words:
        return DoctorFinding(FAILED, msg("git says: {problem}", problem=words[0] if words else f"exit {output.code}"))
    head = kept.head()
    if head.oid and kept.run_git(["rev-parse", "-q", "--verify", "HEAD^{tree}"]).code:
        return DoctorFinding(FAILED, msg("the last commit cannot be read: {commit}", commit=head.oid))
    return DoctorFinding(OK, msg("{n} refs can be read", n=output.out.count(b"\n")))


def check_merge_driver(place: DoctorTarget) -> DoctorFinding:
    """Look whether git in this clone hands records that both sides changed to kb, and whether that works."""
    kb = require_base(place)
    if not _can_run_git(kb.repository):
        return DoctorFinding(SKIPPED, _SEE_ABOVE)
    if driver_setup.read_merge_attribute(kb.repository) != driver_setup.NAME:
        return DoctorFinding(NOTE, msg("git merges records by lines"), msg("run: kb init"))
    if not driver_setup.is_installed(kb.repository):
        return DoctorFinding(NOTE, msg("this clone does not merge records with this kb"))
    if not driver_setup.is_driver_working(kb.repository, place.environment):
        return DoctorFinding(FAILED, msg("the merge driver does not merge"))
    return DoctorFinding(OK, msg("records are merged by kb"))


def install_merge_driver(place: DoctorTarget) -> None:
    """Tell git in this clone how to merge records, where its attributes ask for kb."""
    kb = require_base(place)
    if driver_setup.read_merge_attribute(kb.repository) == driver_setup.NAME:
        driver_setup.install(kb.repository)


# -- what lies about -----------------------------------------------------------------------------------


def check_queue(place: DoctorTarget) -> DoctorFinding:
    """Count the calls that wait and whose writers are gone."""
    folder = require_base(place).state.path("queue")
    n = sum(1 for name in _list_names(folder) if name.endswith(".json") and _is_old(os.path.join(folder, name)))
    return DoctorFinding(NOTE if n else OK, msg("{n} calls wait that nobody has answered", n=n))


def check_checkout(place: DoctorTarget) -> DoctorFinding:
    """Look for files that could not be written when what they hold was committed."""
    kb = require_base(place)
    owed = sorted(list_pending_files(kb))
    dropped_records.put_back_if_free(kb)
    publish.rescue_lost_work(kb)
    if kept := publish.report_rescued_work(kb):
        return DoctorFinding(NOTE, kept)
    if not owed and (lost := dropped_records.list_still_dropped(kb)):
        said = msg("{n} files are committed and git's index does not have them: {path}", n=len(lost), path=lost[0])
        return DoctorFinding(NOTE, said, msg("keep it: git add {path}", path=lost[0]))
    if not owed and (put_back := dropped_records.report_put_back(kb)):
        return DoctorFinding(OK, put_back)
    if not owed:
        return DoctorFinding(OK, msg("the files are as they were committed, or as you have them"))
    return DoctorFinding(
        NOTE, msg("{n} files are committed and could not be written here: {path}", n=len(owed), path=owed[0])
    )


def update_checkout(place: DoctorTarget) -> None:
    """Write the files that could not be written; where that is still so, they stay owed."""
    with contextlib.suppress(Busy):
        for transaction in transactions(require_base(place)):
            with transaction:
                pass  # whatever is owed is made good before a transaction begins


def check_leftovers(place: DoctorTarget) -> DoctorFinding:
    """Look for half files and folders of work of processes that died."""
    found = list(_iter_leftovers(require_base(place)))
    if not found:
        return DoctorFinding(OK, msg("nothing is left half done"))
    return DoctorFinding(NOTE, msg("{n} files were left half done: {path}", n=len(found), path=found[0]))


def _iter_leftovers(kb: KnowledgeBase) -> Iterator[str]:
    yield from kb.state.list_half_written()
    yield from list_half_written(kb.repository.private)
    for folder, _, _ in os.walk(os.path.join(kb.root, CONTENT)):
        yield from list_half_written(folder)
    works = (os.path.join(kb.repository.private, name) for name in _list_names(kb.repository.private))
    yield from (path for path in works if path.rpartition("/")[2].startswith(("merge-", "driver-")) and _is_old(path))


def remove_leftovers(place: DoctorTarget) -> None:
    """Take away what was left half done; nobody reads it."""
    for path in _iter_leftovers(require_base(place)):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
