"""What each host takes as an answer, event by event, written after its documentation; and payloads as it sends them."""

import json
from typing import Any

from tests.support.sealed import DATA

HERE = DATA / "hostpayloads"
HOSTS = ("claude", "codex", "gemini", "copilot", "cursor", "opencode")

TEXT, FLAG, OBJECT, ANY = str, bool, dict, object
_ALL = {"continue": FLAG, "stopReason": TEXT, "suppressOutput": FLAG, "systemMessage": TEXT}
_BLOCK = {"decision": {"block"}, "reason": TEXT}


def _nested(event: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": {event}, **more}}


_PERMISSION = {"permissionDecision": {"allow", "deny", "ask"}, "permissionDecisionReason": TEXT}
_DECISION = {"decision": {"allow", "deny"}, "reason": TEXT}
ANSWERS: dict[str, dict[str, dict[str, Any]]] = {
    "claude": {
        "SessionStart": _ALL | _nested("SessionStart", additionalContext=TEXT),
        "UserPromptSubmit": _ALL | _BLOCK | _nested("UserPromptSubmit", additionalContext=TEXT),
        "PreToolUse": _ALL | _nested("PreToolUse", **_PERMISSION, updatedInput=OBJECT, additionalContext=TEXT),
        "PostToolUse": _ALL | _BLOCK | _nested("PostToolUse", additionalContext=TEXT, updatedToolOutput=ANY),
        "PostToolUseFailure": _ALL | _nested("PostToolUseFailure", additionalContext=TEXT),
        "Stop": _ALL | _BLOCK,
        "SubagentStop": _ALL | _BLOCK,
        "SubagentStart": _ALL | _nested("SubagentStart", additionalContext=TEXT),
        "PreCompact": _ALL | _BLOCK,
        "SessionEnd": _ALL,
    },
    "codex": {
        "SessionStart": _ALL | _nested("SessionStart", additionalContext=TEXT),
        "UserPromptSubmit": _ALL | _BLOCK | _nested("UserPromptSubmit", additionalContext=TEXT),
        "PreToolUse": _ALL | _nested("PreToolUse", permissionDecision={"allow", "deny"}, permissionDecisionReason=TEXT,
                                     updatedInput=OBJECT, additionalContext=TEXT),
        "PostToolUse": _ALL | _BLOCK | _nested("PostToolUse", additionalContext=TEXT),
        "Stop": _ALL | _BLOCK,
        "SubagentStop": _ALL,
        "SubagentStart": _ALL | _nested("SubagentStart", additionalContext=TEXT),
        "PreCompact": {},
        "SessionEnd": {},
    },
    "gemini": {
        "SessionStart": {"systemMessage": TEXT, "hookSpecificOutput": {"additionalContext": TEXT}},
        "BeforeAgent": {**_DECISION, "systemMessage": TEXT, "hookSpecificOutput": {"additionalContext": TEXT}},
        "BeforeTool": {**_DECISION, "systemMessage": TEXT, "hookSpecificOutput": {"tool_input": OBJECT}},
        "AfterTool": {**_DECISION, "systemMessage": TEXT, "hookSpecificOutput": {"additionalContext": TEXT}},
        "AfterAgent": {**_DECISION, "systemMessage": TEXT},
        "PreCompress": {"systemMessage": TEXT},
        "SessionEnd": {"systemMessage": TEXT},
    },
    "copilot": {
        "sessionStart": {"additionalContext": TEXT},
        "userPromptSubmitted": {"additionalContext": TEXT},
        "preToolUse": {**_PERMISSION, "modifiedArgs": OBJECT, "additionalContext": TEXT},
        "postToolUse": {"modifiedResult": OBJECT, "additionalContext": TEXT},
        "postToolUseFailure": {"additionalContext": TEXT},
        "agentStop": _BLOCK,
        "subagentStart": {"additionalContext": TEXT},
        "subagentStop": _BLOCK,
        "preCompact": {},
        "sessionEnd": {},
    },
    "cursor": {
        "sessionStart": {"additional_context": TEXT, "env": OBJECT},
        "beforeSubmitPrompt": {"continue!": FLAG, "user_message": TEXT},
        "preToolUse": {"permission!": {"allow", "deny"}, "user_message": TEXT, "agent_message": TEXT,
                       "updated_input": OBJECT},
        "postToolUse": {"additional_context": TEXT, "updated_mcp_tool_output": ANY},
        "preCompact": {"user_message": TEXT},
        "stop": {"followup_message": TEXT},
        "subagentStart": {},
        "subagentStop": {},
        "sessionEnd": {},
    },
    "opencode": {
        event: {"deny": TEXT, "context": TEXT, "message": TEXT, "input": OBJECT, "output": ANY}
        for event in (
            "session.created", "session.compacted", "chat.message", "tool.execute.before", "tool.execute.after",
            "experimental.session.compacting", "experimental.chat.messages.transform", "session.idle",
            "session.deleted",
        )
    },
}  # fmt: skip
"""By host and event what an answer may hold; a key with ! must be there, a set lists the only values."""

CODES = {"claude": {0, 1}, "codex": {0, 1}, "gemini": {0, 1}, "copilot": {0}, "cursor": {0}, "opencode": {0, 1}}
"""The exit codes by which a host goes on."""
MUST_ANSWER = {"gemini", "copilot", "cursor", "opencode"}
"""Hosts to which every answer is a JSON object."""


def payloads(host: str, **values: Any) -> dict[str, dict[str, Any]]:
    """Return the payloads of *host* by event, with *values* in place of `$NAME`."""

    found: dict[str, dict[str, Any]] = _filled(json.loads((HERE / f"{host}.json").read_text("utf-8")), values)
    return found


def seen(**values: Any) -> list[dict[str, Any]]:
    """Return payloads that running hosts sent and that differ from those above: `{host, event, what, payload}` each.

    From Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and opencode 1.18.33.
    """
    found: list[dict[str, Any]] = _filled(json.loads((HERE / "seen.json").read_text("utf-8")), values)
    return found


def _filled(value: Any, values: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, values) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    if isinstance(value, str) and value[:1] == "$" and value[1:] in values:
        return values[value[1:]]
    for name in ("LONG", "CWD"):
        if isinstance(value, str) and f"${name}" in value:
            value = value.replace(f"${name}", values[name])
    return value


def faults(host: str, event: str, printed: str) -> list[str]:
    """Return what is wrong with what a hook printed, as the host reads it."""
    if not printed.strip():
        return ["nothing is printed"] if host in MUST_ANSWER else []
    try:
        answer = json.loads(printed)
    except ValueError as error:
        return [f"no JSON: {error}"]
    return list(_faults(answer, ANSWERS[host][event], "answer"))


def _faults(value: Any, wanted: dict[str, Any], place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place} is no object"]
    allowed = {key.rstrip("!"): kind for key, kind in wanted.items()}
    found = [f"{place} lacks {key[:-1]}" for key in wanted if key.endswith("!") and key[:-1] not in value]
    for key, one in value.items():
        kind = allowed.get(key)
        if kind is None:
            found.append(f"{place} has {key}, which the host does not list")
        elif isinstance(kind, dict):
            found += _faults(one, kind, f"{place}.{key}")
        elif isinstance(kind, set):
            found += [] if one in kind else [f"{place}.{key} is {one}"]
        elif not isinstance(one, kind):
            found.append(f"{place}.{key} is no {kind.__name__}")
        elif isinstance(one, str) and len(one) > 10_000:
            found.append(f"{place}.{key} is too long")
    return found
