"""Refuse candidates of a session: those a person rejected, and those kb may not write; every refusal is reported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.extract import MAX_TYPED_CHARACTERS, is_too_short
from kb.capture.markers import find_thin_marks
from kb.capture.proposal_cues import FOLDER
from kb.capture.statements import has_statement_words
from kb.i18n import msg
from kb.records.model import Candidate, Verdict
from kb.safety.personal_facts import can_be_personal_fact, is_about_person, remove_personal
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, parse_judged
from kb.sessions.handed_text import iter_spoken
from kb.sessions.prose import has_cue, is_noncommittal, is_question, split_pieces, split_sentences
from kb.sessions.session_archive import iter_project_sessions, list_known_sessions
from kb.sessions.transcript import HUMAN, Transcript
from kb.state.project import find_own_root, is_shared
from kb.state.state_folder import CURSORS
from kb.text.segment import clip, normalise, one_line
from kb.writing.gate import DECLINED

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.proposals import Proposal
    from kb.workspace import Workspace

_WRITTEN_VERDICTS = ("created", "updated", "appended", "unchanged")
RECENT_REFUSAL_SECONDS = 7 * 86_400  # seconds for which `kb inbox` counts a refusal


class ConsultedCandidates(NamedTuple):
    """Candidates, by what a person has said of the same."""

    free: list[Candidate]  # the gate may judge them
    waiting: list[Candidate]  # the person is being asked about them now
    own: list[Candidate]  # they are the person's, and go into the base of their own


def consult_proposals(kb: Workspace, candidates: Sequence[Candidate], session: str) -> ConsultedCandidates:
    """Return which of *candidates* may go to the gate, and which wait for an answer in *session* ("" for none).

    What a person has refused is left out, also under another kind and in other words. What was confirmed is written
    already: the same sentence is left out, the same matter in other words gets the kind it was written under, so that
    it is compared with that record and adds to it. Where others read the knowledge base, what is the person's goes into
    their own base (`~/.kb`); where that is not there, or it is in doubt, it is proposed and stays in the clone.
    """
    personal = [one for one in candidates if can_be_personal_fact(one)]
    if not candidates or not (personal or os.path.isdir(kb.state.path(FOLDER))):
        return ConsultedCandidates(list(candidates), [], [])
    from kb.capture.proposals import CONFIRMED, PENDING, REJECTED, Proposal, list_proposals, save_proposal
    from kb.writing.inbox import build_held_name

    personal = personal if personal and is_shared(kb) else []
    known = list_proposals(kb)
    own_root = find_own_root(kb) if personal else ""
    consulted = ConsultedCandidates([], [], [])
    for candidate in candidates:
        same = [proposal for proposal in known if is_same_as_proposal(kb, candidate, proposal)]
        statuses = {proposal.status for proposal in same}
        confirmed = [proposal for proposal in same if proposal.status == CONFIRMED]
        # Refused, or written already in the same words.
        if REJECTED in statuses or any(_has_same_quote(candidate, one.candidate) for one in confirmed):
            continue
        if candidate in personal:
            if own_root and is_about_person(candidate):
                consulted.own.append(candidate)
                for asked in same:
                    save_proposal(kb, asked._replace(status=CONFIRMED, code=""))
            elif not same:
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


class PassedOver(NamedTuple):
    """A sentence with the words of a decision, a rule or a wish that is no candidate, and why."""

    session: str
    quote: str
    reason: str
    """A key of PASSED_OVER."""


PASSED_OVER = {
    "short": msg("too short to be meaningful"),
    "question": msg("a question"),
    "open": msg("a plan, a guess, or true for now only"),
    "case": msg("no reason given, and about one case only"),
    "refused": msg("refused when it was submitted"),
}
MAX_PASSED_OVER = 100
"""Sentences of one session that are kept, the newest."""
_MAX_QUOTE = 200


def find_passed_over(transcript: Transcript, after: int, found: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return quote and reason of what a person said after the line *after* that sounds like a candidate and is none.

    Only a person's words: of an agent's, most are plans, and what it settled without a reason is an opening
    (`kb.capture.openings`); of its marks (`[D] 框架`) those that say too little count. *found*: what was
    kept, which is not counted again.
    """
    taken = "\n".join(evidence.quote for candidate in found for evidence in candidate.evidence)
    rows: dict[str, str] = {}
    for message in transcript.messages:
        for text, who in iter_spoken(message) if message.line > after else ():
            rows |= {mark: "short" for mark in find_thin_marks(text) if mark not in taken}
            for piece in split_pieces(text) if who == HUMAN and len(text) <= MAX_TYPED_CHARACTERS else ():
                sentences = split_sentences(piece.text) if piece.what in ("prose", "item") else ()
                heard = [s for s in sentences if s not in taken and (has_cue(s) or has_statement_words(s))]
                heard = [s for s in heard if remove_personal(s)]  # what is kept is archived, and others read that
                rows |= {sentence: _name_obstacle(sentence) for sentence in heard}
    return [(clip(one_line(quote), _MAX_QUOTE), reason) for quote, reason in rows.items()]


