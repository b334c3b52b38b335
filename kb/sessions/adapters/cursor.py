"""Sessions of Cursor: `~/.cursor/projects/…/agent-transcripts/….jsonl`, a line `{role, message: {content}}` each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kb.hosts import CURSOR
from kb.sessions import host_input
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
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return
    made = [_convert_block(block) for block in blocks if isinstance(block, dict)]
    results = [block for block in made if block.get("type") == "tool_result"]
    about = {"timestamp": record.get("timestamp")}
    if role == "assistant" and results:
        yield {**about, "type": "user", "message": {"role": "user", "content": results}}
        made = [block for block in made if block.get("type") != "tool_result"]
    yield {**about, "type": role, "message": {"role": role, "content": made}}


def _convert_block(block: Mapping[str, Any]) -> dict[str, Any]:
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and _START in text:
        return {**block, "text": text.partition(_START)[2].partition(_END)[0].strip()}
    if block.get("type") == "tool_use":
        name, given = host_input.translate_tool(CURSOR, block.get("name"), block.get("input"))
        return {**block, "name": name, "input": given}
    return dict(block)
