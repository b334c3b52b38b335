"""Sessions of Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, lines `{type, data, id, timestamp, parentId}`.

What a sub-agent does stands in the same file, with the `agentId` it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import COPILOT
from kb.sessions.adapters import as_dict, as_dicts, build_call, build_message, build_result, build_summary, build_texts
from kb.sessions.adapters.codex import build_edits, parse_patch
from kb.sessions.host_input import translate_tool
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
    about: dict[str, Any] = {"timestamp": record.get("timestamp")}
    if record.get("agentId"):
        about["isSidechain"] = True
    yield from ({**about, **made} for made in _convert_event(str(record["type"]), record["data"]))


def _convert_event(kind: str, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if kind in ("session.start", "session.resume"):
        context = as_dict(data.get("context"))
        place = {"cwd": context.get("cwd"), "gitBranch": context.get("branch")}
        yield {"type": "started", "sessionId": data.get("sessionId"), **place}
    elif kind == "user.message":
        yield build_message("user", build_texts(data.get("content")))
    elif kind == "assistant.message":
        calls = [block for one in as_dicts(data.get("toolRequests")) for block in _convert_calls(one)]
        content = [*build_texts(data.get("content")), *calls]
        yield build_message("assistant", content, id=data.get("messageId"), model=data.get("model"))
    elif kind == "tool.execution_complete":
        yield build_message("user", [_convert_result(data)])
    elif kind == "session.usage_record":
        usage = as_dict(data.get("usage"))
        used = {"input_tokens": usage.get("inputTokens"), "context_window": usage.get("maxPromptTokens")}
        yield build_message("assistant", [], model=usage.get("model"), usage=used)
    elif kind == "session.compaction_complete":
        tokens = {"preTokens": data.get("preCompactionTokens"), "postTokens": data.get("postCompactionTokens")}
        compaction = {"trigger": data.get("trigger"), **tokens}
        yield {"type": "system", "subtype": "compact_boundary", "compactMetadata": compaction}
        yield build_summary(data.get("summaryContent"))
    elif kind not in _SILENT and not kind.startswith(_SILENT_GROUPS):
        yield {"type": f"copilot {kind}"}


def _convert_calls(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    call, given = request.get("toolCallId"), request.get("arguments")
    patch = given if isinstance(given, str) else as_dict(given).get("patch")
    if request.get("name") == "apply_patch" and isinstance(patch, str):
        return build_edits(call, parse_patch(patch))
    return [build_call(call, *translate_tool(COPILOT, request.get("name"), given))]


def _convert_result(data: Mapping[str, Any]) -> dict[str, Any]:
    text = as_dict(data.get("result")).get("content")
    if not isinstance(text, str):
        text = as_dict(data.get("error")).get("message")
    code = as_dict(data.get("shellExecution")).get("exitCode", 0)
    failed = data.get("success") is False or (isinstance(code, int) and code != 0)
    return build_result(data.get("toolCallId"), text, is_error=failed)
