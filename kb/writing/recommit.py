"""Commit again what a person's commit has undone unknowingly: see `dropped`."""

from __future__ import annotations

from kb.git import dropped_records
from kb.git.repository import Head, RefMove, format_commit_message
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing.publish import publish_moves

if TYPE_CHECKING:
    from kb.workspace import Workspace


def recommit_undone(kb: Workspace, head: Head) -> Head:
    """Commit again what was undone in *head* and return what is checked out then; to be called under the lock.

    Raise LostRace where somebody else moves the branch meanwhile.
    """
    changes = dropped_records.find_undone_changes(kb)
    if not changes:
        dropped_records.forget_undone(kb)
        return head
    subject = "Put back what a git command beside kb had dropped"
    body = "\n".join(f"- {path}" for path in sorted(changes))
    with kb.state.open_stage() as stage:
        files = {path: now for path, (_, now) in changes.items()}
        commit = kb.repository.build_commit(
            head.oid, files, format_commit_message(subject, body, {"Kb-Op": "restored"}), stage=stage
        )
    publish_moves(kb, head, [RefMove(head.ref, commit, head.oid)], changes, f"kb: {subject}")
    there = kb.repository.list_files(commit, CONTENT)
    dropped_records.note_put_back(kb, [(path, there.get(path, "")) for path in changes])
    dropped_records.forget_undone(kb)
    return head._replace(oid=commit)
