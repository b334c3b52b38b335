"""What git says of lines of history: where two parted, what each changed of the records, which branches are open."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, GitFailed
from kb.git.git_process import build_git_error, is_inconclusive
from kb.i18n import Message, msg
from kb.records import record_file
from kb.records.model import Record
from kb.records.record_paths import CONTENT, REVIEWS, is_record_path

if TYPE_CHECKING:
    from kb.workspace import Workspace

MOST_BRANCHES = 200
"""Open branches that are looked at, the youngest ones: each costs a question to git."""

_DIFF = ("diff", "-z", "--no-renames", "--no-relative", "--ignore-submodules=all")


class DivergedHistory(NamedTuple):
    """Two lines of history: HEAD and another."""

    tip: str
    """The commit at the end of the other."""
    head: str
    base: str
    """The commit in which they parted."""
    fork: str
    """The commit in which the work began: before *base* where HEAD is the merge of both, as a host checks it out."""


class Branch(NamedTuple):
    """A branch with the commit it stands at."""

    name: str
    """Without `refs/heads/` or `refs/remotes/`."""
    tip: str


# -- two lines ------------------------------------------------------------------------------------


def find_divergence(kb: Workspace, revision: str) -> DivergedHistory:
    """Return where HEAD and *revision* parted; raise GitFailed naming the next step where git cannot tell."""
    head, tip = resolve_commit(kb, "HEAD"), resolve_commit(kb, revision)
    if not head:
        raise GitFailed(msg("nothing is committed here yet"), hint=msg("commit first, then compare"))
    if not tip:
        said = msg("git does not know {revision} here", revision=revision)
        raise GitFailed(said, hint=_explain_missing(kb, msg("list them: git branch --all")))
    base = find_merge_base(kb, tip, head)
    if not base:
        said = msg("git finds no commit that {revision} and HEAD have in common", revision=revision)
        raise GitFailed(said, hint=_explain_missing(kb, msg("name the branch that this one came from")))
    return DivergedHistory(tip, head, base, _find_fork(kb, tip, base))


def _find_fork(kb: Workspace, tip: str, base: str) -> str:
    parents = [resolve_commit(kb, "HEAD^1"), resolve_commit(kb, "HEAD^2")]
    # CI checks out the merge of the pull request: HEAD^1 is the trunk, HEAD^2 is the work, or the other way round
    work = next((parent for parent in parents if parent != base), "") if base in parents else ""
    return (find_merge_base(kb, tip, work) if work else "") or base


def _explain_missing(kb: Workspace, otherwise: Message) -> Message:
    if os.path.exists(os.path.join(kb.repository.common_dir, "shallow")):
        return msg("the clone is shallow; in CI set fetch-depth: 0 (GitLab: GIT_DEPTH: 0), else: git fetch --unshallow")
    return otherwise


def resolve_commit(kb: Workspace, revision: str) -> str:
    """Return the commit that *revision* names, or ""."""
    return _read_git_line(kb, "rev-parse", "-q", "--verify", f"{revision}^{{commit}}")


def find_merge_base(kb: Workspace, one: str, other: str) -> str:
    """Return the commit in which two commits parted, or ""; raise GitFailed where git could not look.

    Taken for none, a base that could not be read would make one side's removals come back.
    """
    output = kb.repository.run_git(["merge-base", one, other])
    if one and other and is_inconclusive(output):
        raise build_git_error(["merge-base"], output)
    return "" if output.code else output.out.decode("utf-8", "replace").strip()


def _read_git_line(kb: Workspace, *arguments: str) -> str:
    output = kb.repository.run_git(arguments)
    return "" if output.code else output.out.decode("utf-8", "replace").strip()


def find_merge_sides(kb: Workspace) -> tuple[str, str] | None:
    """Return both sides of the merge that is going on, or of the one that HEAD is; None for neither."""
    going_on = resolve_commit(kb, "MERGE_HEAD")
    if going_on:
        return resolve_commit(kb, "HEAD"), going_on
    theirs = resolve_commit(kb, "HEAD^2")
    return (resolve_commit(kb, "HEAD^1"), theirs) if theirs else None


# -- what changed ---------------------------------------------------------------------------------


def list_changed_records(kb: Workspace, commit: str) -> set[str]:
    """Return the record files that the checkout does not have as *commit* has them, those unknown to git included."""
    content = kb.repository.to_git_path(CONTENT)
    unknown = kb.repository.git("ls-files", "-o", "-z", "--exclude-standard", "--", content)
    return _parse_record_paths(kb, kb.repository.git(*_DIFF, "--name-only", commit, "--", content) + unknown)


def list_differing_records(kb: Workspace, one: str, other: str) -> set[str]:
    """Return the record files in which two commits differ."""
    content = kb.repository.to_git_path(CONTENT)
    return _parse_record_paths(kb, kb.repository.git(*_DIFF, "--name-only", one, other, "--", content))


def _parse_record_paths(kb: Workspace, names: bytes) -> set[str]:
    return set(filter(is_record_path, map(kb.repository.to_kb_path, os.fsdecode(names).split("\0"))))


def list_own_changes(kb: Workspace, trunk: str, tip: str) -> set[str] | None:
    """Return the record files that *tip* has added or edited since it left *trunk*; None where git cannot tell."""
    content = kb.repository.to_git_path(CONTENT)
    output = kb.repository.run_git([*_DIFF, "--name-only", "--diff-filter=AM", f"{trunk}...{tip}", "--", content])
    return None if output.code else _parse_record_paths(kb, output.out)


def read_records_at(kb: Workspace, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Record]:
    """Return the record in each (commit, path) of *wanted* that can be read there."""
    asked = sorted(wanted)
    found: dict[tuple[str, str], Record] = {}
    for (commit, path), data in zip(asked, kb.repository.read_blobs(asked), strict=True):
        try:
            if data is not None:
                found[commit, path] = record_file.read(data, path)
        except BadRecord:
            continue
    return found


# -- branches -------------------------------------------------------------------------------------


def list_open_branches(kb: Workspace, lines: DivergedHistory, revision: str) -> list[Branch]:
    """Return the branches that may be merged too, the youngest first: open reviews, and what stands at the remote.

    What is in HEAD or in the other line, and what the checked-out branch is pushed to, is left out.
    """
    full = _read_git_line(kb, "rev-parse", "-q", "--verify", "--symbolic-full-name", revision)
    remote = full.split("/")[2] if full.startswith("refs/remotes/") else "origin"
    own: tuple[str, ...] = ()
    if checked_out := kb.repository.head().ref:
        upstream = _read_git_line(kb, "for-each-ref", "--format=%(upstream)", checked_out)
        own = (upstream, f"refs/remotes/{remote}/{checked_out.removeprefix('refs/heads/')}")
    merged = [f"--no-merged={commit}" for commit in (lines.head, lines.tip)]
    form = "--format=%(refname)%00%(objectname)%00%(symref)"
    where = (REVIEWS.rstrip("/"), f"refs/remotes/{remote}")
    rows = kb.repository.git("for-each-ref", "--sort=-committerdate", form, *merged, *where).decode("utf-8", "replace")
    found: dict[str, Branch] = {}
    for ref, tip, target in (row.split("\0") for row in rows.splitlines()):
        name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        if not target and ref not in own and (tip not in found or ref.startswith(REVIEWS)):
            found[tip] = Branch(name, tip)
    return list(found.values())
