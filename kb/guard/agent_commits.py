"""Find out what an agent's call has committed: by git's log of moves, and where that says nothing by the dates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kb.git.repository import Head
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.record_stamps import GONE

if TYPE_CHECKING:
    from kb.workspace import Workspace

_LOG = ("log", "--raw", "--no-abbrev", "--no-renames", "--no-show-signature", "-z",
        "--format=%x01%H %ct %at%x02%(trailers)%x02")  # fmt: skip
_MOVES = 400
"""Moves of HEAD that are looked at: so many commits no call makes."""
_BROUGHT = ("rebase", "pull", "cherry-pick")
"""How git says that it has brought a change to other commits, and maybe put two changes of one file together."""


def find_committed_changes(
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
    reasons = _map_move_reasons(moves, before)
    is_moved_by_kb = bool(moves) and moves[0][1].startswith("kb")  # as by a sync that gives commits new parents
    fresh = [one for one in made if reasons.get(one.oid, "").startswith("commit")
             or (min(one.when, one.written) >= start and not one.is_kbs)]  # fmt: skip
    older = [one for one in made if one not in fresh and not reasons.get(one.oid, "").startswith(_BROUGHT)
             and not (one.is_kbs and is_moved_by_kb)]  # fmt: skip
    if any(one.when < start for one in older):  # of a branch that was there before, or made to look so
        others = [f"--exclude={now.ref.removeprefix('refs/heads/')}", "--branches", "--tags"]
        alone = {one.oid for one in _iter_commits(kb, [*words, *others, "--", *paths])}
        older = [one for one in older if one.when >= start or one.oid in alone]
    if older:
        replaced = _list_unreachable_times(kb, before, now.oid)
        older = [one for one in older if one.written in replaced]
        contents = _collect_other_contents(kb, paths, {one.oid for one in older}) if older else set()
        older = [one._replace(rows=tuple(row for row in one.rows if row not in contents)) for one in older]
    return {row for one in (*fresh, *older) for row in one.rows}


def _read_head_reflog(kb: Workspace) -> list[tuple[str, str]]:
    """Return where HEAD has gone and why, as its log says, the last move first."""
    listed = kb.repository.git("log", "-g", "-n", str(_MOVES), "--format=%H %gs", "HEAD", check=False)
    rows = (row.partition(" ") for row in listed.decode("utf-8", "replace").splitlines())
    return [(oid, reason) for oid, _, reason in rows]


def _map_move_reasons(moves: Sequence[tuple[str, str]], since: str) -> dict[str, str]:
    """Return why HEAD came to each commit after *since*, whatever the commit says of itself."""
    end = next((at for at, (oid, _) in enumerate(moves) if oid == since), 0)
    return dict(moves[:end])  # of several the first, by which it was made


class _LoggedCommit(NamedTuple):
    oid: str
    when: int
    written: int
    """When its author wrote it; `--amend`, a rebase and `filter-branch` keep that."""
    is_kbs: bool
    rows: tuple[tuple[str, str], ...]


def _list_unreachable_times(kb: Workspace, before: str, now: str) -> set[int]:
    """Return when the commits were written that HEAD does not lead to any more: a rewritten one keeps that time.

    They are asked for whatever files they are about: what `filter-branch` puts into a commit was not in it before.
    """
    left = filter(None, (before, "--not", now))
    listed = kb.repository.git("log", "--format=%at", "-n", "5000", "--all", "--reflog", *left, check=False)
    return set(map(int, listed.split()))


def _collect_other_contents(kb: Workspace, paths: Sequence[str], without: set[str]) -> set[tuple[str, str]]:
    """Return path and content of what any other commit has put into *paths*, on whatever branch."""
    found = _iter_commits(kb, [*_LOG, "-n", "5000", "--all", "--reflog", "--", *paths])
    return {row for commit in found if commit.oid not in without for row in commit.rows}


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
