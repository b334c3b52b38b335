"""Ask the agent of a session, once, to write what the session settled; check its quotes and close answered openings.

Openings (`openings`) are found whenever the transcript is read and kept in `.kb/handover/<session>.json`. The question
waits in `.kb/active/<session>/handover.txt` for the next turn. The agent answers with candidates whose quotes occur
verbatim in that session (`prove_quotes`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.openings import KIND_NAMES, Opening, find_openings, is_answered
from kb.capture.proposal_cues import FOLDER as PROPOSALS
from kb.capture.refusals import close_written_proposals
from kb.errors import BadInput, KbError, UnknownId
from kb.files import write_atomic
from kb.i18n import msg
from kb.records.kinds import sanitise_session_id
from kb.records.model import GLOBAL, PROVEN, SAID, Candidate, Evidence, Verdict
from kb.safety.quoting import quote_text
from kb.safety.redaction import redact_text
from kb.sessions.active_sessions import ActiveSession, JudgedCandidate, parse_judged
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import mask_transcript
from kb.sessions.session_archive import list_known_sessions
from kb.sessions.transcript import Transcript, parse_transcript
from kb.state.session_log import HANDOVER
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from kb.sessions.active_sessions import ExtractionJob
    from kb.workspace import Workspace

FOLDER = "handover"
NEW, ASKED, ANSWERED, SKIPPED = "new", "asked", "answered", "skipped"
_MAX_KEPT = 60
"""At most so many openings of a session are kept, the latest."""
_MAX_RECENT_SESSIONS = 3
_PROMPTS_BETWEEN = 3
"""At least so many prompts between two questions, so that a long discussion gets one question."""
_MAX_QUESTION_TOKENS = 80
_QUOTE_SHOWN = range(80, 7, -4)
"""Lengths of the quote to try, in characters: 80 English ones are about 20 tokens, 80 Chinese ones 90."""


class KeptOpening(NamedTuple):
    """An opening and its status."""

    opening: Opening
    status: str = NEW
    """NEW, ASKED, ANSWERED or SKIPPED."""

    @property
    def is_open(self) -> bool:
        """Whether it is still unanswered."""
        return self.status in (NEW, ASKED)


class SessionOpenings(NamedTuple):
    """The openings of one session."""

    session: str
    scope: str = ""
    asked_turn: int = -_PROMPTS_BETWEEN
    """Number of prompts before the last question."""
    has_blocked: bool = False
    """Whether a Stop hook has asked already: it does so once per session."""
    rows: tuple[KeptOpening, ...] = ()

    @property
    def open_rows(self) -> list[KeptOpening]:
        """The unanswered rows."""
        return [row for row in self.rows if row.is_open]


# -- kept ------------------------------------------------------------------------------------------


def load_openings(kb: Workspace, session: str) -> SessionOpenings:
    """Return the openings of *session*; damaged entries are skipped."""
    kept = kb.state.load(FOLDER, f"{sanitise_session_id(session)}.json") or {}
    rows = []
    for row in kept.get("rows") or ():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            quotes = tuple(Evidence(*(quote[key] for key in Evidence._fields)) for quote in row["quotes"])
            rows.append(KeptOpening(Opening(row["kind"], int(row["line"]), quotes), row["status"]))
    turn = kept.get("asked_turn")
    return SessionOpenings(
        str(kept.get("session") or session),
        str(kept.get("scope") or ""),
        turn if isinstance(turn, int) else -_PROMPTS_BETWEEN,
        kept.get("has_blocked") is True,
        tuple(rows),
    )


def _save_openings(kb: Workspace, state: SessionOpenings) -> SessionOpenings:
    """Save *state* with its latest rows, and return it."""
    state = state._replace(rows=state.rows[-_MAX_KEPT:])
    rows = [
        {**row.opening._asdict(), "name": row.opening.name, "status": row.status,
         "quotes": [quote._asdict() for quote in row.opening.quotes]}
        for row in state.rows
    ]  # fmt: skip
    kb.state.save({**state._asdict(), "rows": rows}, FOLDER, f"{sanitise_session_id(state.session)}.json")
    return state


def list_open_sessions(kb: Workspace, session: str = "", scope: str = "") -> list[SessionOpenings]:
    """Return the sessions with unanswered openings, latest first.

    *session*: only those whose ids begin with it, after reading the transcript; *scope*: only those of that project.
    """
    if session:
        for known in list_known_sessions(kb, sanitise_session_id(session))[:1]:
            with contextlib.suppress(BadInput):
                read = mask_transcript(parse_transcript(read_transcript(known.transcript)), kb.config.masking)
                _add_found(kb, known.session, known.scope, find_openings(read))
    found: list[tuple[float, SessionOpenings]] = []
    with contextlib.suppress(OSError), os.scandir(kb.state.path(FOLDER)) as entries:
        for entry in entries:
            name = entry.name.removesuffix(".json")
            if name.startswith(sanitise_session_id(session) if session else "") and entry.name.endswith(".json"):
                state = _close_covered(kb, load_openings(kb, name))
                is_wanted = session or scope in ("", GLOBAL, state.scope)
                found += [(entry.stat().st_mtime, state)] if state.open_rows and is_wanted else []
    return [state for _, state in sorted(found, key=lambda pair: -pair[0])][:_MAX_RECENT_SESSIONS]


def skip_openings(kb: Workspace, names: Sequence[str]) -> list[KeptOpening]:
    """Mark openings as not worth keeping, each given by the first digits of its name; raise UnknownId."""
    folder = kb.state.path(FOLDER)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    known = [load_openings(kb, file.removesuffix(".json")) for file in files]
    found: dict[int, list[KeptOpening]] = {}
    for name in names:
        rows = [
            (n, row) for n, one in enumerate(known) for row in one.rows if name and row.opening.name.startswith(name)
        ]
        if not rows:
            raise UnknownId(msg("no opening is named {name}", name=name), hint=msg("see: kb learn next"))
        for n, row in rows:
            found.setdefault(n, []).append(row)
    for n, skipped in found.items():
        _set_status(kb, known[n], [row.opening.name for row in skipped], SKIPPED)
    return [row for rows_of_one in found.values() for row in rows_of_one]


def _set_status(kb: Workspace, state: SessionOpenings, names: Iterable[str], status: str) -> SessionOpenings:
    """Set the *status* of the openings *names* in *state*, save it and return it."""
    wanted = {*names}
    rows = tuple(row._replace(status=status) if row.opening.name in wanted else row for row in state.rows)
    return state if rows == state.rows else _save_openings(kb, state._replace(rows=rows))


# -- found and asked -------------------------------------------------------------------------------


def note_openings(
    kb: Workspace, job: ExtractionJob, scope: str, transcript: Transcript, after: int, kept: Iterable[Candidate]
) -> None:
    """Keep the openings after line *after* that no *kept* candidate covers, and prepare the question.

    A session that has ended is not asked any more: its openings wait for `kb learn next`.
    """
    if kb.config.handover == "off":
        return
    known = [one for candidate in kept for one in candidate.evidence]
    fresh = [one for one in find_openings(transcript, after) if not is_answered(one, known)]
    state = _close_covered(kb, _add_found(kb, job.session, scope, fresh))
    active = ActiveSession(kb, job.session)
    turn = max((message.turn for message in transcript.messages), default=0)
    new = [row for row in state.rows if row.status == NEW]
    if not new or not active.is_open or turn < state.asked_turn + _PROMPTS_BETWEEN:
        return
    question = build_question(kb, job.session, [row.opening for row in new])
    write_atomic(_get_question_path(kb, job.session), question.encode("utf-8", "replace"))
    _save_openings(kb, state._replace(asked_turn=turn))


def _add_found(kb: Workspace, session: str, scope: str, found: Sequence[Opening]) -> SessionOpenings:
    """Add new openings to those of *session*, and return all."""
    state = load_openings(kb, session)
    known = {row.opening.name for row in state.rows}
    masking = kb.config.masking
    masked = [
        one._replace(
            quotes=tuple(q._replace(quote=redact_text(q.quote, masking)[0], source=session) for q in one.quotes)
        )
        for one in found
    ]
    if new := [KeptOpening(one) for one in masked if one.name not in known]:
        return _save_openings(kb, state._replace(scope=scope or state.scope, rows=(*state.rows, *new)))
    return state


def _close_covered(kb: Workspace, state: SessionOpenings) -> SessionOpenings:
    """Close openings that a proposal or a candidate of the session covers, written or held, and return the rest.

    A person may answer proposals at any time (“mb:write”, `kb proposal confirm`), so this is done before each use.
    """
    if not state.open_rows:
        return state
    judged = parse_judged(ActiveSession(kb, state.session).load_cursor())
    kept = [row.candidate for row in judged if row.verdict.verdict != "refused"]
    if os.path.isdir(kb.state.path(PROPOSALS)):
        from kb.capture.proposals import list_proposals

        kept += [one.candidate for one in list_proposals(kb) if state.session in (one.session, one.candidate.session)]
    known = [one for candidate in kept for one in candidate.evidence]
    covered = [row.opening.name for row in state.open_rows if is_answered(row.opening, known)]
    return _set_status(kb, state, covered, ANSWERED)


def _get_question_path(kb: Workspace, session: str) -> str:
    return kb.state.path("active", sanitise_session_id(session), HANDOVER)


def build_question(kb: Workspace, session: str, openings: Sequence[Opening]) -> str:
    """Return the question about *openings* for the agent, with the command to run, in at most 80 tokens."""
    last = openings[-1]
    quote, question = last.quotes[-1], ""
    for shown in _QUOTE_SHOWN:
        asked = msg(
            "kb: not recorded yet: {kind} (line {line}: “{quote}”). If later work needs it, run "
            "`kb learn next --session {session}` and hand it over.",
            "kb: not recorded yet: {count} matters, the last {kind} (line {line}: “{quote}”). If later work needs "
            "them, run `kb learn next --session {session}` and hand them over.",
            count=len(openings),
            kind=KIND_NAMES[last.kind].translate(kb.config.language),
            line=quote.line or last.line,
            quote=quote_text(quote.quote, shown),
            session=sanitise_session_id(session)[:8],
        )
        question = kb.localise(asked)
        if estimate_tokens(question) <= _MAX_QUESTION_TOKENS:
            break
    return question


def take_question(kb: Workspace, session: str, *, resumed: bool = False, blocking: bool = False) -> str:
    """Return the question for the agent of *session*, once, or "".

    *resumed*: after a compaction or a resumption, also ask about openings found since. *blocking*: a Stop hook asks.
    """
    path, state = _get_question_path(kb, session), load_openings(kb, session)
    is_due = resumed or os.path.exists(path)
    if not is_due or kb.config.handover == "off" or (blocking and state.has_blocked):
        return ""
    with contextlib.suppress(OSError):
        os.unlink(path)
    state = _close_covered(kb, state)
    new = [row.opening for row in state.rows if row.status == NEW]
    if not new:  # answered or skipped since: nothing was asked, so the next question need not wait
        _save_openings(kb, state._replace(asked_turn=-_PROMPTS_BETWEEN))
        return ""
    rows = tuple(row._replace(status=ASKED) if row.status == NEW else row for row in state.rows)
    _save_openings(kb, state._replace(rows=rows, has_blocked=state.has_blocked or blocking))
    return build_question(kb, state.session, new)


# -- the answer ------------------------------------------------------------------------------------


def _is_known_session(kb: Workspace, session: str) -> bool:
    return bool(session and ActiveSession(kb, session).load_cursor())


def close_answered(
    kb: Workspace, candidates: Sequence[Candidate], verdicts: Sequence[Verdict], proofs: Sequence[str]
) -> None:
    """Close the openings that proven *candidates* answer, and add these to the results of their session.

    A candidate without a quote answers no opening, but it still is a result of its session if kb knows that session.
    """
    judged = [
        (JudgedCandidate(candidate, verdict), proof)
        for candidate, verdict, proof in zip(candidates, verdicts, proofs or [""] * len(verdicts), strict=True)
        if verdict.verdict != "refused"
    ]
    rows = [row for row, proof in judged if proof in (PROVEN, SAID)]
    close_written_proposals(kb, rows)
    rows += [row for row, _ in judged if not row.candidate.evidence and _is_known_session(kb, row.candidate.session)]
    for session in dict.fromkeys(row.candidate.session for row in rows):
        mine = [row for row in rows if row.candidate.session == session]
        quotes = [one for row in mine for one in row.candidate.evidence]
        state = load_openings(kb, session)
        answered = [row.opening.name for row in state.open_rows if is_answered(row.opening, quotes)]
        with contextlib.suppress(KbError, OSError):  # the records are written already; this is secondary
            _set_status(kb, state, answered, ANSWERED)
            ActiveSession(kb, session).add_judged(mine)
