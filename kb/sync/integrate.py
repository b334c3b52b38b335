"""Take in what was fetched, in one transaction: the branch, the reviews, what was rejected, and the inbox."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, KbError, NeedsPerson
from kb.git import revisions
from kb.git.git_log import count_commits, is_ancestor, resolve_tree
from kb.git.repository import RefMove, format_commit_message
from kb.git.trees import patch_tree
from kb.i18n import Message, msg
from kb.merge.rebase import UnmergedFile, merge_preferring_ours
from kb.merge.renumbering import Key
from kb.records import record_file
from kb.records.model import Candidate
from kb.records.record_paths import INBOX, REJECTED
from kb.sync import integrate
from kb.sync.remote_state import RemoteState
from kb.sync.shared_reviews import BranchTips, ReviewSync
from kb.sync.strategy import REPLAYED, RESCUE, SyncPlan, Upstream, plan_sync
from kb.text.segment import one_line
from kb.writing import inbox
from kb.writing.file_changes import Advance, apply_advance, prepare_advance
from kb.writing.inbox import HeldCandidate
from kb.writing.publish import explain_outcome
from kb.writing.reviews import propose_text
from kb.writing.transaction import Transaction

if TYPE_CHECKING:
    from kb.workspace import Workspace


class IntegrationResult(NamedTuple):
    """What this clone has taken in."""

    way: SyncPlan
    received: int
    """Commits that came."""
    rescue: str
    sharing: ReviewSync
    inbox_came: bool
    notes: tuple[Message, ...]


class Integration:
    """Plans under the lock what is to move, and moves it."""

    def __init__(self, kb: Workspace, tracked: RemoteState, built: str, unseen: Collection[Key]) -> None:
        """Take in what *tracked* has; *built* is the commit an earlier attempt made, and *unseen* are its new ids."""
        self._kb = kb
        self._tracked = tracked
        self._built = built
        self._unseen = unseen
        self._writing = Transaction(kb, "", "")
        self._notes: list[Message] = []

    def run(self) -> IntegrationResult:
        """Do it; a lost race is run again."""
        moves: list[RefMove] = []
        advances: list[Advance] = []

        def plan() -> IntegrationResult:
            self._notes = []
            return self._plan_integration(moves, advances)

        def publish(done: IntegrationResult) -> IntegrationResult:
            outcomes = apply_advance(self._kb, advances[0], moves, "kb: sync")
            self._writing.is_published = True
            said = (explain_outcome(path, outcome) for path, outcome in outcomes.items())
            return done._replace(notes=(*done.notes, *filter(None, said)))

        return self._writing.run_with_retries(plan, publish)

    def _plan_integration(self, moves: list[RefMove], advances: list[Advance]) -> IntegrationResult:
        self._tracked.refresh_refs()
        head = self._writing.head
        if head.ref != self._tracked.ref:
            raise NeedsPerson(msg("another branch was checked out meanwhile"), hint=msg("again: kb sync"))
        upstream = self._tracked.build_upstream()
        found = plan_sync(self._kb, head.oid, upstream, self._unseen)
        by_hand = f"git merge {upstream.name}"
        advances[:] = [prepare_advance(self._kb, head, found.new, by_hand)]
        stamp = self._find_free_rescue()
        sharing = ReviewSync(
            self._kb,
            self._tracked.collect_review_branches(),
            BranchTips(head.oid, found.new, upstream.tip),
            self._tracked.remote,
            stamp,
        )
        sharing.compare(upstream.taken)
        self._reserve_review_ids(upstream)
        for one in found.unmerged.values():
            self._propose_unmerged(one, found.new, sharing)
        is_new = found.how == REPLAYED and head.oid != self._built
        rescue = stamp if is_new else ""
        inbox = self._plan_inbox_moves()
        moves[:] = [
            *([RefMove(rescue, head.oid, "")] if rescue else []),
            *sharing.list_moves(),
            *self._plan_rejected_moves(),
            *inbox,
        ]
        received = count_commits(self._kb.repository, upstream.tip, head.oid) if found.how else 0
        self._notes += found.told
        return IntegrationResult(found, received, rescue, sharing, bool(inbox), tuple(self._notes))

    def _find_free_rescue(self) -> str:
        stem = ref = RESCUE + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._kb.now()))
        number = 1
        while self._tracked.has_ref_prefix(ref):
            number += 1
            ref = f"{stem}.{number}"
        return ref

    def _reserve_review_ids(self, upstream: Upstream) -> None:
        """Give out no number that stands on a review of others."""
        for scope, record_id in upstream.taken:
            self._kb.index.reserve_id(scope, record_id)

    def _plan_inbox_moves(self) -> list[RefMove]:
        ours, theirs = self._kb.repository.resolve_ref(INBOX), self._tracked.find_inbox_tip()
        new = integrate.merge_inbox_commits(self._kb, ours, theirs)
        return [RefMove(INBOX, new, ours)] if new != ours else []

    def _plan_rejected_moves(self) -> list[RefMove]:
        """Return the moves that keep here what a person has rejected elsewhere."""
        ours, theirs = self._tracked.list_rejected()
        known, names = set(ours.values()), set(ours)
        moves: list[RefMove] = []
        for name, tip in theirs.items():
            if tip not in known:
                free = find_free_name(name, names)
                names.add(free)
                moves.append(RefMove(REJECTED + free, tip, ""))
        return moves

    def _propose_unmerged(self, one: UnmergedFile, new: str, sharing: ReviewSync) -> None:
        """Put our version of a record, of which the remote says something else, on a review branch."""
        kb = self._kb
        there = kb.repository.read_blob(new, one.path) or b""
        text = merge_preferring_ours(kb, one, there)
        try:
            record = record_file.read(there, one.path)
        except BadRecord:
            text = None
        if text is None:
            raise NeedsPerson(
                msg("{name} and this branch both changed {paths}", name=self._tracked.remote, paths=one_line(one.path)),
                hint=msg("git merge {branch}", branch=self._tracked.build_upstream().name),
            )
        candidate = Candidate(record.kind, record.title)
        before = list(self._writing.reviews)
        verdict = propose_text(self._writing, record, text, candidate, one.reasons)
        for plan in self._writing.reviews:
            if plan not in before:
                name = plan.branch.removeprefix("kb/review/")
                plan.tip = sharing.here.get(name, "")
                sharing.here[name] = plan.build_branch_move(kb, new).new
        self._notes.append(
            msg("[{id}] says something else at {remote}; what was written here is on {branch}",
                id=record.scoped_id, remote=self._tracked.remote, branch=verdict.branch)
            if verdict.branch
            else msg("[{id}] says something else at {remote}: {reason}",
                     id=record.scoped_id, remote=self._tracked.remote, reason=" ".join(verdict.reasons[:1]))
        )  # fmt: skip


def find_free_name(name: str, taken: Collection[str]) -> str:
    """Return *name*, with a number where it is *taken*."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def merge_inbox_commits(kb: Workspace, ours: str, theirs: str) -> str:
    """Return the commit that has both inboxes, each the commit of its ref or "" for none.

    What was taken out on one side stays out, unless the other side has seen it again since.
    """
    repository = kb.repository
    if not theirs or is_ancestor(repository, theirs, ours):
        return ours
    if not ours or is_ancestor(repository, ours, theirs):
        return theirs
    base = revisions.find_merge_base(kb, ours, theirs)
    sides = [repository.list_files(commit) if commit else {} for commit in (base, ours, theirs)]
    found = _merge_entries(kb, ours, theirs, sides[0], sides[1], sides[2])
    files = {repository.to_git_path(name): data for name, data in found.items()}
    tree = resolve_tree(repository, ours)
    with kb.state.open_stage() as stage:
        tree = patch_tree(repository, ours, [files], stage)[-1] if files else tree
    return repository.commit_tree(
        tree, [ours, theirs], format_commit_message("Bring two inboxes together", "", {"Kb-Op": "inbox"})
    )


