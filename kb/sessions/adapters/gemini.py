"""Sessions of Gemini CLI: `~/.gemini/tmp/…/chats/session-….json` (one object) or `.jsonl` (a record a line)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import GEMINI
from kb.sessions import host_input
from kb.sessions.host_input import FILES_BEGIN, FILES_END
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
    head = record.get("session", record)
    if isinstance(head, dict) and (session := head.get("sessionId")):
        folders = head.get("directories")
        folder = folders[0] if isinstance(folders, list) and folders else None
        yield {"timestamp": head.get("startTime"), "type": "started", "sessionId": session, "cwd": folder}
    kind = record.get("type")
    if kind == "user":
        content = _remove_files(_convert_texts(record.get("content")))
        yield {**about, "type": "user", "message": {"role": "user", "content": content}}
    elif kind == "gemini":
        yield from ({**about, **made} for made in _convert_answer(record))
    elif kind not in (*_SILENT, None):
        yield {**about, "type": f"gemini {kind}"}


def _convert_answer(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    calls = record.get("toolCalls")
    held = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    used = record.get("tokens")
    message = {
        "role": "assistant", "id": record.get("id"), "model": record.get("model"),
        "content": [*_convert_texts(record.get("content")), *map(_convert_call, held)],
        "usage": {"input_tokens": used.get("input")} if isinstance(used, dict) else None,
    }  # fmt: skip
    yield {"type": "assistant", "message": message}
    if results := [_convert_result(call) for call in held if call.get("status") in ("success", "error", "cancelled")]:
        yield {"type": "user", "message": {"role": "user", "content": results}}


def _convert_texts(content: object) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str) and text]


def _remove_files(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *blocks* without the files that the prompt names with @: each is a block of its own between two marks."""
    marks = [block["text"].strip() for block in blocks]
    if FILES_BEGIN not in marks or FILES_END not in marks:
        return blocks
    begin, end = marks.index(FILES_BEGIN), len(marks) - 1 - marks[::-1].index(FILES_END)
    return blocks[:begin] + blocks[max(begin, end + 1) :]


def _convert_call(call: Mapping[str, Any]) -> dict[str, Any]:
    name, given = host_input.translate_tool(GEMINI, call.get("name"), call.get("args"))
    if name == "TodoWrite" and isinstance(given.get("todos"), list):
        steps = [step for step in given["todos"] if isinstance(step, dict)]
        given = {"todos": [{**step, "content": step.get("description")} for step in steps]}
    return {"type": "tool_use", "id": call.get("id"), "name": name, "input": given}


def _convert_result(call: Mapping[str, Any]) -> dict[str, Any]:
    found = []
    parts = call.get("result")
    for part in parts if isinstance(parts, list) else [parts]:
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            found += [value for value in (response.get("output"), response.get("error")) if isinstance(value, str)]
        elif isinstance(part, str):
            found.append(part)
    shown = call.get("resultDisplay")
    text = "\n".join(found) or (shown if isinstance(shown, str) else "")
    failed = call.get("status") != "success"
    return {"type": "tool_result", "tool_use_id": call.get("id"), "content": text, "is_error": failed}
