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
from kb.files import (
    STALE,
    read_if_exists,
    read_stamp,
    remove_file,
    remove_folder,
    sync_folders,
    write_atomic,
    write_file,
)
from kb.git.git_process import BackgroundCommand, build_git_error, build_lock_error
from kb.git.objects import is_unsafe_path
from kb.git.repository import PATIENCE, Repository
from kb.startup.namedtuple import NamedTuple

Changes = Mapping[str, tuple[bytes | None, bytes | None]]
"""Path → what the file was in the commit below and is in the new one; None: not there."""

CLEAN, MERGED, KEPT, FAILED = "clean", "merged", "kept", "failed"
"""What became of a file: it is as published; merged with the user's edits; as the user left it; not writable."""
MARK = "kb-held"
"""The file that git's lock on the index is a link to while kb holds it."""
_MERGE_PREFIX = "merge-"
"""What the name of a folder begins with in which three versions of a file are merged."""
_FIRST_ERROR_CODE = 128
"""The exit code of `git merge-file` from which on it counts no conflicts any more."""
_MAX_SINGLE_SYNCS = 32
"""So many files are synced one by one, for a millisecond each; after more of them the whole disk is, once."""
_UPDATE_ARGUMENTS = ("--add", "--remove", "-z", "--stdin")
"""How update-index is called for files that are as published."""


class StagedFile(NamedTuple):
    """What a person has staged for one path."""

    mode: str
    data: bytes | None
    """None where they staged that the file goes, or where it is unmerged."""


def read_staged_files(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, StagedFile]:
    """Return what the user has staged for any of *paths* that differs from *commit*."""
    if not paths or not commit:
        return {}
    found: dict[str, StagedFile] = {}
    for path, (_, mode, _, blob, letter) in diff_index(repository, commit, paths).items():
        found[path] = StagedFile(mode, repository.git("cat-file", "blob", blob) if letter in "AMT" else None)
    return found


