"""Find out who changed the files that only kb writes: an agent's call, a person, git or kb.

What the call has committed is found by git's log of the moves of HEAD, and where that says nothing by the dates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kb.git.git_log import is_ancestor
from kb.git.repository import UNDER_WAY, Head
from kb.guard.outside_changes import COPIED, LEFT, OutsideChange, SnapshotDiff, has_copy, read_content, read_tree_oids
from kb.records.record_paths import CONTENT
from kb.startup.hashes import sha256
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.project import load_kb_edits
from kb.state.record_stamps import GONE

if TYPE_CHECKING:
    from kb.workspace import Workspace

_LOG = ("log", "--raw", "--no-abbrev", "--no-renames", "--no-show-signature", "-z",
        "--format=%x01%H %ct %at%x02%(trailers)%x02")  # fmt: skip
_MOST_PATHS = 400
_MOST_MOVES = 400
"""Moves of HEAD that are looked at: so many commits no call makes."""
_MOST_COMMITS = "5000"
_BROUGHT = ("rebase", "pull", "cherry-pick")
"""How git says that it has brought a change to other commits, and maybe put two changes of one file together."""


class AttributedChanges(NamedTuple):
    """What an agent's call has done."""

    edits: tuple[OutsideChange, ...] = ()
    """Changed outside kb."""
    discarded: tuple[OutsideChange, ...] = ()
    """A person's text that no commit has, and that git has put a committed one in the place of."""
    moved: tuple[OutsideChange, ...] = ()
    """Taken out of the checkout, or given another status, because another commit is checked out."""


class _LoggedCommit(NamedTuple):
    oid: str
    when: int
    written: int
    """When its author wrote it; `--amend`, a rebase and `filter-branch` keep that."""
    is_kbs: bool
    rows: tuple[tuple[str, str], ...]
    """Path and content of each file that it changed."""


def is_merge_in_progress(kb: Workspace) -> bool:
    """Return whether git is in the middle of bringing changes together: what it has then is not yet anybody's."""
    return any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in UNDER_WAY)


def attribute_changes(kb: Workspace, diff: SnapshotDiff, began: int, allowed: Sequence[str] = ()) -> AttributedChanges:
    """Return what the call that *began* then (nanoseconds) has done; what kb, a person or git has done is not in it."""
    head, paths = Head(diff.now.ref, diff.now.head), [change.path for change in diff.changes]
    has_moved = diff.before.head != head.oid
    known = read_tree_oids(kb, head, paths)
    earlier = read_tree_oids(kb, Head("", diff.before.head), paths) if has_moved else known
    is_same_branch = has_moved and diff.before.ref == diff.now.ref
    is_fast_forward = is_same_branch and is_ancestor(kb.repository, diff.before.head, diff.now.head)
    inside = [kb.repository.to_git_path(path) for path in paths if not os.path.isabs(path)]
    by_call: set[tuple[str, str]] = set()
    if has_moved and inside:
        by_call = _find_committed_changes(kb, diff.before.head, head, inside[:_MOST_PATHS], began)
    ours = load_kb_edits(kb)
    edits: list[OutsideChange] = []
    discarded: list[OutsideChange] = []
    moved: list[OutsideChange] = []
    for change in diff.changes:
        before = earlier.get(change.path, GONE)
        is_by_kb = change.data is not None and ours.get(change.path) == sha256(change.data).hexdigest()
        if change.path in allowed or is_by_kb:
            continue
        # a person's text that was away for a while, as with `git stash pop`; or what an agent had left
        if (change.after != GONE and has_copy(kb, change.after)) or change.mark == LEFT + change.after:
            continue
        # no commit has it, or one has that this call made
        if known.get(change.path, GONE) != change.after or (change.path, change.after) in by_call:
            edits.append(change)
        # a person's text that no commit had: `git checkout .` took it away
        elif change.mark == COPIED and change.before not in (GONE, before):
            (edits if change.after == GONE and not has_moved else discarded).append(change)
        # `git switch old`: a record that is accepted on the branch left behind is gone, or a draft, on this one
        elif has_moved and not is_fast_forward and change.before == before and _has_status_changed(kb, change):
            moved.append(change)
    return AttributedChanges(tuple(edits), tuple(discarded), tuple(moved))


def _has_status_changed(kb: Workspace, change: OutsideChange) -> bool:
    """Return whether a record is gone, or has another status than it had."""
    if change.before == GONE or not change.path.startswith(f"{CONTENT}/") or not change.path.endswith(".md"):
        return False
    if change.after == GONE:
        return True
    return _parse_status(read_content(kb, change.before)) != _parse_status(change.data)


