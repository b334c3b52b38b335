"""opencode (https://opencode.ai/docs/plugins): a plugin of kb's hands its events over and carries out the answers."""

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
    "session.created": "SessionStart",
    "session.compacted": "SessionStart",
    "chat.message": "UserPromptSubmit",
    "tool.execute.before": "PreToolUse",
    "tool.execute.after": "PostToolUse",
    "experimental.session.compacting": "PreCompact",
    "experimental.chat.messages.transform": "Messages",
    "session.idle": "Stop",
    "session.deleted": "SessionEnd",
}
TIMEOUTS: Mapping[str, int] = {
    "session.created": 60,
    "chat.message": 10,
    "tool.execute.before": 10,
    "tool.execute.after": 10,
    "experimental.session.compacting": 60,
    "experimental.chat.messages.transform": 10,
    "session.idle": 60,
    "session.deleted": 10,
}
"""Seconds after which the plugin goes on without an answer."""
MATCHERS: Mapping[str, str] = {}
FAILED = 1
LIMIT = 10_000
_READ_AT_ONCE = 2000
"""Lines that the host itself reads at most where nobody says how many."""


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields; only the tools have names of their own."""
    name, given = host_input.translate_tool(host_input.OPENCODE, payload.get("tool_name"), payload.get("tool_input"))
    if name == "Read":
        given.setdefault("limit", _READ_AT_ONCE)
    return {**payload, "tool_name": name, "tool_input": given}


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints for the plugin: what to deny, to tell and to change. It cannot ask, so it denies."""
    output: dict[str, Any] = {}
    context = decision.model_text
    if decision.permission in (ASK, DENY):
        output["deny"] = decision.refusal_text[:LIMIT] or DENY
    elif decision.is_silent_input_change:
        given = payload.get("tool_input")
        output["input"] = host_input.restore_host_names(
            host_input.OPENCODE, payload.get("tool_name"), given, decision.updated_input
        )
    if decision.updated_output is not None:
        output["output"] = decision.updated_output
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    if context:
        output["context"] = context[:LIMIT]
    if decision.person_text:
        output["message"] = decision.person_text[:LIMIT]
    return json.dumps(output, ensure_ascii=False) + "\n"


def resolve_settings_path(folder: str, environment: Mapping[str, str]) -> str:
    """Return where kb's plugin stands for the project at *folder*, or with "" for the user."""
    if folder:
        return os.path.join(folder, ".opencode", "plugin", "kb.js")
    place = environment.get("OPENCODE_CONFIG_DIR") or os.path.join(
        environment.get("XDG_CONFIG_HOME") or os.path.join(home_folder(environment), ".config"), "opencode"
    )
    return os.path.join(place, "plugin", "kb.js")
