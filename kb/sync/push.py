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
from kb.git.git_log import count_commits, is_ancestor, list_commits, resolve_tree
from kb.git.remote import RACED, REFUSED, SENT, RefUpdate, RefUpdateResult, push_refs
from kb.git.repository import format_commit_message
from kb.i18n import Message, msg
from kb.records.record_paths import INBOX, REJECTED
from kb.sync.decide_review import build_push_options, build_request_command
from kb.sync.integrate import find_free_name
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

    def __init__(self, kb: Workspace, tracked: RemoteState, sharing: ReviewSync) -> None:
        """Send to the remote of *tracked*; *sharing* knows what is to become of the reviews."""
        self._kb = kb
        self._tracked = tracked
        self._sharing = sharing
        self.request: MergeRequest | None = None
        self.reviews: list[ReviewNote] = []
        self.notes: list[Message] = []
        self.inbox_went = False

    def send(self) -> bool:
        """Send everything; return False where somebody else was faster."""
        return self._send_branch() and self._send_other_refs()

    # the branch

    def _send_branch(self) -> bool:
        repository, tracked = self._kb.repository, self._tracked
        head, tip = repository.head(), tracked.find_tip()
        if head.ref != tracked.ref or head.oid == tip or not is_ancestor(repository, tip or head.oid, head.oid):
            return head.ref != tracked.ref or head.oid == tip
        if not tip and not tracked.can_create_branch():
            command = f"git push --set-upstream {tracked.remote} {tracked.branch}"
            self.notes.append(msg("{remote} has no branch {branch}: {command}", remote=tracked.remote,
                                  branch=tracked.branch, command=command))  # fmt: skip
            return True
        (answer,) = push_refs(repository, tracked.remote, [RefUpdate(_HEADS + tracked.branch, head.oid)])
        if answer.outcome == REFUSED:
            return self._push_request_branch(head.oid, tip, answer)
        if answer.outcome == RACED:
            return False
        tracked.note_moved_refs([(f"heads/{tracked.branch}", head.oid)])
        return True

    def _push_request_branch(self, ours: str, tip: str, refused: RefUpdateResult) -> bool:
        """Put the commits on the branch for requests, which only ever moves on."""
        repository, tracked = self._kb.repository, self._tracked
        name = self._name_request_branch()
        stands = tracked.find_request_tip(name)
        new = stands if is_ancestor(repository, ours, stands) else ours
        if new == ours and stands and not is_ancestor(repository, stands, ours):
            words = format_commit_message(f"Bring {name} up to date", "", {"Kb-Op": "sync"})
            new = repository.commit_tree(resolve_tree(repository, ours), [stands, ours], words)
        if new != stands:
            options = build_push_options(self._tracked.url, tracked.branch)
            (answer,) = push_refs(repository, tracked.remote, [RefUpdate(_HEADS + name, new)], options)
            if answer.outcome == RACED:
                return False
            if answer.outcome == REFUSED:
                raise NeedsPerson(
                    msg("{remote} takes neither {branch} nor {other}: {reason}", remote=tracked.remote,
                        branch=tracked.branch, other=name, reason=answer.reason or refused.reason),
                    hint=msg("ask who looks after {remote} to let you push to {other}", remote=tracked.remote,
                             other=name),
                )  # fmt: skip
            tracked.note_moved_refs([(f"sync/{name.removeprefix(REQUESTS)}", new)])
        self.request = self._build_request(name, ours, tip, refused.reason)
        return True

    def _build_request(self, name: str, ours: str, tip: str, reason: str) -> MergeRequest:
        own = list_commits(self._kb.repository, ours, tip)
        subjects = [commit.message.partition("\n")[0] for commit in own]
        title = subjects[0] if len(subjects) == 1 else f"Bring {len(subjects)} commits of the knowledge base"
        body = "\n".join(f"- {subject}" for subject in subjects)
        command = build_request_command(self._tracked.url, name, self._tracked.branch, title, body)
        return MergeRequest(name, len(own), reason, shlex.join(command))

    def _name_request_branch(self) -> str:
        """Return the branch that is this clone's own: of who works in it, and a mark of where it is."""
        repository = self._kb.repository
        said = repository.git("var", "GIT_AUTHOR_IDENT", check=False).decode("utf-8", "replace")
        address = said.rpartition("<")[2].partition(">")[0]
        who = slugify(address.partition("@")[0]) if "@" in address else slugify(os.uname().nodename)
        place = "\0".join((os.uname().nodename, os.path.realpath(repository.common_dir), self._tracked.branch))
        return f"{REQUESTS}{who}-{sha256(os.fsencode(place)).hexdigest()[:6]}"

    # the others

    def _send_other_refs(self) -> bool:
        """Send refs of kb's own, and the reviews, apart: a remote may take the ones and not the others."""
        groups = (
            [*self._list_inbox_updates(), *self._list_rejected_updates()],
            self._sharing.list_ref_updates(self._tracked.find_tip()),
        )
        return all(self._send_ref_updates(wishes) for wishes in groups)

    def _send_ref_updates(self, wishes: Sequence[RefUpdate]) -> bool:
        answers = push_refs(self._kb.repository, self._tracked.remote, wishes)
        moved: list[tuple[str, str]] = []
        for wish, answer in zip(wishes, answers, strict=True):
            if answer.outcome == REFUSED:
                said = msg("{remote} does not take {ref}: {reason}", remote=self._tracked.remote, ref=wish.ref,
                           reason=answer.reason)  # fmt: skip
                self.notes.append(said)
            elif answer.outcome != RACED:
                moved.append((_name_tracked_ref(wish.ref), wish.new))
                self._note_sent(wish, answer)
        self._tracked.note_moved_refs(moved)
        return all(answer.outcome != RACED for answer in answers)

    def _note_sent(self, wish: RefUpdate, answer: RefUpdateResult) -> None:
        self.inbox_went |= wish.ref == INBOX
        if wish.ref.startswith(_HEADS) and answer.outcome == SENT:
            said = msg("sent") if wish.new else msg("decided here, and closed at {remote}", remote=self._tracked.remote)
            self.reviews.append(ReviewNote(wish.ref.removeprefix(_HEADS), said))

    def _list_inbox_updates(self) -> list[RefUpdate]:
        ours, theirs = self._kb.repository.resolve_ref(INBOX), self._tracked.find_inbox_tip()
        is_news = ours != theirs and (not theirs or is_ancestor(self._kb.repository, theirs, ours))
        return [RefUpdate(INBOX, ours)] if ours and is_news else []

    def _list_rejected_updates(self) -> list[RefUpdate]:
        ours, theirs = self._tracked.list_rejected()
        names, known = set(theirs), set(theirs.values())
        wishes: list[RefUpdate] = []
        for name, tip in ours.items():
            if tip not in known:
                free = find_free_name(name, names)
                names.add(free)
                wishes.append(RefUpdate(REJECTED + free, tip))
        return wishes

    def count_waiting(self) -> int:
        """Return how many commits the remote's branch does not have yet."""
        return count_commits(self._kb.repository, self._kb.repository.head().oid, self._tracked.find_tip())


def _name_tracked_ref(ref: str) -> str:
    """Return how a ref of the remote is called below the folder of what is known of it."""
    return ref.removeprefix(_HEADS).removeprefix(_FOLDER).removeprefix("kb/")
