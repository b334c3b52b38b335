"""Handle the tool-call events of an agent; report a full context and hook failures at any event."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from kb.errors import IndexFailed, KbError
from kb.guard.response import ASK, DENY, HookResponse, merge_responses
from kb.hooks.fast_path import SPAWNS, count_lines, may_discard, may_write
from kb.hosts import CLAUDE
from kb.knowledge_base import KnowledgeBase
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import hook_failures, record_stamps

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.usage_alerts import UsageAlert

    Payload = Mapping[str, Any]

_USAGE_FIELDS = ("context_usage_percent", "context_tokens")
"""Fields of a payload in which a host says how full the context is."""
_MAX_COUNTED_LINES = 1_000_000
"""Lines of a file that are counted; of a longer one the agent is told that there are more."""


def handle_pre_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Answer a tool call before it is made: with the strictest of what looks at it."""
    return merge_responses(*(handler(kb, payload) for handler in BEFORE_TOOL))


def handle_post_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Shorten the result of a search before the agent reads it, and tell of records that a command has changed."""
    from kb.sessions.prune_transcript import shorten_result

    shorter = HookResponse()
    tool, given, transcript = payload.get("tool_name", ""), payload.get("tool_input", {}), get_transcript_path(payload)
    folder = payload.get("cwd", "")
    if made := shorten_result(kb, tool, given, payload.get("tool_response"), transcript=transcript, folder=folder):
        shorter = HookResponse(updated_output=made.value, updated_note=kb.localise(made.note))
    changed = compare_protected_files(kb, payload, "PostToolUse") if may_write(payload) else HookResponse()
    return merge_responses(shorter, changed, _alert_at_tool(kb, payload))


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
        from kb.guard.subagent_tasks import remember_task

        session, call = payload.get("session_id", ""), payload.get("tool_use_id", "")
        remember_task(kb, session, payload.get("tool_input", {}), call)
    return HookResponse()


def _alert_at_tool(kb: KnowledgeBase, payload: Payload) -> HookResponse:
    """Tell of the context at a tool call: a session that works alone hears of it nowhere else."""
    alert = raise_usage_alert(kb, payload, only_told=True)
    return HookResponse(context=alert.context) if alert else HookResponse()


Handler = Callable[[KnowledgeBase, "Payload"], HookResponse]
BEFORE_TOOL: tuple[Handler, ...] = (_guard_tool_call, _limit_long_read, _remember_agent_task, _alert_at_tool)
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
    failure = hook_failures.HookFailure(hook_failures.format_time(time.time()), event, problem, by_host=by_host)
    hook_failures.save_failure(root, os.environ, failure)
