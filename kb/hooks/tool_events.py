"""Handle the tool-call events of an agent; report a full context and hook failures at any event.

The tasks given to sub-agents are remembered, so that each gets hints on its own task and never on another's: when a
sub-agent starts, its host names its type alone, and writes the call to the transcript later.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping

from kb.errors import BadInput, IndexFailed, KbError
from kb.hooks.fast_path import SPAWNS, count_lines, may_discard, may_write
from kb.hosts import ASK, CLAUDE, DENY, HOSTS, WARN, HookResponse, merge_responses
from kb.i18n import msg
from kb.knowledge_base import KnowledgeBase
from kb.sessions.host_input import read_transcript
from kb.startup.namedtuple import TYPE_CHECKING
from kb.startup.process import sha256
from kb.state import record_stamps, state_folder
from kb.state.session_log import STARTED, TASK, SessionLog

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.usage_alerts import UsageAlert

    Payload = Mapping[str, Any]
    from kb.workspace import Workspace

_USAGE_FIELDS = ("context_usage_percent", "context_tokens")
"""Fields of a payload in which a host says how full the context is."""
_MAX_COUNTED_LINES = 1_000_000
"""Lines of a file that are counted; of a longer one the agent is told that there are more."""


def handle_pre_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Answer a tool call before it is made: with the strictest of what looks at it.

    Gemini and Cursor hand nothing to the model before a call: there the agent is told when the call has been made.
    """
    response = merge_responses(*(handler(kb, payload) for handler in BEFORE_TOOL))
    if response.context and not HOSTS.get(payload.get("host", ""), CLAUDE).tells_model("PreToolUse"):
        SessionLog(kb, payload.get("session_id", "")).defer_text(response.context)
    return response


def handle_post_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Shorten the result of a search before the agent reads it, and tell of records that a command has changed."""
    from kb.sessions.prune_transcript import shorten_result

    shorter = HookResponse()
    tool, given, transcript = payload.get("tool_name", ""), payload.get("tool_input", {}), get_transcript_path(payload)
    folder = payload.get("cwd", "")
    if made := shorten_result(kb, tool, given, payload.get("tool_response"), transcript=transcript, folder=folder):
        shorter = HookResponse(updated_output=made.value, updated_note=kb.localise(made.note))
    changed = compare_protected_files(kb, payload, "PostToolUse") if may_write(payload) else HookResponse()
    log = SessionLog(kb, payload.get("session_id", ""), payload.get("agent_id", ""))
    deferred = HookResponse(context=log.take_deferred_text())
    return merge_responses(shorter, changed, deferred, _tell_cure(kb, payload, log), _alert_at_tool(kb, payload))


def _tell_cure(kb: KnowledgeBase, payload: Payload, told: SessionLog) -> HookResponse:
    """Tell the agent what helped when this failed before; usually nothing."""
    error, command = payload.get("tool_error") or payload.get("unclear_output"), payload["tool_input"].get("command")
    if not error:
        return HookResponse()
    from kb.context import cures

    project, typed = kb.project(payload.get("cwd", "")), command if isinstance(command, str) else ""
    cure = cures.find_cure(kb, typed, error, project=project, session_log=told, tool=payload.get("tool_name", ""))
    if cure is None:
        return HookResponse()
    told.mark_told(cures.build_told_key(cure.record))
    return HookResponse(context=cure.text)


def _guard_tool_call(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Ask the guard: was the memory read, and who may write there."""
    from kb.guard.decide import PendingCall, decide_call

    session, prompt = payload.get("session_id", ""), payload.get("prompt_id", "")
    tool, given = payload.get("tool_name", ""), payload.get("tool_input", {})
    pending = PendingCall(tool, given, session, prompt, payload.get("cwd", ""), payload.get("agent_id", ""))
    ruling = decide_call(kb, pending)
    if not may_write(payload) or ruling.permission == DENY:  # a call that is denied changes nothing
        return ruling
    return merge_responses(ruling, compare_protected_files(kb, payload, "PreToolUse", asked=ruling.permission == ASK))


