"""What a person waits for: history of a file, with GitPython. The hook path never comes here."""

import datetime
from typing import NamedTuple

from kb.store.git.repository import Repository


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
    """Return the commits that touched *path*, oldest first, through renames of its slug."""
    import git

    with git.Repo(repository.top, search_parent_directories=False) as repo:
        commits = (
            list(repo.iter_commits("HEAD", paths=repository.full(path), max_count=limit))
            if repo.head.is_valid()
            else []
        )
        return [_change(commit) for commit in reversed(commits)]


def patches(repository: Repository, path: str, limit: int = 50) -> str:
    """Return the log of *path* with its patches, newest first, as git prints it."""
    import git

    with git.Repo(repository.top) as repo:
        text: str = repo.git.log(
            "--follow", "-p", f"-{limit}", "--no-color", "--no-ext-diff", "--", repository.full(path)
        )
        return text


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
