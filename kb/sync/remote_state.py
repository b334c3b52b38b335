"""What this clone knows of a remote: what it fetched, under refs of its own, and what it had heard of it before."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.errors import GitFailed
from kb.files import json_bytes, read_if_exists, write_atomic
from kb.git import remote as far
from kb.git.repository import LostRace, RefMove
from kb.i18n import msg
from kb.merge.renumbering import Key
from kb.records.record_paths import REJECTED, REVIEWS
from kb.sync.shared_reviews import ReviewBranches
from kb.sync.strategy import REQUESTS, Upstream
from kb.writing.reviews import list_reviews

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_FILE = "remotes.json"
"""Remote → what it had when its news were last taken in: {"heads": {branch: commit}, "reviews": {name: commit}}."""


class RemoteState:
    """One remote, and the branch of it that belongs to the one that is checked out."""

    def __init__(self, kb: Workspace, ref: str, remote: str) -> None:
        """Choose the remote for the branch *ref*: *remote*, else the branch's own, else origin or the only one."""
        self._kb = kb
        self.ref = ref
        settings = far.read_remote_settings(kb.repository)
        own = f"branch.{ref.removeprefix('refs/heads/')}"
        configured = settings.get(f"{own}.remote", "")
        self.remote = remote or (configured if configured != "." else "") or _choose_default_remote(settings)
        self.url = settings.get(f"remote.{self.remote}.url", "")
        if not self.url:
            hint = msg("git remote add {remote} URL", remote=self.remote)
            raise GitFailed(msg("there is no remote {remote}", remote=self.remote), hint=hint)
        merge = settings.get(f"{own}.merge", "") if configured == self.remote else ""
        self.is_configured = bool(merge)
        self.branch = (merge or ref).removeprefix("refs/heads/")
        self.folder = f"refs/kb/remotes/{self.remote}"
        self._refs: dict[str, tuple[str, str]] = {}

    # what was fetched

    def fetch(self) -> None:
        """Fetch the branch, the reviews, what was rejected, the inbox, and nothing else."""
        more = [
            f"+{REVIEWS}*:{self.folder}/review/*",
            f"+refs/kb/rejected/*:{self.folder}/rejected/*",
            f"+refs/kb/inbox*:{self.folder}/inbox*",
            f"+refs/heads/{REQUESTS}*:{self.folder}/sync/*",
        ]
        is_there = far.fetch_refs(
            self._kb.repository, self.remote, f"+refs/heads/{self.branch}:{self._name_head_ref()}", more
        )
        self.refresh_refs()
        if not is_there:
            self.note_moved_refs([(f"heads/{self.branch}", "")])

    def refresh_refs(self) -> None:
        """See where the refs of kb stand; the answers below are of this moment."""
        form = "%(refname)%00%(objectname)%00%(worktreepath)"
        where = (REVIEWS.rstrip("/"), "refs/kb")
        rows = self._kb.repository.git("for-each-ref", f"--format={form}", *where).decode("utf-8", "surrogateescape")
        self._refs = {ref: (oid, place) for ref, oid, place in (row.split("\0") for row in rows.split("\n") if row)}

    def _name_head_ref(self) -> str:
        return f"{self.folder}/heads/{self.branch}"

    def _find_oid(self, ref: str) -> str:
        return self._refs.get(ref, ("", ""))[0]

    def _list_refs_below(self, folder: str) -> dict[str, str]:
        """Return name and commit of the refs below *folder*, which ends with a slash."""
        return {ref.removeprefix(folder): oid for ref, (oid, _) in self._refs.items() if ref.startswith(folder)}

    def find_tip(self) -> str:
        """Return where the branch stands at the remote; "" where it has none."""
        return self._find_oid(self._name_head_ref())

    def find_last_seen_tip(self) -> str:
        """Return where the branch stood when this clone, or git in it, last saw it."""
        return self.find_tip() or self._kb.repository.resolve_ref(f"refs/remotes/{self.remote}/{self.branch}")

    def find_inbox_tip(self) -> str:
        """Return the inbox of the remote, or ""."""
        return self._find_oid(f"{self.folder}/inbox")

    def find_request_tip(self, name: str) -> str:
        """Return where the branch *name* for requests stands at the remote, or ""."""
        return self._find_oid(f"{self.folder}/sync/{name.removeprefix(REQUESTS)}")

    def list_rejected(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return what was rejected as this clone has it and as the remote has it."""
        return self._list_refs_below(REJECTED), self._list_refs_below(f"{self.folder}/rejected/")

    def has_ref_prefix(self, start: str) -> bool:
        """Return whether a ref begins with *start*."""
        return any(ref.startswith(start) for ref in self._refs)

    def build_upstream(self) -> Upstream:
        """Return the branch as it was fetched."""
        tip = self.find_tip()
        usual = f"refs/remotes/{self.remote}/{self.branch}"
        name = usual.removeprefix("refs/remotes/") if self._kb.repository.resolve_ref(usual) == tip else tip[:12]
        return Upstream(name, tip, self._load_known_refs("heads").get(self.branch, ""), self._collect_taken_ids())

    def _collect_taken_ids(self) -> Mapping[Key, str]:
        folder = f"{self.folder}/review/"
        found = list_reviews(self._kb, folder) if self._list_refs_below(folder) else []
        return {(review.record.scope, review.record.id): review.record.uid for review in found if review.record.uid}

    def collect_review_branches(self) -> ReviewBranches:
        """Return the review branches here and there."""
        busy = {ref.removeprefix(REVIEWS) for ref, (_, place) in self._refs.items() if place}
        return ReviewBranches(
            self._list_refs_below(REVIEWS),
            self._list_remote_reviews(),
            self._load_known_refs("reviews"),
            frozenset(busy),
        )

    def _list_remote_reviews(self) -> dict[str, str]:
        return self._list_refs_below(f"{self.folder}/review/")

    def can_create_branch(self) -> bool:
        """Return whether the branch, which the remote has not, may be sent there unasked.

        Not where it was there once, nor beside others that the remote has unless it is configured so.
        """
        if self._load_known_refs("heads").get(self.branch):
            return False
        return self.is_configured or not self._kb.repository.list_refs(f"refs/remotes/{self.remote}")

    def note_moved_refs(self, moves: Sequence[tuple[str, str]]) -> None:
        """Take notice that the remote's refs, below our folder, stand at these commits now; "" for one that went."""
        known = ((f"{self.folder}/{name}", new) for name, new in moves)
        own = [RefMove(ref, new, old) for ref, new in known if (old := self._find_oid(ref)) != new]
        if own:
            with contextlib.suppress(LostRace):  # git, or another sync of this clone, has taken notice already
                self._kb.repository.update_refs(own, "kb: sync")
            self.refresh_refs()

    # what was heard before

    def _load_known_refs(self, what: str) -> dict[str, str]:
        found = self._load().get(self.remote, {})
        rows = found.get(what) if isinstance(found, dict) else None
        return {str(name): str(oid) for name, oid in rows.items()} if isinstance(rows, dict) else {}

    def _load(self) -> dict[str, Any]:
        try:
            found = json.loads(read_if_exists(self._path()) or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _path(self) -> str:
        return os.path.join(self._kb.repository.private, _FILE)

    def save_known_refs(self) -> None:
        """Keep what the remote has, now that this clone has taken it in.

        A review that it has no more and that is still open here stays known, so that it is not taken for a new one.
        """
        known = self._load()
        tip = self.find_tip()
        heads = {**self._load_known_refs("heads"), **({self.branch: tip} if tip else {})}
        here = self._list_refs_below(REVIEWS)
        kept = {name: oid for name, oid in self._load_known_refs("reviews").items() if name in here}
        value = {**known, self.remote: {"heads": heads, "reviews": {**kept, **self._list_remote_reviews()}}}
        if value != known:
            write_atomic(self._path(), json_bytes(value, indent=1))


def _choose_default_remote(settings: Mapping[str, str]) -> str:
    """Return the remote that is meant where none is named: origin, or the only one."""
    names = [key.removeprefix("remote.").removesuffix(".url") for key in settings if far.IS_URL.fullmatch(key)]
    if not names:
        raise GitFailed(msg("there is no remote"), hint=msg("git remote add {remote} URL", remote="origin"))
    return "origin" if "origin" in names or len(names) > 1 else names[0]
