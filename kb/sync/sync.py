"""Sync with a remote: fetch, integrate, push, and retry if somebody else was faster. Nothing is ever forced.

Published commits are never rewritten. Unpublished commits of kb are replayed on the fetched tip, with a rescue ref to
the old one; if a person's commit is among them, the two lines are merged instead.

The branch is pushed first, then inbox, rejected reviews and open reviews. If the branch takes no pushes, its commits go
to a request branch of this clone, which moves forward with every sync, and a person opens the request for it.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import Busy, NeedsPerson
from kb.git.commit_message import format_commit_message
from kb.git.objects import count_commits, is_ancestor, list_commits, resolve_tree
from kb.git.remote import RACED, REFUSED, SENT, RefUpdate, RemoteUnreachable, push_refs
from kb.i18n import Message, msg
from kb.merge.renumbering import Key, RenumberedRecord
from kb.records.kinds import INBOX, USES
from kb.records.model import Record
from kb.sync.decide_review import build_push_options, build_request_command
from kb.sync.integrate import IntegrationResult, ReviewNote, integrate
from kb.sync.strategy import MERGED, REPLAYED, REQUESTS, RemoteState
from kb.text.segment import slugify
from kb.writing import init_base
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_HEADS = "refs/heads/"
_TRIES = 12
_PAUSE = 0.3
"""Maximum seconds by which the pause after a lost race grows."""
_PATIENCE = 60.0
"""Seconds to wait for another sync of this clone; one of them may wait for a password."""


class MergeRequest(NamedTuple):
    """Commits at the remote that wait to be merged into its branch."""

    branch: str
    commits: int
    reason: str
    """Why the remote's branch did not take them, in the remote's words."""
    command: str
    """The command that opens the request."""


class SyncResult(NamedTuple):
    """The result of a sync."""

    remote: str
    branch: str
    """The branch at the remote."""
    received: int = 0
    """Number of received commits."""
    how: str = ""
    """forward, replayed (ours on top of theirs) or merged; "" if none were received."""
    sent: int = 0
    """Number of sent commits."""
    waiting: int = 0
    """Number of commits that the remote's branch does not have yet."""
    renumbered: tuple[RenumberedRecord, ...] = ()
    rescue: str = ""
    """The ref that keeps the commits before they were replayed."""
    joined: str = ""
    """The remote's commit with which ours were merged or onto which they were replayed, or ""."""
    reviews: tuple[ReviewNote, ...] = ()
    inbox: tuple[str, ...] = ()
    """What the inbox did: received, sent."""
    request: MergeRequest | None = None
    """Where commits went that the remote's branch did not take."""
    notes: tuple[Message, ...] = ()
    records: tuple[Record, ...] = ()
    """The received or changed records, in their current version."""
    unreachable: str = ""
    """Why the remote could not be reached, in git's words."""


def sync_with_remote(kb: Workspace, remote: str = "", *, push: bool = True) -> SyncResult:
    """Sync this clone with *remote* (default: that of the branch); without *push* send nothing.

    Install the merge driver if necessary. An unreachable remote is no error: commits wait here. Raise NeedsPerson if a
    person has to decide, and Busy if others were faster every time.
    """
    for transaction in transactions(kb):
        with transaction:
            # what a process that died has left was repaired as the transaction began, or Busy was raised
            init_base.install_driver(kb.repository)
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
        said = msg("others kept pushing to {remote}; the local commits wait here", remote=run.remote.name)
        raise Busy(said, hint=msg("try again"))


