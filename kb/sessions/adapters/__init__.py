"""Sessions of other hosts, said in the records of Claude Code; here is what their translations share."""

from __future__ import annotations

from collections.abc import Mapping

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def as_dict(value: object) -> dict[str, Any]:
    """Return *value* where it is an object, else an empty one: formats change with any release of a host."""
    return value if isinstance(value, dict) else {}


def as_dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects in *value*, a list; [] for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def build_message(role: str, content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the record of a message of *role*; *more* are other keys of its message."""
    return {"type": role, "message": {"role": role, "content": content, **more}}


def build_texts(*texts: object) -> list[dict[str, Any]]:
    """Return a block for each of *texts* that is a text and not empty."""
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str) and text]


def build_call(call: object, name: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block of a tool's call; *call* is its id."""
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def build_result(call: object, text: object, *, is_error: bool) -> dict[str, Any]:
    """Return the block of a tool's answer to *call*."""
    content = text if isinstance(text, str) else ""
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}


def build_summary(text: object) -> dict[str, Any]:
    """Return the record of the summary that a compaction left."""
    return {**build_message("user", build_texts(text)), "isCompactSummary": True}
