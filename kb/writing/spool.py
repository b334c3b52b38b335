"""What could not be written when it came: kept in the spool, written by the next call that can.

A file goes when what it holds is written. A process that dies in between leaves it; the next one finds by the commits
that were noted for it (`landed`) that it is written already, on whatever branch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.config import Config
from kb.errors import KbError
from kb.i18n import msg
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate, Verdict
from kb.safety import redaction
from kb.state.state_folder import StateFolder

if TYPE_CHECKING:
    from kb.workspace import Workspace


def spool_candidates(
    kb: Workspace, candidates: Sequence[Candidate], folder: str, why: KbError, *, decided: bool = False,
    job: str = "",
) -> list[Verdict]:  # fmt: skip
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked.

    The scope is found out now: the call that lands them may come from elsewhere. *job* is the name they had in the
    queue: who found them there may still write them.
    """
    scope = _find_scope(kb, folder)
    safe = [redaction.redact_candidate(c._replace(scope=c.scope or scope), kb.config.masking)[0] for c in candidates]
    value = {"folder": folder, "candidates": [candidate_to_json(candidate) for candidate in safe], "decided": decided}
    try:
        path = kb.state.spool_job(kb.now(), value, job)
    except OSError:
        raise why from None
    reasons = (
        kb.localise(why.message),
        kb.localise(msg("kept in {path}; the next call that can writes it", path=path)),
    )
    return [
        Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=kb.localise(why.hint), spooled=True)
        for c in safe
    ]


def spool_without_settings(root: str, environment: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Keep *candidates* for the next call although the settings of the knowledge base *root* cannot be read.

    Return the file. What is kept is masked by the rules that kb has of itself; those of the settings mask it when it is
    written. Raise OSError where nothing can be kept.
    """
    state = StateFolder(root, environment)
    safe = [candidate_to_json(redaction.redact_candidate(candidate, Config().masking)[0]) for candidate in candidates]
    return state.spool_job(time.time(), {"folder": os.getcwd(), "candidates": safe, "decided": False})


def _find_scope(kb: Workspace, folder: str) -> str:
    try:
        return kb.project(folder)
    except KbError:
        return ""