class SyncRun:
    """One sync, step by step; steps can be repeated."""

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
        self._inbox: dict[str, None] = {}
        self._notes: dict[str, Message] = {}
        self._paths: set[str] = set()
        self._request: MergeRequest | None = None

    def fetch(self) -> None:
        """Fetch everything that is synced, without moving anything visible."""
        self.remote.fetch()

    def integrate(self) -> None:
        """Integrate what was fetched, all or nothing."""
        built = self._last.plan.new if self._last else ""
        self._last = last = integrate(self._kb, self.remote, built, self._unseen)
        self.remote.refresh_refs()
        self.remote.save_known_refs()
        for one in (*last.plan.renumbered, *last.reviews.renumbered):
            first = self._renumbered.get(one.uid or one.path, one)  # after a lost race: from its very first number
            self._renumbered[one.uid or one.path] = one._replace(old=first.old)
            self._unseen.add((one.scope, one.new))
        self._reviews |= {note.branch: note for note in last.reviews.notes}
        self._inbox |= {"received": None} if last.has_received_inbox else {}
        self._add_notes(last.notes)
        self._paths |= last.paths
        self._result = self._result._replace(
            received=self._result.received + last.received,
            how=last.plan.how or self._result.how,
            rescue=self._result.rescue or last.rescue,
            joined=self.remote.find_tip() if last.plan.how in (REPLAYED, MERGED) else self._result.joined,
        )

    def _add_notes(self, notes: Iterable[Message]) -> None:
        self._notes |= {str(note): note for note in notes}  # every sentence once

    def push(self) -> bool:
        """Push what the remote lacks; return False if somebody else was faster.

        kb's own refs and the reviews are pushed separately: a remote may accept one and not the other.
        """
        if self._last is None:
            return True
        before, self._request = self._count_waiting(), None
        is_done = (
            self._send_branch()
            and self._send_updates(self._list_own_updates())
            and self._send_updates(self._last.reviews.list_ref_updates(self.remote.find_tip()))
        )
        self._result = self._result._replace(sent=self._result.sent + before - self._count_waiting())
        if is_done:
            self.remote.save_known_refs()
        return is_done

    def _count_waiting(self) -> int:
        return count_commits(self._kb.repository, self._kb.repository.head().oid, self.remote.find_tip())

    def build_result(self, unreachable: str = "") -> SyncResult:
        """Return what was done so far."""
        repository, remote = self._kb.repository, self.remote
        # where kb never fetched the branch, what git itself saw of it last counts
        tip = remote.find_tip() or repository.resolve_ref(f"refs/remotes/{remote.name}/{remote.branch}")
        return self._result._replace(
            waiting=count_commits(repository, repository.head().oid, tip),
            unreachable=unreachable,
            renumbered=tuple(self._renumbered.values()),
            reviews=tuple(self._reviews.values()),
            inbox=tuple(self._inbox),
            request=self._request,
            notes=tuple(self._notes.values()),
            records=tuple(one for one in self._kb.records() if one.path in self._paths) if self._paths else (),
        )

    # the branch

    def _send_branch(self) -> bool:
        repository, remote = self._kb.repository, self.remote
        head, tip = repository.head(), remote.find_tip()
        if head.ref != remote.ref or head.oid == tip:
            return True
        if tip and not is_ancestor(repository, tip, head.oid):
            return False
        if not tip and not remote.can_create_branch():
            command = f"git push --set-upstream {remote.name} {remote.branch}"
            values = {"remote": remote.name, "branch": remote.branch, "command": command}
            self._add_notes([msg("{remote} has no branch {branch}: {command}", **values)])
            return True
        (result,) = push_refs(repository, remote.name, [RefUpdate(_HEADS + remote.branch, head.oid)])
        if result.outcome == REFUSED:
            return self._push_request_branch(head.oid, tip, result.reason)
        if result.outcome == RACED:
            return False
        remote.note_moved_refs([(f"heads/{remote.branch}", head.oid)])
        return True

    def _push_request_branch(self, ours: str, tip: str, refusal: str) -> bool:
        """Push the commits to the request branch, which only moves forward."""
        repository, remote = self._kb.repository, self.remote
        name = self._name_request_branch()
        place = f"sync/{name.removeprefix(REQUESTS)}"
        before = remote.find_oid(place)
        new = before if is_ancestor(repository, ours, before) else ours
        if new == ours and before and not is_ancestor(repository, before, ours):
            message = format_commit_message(f"Bring {name} up to date", "", {"Kb-Op": "sync"})
            new = repository.commit_tree(resolve_tree(repository, ours), [before, ours], message)
        if new != before:
            options = build_push_options(remote.url, remote.branch)
            (result,) = push_refs(repository, remote.name, [RefUpdate(_HEADS + name, new)], options)
            if result.outcome == RACED:
                return False
            if result.outcome == REFUSED:
                values = {"remote": remote.name, "branch": remote.branch, "other": name}
                raise NeedsPerson(
                    msg(
                        "{remote} accepts neither {branch} nor {other}: {reason}",
                        **values,
                        reason=result.reason or refusal,
                    ),
                    hint=msg("ask who looks after {remote} to let you push to {other}", remote=remote.name, other=name),
                )
            remote.note_moved_refs([(place, new)])
        subjects = [commit.message.partition("\n")[0] for commit in list_commits(repository, ours, tip)]
        title = subjects[0] if len(subjects) == 1 else f"Bring {len(subjects)} commits of the knowledge base"
        body = "\n".join(f"- {subject}" for subject in subjects)
        command = shlex.join(build_request_command(remote.url, name, remote.branch, title, body))
        self._request = MergeRequest(name, len(subjects), refusal, command)
        return True

    def _name_request_branch(self) -> str:
        """Return this clone's request branch, named after the user with a digest of its location."""
        repository, host = self._kb.repository, os.uname().nodename
        author = repository.git("var", "GIT_AUTHOR_IDENT", check=False).decode("utf-8", "replace")
        address = author.rpartition("<")[2].partition(">")[0]
        who = slugify(address.partition("@")[0] if "@" in address else host)
        clone = "\0".join((host, os.path.realpath(repository.common_dir), self.remote.branch))
        return f"{REQUESTS}{who}-{sha256(os.fsencode(clone)).hexdigest()[:6]}"

    # the other refs

    def _list_own_updates(self) -> list[RefUpdate]:
        """Return how the inbox, the counts of uses and what was rejected are to move at the remote."""
        repository, updates = self._kb.repository, []
        for ref, name in ((INBOX, "inbox"), (USES, "uses")):
            ours, theirs = repository.resolve_ref(ref), self.remote.find_oid(name)
            if ours and ours != theirs and (not theirs or is_ancestor(repository, theirs, ours)):
                updates.append(RefUpdate(ref, ours))
        return updates + [RefUpdate(ref, tip) for ref, tip in self.remote.list_rejected(is_sent=True)]

    def _send_updates(self, updates: Sequence[RefUpdate]) -> bool:
        """Push *updates*; return False if somebody else was faster with one of them."""
        remote = self.remote
        results = push_refs(self._kb.repository, remote.name, updates)
        moved: list[tuple[str, str]] = []
        sent: dict[str, ReviewNote] = {}
        for update, (outcome, reason) in zip(updates, results, strict=True):
            branch = update.ref.removeprefix(_HEADS)
            if outcome == REFUSED:
                values = {"remote": remote.name, "ref": update.ref, "reason": reason}
                self._add_notes([msg("{remote} does not take {ref}: {reason}", **values)])
            elif outcome != RACED:
                # below the folder of what is known of the remote: kb/review/x is review/x, refs/kb/inbox is inbox
                moved.append((branch.removeprefix("refs/kb/").removeprefix("kb/"), update.new))
                self._inbox |= {"sent": None} if update.ref == INBOX else {}
                if branch != update.ref and outcome == SENT:
                    closed = msg("decided here, and closed at {remote}", remote=remote.name)
                    sent[branch] = ReviewNote(branch, msg("sent") if update.new else closed)
        self._reviews = sent | self._reviews
        remote.note_moved_refs(moved)
        return all(result.outcome != RACED for result in results)
