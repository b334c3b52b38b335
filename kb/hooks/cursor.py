"""Cursor (https://cursor.com/docs/hooks): flat answers in snake_case, an explicit one every time.

A user may have it that a hook without an answer blocks (`failClosed`), so nothing to say is said as well, and a
failure of kb's ends with 0.
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
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "preCompact": "PreCompact",
    "stop": "Stop",
    "subagentStart": "SubagentStart",
    "subagentStop": "SubagentStop",
    "sessionEnd": "SessionEnd",
}
TIMEOUTS: Mapping[str, int] = {
    "sessionStart": 60,
    "beforeSubmitPrompt": 10,
    "preToolUse": 10,
    "postToolUse": 10,
    "preCompact": 60,
    "stop": 60,
    "subagentStop": 60,
    "sessionEnd": 10,
}
"""At subagentStart nothing can be told, and no result but that of an MCP tool can be changed."""
MATCHERS: Mapping[str, str] = {"postToolUse": "Shell|MCP.*"}
FAILED = 0
LIMIT = 10_000

COMMENTED, GROUPED = True, False
"""Whether its settings may hold comments, and whether its hooks stand in groups with a matcher each."""
TOP: Mapping[str, object] = {"version": 1}
"""What a new file of settings begins with."""


def build_entry(command: str, timeout: int) -> dict[str, Any]:
    """Return how a hook stands in the settings; *timeout* in seconds."""
    return {"type": "command", "command": command, "timeout": timeout}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields; the folder is often said by the roots of the workspace only."""
    name, given = host_input.translate_tool(host_input.CURSOR, payload.get("tool_name"), payload.get("tool_input"))
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    made = {
        **payload,
        "session_id": payload.get("session_id") or payload.get("conversation_id"),
        "source": payload.get("source") or "resume",  # it does not say; a new session has nothing to go on from
        "cwd": payload.get("cwd") or first or os.environ.get("CURSOR_PROJECT_DIR"),
        "transcript_path": payload.get("transcript_path") or os.environ.get("CURSOR_TRANSCRIPT_PATH"),
        "agent_type": payload.get("agent_type") or payload.get("subagent_type"),
        "agent_id": payload.get("agent_id") or payload.get("subagent_id"),
        "tool_name": name,
        "tool_input": given,
    }
    output = payload.get("tool_output")
    try:
        made["tool_response"] = json.loads(output) if isinstance(output, str) else output
    except (ValueError, RecursionError):
        made["tool_response"] = output
    return made


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; `ask` is not enforced by the host, so what is to be asked is denied."""
    output: dict[str, Any] = {}
    denied = decision.permission in (ASK, DENY)
    person = decision.fallback_text if event == "PreToolUse" else decision.person_text
    message = (decision.refusal_text if denied else person)[:LIMIT]
    if event == "PreToolUse":
        output["permission"] = DENY if denied else ALLOW
        if denied:
            output["agent_message"] = message
        elif decision.is_silent_input_change:
            given = payload.get("tool_input")
            output["updated_input"] = host_input.restore_host_names(
                host_input.CURSOR, payload.get("tool_name"), given, decision.updated_input
            )
    elif event == "UserPromptSubmit":
        output["continue"] = not denied
    elif event in ("SessionStart", "PostToolUse") and decision.model_text:
        output["additional_context"] = decision.model_text[:LIMIT]
    if message and event in ("PreToolUse", "UserPromptSubmit", "PreCompact"):
        output["user_message"] = message
    return json.dumps(output, ensure_ascii=False) + "\n"


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the hooks that hold in the project at *folder*, or with "" those of the user."""
    return os.path.join(folder or home_folder(environment), ".cursor", "hooks.json")
