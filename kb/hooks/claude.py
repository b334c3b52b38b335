"""Claude Code: how an answer is written, and where its hooks stand (https://code.claude.com/docs/en/hooks)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.guard.response import ALLOW, ASK, DENY, HookResponse
from kb.paths import home_folder
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PostToolUse"})
"""Events whose answer may carry text to the model; what others print is discarded by the host."""
BLOCKING = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"})
"""Events that are stopped, or gone on with, by a reason and no permission."""
_CHANGES: Mapping[str, str] = {"PreToolUse": "updatedInput", "PostToolUse": "updatedToolOutput"}
"""Events whose answer may put something in the place of what a tool is given, or of what it answered."""
LIMIT = 10_000
"""The host cuts every text at so many characters."""
TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 120,
    "UserPromptSubmit": 10,
    "PreCompact": 120,
    "Stop": 120,
    "SubagentStop": 120,
    "SubagentStart": 10,
    "SessionEnd": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
}
"""The events kb is called at, each with the seconds after which the host goes on without it.

Those that extract get as long as a KB_LLM_CMD may take and more. At SessionEnd all hooks share 1.5 s unless a hook in
a settings file asks for more.
"""

TOUCHING = "Read|Write|Edit|MultiEdit|NotebookEdit|Grep|Glob|Bash|PowerShell|mcp__.*"
"""The tools that read or write files."""
MATCHERS: Mapping[str, str] = {
    "PreToolUse": TOUCHING + "|Agent|Task",
    "PostToolUse": "Glob|Grep|Bash|PowerShell|mcp__.*",
}
"""The tools at which an event is wanted; at others the host need not call."""
EVENTS: Mapping[str, str] = {event: event for event in TIMEOUTS}
"""Every event by the host's name, with kb's."""
FAILED = 1
"""The exit code where kb failed: the host goes on and shows it."""

COMMENTED, GROUPED = False, True
"""Whether its settings may hold comments, and whether its hooks stand in groups with a matcher each."""
TOP: Mapping[str, object] = {}
"""What a new file of settings begins with."""


def build_entry(command: str, timeout: int) -> dict[str, Any]:
    """Return how a hook stands in the settings; *timeout* in seconds."""
    return {"type": "command", "command": command, "timeout": timeout}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields: they are this host's."""
    return dict(payload)


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints for *decision*, or "" for nothing to say."""
    output: dict[str, Any] = {}
    said: dict[str, Any] = {}
    context = decision.model_text
    if decision.permission in (ALLOW, ASK, DENY) and event == "PreToolUse":
        said["permissionDecision"] = decision.permission
        said["permissionDecisionReason"] = decision.reason[:LIMIT]
    elif decision.permission == DENY and event in BLOCKING:
        output |= {"decision": "block", "reason": decision.reason[:LIMIT]}
    change = _CHANGES.get(event)
    value = decision.updated_input if event == "PreToolUse" else decision.updated_output
    if change and value is not None and decision.permission not in (ASK, DENY):
        said[change] = value
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    if context and event in SPEAKING:
        said["additionalContext"] = context[:LIMIT]
    if said:
        output["hookSpecificOutput"] = {"hookEventName": event, **said}
    if decision.person_text:
        output["systemMessage"] = decision.person_text[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the settings that hold in the project at *folder*, or with "" those of the user."""
    if folder:
        return os.path.join(folder, ".claude", "settings.json")
    return os.path.join(
        environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home_folder(environment), ".claude"), "settings.json"
    )
