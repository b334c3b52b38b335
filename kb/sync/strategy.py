"""Plan how the checked-out branch takes in a remote's: fast-forward, replay on top of it, or merge.

Only unpublished commits written by kb are replayed: same author, date and message, new parents. If a person's commit is
among them, the two lines of history are merged instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import GitFailed, NeedsPerson
from kb.files import json_bytes, read_if_exists, write_atomic
from kb.git import revisions
from kb.git.commit_message import format_commit_message
from kb.git.objects import (
    Commit,
    FileDifference,
    diff_trees,
    is_ancestor,
    list_commits,
    patch_tree,
    read_objects,
    resolve_tree,
)
from kb.git.remote import fetch_refs, read_remote_settings
from kb.git.repository import LostRace, RefMove, find_free_name
from kb.i18n import Message, msg
from kb.merge.rebase import Rebase, UnmergedFile, build_unrelated_error, merge_commits
from kb.merge.renumbering import IdRenaming, Key, RenumberedRecord, parse_file_key, parse_front_values, resolve_renaming
from kb.records.kinds import CONTENT, REJECTED, REVIEWS, USES, is_record_path
from kb.text.segment import one_line
from kb.writing.reviews import list_reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

REQUESTS = "kb/sync/"
"""Prefix of the branches for commits that the remote's branch refuses."""
RESCUE = "refs/kb/rescue/"
"""Prefix of the refs that keep a branch's previous tip; they are never pushed."""
FORWARD, REPLAYED, MERGED = "forward", "replayed", "merged"
_REQUEST_REF = re.compile(r"refs/remotes/.*/kb/sync/.*|refs/kb/remotes/.*/sync/.*")
_LISTED_COMMITS = 5
_TITLE_START = 20
"""Characters of a title by which a commit message is known to speak of a record; a subject may cut it off later."""


class Upstream(NamedTuple):
    """The remote's branch as it was fetched."""

    name: str
    """Its name in git, such as origin/main; else the commit."""
    tip: str
    """The tip, or "" if the remote has no such branch."""
    last: str
    """Its tip at the last sync, or ""."""
    taken: Mapping[Key, str]
    """The published ids on open reviews, with their uids."""


