"""Refuse candidates of a session: those a person rejected, and those kb may not write; every refusal is reported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.proposal_cues import FOLDER
from kb.i18n import msg
from kb.records.model import Candidate, Verdict
from kb.safety.personal_facts import can_be_personal_fact
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, parse_judged
from kb.sessions.known_sessions import iter_project_sessions, list_known_sessions
from kb.state.project import is_shared
from kb.text.segment import normalise
from kb.writing.gate import DECLINED

if TYPE_CHECKING:
    from kb.capture.proposals import Proposal
    from kb.workspace import Workspace

_WRITTEN_VERDICTS = ("created", "updated", "appended", "unchanged")
RECENT_REFUSAL_SECONDS = 7 * 86_400  # seconds for which `kb inbox` counts a refusal


class ConsultedCandidates(NamedTuple):
    """Candidates, by what a person has said of the same."""

    free: list[Candidate]  # the gate may judge them
    waiting: list[Candidate]  # the person is being asked about them now


def consult_proposals(kb: Workspace, candidates: Sequence[Candidate], session: str) -> ConsultedCandidates:
    """Return which of *candidates* may go to the gate, and which wait for an answer in *session* ("" for none).

    What a person has refused is left out, also under another kind and in other words. What was confirmed is written
    already: the same sentence is left out, the same matter in other words gets the kind it was written under, so that
    it is compared with that record and adds to it. What may be about the person is proposed to them and stays in the
    clone, where others read the knowledge base.
    """
    personal = [one for one in candidates if can_be_personal_fact(one)]
    if not candidates or not (personal or os.path.isdir(kb.state.path(FOLDER))):
        return ConsultedCandidates(list(candidates), [])
    from kb.capture.proposals import CONFIRMED, PENDING, REJECTED, Proposal, list_proposals, save_proposal
    from kb.writing.inbox import build_held_name

    personal = personal if personal and is_shared(kb) else []
    known = list_proposals(kb)
    consulted = ConsultedCandidates([], [])
    for candidate in candidates:
        same = [proposal for proposal in known if is_same_as_proposal(kb, candidate, proposal)]
        statuses = {proposal.status for proposal in same}
        confirmed = [proposal for proposal in same if proposal.status == CONFIRMED]
        # Refused, or written already in the same words.
        if REJECTED in statuses or any(_has_same_quote(candidate, one.candidate) for one in confirmed):
            continue
        if candidate in personal:
            if not same:
                known.append(save_proposal(kb, Proposal(build_held_name(candidate), candidate, session=session)))
        elif confirmed:
            consulted.free.append(candidate._replace(kind=confirmed[-1].candidate.kind))
        elif any(one.status == PENDING and one.session == session for one in same):
            consulted.waiting.append(candidate)
        else:
            consulted.free.append(candidate)
    return consulted


def close_written_proposals(kb: Workspace, rows: Iterable[JudgedCandidate]) -> None:
    """Close the open proposals of what was just written without an answer, so that it is not written twice."""
    written = [row.candidate for row in rows if row.verdict.verdict in _WRITTEN_VERDICTS]
    if not written or not os.path.isdir(kb.state.path(FOLDER)):
        return
    from kb.capture import proposals

    for proposal in proposals.list_pending(kb):
        if any(is_same_as_proposal(kb, candidate, proposal) for candidate in written):
            proposals.close_proposal(kb, proposal)


def is_same_as_proposal(kb: Workspace, candidate: Candidate, proposal: Proposal) -> bool:
    """Return whether *candidate* says what *proposal* says, even under another kind."""
    from kb.capture.proposals import is_same_statement
    from kb.writing.inbox import build_held_name

    other = proposal.candidate
    return candidate.scope == other.scope and (
        build_held_name(candidate) == proposal.name
        or _has_same_quote(candidate, other)
        or is_same_statement(kb, candidate, other)
    )


def _has_same_quote(candidate: Candidate, other: Candidate) -> bool:
    """Return whether both rest on one sentence; a proposal has it without the words that ask to keep it."""
    mine, theirs = ([normalise(each.quote) for each in one.evidence if each.quote] for one in (candidate, other))
    # “Remember: we deploy on Fridays” and “we deploy on Fridays”, 记住：周五发布 and 周五发布.
    return any(one in their or their in one for one in mine for their in theirs)


# -- what was refused or declined, kept with the cursor of its session ----------------------------


class Refusal(NamedTuple):
    """A candidate of a session that was not written, and why."""

    session: str
    time: float  # seconds since 1970, of the last extraction from that session
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
            scope = kb.project(folder) if folder else kb.caller_scope
            known = (one.session for one in iter_project_sessions(kb, list_known_sessions(kb), scope))
            session = candidate.session or next((one for one in known if ActiveSession(kb, one).is_open), "")
            where = msg("no running session could keep it")
            if session:
                ActiveSession(kb, session).add_judged([JudgedCandidate(candidate, verdict)])
                where = msg("it stays in session {session} and its archive", session=session)
            verdict = verdict._replace(reasons=(*verdict.reasons, kb.localise(where)))
        noted.append(verdict)
    return noted