def diff_index(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the files at or below *paths* that git's index has otherwise than *commit*, with what git says of each.

    That is, in words: both modes, both objects (all zeros for none), and the letter A, D, M, T or U.
    """
    rows = repository.git("diff-index", "--cached", "-z", commit, "--", *map(repository.to_git_path, paths))
    words = iter(os.fsdecode(rows).split("\0")[:-1])
    return {repository.to_kb_path(name): meta.split(" ") for meta, name in zip(words, words, strict=True)}


def list_differing_files(
    repository: Repository, commit: str, paths: Sequence[str], *, is_staged: bool = False
) -> set[str]:
    """Return the files at or below *paths* that the checkout has otherwise than *commit*; in no commit none do.

    Contents are compared, passed through git's filters, and no time stamps. *is_staged*: those that git's index has so.
    """
    if not commit:
        return set()
    names = [repository.to_git_path(path) or "." for path in paths]
    cached = ["--cached"] if is_staged else []
    rows = repository.git("diff", *cached, "--name-only", "--no-renames", "-z", commit, "--", *names)
    return {repository.to_kb_path(os.fsdecode(name)) for name in rows.split(b"\0") if name}


def has_conflicting_edits(repository: Repository, commit: str, path: str, before: bytes, now: bytes) -> bool:
    """Return whether edits of *path* that a person has not committed yet touch the lines that *now* changes."""
    mine = read_if_exists(os.path.join(repository.root, *path.split("/")))
    entry = read_staged_files(repository, commit, [path]).get(path)
    theirs = [data for data in (mine, entry.data if entry else None) if data is not None]
    return any(_merge_keeping_line_ends(repository, data, before, now) is None for data in theirs)


def find_link_above(repository: Repository, paths: Iterable[str]) -> str:
    """Return a folder above one of *paths* that is a link, maybe to outside of the repository; "" for none."""
    folders = {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}
    return next((folder for folder in sorted(folders) if os.path.islink(os.path.join(repository.root, folder))), "")


class CheckoutUpdate:
    """The held index of a work tree, and what of it follows."""

    def __init__(self, repository: Repository, index: str) -> None:
        """Change the file *index*, which takes the place of git's when the hold ends."""
        self._repository = repository
        self._index = index
        self._flags: BackgroundCommand | None = None
        self.stamp = ""
        """The stamp of git's index as the hold has left it; "" before it has ended, and where there is none."""
        self._update_index = repository.start("update-index", *_UPDATE_ARGUMENTS, stdin=None, index=index)

    def start_reading_flags(self, paths: Sequence[str]) -> None:
        """Let git look which of *paths* the user has told it to pass over (sparse, or assumed unchanged)."""
        if paths:
            names = map(self._repository.to_git_path, paths)
            self._flags = self._repository.start("ls-files", "-v", "-z", "--", *names)

    def apply_published(self, changes: Changes, commit: str, reserved: Mapping[str, StagedFile]) -> dict[str, str]:
        """Bring the paths of *changes* to the published *commit* and return what became of each; raise nothing.

        What is *reserved*, staged by the user, stays staged, on top of what is published.
        """
        repository = self._repository
        is_few = len(changes) <= _MAX_SINGLE_SYNCS
        outcomes = {path: _update_file(repository, path, *versions, is_few) for path, versions in changes.items()}
        if is_few:
            sync_folders({os.path.dirname(os.path.join(repository.root, *path.split("/"))) for path in changes})
        else:
            os.sync()
        try:
            # paths that the user edited, or told git to pass over, get their entry from the commit, not from the file
            flags = self._read_flags()
            self.reset_index_paths(
                {p: p not in flags and outcomes[p] == CLEAN for p in changes if p not in reserved}, commit
            )
            for path, entry in reserved.items():
                self._restage_file(path, entry, *changes[path])
            # a new entry has lost the flags of the one it replaces: s is assumed unchanged and skipped
            skipped = [path for path, letter in flags.items() if letter in "Ss"]
            assumed = [path for path, letter in flags.items() if letter.islower()]
            for option, paths in (("--skip-worktree", skipped), ("--assume-unchanged", assumed)):
                if paths:
                    self._run_update_index([option, "-z", "--stdin"], self._encode_paths(paths))
        except (KbError, OSError):
            return dict.fromkeys(changes, FAILED)
        return outcomes

    def _encode_paths(self, paths: Iterable[str]) -> bytes:
        return b"".join(os.fsencode(self._repository.to_git_path(path)) + b"\0" for path in paths)

    def reset_index_paths(self, paths: Mapping[str, bool], commit: str) -> None:
        """Let the index have *paths* as *commit* has them; True: so has the checkout; raise GitFailed or Busy."""
        clean = self._encode_paths(path for path, is_clean in paths.items() if is_clean)
        output = self._update_index.send_input(clean)
        if output.code:
            raise build_git_error(["update-index"], output)
        others = [self._repository.to_git_path(path) for path, is_clean in paths.items() if not is_clean]
        if not others:
            return
        rows = self._repository.git("ls-tree", "-z", "--full-tree", commit, "--", *others)
        there = {row.split(b"\t", 1)[1] for row in rows.split(b"\0") if row}
        gone = [name for name in map(os.fsencode, others) if name not in there]
        # the mode 0 takes an entry out, whatever object goes with it
        zeros = b"0 " + b"00" * self._repository.oid_size + b"\t"
        self._run_update_index(["--add", "-z", "--index-info"], rows + b"".join(zeros + name + b"\0" for name in gone))

    def release_index(self) -> None:
        """Let go of the index."""
        self._update_index.wait_for_output()
        self._read_flags()

    def _read_flags(self) -> dict[str, str]:
        """Return the paths that git passes over, with the letter it shows: small, or S for one that is not there."""
        flags, self._flags = self._flags, None
        rows = os.fsdecode(flags.wait_for_output().out).split("\0") if flags else []
        return {self._repository.to_kb_path(row[2:]): row[0] for row in rows if row[:1].islower() or row[:1] == "S"}

    def _restage_file(self, path: str, entry: StagedFile, before: bytes | None, now: bytes | None) -> None:
        """Stage what the user has staged, with what was published merged in."""
        if entry.data is None or now is None:
            return
        both = merge_file_versions(self._repository, entry.data, before or b"", now)
        if both is not None:
            blob = self._repository.git("hash-object", "-w", "--stdin", stdin=both).decode().strip()
            row = f"{entry.mode} {blob}\t{self._repository.to_git_path(path)}\0".encode()
            self._run_update_index(["--add", "-z", "--index-info"], row)

    def _run_update_index(self, arguments: Sequence[str], stdin: bytes) -> None:
        self._repository.git("update-index", *arguments, stdin=stdin, index=self._index)


def read_index_stamp(repository: Repository) -> str:
    """Return the stamp by which git's index is recognised; "" where there is none."""
    return read_stamp(os.path.join(repository.git_dir, "index"))


@contextlib.contextmanager
def hold_index(repository: Repository) -> Iterator[CheckoutUpdate]:
    """Hold git's lock on the index of the work tree as `git commit` does; raise Busy when somebody else keeps it.

    The lock is a link to a file of ours: when a process dies with it, the next one can tell (`release_abandoned_lock`).
    """
    index, beside = (os.path.join(repository.git_dir, name) for name in ("index", "kb-index"))
    with contextlib.nullcontext() if repository.holds_index else lock_index(repository):
        try:
            remove_file(beside)
            remove_file(beside + ".lock")
            # git replaces the index it changes and never writes into it, so a link to the old one is as good as a copy
            try:
                os.link(index, beside)
            except FileNotFoundError:  # nothing was ever staged here
                pass
            except OSError:  # a file system without links
                write_file(beside, read_if_exists(index) or b"")
            update = CheckoutUpdate(repository, beside)
            try:
                yield update
            finally:
                update.release_index()
            if os.path.exists(beside):
                os.rename(beside, index)
            update.stamp = read_index_stamp(repository)  # with the lock still held: later it may be somebody else's
        finally:
            remove_file(beside)


@contextlib.contextmanager
def lock_index(repository: Repository) -> Iterator[None]:
    """Hold git's lock on the index, for every `hold_index` in the block; raise Busy when somebody else keeps it."""
    lock, mark = (os.path.join(repository.git_dir, name) for name in ("index.lock", MARK))
    end = time.monotonic() + PATIENCE
    write_file(mark, b"")
    while not _link_lock(mark, lock):
        if time.monotonic() > end:
            remove_file(mark)
            raise build_lock_error(lock)
        time.sleep(0.02)
    repository.holds_index = True
    try:
        yield
    finally:
        repository.holds_index = False
        remove_file(lock)
        remove_file(mark)


def _link_lock(mark: str, lock: str) -> bool:
    """Return whether *lock*, which must not be there yet, is a link to *mark* now."""
    try:
        os.link(mark, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
    return True


def release_abandoned_lock(repository: Repository) -> None:
    """Take away the index lock of a process of ours that died, and where it merged; under `Repository.hold_lock`."""
    if repository.holds_index:
        return
    lock, mark = (os.path.join(repository.git_dir, name) for name in ("index.lock", MARK))
    with contextlib.suppress(FileNotFoundError):
        if os.path.samefile(lock, mark):  # the lock is ours; one of git's own is another file
            os.unlink(lock)
    remove_file(mark)
    with contextlib.suppress(OSError):
        for name in os.listdir(repository.private):
            folder = os.path.join(repository.private, name)
            if name.startswith(_MERGE_PREFIX) and time.time() - os.stat(folder).st_mtime > STALE:
                remove_folder(folder)


# -- one file -------------------------------------------------------------------------------------


def _update_file(repository: Repository, path: str, before: bytes | None, now: bytes | None, synced: bool) -> str:
    if is_unsafe_path(path):
        return FAILED
    file = os.path.join(repository.root, *path.split("/"))
    try:
        if now is not None:
            return _write_file(repository, file, before, now, synced)
        mine = read_if_exists(file)
        if mine is not None and not is_same_text(mine, before):
            return KEPT
        remove_file(file)
        return CLEAN
    except (KbError, OSError):
        return FAILED


def _write_file(repository: Repository, path: str, before: bytes | None, now: bytes, synced: bool) -> str:
    mine = read_if_exists(path)
    if mine == now:
        return CLEAN
    if mine is None and before is not None:
        return KEPT
    outcome, both = CLEAN, now if mine is None else None
    if mine is not None and (mine == before or (has_only_crlf(mine) and is_same_text(mine, before))):
        both = now.replace(b"\n", b"\r\n") if has_only_crlf(mine) and b"\r\n" not in now else now
    elif mine is not None:
        both = _merge_keeping_line_ends(repository, mine, before or b"", now)
        outcome = KEPT if both is None else MERGED
    if both is None and read_if_exists(path) == mine:
        return outcome
    if both is not None and write_atomic(path, both, synced=synced, only_if=lambda: read_if_exists(path) == mine):
        return outcome
    return _write_file(repository, path, before, now, synced)  # saved again while git merged or the disk synced


def is_same_text(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two versions of a file are alike but for line ends, which git may change; None: no file."""
    if one is None or other is None:
        return one is other
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def has_only_crlf(data: bytes) -> bool:
    """Return whether every line of *data* ends as on Windows, as git's settings do it; a person mixes them."""
    return b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n")


def _merge_keeping_line_ends(repository: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
    """Return the merge of three versions, with the line ends of *mine* where git's settings have changed them."""
    if b"\r\n" in mine and b"\r\n" not in base:
        # some lines with \r\n are the person's own bytes: they stay where the lines of both are apart
        exact = None if has_only_crlf(mine) else merge_file_versions(repository, mine, base, other)
        if exact is not None:
            return exact
        plain = merge_file_versions(repository, mine.replace(b"\r\n", b"\n"), base, other)
        return None if plain is None else plain.replace(b"\n", b"\r\n")
    return merge_file_versions(repository, mine, base, other)


def merge_file_versions(
    repository: Repository, mine: bytes, base: bytes, other: bytes, *, prefer_other: bool = False
) -> bytes | None:
    """Return the three-way merge of three versions of a file; None where they conflict, unless *other* decides."""
    if mine in (base, other) or base == other:
        return other if mine == base else mine
    folder = os.path.join(repository.private, f"{_MERGE_PREFIX}{os.getpid()}")
    names = [os.path.join(folder, name) for name in ("mine", "base", "other")]
    try:
        for name, data in zip(names, (mine, base, other), strict=True):
            write_file(name, data)
        output = repository.run_git(["merge-file", "-p", *(["--theirs"] if prefer_other else []), *names])
    finally:
        remove_folder(folder)
    if not 0 <= output.code < _FIRST_ERROR_CODE:
        raise build_git_error(["merge-file"], output)
    return output.out if output.code == 0 else None
