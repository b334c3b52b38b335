"""Bring checkout and index to a published commit, for the written paths only.

What a person has staged, edited or deleted stays as it is, and their next commit does not revert what was published.
So git's own lock on the index is held from before the ref moves until the index is updated.
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
"""Path → content in the parent commit and in the new one; None: not there."""

CLEAN, MERGED, KEPT, FAILED = "clean", "merged", "kept", "failed"
"""The result for a file: as published; merged with the user's edits; left as the user has it; not writable."""
MARK = "kb-held"
"""The file to which git's index lock is a link while kb holds it."""
_MERGE_PREFIX = "merge-"
"""Prefix of the temporary folders in which three versions of a file are merged."""
_FIRST_ERROR_CODE = 128
"""Exit codes of `git merge-file` from here on are errors, below it the number of conflicts."""
_MAX_SINGLE_SYNCS = 32
"""Up to this many files are synced one by one, at a millisecond each; for more, the whole disk is synced once."""
_UPDATE_ARGUMENTS = ("--add", "--remove", "-z", "--stdin")
"""Arguments of update-index for files that are as published."""


class StagedFile(NamedTuple):
    """What a person has staged for a path."""

    mode: str
    data: bytes | None
    """None if they staged a deletion, or if it is unmerged."""


def read_staged_files(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, StagedFile]:
    """Return what the user has staged for those of *paths* that differ from *commit*."""
    if not paths or not commit:
        return {}
    staged: dict[str, StagedFile] = {}
    for path, (_, mode, _, blob, letter) in diff_index(repository, commit, paths).items():
        staged[path] = StagedFile(mode, repository.git("cat-file", "blob", blob) if letter in "AMT" else None)
    return staged