def _limit_long_read(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Let a long file be read in parts."""
    from kb.sessions.prune_transcript import limit_read

    given = payload.get("tool_input", {})
    path = given.get("file_path")
    if payload.get("tool_name") != "Read" or not isinstance(path, str) or given.get("limit") is not None:
        return HookResponse()
    made = limit_read(kb, given, count_lines(path, _MAX_COUNTED_LINES))
    return HookResponse(updated_input=made.value, updated_note=kb.localise(made.note)) if made else HookResponse()


def _remember_agent_task(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Remember what a sub-agent is asked for: when it starts, the host does not say."""
    if payload.get("tool_name") in SPAWNS:
        session, call = payload.get("session_id", ""), payload.get("tool_use_id", "")
        remember_task(kb, session, payload.get("tool_input", {}), call)
    return HookResponse()


def _warn_of_repetition(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Warn before a command that failed twice with nothing changed between; it is made all the same."""
    from kb.state import failed_calls

    session, command = payload.get("session_id", ""), payload.get("tool_input", {}).get("command")
    if not isinstance(command, str) or not failed_calls.is_repeated_in_vain(kb.root, session, command):
        return HookResponse()
    failed_calls.mark_warned(kb.root, session, command)
    said = msg("kb: this command has failed twice, and nothing was changed since; read its error, or change something")
    return HookResponse(WARN, kb.localise(said))


def _alert_at_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Tell of the context at a tool call: a session that works alone hears of it nowhere else."""
    alert = raise_usage_alert(kb, payload, only_told=True)
    return HookResponse(context=alert.context) if alert else HookResponse()


Handler = Callable[[KnowledgeBase, "Payload"], HookResponse]
BEFORE_TOOL: tuple[Handler, ...] = (
    _guard_tool_call,
    _warn_of_repetition,
    _limit_long_read,
    _remember_agent_task,
    _alert_at_tool,
)
"""What looks at a tool call before it is made. One more is a function and a word here; `fast_path` lets it be asked."""


def compare_protected_files(kb: KnowledgeBase, payload: Payload, event: str, *, asked: bool = False) -> HookResponse:
    """Compare the files that only kb writes with what they were; where that fails, the event is answered without it.

    At *event*: before and after a command of an agent, and at the end of its turn. *asked*: the person is asked about
    the command.
    """
    session, folder = payload.get("session_id", ""), payload.get("cwd", "")
    # stamps tell at once that nothing changed; before a command that may throw text away, a copy of it must be taken
    if event == "PreToolUse" and not may_discard(payload) and record_stamps.is_unchanged(kb.root, folder):
        record_stamps.mark_call_started(kb.root, session, record_stamps.SETTINGS if asked else "")
        return HookResponse()
    from kb.guard import set_aside

    caller = set_aside.Caller(session, folder, payload.get("host") or CLAUDE.name)
    try:
        if event == "PreToolUse":
            return set_aside.check_before_call(kb, caller, asked=asked)
        return set_aside.check_end_of_turn(kb, caller) if event == "Stop" else set_aside.check_after_call(kb, caller)
    except IndexFailed:
        raise
    except (KbError, OSError, ValueError) as error:
        remember_failure(kb.root, f"{event} guard", error)
        return HookResponse()


# -- at every event ----------------------------------------------------------------------------------


def get_transcript_path(payload: Payload, key: str = "transcript_path") -> str:
    """Return the transcript that *payload* names; "" for none."""
    path: str = payload.get(key, "")
    return os.path.expanduser(path)


def raise_usage_alert(
    kb: KnowledgeBase, payload: Payload, *, only_told: bool = False, heard: bool = True
) -> UsageAlert | None:
    """Do what the use of the context calls for, if anything; where that fails, the event is answered all the same."""
    path = get_transcript_path(payload)
    if not any(key in payload for key in _USAGE_FIELDS) and not _get_file_size(path):
        return None
    from kb.capture import usage_alerts

    try:
        return usage_alerts.raise_alerts(
            kb,
            payload.get("session_id", ""),
            path,
            percent=usage_alerts.parse_host_percent(payload),
            folder=payload.get("cwd", ""),
            host=payload.get("host") or CLAUDE.name,
            only_told=only_told,
            heard=heard,
        )
    except (KbError, OSError) as error:
        remember_failure(kb.root, "context use", error)
        return None


def _get_file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def remember_failure(root: str, event: str, error: BaseException, *, by_host: bool = False) -> None:
    """Keep a failure where `kb doctor` finds it; *by_host*: the host gave nothing to work on."""
    problem = f"{type(error).__name__}: {error}"
    failure = state_folder.HookFailure(state_folder.format_time(time.time()), event, problem, by_host=by_host)
    state_folder.save_failure(root, os.environ, failure)


# -- tasks of sub-agents --------------------------------------------------------------------------

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
