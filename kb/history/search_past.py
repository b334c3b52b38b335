"""Ask of the past what is asked of today, or for the hand of one agent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kb.history.authors import paths_by
from kb.history.snapshot import index_at
from kb.index.schema import Filter
from kb.search.answer import Explained, explained

if TYPE_CHECKING:
    from kb.workspace import Workspace

_WIDER = 30
"""So many times more answers are looked through where too few of them are the agent's."""


def asked(
    kb: Workspace, query: str, *, wanted: Filter, project: str, limit: int, commit: str = "", agent: str = ""
) -> Explained:
    """Return what answers *query*, of the records as they stood at *commit* and of those *agent* had a hand in."""
    paths = paths_by(kb, agent) if agent else None
    with contextlib.ExitStack() as stack:
        index = stack.enter_context(contextlib.closing(index_at(kb, commit))) if commit else None
        most = limit
        while True:
            found = explained(kb, query, wanted=wanted, project=project, limit=most, index=index)
            answers = [one for one in found.answers if paths is None or one.record.path in paths]
            if len(answers) >= limit or len(found.answers) < most or not paths:
                return found._replace(answers=answers[:limit])
            most *= _WIDER
