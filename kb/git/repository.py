"""One clone: refs, files, the write lock, and commits published by a compare-and-swap of refs.

Commits are built beside the user's work, so that staged and unsaved changes stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kb.errors import Busy, GitFailed, describe_os_error
from kb.files import read_if_exists, sync_folders, try_lock
from kb.git.git_process import (
    BackgroundCommand,
    CommandOutput,
    build_git_error,
    build_lock_error,
    find_common_dir,
    find_git_dir,
    parse_batch,
    read_first_line,
    run,
    scrub_environment,
)
from kb.git.objects import CommitChain, patch_tree
from kb.git.untrusted_config import ConfigGuard
from kb.i18n import msg
from kb.startup.namedtuple import NamedTuple
from kb.startup.process import sha1, sha256

PATIENCE = 2.0
"""Seconds to wait for a lock held by another git command."""
QUEUE = 20.0
"""Seconds to wait for other kb writers: a host gives a hook 60."""
POLL = 0.008
"""Seconds between two attempts to get the lock."""

_LOST_RACE = ("but expected", "already exists", "unable to resolve reference")
"""Messages of `update-ref` for a ref that has moved."""
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""Files in a git directory while git merges, rebases and so on."""


class Head(NamedTuple):
    """The checked-out branch and commit."""

    ref: str
    """The full name of the branch, or "" for a detached HEAD."""
    oid: str
    """The commit, or "" if the branch has none yet."""


class RefMove(NamedTuple):
    """Move a ref from *old* to *new*; *old* "" means that it must not exist yet, *new* "" deletes it."""

    ref: str
    new: str
    old: str


NOBODY: Mapping[str, str] = {}
_UNKNOWN_AUTHOR = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "kb"), ("EMAIL", "kb@localhost"))
}


class CommitStep(NamedTuple):
    """A commit to build."""

    changes: Mapping[str, bytes | None]
    message: str
    by: Mapping[str, str] = NOBODY
    """Author and committer as git's environment variables; those not set are taken from this process."""


class LockWaitCancelled(Exception):
    """The work that waited for the lock is no longer needed."""


class LostRace(Exception):
    """Another writer moved the ref first: rebuild on its tip."""


