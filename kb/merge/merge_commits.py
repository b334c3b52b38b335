"""Merge two lines of history: records by their meaning, everything else as git merges it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import GitFailed, NeedsPerson
from kb.git import revisions
from kb.git.git_log import diff_trees, read_objects, resolve_tree
from kb.git.trees import patch_tree
from kb.i18n import Message, msg
from kb.merge.id_collisions import IdCollisions
from kb.merge.rebase import Rebase
from kb.merge.renumbering import Key, RenumberedRecord
from kb.records.record_paths import CONTENT

if TYPE_CHECKING:
    from kb.workspace import Workspace

_NO_DRIVER = ("-c", "merge.kb.driver=true")
"""Records are merged here, in this process; what git makes of them is thrown away."""


class MergedTree(NamedTuple):
    """A merge that is not yet a commit."""

    tree: str
    conflicts: tuple[str, ...] = ()
    """The files that only a person can merge, from the top of the repository."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    told: tuple[Message, ...] = ()


def merge_commits(
    kb: Workspace, keeps: str, gives: str, labels: tuple[str, str], *,
    elsewhere: Mapping[Key, str] = {}, unseen: Collection[Key] = (),
) -> MergedTree:  # fmt: skip
    """Merge the commit *gives* into the commit *keeps*, whose records keep their numbers.

    Raise NeedsPerson where the two have no commit in common.
    """
    base = revisions.find_merge_base(kb, keeps, gives)
    if not base:
        raise build_unrelated_error(kb, labels[0])
    repository = kb.repository
    before, tree, ours = (resolve_tree(repository, commit) for commit in (base, keeps, gives))
    (mine,) = diff_trees(repository, [(before, ours)])
    records = [one for one in mine if is_content_file(kb, one.name)]
    if strange := [one.name for one in records if not one.is_plain]:
        return MergedTree("", tuple(strange))
    blobs = read_objects(repository, [oid for one in records for oid in (one.old, one.new)])
    collisions = IdCollisions(kb, base=base, there=keeps, ours=gives, elsewhere=elsewhere, unseen=unseen)
    upon = Rebase(kb, keeps, collisions.resolve_renaming(), labels)
    upon.prefetch_files(repository.to_kb_path(one.name) for one in records)
    changes = upon.apply_commit(records, blobs)
    conflicts = [repository.to_git_path(path) for path in upon.unmerged]
    merged = tree
    if any(not is_content_file(kb, one.name) for one in mine):
        merged, more = _run_merge_tree(kb, keeps, gives)
        conflicts += [name for name in more if not is_content_file(kb, name)]
    if not conflicts:
        merged = _replace_content(kb, merged, tree, changes)
    return MergedTree(merged, tuple(dict.fromkeys(conflicts)), tuple(collisions.renumbered), tuple(upon.told))


def is_content_file(kb: Workspace, name: str) -> bool:
    """Return whether the file *name*, from the top of the repository, is one that kb writes and merges itself."""
    return name.startswith(kb.repository.to_git_path(f"{CONTENT}/"))


def build_unrelated_error(kb: Workspace, name: str) -> NeedsPerson:
    """Return what to say where two lines have no commit in common."""
    return NeedsPerson(
        msg("{name} and this branch have no commit in common", name=name),
        hint=msg("if the clone is shallow: git fetch --unshallow; else: git merge --allow-unrelated-histories {name}",
                 name=name),
    )  # fmt: skip


def _run_merge_tree(kb: Workspace, keeps: str, gives: str) -> tuple[str, list[str]]:
    """Return the tree that git makes of two commits, and the files that conflict."""
    options = ["--write-tree", "-z", "--name-only", "--no-messages"]
    output = kb.repository.run_git([*_NO_DRIVER, "merge-tree", *options, keeps, gives])
    if output.code > 1:
        problem = output.error.strip()
        raise GitFailed(msg("git {command} failed: {problem}", command="merge-tree", problem=problem))
    tree, *names = output.out.decode("utf-8", "surrogateescape").split("\0")
    return tree.strip(), [name for name in names if name]


def _replace_content(kb: Workspace, tree: str, keeps: str, changes: Mapping[str, bytes | None]) -> str:
    """Return *tree* with the content of the tree *keeps* and *changes* upon it."""
    repository = kb.repository
    (apart,) = diff_trees(repository, [(tree, keeps)])
    back = [one for one in apart if is_content_file(kb, one.name)]
    data = read_objects(repository, [one.new for one in back])
    files: dict[str, bytes | None] = {one.name: data.get(one.new) for one in back}
    files |= {repository.to_git_path(path): content for path, content in changes.items()}
    if not files:
        return tree
    with kb.state.open_stage() as stage:
        return patch_tree(repository, tree, [files], stage)[-1]
