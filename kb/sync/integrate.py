"""Take in what was fetched, in one transaction: the branch, the reviews, what was rejected, and the inbox."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, NeedsPerson
from kb.git.git_log import count
from kb.git.repository import Move
from kb.i18n import Message, msg
from kb.merge.rebase import Unmerged, our_text
from kb.merge.renumbering import Key
from kb.records import record_file
from kb.records.model import Candidate
from kb.records.record_paths import INBOX, REJECTED
from kb.sync import merge_inboxes
from kb.sync.remote_state import Tracked
from kb.sync.shared_reviews import Sharing, Tips
from kb.sync.strategy import REPLAYED, RESCUE, Upstream, Way, way
from kb.text.segment import one_line
from kb.writing.fast_forward import Advance, go, prepared
from kb.writing.publish import left_behind
from kb.writing.reviews import propose_text
from kb.writing.transaction import Writing

if TYPE_CHECKING:
    from kb.workspace import Workspace


class Integrated(NamedTuple):
    """What this clone has taken in."""

    way: Way
    received: int
    """Commits that came."""
    rescue: str
    sharing: Sharing
    inbox_came: bool
    notes: tuple[Message, ...]


class Integration:
    """Plans under the lock what is to move, and moves it."""

    def __init__(self, kb: Workspace, tracked: Tracked, built: str, unseen: Collection[Key]) -> None:
        """Take in what *tracked* has; *built* is the commit an earlier attempt made, and *unseen* are its new ids."""
        self._kb = kb
        self._tracked = tracked
        self._built = built
        self._unseen = unseen
        self._writing = Writing(kb, "", "")
        self._notes: list[Message] = []

    def run(self) -> Integrated:
        """Do it; a lost race is run again."""
        moves: list[Move] = []
        advances: list[Advance] = []

        def plan() -> Integrated:
            self._notes = []
            return self._planned(moves, advances)

        def publish(done: Integrated) -> Integrated:
            outcomes = go(self._kb, advances[0], moves, "kb: sync")
            self._writing.is_published = True
            said = (left_behind(path, outcome) for path, outcome in outcomes.items())
            return done._replace(notes=(*done.notes, *filter(None, said)))

        return self._writing.until_won(plan, publish)

    def _planned(self, moves: list[Move], advances: list[Advance]) -> Integrated:
        self._tracked.look()
        head = self._writing.head
        if head.ref != self._tracked.ref:
            raise NeedsPerson(msg("another branch was checked out meanwhile"), hint=msg("again: kb sync"))
        upstream = self._tracked.upstream()
        found = way(self._kb, head.oid, upstream, self._unseen)
        by_hand = f"git merge {upstream.name}"
        advances[:] = [prepared(self._kb, head, found.new, by_hand)]
        stamp = self._free_rescue()
        sharing = Sharing(
            self._kb, self._tracked.branches(), Tips(head.oid, found.new, upstream.tip), self._tracked.remote, stamp
        )
        sharing.compare(upstream.taken)
        self._reserve(upstream)
        for one in found.unmerged.values():
            self._propose(one, found.new, sharing)
        is_new = found.how == REPLAYED and head.oid != self._built
        rescue = stamp if is_new else ""
        inbox = self._inbox()
        moves[:] = [*([Move(rescue, head.oid, "")] if rescue else []), *sharing.moves(), *self._rejected(), *inbox]
        received = count(self._kb.repository, upstream.tip, head.oid) if found.how else 0
        self._notes += found.told
        return Integrated(found, received, rescue, sharing, bool(inbox), tuple(self._notes))

    def _free_rescue(self) -> str:
        stem = ref = RESCUE + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._kb.now()))
        number = 1
        while self._tracked.has_ref(ref):
            number += 1
            ref = f"{stem}.{number}"
        return ref

    def _reserve(self, upstream: Upstream) -> None:
        """Give out no number that stands on a review of others."""
        for scope, record_id in upstream.taken:
            self._kb.index.reserve(scope, record_id)

    def _inbox(self) -> list[Move]:
        ours, theirs = self._kb.repository.ref(INBOX), self._tracked.inbox()
        new = merge_inboxes.joined(self._kb, ours, theirs)
        return [Move(INBOX, new, ours)] if new != ours else []

    def _rejected(self) -> list[Move]:
        """Return the moves that keep here what a person has rejected elsewhere."""
        ours, theirs = self._tracked.rejected()
        known, names = set(ours.values()), set(ours)
        moves: list[Move] = []
        for name, tip in theirs.items():
            if tip not in known:
                free = free_name(name, names)
                names.add(free)
                moves.append(Move(REJECTED + free, tip, ""))
        return moves

    def _propose(self, one: Unmerged, new: str, sharing: Sharing) -> None:
        """Put our version of a record, of which the remote says something else, on a review branch."""
        kb = self._kb
        there = kb.repository.blob(new, one.path) or b""
        text = our_text(kb, one, there)
        try:
            record = record_file.read(there, one.path)
        except BadRecord:
            text = None
        if text is None:
            raise NeedsPerson(
                msg("{name} and this branch both changed {paths}", name=self._tracked.remote, paths=one_line(one.path)),
                hint=msg("git merge {branch}", branch=self._tracked.upstream().name),
            )
        candidate = Candidate(record.kind, record.title)
        before = list(self._writing.reviews)
        verdict = propose_text(self._writing, record, text, candidate, one.reasons)
        for plan in self._writing.reviews:
            if plan not in before:
                name = plan.branch.removeprefix("kb/review/")
                plan.tip = sharing.here.get(name, "")
                sharing.here[name] = plan.built(kb, new).new
        self._notes.append(
            msg("[{id}] says something else at {remote}; what was written here is on {branch}",
                id=record.scoped_id, remote=self._tracked.remote, branch=verdict.branch)
            if verdict.branch
            else msg("[{id}] says something else at {remote}: {reason}",
                     id=record.scoped_id, remote=self._tracked.remote, reason=" ".join(verdict.reasons[:1]))
        )  # fmt: skip


def free_name(name: str, taken: Collection[str]) -> str:
    """Return *name*, with a number where it is *taken*."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