class SyncPlan(NamedTuple):
    """The new tip of a line of commits, and the changes to its records."""

    new: str
    how: str = ""
    """FORWARD, REPLAYED or MERGED; "" if the branch does not move."""
    made: int = 0
    """Number of replayed commits."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    unmerged: Mapping[str, UnmergedFile] = {}
    notes: tuple[Message, ...] = ()


class CommitLine(NamedTuple):
    """Commits, each the first parent of the next, with what each of them changed."""

    commits: Sequence[Commit]
    changes: Sequence[Sequence[FileDifference]]
    blobs: Mapping[str, bytes]

    def read_added_records(self, kb: Workspace) -> dict[str, bytes]:
        """Return the record files that the line has added, each in its first version."""
        found: dict[str, bytes] = {}
        for change in (change for changes in self.changes for change in changes):
            path = kb.repository.to_kb_path(change.name)
            if change.new and not change.old and is_record_path(path):
                found.setdefault(path, self.blobs[change.new])
        return found

    def is_written_by_kb(self, kb: Workspace) -> bool:
        """Return whether kb wrote all of it, in regular files of the knowledge base only."""
        return all(commit.operation and commit.parents for commit in self.commits) and all(
            change.is_plain and change.name.startswith(kb.repository.prefix)
            for changes in self.changes
            for change in changes
        )


def plan_sync(kb: Workspace, ours: str, upstream: Upstream, unseen: Collection[Key]) -> SyncPlan:
    """Plan the move from the commit *ours*; the ids *unseen* are unpublished, and leave no alias.

    Raise NeedsPerson if a person has to take the next step.
    """
    repository, tip = kb.repository, upstream.tip
    if tip:
        _refuse_rewritten(kb, ours, upstream)
    if not tip or (is_ancestor(repository, tip, ours) and not _has_taken_id(kb, ours, upstream)):
        return SyncPlan(ours)
    if is_ancestor(repository, ours, tip):
        return SyncPlan(tip, FORWARD)
    # also where the tip is behind us and a number that is new here was taken on a review meanwhile
    base = revisions.find_merge_base(kb, ours, tip)
    if not base:
        raise build_unrelated_error(kb, upstream.name)
    line = load_commit_line(kb, list_commits(repository, ours, tip))
    if not line.is_written_by_kb(kb) or _is_seen_elsewhere(kb, line):
        return _plan_merge(kb, ours, upstream, unseen)
    more = line.read_added_records(kb)
    renaming = resolve_renaming(kb, base=base, there=tip, ours=ours, elsewhere=upstream.taken, unseen=unseen, more=more)
    return replay_commits(kb, line, tip, renaming, (upstream.name, "here"))


def _refuse_rewritten(kb: Workspace, ours: str, upstream: Upstream) -> None:
    """Raise NeedsPerson if the remote's branch has dropped commits that we have.

    The suggested command drops them here too; the message names them, and a rescue ref keeps them.
    """
    repository, last = kb.repository, upstream.last
    if not last or is_ancestor(repository, last, upstream.tip) or not is_ancestor(repository, last, ours):
        return
    rescue = f"{RESCUE}rewritten-{ours[:12]}"
    if not repository.resolve_ref(rescue):
        repository.update_refs([RefMove(rescue, ours, "")], "kb: sync")
    gone = list_commits(repository, last, upstream.tip)[::-1]  # newest first
    names = [f"{commit.oid[:7]} {one_line(commit.message.partition(chr(10))[0])}" for commit in gone[:_LISTED_COMMITS]]
    names += [f"… (+{len(gone) - _LISTED_COMMITS})"] if len(gone) > _LISTED_COMMITS else []
    first = msg("{name} was rewritten: commits that this branch has from there are gone", name=upstream.name)
    values = {"commits": names, "ref": rescue}
    more = msg("the command below removes them here too: {commits}; {ref} keeps this branch as it was", **values)
    by_hand = msg("git rebase --onto {name} {commit}", name=upstream.name, commit=last[:12])
    raise NeedsPerson(msg("{message}; {more}", message=first, more=more), hint=by_hand)


def _has_taken_id(kb: Workspace, ours: str, upstream: Upstream) -> bool:
    """Return whether a new record here has the number of another record in an open review of the remote."""
    if not upstream.taken or ours == upstream.tip:
        return False
    there = kb.repository.list_files(upstream.tip, CONTENT)
    keys = {path: parse_file_key(path) for path in kb.repository.list_files(ours, CONTENT) if path not in there}
    new = {path: upstream.taken[key] for path, key in keys.items() if key and key in upstream.taken}
    found = kb.repository.read_files(ours, new)
    return any(parse_front_values(found[path] or b"", path).get("uid") != uid for path, uid in new.items())


def _is_seen_elsewhere(kb: Workspace, line: CommitLine) -> bool:
    """Return whether others may have commits of *line* because a remote has them on another branch.

    Branches of requests do not count: only this clone pushes to them.
    """
    refs = kb.repository.list_refs("--contains", line.commits[0].oid, "refs/remotes", "refs/kb/remotes")
    return any(not _REQUEST_REF.fullmatch(ref) for ref in refs)


def _plan_merge(kb: Workspace, ours: str, upstream: Upstream, unseen: Collection[Key]) -> SyncPlan:
    """Merge the two lines; a person's commits are never replayed."""
    labels = (upstream.name, "here")
    merge = merge_commits(kb, upstream.tip, ours, labels, elsewhere=upstream.taken, unseen=unseen)
    if merge.conflicts:
        raise build_conflict_error(upstream.name, upstream, merge.conflicts)
    message = format_commit_message(f"Merge {upstream.name}", "", {"Kb-Op": "sync"})
    # where only numbers change there is nothing of theirs to merge, and one parent is enough
    theirs = [] if is_ancestor(kb.repository, upstream.tip, ours) else [upstream.tip]
    new = kb.repository.commit_tree(merge.tree, [ours, *theirs], message)
    return SyncPlan(new, MERGED, renumbered=merge.renumbered, notes=merge.removed)


def build_conflict_error(name: str, upstream: Upstream, paths: Iterable[str]) -> NeedsPerson:
    """Return the error that *name*, the remote or its branch, and the branch here have changed *paths* apart."""
    said = msg("{name} and this branch both changed {paths}", name=name, paths=list(map(one_line, paths)))
    return NeedsPerson(said, hint=msg("git merge {branch}", branch=upstream.name))


# -- replaying ------------------------------------------------------------------------------------


def load_commit_line(kb: Workspace, commits: Sequence[Commit]) -> CommitLine:
    """Return *commits*, at least one and each the first parent of the next, with what they changed."""
    repository, parents = kb.repository, commits[0].parents
    trees = [resolve_tree(repository, parents[0] if parents else ""), *(commit.tree for commit in commits)]
    changes = diff_trees(repository, list(pairwise(trees)))
    oids = [oid for some in changes for change in some if change.is_plain for oid in (change.old, change.new)]
    return CommitLine(commits, changes, read_objects(repository, oids))


