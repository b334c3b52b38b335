"""Claude Code: write its answers (https://code.claude.com/docs/en/hooks). Its payloads have kb's own format."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.hosts import ALLOW, ASK, CLAUDE, DENY, HookResponse
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_CHANGES: Mapping[str, str] = {"PreToolUse": "updatedInput", "PostToolUse": "updatedToolOutput"}
"""Events whose answer may put something in place of what a tool is given, or of what it answered."""


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields: they are this host's."""
    return dict(payload)


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints for *decision*, or "" for nothing to say."""
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    context = decision.model_text
    if decision.permission in (ALLOW, ASK, DENY) and event == "PreToolUse":
        specific["permissionDecision"] = decision.permission
        specific["permissionDecisionReason"] = decision.reason[: CLAUDE.limit]
    elif decision.permission == DENY and event in CLAUDE.blocking:
        output |= {"decision": "block", "reason": decision.reason[: CLAUDE.limit]}
    value = decision.updated_input if event == "PreToolUse" else decision.updated_output
    if event in _CHANGES and value is not None and decision.permission not in (ASK, DENY):
        specific[_CHANGES[event]] = value
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    if context and event in CLAUDE.speaking:  # what is printed at other events is discarded by the host
        specific["additionalContext"] = context[: CLAUDE.limit]
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    if decision.person_text:
        output["systemMessage"] = decision.person_text[: CLAUDE.limit]
    return json.dumps(output, ensure_ascii=False) + "\n" if output else ""
