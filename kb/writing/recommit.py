"""Commit again what a person's commit has undone unknowingly: see `dropped`."""

from __future__ import annotations

from kb.git import dropped_records
from kb.git.repository import Head, Move, message
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing.publish import publish

if TYPE_CHECKING:
    from kb.workspace import Workspace


def commit_again(kb: Workspace, head: Head) -> Head:
    """Commit again what was undone in *head* and return what is checked out then; to be called under the lock.

    Raise LostRace where somebody else moves the branch meanwhile.
    """
    changes = dropped_records.taken_out(kb)
    if not changes:
        dropped_records.forget_undone(kb)
        return head
    subject = "Put back what a git command beside kb had dropped"
    body = "\n".join(f"- {path}" for path in sorted(changes))
    with kb.state.stage() as stage:
        files = {path: now for path, (_, now) in changes.items()}
        commit = kb.repository.build(head.oid, files, message(subject, body, {"Kb-Op": "restored"}), stage=stage)
    publish(kb, head, [Move(head.ref, commit, head.oid)], changes, f"kb: {subject}")
    there = kb.repository.files(commit, CONTENT)
    dropped_records.note_put_back(kb, [(path, there.get(path, "")) for path in changes])
    dropped_records.forget_undone(kb)
    return head._replace(oid=commit)
