"""Let checkout and index follow a published commit, for the written paths and no others."""

import contextlib
import os
import time
from collections.abc import Mapping, Sequence

from kb.store.git.command import failure
from kb.store.git.layout import content, write
from kb.store.git.repository import PATIENCE, Repository


def staged(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Return for which of *paths* the user has staged something; to be asked before a commit is published."""
    if not paths or not repository.head().oid:
        return set()
    names = repository.git("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", *map(repository.full, paths))
    return {repository.own(name) for name in os.fsdecode(names).split("\0") if name}


def follow(
    repository: Repository, changes: Mapping[str, tuple[bytes | None, bytes]], commit: str, reserved: set[str]
) -> list[str]:
    """Bring the paths of *changes* ({path: (before, now)}) to *commit*; return those that could not follow.

    A file the user has edited is merged three-way; where that conflicts it stays as it is and its path is returned.
    The paths in *reserved*, which the user has staged, keep what is staged.
    """
    outcomes = {
        path: _follow_file(repository, os.path.join(repository.root, *path.split("/")), before, now)
        for path, (before, now) in changes.items()
    }
    free = [path for path in changes if path not in reserved]
    _follow_index(
        repository,
        [path for path in free if outcomes[path] == "clean"],
        [path for path in free if outcomes[path] != "clean"],
        commit,
    )
    return [path for path, outcome in outcomes.items() if outcome == "kept"]


def _follow_file(repository: Repository, path: str, before: bytes | None, now: bytes) -> str:
    """Return "clean" (the file is now *now*), "merged" (with the user's edits) or "kept" (as the user left it)."""
    mine = content(path)
    if mine == now:
        return "clean"
    if mine is None:
        if before is not None:
            return "kept"
        write(path, now)
        return "clean"
    if before is not None and mine.replace(b"\r\n", b"\n") == before.replace(b"\r\n", b"\n"):
        crlf = b"\r\n" in mine and b"\r\n" not in now
        _replace(path, now.replace(b"\n", b"\r\n") if crlf else now)
        return "clean"
    both = merged(repository, mine, before or b"", now)
    if both is None:
        return "kept"
    _replace(path, both)
    return "merged"


def merged(repository: Repository, mine: bytes, base: bytes, other: bytes) -> bytes | None:
    """Return the three-way merge of three versions of a file; None where they conflict."""
    folder = os.path.join(repository.private, f"merge-{os.getpid()}")
    names = [os.path.join(folder, name) for name in ("mine", "base", "other")]
    try:
        for name, data in zip(names, (mine, base, other), strict=True):
            write(name, data)
        output = repository.output(["merge-file", "-p", *names])
    finally:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)
    return output.out if output.code == 0 else None


def _follow_index(repository: Repository, clean: Sequence[str], other: Sequence[str], commit: str) -> None:
    if clean:
        names = os.fsencode("\0".join(map(repository.full, clean))) + b"\0"
        _patiently(repository, ["update-index", "--add", "-z", "--stdin"], names)
    if other:
        rows = repository.git("ls-tree", "-z", "--full-tree", commit, "--", *map(repository.full, other))
        _patiently(repository, ["update-index", "--add", "-z", "--index-info"], rows)


def _patiently(repository: Repository, arguments: Sequence[str], stdin: bytes) -> None:
    """Run a command that needs the index lock, waiting for whoever holds it."""
    end = time.monotonic() + PATIENCE
    while (output := repository.output(arguments, stdin)).code:
        if "index.lock" not in output.error or time.monotonic() > end:
            raise failure(arguments, output)
        time.sleep(0.02)


def _replace(path: str, data: bytes) -> None:
    """Replace a file as a whole, its permissions kept."""
    beside = f"{path}.kb-{os.getpid()}"
    with open(beside, "wb") as file:
        file.write(data)
    os.chmod(beside, os.stat(path).st_mode & 0o7777)
    os.replace(beside, path)
