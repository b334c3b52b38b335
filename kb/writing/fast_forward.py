"""Move the checked-out branch to another commit: records follow as ever, other files as git brings them.

What a person has staged, edited or left lying about stays theirs. Where that is in the way nothing moves at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import NeedsPerson
from kb.files import read_if_exists
from kb.git import worktree
from kb.git.git_log import diff_trees, read_objects, resolve_tree
from kb.git.repository import Head, RefMove
from kb.git.trees import patch_tree
from kb.git.worktree import Changes
from kb.i18n import msg
from kb.merge.rebase import is_content_file
from kb.records.record_paths import is_record_path
from kb.text.segment import one_line
from kb.writing.publish import publish_moves

if TYPE_CHECKING:
    from kb.workspace import Workspace


class Advance(NamedTuple):
    """The way from the checked-out commit to another, looked through and not yet gone."""

    head: Head
    new: str
    changes: Changes
    trees: tuple[str, str] | None = None
    """What git's own checkout has to follow: from the one tree to the other; None for nothing."""


def prepare_advance(kb: Workspace, head: Head, new: str, by_hand: str) -> Advance:
    """Look through the way from *head* to the commit *new*; raise NeedsPerson where something lies in it.

    *by_hand* is the command of git's with which a person goes it where kb cannot.
    """
    if head.oid == new:
        return Advance(head, new, {})
    repository = kb.repository
    before, after = resolve_tree(repository, head.oid), resolve_tree(repository, new)
    (found,) = diff_trees(repository, [(before, after)])
    own = [one for one in found if is_content_file(kb, one.name)]
    if strange := [one.name for one in own if not one.is_plain]:
        said = msg("{path} is no ordinary file", path=one_line(strange[0]))
        raise NeedsPerson(said, hint=msg("{command}", command=by_hand))
    blobs = read_objects(repository, [oid for one in own for oid in (one.old, one.new)])
    changes = {repository.to_kb_path(one.name): (blobs.get(one.old), blobs.get(one.new)) for one in own}
    _refuse_conflicts(kb, head, changes)
    trees = None
    if len(own) < len(found):
        trees = (before, _restore_files(kb, after, {one.name: blobs.get(one.old) for one in own}))
        _refuse_blocked_checkout(kb, trees)
    return Advance(head, new, changes, trees)


def build_advance(kb: Workspace, head: Head, files: Mapping[str, bytes | None], words: str) -> Advance:
    """Build the commit of *files* upon *head* and look through the way to it; nothing is to be seen yet."""
    with kb.state.open_stage() as stage:
        commit = kb.repository.build_commit(head.oid, files, words, stage=stage)
    return prepare_advance(kb, head, commit, "")


def _restore_files(kb: Workspace, tree: str, files: Mapping[str, bytes | None]) -> str:
    """Return *tree* with *files* as they were."""
    if not files:
        return tree
    with kb.state.open_stage() as stage:
        return patch_tree(kb.repository, tree, [files], stage)[-1]


def _refuse_conflicts(kb: Workspace, head: Head, changes: Changes) -> None:
    """Raise NeedsPerson where a person's uncommitted edits of a record touch the lines that change."""
    edited = [path for path, (before, _) in changes.items() if before is not None]
    staged = worktree.read_staged_files(kb.repository, head.oid, edited)
    for path, (before, now) in changes.items():
        mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
        if mine is None or mine == now:
            continue
        if before is None:
            said = msg("{path} is here and not committed, and comes from the remote too", path=path)
            raise NeedsPerson(said, hint=msg("move it away: git stash push --include-untracked {path}", path=path))
        is_touched = path in staged or mine.replace(b"\r\n", b"\n") != before.replace(b"\r\n", b"\n")
        if is_touched and (now is None or worktree.has_conflicting_edits(kb.repository, head.oid, path, before, now)):
            raise NeedsPerson(
                msg("{path} has changes on the same lines that are not committed", path=path),
                hint=msg("commit them first: git commit {path}", path=path),
            )


def _refuse_blocked_checkout(kb: Workspace, trees: tuple[str, str]) -> None:
    """Raise NeedsPerson where git would not let its own checkout follow."""
    kb.repository.git("update-index", "-q", "--refresh", check=False)  # it goes by the times of files
    output = kb.repository.run_git(["read-tree", "--dry-run", "-m", "-u", "--no-recurse-submodules", *trees])
    if output.code:
        lines = [line for line in output.error.splitlines() if line.strip()] or [f"exit {output.code}"]
        problem = lines[0].removeprefix("error: ").removeprefix("fatal: ")
        raise NeedsPerson(
            msg("what is not committed here is in the way: {problem}", problem=problem),
            hint=msg("commit it, or: git stash; then the same command again"),
        )


def apply_advance(kb: Workspace, advance: Advance, more: Sequence[RefMove], reason: str) -> dict[str, str]:
    """Move the branch and the refs of *more*, or none; return what became of the file of each record."""
    moves = [] if advance.head.oid == advance.new else [RefMove(advance.head.ref, advance.new, advance.head.oid)]
    if not moves and not more:
        return {}
    with _update_git_checkout(kb, advance):
        outcomes = publish_moves(kb, advance.head, [*moves, *more], advance.changes, reason)
    kb.index.reload_files(path for path in advance.changes if is_record_path(path))
    return outcomes


@contextlib.contextmanager
def _update_git_checkout(kb: Workspace, advance: Advance) -> Iterator[None]:
    """Let git bring what is not kb's, before the branch moves; back again where it does not move."""
    if advance.trees is None:
        yield
        return
    kb.repository.git("read-tree", "-m", "-u", "--no-recurse-submodules", *advance.trees)
    try:
        yield
    except BaseException:
        if kb.repository.resolve_ref(advance.head.ref) == advance.head.oid:
            kb.repository.run_git(["read-tree", "-m", "-u", "--no-recurse-submodules", *reversed(advance.trees)])
        raise
