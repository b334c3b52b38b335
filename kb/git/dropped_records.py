"""Restore in git's index what kb has published and a git command has dropped from it.

`git stash push -- PATH` and `git merge` read the index before they lock it. If kb publishes in between, they write the
old index back, and the next `git commit` deletes the new record or reverts its change. So kb remembers its recent
commits and compares them whenever git's index has changed since kb last saw it.

A path is restored only if the index has its version from before kb published it, and the checkout has the committed
version. A person's `git rm`, `git add` and `git checkout OLD -- PATH` do not look like that. `git rm --cached` of a
file that stays does; so kb restores a path once per published version, and says so. A second removal is respected, and
reported by `kb check` and `kb doctor`.

If the person has committed before kb was called again, kb commits the path again, by the same rule. It does the same if
the checkout never had what was published because the publishing process ended before writing it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Mapping, Sequence

from kb.errors import KbError
from kb.files import read_if_exists
from kb.git import worktree
from kb.git.objects import diff_trees, is_ancestor, read_objects
from kb.git.repository import Head, LockWaitCancelled
from kb.git.worktree import read_index_stamp
from kb.i18n import Message, msg
from kb.records.kinds import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_PUBLISHED, _SEEN, _SUSPECT = "published", "index seen", "index suspect"
_UNSEEN, _ONCE, _UNTOLD = "undone unseen", "put back", "put back untold"
"""Notes. Published commits, as JSON [[old, new, seconds, paths or null], …]; the stamp of git's index when it was last
compared; whether it then lacked something, so that a commit may lack it too; paths a person committed in their old
version because the checkout did not have the new one yet, [[path, object before, object published, commit], …]; the
restored paths, [[path, object], …]; those of them not yet reported to anybody."""
_WATCH_SECONDS = 86_400
"""Seconds for which a commit is remembered: a git command that is suspended, or waits for an editor, ends within it."""
_MAX_REMEMBERED = 256
"""Maximum number of remembered commits and paths."""


class PublishedPath(NamedTuple):
    """What kb recently published for a path."""

    before: frozenset[str]
    """The objects it had before each of those commits; "" if it did not exist."""
    last: str
    """The object it has since the last of them."""
    commit: str
    """The last of those commits."""


def remember_published(kb: Workspace, old: str, new: str, paths: Collection[str] | None = None) -> None:
    """Remember that kb has published the commit *new* on top of *old*, unless already remembered.

    *paths* are the files it changed; pass None, or more than are remembered, to read them from git.
    """
    now, rows = int(kb.now()), _load_note(kb, _PUBLISHED)
    if all(row[:2] != [old, new] for row in rows):
        rows = [row for row in rows if 0 <= now - row[2] < _WATCH_SECONDS]
        few = sorted(paths) if paths is not None and len(paths) <= _MAX_REMEMBERED else None
        kb.index.set_note(_PUBLISHED, json.dumps([*rows, [old, new, now, few]][-_MAX_REMEMBERED:]))


def note_undone_paths(kb: Workspace, owed: Mapping[str, str], new: str, head: str) -> None:
    """Note which of the paths *owed*, published as *new* but not yet in the checkout, *head* has reverted."""
    if not is_ancestor(kb.repository, new, head):
        return
    paths = sorted(owed)
    published, now = (_read_oids(kb, commit, paths) for commit in (new, head))
    before = {old: _read_oids(kb, old, paths) for old in set(owed.values())}
    rows = [[path, now[path], published[path], new] for path in paths if now[path] == before[owed[path]][path]]
    undone = [row for row in rows if row[1] != row[2]]
    if undone:
        kb.index.set_note(_UNSEEN, json.dumps([*_load_note(kb, _UNSEEN), *undone][-_MAX_REMEMBERED:]))


def is_index_unchanged(kb: Workspace) -> bool:
    """Return whether git's index is unchanged since the last comparison."""
    return kb.index.get_note(_SEEN) == read_index_stamp(kb.repository)


def mark_index_compared(kb: Workspace, stamp: str) -> None:
    """Note that the index with *stamp* lacked nothing that was published."""
    kb.index.set_note(_SEEN, stamp)


