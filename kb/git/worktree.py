"""Let checkout and index follow a published commit, for the written paths and no others.

The promise: what a person has staged, edited or deleted stays theirs, and their next commit does not undo what was
published. So git's own lock on the index is held from before the ref moves until the index has followed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.errors import KbError
from kb.files import STALE, content, harden, remove, remove_folder, write, write_whole
from kb.fingerprints import stamp
from kb.git.git_process import Output, Started, failure, lock_held
from kb.git.path_safety import leads_out
from kb.git.repository import PATIENCE, Repository
from kb.startup.namedtuple import NamedTuple

Changes = Mapping[str, tuple[bytes | None, bytes | None]]
"""Path → what the file was in the commit below and is in the new one; None: not there."""

CLEAN, MERGED, KEPT, FAILED = "clean", "merged", "kept", "failed"
"""What became of a file: it is as published; merged with the user's edits; as the user left it; not writable."""


MARK = "kb-held"
"""The file that git's lock on the index is a link to while kb holds it."""
_MERGE = "merge-"
"""What the name of a folder begins with in which three versions of a file are merged."""
_TROUBLE = 128
"""The exit code of `git merge-file` from which on it counts no conflicts any more."""
_FEW = 32
"""So many files are synced one by one, for a millisecond each; after more of them the whole disk is, once."""
_CLEAN = ("--add", "--remove", "-z", "--stdin")
"""How update-index is called for files that are as published."""


class Staged(NamedTuple):
    """What a person has staged for one path."""

    mode: str
    data: bytes | None
    """None where they staged that the file goes, or where it is unmerged."""


def staged(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, Staged]:
    """Return what the user has staged for any of *paths* that differs from *commit*."""
    if not paths or not commit:
        return {}
    rows = repository.git("diff-index", "--cached", "-z", commit, "--", *map(repository.full, paths))
    words = iter(os.fsdecode(rows).split("\0")[:-1])
    found: dict[str, Staged] = {}
    for meta, name in zip(words, words, strict=True):
        _, mode, _, blob, letter = meta.split(" ")
        there = letter in "AMT"
        found[repository.own(name)] = Staged(mode, repository.git("cat-file", "blob", blob) if there else None)
    return found


def differing(repository: Repository, commit: str, places: Sequence[str], *, is_staged: bool = False) -> set[str]:
    """Return the files at or below *places* that the checkout has otherwise than *commit*; in no commit none do.

    Contents are compared, passed through git's filters, and no time stamps. *is_staged*: those that git's index has so.
    """
    if not commit:
        return set()
    names = [repository.full(place) or "." for place in places]
    cached = ["--cached"] if is_staged else []
    rows = repository.git("diff", *cached, "--name-only", "--no-renames", "-z", commit, "--", *names)
    return {repository.own(os.fsdecode(name)) for name in rows.split(b"\0") if name}


def clashes(repository: Repository, commit: str, path: str, before: bytes, now: bytes) -> bool:
    """Return whether edits of *path* that a person has not committed yet touch the lines that *now* changes."""
    mine = content(os.path.join(repository.root, *path.split("/")))
    entry = staged(repository, commit, [path]).get(path)
    theirs = [data for data in (mine, entry.data if entry else None) if data is not None]
    return any(_merged_lines(repository, data, before, now) is None for data in theirs)


def link_on_the_way(repository: Repository, paths: Iterable[str]) -> str:
    """Return a folder above one of *paths* that is a link, maybe to outside of the repository; "" for none."""
    folders = {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}
    return next((folder for folder in sorted(folders) if os.path.islink(os.path.join(repository.root, folder))), "")


