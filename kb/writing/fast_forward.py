"""Move the checked-out branch to another commit: records follow as ever, other files as git brings them.

What a person has staged, edited or left lying about stays theirs. Where that is in the way nothing moves at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import NeedsPerson
from kb.files import content
from kb.git import worktree
from kb.git.git_log import differences, objects, tree_of
from kb.git.repository import Head, Move
from kb.git.trees import patched
from kb.git.worktree import Changes
from kb.i18n import msg
from kb.merge.merge_commits import is_content
from kb.records.record_paths import is_record
from kb.text.segment import one_line
from kb.writing.publish import publish

if TYPE_CHECKING:
    from kb.workspace import Workspace


class Advance(NamedTuple):
    """The way from the checked-out commit to another, looked through and not yet gone."""

    head: Head
    new: str
    changes: Changes
    trees: tuple[str, str] | None = None
    """What git's own checkout has to follow: from the one tree to the other; None for nothing."""


def prepared(kb: Workspace, head: Head, new: str, by_hand: str) -> Advance:
    """Look through the way from *head* to the commit *new*; raise NeedsPerson where something lies in it.

    *by_hand* is the command of git's with which a person goes it where kb cannot.
    """
    if head.oid == new:
        return Advance(head, new, {})
    repository = kb.repository
    before, after = tree_of(repository, head.oid), tree_of(repository, new)
    (found,) = differences(repository, [(before, after)])
    own = [one for one in found if is_content(kb, one.name)]
    if strange := [one.name for one in own if not one.is_plain]:
        said = msg("{path} is no ordinary file", path=one_line(strange[0]))
        raise NeedsPerson(said, hint=msg("{command}", command=by_hand))
    blobs = objects(repository, [oid for one in own for oid in (one.old, one.new)])
    changes = {repository.own(one.name): (blobs.get(one.old), blobs.get(one.new)) for one in own}
    _refuse_clashes(kb, head, changes)
    trees = None
    if len(own) < len(found):
        trees = (before, _without(kb, after, {one.name: blobs.get(one.old) for one in own}))
        _refuse_in_the_way(kb, trees)
    return Advance(head, new, changes, trees)


def built(kb: Workspace, head: Head, files: Mapping[str, bytes | None], words: str) -> Advance:
    """Build the commit of *files* upon *head* and look through the way to it; nothing is to be seen yet."""
    with kb.state.stage() as stage:
        commit = kb.repository.build(head.oid, files, words, stage=stage)
    return prepared(kb, head, commit, "")


def _without(kb: Workspace, tree: str, files: Mapping[str, bytes | None]) -> str:
    """Return *tree* with *files* as they were."""
    if not files:
        return tree
    with kb.state.stage() as stage:
        return patched(kb.repository, tree, [files], stage)[-1]


def _refuse_clashes(kb: Workspace, head: Head, changes: Changes) -> None:
    """Raise NeedsPerson where a person's uncommitted edits of a record touch the lines that change."""
    edited = [path for path, (before, _) in changes.items() if before is not None]
    staged = worktree.staged(kb.repository, head.oid, edited)
    for path, (before, now) in changes.items():
        mine = content(os.path.join(kb.root, *path.split("/")))
        if mine is None or mine == now:
            continue
        if before is None:
            said = msg("{path} is here and not committed, and comes from the remote too", path=path)
            raise NeedsPerson(said, hint=msg("move it away: git stash push --include-untracked {path}", path=path))
        is_touched = path in staged or mine.replace(b"\r\n", b"\n") != before.replace(b"\r\n", b"\n")
        if is_touched and (now is None or worktree.clashes(kb.repository, head.oid, path, before, now)):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=path),
                hint=msg("commit them first: git commit {path}", path=path),
            )


def _refuse_in_the_way(kb: Workspace, trees: tuple[str, str]) -> None:
    """Raise NeedsPerson where git would not let its own checkout follow."""
    kb.repository.git("update-index", "-q", "--refresh", check=False)  # it goes by the times of files
    output = kb.repository.output(["read-tree", "--dry-run", "-m", "-u", "--no-recurse-submodules", *trees])
    if output.code:
        lines = [line for line in output.error.splitlines() if line.strip()] or [f"exit {output.code}"]
        problem = lines[0].removeprefix("error: ").removeprefix("fatal: ")
        raise NeedsPerson(
            msg("what is not committed here is in the way: {problem}", problem=problem),
            hint=msg("commit it, or: git stash; then the same command again"),
        )


def go(kb: Workspace, advance: Advance, more: Sequence[Move], reason: str) -> dict[str, str]:
    """Move the branch and the refs of *more*, or none; return what became of the file of each record."""
    moves = [] if advance.head.oid == advance.new else [Move(advance.head.ref, advance.new, advance.head.oid)]
    if not moves and not more:
        return {}
    with _followed_by_git(kb, advance):
        outcomes = publish(kb, advance.head, [*moves, *more], advance.changes, reason)
    kb.index.reread(path for path in advance.changes if is_record(path))
    return outcomes


@contextlib.contextmanager
def _followed_by_git(kb: Workspace, advance: Advance) -> Iterator[None]:
    """Let git bring what is not kb's, before the branch moves; back again where it does not move."""
    if advance.trees is None:
        yield
        return
    kb.repository.git("read-tree", "-m", "-u", "--no-recurse-submodules", *advance.trees)
    try:
        yield
    except BaseException:
        if kb.repository.ref(advance.head.ref) == advance.head.oid:
            kb.repository.output(["read-tree", "-m", "-u", "--no-recurse-submodules", *reversed(advance.trees)])
        raise
