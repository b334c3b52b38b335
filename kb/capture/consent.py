"""Ask what a person has answered to proposals before anything is written out of a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.proposal_cues import FOLDER
from kb.records.model import Candidate
from kb.safety.personal_facts import may_be_about_a_person
from kb.sessions.active_sessions import Row
from kb.text.segment import normalise
from kb.writing.privacy import is_shared

if TYPE_CHECKING:
    from kb.capture.proposals import Proposal
    from kb.workspace import Workspace

_WRITTEN = ("created", "updated", "appended", "unchanged")


class Consulted(NamedTuple):
    """Candidates, by what a person has said of the same."""

    free: list[Candidate]
    """The gate may judge them."""
    waiting: list[Candidate]
    """The person is being asked about them now."""


def consult_proposals(kb: Workspace, candidates: Sequence[Candidate], session: str) -> Consulted:
    """Return which of *candidates* may go to the gate, and which wait for an answer in *session* ("" for none).

    What a person has refused is left out, whatever its kind and however it is worded. What was confirmed is written
    already: the same sentence is left out, the same matter in other words gets the kind it was written under, so that
    it is compared with that record and adds to it. What may be about the person is proposed to them and stays in the
    clone, where others read the knowledge base.
    """
    personal = [one for one in candidates if may_be_about_a_person(one)]
    if not candidates or not (personal or os.path.isdir(kb.state.path(FOLDER))):
        return Consulted(list(candidates), [])
    from kb.capture.proposals import CONFIRMED, PENDING, REJECTED, add_personal, everything

    personal = personal if personal and is_shared(kb) else []
    known = everything(kb)
    made = Consulted([], [])
    for candidate in candidates:
        same = [proposal for proposal in known if is_about(kb, candidate, proposal)]
        statuses = {proposal.status for proposal in same}
        confirmed = [proposal for proposal in same if proposal.status == CONFIRMED]
        if REJECTED in statuses or any(_quotes_same(candidate, one.candidate) for one in confirmed):
            continue
        if candidate in personal:
            if not same:
                known.append(add_personal(kb, candidate, session))
        elif confirmed:
            made.free.append(candidate._replace(kind=confirmed[-1].candidate.kind))
        elif any(one.status == PENDING and one.session == session for one in same):
            made.waiting.append(candidate)
        else:
            made.free.append(candidate)
    return made


def settle_proposals(kb: Workspace, rows: Iterable[Row]) -> None:
    """Close the open proposals of what was just written without an answer, so that it is not written twice."""
    written = [row.candidate for row in rows if row.verdict.verdict in _WRITTEN]
    if not written or not os.path.isdir(kb.state.path(FOLDER)):
        return
    from kb.capture import proposals

    for proposal in proposals.pending(kb):
        if any(is_about(kb, candidate, proposal) for candidate in written):
            proposals.close(kb, proposal)


def is_about(kb: Workspace, candidate: Candidate, proposal: Proposal) -> bool:
    """Return whether *candidate* says what *proposal* says, whatever the kind of either."""
    from kb.capture.proposals import is_alike
    from kb.writing.inbox import name_of

    other = proposal.candidate
    if candidate.scope != other.scope:
        return False
    return name_of(candidate) == proposal.name or _quotes_same(candidate, other) or is_alike(kb, candidate, other)


def _quotes_same(candidate: Candidate, other: Candidate) -> bool:
    """Return whether both rest on one sentence; a proposal has it without the words that ask to keep it."""
    mine, theirs = (
        [normalise(evidence.quote) for evidence in one.evidence if evidence.quote] for one in (candidate, other)
    )
    return any(one in their or their in one for one in mine for their in theirs)
