"""The files of a project as git knows them, and the history of one, which only a person waits for (GitPython)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import Busy, GitFailed
from kb.git.git_process import COMMANDS, CommandOutput, build_git_error
from kb.git.repository import Repository

if TYPE_CHECKING:
    import git

    from kb.workspace import Workspace


# -- which files there are ------------------------------------------------------------------------


def iter_files(top: str) -> Iterator[str]:
    """Yield the files below *top*, relative to it; hidden folders of tools are left out."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in (".git", ".kb", "node_modules", "__pycache__", ".venv")]
        inside = "" if folder == top else os.path.relpath(folder, top).replace(os.sep, "/") + "/"
        yield from (inside + name for name in names)


def list_tracked_files(kb: Workspace, top: str) -> list[str]:
    """Return the files of the project at *top* that git knows or would take, relative to it."""
    names = query_git(kb, top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [name for name in os.fsdecode(names).split("\0") if name] if names is not None else list(iter_files(top))


def query_git(kb: Workspace, top: str, *arguments: str) -> bytes | None:
    """Return what git says of the repository whose top is *top*; None where it is none, or git says no.

    The repository is any that work was done in: what its settings name is not run.
    """
    try:
        repository = Repository(top, kb.environment)
        output = repository.run_git(arguments) if repository.top == top else None
    except (GitFailed, Busy):
        return None
    return output.out if output and not output.code else None


# -- the history of a file ------------------------------------------------------------------------


class FileCommit(NamedTuple):
    """One commit that touched a file."""

    commit: str
    time: str
    """ISO 8601, with offset."""
    author: str
    subject: str
    operation: str
    """The `Kb-Op` trailer, or "" for a commit made by hand."""


def list_file_commits(repository: Repository, path: str, limit: int = 1000) -> list[FileCommit]:
    """Return the commits that touched *path*, under whatever slug it had then, oldest first."""
    if not repository.head().oid:
        return []
    with _open_gitpython(repository) as repo:
        names = _list_past_paths(repo, repository.to_git_path(path))
        rows = repo.git.log("--format=%H%x00%cI%x00%an%x00%B%x01", f"-{limit}", "--", *names).split("\x01")
        return [_parse_file_commit(*row.lstrip("\n").split("\0")) for row in reversed(rows[:-1])]


def read_patch_log(repository: Repository, path: str, limit: int = 50) -> str:
    """Return the log of *path* with its patches, newest first, as git prints it."""
    with _open_gitpython(repository) as repo:
        names = _list_past_paths(repo, repository.to_git_path(path))
        text: str = repo.git.log(*COMMANDS["log"], "-p", f"-{limit}", "--no-color", "--", *names)
        return text


@contextlib.contextmanager
def _open_gitpython(repository: Repository) -> Iterator[git.Repo]:
    """Lend *repository* as GitPython has it, with the environment all commands have; raise GitFailed."""
    import git

    try:
        with git.Repo(repository.top, search_parent_directories=False) as repo:
            repo.git.update_environment(**repository.guard.build_environment(["log"]))
            yield repo
    except git.GitCommandError as error:
        words = str(error.stderr).strip().removeprefix("stderr: '").removesuffix("'")
        raise build_git_error(["log"], CommandOutput(1, b"", words)) from None


def _list_past_paths(repo: git.Repo, path: str) -> list[str]:
    """Return all names *path* has had.

    git follows a new record to the one it resembles; only a name with the same folder and id is the same record.
    """
    before = repo.git.log("--follow", "--name-only", "--format=", "-z", "--", path).split("\0")
    folder, _, file = path.rpartition("/")
    record_id = file.partition("-")[0]
    same = (name for name in before if name.startswith(f"{folder}/{record_id}-"))
    return list(dict.fromkeys([path, *same]))


def _parse_file_commit(commit: str, time: str, author: str, message: str) -> FileCommit:
    from datetime import datetime

    lines = message.splitlines()
    trailers = dict(line.split(": ", 1) for line in lines if line.startswith("Kb-") and ": " in line)
    when = datetime.fromisoformat(time).isoformat()
    return FileCommit(commit, when, author, lines[0] if lines else "", trailers.get("Kb-Op", ""))
