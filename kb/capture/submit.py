"""Hand candidates in: the way in as every door and feature takes it."""

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
        landed = _flush_spool(kb) if not dry_run and kb.state.list_spooled() else []
        from kb.writing.pipeline import write

        verdicts = write(kb, candidates, folder=folder, dry_run=dry_run, waiting=waiting, decided=decided)
        verdicts = _add_spool_reasons(verdicts, landed)
    if dry_run or not any(verdict.verdict == "refused" for verdict in verdicts):
        return verdicts
    from kb.capture.refusals import keep_declined

    return keep_declined(kb, candidates, verdicts, folder)


def _flush_spool(kb: Workspace) -> list[Verdict]:
    """Write what waits in the spool; mostly nothing does, and what would land it is not loaded."""
    from kb.capture.flush_spool import flush_spooled_jobs

    return flush_spooled_jobs(kb)


def _add_spool_reasons(verdicts: list[Verdict], landed: Sequence[Verdict]) -> list[Verdict]:
    """Return *verdicts*, the first of which tells of what *landed* and could not be read."""
    bad = [
        reason for verdict in landed if verdict.spooled and verdict.verdict == "refused" for reason in verdict.reasons
    ]
    return [verdicts[0]._replace(reasons=(*verdicts[0].reasons, *bad)), *verdicts[1:]] if bad and verdicts else verdicts
