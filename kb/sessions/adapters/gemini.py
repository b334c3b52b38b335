"""Sessions of Gemini CLI: `~/.gemini/tmp/…/chats/session-….json` (one object) or `.jsonl` (a record a line)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import GEMINI
from kb.sessions.adapters import as_dict, as_dicts, build_call, build_message, build_result, build_texts
from kb.sessions.host_input import FILES_BEGIN, FILES_END, translate_tool
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "gemini"
_SILENT = frozenset({"info", "error", "warning"})


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is a message, or what is said about the session or takes something back."""
    if "projectHash" in record or isinstance(record.get("$set"), dict) or "$rewindTo" in record:
        return True
    return record.get("type") in ("user", "gemini", *_SILENT) and "content" in record and "message" not in record


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code."""
    about = {"timestamp": record.get("timestamp")}
    head = as_dict(record.get("session", record))
    if session := head.get("sessionId"):
        folders = head.get("directories")
        folder = folders[0] if isinstance(folders, list) and folders else None
        yield {"timestamp": head.get("startTime"), "type": "started", "sessionId": session, "cwd": folder}
    kind = record.get("type")
    if kind == "user":
        yield {**about, **build_message("user", _remove_files(_convert_texts(record.get("content"))))}
    elif kind == "gemini":
        calls, used = as_dicts(record.get("toolCalls")), record.get("tokens")
        usage = {"input_tokens": used.get("input")} if isinstance(used, dict) else None
        content = [*_convert_texts(record.get("content")), *map(_convert_call, calls)]
        more = {"id": record.get("id"), "model": record.get("model"), "usage": usage}
        yield {**about, **build_message("assistant", content, **more)}
        answered = [call for call in calls if call.get("status") in ("success", "error", "cancelled")]
        if answered:
            yield {**about, **build_message("user", [_convert_result(call) for call in answered])}
    elif kind not in (*_SILENT, None):
        yield {**about, "type": f"gemini {kind}"}


def _convert_texts(content: object) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else [content]
    return build_texts(*(part.get("text") if isinstance(part, dict) else part for part in parts))


def _remove_files(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *blocks* without the files that the prompt names with @: each is a block of its own between two marks."""
    marks = [block["text"].strip() for block in blocks]
    if FILES_BEGIN not in marks or FILES_END not in marks:
        return blocks
    begin, end = marks.index(FILES_BEGIN), len(marks) - 1 - marks[::-1].index(FILES_END)
    return blocks[:begin] + blocks[max(begin, end + 1) :]


def _convert_call(call: Mapping[str, Any]) -> dict[str, Any]:
    name, given = translate_tool(GEMINI, call.get("name"), call.get("args"))
    if name == "TodoWrite" and isinstance(given.get("todos"), list):
        given = {"todos": [{**step, "content": step.get("description")} for step in as_dicts(given["todos"])]}
    return build_call(call.get("id"), name, given)


def _convert_result(call: Mapping[str, Any]) -> dict[str, Any]:
    found = []
    parts = call.get("result")
    for part in parts if isinstance(parts, list) else [parts]:
        if isinstance(part, str):
            found.append(part)
        else:
            response = as_dict(as_dict(as_dict(part).get("functionResponse")).get("response"))
            found += [value for value in (response.get("output"), response.get("error")) if isinstance(value, str)]
    text = "\n".join(found) or call.get("resultDisplay")
    return build_result(call.get("id"), text, is_error=call.get("status") != "success")
