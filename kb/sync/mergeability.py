"""Can an open review still be accepted? The branch below it may have moved, or another decision come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.errors import KbError, NeedsPerson
from kb.git import revisions
from kb.git.git_log import diff_trees, resolve_tree
from kb.i18n import Message, msg
from kb.merge.rebase import merge_commits
from kb.records.model import Record, Status
from kb.writing.reviews import Review

if TYPE_CHECKING:
    from kb.workspace import Workspace


def assess_reviews(kb: Workspace, reviews: Sequence[Review]) -> list[Review]:
    """Return *reviews*, each with what keeps it from being accepted."""
    kb.sync_index()
    head = kb.repository.head().oid
    return [review._replace(standing=kb.localise(_describe_standing(kb, review, head))) for review in reviews]


def _describe_standing(kb: Workspace, review: Review, head: str) -> Message:
    if found := find_replacement(kb, review):
        old, new = found
        return msg("obsolete: [{old}] was replaced by [{new}]", old=old.scoped_id, new=new.scoped_id)
    return msg("base moved") if _has_base_moved(kb, review, head) else msg("")


def find_replacement(kb: Workspace, review: Review) -> tuple[Record, Record] | None:
    """Return a record that *review* is about and what has replaced it meanwhile; None where nothing has."""
    scope, uid = review.record.scope, review.record.uid
    for record_id in review.against:
        named = [record for record in kb.index.find_by_id(record_id) if record.scope == scope]
        for old in named if all(record.status == Status.SUPERSEDED for record in named) else ():
            for new, _ in kb.index.find_referrers(record_id, "supersedes"):
                if new.scope == scope and new.uid != uid:
                    return old, new
    return None


def refuse_obsolete_review(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson where another decision has made *review* obsolete."""
    if found := find_replacement(kb, review):
        old, new = found
        raise NeedsPerson(
            msg("[{old}] was replaced by [{new}] “{title}” since this review was opened: it is obsolete",
                old=old.scoped_id, new=new.scoped_id, title=new.title),
            hint=msg("close it: kb review reject {id} — if it is to replace [{new}] now, write it again",
                     id=review.record.scoped_id, new=new.scoped_id),
        )  # fmt: skip


def _has_base_moved(kb: Workspace, review: Review, head: str) -> bool:
    """Return whether *review* cannot be merged any more without a person."""
    repository = kb.repository
    base = revisions.find_merge_base(kb, head, review.tip)
    if not base:
        return True
    before, here, there = (resolve_tree(repository, commit) for commit in (base, head, review.tip))
    ours, theirs = diff_trees(repository, [(before, here), (before, there)])
    if {one.name for one in ours}.isdisjoint(one.name for one in theirs):
        return False
    try:
        return bool(merge_commits(kb, head, review.tip, ("HEAD", review.branch)).conflicts)
    except KbError:
        return True
