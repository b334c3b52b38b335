"""Sessions of Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, lines `{type, data, id, timestamp, parentId}`.

What a sub-agent does stands in the same file, with the `agentId` it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import COPILOT
from kb.sessions import host_input
from kb.sessions.adapters.codex import parse_patch
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "copilot"
_SILENT = frozenset({
    "tool.execution_start", "system.message", "session.shutdown", "session.compaction_start", "session.model_change",
})  # fmt: skip
_SILENT_GROUPS = ("hook.", "model.", "permission.", "subagent.", "assistant.turn_")
"""How the types begin of what repeats other records, or says nothing of what was decided."""


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is a line of such a session."""
    return isinstance(record.get("data"), dict) and "parentId" in record and "." in str(record.get("type"))


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code."""
    kind, data = str(record["type"]), record["data"]
    about: dict[str, Any] = {"timestamp": record.get("timestamp")}
    if record.get("agentId"):
        about["isSidechain"] = True
    if kind in ("session.start", "session.resume"):
        yield {**about, **_convert_start(data)}
    elif kind == "user.message":
        text = data.get("content")
        yield {**about, "type": "user", "message": {"role": "user", "content": _convert_texts(text)}}
    elif kind == "assistant.message":
        yield {**about, "type": "assistant", "message": _convert_answer(data)}
    elif kind == "tool.execution_complete":
        yield {**about, "type": "user", "message": {"role": "user", "content": [_convert_result(data)]}}
    elif kind == "session.usage_record":
        yield {**about, "type": "assistant", "message": _convert_usage(data.get("usage"))}
    elif kind == "session.compaction_complete":
        told = {"trigger": data.get("trigger"), "preTokens": data.get("preCompactionTokens"),
                "postTokens": data.get("postCompactionTokens")}  # fmt: skip
        yield {**about, "type": "system", "subtype": "compact_boundary", "compactMetadata": told}
        summary = {"role": "user", "content": _convert_texts(data.get("summaryContent"))}
        yield {**about, "type": "user", "isCompactSummary": True, "message": summary}
    elif kind not in _SILENT and not kind.startswith(_SILENT_GROUPS):
        yield {**about, "type": f"copilot {kind}"}


def _convert_start(data: Mapping[str, Any]) -> dict[str, Any]:
    context = data.get("context")
    held = context if isinstance(context, dict) else {}
    return {
        "type": "started", "sessionId": data.get("sessionId"), "cwd": held.get("cwd"), "gitBranch": held.get("branch"),
    }  # fmt: skip


def _convert_texts(text: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []


def _convert_answer(data: Mapping[str, Any]) -> dict[str, Any]:
    requests = data.get("toolRequests")
    asked = [one for one in requests if isinstance(one, dict)] if isinstance(requests, list) else []
    content = [*_convert_texts(data.get("content")), *(block for one in asked for block in _convert_calls(one))]
    return {"role": "assistant", "id": data.get("messageId"), "model": data.get("model"), "content": content}


def _convert_calls(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    call, given = request.get("toolCallId"), request.get("arguments")
    patch = given if isinstance(given, str) else given.get("patch") if isinstance(given, dict) else None
    if request.get("name") == "apply_patch" and isinstance(patch, str):
        for number, (tool, changed) in enumerate(parse_patch(patch)):
            yield {"type": "tool_use", "id": call if not number else f"{call}#{number}", "name": tool, "input": changed}
        return
    name, held = host_input.translate_tool(COPILOT, request.get("name"), given)
    yield {"type": "tool_use", "id": call, "name": name, "input": held}


def _convert_result(data: Mapping[str, Any]) -> dict[str, Any]:
    result, error = data.get("result"), data.get("error")
    text = result.get("content") if isinstance(result, dict) else None
    if not isinstance(text, str):
        text = error.get("message") if isinstance(error, dict) else None
    shell = data.get("shellExecution")
    code = shell.get("exitCode") if isinstance(shell, dict) else 0
    failed = data.get("success") is False or (isinstance(code, int) and code != 0)
    return {
        "type": "tool_result",
        "tool_use_id": data.get("toolCallId"),
        "content": host_input.to_text(text),
        "is_error": failed,
    }


def _convert_usage(usage: object) -> dict[str, Any]:
    held = usage if isinstance(usage, dict) else {}
    used = {"input_tokens": held.get("inputTokens"), "context_window": held.get("maxPromptTokens")}
    return {"role": "assistant", "model": held.get("model"), "content": [], "usage": used}
