"""Apply the changes of one line of history to another: records by their content, other files by lines.

A record is followed if the other line has moved it. Conflicts are left to a person: the other line's version stays,
and ours is saved separately.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, GitFailed, NeedsPerson
from kb.git import revisions, worktree
from kb.git.git_process import build_git_error
from kb.git.objects import FileDifference, diff_commits, diff_trees, patch_tree, read_objects, resolve_tree
from kb.i18n import Message, msg
from kb.merge.merge_record import merge_record
from kb.merge.renumbering import IdRenaming, Key, RenumberedRecord, parse_front_values, resolve_renaming
from kb.records import record_file
from kb.records.kinds import CONTENT, PROJECT_FILE, is_record_path

if TYPE_CHECKING:
    from kb.workspace import Workspace


_NO_DRIVER = ("-c", "merge.kb.driver=true")
"""Records are merged in this process; git's merge of them is discarded."""


class MergedTree(NamedTuple):
    """A merge that is not committed yet."""

    tree: str
    conflicts: tuple[str, ...] = ()
    """The files that only a person can merge, from the top of the repository."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    removed: tuple[Message, ...] = ()


def merge_commits(
    kb: Workspace,
    keeps: str,
    gives: str,
    labels: tuple[str, str],
    *,
    elsewhere: Mapping[Key, str] = {},
    unseen: Collection[Key] = (),
) -> MergedTree:
    """Merge the commit *gives* into the commit *keeps*, whose records keep their numbers.

    Raise NeedsPerson if the two have no common ancestor.
    """
    base = revisions.find_merge_base(kb, keeps, gives)
    if not base:
        raise build_unrelated_error(kb, labels[0])
    repository = kb.repository
    tree = resolve_tree(repository, keeps)
    mine = diff_commits(repository, base, gives)
    records = [one for one in mine if is_content_file(kb, one.name)]
    if strange := [one.name for one in records if not one.is_plain]:
        return MergedTree("", tuple(strange))
    blobs = read_objects(repository, [oid for one in records for oid in (one.old, one.new)])
    renaming = resolve_renaming(kb, base=base, there=keeps, ours=gives, elsewhere=elsewhere, unseen=unseen)
    rebase = Rebase(kb, keeps, renaming, labels)
    rebase.prefetch_files(repository.to_kb_path(one.name) for one in records)
    changes = rebase.apply_commit(records, blobs)
    conflicts = [repository.to_git_path(path) for path in rebase.unmerged]
    merged = tree
    if any(not is_content_file(kb, one.name) for one in mine):
        merged, more = _run_merge_tree(kb, keeps, gives)
        conflicts += [name for name in more if not is_content_file(kb, name)]
    if not conflicts:
        merged = _replace_content(kb, merged, tree, changes)
    return MergedTree(merged, tuple(dict.fromkeys(conflicts)), tuple(renaming.renumbered), tuple(rebase.removed))


def is_content_file(kb: Workspace, name: str) -> bool:
    """Return whether kb itself writes and merges the file *name*, a path from the top of the repository."""
    return name.startswith(kb.repository.to_git_path(f"{CONTENT}/"))


def build_unrelated_error(kb: Workspace, name: str) -> NeedsPerson:
    """Return the error that two lines have no common ancestor."""
    hint = msg(
        "if the clone is shallow: git fetch --unshallow; else: git merge --allow-unrelated-histories {name}", name=name
    )
    return NeedsPerson(msg("{name} and this branch have no commit in common", name=name), hint=hint)


def _run_merge_tree(kb: Workspace, keeps: str, gives: str) -> tuple[str, list[str]]:
    """Return git's merged tree of two commits, and the files with conflicts."""
    options = ["--write-tree", "-z", "--name-only", "--no-messages"]
    output = kb.repository.run_git([*_NO_DRIVER, "merge-tree", *options, keeps, gives])
    if output.code > 1:
        raise build_git_error(["merge-tree"], output)
    tree, *names = output.out.decode("utf-8", "surrogateescape").split("\0")
    return tree.strip(), [name for name in names if name]


def _replace_content(kb: Workspace, tree: str, keeps: str, changes: Mapping[str, bytes | None]) -> str:
    """Return *tree* with the content of the tree *keeps* and the *changes* to it."""
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


class FileStep(NamedTuple):
    """The change of one file in one commit; None for a missing version."""

    old: str
    """The path before."""
    path: str
    before: bytes | None
    now: bytes | None


class UnmergedFile(NamedTuple):
    """A file with a conflict between both lines."""

    path: str
    """On the other line."""
    base: bytes | None
    """The version from which our line started."""
    ours: bytes | None
    """The version of our line."""
    reasons: tuple[Message, ...] = ()


