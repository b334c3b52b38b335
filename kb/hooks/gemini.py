"""Gemini CLI (https://geminicli.com/docs/hooks/reference): names of its own, and JSON is all that may be printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kb.hosts import ASK, DENY, GEMINI, HookResponse
from kb.sessions.host_input import restore_host_names, translate_tool


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None for a compression that may not take place."""
    if event == "PreCompact" and payload.get("trigger") == "auto":
        return None
    name, given = translate_tool(GEMINI, payload.get("tool_name"), payload.get("tool_input"))
    if name == "Read":
        given.setdefault("limit", GEMINI.read_lines)
    response = payload.get("tool_response")
    content = response.get("llmContent", response) if isinstance(response, dict) else response
    return {**payload, "tool_name": name, "tool_input": given, "tool_response": content}


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; where a person would be asked, the call is denied: the host cannot ask."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if event in GEMINI.blocking and decision.permission in (ASK, DENY):
        output |= {"decision": DENY, "reason": decision.refusal_text[: GEMINI.limit] or DENY}
    elif event == "PreToolUse" and decision.is_silent_input_change:
        specific["tool_input"] = restore_host_names(
            GEMINI, payload.get("tool_name"), payload.get("tool_input"), decision.updated_input
        )
    if decision.model_text and event in GEMINI.speaking:
        specific["additionalContext"] = decision.model_text[: GEMINI.limit]
    if specific:
        output["hookSpecificOutput"] = specific
    if person := decision.fallback_text if event == "PreToolUse" else decision.person_text:
        output["systemMessage"] = person[: GEMINI.limit]
    return json.dumps(output, ensure_ascii=False) + "\n"