class Following:
    """The held index of a work tree, and what of it follows."""

    def __init__(self, repository: Repository, index: str) -> None:
        """Change the file *index*, which takes the place of git's when the hold ends."""
        self._repository = repository
        self._index = index
        self._marks: Started | None = None
        self.stamp = ""
        """The stamp of git's index as the hold has left it; "" before it has ended, and where there is none."""
        self._update_index = repository.start("update-index", *_CLEAN, stdin=None, index=index)

    def heed_marks(self, paths: Sequence[str]) -> None:
        """Let git look which of *paths* the user has told it to pass over (sparse, or assumed unchanged)."""
        if paths:
            names = map(self._repository.full, paths)
            self._marks = self._repository.start("ls-files", "-v", "-z", "--", *names)

    def follow(self, changes: Changes, commit: str, reserved: Mapping[str, Staged]) -> dict[str, str]:
        """Bring the paths of *changes* to the published *commit* and return what became of each; raise nothing.

        What is *reserved*, staged by the user, stays staged, on top of what is published.
        """
        repository = self._repository
        is_few = len(changes) <= _FEW
        outcomes = {path: _file_followed(repository, path, *versions, is_few) for path, versions in changes.items()}
        if is_few:
            harden({os.path.dirname(os.path.join(repository.root, *path.split("/"))) for path in changes})
        else:
            os.sync()
        try:
            marks = self._marked()
            plain = [path for path in changes if path not in reserved]
            clean = [path for path in plain if path not in marks and outcomes[path] == CLEAN]
            self._clean(clean)
            self._as_published([path for path in plain if path not in clean], commit)
            for path, entry in reserved.items():
                self._restaged(path, entry, *changes[path])
            self._mark(marks)
        except (KbError, OSError):
            return dict.fromkeys(changes, FAILED)
        return outcomes

    def _clean(self, paths: Sequence[str]) -> None:
        _refuse_failed(self._update_index.told(self._names(paths)))

    def _names(self, paths: Sequence[str]) -> bytes:
        return b"".join(os.fsencode(self._repository.full(path)) + b"\0" for path in paths)

    def put_back(self, paths: Mapping[str, bool], commit: str) -> None:
        """Let the index have *paths* as *commit* has them; True: so has the checkout; raise GitFailed or Busy."""
        self._clean([path for path, is_clean in paths.items() if is_clean])
        self._as_published([path for path, is_clean in paths.items() if not is_clean], commit)

    def leave(self) -> None:
        """Let go of the index."""
        self._update_index.ended()
        self._marked()

    def _marked(self) -> dict[str, str]:
        """Return the paths that git passes over, with the letter it shows: small, or S for one that is not there."""
        marks, self._marks = self._marks, None
        rows = os.fsdecode(marks.ended().out).split("\0") if marks else []
        return {self._repository.own(row[2:]): row[0] for row in rows if row[:1].islower() or row[:1] == "S"}

    def _mark(self, marks: Mapping[str, str]) -> None:
        """Let git pass over paths as before, which an entry that takes the place of another does not tell it."""
        skipped = [path for path, letter in marks.items() if letter in "Ss"]
        assumed = [path for path, letter in marks.items() if letter.islower()]
        for option, paths in (("--skip-worktree", skipped), ("--assume-unchanged", assumed)):
            if paths:
                self._update([option, "-z", "--stdin"], self._names(paths))

    def _as_published(self, paths: Sequence[str], commit: str) -> None:
        if not paths:
            return
        names = list(map(self._repository.full, paths))
        rows = self._repository.git("ls-tree", "-z", "--full-tree", commit, "--", *names)
        there = {row.split(b"\t", 1)[1] for row in rows.split(b"\0") if row}
        gone = [name for name in map(os.fsencode, names) if name not in there]
        self._update(["--add", "-z", "--index-info"], rows)
        if gone:
            self._update(["--force-remove", "-z", "--stdin"], b"\0".join(gone) + b"\0")

    def _restaged(self, path: str, entry: Staged, before: bytes | None, now: bytes | None) -> None:
        """Stage what the user has staged, with what was published merged in."""
        if entry.data is None or now is None:
            return
        both = merged(self._repository, entry.data, before or b"", now)
        if both is not None:
            blob = self._repository.git("hash-object", "-w", "--stdin", stdin=both).decode().strip()
            self._update(
                ["--add", "-z", "--index-info"], f"{entry.mode} {blob}\t{self._repository.full(path)}\0".encode()
            )

    def _update(self, arguments: Sequence[str], stdin: bytes) -> None:
        _refuse_failed(self._repository.output(["update-index", *arguments], stdin, self._index))


def _refuse_failed(output: Output) -> None:
    if output.code:
        raise failure(["update-index"], output)


def index_stamp(repository: Repository) -> str:
    """Return what tells git's index from any other; "" where there is none."""
    try:
        return stamp(os.stat(os.path.join(repository.git_dir, "index")))
    except OSError:
        return ""


@contextlib.contextmanager
def held(repository: Repository) -> Iterator[Following]:
    """Hold git's lock on the index of the work tree as `git commit` does; raise Busy when somebody else keeps it.

    The lock is a link to a file of ours: when a process dies with it, the next one can tell (`release_abandoned`).
    """
    index, beside = (os.path.join(repository.git_dir, name) for name in ("index", "kb-index"))
    with contextlib.nullcontext() if repository.holds_index else locked_index(repository):
        try:
            _link_or_copy(index, beside)
            following = Following(repository, beside)
            try:
                yield following
            finally:
                following.leave()
            if os.path.exists(beside):
                os.rename(beside, index)
            following.stamp = index_stamp(repository)  # with the lock still held: later it may be somebody else's
        finally:
            remove(beside)


