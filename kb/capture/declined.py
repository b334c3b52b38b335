"""Keep a candidate that three answers of "no" keep out of the records with the session that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.i18n import msg
from kb.records.model import Candidate, Verdict
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, iter_project_sessions, list_known_sessions
from kb.writing.gate import DECLINED

if TYPE_CHECKING:
    from kb.workspace import Workspace


def keep_declined(
    kb: Workspace, candidates: Sequence[Candidate], verdicts: Sequence[Verdict], folder: str = ""
) -> list[Verdict]:
    """Keep the declined ones of *candidates* with their sessions, and return *verdicts* that say where (RUYI-06).

    A candidate that names no session comes from the one that runs in the project of *folder*.
    """
    declined = kb.localise(DECLINED.reason)
    return [
        _keep_candidate(kb, candidate, verdict, folder) if declined in verdict.reasons else verdict
        for candidate, verdict in zip(candidates, verdicts, strict=True)
    ]


def _keep_candidate(kb: Workspace, candidate: Candidate, verdict: Verdict, folder: str) -> Verdict:
    """Keep one declined candidate and return its *verdict* with where it is."""
    session = candidate.session or _find_running_session(kb, folder)
    if not session:
        where = msg("no session is running here that could keep it")
    else:
        ActiveSession(kb, session).add_judged([JudgedCandidate(candidate, verdict)])
        where = msg("the session {session} keeps it, and its archive does", session=session)
    return verdict._replace(reasons=(*verdict.reasons, kb.localise(where)))


def _find_running_session(kb: Workspace, folder: str) -> str:
    """Return the id of the session of *folder*'s project that kb heard of last and that has not ended, or ""."""
    scope = kb.project(folder) if folder else kb.caller_scope
    running = (
        heard.session
        for heard in iter_project_sessions(kb, list_known_sessions(kb), scope)
        if ActiveSession(kb, heard.session).is_open
    )
    return next(running, "")
