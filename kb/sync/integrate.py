"""Integrate what was fetched in one transaction: the branch, the reviews, rejected reviews, and the inbox.

Reviews are synced both ways: new ones of others are received, local ones are sent, decided ones are closed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, KbError, NeedsPerson
from kb.git import revisions
from kb.git.commit_message import format_commit_message
from kb.git.objects import count_commits, diff_trees, is_ancestor, list_commits, patch_tree, resolve_tree
from kb.git.remote import RefUpdate
from kb.git.repository import RefMove, find_free_name
from kb.i18n import Message, msg
from kb.learning.uses import merge_uses, refresh_uses
from kb.merge.rebase import UnmergedFile, merge_commits, merge_preferring_ours
from kb.merge.renumbering import Key, RenumberedRecord, resolve_renaming
from kb.records.kinds import INBOX, REJECTED, REVIEWS, USES
from kb.records.model import Candidate
from kb.sync import strategy
from kb.sync.strategy import RemoteState
from kb.writing import inbox
from kb.writing.file_changes import apply_advance, prepare_advance
from kb.writing.inbox import HeldCandidate
from kb.writing.publish import explain_outcome
from kb.writing.reviews import propose_text
from kb.writing.transaction import Transaction, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace


class ReviewNote(NamedTuple):
    """The result for one review."""

    branch: str
    said: Message


class IntegrationResult(NamedTuple):
    """What this clone has integrated."""

    plan: strategy.SyncPlan
    received: int
    """Number of received commits."""
    paths: frozenset[str]
    """The record files that they added or changed."""
    rescue: str
    """The ref that keeps the commits before they were replayed, or ""."""
    reviews: ReviewSync
    has_received_inbox: bool
    notes: tuple[Message, ...]


def integrate(kb: Workspace, remote: RemoteState, built: str, unseen: Collection[Key]) -> IntegrationResult:
    """Integrate everything of *remote* or nothing; retry after a lost race.

    *built* is the commit of an earlier attempt in this sync, and *unseen* are its new ids.
    """
    for transaction in transactions(kb):
        with transaction:
            result = _integrate_once(transaction, remote, built, unseen)
    return result


def _integrate_once(
    transaction: Transaction, remote: RemoteState, built: str, unseen: Collection[Key]
) -> IntegrationResult:
    """Under the lock, plan the moves of the branch and the other refs, and make them all."""
    kb, head = transaction.kb, transaction.head
    remote.refresh_refs()
    if head.ref != remote.ref:
        raise NeedsPerson(msg("another branch was checked out meanwhile"), hint=msg("again: kb sync"))
    upstream = remote.build_upstream()
    plan = strategy.plan_sync(kb, head.oid, upstream, unseen)
    advance = prepare_advance(kb, head, plan.new, f"git merge {upstream.name}")
    reviews = ReviewSync(kb, remote, head.oid, plan.new, upstream)
    reviews.compare()
    for scope, record_id in upstream.taken:  # do not reuse a number of somebody else's review
        kb.index.reserve_id(scope, record_id)
    notes = [_propose_unmerged(transaction, remote, one, plan.new, reviews) for one in plan.unmerged.values()]
    stamp = strategy.RESCUE + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(kb.now()))
    rescue = find_free_name(stamp, remote.has_ref_prefix, ".")
    moves = reviews.list_moves(rescue)
    # commits of an earlier attempt in this sync need no rescue
    if plan.how == strategy.REPLAYED and head.oid != built:
        moves.insert(0, RefMove(rescue, head.oid, ""))
    else:
        rescue = ""
    moves += [RefMove(ref, tip, "") for ref, tip in remote.list_rejected(is_sent=False)]
    ours = kb.repository.resolve_ref(INBOX)
    merged = merge_ref_commits(kb, ours, remote.find_oid("inbox"), _merge_entry, "inbox")
    moves += [RefMove(INBOX, merged, ours)] if merged != ours else []
    counted = kb.repository.resolve_ref(USES)
    united = merge_ref_commits(kb, counted, remote.find_oid("uses"), lambda _, *files: merge_uses(*files), "uses")
    moves += [RefMove(USES, united, counted)] if united != counted else []
    received = count_commits(kb.repository, upstream.tip, head.oid) if plan.how else 0
    paths = _list_brought_paths(kb, head.oid, upstream.tip) if received else frozenset()
    outcomes = apply_advance(transaction, advance, moves, "kb: sync")
    refresh_uses(kb)
    said = filter(None, (explain_outcome(path, outcome) for path, outcome in outcomes.items()))
    return IntegrationResult(plan, received, paths, rescue, reviews, merged != ours, (*notes, *plan.notes, *said))


def _list_brought_paths(kb: Workspace, ours: str, theirs: str) -> frozenset[str]:
    """Return the files that *theirs* has changed since its merge base with *ours*."""
    between = f"{ours}...{theirs}" if ours else theirs
    asked = ("diff", "--name-only", "-z", "--no-renames", between, "--", *kb.record_tops)
    names = kb.repository.git(*asked, check=False).split(b"\0")
    return frozenset(kb.repository.to_kb_path(os.fsdecode(name)) for name in names if name)


def _propose_unmerged(
    transaction: Transaction, remote: RemoteState, one: UnmergedFile, new: str, reviews: ReviewSync
) -> Message:
    """Put our versions of conflicting records on review branches, and return messages that name them."""
    kb = transaction.kb
    there = kb.repository.read_blob(new, one.path) or b""
    text = merge_preferring_ours(kb, one, there)
    try:
        record = kb.files.read(there, one.path)
    except BadRecord:
        text = None
    if text is None:
        raise strategy.build_conflict_error(remote.name, remote.build_upstream(), [one.path])
    before = list(transaction.reviews)
    verdict = propose_text(transaction, record, text, Candidate(record.kind, record.title), one.reasons)
    for plan in transaction.reviews:
        if plan not in before:
            name = plan.branch.removeprefix("kb/review/")
            plan.tip = reviews.here.get(name, "")
            reviews.here[name] = plan.build_branch_move(kb, new).new
    values = {"id": record.scoped_id, "remote": remote.name}
    if not verdict.branch:
        return msg("[{id}] has other content at {remote}: {reason}", **values, reason=" ".join(verdict.reasons[:1]))
    values |= {"branch": verdict.branch, "next": verdict.next}
    return msg("[{id}] has other content at {remote}; the version written here is on {branch}; {next}", **values)


# -- the inbox and the counts ------------------------------------------------------------------------------------


def merge_ref_commits(
    kb: Workspace, ours: str, theirs: str, merge_entry: Callable[[str, bytes, bytes], bytes], what: str
) -> str:
    """Return a commit with the merged files of two commits of a kb ref, each "" if missing.

    *merge_entry* takes name, ours and theirs of a file changed on both sides. A file removed on one side stays removed,
    unless the other side has seen it again since. *what* names the ref in the commit message.
    """
    repository = kb.repository
    if not theirs or is_ancestor(repository, theirs, ours):
        return ours
    if not ours or is_ancestor(repository, ours, theirs):
        return theirs
    base = revisions.find_merge_base(kb, ours, theirs)
    before, mine, other = (repository.list_files(commit) if commit else {} for commit in (base, ours, theirs))
    changed: dict[str, bytes | None] = {}
    for name in sorted({*mine, *other}):
        was, here, there = before.get(name), mine.get(name), other.get(name)
        if here == there or there == was or (there is None and here != was):
            continue
        data: bytes | None = None
        if there is not None:
            mine_data, data = repository.read_blobs([(ours, name), (theirs, name)])
            if here is not None and here != was:
                data = merge_entry(name, mine_data or b"", data or b"")
        changed[repository.to_git_path(name)] = data
    tree = resolve_tree(repository, ours)
    if changed:
        with kb.state.open_stage() as stage:
            tree = patch_tree(repository, ours, [changed], stage)[-1]
    message = format_commit_message(f"Bring both versions of {what} together", "", {"Kb-Op": what})
    return repository.commit_tree(tree, [ours, theirs], message)


def _merge_entry(name: str, ours: bytes, theirs: bytes) -> bytes:
    """Return an entry with the sightings of both; if either is unreadable, pick the same one on every clone."""
    try:
        first, second = inbox.parse_held(name, json.loads(ours)), inbox.parse_held(name, json.loads(theirs))
    except (KbError, ValueError, RecursionError):
        return max(ours, theirs)
    both = sorted((*first.sightings, *second.sightings), key=lambda s: (s.get("day", ""), s.get("session", "")))
    sightings: dict[str, Mapping[str, str]] = {}
    for sighting in both:
        sightings.setdefault(sighting.get("session", ""), sighting)
    reasons = tuple(dict.fromkeys((*first.reasons, *second.reasons)))
    candidate = inbox.merge_sightings(first.candidate, second.candidate)
    return inbox.encode_held(HeldCandidate(first.name, candidate, tuple(sightings.values()), reasons))


# -- the reviews ----------------------------------------------------------------------------------


class ReviewSync:
    """The plan for the review branches."""

    def __init__(self, kb: Workspace, remote: RemoteState, old: str, new: str, upstream: strategy.Upstream) -> None:
        """Read the reviews of this clone, whose branch moves from *old* to *new*, and of *remote*."""
        self._kb = kb
        self._branches = branches = remote.collect_review_branches()
        self._remote = remote.name
        self._old = old
        self._new = new
        self._upstream = upstream
        self._kept: dict[str, str] = {}
        self._held_back: set[str] = set()
        """Reviews that are not sent unchanged."""
        self.here = dict(branches.here)
        """The review branches after the sync."""
        self.notes: list[ReviewNote] = []
        self.renumbered: list[RenumberedRecord] = []

    def compare(self) -> None:
        """Plan the change of every review."""
        branches, repository = self._branches, self._kb.repository
        for name in sorted({*branches.here, *branches.there}):
            here, there = branches.here.get(name, ""), branches.there.get(name, "")
            if here and name in branches.checked_out and here != there:
                # do not move a branch that a work tree has checked out; new commits on it may be sent
                is_new = not there and name not in branches.before
                if not is_new and not is_ancestor(repository, there, here):
                    self._hold_back(name, msg("it is checked out and was left unchanged"))
            elif not here:
                self._receive_review(name, there)
            elif not there:
                self._resolve_local_only(name, here)
            elif here != there:
                self._resolve_both_sides(name, here, there)

    def _note(self, name: str, said: Message) -> None:
        self.notes.append(ReviewNote(f"kb/review/{name}", said))

    def _hold_back(self, name: str, said: Message) -> None:
        self._held_back.add(name)
        self._note(name, said)

    # one review

    def _receive_review(self, name: str, there: str) -> None:
        """Take over a review of the remote unless it has been decided."""
        if self._is_decided(there):
            return
        before = self._branches.before.get(name)
        if before != there:
            self.here[name] = there
            again = msg("it has changed at {remote} and was fetched again", remote=self._remote)
            self._note(name, again if before else msg("received"))
        elif not is_ancestor(self._kb.repository, there, self._new):
            command = f"git push {self._remote} --delete kb/review/{name}"
            self._note(name, msg("deleted here and open at {remote}: {command}", remote=self._remote, command=command))

    def _resolve_local_only(self, name: str, here: str) -> None:
        if name not in self._branches.before:
            if not is_ancestor(self._kb.repository, here, self._upstream.tip):
                self._rebuild_review(name, here)
        elif self._is_decided(here):
            del self.here[name]
            self._note(name, msg("decided at {remote}, and closed here", remote=self._remote))
        else:
            values = {"remote": self._remote, "id": f"kb/review/{name}"}
            self._hold_back(
                name, msg("closed at {remote} without its changes; kept here: kb review reject {id}", **values)
            )

    def _resolve_both_sides(self, name: str, here: str, there: str) -> None:
        repository = self._kb.repository
        if is_ancestor(repository, there, here):
            return
        if is_ancestor(repository, here, there):
            self.here[name] = there
            self._note(name, msg("updated"))
            return
        if is_ancestor(repository, revisions.find_merge_base(self._kb, here, there), self._new):
            self._rebuild_review(name, here)  # two different reviews with one name
        if name not in self.here:  # ours has been renamed
            self.here[name] = there
            return
        try:
            merge = merge_commits(self._kb, there, here, (f"{self._remote}/kb/review/{name}", f"kb/review/{name}"))
        except KbError:
            merge = None
        if merge is None or merge.conflicts:
            command = f"git switch kb/review/{name}; git pull {self._remote} kb/review/{name}"
            self._hold_back(name, msg("both sides changed the same lines: {command}", command=command))
            return
        message = format_commit_message(f"Bring both versions of kb/review/{name} together", "", {"Kb-Op": "sync"})
        self.here[name] = self._kb.repository.commit_tree(merge.tree, [here, there], message)
        self._note(name, msg("both versions are in it now"))

    def _rebuild_review(self, name: str, here: str) -> None:
        """Rebase an unpublished review onto the new tip if it cannot stay as it is."""
        kb, new = self._kb, self._new
        own = list_commits(kb.repository, here, self._old, new)
        if not own or not own[0].parents:
            return
        line = strategy.load_commit_line(kb, own)
        base = revisions.find_merge_base(kb, here, new)
        more, taken = line.read_added_records(kb), self._upstream.taken
        renaming = resolve_renaming(kb, base=base, there=new, ours=here, elsewhere=taken, more=more)
        renumbered = renaming.renumbered
        if is_ancestor(kb.repository, own[0].parents[0], new) and not renumbered:
            return
        rebuilt = None
        if line.is_written_by_kb(kb):
            rebuilt = strategy.replay_commits(kb, line, new, renaming, (self._remote, f"kb/review/{name}"))
        if rebuilt is None or rebuilt.unmerged or not rebuilt.made:
            self._hold_back(name, msg("its base has moved: a person has to look at it"))
            return
        self.renumbered += renumbered
        self._kept[name] = here
        # the branch name has the number of its record: D004-x becomes D007-x
        renamed = next((f"{r.new}-{name[len(r.old) + 1 :]}" for r in renumbered if name.startswith(f"{r.old}-")), name)
        if renamed == name:
            self.here[name] = rebuilt.new
            self._note(name, msg("rebuilt on the new tip"))
            return
        free = find_free_name(renamed, lambda branch: branch in self.here or branch in self._branches.there)
        del self.here[name]
        self.here[free] = rebuilt.new
        self._note(free, msg("rebuilt on the new tip; it was {branch}", branch=f"kb/review/{name}"))

    def _is_decided(self, tip: str) -> bool:
        """Return whether the remote's branch has all changes of *tip*, or a person has rejected it."""
        repository, upstream = self._kb.repository, self._upstream.tip
        if is_ancestor(repository, tip, upstream):
            return True
        rejected = (REJECTED.rstrip("/"), f"refs/kb/remotes/{self._remote}/rejected")
        if repository.list_refs("--count=1", "--contains", tip, *rejected):
            return True
        base = revisions.find_merge_base(self._kb, tip, upstream) if upstream else ""
        if not base:
            return False
        before, after, there = (resolve_tree(repository, commit) for commit in (base, tip, upstream))
        own, rest = diff_trees(repository, [(before, after), (there, after)])
        return bool(own) and not {one.name for one in own} & {one.name for one in rest}

    # what moves

    def list_moves(self, rescue: str) -> list[RefMove]:
        """Return the ref moves of the plan; old tips are kept under *rescue* by name."""
        was, now = self._branches.here, self.here
        names = sorted(name for name in {*was, *now} if was.get(name) != now.get(name))
        kept = [RefMove(f"{rescue}-{name}", tip, "") for name, tip in self._kept.items()]
        return [*(RefMove(REVIEWS + name, now.get(name, ""), was.get(name, "")) for name in names), *kept]

    def list_ref_updates(self, upstream: str) -> list[RefUpdate]:
        """Return the review branches to move at the remote, whose own branch now has the tip *upstream*."""
        repository = self._kb.repository
        updates: list[RefUpdate] = []
        for name, tip in sorted(self.here.items()):
            if name in self._held_back or tip == self._branches.there.get(name, ""):
                continue
            base = revisions.find_merge_base(self._kb, tip, self._new)
            # only on top of the remote's branch: otherwise the review would publish commits that its branch lacks
            if base and is_ancestor(repository, base, upstream) and base != tip:
                updates.append(RefUpdate(REVIEWS + name, tip))
        for name, there in sorted(self._branches.there.items()):
            is_gone = name in self._branches.before and name not in self.here
            # deleted by hand here, neither merged nor rejected: keep it at the remote, where others may use it
            if is_gone and (is_ancestor(repository, there, upstream) or self._is_decided(there)):
                updates.append(RefUpdate(REVIEWS + name, "", there))
        return updates
