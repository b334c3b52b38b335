"""Sync with a remote: fetch, integrate, push, and again when somebody else was faster. Nothing is ever forced.

What is published is never rewritten. Commits of kb's own that nobody has seen are replayed upon the fetched tip, with
a rescue ref to where they stood; as soon as a person's commit is among them, the two lines are merged instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import Busy
from kb.git import driver_setup
from kb.git.objects import count_commits
from kb.git.remote import RemoteUnreachable
from kb.i18n import Message, msg
from kb.merge.renumbering import Key, RenumberedRecord
from kb.sync.integrate import IntegrationResult, integrate
from kb.sync.push import MergeRequest, PushAttempt
from kb.sync.remote_state import RemoteState
from kb.sync.shared_reviews import ReviewNote
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_TRIES = 12
_PAUSE = 0.3
"""Seconds by which the pause after a lost race grows, at most."""
_PATIENCE = 60.0
"""Seconds to wait for another sync of this clone; one of them may wait for a password."""


class SyncResult(NamedTuple):
    """What a sync has done."""

    remote: str
    branch: str
    """The branch at the remote."""
    received: int = 0
    """Commits that came."""
    how: str = ""
    """How they came: forward, replayed (ours were put upon theirs), merged; "" where none came."""
    sent: int = 0
    """Commits that went."""
    waiting: int = 0
    """Commits that the remote's branch does not have yet."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    rescue: str = ""
    """The ref that keeps what was replayed as it was before."""
    reviews: tuple[ReviewNote, ...] = ()
    inbox: tuple[str, ...] = ()
    """What the inbox did: received, sent."""
    request: MergeRequest | None = None
    """Where commits went that the remote's branch did not take."""
    notes: tuple[Message, ...] = ()
    unreachable: str = ""
    """Why the remote could not be reached, in git's words."""


def sync_with_remote(kb: Workspace, remote: str = "", *, push: bool = True) -> SyncResult:
    """Bring this clone and *remote* (default: that of the branch) together; without *push* nothing is sent.

    This clone learns to merge records, if it could not yet. A remote that cannot be reached just now is no error: what
    is written waits here. Raise NeedsPerson where a person has to decide, and Busy where others were faster every time.
    """
    for transaction in transactions(kb):
        with transaction:
            # what a process that died has left was repaired as the transaction began, or Busy was raised
            driver_setup.install(kb.repository)
    with kb.state.hold_lock("sync", _PATIENCE):
        run = SyncRun(kb, remote)
        for attempt in range(_TRIES):
            try:
                run.fetch()
                run.integrate()
                if not push or run.push():
                    return run.build_result()
            except RemoteUnreachable as error:
                return run.build_result(str(error))
            time.sleep(_PAUSE * (attempt + 1) * int.from_bytes(os.urandom(1), "big") / 255)
        said = msg("others pushed to {remote} each time; what is here waits", remote=run.remote.name)
        raise Busy(said, hint=msg("try again"))


class SyncRun:
    """One sync, step by step; each step may be done again."""

    def __init__(self, kb: Workspace, remote: str = "") -> None:
        """Sync the checked-out branch with *remote*, or with that which the branch has."""
        self._kb = kb
        ref = kb.repository.head().ref
        if not ref:  # somebody has checked out a commit since the sync began
            raise kb.repository.build_detached_error()
        self.remote = RemoteState(kb, ref, remote)
        self._last: IntegrationResult | None = None
        self._unseen: set[Key] = set()
        self._result = SyncResult(self.remote.name, self.remote.branch)
        self._renumbered: dict[str, RenumberedRecord] = {}
        self._reviews: dict[str, ReviewNote] = {}

    def fetch(self) -> None:
        """Fetch everything of the remote's that is synced; nothing that a person sees moves."""
        self.remote.fetch()

    def integrate(self) -> None:
        """Take in what was fetched, all of it or nothing."""
        built = self._last.plan.new if self._last else ""
        self._last = last = integrate(self._kb, self.remote, built, self._unseen)
        self.remote.refresh_refs()
        self.remote.save_known_refs()
        for one in (*last.plan.renumbered, *last.reviews.renumbered):
            first = self._renumbered.get(one.uid or one.path, one)  # after a lost race: from its very first number
            self._renumbered[one.uid or one.path] = one._replace(old=first.old)
            self._unseen.add((one.scope, one.new))
        self._reviews |= {note.branch: note for note in last.reviews.notes}
        self._result = self._result._replace(
            received=self._result.received + last.received,
            how=last.plan.how or self._result.how,
            rescue=self._result.rescue or last.rescue,
            notes=_deduplicate((*self._result.notes, *last.notes)),
            inbox=(*self._result.inbox, *(["received"] if last.has_received_inbox else [])),
        )

    def push(self) -> bool:
        """Send what the remote has not; return False where somebody else was faster."""
        if self._last is None:
            return True
        attempt = PushAttempt(self._kb, self.remote, self._last.reviews)
        before = attempt.count_waiting()
        is_done = attempt.send()
        self._reviews = {note.branch: note for note in attempt.reviews} | self._reviews
        self._result = self._result._replace(
            sent=self._result.sent + before - attempt.count_waiting(),
            request=attempt.request,
            notes=_deduplicate((*self._result.notes, *attempt.notes)),
            inbox=(*self._result.inbox, *(["sent"] if attempt.has_sent_inbox else [])),
        )
        if is_done:
            self.remote.save_known_refs()
        return is_done

    def build_result(self, unreachable: str = "") -> SyncResult:
        """Return what was done so far."""
        head = self._kb.repository.head().oid
        return self._result._replace(
            waiting=count_commits(self._kb.repository, head, self.remote.find_last_seen_tip()),
            unreachable=unreachable,
            renumbered=tuple(self._renumbered.values()),
            reviews=tuple(self._reviews.values()),
            inbox=tuple(dict.fromkeys(self._result.inbox)),
        )


def _deduplicate(notes: Sequence[Message]) -> tuple[Message, ...]:
    """Return every sentence once."""
    return tuple({str(note): note for note in notes}.values())
