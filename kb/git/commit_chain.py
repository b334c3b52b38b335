"""Many commits, one upon the other, for the price of a few git processes.

git makes the first commit of each author, and what it wrote of author and committer stands in the others too: who they
are, and what their names may hold, is git's to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.errors import GitFailed
from kb.files import write_file
from kb.git.git_process import build_git_error
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.git.git_process import BackgroundCommand
    from kb.git.repository import CommitStep, Repository


class CommitChain:
    """Commits that come one after the other; those that git has not made itself are stored by `stored`."""

    def __init__(self, repository: Repository, parent: str, stage: str, signing: BackgroundCommand) -> None:
        """Begin on the commit *parent* ("" for none), with a folder to write in and the question whether to sign."""
        self._repository = repository
        self._signing = signing
        self._stage = stage
        self._tip = parent
        self._people: dict[frozenset[tuple[str, str]], bytes] = {}
        self._made: list[tuple[str, str]] = []
        self.commits: list[str] = []

    def add(self, tree: str, step: CommitStep) -> None:
        """Put a commit of *tree* on top."""
        people = self._people.get(frozenset(step.by.items()))
        if people is None or "\0" in step.message:
            self.store_pending()
            parents = [self._tip] if self._tip else []
            self._tip = self._repository.commit_tree(tree, parents, step.message, self._signing, step.by)
            self._remember_identity(step.by)
        else:
            self._tip = self._queue_commit(b"tree %b\nparent %b\n%b\n\n%b" % (
                tree.encode(), self._tip.encode(), people, step.message.encode()
            ))  # fmt: skip
        self.commits.append(self._tip)

    def _remember_identity(self, by: Mapping[str, str]) -> None:
        """Keep what git wrote of the people; with more in its head, such as a signature, every commit is git's."""
        head = self._repository.git("cat-file", "commit", self._tip).partition(b"\n\n")[0].split(b"\n")
        people = [line for line in head if line.startswith((b"author ", b"committer "))]
        if len(people) == 2 and all(
            line.startswith((b"tree ", b"parent ", b"author ", b"committer ")) for line in head
        ):
            self._people[frozenset(by.items())] = b"\n".join(people)

    def _queue_commit(self, data: bytes) -> str:
        path = os.path.join(self._stage, f".commit-{len(self.commits)}")
        write_file(path, data)
        self._made.append((path, self._repository.compute_oid(b"commit", data)))
        return self._made[-1][1]

    def store_pending(self) -> None:
        """Let git store what was put together since the last time."""
        if not self._made:
            return
        arguments = ["hash-object", "-t", "commit", "-w", "--no-filters", "--stdin-paths"]
        names = os.fsencode("".join(f"{os.path.relpath(path, self._repository.top)}\n" for path, _ in self._made))
        output = self._repository.run_git(arguments, names)
        if output.code:
            raise build_git_error(arguments, output)
        if output.out.decode().split() != [oid for _, oid in self._made]:
            raise GitFailed(msg("git stored other commits than were built"))
        self._made = []
