"""Check git: its version, the repository, rights, locks, refs, the merge driver and the checkout.

What every check of the doctor takes and returns is defined here too.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kb.errors import Busy, KbError
from kb.files import STALE, write_atomic
from kb.git import dropped_records, worktree
from kb.git.git_process import can_git_be_running, run, scrub_environment
from kb.git.repository import LockWaitCancelled, Repository
from kb.i18n import Message, msg
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import CONTENT
from kb.writing import init_base, publish
from kb.writing.transaction import transactions

OK, NOTE, FAILED, SKIPPED = "ok", "note", "failed", "skipped"
"""The results of a check; a note is worth knowing but not a failure."""


class DoctorFinding(NamedTuple):
    """The result of a check."""

    state: str
    said: Message
    remedy: Message | None = None
    """A remedy that fits better than the check's own."""


class DoctorTarget(NamedTuple):
    """The knowledge base and folder to examine."""

    root: str
    """The knowledge base; "" for none."""
    folder: str
    """The folder in which the caller works."""
    environment: Mapping[str, str]
    kb: KnowledgeBase | None = None
    """The open knowledge base, or None if it cannot be opened."""
    problem: KbError | None = None
    """Why it cannot be opened."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""

    @property
    def base(self) -> KnowledgeBase:
        """The opened knowledge base; only for checks that need one."""
        assert self.kb is not None
        return self.kb


class DoctorCheck(NamedTuple):
    """One check, and how to fix its problem."""

    name: Message
    check: Callable[[DoctorTarget], DoctorFinding]
    remedy: Message
    fix: Callable[[DoctorTarget], None] | None = None
    """A safe repair."""
    needs_kb: bool = True
    """Whether it is skipped if no knowledge base can be opened."""


# -- version and repository -------------------------------------------------------------------------

MIN_GIT = (2, 38)
"""The oldest git version with all plumbing commands that kb needs."""
_SEE_ABOVE = msg("git does not work there")


def check_git_version(target: DoctorTarget) -> DoctorFinding:
    """Check that git is new enough."""
    text = run(["git", "--version"], scrub_environment(target.environment)).out.decode("utf-8", "replace")
    match = re.search(r"(?<!\d)(\d++)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    message = msg("git {version}", version=text.removeprefix("git version").strip())
    return DoctorFinding(OK if version >= MIN_GIT else FAILED, message)


def check_permissions(target: DoctorTarget) -> DoctorFinding:
    """Check that everything kb writes to is writable."""
    kb, repository = target.base, target.base.repository
    paths = [os.path.join(kb.root, CONTENT), kb.state.ensure_folder()]
    paths += [repository.git_dir, repository.common_dir, repository.private]
    paths += [os.path.join(repository.common_dir, name) for name in ("objects", "refs", "refs/heads", "logs")]
    paths += [os.path.join(repository.git_dir, "index"), kb.state.path("index.db")]
    # a read-only refs/heads is found by no git command but the next commit
    for path in filter(os.path.exists, paths):
        if not os.access(path, os.W_OK | (os.X_OK if os.path.isdir(path) else 0)):
            remedy = msg("run: chmod u+w {path}", path=path)
            return DoctorFinding(FAILED, msg("{path} cannot be written by you", path=path), remedy)
    return DoctorFinding(OK, msg("everything is writable"))


def check_repository(target: DoctorTarget) -> DoctorFinding:
    """Check that git works in the repository and a commit could be made now."""
    repository = target.base.repository
    repository.git("rev-parse", "--is-inside-work-tree")
    if obstacle := repository.find_commit_obstacle():
        return DoctorFinding(FAILED, obstacle.message, obstacle.hint)
    branch = repository.head().ref.removeprefix("refs/heads/")
    return DoctorFinding(OK, msg("{path}, on {branch}", path=repository.top, branch=branch))


def check_identity(target: DoctorTarget) -> DoctorFinding:
    """Check that git knows the author of commits."""
    output = target.base.repository.run_git(["var", "GIT_AUTHOR_IDENT"])
    if output.code:
        return DoctorFinding(FAILED, msg("git has no name for you; commits are made as kb@localhost"))
    return DoctorFinding(OK, msg("{name}", name=output.out.decode("utf-8", "replace").rpartition(">")[0] + ">"))


def check_state_folder(target: DoctorTarget) -> DoctorFinding:
    """Check that git ignores the files that belong to this clone only."""
    repository = target.base.repository
    path = repository.to_git_path(".kb")
    if repository.git("ls-files", "-z", "--", path):
        remedy = msg("run: git rm -r --cached {path}", path=path)
        return DoctorFinding(FAILED, msg("files of {path} are tracked by git", path=".kb/"), remedy)
    if repository.git("ls-files", "-z", "--others", "--exclude-standard", "--", path):
        return DoctorFinding(FAILED, msg("git does not ignore {path}", path=".kb/"))
    return DoctorFinding(OK, msg("git ignores {path}", path=".kb/"))


def ignore_state_folder(target: DoctorTarget) -> None:
    """Let git ignore the state folder."""
    state = target.base.state
    state.ensure_folder()
    write_atomic(state.path(".gitignore"), b"*\n")


# -- locks -------------------------------------------------------------------------------------------


def check_locks(target: DoctorTarget) -> DoctorFinding:
    """Look for git locks older than a minute, and for one left by a dead kb."""
    found = list(_iter_stale_locks(target.base.repository))
    if not found:
        return DoctorFinding(OK, msg("no stale lock"))
    return DoctorFinding(FAILED, msg("{n} stale git locks: {path}", n=len(found), path=found[0]))


def _iter_stale_locks(repository: Repository) -> Iterator[str]:
    folders = [(folder, list_names(folder)) for folder in sorted({repository.git_dir, repository.common_dir})]
    folders += [(folder, names) for folder, _, names in os.walk(os.path.join(repository.common_dir, "refs"))]
    paths = (os.path.join(folder, name) for folder, names in folders for name in names)
    for path in paths:
        if path.endswith(".lock") and (is_old(path) or _is_abandoned_lock(repository, path)):
            yield path


def _is_abandoned_lock(repository: Repository, path: str) -> bool:
    """Return whether *path* is git's index lock, left by a dead kb process."""
    try:
        if not os.path.samefile(path, os.path.join(repository.git_dir, worktree.MARK)):
            return False
        with repository.hold_lock(should_cancel=lambda: True):
            return os.path.exists(path)
    except (OSError, LockWaitCancelled, Busy):
        return False


