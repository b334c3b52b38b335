"""One clone: what it says, and commits built beside the user's work and published by a compare-and-swap ref move."""

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
"""Seconds to wait for a lock that somebody else's git command holds."""
QUEUE = 20.0
"""Seconds to wait for other writers of ours: a host gives a hook 60."""
POLL = 0.008
"""Seconds between two looks of one who waits for them."""

_LOST_RACE = ("but expected", "already exists", "unable to resolve reference")
"""What `update-ref` says where a ref is no longer where it was."""
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""What is in a git directory while git itself brings changes together."""


class Head(NamedTuple):
    """What is checked out."""

    ref: str
    """The full name of the branch, or "" for a detached HEAD."""
    oid: str
    """The commit, or "" while the branch has none."""


class RefMove(NamedTuple):
    """A ref from *old* to *new*; *old* "" means that the ref must not be there yet, *new* "" that it goes."""

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
    """One commit to be built."""

    changes: Mapping[str, bytes | None]
    message: str
    by: Mapping[str, str] = NOBODY
    """Author and committer, as git's environment names them; those of this process where it does not."""


class LockWaitCancelled(Exception):
    """What the lock was wanted for is no longer to be done."""


class LostRace(Exception):
    """Another writer moved the ref first: build again on its tip."""


class Repository:
    """One clone (or linked worktree); every path it takes or gives is relative to *root*, with forward slashes."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Open the repository around the folder *root*; raise GitFailed where there is none."""
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
        """Return what a git command prints; raise GitFailed with its own words when it fails."""
        output = self.run_git(arguments, stdin, index, work_tree)
        if check and output.code:
            raise build_git_error(arguments, output)
        return output.out

    def to_git_path(self, path: str) -> str:
        """Return a path of this knowledge base as git names it, from the top of the work tree."""
        return self.prefix + path

    def to_kb_path(self, name: str) -> str:
        """Return a name of git's as a path of this knowledge base."""
        return name.removeprefix(self.prefix)

    def run_git(
        self, arguments: Sequence[str], stdin: bytes = b"", index: str = "", work_tree: str = "", **more: str
    ) -> CommandOutput:
        """Run a git command and return how it ended, whatever that was."""
        environment = {**self.guard.build_environment(arguments, is_sure=not work_tree), **more}
        if index:
            environment["GIT_INDEX_FILE"] = index
        options = ["-C", work_tree or self.top]
        options += [f"--git-dir={self.git_dir}", f"--work-tree={work_tree}"] if work_tree else []
        return run(["git", *options, *arguments], environment, stdin)

    def start(self, *arguments: str, stdin: bytes | None = b"", index: str = "") -> BackgroundCommand:
        """Let a git command begin; it works, or with *stdin* None waits, while the caller does something else."""
        environment = self.guard.build_environment(arguments)
        environment = {**environment, "GIT_INDEX_FILE": index} if index else environment
        return BackgroundCommand(["git", "-C", self.top, *arguments], environment, stdin)

    @property
    def oid_size(self) -> int:
        """The bytes of an object's name: 20 for SHA-1, 32 for SHA-256."""
        settings = self.guard.read_settings().translate(None, b" \t")
        return 32 if b"objectformat=sha256" in settings else 20

    def compute_oid(self, kind: bytes, data: bytes) -> str:
        """Return the name git gives to an object."""
        digest = sha256 if self.oid_size == 32 else sha1
        return digest(kind + b" %d\0" % len(data) + data).hexdigest()

    def head(self) -> Head:
        """Return what is checked out, read from the files git documents; asked of git where they do not say.

        Raise GitFailed where git does not take it for a repository.
        """
        name = read_first_line(os.path.join(self.git_dir, "HEAD"))
        if name.startswith("ref: ") and not name.endswith("/.invalid"):
            return Head(name[5:], self.resolve_ref(name[5:]))
        if len(name) in (40, 64):  # a detached HEAD: SHA-1 or SHA-256
            return Head("", name)
        # a reftable keeps "ref: refs/heads/.invalid" in the file; git knows better
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
        """Return one line in *form* for each ref under one of the patterns or behind one of the options *where*."""
        if len(where) == 1 and where[0].startswith("refs/") and not any(mark in where[0] for mark in "*?["):
            # where the files of the repository show that nothing is there, git is not started
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
        """Return the file *path* as it is in *revision*; None if it is not there; raise GitFailed if git cannot look.

        `cat-file blob` fails alike in both cases; `read_blobs` distinguishes them, but takes no line feed in a name.
        """
        if "\n" not in path:
            return self.read_blobs([(revision, path)])[0]
        output = self.run_git(["cat-file", "blob", f"{revision}:{self.prefix}{path}"])
        if output.code and isinstance(error := build_git_error(["cat-file"], output), Busy):
            raise error
        return None if output.code else output.out

    def read_blobs(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Return the file of each (revision, path) of *wanted*, None where there is none, with one git process.

        Raise GitFailed where git cannot look: of an object that it cannot read it says "missing" as well, and why.
        """
        if any("\n" in path for _, path in wanted):
            return [self.read_blob(revision, path) for revision, path in wanted]
        lines = b"".join(os.fsencode(f"{revision}:{self.to_git_path(path)}\n") for revision, path in wanted)
        output = self.run_git(["cat-file", "--batch"], lines) if wanted else CommandOutput(0, b"", "")
        if output.code or output.error.startswith(("error:", "fatal:")):
            raise build_git_error(["cat-file"], output)
        return [data if kind == "blob" else None for _, kind, data in parse_batch(output.out)]

    def read_files(self, revision: str, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Return the files *paths* as *revision* has them, None where it has none, with one git process."""
        paths = list(paths)
        return dict(zip(paths, self.read_blobs([(revision, path) for path in paths]), strict=True))

    def list_files(self, revision: str, *where: str) -> dict[str, str]:
        """Return path and blob id of every file at or under the paths *where*, by default under all, in *revision*."""
        names = [self.prefix + path for path in where or ("",)]
        out = self.git("ls-tree", "-r", "-z", "--full-tree", revision, "--", *filter(None, names))
        rows = (row.split("\t", 1) for row in out.decode("utf-8", "surrogateescape").split("\0") if row)
        return {self.to_kb_path(path): meta.split()[2] for meta, path in rows}

    def find_commit_obstacle(self) -> Busy | None:
        """Return why the repository cannot take a commit at this moment; None when it can."""
        for name, doing in UNDER_WAY.items():
            if os.path.exists(os.path.join(self.git_dir, name)):
                said = msg("a {doing} is in progress in {path}", doing=doing, path=self.top)
                return Busy(said, hint=msg("finish it first"))
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
                said = msg("the settings of {path} name another work tree: {other}", path=self.git_dir, other=top)
                return Busy(said, hint=msg("remove it: git config --unset core.worktree"))
        return None

    def build_detached_error(self) -> Busy:
        """Return the trouble that no branch is checked out."""
        return Busy(
            msg("no branch is checked out in {path} (detached HEAD)", path=self.top),
            hint=msg("check out a branch: git switch -"),
        )

    @contextlib.contextmanager
    def hold_lock(self, should_cancel: Callable[[], bool] | None = None) -> Iterator[None]:
        """Hold the one lock under which kb writes in this clone and its worktrees.

        While somebody else has it, *should_cancel* is asked; where it says so, LockWaitCancelled is raised.
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
        """Return whether somebody holds the lock at this moment."""
        import fcntl

        try:
            file = os.open(os.path.join(self.private, "lock"), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who ask do not take each other for a writer
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def build_locked_error(self) -> Busy:
        """Return the trouble of one who has waited for the lock too long."""
        return Busy(msg("another kb is writing in {path}", path=self.top))

    def build_commit(self, parent: str, changes: Mapping[str, bytes | None], message: str, *, stage: str) -> str:
        """Return a new commit: *parent* ("" for a first one) with *changes* (None deletes). Nothing is visible yet.

        *stage* is an empty folder to work in.
        """
        return self.build_commits(parent, [CommitStep(changes, message)], stage=stage)[-1]

    def build_commits(self, parent: str, steps: Sequence[CommitStep], *, stage: str) -> list[str]:
        """Return new commits, one after the other on *parent*, as `build_commit` makes one."""
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
        """Return a new commit of *tree*, signed where the user's configuration says so.

        *by* names author and committer as git's environment does, where they are not those of this process.
        """
        signing = signing or self.start("config", "--type=bool", "--get", "commit.gpgsign")
        arguments = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree"]
        # plumbing does not sign by itself, whatever commit.gpgsign says
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
        """Let the command begin that `update_refs` will need; without moves it does nothing."""
        return self.start("update-ref", "-m", reason, "-z", "--stdin", stdin=None)

    def update_refs(self, moves: Sequence[RefMove], reason: str, mover: BackgroundCommand | None = None) -> None:
        """Move all refs of *moves* or none; raise LostRace when one of them is no longer where it was."""
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
            # "File exists": somebody holds the lock of a ref for a moment
            if "File exists" not in output.error or time.monotonic() > end:
                raise build_git_error(["update-ref"], output)
            time.sleep(0.02)


COMMIT_VERBS = {
    "created": "Add",
    "updated": "Update",
    "appended": "Add to",
    "superseded": "Mark superseded",
    "imported": "Import",
    "confirmed": "Confirm",
    "status": "Change status of",
    "edited": "Edit",
}
"""The first words of a commit's subject, by what was done."""


def format_commit_message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """Return a commit message: a subject of at most 72 characters, a body, and trailers without empty ones."""
    lines = "".join(f"{key}: {' '.join(value.split())}\n" for key, value in trailers.items() if value)
    head = " ".join(subject.split())
    return "\n\n".join(part for part in (head if len(head) <= 72 else head[:71] + "…", body.strip(), lines) if part)


def find_free_name(name: str, is_taken: Callable[[str], bool], separator: str = "-") -> str:
    """Return *name*, with the first number from 2 upwards where it is taken."""
    free, number = name, 1
    while is_taken(free):
        number += 1
        free = f"{name}{separator}{number}"
    return free