class Rebase:
    """The files of a commit, to which changes are applied step by step."""

    def __init__(self, kb: Workspace, tip: str, renaming: IdRenaming, labels: tuple[str, str]) -> None:
        """Begin with the files of the commit *tip*; *labels* name it and the line that is applied to it."""
        self._kb = kb
        self._tip = tip
        self._renaming = renaming
        self._labels = labels
        self._files: dict[str, bytes | None] = {}
        self.unmerged: dict[str, UnmergedFile] = {}
        self.removed: list[Message] = []
        """Text that one line removed and the other left unchanged."""

    def prefetch_files(self, paths: Iterable[str]) -> None:
        """Read the files that will be needed, with one git process."""
        wanted = sorted({self._renaming.map_path(path) for path in paths} - self._files.keys())
        self._files.update(self._kb.repository.read_files(self._tip, wanted))

    def read_content(self, path: str) -> bytes | None:
        """Return the current content of the file *path*."""
        if path not in self._files:
            self._files[path] = self._kb.repository.read_blob(self._tip, path)
        return self._files[path]

    def apply_commit(
        self, differences: Sequence[FileDifference], blobs: Mapping[str, bytes]
    ) -> dict[str, bytes | None]:
        """Apply the changes of one commit to the current files; return the changed files."""
        changed: dict[str, bytes | None] = {}
        renaming = self._renaming
        for old, path, before, now in _list_steps(self._kb, differences, blobs):
            before, now = before and renaming.map_text(old, before), now and renaming.map_text(path, now)
            step = FileStep(renaming.map_path(old), renaming.map_path(path), before, now)
            changes = self._apply_step(step)
            self._files.update(changes)
            changed.update(changes)
        return changed

    def _apply_step(self, step: FileStep) -> dict[str, bytes | None]:
        there = self.read_content(step.old)
        if step.old != step.path and there is None:
            if self.read_content(step.path) is None:
                return self._note_unmerged(step, msg("one side has removed it, the other has moved it"))
            return self._apply_step(step._replace(old=step.path))
        if step.old != step.path:
            changes = self._apply_merge(step, there or b"") if there != step.before else {step.path: step.now}
            return {**changes, step.old: None} if step.path in changes else {}
        # the other line has not changed it, or already has our version
        if there in (step.before, step.now):
            return {} if there == step.now else {step.path: step.now}
        if there is None or step.now is None:
            return self._note_unmerged(step, msg("one side has removed it, the other has changed it"))
        return self._apply_merge(step, there)

    def _note_unmerged(self, step: FileStep, *reasons: Message) -> dict[str, bytes | None]:
        """Record our version of a file that conflicts with the other line's."""
        known = self.unmerged.get(step.old, UnmergedFile(step.old, step.before, step.now, reasons))
        self.unmerged[step.old] = known._replace(ours=step.now)
        return {}

    def _apply_merge(self, step: FileStep, there: bytes) -> dict[str, bytes | None]:
        """Merge *there* with our version; record it if that fails."""
        assert step.now is not None
        now: bytes | None
        if is_record_path(step.path):
            found = merge_record(step.before, there, step.now, path=step.path, labels=self._labels)
            if found.conflicts:
                return self._note_unmerged(step, *(conflict.said for conflict in found.conflicts))
            now = found.data
            self.removed += [msg("{path}: {problem}", path=step.path, problem=said) for said in found.removed]
            if known := self.unmerged.get(step.old):
                self.unmerged[step.old] = known._replace(ours=step.now)
        else:
            now = _merge_project_marks(there, step.now) if step.path.endswith(f"/{PROJECT_FILE}") else None
            now = now or worktree.merge_file_versions(self._kb.repository, there, step.before or b"", step.now)
        if now is None:
            return self._note_unmerged(step)
        return {} if now == there and step.old == step.path else {step.path: now}


def _list_steps(kb: Workspace, differences: Sequence[FileDifference], blobs: Mapping[str, bytes]) -> list[FileStep]:
    """Return the changes of a commit by file; a record removed and added under another name was moved."""
    own = kb.repository.to_kb_path
    all_steps = [FileStep(own(d.name), own(d.name), blobs.get(d.old), blobs.get(d.new)) for d in differences]
    # a removed D004-cache.md and an added D007-cache.md are one record, renumbered
    gone = {uid: step for step in all_steps if step.now is None and (uid := _read_uid(step.path, step.before))}
    come = {uid: step for step in all_steps if step.before is None and (uid := _read_uid(step.path, step.now))}
    moved = [FileStep(gone[u].path, come[u].path, gone[u].before, come[u].now) for u in gone.keys() & come.keys()]
    paths = {path for step in moved for path in (step.old, step.path)}
    return [*moved, *(step for step in all_steps if step.path not in paths)]


def _read_uid(path: str, data: bytes | None) -> str:
    return str(parse_front_values(data, path).get("uid") or "") if data is not None and is_record_path(path) else ""


def _merge_project_marks(one: bytes, other: bytes) -> bytes | None:
    """Merge two versions of the file that identifies a project: keep all identities of both."""
    try:
        owners = [str(owner) for data in (one, other) for owner in json.loads(data)["identity"]]
    except (ValueError, KeyError, TypeError):
        return None
    return json.dumps({"identity": list(dict.fromkeys(owners))}, indent=1).encode() + b"\n"


def merge_preferring_ours(kb: Workspace, one: UnmergedFile, there: bytes) -> bytes | None:
    """Return *there* with our changes, preferring ours in conflicts; None if ours was deleted.

    If the result is not a valid record, return our version.
    """
    if one.ours is None or not is_record_path(one.path):
        return None
    try:
        merged = worktree.merge_file_versions(kb.repository, there, one.base or b"", one.ours, prefer_other=True)
        record_file.read(merged or b"", one.path)
    except (BadRecord, GitFailed):
        return one.ours
    return merged