def list_names(folder: str) -> list[str]:
    """Return the sorted names in *folder*, or none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def is_old(path: str) -> bool:
    """Return whether *path* is older than a minute, or dated in the future."""
    # a file from the future was written under another clock: its age says nothing
    try:
        return abs(time.time() - os.stat(path).st_mtime) >= STALE
    except OSError:
        return False


def remove_stale_locks(target: DoctorTarget) -> None:
    """Remove old locks if certainly no git process works here; otherwise a person decides."""
    repository = target.base.repository
    # kb's own lock first: its holder is alive, and then nothing here is stale
    with contextlib.suppress(LockWaitCancelled, Busy), repository.hold_lock(should_cancel=lambda: True):
        worktree.release_abandoned_lock(repository)
    if not can_git_be_running(repository.top, repository.git_dir, repository.common_dir):
        for path in _iter_stale_locks(repository):
            os.unlink(path)


# -- refs, driver, checkout --------------------------------------------------------------------------


def _can_run_git(repository: Repository) -> bool:
    return not repository.run_git(["rev-parse", "--is-inside-work-tree"]).code


def check_refs(target: DoctorTarget) -> DoctorFinding:
    """Check that every branch and every ref of kb points to an existing object."""
    repository = target.base.repository
    if not _can_run_git(repository):
        return DoctorFinding(SKIPPED, _SEE_ABOVE)
    # asked for the type, git opens every object: a torn one is named on stderr, and the exit code is 0 all the same
    output = repository.run_git(["for-each-ref", "--format=%(objecttype)", "refs/heads", "refs/kb"])
    problems = [line for line in output.error.splitlines() if line.strip()]
    if output.code or problems:
        problem = problems[0] if problems else f"exit {output.code}"
        return DoctorFinding(FAILED, msg("git says: {problem}", problem=problem))
    head = repository.head()
    if head.oid and repository.run_git(["rev-parse", "-q", "--verify", "HEAD^{tree}"]).code:
        return DoctorFinding(FAILED, msg("the last commit cannot be read: {commit}", commit=head.oid))
    return DoctorFinding(OK, msg("{count} ref can be read", "{count} refs can be read", count=output.out.count(b"\n")))


def check_merge_driver(target: DoctorTarget) -> DoctorFinding:
    """Check that git in this clone calls kb to merge records that both sides changed, and that this works."""
    repository = target.base.repository
    if not _can_run_git(repository):
        return DoctorFinding(SKIPPED, _SEE_ABOVE)
    if init_base.read_merge_attribute(repository) != init_base.DRIVER:
        return DoctorFinding(NOTE, msg("git merges records by lines"), msg("run: kb init"))
    if not init_base.is_driver_installed(repository):
        return DoctorFinding(NOTE, msg("this clone does not merge records with this kb"))
    if not init_base.is_driver_working(repository, target.environment):
        return DoctorFinding(FAILED, msg("the merge driver does not merge"))
    return DoctorFinding(OK, msg("records are merged by kb"))


def install_merge_driver(target: DoctorTarget) -> None:
    """Configure kb's merge driver in this clone, if git's attributes ask for it."""
    repository = target.base.repository
    if init_base.read_merge_attribute(repository) == init_base.DRIVER:
        init_base.install_driver(repository)


def check_checkout(target: DoctorTarget) -> DoctorFinding:
    """Look for committed files that could not be written to the checkout."""
    kb = target.base
    pending = sorted(publish.list_pending_files(kb))
    dropped_records.put_back_if_free(kb)
    publish.rescue_lost_work(kb)
    if rescued := publish.report_rescued_work(kb):
        return DoctorFinding(NOTE, rescued)
    if pending:
        message = msg("{n} committed files could not be written here: {path}", n=len(pending), path=pending[0])
        return DoctorFinding(NOTE, message)
    if lost := dropped_records.list_still_dropped(kb):
        message = msg("{n} committed files are missing from git's index: {path}", n=len(lost), path=lost[0])
        return DoctorFinding(NOTE, message, msg("keep it: git add {path}", path=lost[0]))
    if put_back := dropped_records.report_put_back(kb):
        return DoctorFinding(OK, put_back)
    return DoctorFinding(OK, msg("the files are as they were committed, or as you have them"))


def update_checkout(target: DoctorTarget) -> None:
    """Write the pending files; those that still cannot be written stay pending."""
    with contextlib.suppress(Busy):
        for transaction in transactions(target.base):
            with transaction:
                pass  # whatever is pending is written before a transaction begins
