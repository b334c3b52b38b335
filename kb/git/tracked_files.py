"""The files of a project, whichever repository keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.errors import Busy, GitFailed
from kb.git.repository import Repository

if TYPE_CHECKING:
    from kb.workspace import Workspace


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
