"""Submit candidates to the gate, the one entry for every door and feature; finish spooled and deferred writes."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence

from kb.errors import Busy, GitFailed, IndexFailed, KbError
from kb.files import read_if_exists
from kb.git.repository import QUEUE
from kb.i18n import msg
from kb.records.kinds import PERSONAL_KINDS, sanitise_session_id
from kb.records.model import PROVEN, SAID, TYPED, Candidate, Verdict
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.state_folder import CURSORS
from kb.writing.group_commit import QueuedWriter, WriteRequest, claim_job, has_landed, wait_for_other_writer

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.save_session import SavedSession
    from kb.sessions.active_sessions import ExtractionJob
    from kb.workspace import Workspace


def submit(
    kb: Workspace,
    candidates: Sequence[Candidate],
    *,
    folder: str = "",
    dry_run: bool = False,
    decided: bool = False,
    typed: bool = False,
) -> list[Verdict]:
    """Write *candidates* as one commit and return their verdicts; see `KnowledgeBase.write`.

    While another process writes, this one waits for it before most of kb is loaded.
    """
    proofs: list[str] = [TYPED] * len(candidates) if typed else []
    if not typed and any(candidate.session and candidate.evidence for candidate in candidates):
        from kb.capture.prove_quotes import prove_candidates

        candidates, proofs = prove_candidates(kb, candidates, folder)
    if written := _write_personal(kb, candidates) if not dry_run else {}:
        shared = [number for number in range(len(candidates)) if number not in written]
        others = [candidates[number] for number in shared]
        verdicts = submit(kb, others, folder=folder, decided=decided, typed=typed) if others else []
        return [verdict for _, verdict in sorted({**written, **dict(zip(shared, verdicts, strict=True))}.items())]
    request = WriteRequest(candidates, folder, decided=decided, proofs=proofs)
    queued_writer = QueuedWriter(kb, request)
    written_by_other = None if dry_run else wait_for_other_writer(kb, queued_writer)
    if written_by_other is None:
        verdicts = _write_here(kb, request, queued_writer, dry_run=dry_run)
    else:
        verdicts = written_by_other
    if not dry_run and (PROVEN in proofs or SAID in proofs or _has_known_session(kb, candidates)):
        from kb.capture.handover import close_answered

        close_answered(kb, candidates, verdicts, proofs)
    if dry_run or not any(verdict.verdict == "refused" for verdict in verdicts):
        return verdicts
    from kb.capture.refusals import keep_declined

    return keep_declined(kb, candidates, verdicts, folder)


def _write_here(kb: Workspace, request: WriteRequest, queued_writer: QueuedWriter, *, dry_run: bool) -> list[Verdict]:
    """Write *request* in this process, after the spooled writes; the first verdict also names spool files refused."""
    kb.start_scan_ahead()
    flushed: list[Verdict] = []
    if not dry_run and kb.state.list_spooled():  # the spool is usually empty
        flushed = flush_spooled_jobs(kb)
    from kb.writing.pipeline import write

    verdicts = write(
        kb,
        request.candidates,
        folder=request.folder,
        dry_run=dry_run,
        queued_writer=queued_writer,
        decided=request.decided,
        proofs=request.proofs,
    )
    refused = [verdict for verdict in flushed if verdict.spooled and verdict.verdict == "refused"]
    if verdicts and refused:
        reasons = (*verdicts[0].reasons, *(reason for verdict in refused for reason in verdict.reasons))
        verdicts = [verdicts[0]._replace(reasons=reasons), *verdicts[1:]]
    return verdicts


def _write_personal(kb: Workspace, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    """Write the personal ones of *candidates* to the person's own base, if there is one: position → verdict."""
    personal = _find_personal(kb, candidates)
    if not personal:
        return {}
    from kb.writing.own_base import write_to_own_base

    return dict(zip(personal, write_to_own_base(kb, [candidates[number] for number in personal]), strict=False))


def _has_known_session(kb: Workspace, candidates: Sequence[Candidate]) -> bool:
    """Return whether something is kept of a session that *candidates* name; usually nothing is."""
    sessions = {candidate.session for candidate in candidates} - {""}
    return any(os.path.exists(kb.state.path(CURSORS, f"{sanitise_session_id(one)}.json")) for one in sessions)


# -- what is the person's own ---------------------------------------------------------------------


def _find_personal(kb: Workspace, candidates: Sequence[Candidate]) -> list[int]:
    """Return which of *candidates*, handed in by an agent, are the person's own; [] where no base of theirs is."""
    from kb.state.project import find_own_root, is_agent_shell, is_shared

    if not find_own_root(kb) or not is_shared(kb):
        return []
    from kb.safety.personal_facts import is_about_person

    by_agent = is_agent_shell(kb.environment)
    return [
        number
        for number, one in enumerate(candidates)
        if (by_agent or one.session or one.host) and one.kind in PERSONAL_KINDS and is_about_person(one)
    ]


