"""Replay a line of kb's own commits upon another tip: same author, date and words, new parents.

A commit whose changes are there already is left out; a merge keeps its other parents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.git.git_log import Commit, FileDifference, diff_trees, is_ancestor, read_objects, resolve_tree
from kb.git.trees import patch_tree
from kb.i18n import Message
from kb.merge.rebase import Rebase, UnmergedFile
from kb.merge.renumbering import IdRenaming, RenumberedRecord
from kb.records.record_paths import is_record_path

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SHOWN = 20
"""Characters of a title by which a message is known to speak of a record; it may be cut off after more."""


class CommitLine(NamedTuple):
    """Commits, one after the other, with what each of them changed."""

    commits: Sequence[Commit]
    changes: Sequence[Sequence[FileDifference]]
    blobs: Mapping[str, bytes]

    def read_added_records(self, kb: Workspace) -> dict[str, bytes]:
        """Return the record files that the line has added, each as it was first."""
        found: dict[str, bytes] = {}
        for one in (one for changes in self.changes for one in changes):
            path = kb.repository.to_kb_path(one.name)
            if one.new and not one.old and is_record_path(path):
                found.setdefault(path, self.blobs[one.new])
        return found

    def is_written_by_kb(self, kb: Workspace) -> bool:
        """Return whether kb wrote all of it, and nothing but ordinary files of the knowledge base."""
        inside = kb.repository.prefix
        return all(commit.operation and commit.parents for commit in self.commits) and all(
            one.is_plain and one.name.startswith(inside) for changes in self.changes for one in changes
        )


class ReplayResult(NamedTuple):
    """A line on its new place."""

    tip: str
    made: int
    """How many commits it has there."""
    unmerged: Mapping[str, UnmergedFile]
    told: Sequence[Message] = ()


def load_commit_line(kb: Workspace, commits: Sequence[Commit]) -> CommitLine:
    """Return *commits*, each the first parent of the next, with what they changed."""
    repository = kb.repository
    above = [resolve_tree(repository, commits[0].parents[0] if commits[0].parents else "")] if commits else []
    trees = [*above, *(commit.tree for commit in commits)]
    changes = diff_trees(repository, list(pairwise(trees)))
    plain = [one for some in changes for one in some if one.is_plain]
    return CommitLine(commits, changes, read_objects(repository, [oid for one in plain for oid in (one.old, one.new)]))


def replay_commits(
    kb: Workspace, line: CommitLine, tip: str, renaming: IdRenaming, renumbered: Sequence[RenumberedRecord],
    labels: tuple[str, str],
) -> ReplayResult:  # fmt: skip
    """Build the commits of *line* upon the commit *tip*; nothing is visible yet."""
    upon = Rebase(kb, tip, renaming, labels)
    upon.prefetch_files(kb.repository.to_kb_path(one.name) for changes in line.changes for one in changes)
    pairs = zip(line.commits, line.changes, strict=True)
    steps = [(commit, upon.apply_commit(changes, line.blobs)) for commit, changes in pairs]
    kept = [step for step in steps if step[1] or _has_new_parents(kb, step[0], tip)]
    for (commit, changes), tree in zip(kept, _build_trees(kb, tip, [changes for _, changes in kept]), strict=True):
        words = _update_message(commit.message, renaming, [one for one in renumbered if one.path in changes])
        tip = kb.repository.commit_tree(tree, [tip, *commit.parents[1:]], words, by=commit.build_identity_environment())
    return ReplayResult(tip, len(kept), upon.unmerged, upon.told)


def _has_new_parents(kb: Workspace, commit: Commit, tip: str) -> bool:
    """Return whether a merge brings commits that *tip* has not."""
    return any(not is_ancestor(kb.repository, parent, tip) for parent in commit.parents[1:])


def _build_trees(kb: Workspace, tip: str, steps: Sequence[Mapping[str, bytes | None]]) -> list[str]:
    """Return the tree of *tip* after each of *steps*."""
    files = [{kb.repository.to_git_path(path): data for path, data in changes.items()} for changes in steps]
    with kb.state.open_stage() as stage:
        made = iter(patch_tree(kb.repository, tip, [some for some in files if some], stage))
    found: list[str] = []
    for some in files:
        found.append(next(made) if some else found[-1] if found else resolve_tree(kb.repository, tip))
    return found


def _update_message(words: str, renaming: IdRenaming, renumbered: Sequence[RenumberedRecord]) -> str:
    """Return what a commit says, with the numbers that its records have now."""
    for one in renumbered:
        title = one.title[:_SHOWN]
        words = words.replace(f"[{one.old}] {title}", f"[{one.new}] {title}")
    return renaming.map_message(words)
