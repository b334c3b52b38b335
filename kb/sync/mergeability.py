"""Can an open review still be accepted? The branch below it may have moved, or another decision come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.errors import KbError, NeedsPerson
from kb.git import revisions
from kb.git.git_log import differences, tree_of
from kb.i18n import Message, msg
from kb.merge.merge_commits import joined
from kb.records.model import Record, Status
from kb.writing.reviews import Review

if TYPE_CHECKING:
    from kb.workspace import Workspace


def judged(kb: Workspace, reviews: Sequence[Review]) -> list[Review]:
    """Return *reviews*, each with what keeps it from being accepted."""
    kb.fresh()
    head = kb.repository.head().oid
    return [review._replace(standing=kb.words(_standing(kb, review, head))) for review in reviews]


def _standing(kb: Workspace, review: Review, head: str) -> Message:
    if found := overtaken(kb, review):
        old, new = found
        return msg("obsolete: [{old}] was replaced by [{new}]", old=old.scoped_id, new=new.scoped_id)
    return msg("base moved") if _has_moved(kb, review, head) else msg("")


def overtaken(kb: Workspace, review: Review) -> tuple[Record, Record] | None:
    """Return a record that *review* is about and what has replaced it meanwhile; None where nothing has."""
    scope, uid = review.record.scope, review.record.uid
    for record_id in review.against:
        named = [record for record in kb.index.named(record_id) if record.scope == scope]
        for old in named if all(record.status == Status.SUPERSEDED for record in named) else ():
            for new, _ in kb.index.pointing_to(record_id, "supersedes"):
                if new.scope == scope and new.uid != uid:
                    return old, new
    return None


def refuse_overtaken(kb: Workspace, review: Review) -> None:
    """Raise NeedsPerson where another decision has made *review* obsolete."""
    if found := overtaken(kb, review):
        old, new = found
        raise NeedsPerson(
            msg("[{old}] was replaced by [{new}] “{title}” since this review was opened: it is obsolete",
                old=old.scoped_id, new=new.scoped_id, title=new.title),
            hint=msg("close it: kb review reject {id} — if it is to replace [{new}] now, write it again",
                     id=review.record.scoped_id, new=new.scoped_id),
        )  # fmt: skip


def _has_moved(kb: Workspace, review: Review, head: str) -> bool:
    """Return whether *review* cannot be merged any more without a person."""
    repository = kb.repository
    base = revisions.common(kb, head, review.tip)
    if not base:
        return True
    before, here, there = (tree_of(repository, commit) for commit in (base, head, review.tip))
    ours, theirs = differences(repository, [(before, here), (before, there)])
    if {one.name for one in ours}.isdisjoint(one.name for one in theirs):
        return False
    try:
        return bool(joined(kb, head, review.tip, ("HEAD", review.branch)).conflicts)
    except KbError:
        return True