def _parse_status(data: bytes | None) -> bytes:
    """Return what the front matter says of the status; b"" for a text that says nothing."""
    rows = (data or b"")[:64_000].split(b"\n---", 1)[0].split(b"\n")
    return next((row[7:].strip() for row in rows if row.startswith(b"status:")), b"")


# -- what was committed ------------------------------------------------------------------------------


def _find_committed_changes(
    kb: Workspace, before: str, now: Head, paths: Sequence[str], began: int
) -> set[tuple[str, str]]:
    """Return path and content of what has changed at *paths* by plain commits, not by kb, from *before* to *now*.

    They were made here and since *began* (nanoseconds). A merge brings what others have committed, and what was rebased
    was there before: only new content counts.
    """
    if not now.oid:
        return set()
    words = [*_LOG, now.oid, *([f"^{before}"] if before else []), "--not", "--remotes"]
    start = began // 10**9
    made = list(_iter_commits(kb, [*words, "--", *paths]))
    moves = _read_head_reflog(kb)
    since = next((at for at, (oid, _) in enumerate(moves) if oid == before), 0)
    reasons = dict(moves[:since])  # why HEAD came to each commit: of several the first, by which it was made
    is_moved_by_kb = bool(moves) and moves[0][1].startswith("kb")  # as by a sync that gives commits new parents
    fresh = [one for one in made if reasons.get(one.oid, "").startswith("commit")
             or (min(one.when, one.written) >= start and not one.is_kbs)]  # fmt: skip
    older = [one for one in made if one not in fresh and not reasons.get(one.oid, "").startswith(_BROUGHT)
             and not (one.is_kbs and is_moved_by_kb)]  # fmt: skip
    if any(one.when < start for one in older):  # of a branch that was there before, or made to look so
        others = [f"--exclude={now.ref.removeprefix('refs/heads/')}", "--branches", "--tags"]
        alone = {one.oid for one in _iter_commits(kb, [*words, *others, "--", *paths])}
        older = [one for one in older if one.when >= start or one.oid in alone]
    if older:  # a rewritten commit keeps the time of its author, so the old one is found by that
        replaced = _list_unreachable_times(kb, before, now.oid)
        older = [one for one in older if one.written in replaced]
        oids, others = {one.oid for one in older}, ["-n", _MOST_COMMITS, "--all", "--reflog", "--", *paths]
        found = _iter_commits(kb, [*_LOG, *others]) if older else ()
        contents = {row for commit in found if commit.oid not in oids for row in commit.rows}
        older = [one._replace(rows=tuple(row for row in one.rows if row not in contents)) for one in older]
    return {row for one in (*fresh, *older) for row in one.rows}


def _read_head_reflog(kb: Workspace) -> list[tuple[str, str]]:
    """Return where HEAD has gone and why, as its log says, the last move first."""
    listed = kb.repository.git("log", "-g", "-n", str(_MOST_MOVES), "--format=%H %gs", "HEAD", check=False)
    rows = (row.partition(" ") for row in listed.decode("utf-8", "replace").splitlines())
    return [(oid, reason) for oid, _, reason in rows]


def _list_unreachable_times(kb: Workspace, before: str, now: str) -> set[int]:
    """Return when the commits were written that HEAD does not lead to any more.

    They are asked for whatever files they are about: what `filter-branch` puts into a commit was not in it before.
    """
    left = filter(None, (before, "--not", now))
    listed = kb.repository.git("log", "--format=%at", "-n", _MOST_COMMITS, "--all", "--reflog", *left, check=False)
    return set(map(int, listed.split()))


def _iter_commits(kb: Workspace, words: Sequence[str]) -> Iterator[_LoggedCommit]:
    listed = os.fsdecode(kb.repository.git(*words, check=False))
    for part in listed.split("\x01")[1:]:
        about, trailers, rest = part.split("\x02", 2)
        oid, when, written = about.split()
        parts = [word for word in rest.replace("\n", "\0").split("\0") if word]
        rows = []
        for meta, name in zip(parts[::2], parts[1::2], strict=False):
            blob = meta.split(" ")[3] if meta.startswith(":") else ""
            rows.append((kb.repository.to_kb_path(name), GONE if not blob.strip("0") else blob))
        yield _LoggedCommit(oid, int(when), int(written), "Kb-" in trailers, tuple(rows))
