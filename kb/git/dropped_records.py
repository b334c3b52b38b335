"""Put back into git's index what kb has published and a git command has dropped from it.

`git stash push -- PATH` and `git merge` read the index before they lock it. When kb publishes between the two, they
write the index back as it was before, and the next `git commit` deletes the record, or undoes what was added to it. So
kb remembers what it has published lately and compares, whenever git's index is not as kb left it.

A path is put back only where the index has it exactly as it was before kb published it, and the checkout has it as it
is committed: a person's `git rm`, `git add` and `git checkout OLD -- PATH` look different. `git rm --cached` of a file
that stays looks the same; so a path is put back once for each published version, and kb says so. Taking it out a second
time is respected, and named by `kb check` and `kb doctor`.

Where the person has committed before kb was called again, kb commits the path again, by the same rule. It does the same
where the checkout never had what was published, as the process that published it ended before it was written there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence

from kb.errors import KbError
from kb.files import read_if_exists
from kb.git import worktree
from kb.git.git_log import diff_trees, is_ancestor, read_objects
from kb.git.repository import Head, LockWaitCancelled
from kb.git.worktree import read_index_stamp
from kb.i18n import Message, msg
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_PUBLISHED, _SEEN, _SUSPECT, _UNSEEN, _ONCE, _UNTOLD = (
    "published", "index seen", "index suspect", "undone unseen", "put back", "put back untold",
)  # fmt: skip
"""Notes: commits that kb has published, as JSON [[old, new, seconds], …]; the stamp of git's index when it was last
compared; whether it then lacked something, so that a commit may have, too; what a person has committed as it was before
because the checkout did not have it yet, [[path, object before, object published, commit], …]; what was put back,
[[path, object], …]; the paths of it that nobody has been told of yet."""
_WATCHED = 86_400
"""Seconds for which a commit is remembered: a git command that was stopped, or waits for an editor, ends within it."""
_MOST = 256
"""Commits and paths that are remembered at most."""


class IndexDifference(NamedTuple):
    """A path that git's index has otherwise than the commit that is checked out."""

    path: str
    committed: str
    """The object in the commit; "" where there is none."""
    indexed: str


class PublishedPath(NamedTuple):
    """What kb has published of a path lately."""

    before: frozenset[str]
    """The objects it had before each of those commits; "" for none."""
    last: str
    """The object it has had since the last of them."""
    commit: str
    """The last of them."""


def remember_published(kb: Workspace, old: str, new: str) -> None:
    """Remember that kb has published the commit *new* upon *old*, and let git's index follow."""
    now = int(kb.now())
    rows = [row for row in _load_note(kb, _PUBLISHED) if 0 <= now - row[2] < _WATCHED]
    kb.index.set_note(_PUBLISHED, json.dumps([*rows, [old, new, now]][-_MOST:]))


def remember_published_once(kb: Workspace, old: str, new: str) -> None:
    """Remember the same where the process that published it ended before that was kept."""
    if not any(row[:2] == [old, new] for row in _load_note(kb, _PUBLISHED)):
        remember_published(kb, old, new)


def note_undone_paths(kb: Workspace, owed: Mapping[str, str], new: str, head: str) -> None:
    """Note which of the paths *owed*, published as *new* and not yet in the checkout, the commit *head* has undone."""
    if not is_ancestor(kb.repository, new, head):
        return
    paths = sorted(owed)
    published, now = (_read_oids(kb, commit, paths) for commit in (new, head))
    before = {old: _read_oids(kb, old, paths) for old in set(owed.values())}
    rows = [[path, now[path], published[path], new] for path in paths if now[path] == before[owed[path]][path]]
    undone = [row for row in rows if row[1] != row[2]]
    if undone:
        kb.index.set_note(_UNSEEN, json.dumps([*_load_note(kb, _UNSEEN), *undone][-_MOST:]))


def is_index_unchanged(kb: Workspace) -> bool:
    """Return whether git's index is as it was when it was last compared."""
    return kb.index.get_note(_SEEN) == read_index_stamp(kb.repository)


def mark_index_compared(kb: Workspace, stamp: str) -> None:
    """Note that nothing published was missing in git's index of *stamp*."""
    kb.index.set_note(_SEEN, stamp)


