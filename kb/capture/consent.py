"""Ask what a person has answered to proposals before anything is written out of a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.proposal_cues import FOLDER
from kb.records.model import Candidate
from kb.safety.personal_facts import can_be_personal_fact
from kb.sessions.active_sessions import JudgedCandidate
from kb.state.project import is_shared
from kb.text.segment import normalise

if TYPE_CHECKING:
    from kb.capture.proposals import Proposal
    from kb.workspace import Workspace

_WRITTEN = ("created", "updated", "appended", "unchanged")


class ConsultedCandidates(NamedTuple):
    """Candidates, by what a person has said of the same."""

    free: list[Candidate]
    """The gate may judge them."""
    waiting: list[Candidate]
    """The person is being asked about them now."""


def consult_proposals(kb: Workspace, candidates: Sequence[Candidate], session: str) -> ConsultedCandidates:
    """Return which of *candidates* may go to the gate, and which wait for an answer in *session* ("" for none).

    What a person has refused is left out, whatever its kind and however it is worded. What was confirmed is written
    already: the same sentence is left out, the same matter in other words gets the kind it was written under, so that
    it is compared with that record and adds to it. What may be about the person is proposed to them and stays in the
    clone, where others read the knowledge base.
    """
    personal = [one for one in candidates if can_be_personal_fact(one)]
    if not candidates or not (personal or os.path.isdir(kb.state.path(FOLDER))):
        return ConsultedCandidates(list(candidates), [])
    from kb.capture.proposals import CONFIRMED, PENDING, REJECTED, add_personal, list_proposals

    personal = personal if personal and is_shared(kb) else []
    known = list_proposals(kb)
    consulted = ConsultedCandidates([], [])
    for candidate in candidates:
        same = [proposal for proposal in known if is_same_as_proposal(kb, candidate, proposal)]
        statuses = {proposal.status for proposal in same}
        confirmed = [proposal for proposal in same if proposal.status == CONFIRMED]
        if REJECTED in statuses or any(_has_same_quote(candidate, one.candidate) for one in confirmed):
            continue
        if candidate in personal:
            if not same:
                known.append(add_personal(kb, candidate, session))
        elif confirmed:
            consulted.free.append(candidate._replace(kind=confirmed[-1].candidate.kind))
        elif any(one.status == PENDING and one.session == session for one in same):
            consulted.waiting.append(candidate)
        else:
            consulted.free.append(candidate)
    return consulted


def close_written_proposals(kb: Workspace, rows: Iterable[JudgedCandidate]) -> None:
    """Close the open proposals of what was just written without an answer, so that it is not written twice."""
    written = [row.candidate for row in rows if row.verdict.verdict in _WRITTEN]
    if not written or not os.path.isdir(kb.state.path(FOLDER)):
        return
    from kb.capture import proposals

    for proposal in proposals.list_pending(kb):
        if any(is_same_as_proposal(kb, candidate, proposal) for candidate in written):
            proposals.close_proposal(kb, proposal)


def is_same_as_proposal(kb: Workspace, candidate: Candidate, proposal: Proposal) -> bool:
    """Return whether *candidate* says what *proposal* says, whatever the kind of either."""
    from kb.capture.proposals import is_same_statement
    from kb.writing.inbox import build_held_name

    other = proposal.candidate
    if candidate.scope != other.scope:
        return False
    return (
        build_held_name(candidate) == proposal.name
        or _has_same_quote(candidate, other)
        or is_same_statement(kb, candidate, other)
    )


def _has_same_quote(candidate: Candidate, other: Candidate) -> bool:
    """Return whether both rest on one sentence; a proposal has it without the words that ask to keep it."""
    mine, theirs = (
        [normalise(evidence.quote) for evidence in one.evidence if evidence.quote] for one in (candidate, other)
    )
    return any(one in their or their in one for one in mine for their in theirs)