def diff_index(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the files at or below *paths* whose entry in git's index differs from *commit*, each with git's fields.

    The fields are both modes, both objects (all zeros for none), and the letter A, D, M, T or U.
    """
    rows = repository.git("diff-index", "--cached", "-z", commit, "--", *map(repository.to_git_path, paths))
    words = iter(os.fsdecode(rows).split("\0")[:-1])
    return {repository.to_kb_path(name): meta.split(" ") for meta, name in zip(words, words, strict=True)}


def list_differing_files(
    repository: Repository, commit: str, paths: Sequence[str], *, is_staged: bool = False
) -> set[str]:
    """Return the files at or below *paths* that differ between checkout and *commit*; none for an empty *commit*.

    Contents after git's filters are compared, not time stamps. *is_staged*: only files that git's index has as well.
    """
    if not commit:
        return set()
    names = [repository.to_git_path(path) or "." for path in paths]
    cached = ["--cached"] if is_staged else []
    rows = repository.git("diff", *cached, "--name-only", "--no-renames", "-z", commit, "--", *names)
    return {repository.to_kb_path(os.fsdecode(name)) for name in rows.split(b"\0") if name}


def has_conflicting_edits(repository: Repository, commit: str, path: str, before: bytes, now: bytes) -> bool:
    """Return whether uncommitted edits of *path* touch the lines that *now* changes."""
    mine = read_if_exists(os.path.join(repository.root, *path.split("/")))
    entry = read_staged_files(repository, commit, [path]).get(path)
    theirs = [data for data in (mine, entry.data if entry else None) if data is not None]
    return any(_merge_keeping_line_ends(repository, data, before, now) is None for data in theirs)


def find_link_above(repository: Repository, paths: Iterable[str]) -> str:
    """Return a folder above one of *paths* that is a symbolic link (maybe out of the repository), or ""."""
    folders = {path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"}
    return next((folder for folder in sorted(folders) if os.path.islink(os.path.join(repository.root, folder))), "")


class CheckoutUpdate:
    """An update of the checkout under the index lock, and its results."""

    def __init__(self, repository: Repository, index: str) -> None:
        """Change the file *index*, which replaces git's index when the lock is released."""
        self._repository = repository
        self._index = index
        self._flags: BackgroundCommand | None = None
        self.stamp = ""
        """The stamp of git's index after the update; "" before its end, and if there is no index."""
        self._update_index = repository.start("update-index", *_UPDATE_ARGUMENTS, stdin=None, index=index)

    def start_reading_flags(self, paths: Sequence[str]) -> None:
        """Start asking git which of *paths* have the skip-worktree or assume-unchanged flag."""
        if paths:
            names = map(self._repository.to_git_path, paths)
            self._flags = self._repository.start("ls-files", "-v", "-z", "--", *names)

    def apply_published(self, changes: Changes, commit: str, reserved: Mapping[str, StagedFile]) -> dict[str, str]:
        """Bring the paths of *changes* to the published *commit* and return the result for each; never raise.

        The user's staged files in *reserved* stay staged, on top of what is published.
        """
        repository = self._repository
        is_few = len(changes) <= _MAX_SINGLE_SYNCS
        outcomes = {path: _update_file(repository, path, *versions, is_few) for path, versions in changes.items()}
        if is_few:
            sync_folders({os.path.dirname(os.path.join(repository.root, *path.split("/"))) for path in changes})
        else:
            os.sync()
        try:
            # paths that the user edited or flagged get their index entry from the commit, not from the file
            flags = self._read_flags()
            self.reset_index_paths(
                {p: p not in flags and outcomes[p] == CLEAN for p in changes if p not in reserved}, commit
            )
            for path, entry in reserved.items():
                self._restage_file(path, entry, *changes[path])
            # a new entry loses the flags of the old one: restore assume-unchanged and skip-worktree
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
        """Reset *paths* in the index to *commit*; True: the checkout has that version too; raise GitFailed or Busy."""
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
        # mode 0 removes an entry, whatever its object
        zeros = b"0 " + b"00" * self._repository.oid_size + b"\t"
        self._run_update_index(["--add", "-z", "--index-info"], rows + b"".join(zeros + name + b"\0" for name in gone))

    def release_index(self) -> None:
        """Release the index lock."""
        self._update_index.wait_for_output()
        self._read_flags()

    def _read_flags(self) -> dict[str, str]:
        """Return the flagged paths with git's letter: lower case for assume-unchanged, S for skip-worktree."""
        flags, self._flags = self._flags, None
        rows = os.fsdecode(flags.wait_for_output().out).split("\0") if flags else []
        return {self._repository.to_kb_path(row[2:]): row[0] for row in rows if row[:1].islower() or row[:1] == "S"}

    def _restage_file(self, path: str, entry: StagedFile, before: bytes | None, now: bytes | None) -> None:
        """Stage the user's staged version with the published change merged in."""
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
    """Return the stamp that identifies the state of git's index, or "" if there is none."""
    return read_stamp(os.path.join(repository.git_dir, "index"))


@contextlib.contextmanager
def hold_index(repository: Repository) -> Iterator[CheckoutUpdate]:
    """Hold git's lock on the index as `git commit` does; raise Busy if another process keeps it.

    The lock is a link to a file of kb's: after a crash the next process can recognise it (`release_abandoned_lock`).
    """
    index, beside = (os.path.join(repository.git_dir, name) for name in ("index", "kb-index"))
    with contextlib.nullcontext() if repository.holds_index else lock_index(repository):
        try:
            remove_file(beside)
            remove_file(beside + ".lock")
            # git replaces its index and never writes into it, so a link to the old one serves as a copy
            try:
                os.link(index, beside)
            except FileNotFoundError:  # nothing has been staged yet
                pass
            except OSError:  # a file system without hard links
                write_file(beside, read_if_exists(index) or b"")
            update = CheckoutUpdate(repository, beside)
            try:
                yield update
            finally:
                update.release_index()
            if os.path.exists(beside):
                os.rename(beside, index)
            update.stamp = read_index_stamp(repository)  # before releasing the lock: later it may be another one
        finally:
            remove_file(beside)


@contextlib.contextmanager
def lock_index(repository: Repository) -> Iterator[None]:
    """Hold git's lock on the index for every `hold_index` in the block; raise Busy if another process keeps it."""
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
    """Create *lock* as a link to *mark*; return whether that succeeded."""
    try:
        os.link(mark, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
    return True


def release_abandoned_lock(repository: Repository) -> None:
    """Remove the index lock and merge folders of a dead kb process; call it under `Repository.hold_lock`."""
    if repository.holds_index:
        return
    lock, mark = (os.path.join(repository.git_dir, name) for name in ("index.lock", MARK))
    with contextlib.suppress(FileNotFoundError):
        if os.path.samefile(lock, mark):  # the lock is kb's; git's own would be another file
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
    return _write_file(repository, path, before, now, synced)  # saved again during the merge or sync


def is_same_text(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two versions of a file are equal except for line endings, which git may change; None: no file."""
    if one is None or other is None:
        return one is other
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def has_only_crlf(data: bytes) -> bool:
    """Return whether every line of *data* ends with CRLF, as git's settings produce; people mix line endings."""
    return b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n")


def _merge_keeping_line_ends(repository: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
    """Merge three versions, with the line endings of *mine* where git's settings have changed them."""
    if b"\r\n" in mine and b"\r\n" not in base:
        # mixed line endings are the person's own bytes: they stay where the two sides do not overlap
        exact = None if has_only_crlf(mine) else merge_file_versions(repository, mine, base, other)
        if exact is not None:
            return exact
        plain = merge_file_versions(repository, mine.replace(b"\r\n", b"\n"), base, other)
        return None if plain is None else plain.replace(b"\n", b"\r\n")
    return merge_file_versions(repository, mine, base, other)


def merge_file_versions(
    repository: Repository, mine: bytes, base: bytes, other: bytes, *, prefer_other: bool = False
) -> bytes | None:
    """Return the three-way merge of a file; None if there are conflicts, unless *other* decides them."""
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