def put_back(kb: Workspace) -> list[str]:
    """Put back what git's index has dropped, and return the paths; to be called under the lock of the repository."""
    stamp, published = read_index_stamp(kb.repository), _load_note(kb, _PUBLISHED)
    if not published or kb.index.get_note(_SEEN) == stamp:
        return []
    if os.path.exists(os.path.join(kb.repository.git_dir, "index.lock")):
        return []  # git is at it; the next call looks again
    if _has_all_published(kb, published[-1][1]):
        mark_index_compared(kb, stamp)
        return []
    kb.index.set_note(_SUSPECT, "1")
    head = kb.repository.head()
    found = list(_iter_dropped(kb, published, head))
    if found:
        with worktree.hold_index(kb.repository) as update:
            # looked at without git's lock: somebody may have changed the index or the branch since
            if (read_index_stamp(kb.repository), kb.repository.head()) != (stamp, head):
                return []
            update.reset_index_paths({row.path: is_clean for row, is_clean in found}, head.oid)
        stamp = update.stamp
        note_put_back(kb, [row for row, _ in found])
    mark_index_compared(kb, stamp)
    return [row.path for row, _ in found]


def _has_all_published(kb: Workspace, commit: str) -> bool:
    """Return whether git's index has every file of the knowledge base as *commit*, the last that kb published.

    That is so after almost every `git add` and `git commit` of a person's; then one git process is all this costs.
    """
    where = kb.repository.to_git_path(CONTENT)
    output = kb.repository.run_git(["diff-index", "--cached", "--name-only", "-z", commit, "--", where])
    return not output.code and not output.out


def put_back_if_free(kb: Workspace) -> None:
    """Do the same for a call that only reads: nothing is waited for, and a later call does what this one cannot."""
    if is_index_unchanged(kb) or not _load_note(kb, _PUBLISHED):
        return
    with contextlib.suppress(LockWaitCancelled, KbError, OSError), kb.repository.hold_lock(given_up=lambda: True):
        put_back(kb)


def find_undone_changes(kb: Workspace) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return what the commit that is checked out has undone of what was published: path → content there and published.

    Only where git's index agrees with that commit, and the checkout still has the file as it was published, or as it
    was before, where it never had what was published.
    """
    unseen = {path: PublishedPath(frozenset({old}), new, commit) for path, old, new, commit in _load_note(kb, _UNSEEN)}
    if not kb.index.get_note(_SUSPECT) and not unseen:
        return {}
    published, head = _load_note(kb, _PUBLISHED), kb.repository.head()
    changed = {**(_collect_published_paths(kb, published) if published and head.oid else {}), **unseen}
    differing = {row.path for row in _iter_index_differences(kb, head)} if changed else set()
    committed = _read_oids(kb, head.oid, sorted(changed.keys() - differing))
    once = {tuple(row) for row in _load_note(kb, _ONCE)}
    undone = {
        path: one
        for path, one in changed.items()
        if path not in differing and committed[path] in one.before - {one.last} and (path, one.last) not in once
    }
    texts = read_objects(kb.repository, [oid for path, one in undone.items() for oid in (committed[path], one.last)])
    contents = {path: (texts.get(committed[path]), texts.get(one.last)) for path, one in undone.items()}
    return {
        path: (there, now)
        for path, (there, now) in contents.items()
        if (_has_committed_content(kb, path, now) or (path in unseen and _has_committed_content(kb, path, there)))
        and is_ancestor(kb.repository, undone[path].commit, head.oid)
    }


def forget_undone(kb: Workspace) -> None:
    """Forget what a commit may have undone, once that was looked at and committed again."""
    for note in (_SUSPECT, _UNSEEN):
        if kb.index.get_note(note):
            kb.index.set_note(note, "")


def note_put_back(kb: Workspace, rows: Sequence[Sequence[str]]) -> None:
    """Note that each (path, object) of *rows* was put back, so that it is told, and not done again."""
    for note, new in ((_ONCE, [list(row[:2]) for row in rows]), (_UNTOLD, [row[0] for row in rows])):
        kb.index.set_note(note, json.dumps([*_load_note(kb, note), *new][-_MOST:]))


def report_put_back(kb: Workspace) -> Message | None:
    """Return what to tell a person of paths that were put back since this was last asked; None for nothing."""
    paths = _load_note(kb, _UNTOLD)
    if not paths:
        return None
    kb.index.set_note(_UNTOLD, "")
    return msg(
        "a git command that ran beside kb had dropped {paths} from git's index; it is back there",
        paths=", ".join(map(str, paths)),
    )


def list_still_dropped(kb: Workspace) -> list[str]:
    """Return the record files that the checkout has as they are committed, and git's index has not."""
    try:
        head = kb.repository.head()
        rows = list(_iter_index_differences(kb, head))
    except KbError:
        return []
    texts = read_objects(kb.repository, [row.committed for row in rows])
    return [row.path for row in rows if row.committed and _has_committed_content(kb, row.path, texts[row.committed])]


