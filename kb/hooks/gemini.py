"""Gemini CLI (https://geminicli.com/docs/hooks/reference): names of its own, and JSON is all that may be printed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.guard.response import ASK, DENY, HookResponse
from kb.paths import home_folder
from kb.sessions import host_input

if TYPE_CHECKING:
    from typing import Any

EVENTS: Mapping[str, str] = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
    "SessionEnd": "SessionEnd",
}
TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 60,
    "BeforeAgent": 10,
    "BeforeTool": 10,
    "AfterTool": 10,
    "AfterAgent": 60,
    "PreCompress": 60,
    "SessionEnd": 10,
}
"""The result of a tool cannot be shortened here: at AfterTool it is looked at what a command has changed."""
MATCHERS: Mapping[str, str] = {"PreCompress": "manual", "AfterTool": "run_shell_command|mcp_.*"}
"""The host names the event "auto" before every request to the model, whether it compresses then or not."""
FAILED = 1
LIMIT = 10_000
_READ_AT_ONCE = 2000
"""Lines that the host itself reads at most where nobody says how many."""
_SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse"})
_BLOCKING = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"})

COMMENTED, GROUPED = True, True
"""Whether its settings may hold comments, and whether its hooks stand in groups with a matcher each."""
TOP: Mapping[str, object] = {}
"""What a new file of settings begins with."""


def build_entry(command: str, timeout: int) -> dict[str, Any]:
    """Return how a hook stands in the settings; *timeout* in seconds."""
    return {"type": "command", "name": "kb", "command": command, "timeout": timeout * 1000}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the payload in kb's fields; None for a compression that may not take place."""
    if event == "PreCompact" and payload.get("trigger") == "auto":
        return None
    name, given = host_input.translate_tool(host_input.GEMINI, payload.get("tool_name"), payload.get("tool_input"))
    if name == "Read":
        given.setdefault("limit", _READ_AT_ONCE)
    response = payload.get("tool_response")
    content = response.get("llmContent", response) if isinstance(response, dict) else response
    return {**payload, "tool_name": name, "tool_input": given, "tool_response": content}


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints; where a person would be asked, the call is denied: the host cannot ask."""
    output: dict[str, Any] = {}
    said: dict[str, Any] = {}
    if event in _BLOCKING and decision.permission in (ASK, DENY):
        output |= {"decision": DENY, "reason": decision.refusal_text[:LIMIT] or DENY}
    elif event == "PreToolUse" and decision.is_silent_input_change:
        given = payload.get("tool_input")
        said["tool_input"] = host_input.restore_host_names(
            host_input.GEMINI, payload.get("tool_name"), given, decision.updated_input
        )
    if decision.model_text and event in _SPEAKING:
        said["additionalContext"] = decision.model_text[:LIMIT]
    if said:
        output["hookSpecificOutput"] = said
    if person := decision.fallback_text if event == "PreToolUse" else decision.person_text:
        output["systemMessage"] = person[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n"


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the settings that hold in the project at *folder*, or with "" those of the user."""
    return os.path.join(folder or home_folder(environment), ".gemini", "settings.json")