def put_back(kb: Workspace) -> list[str]:
    """Restore what git's index has dropped, and return the paths; call it under the lock of the repository."""
    stamp, published = read_index_stamp(kb.repository), _load_note(kb, _PUBLISHED)
    if not published or kb.index.get_note(_SEEN) == stamp:
        return []
    if os.path.exists(os.path.join(kb.repository.git_dir, "index.lock")):
        return []  # a git command is running; the next call checks again
    # after almost every `git add` and `git commit` by a person the index has the latest published version of each
    # file; then this costs a single git process
    where = kb.repository.to_git_path(CONTENT)
    output = kb.repository.run_git(["diff-index", "--cached", "--name-only", "-z", published[-1][1], "--", where])
    if not output.code and not _can_be_published(kb, output.out, published):
        mark_index_compared(kb, stamp)
        return []
    kb.index.set_note(_SUSPECT, "1")
    head = kb.repository.head()
    found = _find_dropped(kb, published, head)
    if found:
        with worktree.hold_index(kb.repository) as update:
            # compared without git's lock: somebody may have changed the index or the branch since
            if (read_index_stamp(kb.repository), kb.repository.head()) != (stamp, head):
                return []
            update.reset_index_paths({path: is_clean for path, (_, is_clean) in found.items()}, head.oid)
        stamp = update.stamp
        note_put_back(kb, [(path, committed) for path, (committed, _) in found.items()])
    mark_index_compared(kb, stamp)
    return list(found)


def put_back_if_free(kb: Workspace) -> None:
    """Do the same in a read-only call: do not wait for locks, and leave what fails to a later call."""
    if is_index_unchanged(kb) or not _load_note(kb, _PUBLISHED):
        return
    with contextlib.suppress(LockWaitCancelled, KbError, OSError), kb.repository.hold_lock(should_cancel=lambda: True):
        put_back(kb)


def find_undone_changes(kb: Workspace) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the published changes that the checked-out commit has reverted: path → content there and as published.

    Only if git's index agrees with that commit, and the checkout still has the published file, or its previous version
    if it never had the published one.
    """
    unseen = {path: PublishedPath(frozenset({old}), new, commit) for path, old, new, commit in _load_note(kb, _UNSEEN)}
    if not kb.index.get_note(_SUSPECT) and not unseen:
        return {}
    published, head = _load_note(kb, _PUBLISHED), kb.repository.head()
    changed = {**(_collect_published_paths(kb, published) if published and head.oid else {}), **unseen}
    differing = _list_index_differences(kb, head) if changed else {}
    committed = _read_oids(kb, head.oid, sorted(changed.keys() - differing.keys()))
    once = {tuple(row) for row in _load_note(kb, _ONCE)}
    undone = [
        path
        for path, oid in committed.items()
        if oid in changed[path].before - {changed[path].last} and (path, changed[path].last) not in once
    ]
    texts = read_objects(kb.repository, [oid for path in undone for oid in (committed[path], changed[path].last)])
    found: dict[str, tuple[bytes | None, bytes | None]] = {}
    for path in undone:
        there, now = texts.get(committed[path]), texts.get(changed[path].last)
        is_here = _has_committed_content(kb, path, now) or (path in unseen and _has_committed_content(kb, path, there))
        if is_here and is_ancestor(kb.repository, changed[path].commit, head.oid):
            found[path] = (there, now)
    return found


def forget_undone(kb: Workspace) -> None:
    """Forget the noted reverts once they were checked and committed again."""
    for note in (_SUSPECT, _UNSEEN):
        if kb.index.get_note(note):
            kb.index.set_note(note, "")


def note_put_back(kb: Workspace, rows: Sequence[Sequence[str]]) -> None:
    """Note that each (path, object) of *rows* was restored, so that it is reported and not restored again."""
    for note, new in ((_ONCE, [list(row[:2]) for row in rows]), (_UNTOLD, [row[0] for row in rows])):
        kb.index.set_note(note, json.dumps([*_load_note(kb, note), *new][-_MAX_REMEMBERED:]))


def report_put_back(kb: Workspace) -> Message | None:
    """Return the message about paths restored since the last report, or None."""
    paths = _load_note(kb, _UNTOLD)
    if not paths:
        return None
    kb.index.set_note(_UNTOLD, "")
    return msg(
        "a git command that ran at the same time had dropped {paths} from git's index; it is restored",
        paths=list(map(str, paths)),
    )


def list_still_dropped(kb: Workspace) -> list[str]:
    """Return the record files that the checkout has as committed and git's index has not."""
    try:
        rows = _list_index_differences(kb, kb.repository.head())
    except KbError:
        return []
    texts = read_objects(kb.repository, [committed for committed, _ in rows.values()])
    return [path for path, (oid, _) in rows.items() if oid and _has_committed_content(kb, path, texts[oid])]