def replay_commits(
    kb: Workspace, line: CommitLine, tip: str, renaming: IdRenaming, labels: tuple[str, str]
) -> SyncPlan:
    """Build the commits of *line* on top of the commit *tip*, without moving a ref.

    Skip a commit whose changes are already there, unless it is a merge that brings other commits.
    """
    rebase = Rebase(kb, tip, renaming, labels)
    rebase.prefetch_files(kb.repository.to_kb_path(change.name) for changes in line.changes for change in changes)
    kept: list[tuple[Commit, dict[str, bytes | None]]] = []
    for commit, differences in zip(line.commits, line.changes, strict=True):
        changes = rebase.apply_commit(differences, line.blobs)
        if changes or any(not is_ancestor(kb.repository, parent, tip) for parent in commit.parents[1:]):
            kept.append((commit, changes))
    patches = [{kb.repository.to_git_path(path): data for path, data in changes.items()} for _, changes in kept]
    with kb.state.open_stage() as stage:
        trees = iter(patch_tree(kb.repository, tip, [patch for patch in patches if patch], stage))
    new, tree = tip, resolve_tree(kb.repository, tip)
    for commit, changes in kept:
        tree = next(trees) if changes else tree  # a merge that changes nothing keeps its other parents
        message = commit.message
        for one in renaming.renumbered:
            if one.path in changes:  # "Write [D004] Use FastAPI" becomes "Write [D007] Use FastAPI"
                title = one.title[:_TITLE_START]
                message = message.replace(f"[{one.old}] {title}", f"[{one.new}] {title}")
        identity, parents = commit.build_identity_environment(), [new, *commit.parents[1:]]
        new = kb.repository.commit_tree(tree, parents, renaming.map_message(message), by=identity)
    return SyncPlan(new, REPLAYED, len(kept), tuple(renaming.renumbered), rebase.unmerged, tuple(rebase.removed))


# -- state of the remote --------------------------------------------------------------------------

_FILE = "remotes.json"
"""Remote → what it had when it was last taken in: {"heads": {branch: commit}, "reviews": {name: commit}}."""


