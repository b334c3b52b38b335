"""Remember the tasks given to sub-agents, so that each gets hints on its own task and never on another's.

When a sub-agent starts, its host names its type alone, and writes the call to the transcript later. So the call is
remembered when it is made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.errors import BadInput
from kb.sessions.host_input import read_transcript
from kb.startup.hashes import sha256
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.session_log import STARTED, TASK, SessionLog

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_DEFAULT_ROLE = "general-purpose"
"""The type of a sub-agent where the call names none."""
_MAX_TASK_CHARACTERS = 1500
"""Characters of a task that are remembered."""
_TAIL_BYTES = 400_000
"""Bytes at the end of a transcript in which an open call is looked for."""


def remember_task(kb: Workspace, session: str, given: Mapping[str, Any], call: str) -> None:
    """Remember the task in what a tool is *given* that starts a sub-agent; *call* is the host's id of it."""
    kind, task = _parse_task_input(given)
    if task:
        call = call or sha256(task.encode("utf-8", "replace")).hexdigest()[:16]
        SessionLog(kb, session).add(TASK, json.dumps([kind, call, task[:_MAX_TASK_CHARACTERS]], ensure_ascii=False))


def take_task(kb: Workspace, session: str, agent_type: str, transcript: str) -> str:
    """Return the task of the sub-agent of *agent_type* that starts now; "" where more than one may be its own.

    Where no call was remembered, the transcript of its parent may have one that is not answered yet.
    """
    log = SessionLog(kb, session)
    started = set(log.list_turn_values(STARTED))
    wanted = agent_type.casefold()
    known = [row for row in map(_parse_row, log.list_turn_values(TASK)) if row and row[0] == wanted]
    if not known:
        return find_open_task(transcript, agent_type)
    # of two calls for the same role it is not known which one starts now; the same task twice is no question
    waiting = [row for row in known if row[1] not in started]
    if len({task for _, _, task in waiting}) != 1:
        return ""
    _, call, task = waiting[0]
    log.add(STARTED, call)
    return task


def find_open_task(path: str, agent_type: str) -> str:
    """Return the task of the only open call for *agent_type* at the end of the transcript *path*, or ""."""
    from kb.sessions.transcript import list_calls, parse_transcript

    try:
        calls = list_calls(parse_transcript(read_transcript(path, _TAIL_BYTES))) if os.path.isfile(path) else []
    except BadInput:
        return ""
    waiting = [one.request for one in calls if one.result is None and one.request.name in ("Agent", "Task")]
    asked = [_parse_task_input(call.input) for call in waiting]
    tasks = {task for kind, task in asked if kind == agent_type.casefold()}
    return tasks.pop() if len(tasks) == 1 else ""


def _parse_task_input(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type of the sub-agent, in lower case, and its task."""
    kind, *texts = (given.get(key) for key in ("subagent_type", "description", "prompt"))
    task = "\n".join(text for text in texts if isinstance(text, str)).strip()
    return (kind if isinstance(kind, str) and kind else _DEFAULT_ROLE).casefold(), task


def _parse_row(row: str) -> tuple[str, str, str] | None:
    try:
        kind, call, task = json.loads(row)
    except (ValueError, TypeError):
        return None
    return (kind, call, task) if all(isinstance(one, str) for one in (kind, call, task)) else None
