"""Codex CLI (https://developers.openai.com/codex/hooks): the payload of Claude Code, and no key it does not list."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.guard.response import ALLOW, ASK, DENY, HookResponse
from kb.paths import home_folder

if TYPE_CHECKING:
    from typing import Any

EVENTS: Mapping[str, str] = {
    event: event
    for event in (
        "SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SubagentStart", "SessionEnd",
        "PreToolUse", "PostToolUse",
    )
}  # fmt: skip
TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 120,
    "UserPromptSubmit": 10,
    "PreCompact": 120,
    "Stop": 120,
    "SubagentStop": 120,
    "SubagentStart": 10,
    "SessionEnd": 3,
    "PreToolUse": 10,
    "PostToolUse": 10,
}
"""At SessionEnd the host waits 3 seconds at most. It has no searches whose results could be shortened."""
MATCHERS: Mapping[str, str] = {"PostToolUse": "Bash|apply_patch|mcp__.*"}
"""The tools that may change records without a word of it."""
FAILED = 1
LIMIT = 10_000
_SPEAKING = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse", "PostToolUse"})
_BLOCKING = frozenset({"UserPromptSubmit", "PostToolUse", "Stop"})
_DEAF = frozenset({"SessionEnd", "PreCompact"})
"""Events at which nothing that is printed is read."""

COMMENTED, GROUPED = False, True
"""Whether its settings may hold comments, and whether its hooks stand in groups with a matcher each."""
TOP: Mapping[str, object] = {}
"""What a new file of settings begins with."""


def build_entry(command: str, timeout: int) -> dict[str, Any]:
    """Return how a hook stands in the settings; *timeout* in seconds."""
    return {"type": "command", "command": command, "timeout": timeout}


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields: they are the host's."""
    return dict(payload)


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints: no bare "allow" and no change of an output, which the host does not know.

    The host knows the permission "ask" and supports it nowhere: it reports a failed hook and makes the call. So what a
    person is to be asked about is denied.
    """
    if event in _DEAF:
        return ""
    output: dict[str, Any] = {}
    said: dict[str, Any] = {}
    if event == "PreToolUse" and decision.permission in (ASK, DENY):
        said |= {"permissionDecision": DENY, "permissionDecisionReason": decision.refusal_text[:LIMIT] or DENY}
    elif event == "PreToolUse" and decision.permission == ALLOW and decision.updated_input is not None:
        said |= {"permissionDecision": "allow", "updatedInput": decision.updated_input}
    elif event in _BLOCKING and decision.permission == DENY:
        output |= {"decision": "block", "reason": decision.reason[:LIMIT] or DENY}
    if decision.model_text and event in _SPEAKING:
        said["additionalContext"] = decision.model_text[:LIMIT]
    if said:
        output["hookSpecificOutput"] = {"hookEventName": event, **said}
    if decision.person_text:
        output["systemMessage"] = decision.person_text[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return the file of hooks that hold in the project at *folder*, or with "" those of the user."""
    if folder:
        return os.path.join(folder, ".codex", "hooks.json")
    return os.path.join(environment.get("CODEX_HOME") or os.path.join(home_folder(environment), ".codex"), "hooks.json")