class ReviewBranches(NamedTuple):
    """The review branches of this clone and of the remote, by their names behind `kb/review/`."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    before: Mapping[str, str]
    """The review branches of the remote at the last sync."""
    checked_out: frozenset[str]


class RemoteState:
    """One remote, and the branch of it that belongs to the one that is checked out."""

    def __init__(self, kb: Workspace, ref: str, name: str) -> None:
        """Choose the remote for the branch *ref*: *name*, else the branch's own, else origin or the only one."""
        self._kb = kb
        self.ref = ref
        settings = read_remote_settings(kb.repository)
        own = f"branch.{ref.removeprefix('refs/heads/')}"
        configured = settings.get(f"{own}.remote", "")
        names = [key.removeprefix("remote.").removesuffix(".url") for key in settings if key.startswith("remote.")]
        # "." is what git calls this clone itself: the branch follows another one of it
        self.name = name or (configured if configured != "." else "")
        if not (self.name or names):
            raise GitFailed(msg("there is no remote"), hint=msg("git remote add {remote} URL", remote="origin"))
        self.name = self.name or ("origin" if "origin" in names or len(names) > 1 else names[0])
        self.url = settings.get(f"remote.{self.name}.url", "")
        if not self.url:
            hint = msg("git remote add {remote} URL", remote=self.name)
            raise GitFailed(msg("there is no remote {remote}", remote=self.name), hint=hint)
        merge = settings.get(f"{own}.merge", "") if configured == self.name else ""
        self.is_configured = bool(merge)
        self.branch = (merge or ref).removeprefix("refs/heads/")
        self._folder = f"refs/kb/remotes/{self.name}"
        self._refs: dict[str, tuple[str, str]] = {}
        """Every ref of kb's → its commit and the work tree that has it checked out."""
        self._file = os.path.join(kb.repository.private, _FILE)

    # what was fetched

    def fetch(self) -> None:
        """Fetch the branch, the reviews, what was rejected, the inbox, and nothing else."""
        # "+" moves only our own copies, below refs/kb/remotes: what others may have rewritten has to be seen as it is
        more = [
            f"+{REVIEWS}*:{self._folder}/review/*",
            f"+refs/kb/rejected/*:{self._folder}/rejected/*",
            f"+refs/kb/inbox*:{self._folder}/inbox*",
            f"+{USES}*:{self._folder}/uses*",
            f"+refs/heads/{REQUESTS}*:{self._folder}/sync/*",
        ]
        refspec = f"+refs/heads/{self.branch}:{self._folder}/heads/{self.branch}"
        is_there = fetch_refs(self._kb.repository, self.name, refspec, more)
        self.refresh_refs()
        if not is_there:
            self.note_moved_refs([(f"heads/{self.branch}", "")])

    def refresh_refs(self) -> None:
        """Read kb's refs; the methods below use them."""
        form = "%(refname)%00%(objectname)%00%(worktreepath)"
        rows = self._kb.repository.list_refs(REVIEWS.rstrip("/"), "refs/kb", form=form)
        self._refs = {ref: (oid, work_tree) for ref, oid, work_tree in (row.split("\0") for row in rows)}

    def find_oid(self, name: str) -> str:
        """Return the commit of the ref *name* below the folder of this remote ("inbox", "review/x"), or ""."""
        return self._refs.get(f"{self._folder}/{name}", ("", ""))[0]

    def _list_refs_below(self, folder: str) -> dict[str, str]:
        """Return name and commit of the refs below *folder*, which ends with a slash."""
        return {ref.removeprefix(folder): oid for ref, (oid, _) in self._refs.items() if ref.startswith(folder)}

    def find_tip(self) -> str:
        """Return the tip of the branch at the remote, or ""."""
        return self.find_oid(f"heads/{self.branch}")

    def list_rejected(self, *, is_sent: bool) -> list[tuple[str, str]]:
        """Return what a person has rejected here (*is_sent*) or there, and the other has not: a free ref and commit."""
        known, others = self._list_refs_below(REJECTED), self._list_refs_below(f"{self._folder}/rejected/")
        known, others = (others, known) if is_sent else (known, others)
        commits, names = set(known.values()), set(known)
        missing: list[tuple[str, str]] = []
        for name, tip in others.items():
            if tip not in commits:
                free = find_free_name(name, names.__contains__)
                names.add(free)
                missing.append((REJECTED + free, tip))
        return missing

    def has_ref_prefix(self, start: str) -> bool:
        """Return whether a ref begins with *start*."""
        return any(ref.startswith(start) for ref in self._refs)

    def build_upstream(self) -> Upstream:
        """Return the branch as it was fetched."""
        tip = self.find_tip()
        tracking = f"refs/remotes/{self.name}/{self.branch}"
        name = tracking.removeprefix("refs/remotes/") if self._kb.repository.resolve_ref(tracking) == tip else tip[:12]
        folder = f"{self._folder}/review/"
        reviews = list_reviews(self._kb, folder) if self._list_refs_below(folder) else []
        taken = {(one.record.scope, one.record.id): one.record.uid for one in reviews if one.record.uid}
        return Upstream(name, tip, self._load_known_refs("heads").get(self.branch, ""), taken)

    def collect_review_branches(self) -> ReviewBranches:
        """Return the review branches here and there."""
        here, there = self._list_refs_below(REVIEWS), self._list_refs_below(f"{self._folder}/review/")
        checked_out = {ref.removeprefix(REVIEWS) for ref, (_, work_tree) in self._refs.items() if work_tree}
        return ReviewBranches(here, there, self._load_known_refs("reviews"), frozenset(checked_out))

    def can_create_branch(self) -> bool:
        """Return whether a branch missing at the remote may be created there without asking.

        It may not if it existed there before, nor if the remote has other branches, unless configured.
        """
        if self._load_known_refs("heads").get(self.branch):
            return False
        return self.is_configured or not self._kb.repository.list_refs(f"refs/remotes/{self.name}")

    def note_moved_refs(self, moves: Sequence[tuple[str, str]]) -> None:
        """Note that refs of the remote, named below our folder, have these commits now; "" for one that went."""
        known = [(name, new, self.find_oid(name)) for name, new in moves]
        changed = [RefMove(f"{self._folder}/{name}", new, old) for name, new, old in known if new != old]
        if changed:
            with contextlib.suppress(LostRace):  # git, or another sync of this clone, has noted it already
                self._kb.repository.update_refs(changed, "kb: sync")
            self.refresh_refs()

    # what was heard before

    def _load_known_refs(self, what: str) -> dict[str, str]:
        return self._load_file().get(self.name, {}).get(what, {})

    def _load_file(self) -> dict[str, dict[str, dict[str, str]]]:
        try:
            value = json.loads(read_if_exists(self._file) or b"{}")
            return {remote: {what: dict(rows) for what, rows in known.items()} for remote, known in value.items()}
        except (ValueError, TypeError, AttributeError):  # damaged: start as if never synced
            return {}

    def save_known_refs(self) -> None:
        """Keep what the remote has, now that this clone has taken it in.

        A review that it has no more and that is still open here stays known, so that it is not taken for a new one.
        """
        before = self._load_file()
        tip = self.find_tip()
        heads = {**self._load_known_refs("heads"), **({self.branch: tip} if tip else {})}
        reviews = self.collect_review_branches()
        still_open = {name: oid for name, oid in reviews.before.items() if name in reviews.here}
        value = {**before, self.name: {"heads": heads, "reviews": {**still_open, **reviews.there}}}
        if value != before:
            write_atomic(self._file, json_bytes(value, indent=1))
