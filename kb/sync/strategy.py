"""The way from the commit that is checked out to one that has everything of the remote's branch too."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import NeedsPerson
from kb.git import revisions
from kb.git.git_log import Commit, FileDifference, diff_trees, is_ancestor, list_commits, read_objects, resolve_tree
from kb.git.repository import RefMove, format_commit_message
from kb.git.trees import patch_tree
from kb.i18n import Message, msg
from kb.merge.id_collisions import IdCollisions, parse_front_values
from kb.merge.merge_commits import build_unrelated_error, merge_commits
from kb.merge.rebase import Rebase, UnmergedFile
from kb.merge.renumbering import IdRenaming, Key, RenumberedRecord, parse_file_key
from kb.records.record_paths import CONTENT, is_record_path
from kb.text.segment import one_line

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


REQUESTS = "kb/sync/"
"""What the branches begin with on which kb puts commits that the remote's branch does not take."""
_REQUEST = re.compile(r"refs/remotes/.*/kb/sync/.*|refs/kb/remotes/.*/sync/.*")
RESCUE = "refs/kb/rescue/"
"""What the refs begin with that keep a branch as it was; they are never sent."""
_NAMED = 5
"""Commits that are named where some go."""
FORWARD, REPLAYED, MERGED = "forward", "replayed", "merged"


class SyncPlan(NamedTuple):
    """Where the branch goes, and what becomes of our commits on the way."""

    new: str
    how: str = ""
    """One of FORWARD, REPLAYED and MERGED; "" where it stays."""
    made: int = 0
    """How many commits were replayed."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    unmerged: Mapping[str, UnmergedFile] = {}
    told: tuple[Message, ...] = ()


class Upstream(NamedTuple):
    """The remote's branch as it was fetched."""

    name: str
    """As git calls it here, such as origin/main; else the commit."""
    tip: str
    """"" where the remote has none."""
    last: str
    """Where it stood when it was last heard of; "" for never."""
    taken: Mapping[Key, str]
    """The published ids that stand on open reviews, with their uids."""


def plan_sync(kb: Workspace, ours: str, upstream: Upstream, unseen: Collection[Key]) -> SyncPlan:
    """Return the way from the commit *ours*; the ids *unseen* are known to nobody else, and leave no alias.

    Raise NeedsPerson where only a person can go on.
    """
    repository, tip = kb.repository, upstream.tip
    if tip:
        _refuse_rewritten(kb, ours, upstream)
    if not tip or (is_ancestor(repository, tip, ours) and not _has_taken_id(kb, ours, upstream)):
        return SyncPlan(ours)
    if is_ancestor(repository, ours, tip):
        return SyncPlan(tip, FORWARD)
    base = revisions.find_merge_base(kb, ours, tip)
    if not base:
        raise build_unrelated_error(kb, upstream.name)
    line = load_commit_line(kb, list_commits(repository, ours, tip))
    if not line.is_written_by_kb(kb) or _is_seen_elsewhere(kb, line):
        return _plan_merge(kb, ours, upstream, unseen)
    collisions = IdCollisions(kb, base=base, there=tip, ours=ours, elsewhere=upstream.taken, unseen=unseen)
    renaming = collisions.resolve_renaming(line.read_added_records(kb))
    done = replay_commits(kb, line, tip, renaming, collisions.renumbered, (upstream.name, "here"))
    return SyncPlan(done.tip, REPLAYED, done.made, tuple(collisions.renumbered), done.unmerged, tuple(done.told))


def _has_taken_id(kb: Workspace, ours: str, upstream: Upstream) -> bool:
    """Return whether what is new here has a number that stands on an open review of the remote."""
    if not upstream.taken or ours == upstream.tip:
        return False
    there = kb.repository.list_files(upstream.tip, CONTENT)
    keys = {path: parse_file_key(path) for path in kb.repository.list_files(ours, CONTENT) if path not in there}
    new = {path: upstream.taken[key] for path, key in keys.items() if key and key in upstream.taken}
    found = kb.repository.read_blobs([(ours, path) for path in new])
    return any(
        parse_front_values(data or b"", path).get("uid") != uid
        for (path, uid), data in zip(new.items(), found, strict=True)
    )


def _refuse_rewritten(kb: Workspace, ours: str, upstream: Upstream) -> None:
    """Raise NeedsPerson where commits that we have were taken out of the remote's branch.

    The command to go on drops them here as well: they are named, and a rescue ref keeps them.
    """
    repository, last = kb.repository, upstream.last
    if not last or is_ancestor(repository, last, upstream.tip) or not is_ancestor(repository, last, ours):
        return
    rescue = f"{RESCUE}rewritten-{ours[:12]}"
    if not repository.resolve_ref(rescue):
        repository.update_refs([RefMove(rescue, ours, "")], "kb: sync")
    gone = list_commits(repository, last, upstream.tip)[::-1]
    names = [f"{one.oid[:7]} {one_line(one.message.partition(chr(10))[0])}" for one in gone[:_NAMED]]
    names += [f"… (+{len(gone) - _NAMED})"] if len(gone) > _NAMED else []
    first = msg("{name} was rewritten: commits that this branch has from there are gone", name=upstream.name)
    more = msg(
        "the command below drops them here too: {commits}; {ref} keeps this branch as it is",
        commits=", ".join(names), ref=rescue,
    )  # fmt: skip
    raise NeedsPerson(
        msg("{message}; {more}", message=first, more=more),
        hint=msg("git rebase --onto {name} {commit}", name=upstream.name, commit=last[:12]),
    )


def _is_seen_elsewhere(kb: Workspace, line: CommitLine) -> bool:
    """Return whether somebody else may have commits of *line*: a remote has them on another branch."""
    refs = kb.repository.git(
        "for-each-ref", "--format=%(refname)", "--contains", line.commits[0].oid, "refs/remotes", "refs/kb/remotes"
    )
    return any(not _REQUEST.fullmatch(ref) for ref in refs.decode("utf-8", "replace").split())


def _plan_merge(kb: Workspace, ours: str, upstream: Upstream, unseen: Collection[Key]) -> SyncPlan:
    """Merge the two lines; a person's commits are never replayed."""
    labels = (upstream.name, "here")
    found = merge_commits(kb, upstream.tip, ours, labels, elsewhere=upstream.taken, unseen=unseen)
    if found.conflicts:
        paths = ", ".join(map(one_line, found.conflicts))
        raise NeedsPerson(
            msg("{name} and this branch both changed {paths}", name=upstream.name, paths=paths),
            hint=msg("git merge {branch}", branch=upstream.name),
        )
    words = format_commit_message(f"Merge {upstream.name}", "", {"Kb-Op": "sync"})
    theirs = [] if is_ancestor(kb.repository, upstream.tip, ours) else [upstream.tip]
    new = kb.repository.commit_tree(found.tree, [ours, *theirs], words)
    return SyncPlan(new, MERGED, 0, found.renumbered, {}, found.told)
