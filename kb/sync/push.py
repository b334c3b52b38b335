"""What a sync sends: the branch first, then the inbox, the reviews and what was rejected.

A branch that takes no pushes gets its commits by a request: they go to one branch of this clone's own, which moves on
with every sync, and a person opens the request for it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import NeedsPerson
from kb.git.objects import count_commits, is_ancestor, list_commits, resolve_tree
from kb.git.remote import RACED, REFUSED, SENT, RefUpdate, RefUpdateResult, push_refs
from kb.git.repository import format_commit_message
from kb.i18n import Message, msg
from kb.records.record_paths import INBOX
from kb.sync.decide_review import build_push_options, build_request_command
from kb.sync.remote_state import RemoteState
from kb.sync.shared_reviews import ReviewNote, ReviewSync
from kb.sync.strategy import REQUESTS
from kb.text.segment import slugify

if TYPE_CHECKING:
    from kb.workspace import Workspace

_HEADS, _FOLDER = "refs/heads/", "refs/kb/"


class MergeRequest(NamedTuple):
    """Commits that wait at the remote for somebody to take them into its branch."""

    branch: str
    commits: int
    reason: str
    """Why the remote's branch did not take them, in the remote's words."""
    command: str
    """What opens the request."""


class PushAttempt:
    """One attempt to send what the remote has not."""

    def __init__(self, kb: Workspace, remote: RemoteState, reviews: ReviewSync) -> None:
        """Send to *remote*; *reviews* knows what is to become of the reviews."""
        self._kb = kb
        self._remote = remote
        self._reviews = reviews
        self.request: MergeRequest | None = None
        self.reviews: list[ReviewNote] = []
        self.notes: list[Message] = []
        self.has_sent_inbox = False

    def send(self) -> bool:
        """Send everything; return False where somebody else was faster.

        Refs of kb's own and the reviews go apart: a remote may take the ones and not the others.
        """
        return (
            self._send_branch()
            and self._send_updates(self._list_own_updates())
            and self._send_updates(self._reviews.list_ref_updates(self._remote.find_tip()))
        )

    def count_waiting(self) -> int:
        """Return how many commits the remote's branch does not have yet."""
        return count_commits(self._kb.repository, self._kb.repository.head().oid, self._remote.find_tip())

    # the branch

    def _send_branch(self) -> bool:
        repository, remote = self._kb.repository, self._remote
        head, tip = repository.head(), remote.find_tip()
        if head.ref != remote.ref or head.oid == tip:
            return True
        if not is_ancestor(repository, tip or head.oid, head.oid):
            return False
        if not tip and not remote.can_create_branch():
            command = f"git push --set-upstream {remote.name} {remote.branch}"
            self.notes.append(
                msg(
                    "{remote} has no branch {branch}: {command}",
                    remote=remote.name,
                    branch=remote.branch,
                    command=command,
                )
            )
            return True
        (result,) = push_refs(repository, remote.name, [RefUpdate(_HEADS + remote.branch, head.oid)])
        if result.outcome == REFUSED:
            return self._push_request_branch(head.oid, tip, result)
        if result.outcome == RACED:
            return False
        remote.note_moved_refs([(f"heads/{remote.branch}", head.oid)])
        return True

    def _push_request_branch(self, ours: str, tip: str, refused: RefUpdateResult) -> bool:
        """Put the commits on the branch for requests, which only ever moves on."""
        repository, remote = self._kb.repository, self._remote
        name = self._name_request_branch()
        before = remote.find_request_tip(name)
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
                reason = result.reason or refused.reason
                raise NeedsPerson(
                    msg(
                        "{remote} takes neither {branch} nor {other}: {reason}",
                        remote=remote.name,
                        branch=remote.branch,
                        other=name,
                        reason=reason,
                    ),
                    hint=msg("ask who looks after {remote} to let you push to {other}", remote=remote.name, other=name),
                )
            remote.note_moved_refs([(f"sync/{name.removeprefix(REQUESTS)}", new)])
        subjects = [commit.message.partition("\n")[0] for commit in list_commits(repository, ours, tip)]
        title = subjects[0] if len(subjects) == 1 else f"Bring {len(subjects)} commits of the knowledge base"
        body = "\n".join(f"- {subject}" for subject in subjects)
        command = shlex.join(build_request_command(remote.url, name, remote.branch, title, body))
        self.request = MergeRequest(name, len(subjects), refused.reason, command)
        return True

    def _name_request_branch(self) -> str:
        """Return the branch that is this clone's own: named for who works in it, with a digest of where it is."""
        repository, host = self._kb.repository, os.uname().nodename
        author = repository.git("var", "GIT_AUTHOR_IDENT", check=False).decode("utf-8", "replace")
        address = author.rpartition("<")[2].partition(">")[0]
        who = slugify(address.partition("@")[0] if "@" in address else host)
        clone = "\0".join((host, os.path.realpath(repository.common_dir), self._remote.branch))
        return f"{REQUESTS}{who}-{sha256(os.fsencode(clone)).hexdigest()[:6]}"

    # the other refs

    def _list_own_updates(self) -> list[RefUpdate]:
        """Return how the inbox and what was rejected are to move at the remote."""
        repository = self._kb.repository
        ours, theirs = repository.resolve_ref(INBOX), self._remote.find_inbox_tip()
        is_news = ours and ours != theirs and (not theirs or is_ancestor(repository, theirs, ours))
        updates = [RefUpdate(INBOX, ours)] if is_news else []
        return updates + [RefUpdate(ref, tip) for ref, tip in self._remote.list_rejected_to_send()]

    def _send_updates(self, updates: Sequence[RefUpdate]) -> bool:
        """Send *updates*; return False where somebody else was faster with one of them."""
        remote = self._remote
        results = push_refs(self._kb.repository, remote.name, updates)
        moved: list[tuple[str, str]] = []
        for update, result in zip(updates, results, strict=True):
            if result.outcome == REFUSED:
                self.notes.append(
                    msg(
                        "{remote} does not take {ref}: {reason}",
                        remote=remote.name,
                        ref=update.ref,
                        reason=result.reason,
                    )
                )
            elif result.outcome != RACED:
                # below the folder of what is known of the remote: kb/review/x is review/x, refs/kb/inbox is inbox
                name = update.ref.removeprefix(_HEADS).removeprefix(_FOLDER).removeprefix("kb/")
                moved.append((name, update.new))
                self._note_sent(update, result)
        remote.note_moved_refs(moved)
        return all(result.outcome != RACED for result in results)

    def _note_sent(self, update: RefUpdate, result: RefUpdateResult) -> None:
        self.has_sent_inbox |= update.ref == INBOX
        if update.ref.startswith(_HEADS) and result.outcome == SENT:
            closed = msg("decided here, and closed at {remote}", remote=self._remote.name)
            self.reviews.append(ReviewNote(update.ref.removeprefix(_HEADS), msg("sent") if update.new else closed))
