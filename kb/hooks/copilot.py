"""GitHub Copilot CLI (https://docs.github.com/en/copilot/reference/hooks-reference): a hook that fails denies the call.

So whatever happens, the exit code is 0 and what is printed is a JSON object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from kb.hosts import ALLOW, ASK, COPILOT, DENY, HookResponse, resolve_user_folder
from kb.sessions.host_input import clip_bytes, restore_host_names, translate_tool

_SUBAGENT_EVENTS = ("UserPromptSubmit", "Stop", "SubagentStop")
"""Events that a sub-agent has itself besides its start: they are neither the person's nor the session's."""
_FIELDS: Mapping[str, str] = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "agentName": "agent_type",
    "agentId": "agent_id",
    "agentTranscriptPath": "agent_transcript_path",
    "stopReason": "stop_reason",
}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None for a sub-agent's own prompt and end.

    Inside a sub-agent the session is named by the sub-agent's id; its parent's is that of the session.
    """
    parent = payload.get("parentAgentId") or payload.get("parent_agent_id")
    if parent and event in _SUBAGENT_EVENTS:
        return None
    made = {_FIELDS.get(key, key): value for key, value in payload.items()}
    if parent:
        made["session_id"] = parent
    if not made.get("transcript_path"):
        made["transcript_path"] = _find_transcript(made.get("session_id"), os.environ)
    if "toolName" in payload:
        name, given = translate_tool(COPILOT, payload.get("toolName"), _parse_arguments(payload))
        lines = given.get("view_range")
        if isinstance(lines, list) and len(lines) == 2 and all(type(line) is int for line in lines):
            given |= {"offset": lines[0], "limit": lines[1] - lines[0] + 1 if lines[1] >= lines[0] else None}
        made |= {"tool_name": name, "tool_input": given}
    result = payload.get("toolResult")
    if isinstance(result, dict):
        made["tool_response"] = result.get("textResultForLlm")
        if result.get("resultType") == "failure":
            made["tool_error"] = result.get("textResultForLlm")
    return made


def _find_transcript(session: object, environment: Mapping[str, str]) -> str:
    """Return the file of a *session*, which most events do not name and which is written late; "" for no session."""
    if not isinstance(session, str) or not session or os.path.basename(session) != session or "\0" in session:
        return ""
    return os.path.join(resolve_user_folder(COPILOT.hooks, environment), "session-state", session, "events.jsonl")


def _parse_arguments(payload: Mapping[str, Any]) -> object:
    """Return what the tool is given; it may come as JSON within JSON."""
    given = payload.get("toolArgs")
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; the host can ask the person."""
    output: dict[str, Any] = {}
    context = decision.model_text
    refused = decision.permission in (ASK, DENY)
    if event == "PreToolUse":
        if refused or decision.permission == ALLOW:
            reason = clip_bytes(decision.reason, COPILOT.limit)
            output |= {"permissionDecision": decision.permission, "permissionDecisionReason": reason}
        if decision.is_silent_input_change and not refused:
            given = _parse_arguments(payload)
            changed = restore_host_names(COPILOT, payload.get("toolName"), given, decision.updated_input)
            output["modifiedArgs"] = changed
    elif event == "PostToolUse" and decision.updated_output is not None:
        result = payload.get("toolResult")
        shape = result if isinstance(result, dict) else {"resultType": "success"}
        output["modifiedResult"] = {**shape, "textResultForLlm": str(decision.updated_output)}
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    elif event in ("Stop", "SubagentStop") and decision.permission == DENY:
        output |= {"decision": "block", "reason": clip_bytes(decision.reason or DENY, COPILOT.limit)}
    if context and event in COPILOT.speaking:
        output["additionalContext"] = clip_bytes(context, COPILOT.limit)
    return json.dumps(output, ensure_ascii=False) + "\n"
