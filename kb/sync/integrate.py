"""Take in what was fetched, in one transaction: the branch, the reviews, what was rejected, and the inbox."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, KbError, NeedsPerson
from kb.git import revisions
from kb.git.objects import count_commits, is_ancestor, patch_tree, resolve_tree
from kb.git.repository import RefMove, find_free_name, format_commit_message
from kb.i18n import Message, msg
from kb.merge.rebase import UnmergedFile, merge_preferring_ours
from kb.merge.renumbering import Key
from kb.records import record_file
from kb.records.model import Candidate
from kb.records.record_paths import INBOX
from kb.sync.remote_state import RemoteState
from kb.sync.shared_reviews import BranchTips, ReviewSync
from kb.sync.strategy import REPLAYED, RESCUE, SyncPlan, plan_sync
from kb.text.segment import one_line
from kb.writing import inbox
from kb.writing.file_changes import Advance, apply_advance, prepare_advance
from kb.writing.inbox import HeldCandidate
from kb.writing.publish import explain_outcome
from kb.writing.reviews import propose_text
from kb.writing.transaction import Transaction, transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace


class IntegrationResult(NamedTuple):
    """What this clone has taken in."""

    plan: SyncPlan
    received: int
    """Commits that came."""
    rescue: str
    """The ref that keeps what was replayed as it was before; "" where nothing was."""
    reviews: ReviewSync
    has_received_inbox: bool
    notes: tuple[Message, ...]


def integrate(kb: Workspace, remote: RemoteState, built: str, unseen: Collection[Key]) -> IntegrationResult:
    """Take in what *remote* has, all of it or nothing; a lost race is run again.

    *built* is the commit that an earlier attempt of this sync made, and *unseen* are its new ids.
    """
    for transaction in transactions(kb):
        with transaction:
            result, advance, moves = _plan_integration(transaction, remote, built, unseen)
            outcomes = apply_advance(transaction, advance, moves, "kb: sync")
            said = filter(None, (explain_outcome(path, outcome) for path, outcome in outcomes.items()))
            result = result._replace(notes=(*result.notes, *said))
    return result


def _plan_integration(
    transaction: Transaction, remote: RemoteState, built: str, unseen: Collection[Key]
) -> tuple[IntegrationResult, Advance, list[RefMove]]:
    """Plan, under the lock, where the branch goes and which other refs move with it."""
    kb, head = transaction.kb, transaction.head
    remote.refresh_refs()
    if head.ref != remote.ref:
        raise NeedsPerson(msg("another branch was checked out meanwhile"), hint=msg("again: kb sync"))
    upstream = remote.build_upstream()
    plan = plan_sync(kb, head.oid, upstream, unseen)
    advance = prepare_advance(kb, head, plan.new, f"git merge {upstream.name}")
    stamp = RESCUE + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(kb.now()))
    rescue = find_free_name(stamp, remote.has_ref_prefix, ".")
    tips = BranchTips(head.oid, plan.new, upstream.tip)
    reviews = ReviewSync(kb, remote.collect_review_branches(), tips, remote.name, rescue)
    reviews.compare(upstream.taken)
    for scope, record_id in upstream.taken:  # a number on a review of others is not given out again
        kb.index.reserve_id(scope, record_id)
    notes = [_propose_unmerged(transaction, remote, one, plan.new, reviews) for one in plan.unmerged.values()]
    moves = reviews.list_moves()
    if plan.how == REPLAYED and head.oid != built:  # what an earlier attempt of this sync built needs no rescue
        moves.insert(0, RefMove(rescue, head.oid, ""))
    else:
        rescue = ""
    moves += [RefMove(ref, tip, "") for ref, tip in remote.list_rejected_to_receive()]
    ours = kb.repository.resolve_ref(INBOX)
    merged = merge_inbox_commits(kb, ours, remote.find_inbox_tip())
    if merged != ours:
        moves.append(RefMove(INBOX, merged, ours))
    received = count_commits(kb.repository, upstream.tip, head.oid) if plan.how else 0
    result = IntegrationResult(plan, received, rescue, reviews, merged != ours, (*notes, *plan.notes))
    return result, advance, moves


def _propose_unmerged(
    transaction: Transaction, remote: RemoteState, one: UnmergedFile, new: str, reviews: ReviewSync
) -> Message:
    """Put our version of a record, of which the remote says something else, on a review branch; say which."""
    kb = transaction.kb
    there = kb.repository.read_blob(new, one.path) or b""
    text = merge_preferring_ours(kb, one, there)
    try:
        record = record_file.read(there, one.path)
    except BadRecord:
        text = None
    if text is None:
        raise NeedsPerson(
            msg("{name} and this branch both changed {paths}", name=remote.name, paths=one_line(one.path)),
            hint=msg("git merge {branch}", branch=remote.build_upstream().name),
        )
    before = list(transaction.reviews)
    verdict = propose_text(transaction, record, text, Candidate(record.kind, record.title), one.reasons)
    for plan in transaction.reviews:
        if plan not in before:
            name = plan.branch.removeprefix("kb/review/")
            plan.tip = reviews.here.get(name, "")
            reviews.here[name] = plan.build_branch_move(kb, new).new
    if not verdict.branch:
        return msg(
            "[{id}] says something else at {remote}: {reason}",
            id=record.scoped_id,
            remote=remote.name,
            reason=" ".join(verdict.reasons[:1]),
        )
    return msg(
        "[{id}] says something else at {remote}; what was written here is on {branch}",
        id=record.scoped_id,
        remote=remote.name,
        branch=verdict.branch,
    )


# -- the inbox ------------------------------------------------------------------------------------


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
    changed = _merge_entries(kb, base, ours, theirs)
    tree = resolve_tree(repository, ours)
    if changed:
        with kb.state.open_stage() as stage:
            tree = patch_tree(repository, ours, [changed], stage)[-1]
    message = format_commit_message("Bring two inboxes together", "", {"Kb-Op": "inbox"})
    return repository.commit_tree(tree, [ours, theirs], message)


def _merge_entries(kb: Workspace, base: str, ours: str, theirs: str) -> dict[str, bytes | None]:
    """Return the files, from the top of the repository, in which the merged inbox differs from ours."""
    repository = kb.repository
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
                data = _merge_entry(name, mine_data or b"", data or b"")
        changed[repository.to_git_path(name)] = data
    return changed


def _merge_entry(name: str, ours: bytes, theirs: bytes) -> bytes:
    """Return one entry with the sightings of both; the same one on every clone where either cannot be read."""
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
