"""opencode (https://opencode.ai/docs/plugins): a plugin of kb's hands its events over and carries out the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kb.hosts import ASK, DENY, OPENCODE, HookResponse
from kb.sessions.host_input import restore_host_names, translate_tool


def normalise_payload(event: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload in kb's fields; only the tools have names of their own."""
    name, given = translate_tool(OPENCODE, payload.get("tool_name"), payload.get("tool_input"))
    if name == "Read":
        given.setdefault("limit", OPENCODE.read_lines)
    return {**payload, "tool_name": name, "tool_input": given}


def render_response(event: str, decision: HookResponse, payload: Mapping[str, Any]) -> str:
    """Return what the hook prints for the plugin: what to deny, to tell and to change. It cannot ask, so it denies."""
    output: dict[str, Any] = {}
    context = decision.model_text
    if decision.permission in (ASK, DENY):
        output["deny"] = decision.refusal_text[: OPENCODE.limit] or DENY
    elif decision.is_silent_input_change:
        output["input"] = restore_host_names(
            OPENCODE, payload.get("tool_name"), payload.get("tool_input"), decision.updated_input
        )
    if decision.updated_output is not None:
        output["output"] = decision.updated_output
        context = "\n\n".join(filter(None, (context, decision.updated_note)))
    if context:
        output["context"] = context[: OPENCODE.limit]
    if decision.person_text:
        output["message"] = decision.person_text[: OPENCODE.limit]
    return json.dumps(output, ensure_ascii=False) + "\n"
