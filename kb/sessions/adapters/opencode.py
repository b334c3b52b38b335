"""Sessions of opencode: messages `{info, parts}`, as its plugin hands them over and `opencode export` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import OPENCODE
from kb.sessions import host_input
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "opencode"
_SILENT = frozenset({
    "reasoning", "step-start", "step-finish", "snapshot", "patch", "file", "agent", "retry", "subtask",
})  # fmt: skip


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is such a message."""
    return isinstance(record.get("info"), dict) and isinstance(record.get("parts"), list)


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code; a block has the number of the part it was."""
    info, parts = record["info"], record["parts"]
    role, path = info.get("role"), info.get("path")
    head = record.get("session")
    session = head.get("info") if isinstance(head, dict) else None
    folder = session.get("directory") if isinstance(session, dict) else None
    about = {
        "timestamp": _format_time(info), "sessionId": info.get("sessionID"),
        "cwd": path.get("cwd") if isinstance(path, dict) else folder,
    }  # fmt: skip
    if any(isinstance(part, dict) and part.get("type") == "compaction" for part in parts):
        yield {**about, "type": "system", "subtype": "compact_boundary"}
    kinds = {str(part.get("type")) for part in parts if isinstance(part, dict)}
    unknown = sorted(kinds - {"text", "tool", "compaction", *_SILENT})
    yield from ({**about, "type": f"opencode {kind}"} for kind in unknown)
    if role not in ("user", "assistant"):
        yield {**about, "type": f"opencode {role}"}
        return
    blocks = [_convert_block(part) for part in parts]
    message = {"role": role, "id": info.get("id"), "content": blocks}
    if role == "assistant" and info.get("summary") is True:
        yield {**about, "type": "user", "isCompactSummary": True, "message": {**message, "role": "user"}}
        return
    if role == "assistant":
        message |= {"model": info.get("modelID"), "usage": _convert_usage(info.get("tokens"))}
    yield {**about, "type": role, "message": message}
    results = [_convert_result(part) for part in parts]
    if any(results):
        yield {**about, "type": "user", "message": {"role": "user", "content": results}}


def _format_time(info: Mapping[str, Any]) -> str:
    times = info.get("time")
    created = times.get("created") if isinstance(times, dict) else None
    if not isinstance(created, int | float) or not 0 < created < 1e14:
        return ""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(created / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _convert_usage(used: object) -> dict[str, Any] | None:
    if not isinstance(used, dict):
        return None
    cache = used.get("cache")
    held = cache if isinstance(cache, dict) else {}
    return {
        "input_tokens": used.get("input"),
        "cache_read_input_tokens": held.get("read"),
        "cache_creation_input_tokens": held.get("write"),
    }


def _convert_block(part: object) -> dict[str, Any]:
    """Return a part as a block; one that says nothing is an empty block in its place."""
    if not isinstance(part, dict) or part.get("ignored") is True:
        return {}
    if part.get("type") == "text" and part.get("synthetic") is not True:
        return {"type": "text", "text": part.get("text")}
    if part.get("type") == "tool":
        state = part.get("state")
        given = state.get("input") if isinstance(state, dict) else None
        name, held = host_input.translate_tool(OPENCODE, part.get("tool"), given)
        return {"type": "tool_use", "id": part.get("callID"), "name": name, "input": held}
    return {}


def _convert_result(part: object) -> dict[str, Any]:
    state = part.get("state") if isinstance(part, dict) and part.get("type") == "tool" else None
    if not isinstance(part, dict) or not isinstance(state, dict) or state.get("status") not in ("completed", "error"):
        return {}
    text = state.get("output") if state["status"] == "completed" else state.get("error")
    return {"type": "tool_result", "tool_use_id": part.get("callID"), "content": text if isinstance(text, str) else "",
            "is_error": state["status"] == "error"}  # fmt: skip
