"""What of the sessions that this clone heard of was refused or declined: kept with their cursors, never silent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import msg
from kb.records.model import Candidate, Verdict
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, parse_judged
from kb.sessions.known_sessions import iter_project_sessions, list_known_sessions
from kb.writing.gate import DECLINED

if TYPE_CHECKING:
    from kb.workspace import Workspace

LATELY = 7 * 86_400
"""Seconds for which `kb inbox` counts a refusal."""


class Refusal(NamedTuple):
    """A candidate of a session that was not written, and why."""

    session: str
    time: float
    """Seconds since 1970, of the last extraction from that session."""
    title: str
    reasons: tuple[str, ...]


def list_refusals(kb: Workspace, since: float = 0.0) -> list[Refusal]:
    """Return what was refused in sessions read at the time *since* or later, the latest session first."""
    found = []
    for folder, _, names in os.walk(kb.state.path("cursors")):
        for name in sorted(name for name in names if name.endswith(".json")):
            within = os.path.relpath(os.path.join(folder, name), kb.state.folder).split(os.sep)
            cursor = kb.state.load(*within)
            if not isinstance(cursor, dict) or (when := float(cursor.get("time") or 0)) < since:
                continue
            session = within[1].removesuffix(".json")
            refused = [row for row in parse_judged(cursor) if row.verdict.verdict == "refused"]
            found += [Refusal(session, when, row.candidate.title, row.verdict.reasons) for row in refused]
    return sorted(found, key=lambda one: -one.time)


def keep_declined(
    kb: Workspace, candidates: Sequence[Candidate], verdicts: Sequence[Verdict], folder: str = ""
) -> list[Verdict]:
    """Keep the declined ones of *candidates* with their sessions, and return *verdicts* that say where (RUYI-06).

    A candidate is declined by three answers of "no". One that names no session comes from the one of the project of
    *folder* that kb heard of last and that has not ended.
    """
    declined = kb.localise(DECLINED.reason)
    noted = []
    for candidate, verdict in zip(candidates, verdicts, strict=True):
        if declined in verdict.reasons:
            session = candidate.session or _find_running_session(kb, folder)
            where = msg("no session is running here that could keep it")
            if session:
                ActiveSession(kb, session).add_judged([JudgedCandidate(candidate, verdict)])
                where = msg("the session {session} keeps it, and its archive does", session=session)
            verdict = verdict._replace(reasons=(*verdict.reasons, kb.localise(where)))
        noted.append(verdict)
    return noted


def _find_running_session(kb: Workspace, folder: str) -> str:
    scope = kb.project(folder) if folder else kb.caller_scope
    known = [one.session for one in iter_project_sessions(kb, list_known_sessions(kb), scope)]
    return next((session for session in known if ActiveSession(kb, session).is_open), "")