def _can_be_published(kb: Workspace, names: bytes, published: Sequence[Sequence[Any]]) -> bool:
    """Return whether one of the files *names* (NUL-terminated) may be among those kb recently *published*."""
    paths = {kb.repository.to_kb_path(os.fsdecode(name)) for name in names.split(b"\0")[:-1]}
    return any(row[3:] in ([], [None]) or not paths.isdisjoint(row[3]) for row in published) if paths else False


def _find_dropped(kb: Workspace, published: Sequence[Sequence[str]], head: Head) -> dict[str, tuple[str, bool]]:
    """Return what to restore: path → the object in *head*, and whether the checkout has it."""
    differing = _list_index_differences(kb, head)
    if not differing:
        return {}
    changed = _collect_published_paths(kb, published)
    once = {tuple(row) for row in _load_note(kb, _ONCE)}
    rows = {
        path: (committed, indexed)
        for path, (committed, indexed) in differing.items()
        if path in changed and indexed in changed[path].before and (path, committed) not in once
    }
    texts = read_objects(kb.repository, [committed for committed, _ in rows.values()])
    dropped: dict[str, tuple[str, bool]] = {}
    for path, (committed, indexed) in rows.items():
        is_clean = _has_committed_content(kb, path, texts.get(committed))
        # a file missing in the index is restored even if its owner has edited it: the edit stays in the checkout
        if is_clean or (not indexed and os.path.exists(os.path.join(kb.root, *path.split("/")))):
            dropped[path] = (committed, is_clean)
    return dropped


def _list_index_differences(kb: Workspace, head: Head) -> dict[str, tuple[str, str]]:
    """Return the knowledge base's files that differ between git's index and *head*, with both objects or ""."""
    rows = worktree.diff_index(kb.repository, head.oid, [CONTENT]) if head.oid else {}
    return {
        path: (committed if committed.strip("0") else "", indexed if indexed.strip("0") else "")
        for path, (_, _, committed, indexed, letter) in rows.items()
        if letter in "AMDT"  # U: an unresolved merge
    }


def _collect_published_paths(kb: Workspace, published: Sequence[Sequence[str]]) -> dict[str, PublishedPath]:
    """Return the history of each path that the *published* commits have changed."""
    commits = list(dict.fromkeys(oid for old, new, *_ in published for oid in (old, new) if oid))
    asked = "".join(f"{oid}^{{tree}}\n" for oid in commits).encode()
    answers = kb.repository.git("cat-file", "--batch-check", stdin=asked).decode().splitlines()
    # `git gc` may have removed a commit: skip it
    trees = {oid: row.split(" ")[0] for oid, row in zip(commits, answers, strict=True) if not row.endswith(" missing")}
    trees[""] = kb.repository.compute_oid(b"tree", b"")
    rows = [row for row in published if row[0] in trees and row[1] in trees]
    published_paths: dict[str, PublishedPath] = {}
    some = diff_trees(kb.repository, [(trees[old], trees[new]) for old, new, *_ in rows])
    for (_, commit, *_), changes in zip(rows, some, strict=True):
        for one in changes:
            path = kb.repository.to_kb_path(one.name)
            before = published_paths[path].before if path in published_paths else frozenset()
            published_paths[path] = PublishedPath(before | {one.old}, one.new, commit)
    return {path: one for path, one in published_paths.items() if path.startswith(CONTENT + "/")}


def _read_oids(kb: Workspace, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the object of each of *paths* in *commit*, or ""."""
    if not paths:
        return {}
    return {**dict.fromkeys(paths, ""), **kb.repository.list_files(commit, *paths)}


def _has_committed_content(kb: Workspace, path: str, committed: bytes | None) -> bool:
    """Return whether the file *path* in the checkout has the content *committed*; None means no file."""
    return worktree.is_same_text(read_if_exists(os.path.join(kb.root, *path.split("/"))), committed)


def _load_note(kb: Workspace, note: str) -> list[Any]:
    return list(json.loads(kb.index.get_note(note) or "[]"))
