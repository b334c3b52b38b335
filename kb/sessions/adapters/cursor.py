"""Sessions of Cursor: `~/.cursor/projects/…/agent-transcripts/….jsonl`, a line `{role, message: {content}}` each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import CURSOR
from kb.sessions.adapters import as_dicts, build_message
from kb.sessions.host_input import translate_tool
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "cursor"
_START, _END = "<user_query>", "</user_query>"


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is a line of such a session."""
    if record.get("type") == "turn_ended":
        return "message" not in record
    return "role" in record and isinstance(record.get("message"), dict) and "type" not in record


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code."""
    if record.get("type") == "turn_ended":
        return
    role, content = record.get("role"), record["message"].get("content")
    if role not in ("user", "assistant"):
        yield {"type": f"cursor {role}"}
        return
    if not isinstance(content, str | list):
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_dicts(content)
    made = [_convert_block(block) for block in blocks]
    results = [block for block in made if block.get("type") == "tool_result"]
    about = {"timestamp": record.get("timestamp")}
    if role == "assistant" and results:
        yield {**about, **build_message("user", results)}
        made = [block for block in made if block.get("type") != "tool_result"]
    yield {**about, **build_message(role, made)}


def _convert_block(block: Mapping[str, Any]) -> dict[str, Any]:
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and _START in text:
        return {**block, "text": text.partition(_START)[2].partition(_END)[0].strip()}
    if block.get("type") == "tool_use":
        name, given = translate_tool(CURSOR, block.get("name"), block.get("input"))
        return {**block, "name": name, "input": given}
    return dict(block)
