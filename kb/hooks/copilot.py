"""GitHub Copilot CLI (https://docs.github.com/en/copilot/reference/hooks-reference): a hook that fails denies the call.

So whatever happens, the exit code is 0 and what is printed is a JSON object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.guard.response import ALLOW, ASK, DENY, HookResponse
from kb.paths import home_folder
from kb.sessions import host_input

if TYPE_CHECKING:
    from typing import Any

EVENTS: Mapping[str, str] = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "agentStop": "Stop",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}
TIMEOUTS: Mapping[str, int] = {
    "sessionStart": 60,
    "userPromptSubmitted": 10,
    "preToolUse": 10,
    "postToolUse": 10,
    "agentStop": 60,
    "subagentStart": 10,
    "preCompact": 60,
    "sessionEnd": 10,
}
"""What a sub-agent does stands in the session's own file, so at subagentStop there is nothing to read."""
MATCHERS: Mapping[str, str] = {"postToolUse": "glob|grep|bash|powershell"}
FAILED = 0
LIMIT = 10_000
"""Bytes of a text, at most."""
_SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"})
"""Events at which the host hands a text on to the model."""
_ITS_OWN = frozenset({"UserPromptSubmit", "Stop"})
"""Events that a sub-agent has besides its start and end: they are neither the person's nor the session's."""
_FIELDS: Mapping[str, str] = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "agentName": "agent_type",
    "agentId": "agent_id",
    "agentTranscriptPath": "agent_transcript_path",
    "stopReason": "stop_reason",
}

COMMENTED, GROUPED = False, False
"""Whether its settings may hold comments, and whether its hooks stand in groups with a matcher each."""
TOP: Mapping[str, object] = {"version": 1}
"""What a new file of settings begins with."""


def build_entry(command: str, timeout: int) -> dict[str, Any]:
    """Return how a hook stands in the settings; *timeout* in seconds."""
    return {"type": "command", "bash": command, "timeoutSec": timeout}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None for a sub-agent's own prompt and end.

    Inside a sub-agent the session is named by the sub-agent's id; its parent's is that of the session.
    """
    parent = payload.get("parentAgentId") or payload.get("parent_agent_id")
    if parent and (event in _ITS_OWN or event == "SubagentStop"):
        return None
    made = {_FIELDS.get(key, key): value for key, value in payload.items()}
    if parent:
        made["session_id"] = parent
    if not made.get("transcript_path"):
        made["transcript_path"] = find_transcript(made.get("session_id"), os.environ)
    if "toolName" in payload:
        name, given = host_input.translate_copilot_tool(payload.get("toolName"), _parse_arguments(payload))
        lines = given.get("view_range")
        if isinstance(lines, list) and len(lines) == 2 and all(type(line) is int for line in lines):
            given |= {"offset": lines[0], "limit": lines[1] - lines[0] + 1 if lines[1] >= lines[0] else None}
        made |= {"tool_name": name, "tool_input": given}
    result = payload.get("toolResult")
    if isinstance(result, dict):
        made["tool_response"] = result.get("textResultForLlm")
    return made


def find_transcript(session: object, environment: Mapping[str, str]) -> str:
    """Return the file of a *session*, which most events do not name; "" where there is none."""
    if not isinstance(session, str) or not session or os.path.basename(session) != session or "\0" in session:
        return ""
    path = os.path.join(_resolve_home(environment), "session-state", session, "events.jsonl")
    return path if os.path.exists(path) else ""


def _resolve_home(environment: Mapping[str, str]) -> str:
    return environment.get("COPILOT_HOME") or os.path.join(home_folder(environment), ".copilot")


def _parse_arguments(payload: Mapping[str, Any]) -> object:
    """Return what the tool is given; it may come as JSON within JSON."""
    given = payload.get("toolArgs")
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints."""
    output: dict[str, Any] = {}
    context = decision.model_text
    if event == "PreToolUse":
        output |= _render_tool_decision(decision, payload)
    elif event == "PostToolUse" and decision.updated_output is not None:
        result = payload.get("toolResult")
        shape = result if isinstance(result, dict) else {"resultType": "success"}
        output["modifiedResult"] = {**shape, "textResultForLlm": str(decision.updated_output)}
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    elif event in ("Stop", "SubagentStop") and decision.permission == DENY:
        output |= {"decision": "block", "reason": host_input.clip_bytes(decision.reason or DENY, LIMIT)}
    if context and event in _SPEAKING:
        output["additionalContext"] = host_input.clip_bytes(context, LIMIT)
    return json.dumps(output, ensure_ascii=False) + "\n"


def _render_tool_decision(decision: HookResponse, payload: Mapping[str, Any]) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if decision.permission in (ALLOW, ASK, DENY):
        reason = host_input.clip_bytes(decision.reason, LIMIT)
        output |= {"permissionDecision": decision.permission, "permissionDecisionReason": reason}
    if decision.is_silent_input_change and decision.permission not in (ASK, DENY):
        given = _parse_arguments(payload)
        output["modifiedArgs"] = host_input.restore_host_names(
            host_input.COPILOT, payload.get("toolName"), given, decision.updated_input
        )
    return output


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the file of kb's hooks for the project at *folder*, or with "" for the user."""
    if folder:
        return os.path.join(folder, ".github", "hooks", "kb.json")
    return os.path.join(_resolve_home(environment), "hooks", "kb.json")
