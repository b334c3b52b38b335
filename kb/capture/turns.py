"""Handle the beginning and the end of a turn: collect, answer and show proposals. Usually there are none."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from kb.capture import proposal_cues
from kb.records.model import Verdict
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.session_log import GOES_ON, MOMENT, OWED, SAID, SessionLog

if TYPE_CHECKING:
    from kb.workspace import Workspace


def begin_turn(
    kb: Workspace, session: str, prompt: str, name: str = "", folder: str = ""
) -> proposal_cues.PromptAnswer | None:
    """Begin the turn of a person's *prompt* (*name* is the host's id of it); apply its answer to proposals."""
    log = SessionLog(kb, session)
    owed = "\n".join(log.list_turn_values(OWED))
    log.begin_prompt(name)
    if kb.config.proposals != "off":
        if proposal_cues.has_answer_word(prompt):  # an answer is not a new proposal
            log.add(SAID)
        elif found := proposal_cues.find_notable_sentence(prompt) or _find_standing_sentence(kb, prompt):
            from kb.safety.redaction import redact_text

            text = redact_text(found.text, kb.config.masking)[0]
            log.add(MOMENT, json.dumps([found.kind, text], ensure_ascii=False))
    said = proposal_cues.parse_proposal_answer(prompt)
    if said is None and not owed:
        return None
    answer = proposal_cues.PromptAnswer()
    if said is not None:
        from kb.capture.proposals import apply_answer

        answer = apply_answer(kb, session, said, folder)
    return answer._replace(context="\n".join(filter(None, (owed, answer.context))))


def _find_standing_sentence(kb: Workspace, prompt: str) -> proposal_cues.NotableSentence | None:
    """Return the first sentence of *prompt* that states a lasting rule without saying so, or None.

    Normally the agent is asked to word it (`openings`); the person is asked only if hand-over is off.
    """
    if kb.config.handover != "off":
        return None
    from kb.capture.statements import has_standing_rule, has_standing_statement
    from kb.sessions.prose import is_noncommittal

    for sentence in proposal_cues.iter_sentences(prompt[: proposal_cues.MAX_PROMPT_CHARACTERS]):
        if has_standing_statement(sentence) and not is_noncommittal(sentence):
            return proposal_cues.NotableSentence(
                "constraint" if has_standing_rule(sentence) else "domain-note", sentence
            )
    return None


def continue_turn(kb: Workspace, session: str, name: str) -> None:
    """Continue the turn under *name*, the id of a prompt that no person wrote: what was read so far still counts."""
    if session and name:
        SessionLog(kb, session).add(GOES_ON, name)


def end_turn(kb: Workspace, session: str, folder: str, host: str, verdicts: Sequence[Verdict]) -> str:
    """Return the question for the person at the end of a turn with these *verdicts*; usually ""."""
    if kb.config.proposals == "off" or not session:
        return ""
    log = SessionLog(kb, session)
    has_news = log.list_turn_values(MOMENT) or any(verdict.verdict == "held" for verdict in verdicts)
    if log.list_turn_values(SAID) or not (has_news or os.path.isdir(kb.state.path(proposal_cues.FOLDER))):
        return ""
    from kb.capture.proposals import propose_at_turn_end

    return propose_at_turn_end(kb, log, folder, host, verdicts, silent=host in proposal_cues.SILENT)
