"""Open reviews, two ways: what others opened comes, what was opened here goes, what was decided is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import KbError
from kb.git import revisions
from kb.git.objects import diff_trees, is_ancestor, list_commits, resolve_tree
from kb.git.remote import RefUpdate
from kb.git.repository import RefMove, find_free_name, format_commit_message
from kb.i18n import Message, msg
from kb.merge.rebase import merge_commits
from kb.merge.renumbering import Key, RenumberedRecord, resolve_renaming
from kb.records.record_paths import REJECTED, REVIEWS
from kb.sync.strategy import load_commit_line, replay_commits

if TYPE_CHECKING:
    from kb.workspace import Workspace


class ReviewBranches(NamedTuple):
    """The review branches of this clone and of the remote, by their names behind `kb/review/`."""

    here: Mapping[str, str]
    there: Mapping[str, str]
    before: Mapping[str, str]
    """What the remote had when it was last heard of."""
    checked_out: frozenset[str]


class BranchTips(NamedTuple):
    """The branch below the reviews."""

    old: str
    """Its tip here."""
    new: str
    """Its tip here after this sync."""
    upstream: str
    """Its tip at the remote."""


class ReviewNote(NamedTuple):
    """What became of one review."""

    branch: str
    said: Message


class ReviewSync:
    """What is to become of the review branches."""

    def __init__(self, kb: Workspace, branches: ReviewBranches, tips: BranchTips, remote: str, rescue: str) -> None:
        """Compare *branches* of this clone and of *remote*; old tips are kept under the ref *rescue* and a name."""
        self._kb = kb
        self._branches = branches
        self._tips = tips
        self._remote = remote
        self._rescue = rescue
        self._kept: dict[str, str] = {}
        self._held_back: set[str] = set()
        """Reviews that are not sent as they are."""
        self.here = dict(branches.here)
        """The review branches as they will be here."""
        self.notes: list[ReviewNote] = []
        self.renumbered: list[RenumberedRecord] = []

    def compare(self, elsewhere: Mapping[Key, str]) -> None:
        """Find out what becomes of every review; *elsewhere* has the published ids of the reviews of the remote."""
        branches = self._branches
        for name in sorted({*branches.here, *branches.there}):
            here, there = branches.here.get(name, ""), branches.there.get(name, "")
            if here and name in branches.checked_out and here != there:
                self._leave_checked_out(name, here, there)
            elif not here:
                self._receive_review(name, there)
            elif not there:
                self._resolve_local_only(name, here, elsewhere)
            elif here != there:
                self._resolve_both_sides(name, here, there, elsewhere)

    def _note(self, name: str, said: Message) -> None:
        self.notes.append(ReviewNote(f"kb/review/{name}", said))

    def _hold_back(self, name: str, said: Message) -> None:
        self._held_back.add(name)
        self._note(name, said)

    # one review

    def _leave_checked_out(self, name: str, here: str, there: str) -> None:
        """Leave a branch where it is that a work tree has; what is new on it may go."""
        is_new = not there and name not in self._branches.before
        if not is_new and not is_ancestor(self._kb.repository, there, here):
            self._hold_back(name, msg("it is checked out, and left as it is"))

    def _receive_review(self, name: str, there: str) -> None:
        """Take over a review of the remote, unless it was decided already."""
        if self._is_decided(there):
            return
        before = self._branches.before.get(name)
        if before is None:
            self.here[name] = there
            self._note(name, msg("received"))
        elif before != there:
            self.here[name] = there
            self._note(name, msg("it has changed at {remote} and was fetched again", remote=self._remote))
        elif not is_ancestor(self._kb.repository, there, self._tips.new):
            command = f"git push {self._remote} --delete kb/review/{name}"
            self._note(name, msg("deleted here and open at {remote}: {command}", remote=self._remote, command=command))

    def _resolve_local_only(self, name: str, here: str, elsewhere: Mapping[Key, str]) -> None:
        if name not in self._branches.before:
            if not is_ancestor(self._kb.repository, here, self._tips.upstream):
                self._rebuild_review(name, here, elsewhere)
        elif self._is_decided(here):
            del self.here[name]
            self._note(name, msg("decided at {remote}, and closed here", remote=self._remote))
        else:
            said = msg(
                "closed at {remote} without its changes; kept here: kb review reject {id}",
                remote=self._remote,
                id=f"kb/review/{name}",
            )
            self._hold_back(name, said)

    def _resolve_both_sides(self, name: str, here: str, there: str, elsewhere: Mapping[Key, str]) -> None:
        repository = self._kb.repository
        if is_ancestor(repository, there, here):
            return
        if is_ancestor(repository, here, there):
            self.here[name] = there
            self._note(name, msg("updated"))
            return
        if is_ancestor(repository, revisions.find_merge_base(self._kb, here, there), self._tips.new):
            self._rebuild_review(name, here, elsewhere)  # two reviews of one name, not two versions of one
        if name in self.here:
            self._merge_versions(name, here, there)
        else:
            self.here[name] = there

    def _merge_versions(self, name: str, here: str, there: str) -> None:
        """Merge both versions of a review."""
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

    def _rebuild_review(self, name: str, here: str, elsewhere: Mapping[Key, str]) -> None:
        """Put a review that nobody has seen yet upon the new tip, where it cannot stay as it is."""
        kb, new = self._kb, self._tips.new
        own = list_commits(kb.repository, here, self._tips.old, new)
        if not own or not own[0].parents:
            return
        line = load_commit_line(kb, own)
        base = revisions.find_merge_base(kb, here, new)
        more = line.read_added_records(kb)
        renaming = resolve_renaming(kb, base=base, there=new, ours=here, elsewhere=elsewhere, more=more)
        renumbered = renaming.renumbered
        if is_ancestor(kb.repository, own[0].parents[0], new) and not renumbered:
            return
        rebuilt = None
        if line.is_written_by_kb(kb):
            rebuilt = replay_commits(kb, line, new, renaming, (self._remote, f"kb/review/{name}"))
        if rebuilt is None or rebuilt.unmerged or not rebuilt.made:
            self._hold_back(name, msg("its base has moved: a person has to look at it"))
            return
        self.renumbered += renumbered
        self._kept[name] = here
        # the branch is called by the number of its record: D004-x becomes D007-x
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
        """Return whether the remote's branch has all that *tip* says, or a person has rejected it."""
        repository, upstream = self._kb.repository, self._tips.upstream
        if is_ancestor(repository, tip, upstream):
            return True
        rejected = (REJECTED.rstrip("/"), f"refs/kb/remotes/{self._remote}/rejected")
        if repository.git("for-each-ref", "--count=1", "--contains", tip, *rejected).strip():
            return True
        base = revisions.find_merge_base(self._kb, tip, upstream) if upstream else ""
        if not base:
            return False
        before, after, there = (resolve_tree(repository, commit) for commit in (base, tip, upstream))
        own, rest = diff_trees(repository, [(before, after), (there, after)])
        return bool(own) and not {one.name for one in own} & {one.name for one in rest}

    # what moves

    def list_moves(self) -> list[RefMove]:
        """Return the moves of refs that make it so here."""
        was, now = self._branches.here, self.here
        names = sorted(name for name in {*was, *now} if was.get(name) != now.get(name))
        kept = [RefMove(f"{self._rescue}-{name}", tip, "") for name, tip in self._kept.items()]
        return [*(RefMove(REVIEWS + name, now.get(name, ""), was.get(name, "")) for name in names), *kept]

    def list_ref_updates(self, upstream: str) -> list[RefUpdate]:
        """Return which review branches are to move at the remote, whose own branch has the tip *upstream* by now."""
        repository = self._kb.repository
        updates: list[RefUpdate] = []
        for name, tip in sorted(self.here.items()):
            if name in self._held_back or tip == self._branches.there.get(name, ""):
                continue
            base = revisions.find_merge_base(self._kb, tip, self._tips.new)
            if base and is_ancestor(repository, base, upstream) and base != tip:
                updates.append(RefUpdate(REVIEWS + name, tip))
        for name, there in sorted(self._branches.there.items()):
            is_gone = name in self._branches.before and name not in self.here
            if is_gone and (is_ancestor(repository, there, upstream) or self._is_decided(there)):
                updates.append(RefUpdate(REVIEWS + name, "", there))
        return updates
