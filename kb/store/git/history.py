"""What a person waits for: history of a file, with GitPython. The hook path never comes here."""

import datetime
from typing import TYPE_CHECKING, NamedTuple

from kb.store.git.repository import Repository

if TYPE_CHECKING:
    import git


class Change(NamedTuple):
    """One commit that touched a file."""

    commit: str
    time: str
    """ISO 8601, with offset."""
    author: str
    subject: str
    operation: str
    """The `Kb-Op` trailer, or "" for a commit made by hand."""


def changes_of(repository: Repository, path: str, limit: int = 1000) -> list[Change]:
    """Return the commits that touched *path*, under whatever slug it had then, oldest first."""
    import git

    with git.Repo(repository.top, search_parent_directories=False) as repo:
        if not repo.head.is_valid():
            return []
        names = _names(repo, repository.full(path))
        return [_change(commit) for commit in reversed(list(repo.iter_commits("HEAD", paths=names, max_count=limit)))]


def patches(repository: Repository, path: str, limit: int = 50) -> str:
    """Return the log of *path* with its patches, newest first, as git prints it."""
    import git

    with git.Repo(repository.top, search_parent_directories=False) as repo:
        names = _names(repo, repository.full(path))
        text: str = repo.git.log("-p", f"-{limit}", "--no-color", "--no-ext-diff", "--", *names)
        return text


def _names(repo: "git.Repo", path: str) -> list[str]:
    """Return the pathspecs of all names *path* has had.

    git follows a new record to the one it resembles; only a name with the same folder and id is the same record.
    """
    before = repo.git.log("--follow", "--name-only", "--format=", "-z", "--", _literally(path)).split("\0")
    folder, _, file = path.rpartition("/")
    record_id = file.partition("-")[0]
    same = (name for name in before if name.startswith(f"{folder}/{record_id}-"))
    return [_literally(name) for name in dict.fromkeys([path, *same])]


def _literally(path: str) -> str:
    """Return the pathspec that means *path* and no pattern."""
    return f":(literal){path}"


def _change(commit: object) -> Change:
    from git.objects.commit import Commit

    assert isinstance(commit, Commit)
    text = commit.message if isinstance(commit.message, str) else commit.message.decode("utf-8", "replace")
    trailers = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith("Kb-") and ": " in line)
    when: datetime.datetime = commit.committed_datetime
    return Change(
        commit.hexsha,
        when.isoformat(),
        commit.author.name or "",
        text.splitlines()[0] if text else "",
        trailers.get("Kb-Op", ""),
    )