class Repository:
    """One clone (or linked worktree); all its paths are relative to *root*, with forward slashes."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Open the repository around the folder *root*; raise GitFailed if there is none."""
        self.root = root
        found = find_git_dir(root)
        if found is None:
            raise GitFailed(msg("{path} is not in a git repository", path=root), hint=msg("run: kb init"))
        self.top, self.git_dir = found
        self.common_dir = find_common_dir(self.git_dir)
        self.prefix = os.path.relpath(root, self.top).replace(os.sep, "/") + "/" if root != self.top else ""
        self.environment = scrub_environment(environment, GIT_CEILING_DIRECTORIES=os.path.dirname(self.top))
        self.guard = ConfigGuard(self.top, self.git_dir, self.common_dir, self.environment)
        self.private = os.path.join(self.common_dir, "kb")
        self.holds_index = False
        """Whether this process holds git's lock on the index (`worktree.lock_index`)."""

    def git(
        self, *arguments: str, stdin: bytes = b"", index: str = "", work_tree: str = "", check: bool = True
    ) -> bytes:
        """Return the output of a git command; raise GitFailed with git's message if it fails."""
        output = self.run_git(arguments, stdin, index, work_tree)
        if check and output.code:
            raise build_git_error(arguments, output)
        return output.out

    def to_git_path(self, path: str) -> str:
        """Return a path of this knowledge base as git's path from the top of the work tree."""
        return self.prefix + path

    def to_kb_path(self, name: str) -> str:
        """Return git's path *name* as a path of this knowledge base."""
        return name.removeprefix(self.prefix)

    def run_git(
        self, arguments: Sequence[str], stdin: bytes = b"", index: str = "", work_tree: str = "", **more: str
    ) -> CommandOutput:
        """Run a git command and return its output, whether or not it failed."""
        environment = {**self.guard.build_environment(arguments, is_sure=not work_tree), **more}
        if index:
            environment["GIT_INDEX_FILE"] = index
        options = ["-C", work_tree or self.top]
        options += [f"--git-dir={self.git_dir}", f"--work-tree={work_tree}"] if work_tree else []
        return run(["git", *options, *arguments], environment, stdin)

    def start(self, *arguments: str, stdin: bytes | None = b"", index: str = "") -> BackgroundCommand:
        """Start a git command in the background; with *stdin* None it waits for its input."""
        environment = self.guard.build_environment(arguments)
        environment = {**environment, "GIT_INDEX_FILE": index} if index else environment
        return BackgroundCommand(["git", "-C", self.top, *arguments], environment, stdin)

    @property
    def oid_size(self) -> int:
        """The length of an object name in bytes: 20 for SHA-1, 32 for SHA-256."""
        settings = self.guard.read_settings().translate(None, b" \t")
        return 32 if b"objectformat=sha256" in settings else 20

    def compute_oid(self, kind: bytes, data: bytes) -> str:
        """Return git's name for an object."""
        digest = sha256 if self.oid_size == 32 else sha1
        return digest(kind + b" %d\0" % len(data) + data).hexdigest()

    def head(self) -> Head:
        """Return what is checked out, read from the files that git documents, or from git if they do not say.

        Raise GitFailed if git does not recognise the repository.
        """
        name = read_first_line(os.path.join(self.git_dir, "HEAD"))
        if name.startswith("ref: ") and not name.endswith("/.invalid"):
            return Head(name[5:], self.resolve_ref(name[5:]))
        if len(name) in (40, 64):  # a detached HEAD: SHA-1 or SHA-256
            return Head("", name)
        # with reftable the file has "ref: refs/heads/.invalid"; only git knows the branch
        output = self.run_git(["symbolic-ref", "-q", "HEAD"])
        if output.code > 1:
            raise build_git_error(["symbolic-ref"], output)
        oid = self.run_git(["rev-parse", "-q", "--verify", "HEAD"]).out.decode().strip()
        return Head(output.out.decode().strip(), oid)

    def resolve_ref(self, name: str) -> str:
        """Return the object *name* points to, or ""."""
        oid = read_first_line(os.path.join(self.common_dir, *name.split("/")))
        if len(oid) in (40, 64):
            return oid
        if not oid and not self._has_reftable():
            rows = (row.partition(b" ") for row in self._read_packed_refs().splitlines())
            return next((found.decode() for found, _, ref in rows if ref == os.fsencode(name)), "")
        return self.run_git(["rev-parse", "-q", "--verify", name]).out.decode().strip()

    def list_refs(self, *where: str, form: str = "%(refname)") -> list[str]:
        """Return one line in *form* for each ref that matches one of the patterns or options *where*."""
        if len(where) == 1 and where[0].startswith("refs/") and not any(mark in where[0] for mark in "*?["):
            # do not start git if the files show that there are no such refs
            is_file = os.path.lexists(os.path.join(self.common_dir, *where[0].split("/")))
            if not is_file and not self._has_reftable() and where[0].encode() not in self._read_packed_refs():
                return []
        rows = self.git("for-each-ref", f"--format={form}", *where).decode("utf-8", "replace")
        return [row for row in rows.split("\n") if row]

    def _has_reftable(self) -> bool:
        return os.path.exists(os.path.join(self.common_dir, "reftable"))

    def _read_packed_refs(self) -> bytes:
        return read_if_exists(os.path.join(self.common_dir, "packed-refs")) or b""

    def read_blob(self, revision: str, path: str) -> bytes | None:
        """Return the file *path* in *revision*, or None if it is not there; raise GitFailed if git cannot look.

        `cat-file blob` fails in the same way in both cases; `read_blobs` can tell them apart, but not for a name with a
        line feed.
        """
        if "\n" not in path:
            return self.read_blobs([(revision, path)])[0]
        output = self.run_git(["cat-file", "blob", f"{revision}:{self.prefix}{path}"])
        if output.code and isinstance(error := build_git_error(["cat-file"], output), Busy):
            raise error
        return None if output.code else output.out

    def read_blobs(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Return the file of each (revision, path) of *wanted*, or None, with one git process.

        Raise GitFailed if git cannot look: it says "missing" for an unreadable object too, and prints the cause.
        """
        if any("\n" in path for _, path in wanted):
            return [self.read_blob(revision, path) for revision, path in wanted]
        lines = b"".join(os.fsencode(f"{revision}:{self.to_git_path(path)}\n") for revision, path in wanted)
        output = self.run_git(["cat-file", "--batch"], lines) if wanted else CommandOutput(0, b"", "")
        if output.code or output.error.startswith(("error:", "fatal:")):
            raise build_git_error(["cat-file"], output)
        return [data if kind == "blob" else None for _, kind, data in parse_batch(output.out)]

    def read_files(self, revision: str, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Return the files *paths* in *revision*, None for each that is not there, with one git process."""
        paths = list(paths)
        return dict(zip(paths, self.read_blobs([(revision, path) for path in paths]), strict=True))

    def list_files(self, revision: str, *where: str) -> dict[str, str]:
        """Return path and blob id of every file in *revision* at or under the paths *where* (none: all files)."""
        names = [self.prefix + path for path in where or ("",)]
        out = self.git("ls-tree", "-r", "-z", "--full-tree", revision, "--", *filter(None, names))
        rows = (row.split("\t", 1) for row in out.decode("utf-8", "surrogateescape").split("\0") if row)
        return {self.to_kb_path(path): meta.split()[2] for meta, path in rows}

    def find_commit_obstacle(self) -> Busy | None:
        """Return why the repository cannot take a commit at the moment, or None."""
        for name, doing in UNDER_WAY.items():
            if os.path.exists(os.path.join(self.git_dir, name)):
                problem = msg("a {doing} is in progress in {path}", doing=doing, path=self.top)
                return Busy(problem, hint=msg("finish it first"))
        if not self.head().ref:
            return self.build_detached_error()
        lock = os.path.join(self.git_dir, "index.lock")
        end = time.monotonic() + PATIENCE
        while not self.holds_index and os.path.exists(lock):
            if time.monotonic() > end:
                return build_lock_error(lock)
            time.sleep(0.02)
        if b"worktree" in self.guard.read_settings().replace(b"worktreeconfig", b""):
            top = os.fsdecode(self.run_git(["rev-parse", "--show-toplevel"]).out).removesuffix("\n")
            if top and os.path.realpath(top) != os.path.realpath(self.top):
                problem = msg("the settings of {path} name another work tree: {other}", path=self.git_dir, other=top)
                return Busy(problem, hint=msg("remove it: git config --unset core.worktree"))
        return None

    def build_detached_error(self) -> Busy:
        """Return the error that no branch is checked out."""
        return Busy(
            msg("no branch is checked out in {path} (detached HEAD)", path=self.top),
            hint=msg("check out a branch: git switch -"),
        )

    @contextlib.contextmanager
    def hold_lock(self, should_cancel: Callable[[], bool] | None = None) -> Iterator[None]:
        """Hold the one lock under which kb writes in this clone and its worktrees.

        While waiting, call *should_cancel*; once it returns true, raise LockWaitCancelled.
        """
        try:
            os.makedirs(self.private, exist_ok=True)
            file = os.open(os.path.join(self.private, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise Busy(
                msg("{path} cannot be written: {problem}", path=self.private, problem=describe_os_error(error))
            ) from None
        try:
            end = time.monotonic() + QUEUE
            while not try_lock(file):
                if should_cancel and should_cancel():
                    raise LockWaitCancelled
                if time.monotonic() > end:
                    raise self.build_locked_error()
                time.sleep(POLL)
            yield
        finally:
            os.close(file)

    def is_locked(self) -> bool:
        """Return whether somebody holds the lock at the moment."""
        import fcntl

        try:
            file = os.open(os.path.join(self.private, "lock"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two readers do not block each other
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def build_locked_error(self) -> Busy:
        """Return the error after waiting too long for the lock."""
        return Busy(msg("another kb is writing in {path}", path=self.top))

    def build_commit(self, parent: str, changes: Mapping[str, bytes | None], message: str, *, stage: str) -> str:
        """Return a new commit: *parent* ("" for none) with *changes* (None deletes). No ref is moved.

        *stage* is an empty folder for temporary files.
        """
        return self.build_commits(parent, [CommitStep(changes, message)], stage=stage)[-1]

    def build_commits(self, parent: str, steps: Sequence[CommitStep], *, stage: str) -> list[str]:
        """Return new commits, each on top of the previous one, starting at *parent*; see `build_commit`."""
        signing = self.start("config", "--type=bool", "--get", "commit.gpgsign")
        changes = [{self.to_git_path(path): data for path, data in step.changes.items()} for step in steps]
        trees = patch_tree(self, parent, changes, stage)
        if len(steps) == 1:
            return [self.commit_tree(trees[0], [parent] if parent else [], steps[0].message, signing, steps[0].by)]
        chain = CommitChain(self, parent, stage, signing)
        for step, tree in zip(steps, trees, strict=True):
            chain.add(tree, step)
        chain.store_pending()
        return chain.commits

    def commit_tree(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        signing: BackgroundCommand | None = None,
        by: Mapping[str, str] = NOBODY,
    ) -> str:
        """Return a new commit of *tree*, signed if the user's configuration says so.

        *by* has author and committer as git's environment variables if they are not those of this process.
        """
        signing = signing or self.start("config", "--type=bool", "--get", "commit.gpgsign")
        arguments = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree"]
        # plumbing commands ignore commit.gpgsign, so signing is requested explicitly
        if signing.wait_for_output().out.strip() == b"true":
            arguments.append("-S")
        arguments += [tree, *(word for parent in parents for word in ("-p", parent)), "-F", "-"]
        output = self.run_git(arguments, message.encode(), **by)
        if output.code and ("tell me who you are" in output.error or "empty ident" in output.error):
            output = self.run_git(arguments, message.encode(), **_UNKNOWN_AUTHOR)
        if output.code:
            raise build_git_error(["commit-tree"], output)
        return output.out.decode().strip()

    def start_ref_update(self, reason: str) -> BackgroundCommand:
        """Start the command that `update_refs` will need; without moves it does nothing."""
        return self.start("update-ref", "-m", reason, "-z", "--stdin", stdin=None)

    def update_refs(self, moves: Sequence[RefMove], reason: str, mover: BackgroundCommand | None = None) -> None:
        """Move all refs of *moves* or none; raise LostRace if one of them has moved."""
        lines = "".join(
            f"update {move.ref}\0{move.new}\0{move.old or '0' * len(move.new)}\0"
            if move.new
            else f"delete {move.ref}\0{move.old}\0"
            for move in moves
        ).encode()
        end = time.monotonic() + PATIENCE
        while True:
            output = (mover or self.start_ref_update(reason)).send_input(lines)
            mover = None
            if not output.code:
                sync_folders({os.path.dirname(os.path.join(self.common_dir, *move.ref.split("/"))) for move in moves})
                return
            if any(sign in output.error for sign in _LOST_RACE):
                raise LostRace(output.error)
            # "File exists": another process holds the lock of a ref for a moment
            if "File exists" not in output.error or time.monotonic() > end:
                raise build_git_error(["update-ref"], output)
            time.sleep(0.02)


def find_free_name(name: str, is_taken: Callable[[str], bool], separator: str = "-") -> str:
    """Return *name*, or if it is taken *name* with the first free number from 2 upwards."""
    free, number = name, 1
    while is_taken(free):
        number += 1
        free = f"{name}{separator}{number}"
    return free
