"""A turn begins and ends: what guard and proposals have to do with it, at next to no cost where that is nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from kb.capture import proposal_cues as rules
from kb.records.model import Verdict
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.session_log import GOES_ON, MOMENT, OWED, SAID, Log

if TYPE_CHECKING:
    from kb.capture.proposals import Told
    from kb.workspace import Workspace


def begin(kb: Workspace, session: str, prompt: str, name: str = "", folder: str = "") -> Told | None:
    """Begin the turn of a person's *prompt* in *folder*, named *name* by the host; do what it says of proposals."""
    log = Log(kb, session)
    owed = "\n".join(log.here(OWED))
    log.begin(name)
    notice(kb, log, prompt)
    said = rules.answer(prompt)
    if said is None and not owed:
        return None
    from kb.capture.proposals import Told, answered

    told = (answered(kb, session, said, folder) if said is not None else None) or Told()
    return told._replace(context="\n".join(filter(None, (owed, told.context))))


def go_on(kb: Workspace, session: str, name: str) -> None:
    """Let the turn go on under the *name* of a prompt that no person wrote: what was read for it still counts."""
    if session and name:
        Log(kb, session).add(GOES_ON, name)


def notice(kb: Workspace, log: Log, prompt: str) -> None:
    """Remember what in *prompt* is worth keeping; a prompt that answers a proposal begins none (command guard)."""
    if kb.config.proposals == "off":
        return
    if rules.mentions(prompt):
        log.add(SAID)
    elif found := rules.moment(prompt):
        from kb.safety.redaction import redact

        text = redact(found.text, kb.config.masking)[0]
        log.add(MOMENT, json.dumps([found.kind, text], ensure_ascii=False))


def end(kb: Workspace, session: str, folder: str, host: str, verdicts: Sequence[Verdict]) -> str:
    """Return what the person is asked at the end of a turn in which *verdicts* were reached; mostly ""."""
    if kb.config.proposals == "off" or not session:
        return ""
    log = Log(kb, session)
    something = log.here(MOMENT) or any(verdict.verdict == "held" for verdict in verdicts)
    if log.here(SAID) or not (something or os.path.isdir(kb.state.path(rules.FOLDER))):
        return ""
    from kb.capture.proposals import propose

    return propose(kb, log, folder, host, verdicts, silent=host in rules.SILENT)
