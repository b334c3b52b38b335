"""What the gate has refused of the sessions that this clone heard of: kept with their cursors, never silent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import msg
from kb.records.model import Candidate, Verdict
from kb.sessions.active_sessions import (
    ActiveSession,
    JudgedCandidate,
    iter_project_sessions,
    list_known_sessions,
    parse_judged,
)
from kb.writing.gate import DECLINED

if TYPE_CHECKING:
    from kb.workspace import Workspace


REFUSED = "refused"
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
    return sorted(_iter_refusals(kb, since), key=lambda one: -one.time)


def _iter_refusals(kb: Workspace, since: float) -> Iterator[Refusal]:
    for folder, _, names in os.walk(kb.state.path("cursors")):
        for name in sorted(names):
            within = os.path.relpath(os.path.join(folder, name), kb.state.folder)
            kept = kb.state.load(*within.split(os.sep)) if name.endswith(".json") else None
            if isinstance(kept, dict) and float(kept.get("time") or 0) >= since:
                session = within.split(os.sep)[1].removesuffix(".json")
                for row in parse_judged(kept):
                    if row.verdict.verdict == REFUSED:
                        yield Refusal(session, float(kept.get("time") or 0), row.candidate.title, row.verdict.reasons)


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