def _name_obstacle(sentence: str) -> str:
    if is_question(sentence):
        return "question"
    if is_noncommittal(sentence):
        return "open"
    return "short" if is_too_short(sentence, HUMAN) else "case"


def list_passed_over(kb: Workspace, since: float = 0.0) -> list[PassedOver]:
    """Return what was passed over in sessions read at the time *since* or later, the latest session first."""
    return [
        PassedOver(session, str(quote), str(reason))
        for session, cursor in list_cursors(kb, since)
        for quote, reason in cursor.get("passed_over") or ()
        if reason in PASSED_OVER
    ]


class Refusal(NamedTuple):
    """A candidate of a session that was not written, and why."""

    session: str
    time: float  # seconds since 1970, of the last extraction from that session
    title: str
    reasons: tuple[str, ...]


def list_refusals(kb: Workspace, since: float = 0.0) -> list[Refusal]:
    """Return what was refused in sessions read at the time *since* or later, the latest session first."""
    return [
        Refusal(session, float(cursor.get("time") or 0), row.candidate.title, row.verdict.reasons)
        for session, cursor in list_cursors(kb, since)
        for row in parse_judged(cursor)
        if row.verdict.verdict == "refused"
    ]


def list_cursors(kb: Workspace, since: float) -> list[tuple[str, dict[str, Any]]]:
    """Return name and cursor of the sessions read at the time *since* or later, the latest first."""
    found = []
    for folder, _, names in os.walk(kb.state.path(CURSORS)):
        for name in sorted(name for name in names if name.endswith(".json")):
            within = os.path.relpath(os.path.join(folder, name), kb.state.folder).split(os.sep)
            cursor = kb.state.load(*within)
            if isinstance(cursor, dict) and float(cursor.get("time") or 0) >= since:
                found.append((within[1].removesuffix(".json"), cursor))
    return sorted(found, key=lambda one: -float(one[1].get("time") or 0))


def keep_declined(
    kb: Workspace, candidates: Sequence[Candidate], verdicts: Sequence[Verdict], folder: str = ""
) -> list[Verdict]:
    """Keep the declined ones of *candidates* with their sessions, and return *verdicts* that say where (RUYI-06).

    Of another one that was refused its session keeps the title, so that `kb inbox --seen` counts it.

    A candidate is declined by three answers of "no". One that names no session comes from the one of the project of
    *folder* that kb heard of last and that has not ended.
    """
    declined = kb.localise(DECLINED.reason)
    noted = []
    scope = kb.project(folder) if folder else kb.caller_scope
    for candidate, verdict in zip(candidates, verdicts, strict=True):
        session = candidate.session if verdict.verdict == "refused" else ""
        if verdict.verdict == "refused" and not session:
            known = (one.session for one in iter_project_sessions(kb, list_known_sessions(kb), scope))
            session = next((one for one in known if ActiveSession(kb, one).is_open), "")
        if session and declined not in verdict.reasons:
            ActiveSession(kb, session).add_passed_over([(verdict.title, "refused")], MAX_PASSED_OVER)
        if declined in verdict.reasons:
            where = msg("no running session could keep it")
            if session:
                ActiveSession(kb, session).add_judged([JudgedCandidate(candidate, verdict)])
                where = msg("it stays in session {session} and its archive", session=session)
            verdict = verdict._replace(reasons=(*verdict.reasons, kb.localise(where)))
        noted.append(verdict)
    return noted
