"""Cursor (https://cursor.com/docs/hooks): flat answers in snake_case, an explicit one every time.

A user may have it that a hook without an answer blocks (`failClosed`), so nothing to say is said as well, and a
failure of kb's ends with 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from kb.hosts import ALLOW, ASK, CURSOR, DENY, HookResponse
from kb.sessions.host_input import restore_host_names, translate_tool


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields; the folder is often named by the roots of the workspace only."""
    name, given = translate_tool(CURSOR, payload.get("tool_name"), payload.get("tool_input"))
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    output = payload.get("tool_output")
    try:
        response = json.loads(output) if isinstance(output, str) else output
    except (ValueError, RecursionError):
        response = output
    return {
        **payload,
        "session_id": payload.get("session_id") or payload.get("conversation_id"),
        "source": payload.get("source") or "resume",  # it does not say; a new session has nothing to go on from
        "cwd": payload.get("cwd") or first or os.environ.get("CURSOR_PROJECT_DIR"),
        "transcript_path": payload.get("transcript_path") or os.environ.get("CURSOR_TRANSCRIPT_PATH"),
        "agent_type": payload.get("agent_type") or payload.get("subagent_type"),
        "agent_id": payload.get("agent_id") or payload.get("subagent_id"),
        "tool_name": name,
        "tool_input": given,
        "tool_response": response,
    }


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; `ask` is not enforced by the host, so what is to be asked is denied."""
    output: dict[str, Any] = {}
    denied = decision.permission in (ASK, DENY)
    person = decision.fallback_text if event == "PreToolUse" else decision.person_text
    message = (decision.refusal_text if denied else person)[: CURSOR.limit]
    if event == "PreToolUse":
        output["permission"] = DENY if denied else ALLOW
        if denied:
            output["agent_message"] = message
        elif decision.is_silent_input_change:
            output["updated_input"] = restore_host_names(
                CURSOR, payload.get("tool_name"), payload.get("tool_input"), decision.updated_input
            )
    elif event == "UserPromptSubmit":
        output["continue"] = not denied
    elif event == "Stop" and denied:
        output["followup_message"] = message
    elif event in CURSOR.speaking and decision.model_text:
        output["additional_context"] = decision.model_text[: CURSOR.limit]
    if message and event in ("PreToolUse", "UserPromptSubmit", "PreCompact"):
        output["user_message"] = message
    return json.dumps(output, ensure_ascii=False) + "\n"
