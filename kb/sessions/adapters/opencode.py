"""Sessions of opencode: messages `{info, parts}`, as its plugin hands them over and `opencode export` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import OPENCODE
from kb.sessions.adapters import as_dict, as_dicts, build_call, build_message, build_result
from kb.sessions.host_input import translate_tool
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "opencode"
_SILENT = frozenset(
    {"reasoning", "step-start", "step-finish", "snapshot", "patch", "file", "agent", "retry", "subtask"}
)


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is such a message."""
    return isinstance(record.get("info"), dict) and isinstance(record.get("parts"), list)


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code; a block has the number of the part it was."""
    info, parts = record["info"], record["parts"]
    folder = as_dict(as_dict(record.get("session")).get("info")).get("directory")
    place = info.get("path").get("cwd") if isinstance(info.get("path"), dict) else folder
    about = {"timestamp": _format_time(info), "sessionId": info.get("sessionID"), "cwd": place}
    yield from ({**about, **made} for made in _convert_message(info, parts))


def _convert_message(info: Mapping[str, Any], parts: list[object]) -> Iterator[dict[str, Any]]:
    role, kinds = info.get("role"), {str(part.get("type")) for part in as_dicts(parts)}
    if "compaction" in kinds:
        yield {"type": "system", "subtype": "compact_boundary"}
    yield from ({"type": f"opencode {kind}"} for kind in sorted(kinds - {"text", "tool", "compaction", *_SILENT}))
    blocks = [_convert_block(as_dict(part)) for part in parts]
    if role not in ("user", "assistant"):
        yield {"type": f"opencode {role}"}
    elif role == "assistant" and info.get("summary") is True:
        yield {**build_message("user", blocks, id=info.get("id")), "isCompactSummary": True}
    else:
        tokens, cache = as_dict(info.get("tokens")), as_dict(as_dict(info.get("tokens")).get("cache"))
        usage = {
            "input_tokens": tokens.get("input"),
            "cache_read_input_tokens": cache.get("read"),
            "cache_creation_input_tokens": cache.get("write"),
        }
        more = {"model": info.get("modelID"), "usage": usage} if role == "assistant" else {}
        yield build_message(role, blocks, id=info.get("id"), **more)
        results = [_convert_result(as_dict(part)) for part in parts]
        if any(results):
            yield build_message("user", results)


def _format_time(info: Mapping[str, Any]) -> str:
    created = as_dict(info.get("time")).get("created")
    if not isinstance(created, int | float) or not 0 < created < 1e14:
        return ""
    from datetime import UTC, datetime  # late: no other host's session needs it

    return datetime.fromtimestamp(created / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _convert_block(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part as a block; one that says nothing is an empty block in its place."""
    if part.get("ignored") is True:
        return {}
    if part.get("type") == "text" and part.get("synthetic") is not True:
        return {"type": "text", "text": part.get("text")}
    if part.get("type") == "tool":
        given = as_dict(part.get("state")).get("input")
        return build_call(part.get("callID"), *translate_tool(OPENCODE, part.get("tool"), given))
    return {}


def _convert_result(part: Mapping[str, Any]) -> dict[str, Any]:
    state = as_dict(part.get("state"))
    if part.get("type") != "tool" or state.get("status") not in ("completed", "error"):
        return {}
    failed = state["status"] == "error"
    return build_result(part.get("callID"), state.get("error" if failed else "output"), is_error=failed)