def _iter_dropped(
    kb: Workspace, published: Sequence[Sequence[str]], head: Head
) -> Iterator[tuple[IndexDifference, bool]]:
    """Yield what is to be put back, each path with whether the checkout has it as it is committed."""
    differing = list(_iter_index_differences(kb, head))
    changed = _collect_published_paths(kb, published) if differing else {}
    once = {tuple(row) for row in _load_note(kb, _ONCE)} if differing else set()
    rows = [
        row
        for row in differing
        if row.path in changed and row.indexed in changed[row.path].before and row[:2] not in once
    ]
    texts = read_objects(kb.repository, [row.committed for row in rows])
    for row in rows:
        is_as_committed = _has_committed_content(kb, row.path, texts.get(row.committed))
        # a file that the index lacks is put back even where its owner has edited it: the edit stays in the checkout
        if is_as_committed or (not row.indexed and os.path.exists(os.path.join(kb.root, *row.path.split("/")))):
            yield row, is_as_committed


def _iter_index_differences(kb: Workspace, head: Head) -> Iterator[IndexDifference]:
    """Yield the files of the knowledge base that git's index has otherwise than *head*."""
    if not head.oid:
        return
    where = kb.repository.to_git_path(CONTENT)
    words = iter(os.fsdecode(kb.repository.git("diff-index", "--cached", "-z", head.oid, "--", where)).split("\0")[:-1])
    for meta, name in zip(words, words, strict=True):
        _, _, committed, indexed, letter = meta.split(" ")
        if letter in "AMDT":
            yield IndexDifference(kb.repository.to_kb_path(name), _normalise_oid(committed), _normalise_oid(indexed))


def _normalise_oid(oid: str) -> str:
    return oid if oid.strip("0") else ""


def _collect_published_paths(kb: Workspace, published: Sequence[Sequence[str]]) -> dict[str, PublishedPath]:
    """Return what became of each path that the commits *published* have changed."""
    trees = _read_tree_oids(kb, published)
    rows = [row for row in published if row[0] in trees and row[1] in trees]
    found: dict[str, PublishedPath] = {}
    some = diff_trees(kb.repository, [(trees[old], trees[new]) for old, new, _ in rows])
    for (_, commit, _), changes in zip(rows, some, strict=True):
        for one in changes:
            path = kb.repository.to_kb_path(one.name)
            before = found[path].before if path in found else frozenset()
            found[path] = PublishedPath(before | {one.old}, one.new, commit)
    return {path: one for path, one in found.items() if path.startswith(CONTENT + "/")}


def _read_oids(kb: Workspace, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the object of each of *paths* in *commit*; "" for one that is not there."""
    if not paths:
        return {}
    rows = kb.repository.git("ls-tree", "-z", "--full-tree", commit, "--", *map(kb.repository.to_git_path, paths))
    found = (row.split("\t", 1) for row in os.fsdecode(rows).split("\0") if row)
    return {**dict.fromkeys(paths, ""), **{kb.repository.to_kb_path(name): meta.split()[2] for meta, name in found}}


def _read_tree_oids(kb: Workspace, published: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return the tree of each commit that is still there; "" has the empty one."""
    commits = list(dict.fromkeys(oid for old, new, _ in published for oid in (old, new) if oid))
    asked = "".join(f"{oid}^{{tree}}\n" for oid in commits).encode()
    rows = kb.repository.git("cat-file", "--batch-check", stdin=asked).decode().splitlines()
    found = {oid: row.split(" ")[0] for oid, row in zip(commits, rows, strict=True) if not row.endswith(" missing")}
    return {"": kb.repository.compute_oid(b"tree", b""), **found}


def _has_committed_content(kb: Workspace, path: str, committed: bytes | None) -> bool:
    """Return whether the checkout has the file *path* as it is *committed*; None: not at all."""
    mine = read_if_exists(os.path.join(kb.root, *path.split("/")))
    if mine is None or committed is None:
        return mine is committed
    return mine.replace(b"\r\n", b"\n") == committed.replace(b"\r\n", b"\n")


def _load_note(kb: Workspace, note: str) -> list[Any]:
    return list(json.loads(kb.index.get_note(note) or "[]"))
