"""Submit candidates to the gate: the one entry for every door and feature."""

from __future__ import annotations

from collections.abc import Sequence

from kb.records.model import Candidate, Verdict
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing.group_commit import QueuedWriter, WriteRequest, wait_for_other_writer

if TYPE_CHECKING:
    from kb.workspace import Workspace


def submit(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False, decided: bool = False
) -> list[Verdict]:
    """Write *candidates* as one commit and return their verdicts; see `KnowledgeBase.write`.

    While another process writes, this one waits for it before most of kb is loaded.
    """
    waiting = QueuedWriter(kb, WriteRequest(candidates, folder, decided=decided))
    if dry_run or (verdicts := wait_for_other_writer(kb, waiting)) is None:
        kb.start_scan_ahead()
        landed: list[Verdict] = []
        if not dry_run and kb.state.list_spooled():  # usually nothing is, and what would land it is not loaded
            from kb.capture.flush_spool import flush_spooled_jobs

            landed = flush_spooled_jobs(kb)
        from kb.writing.pipeline import write

        verdicts = write(kb, candidates, folder=folder, dry_run=dry_run, queued_writer=waiting, decided=decided)
        unread = [one for one in landed if one.spooled and one.verdict == "refused"]
        if verdicts and unread:
            reasons = (*verdicts[0].reasons, *(reason for one in unread for reason in one.reasons))
            verdicts = [verdicts[0]._replace(reasons=reasons), *verdicts[1:]]
    if dry_run or not any(verdict.verdict == "refused" for verdict in verdicts):
        return verdicts
    from kb.capture.refusals import keep_declined

    return keep_declined(kb, candidates, verdicts, folder)