# -- work of earlier calls ------------------------------------------------------------------------


def flush_pending_work(kb: Workspace) -> list[Verdict]:
    """Write what earlier calls had to spool or put off, and return the verdicts."""
    from kb.capture.save_session import extract_postponed

    return [*flush_spooled_jobs(kb), *extract_postponed(kb)]


def flush_and_save(
    kb: Workspace, job: ExtractionJob, *, archive: bool = True, full: bool = False, answer: str = ""
) -> SavedSession:
    """Write what waits in the spool, then save the transcript of *job*; see `save_session.save`."""
    from kb.capture import save_session

    flush_spooled_jobs(kb)
    return save_session.save(kb, job, archive=archive, full=full, answer=answer)


def save_when_due(kb: Workspace, job: ExtractionJob, *, answer: str = "") -> SavedSession | None:
    """Extract what is new, or put it off when the last extraction is too recent: then a later call takes it along.

    It is put off first in any case, so that a later call takes it up where the extraction is interrupted.
    """
    from kb.capture.save_session import is_due
    from kb.sessions.active_sessions import postpone_job

    postpone_job(kb.state, job)
    return flush_and_save(kb, job, archive=False, answer=answer) if is_due(kb, job.session, job.agent) else None


def flush_spooled_jobs(kb: Workspace) -> list[Verdict]:
    """Do what earlier calls had to spool, oldest first; what still cannot be done stays and holds up nothing else.

    A file that cannot be read, or was begun too often in vain, is set aside; its verdict is `refused` and names it.
    """
    from kb.writing import spool

    landed: list[Verdict] = []
    end = time.monotonic() + QUEUE
    for path in kb.state.list_spooled():
        with claim_job(path) as is_mine:
            try:
                landed += _flush_job(kb, path) if is_mine else []
            except (Busy, GitFailed, IndexFailed, OSError):
                # A locked repository stops all jobs; a file in the way of one job does not hold up the others.
                is_blocked = True
                with contextlib.suppress(GitFailed):
                    is_blocked = kb.repository.find_commit_obstacle() is not None
                if is_blocked or time.monotonic() > end:
                    break
                continue
            except spool.JobTooLong:
                continue
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KbError) as error:
                landed.append(_quarantine_job(kb, path, error))
                continue
        if time.monotonic() > end:
            break
    return landed


def retry_quarantined_jobs(kb: Workspace) -> list[Verdict]:
    """Do what was set aside, each job with all its tries again; what still cannot be done is set aside again."""
    for path in kb.state.list_quarantined():
        kb.state.restore_job(path)
    return flush_spooled_jobs(kb)


def _quarantine_job(kb: Workspace, path: str, error: Exception) -> Verdict:
    from kb.writing import spool

    kept = kb.state.quarantine_job(path)
    spool.delete_tries(path)
    problem = kb.localise(error.message) if isinstance(error, KbError) else str(error)
    reason = msg("a spooled write failed: {problem}; it is kept in {path}", problem=problem, path=kept)
    return Verdict("refused", os.path.basename(path), "", reasons=(kb.localise(reason),), spooled=True)


def _flush_job(kb: Workspace, path: str) -> list[Verdict]:
    """Write what the spooled file *path* holds, unless that was done before, and take the file away."""
    from kb.writing import spool

    data, name = read_if_exists(path), os.path.basename(path)
    if data is None:
        return []
    value = kb.state.unwrap_job(path, json.loads(data.decode()))
    if value is None:
        raise KbError(msg("it does not come from this clone"))
    verdicts: list[Verdict] = []
    # A process may have died between its commit and the removal of the file: the commit says what has landed.
    if not has_landed(kb, name):
        if tries := spool.count_vain_tries(path):
            raise KbError(msg("it was started {n} times and never finished", n=tries))
        with spool.track_attempt(path):
            verdicts = _run_job(kb, value, path, name)
    spool.delete_tries(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return verdicts


def _run_job(kb: Workspace, value: Mapping[str, Any], path: str, name: str) -> list[Verdict]:
    if "save" in value:
        from kb.capture.save_session import save
        from kb.sessions.active_sessions import ExtractionJob

        job = ExtractionJob(*(value["save"][field] for field in ("transcript", "session", "folder", "host")))
        if not os.path.exists(job.transcript):  # a session in which nothing was said leaves none
            return []
        return list(save(kb, job, landing=name).verdicts)
    from kb.capture.refusals import keep_declined
    from kb.records.candidate import build_candidates
    from kb.writing.pipeline import write

    folder = value["folder"] if os.path.isdir(value["folder"]) else ""
    candidates = build_candidates(value["candidates"], path)
    decided, proofs = value.get("decided") is True, [str(proof) for proof in value.get("proofs") or ()]
    verdicts = write(kb, candidates, folder=folder, raise_when_busy=True, job=name, decided=decided, proofs=proofs)
    return keep_declined(kb, candidates, verdicts, folder)
