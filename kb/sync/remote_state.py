"""Remote-tracking state: what this clone fetched, under refs of its own, and what it knew of the remote before."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import GitFailed
from kb.files import json_bytes, read_if_exists, write_atomic
from kb.git.remote import fetch_refs, read_remote_settings
from kb.git.repository import LostRace, RefMove, find_free_name
from kb.i18n import msg
from kb.records.record_paths import REJECTED, REVIEWS
from kb.sync.strategy import REQUESTS, Upstream
from kb.writing.reviews import list_reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FILE = "remotes.json"
"""Remote → what it had when it was last taken in: {"heads": {branch: commit}, "reviews": {name: commit}}."""


class ReviewBranches(NamedTuple):
    """The review branches of this clone and of the remote, by their names behind `kb/review/`."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    before: Mapping[str, str]
    """What the remote had when it was last heard of."""
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
            f"+refs/heads/{REQUESTS}*:{self._folder}/sync/*",
        ]
        refspec = f"+refs/heads/{self.branch}:{self._folder}/heads/{self.branch}"
        is_there = fetch_refs(self._kb.repository, self.name, refspec, more)
        self.refresh_refs()
        if not is_there:
            self.note_moved_refs([(f"heads/{self.branch}", "")])

    def refresh_refs(self) -> None:
        """Read the refs of kb; what is asked below is answered as of this moment."""
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
        """Return the tip of the branch at the remote; "" where it has none."""
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
        """Return whether the branch, which the remote has not, may be sent there unasked.

        Not where it was there once, nor beside others that the remote has unless it is configured so.
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
        except (ValueError, TypeError, AttributeError):  # damaged: as if no remote had been heard of yet
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