@contextlib.contextmanager
def locked_index(repository: Repository) -> Iterator[None]:
    """Hold git's lock on the index, for every `held` in the block; raise Busy when somebody else keeps it."""
    lock, mark = (os.path.join(repository.git_dir, name) for name in ("index.lock", MARK))
    _lock(lock, mark)
    repository.holds_index = True
    try:
        yield
    finally:
        repository.holds_index = False
        for path in (lock, mark):
            remove(path)


def _lock(lock: str, mark: str) -> None:
    end = time.monotonic() + PATIENCE
    write(mark, b"")
    while True:
        try:
            os.link(mark, lock)
            return
        except FileExistsError:
            if time.monotonic() > end:
                remove(mark)
                raise lock_held(lock) from None
            time.sleep(0.02)
        except OSError:  # a file system without links
            with contextlib.suppress(FileExistsError):
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return


def _link_or_copy(index: str, beside: str) -> None:
    remove(beside)
    remove(beside + ".lock")
    try:
        os.link(index, beside)
    except FileNotFoundError:
        return
    except OSError:
        write(beside, content(index) or b"")


def release_abandoned(repository: Repository) -> None:
    """Take away the index lock of a process of ours that died, and where it merged; under `Repository.locked`."""
    lock, mark = (os.path.join(repository.git_dir, name) for name in ("index.lock", MARK))
    if repository.holds_index:
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.samefile(lock, mark):
            os.unlink(lock)
    remove(mark)
    with contextlib.suppress(OSError):
        for name in os.listdir(repository.private):
            folder = os.path.join(repository.private, name)
            if name.startswith(_MERGE) and time.time() - os.stat(folder).st_mtime > STALE:
                remove_folder(folder)


# -- one file -------------------------------------------------------------------------------------


def _file_followed(repository: Repository, path: str, before: bytes | None, now: bytes | None, synced: bool) -> str:
    if leads_out(path):
        return FAILED
    place = os.path.join(repository.root, *path.split("/"))
    try:
        return _file_gone(place, before) if now is None else _file_written(repository, place, before, now, synced)
    except (KbError, OSError):
        return FAILED


def _file_gone(path: str, before: bytes | None) -> str:
    mine = content(path)
    if mine is not None and not _same_text(mine, before):
        return KEPT
    remove(path)
    return CLEAN


def _file_written(repository: Repository, path: str, before: bytes | None, now: bytes, synced: bool) -> str:
    mine = content(path)
    if mine == now:
        return CLEAN
    if mine is None and before is not None:
        return KEPT
    outcome, both = _planned(repository, mine, before, now)
    if both is None and content(path) == mine:
        return outcome
    if both is not None and write_whole(path, both, synced=synced, only_if=lambda: content(path) == mine):
        return outcome
    return _file_written(repository, path, before, now, synced)  # saved again while git merged or the disk synced


def _planned(repository: Repository, mine: bytes | None, before: bytes | None, now: bytes) -> tuple[str, bytes | None]:
    """Return what becomes of a file that is as *mine*, and what is to be written; None for nothing."""
    if mine is None:
        return CLEAN, now
    if _same_text(mine, before):
        crlf = b"\r\n" in mine and b"\r\n" not in now
        return CLEAN, now.replace(b"\n", b"\r\n") if crlf else now
    both = _merged_lines(repository, mine, before or b"", now)
    return (KEPT if both is None else MERGED), both


def _same_text(mine: bytes, before: bytes | None) -> bool:
    return before is not None and mine.replace(b"\r\n", b"\n") == before.replace(b"\r\n", b"\n")


def _merged_lines(repository: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
    """Return the merge of three versions, with the line ends of *mine* where git's settings have changed them."""
    if b"\r\n" in mine and b"\r\n" not in base:
        plain = merged(repository, mine.replace(b"\r\n", b"\n"), base, other)
        return None if plain is None else plain.replace(b"\n", b"\r\n")
    return merged(repository, mine, base, other)


def merged(repository: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
    """Return the three-way merge of three versions of a file; None where they conflict."""
    if mine in (base, other) or base == other:
        return other if mine == base else mine
    folder = os.path.join(repository.private, f"{_MERGE}{os.getpid()}")
    names = [os.path.join(folder, name) for name in ("mine", "base", "other")]
    try:
        for name, data in zip(names, (mine, base, other), strict=True):
            write(name, data)
        output = repository.output(["merge-file", "-p", *names])
    finally:
        for name in names:
            remove(name)
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    if not 0 <= output.code < _TROUBLE:
        raise failure(["merge-file"], output)
    return output.out if output.code == 0 else None
