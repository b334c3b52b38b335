"""One clone: what it says, and commits built beside the user's work and published by a compare-and-swap ref move."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.errors import Busy, GitFailed
from kb.files import harden
from kb.git.git_dir import common_dir, enclosing, first_line, packed
from kb.git.git_process import Output, Started, failure, lock_held, run, scrubbed
from kb.git.trees import patched
from kb.git.untrusted_config import Guard
from kb.i18n import msg
from kb.startup.hashes import sha1, sha256
from kb.startup.namedtuple import NamedTuple

PATIENCE = 2.0
"""Seconds to wait for a lock that somebody else's git command holds."""
QUEUE = 20.0
"""Seconds to wait for other writers of ours: a host gives a hook 60."""
POLL = 0.008
"""Seconds between two looks of one who waits for them."""

_UNDER_WAY = (
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)


class Head(NamedTuple):
    """What is checked out."""

    ref: str
    """The full name of the branch, or "" for a detached HEAD."""
    oid: str
    """The commit, or "" while the branch has none."""


class Move(NamedTuple):
    """A ref from *old* to *new*; *old* "" means that the ref must not be there yet, *new* "" that it goes."""

    ref: str
    new: str
    old: str


NOBODY: Mapping[str, str] = {}


class Step(NamedTuple):
    """One commit to be built."""

    changes: Mapping[str, bytes | None]
    message: str
    by: Mapping[str, str] = NOBODY
    """Author and committer, as git's environment names them; those of this process where it does not."""


class GivenUp(Exception):
    """What the lock was wanted for is no longer to be done."""


class LostRace(Exception):
    """Another writer moved the ref first: build again on its tip."""


