"""Ask of the past what is asked of today, or for the hand of one agent."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kb.history.authors import find_agent_paths
from kb.history.snapshot import open_index_at
from kb.index.schema import Filter
from kb.search.answer import SearchResult, search_records

if TYPE_CHECKING:
    from kb.workspace import Workspace

_WIDER = 30
"""So many times more answers are looked through where too few of them are the agent's."""


def search_history(
    kb: Workspace, query: str, *, wanted: Filter, project: str, limit: int, commit: str = "", agent: str = ""
) -> SearchResult:
    """Return what answers *query*, of the records as they stood at *commit* and of those *agent* had a hand in."""
    paths = find_agent_paths(kb, agent) if agent else None
    with contextlib.ExitStack() as stack:
        index = stack.enter_context(contextlib.closing(open_index_at(kb, commit))) if commit else None
        most = limit
        while True:
            found = search_records(kb, query, wanted=wanted, project=project, limit=most, index=index)
            answers = [one for one in found.answers if paths is None or one.record.path in paths]
            if len(answers) >= limit or len(found.answers) < most or not paths:
                return found._replace(answers=answers[:limit])
            most *= _WIDER