def _merge_entries(
    kb: Workspace, ours: str, theirs: str, base: Mapping[str, str], mine: Mapping[str, str],
    other: Mapping[str, str],
) -> dict[str, bytes | None]:  # fmt: skip
    """Return the files in which the joined inbox differs from ours."""
    blobs = kb.repository.read_blobs
    found: dict[str, bytes | None] = {}
    for name in sorted({*mine, *other}):
        was, one, two = base.get(name), mine.get(name), other.get(name)
        if one == two or two == was or (two is None and one != was):
            continue
        if two is None:
            found[name] = None
        elif one is None or one == was:
            (found[name],) = blobs([(theirs, name)])
        else:
            first, second = blobs([(ours, name), (theirs, name)])
            found[name] = _merge_entry(name, first or b"", second or b"")
    return found


def _merge_entry(name: str, one: bytes, other: bytes) -> bytes:
    """Return one entry with the sightings of two; of one that cannot be read the other."""
    try:
        first, second = inbox.parse_held(name, json.loads(one)), inbox.parse_held(name, json.loads(other))
    except (KbError, ValueError, RecursionError):
        return max(one, other)
    both = sorted((*first.sightings, *second.sightings), key=lambda s: (s.get("day", ""), s.get("session", "")))
    sightings: dict[str, Mapping[str, str]] = {}
    for sighting in both:
        sightings.setdefault(sighting.get("session", ""), sighting)
    reasons = tuple(dict.fromkeys((*first.reasons, *second.reasons)))
    candidate = inbox.merge_sightings(first.candidate, second.candidate)
    return inbox.encode_held(HeldCandidate(first.name, candidate, tuple(sightings.values()), reasons))