class Repository:
    """One clone (or linked worktree); every path it takes or gives is relative to *root*, with forward slashes."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Open the repository around the folder *root*; raise GitFailed where there is none."""
        self.root = root
        found = enclosing(root)
        if found is None:
            raise GitFailed(msg("{path} is not in a git repository", path=root), hint=msg("run: kb init"))
        self.top, self.git_dir = found
        self.common_dir = common_dir(self.git_dir)
        self.prefix = os.path.relpath(root, self.top).replace(os.sep, "/") + "/" if root != self.top else ""
        self.environment = scrubbed(environment, GIT_CEILING_DIRECTORIES=os.path.dirname(self.top))
        self.guard = Guard(self.top, self.git_dir, self.common_dir, self.environment)
        self.private = os.path.join(self.common_dir, "kb")
        self.holds_index = False
        """Whether this process holds git's lock on the index (`checkout.locked_index`)."""

    # asking

    def git(
        self, *arguments: str, stdin: bytes = b"", index: str = "", work_tree: str = "", check: bool = True
    ) -> bytes:
        """Return what a git command prints; raise GitFailed with its own words when it fails."""
        output = self.output(arguments, stdin, index, work_tree)
        if check and output.code:
            raise failure(arguments, output)
        return output.out

    def full(self, path: str) -> str:
        """Return a path of this knowledge base as git names it, from the top of the work tree."""
        return self.prefix + path

    def own(self, name: str) -> str:
        """Return a name of git's as a path of this knowledge base."""
        return name.removeprefix(self.prefix)

    def output(
        self, arguments: Sequence[str], stdin: bytes = b"", index: str = "", work_tree: str = "", **more: str
    ) -> Output:
        """Run a git command and return how it ended, whatever that was."""
        given = self.guard.given(arguments, is_sure=not work_tree)
        environment = {**given, **({"GIT_INDEX_FILE": index} if index else {}), **more}
        place = (
            ["-C", work_tree, f"--git-dir={self.git_dir}", f"--work-tree={work_tree}"]
            if work_tree
            else ["-C", self.top]
        )
        return run(["git", *place, *arguments], environment, stdin)

    def start(self, *arguments: str, stdin: bytes | None = b"", index: str = "") -> Started:
        """Let a git command begin; it works, or with *stdin* None waits, while the caller does something else."""
        environment = self.guard.given(arguments)
        environment = {**environment, "GIT_INDEX_FILE": index} if index else environment
        return Started(["git", "-C", self.top, *arguments], environment, stdin)

    @property
    def width(self) -> int:
        """The bytes of an object's name: 20 for SHA-1, 32 for SHA-256."""
        return 32 if b"objectformat=sha256" in self.guard.settings().replace(b" ", b"").replace(b"\t", b"") else 20

    def oid_of(self, kind: bytes, data: bytes) -> str:
        """Return the name git gives to an object."""
        digest = sha256 if self.width == 32 else sha1
        return digest(kind + b" %d\0" % len(data) + data).hexdigest()

    def head(self) -> Head:
        """Return what is checked out, read from the files git documents; asked of git where they do not say.

        Raise GitFailed where git does not take it for a repository.
        """
        name = first_line(os.path.join(self.git_dir, "HEAD"))
        if name.startswith("ref: ") and not name.endswith("/.invalid"):
            return Head(name[5:], self.ref(name[5:]))
        if len(name) in (40, 64):
            return Head("", name)
        said = self.output(["symbolic-ref", "-q", "HEAD"])
        if said.code > 1:
            raise failure(["symbolic-ref"], said)
        ref = said.out.decode().strip()
        oid = self.output(["rev-parse", "-q", "--verify", "HEAD"]).out.decode().strip()
        return Head(ref, oid)

    def ref(self, name: str) -> str:
        """Return the object *name* points to, or ""."""
        oid = first_line(os.path.join(self.common_dir, *name.split("/")))
        if len(oid) in (40, 64):
            return oid
        if not oid and not os.path.exists(os.path.join(self.common_dir, "reftable")):
            return packed(os.path.join(self.common_dir, "packed-refs"), name)
        return self.output(["rev-parse", "-q", "--verify", name]).out.decode().strip()

    def refs(self, pattern: str, form: str = "%(refname)") -> list[str]:
        """Return one line in *form* for each ref under *pattern*."""
        return self.git("for-each-ref", f"--format={form}", pattern).decode("utf-8", "replace").splitlines()

    def blob(self, revision: str, path: str) -> bytes | None:
        """Return the file *path* as it is in *revision*; None if it is not there; raise GitFailed if git cannot look.

        `cat-file blob` fails alike in both cases; what `blobs` asks tells them apart, but takes no line feed in a name.
        """
        if "\n" not in path:
            return self.blobs([(revision, path)])[0]
        output = self.output(["cat-file", "blob", f"{revision}:{self.prefix}{path}"])
        if output.code and isinstance(trouble := failure(["cat-file"], output), Busy):
            raise trouble
        return None if output.code else output.out

    def blobs(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Return the file of each (revision, path) of *wanted*, None where there is none, with one git process.

        Raise GitFailed where git cannot look: of an object that it cannot read it says "missing" as well, and why.
        """
        if any("\n" in path for _, path in wanted):
            return [self.blob(revision, path) for revision, path in wanted]
        lines = b"".join(os.fsencode(f"{revision}:{self.full(path)}\n") for revision, path in wanted)
        output = self.output(["cat-file", "--batch"], lines) if wanted else Output(0, b"", "")
        if output.code or output.error.startswith(("error:", "fatal:")):
            raise failure(["cat-file"], output)
        data = output.out
        found: list[bytes | None] = []
        at = 0
        for _ in wanted:
            end = data.index(b"\n", at)
            *_, kind, size = data[at:end].split(b" ")
            length = int(size) + 1 if size.isdigit() else 0
            found.append(data[end + 1 : end + length] if length and kind == b"blob" else None)
            at = end + 1 + length
        return found

    def files(self, revision: str, folder: str = "") -> dict[str, str]:
        """Return path and blob id of every file under *folder* in *revision*."""
        where = [self.prefix + folder] if self.prefix + folder else []
        rows = (
            self.git("ls-tree", "-r", "-z", "--full-tree", revision, "--", *where)
            .decode("utf-8", "surrogateescape")
            .split("\0")
        )
        found = (row.split("\t", 1) for row in rows if row)
        return {self.own(path): meta.split()[2] for meta, path in found}

    def not_now(self) -> Busy | None:
        """Return why the repository cannot take a commit at this moment; None when it can."""
        for name, doing in _UNDER_WAY:
            if os.path.exists(os.path.join(self.git_dir, name)):
                return Busy(
                    msg("a {doing} is in progress in {path}", doing=doing, path=self.top),
                    hint=msg("finish it first"),
                )
        if not self.head().ref:
            return self.detached()
        if not self.holds_index and not self._waited_for(os.path.join(self.git_dir, "index.lock")):
            return lock_held(os.path.join(self.git_dir, "index.lock"))
        if other := self._other_work_tree():
            return Busy(
                msg("the settings of {path} name another work tree: {other}", path=self.git_dir, other=other),
                hint=msg("take it out: git config --unset core.worktree"),
            )
        return None

    def detached(self) -> Busy:
        """Return the trouble that no branch is checked out."""
        return Busy(
            msg("no branch is checked out in {path} (detached HEAD)", path=self.top),
            hint=msg("check out a branch: git switch -"),
        )

    def _other_work_tree(self) -> str:
        """Return where the files of this repository are for git, if that is elsewhere; else ""."""
        if b"worktree" not in self.guard.settings().replace(b"worktreeconfig", b""):
            return ""
        said = self.output(["rev-parse", "--show-toplevel"]).out
        top = os.fsdecode(said).removesuffix("\n")
        return "" if not top or os.path.realpath(top) == os.path.realpath(self.top) else top

    def _waited_for(self, lock: str) -> bool:
        end = time.monotonic() + PATIENCE
        while os.path.exists(lock):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    # writing

    @contextlib.contextmanager
    def locked(self, given_up: Callable[[], bool] | None = None) -> Iterator[None]:
        """Hold the one lock under which kb writes in this clone and its worktrees.

        While somebody else has it, *given_up* is asked; where it says so, GivenUp is raised.
        """
        import fcntl

        try:
            os.makedirs(self.private, exist_ok=True)
            file = os.open(os.path.join(self.private, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise Busy(msg("{path} cannot be written: {problem}", path=self.private, problem=error.strerror)) from None
        try:
            end = time.monotonic() + QUEUE
            while not _is_free(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)):
                if given_up and given_up():
                    raise GivenUp
                if time.monotonic() > end:
                    raise self.being_written()
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
            return not _is_free(lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB))
        finally:
            os.close(file)

    def being_written(self) -> Busy:
        """Return the trouble of one who has waited for the lock too long."""
        return Busy(msg("another kb is writing in {path}", path=self.top))

    def build(self, parent: str, changes: Mapping[str, bytes | None], message: str, *, stage: str) -> str:
        """Return a new commit: *parent* ("" for a first one) with *changes* (None deletes). Nothing is visible yet.

        *stage* is an empty folder to work in.
        """
        return self.build_all(parent, [Step(changes, message)], stage=stage)[-1]

    def build_all(self, parent: str, steps: Sequence[Step], *, stage: str) -> list[str]:
        """Return new commits, one after the other on *parent*, as `build` makes one."""
        signing = self.start("config", "--type=bool", "--get", "commit.gpgsign")
        trees = patched(
            self, parent, [{self.full(path): data for path, data in step.changes.items()} for step in steps], stage
        )
        if len(steps) == 1:
            return [self.commit_tree(trees[0], [parent] if parent else [], steps[0].message, signing, steps[0].by)]
        from kb.git.commit_chain import Chain

        chain = Chain(self, parent, stage, signing)
        for step, tree in zip(steps, trees, strict=True):
            chain.add(tree, step)
        chain.stored()
        return chain.commits

    def commit_tree(
        self, tree: str, parents: Sequence[str], message: str, signing: Started | None = None,
        by: Mapping[str, str] = NOBODY,
    ) -> str:  # fmt: skip
        """Return a new commit of *tree*, signed where the user's configuration says so.

        *by* names author and committer as git's environment does, where they are not those of this process.
        """
        encoding = ["-c", "i18n.commitEncoding=UTF-8"]
        arguments = [
            *encoding,
            "commit-tree",
            tree,
            *(word for parent in parents for word in ("-p", parent)),
            "-F",
            "-",
        ]
        signing = signing or self.start("config", "--type=bool", "--get", "commit.gpgsign")
        if signing.ended().out.strip() == b"true":
            arguments.insert(3, "-S")
        output = self.output(arguments, message.encode(), **by)
        if output.code and ("tell me who you are" in output.error or "empty ident" in output.error):
            who = {
                f"GIT_{role}_{part}": value
                for role in ("AUTHOR", "COMMITTER")
                for part, value in (("NAME", "kb"), ("EMAIL", "kb@localhost"))
            }
            output = self.output(arguments, message.encode(), **who)
        if output.code:
            raise failure(["commit-tree"], output)
        return output.out.decode().strip()

    def mover(self, reason: str) -> Started:
        """Let the command begin that `publish` will need; without moves it does nothing."""
        return self.start("update-ref", "-m", reason, "-z", "--stdin", stdin=None)

    def publish(self, moves: Sequence[Move], reason: str, mover: Started | None = None) -> None:
        """Move all refs of *moves* or none; raise LostRace when one of them is no longer where it was."""
        lines = "".join(map(_instruction, moves)).encode()
        end = time.monotonic() + PATIENCE
        while True:
            output = (mover or self.mover(reason)).told(lines)
            mover = None
            if not output.code:
                harden({os.path.dirname(os.path.join(self.common_dir, *move.ref.split("/"))) for move in moves})
                return
            if (
                "but expected" in output.error
                or "already exists" in output.error
                or "unable to resolve reference" in output.error
            ):
                raise LostRace(output.error)
            if "File exists" not in output.error or time.monotonic() > end:
                raise failure(["update-ref"], output)
            time.sleep(0.02)


def _instruction(move: Move) -> str:
    """Return the line of `git update-ref --stdin -z` that makes *move*."""
    if not move.new:
        return f"delete {move.ref}\0{move.old}\0"
    return f"update {move.ref}\0{move.new}\0{move.old or '0' * len(move.new)}\0"


def _is_free(lock: Callable[[], None]) -> bool:
    try:
        lock()
    except BlockingIOError:
        return False
    return True


def message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """Return a commit message: a subject of at most 72 characters, a body, and trailers without empty ones."""
    lines = "".join(f"{key}: {' '.join(value.split())}\n" for key, value in trailers.items() if value)
    head = " ".join(subject.split())
    return "\n\n".join(part for part in (head if len(head) <= 72 else head[:71] + "…", body.strip(), lines) if part)
