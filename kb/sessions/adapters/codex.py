"""Rollouts of Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, every line `{timestamp, type, payload}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kb.sessions.adapters import as_dict, as_dicts, build_call, build_message, build_result, build_summary, build_texts
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NAME = "codex"
_TYPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record", "world_state",
    "inter_agent_communication_metadata",
})  # fmt: skip
_SILENT = frozenset({
    "reasoning", "web_search_call", "ghost_snapshot", "compaction", "additional_tools", "agent_message",
})  # fmt: skip
_EVENTS = frozenset({
    "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "turn_aborted", "task_started",
    "task_complete", "context_compacted", "exec_command_end", "mcp_tool_call_end", "patch_apply_end", "error",
    "warning", "thread_rolled_back", "web_search_end", "turn_started", "turn_complete", "thread_settings_applied",
})  # fmt: skip
"""Events that repeat what the items say, or say nothing of what was decided."""
_TOLD_BY_HOST = regex(r"\s*(?:<(?:environment_context|user_instructions|permissions)|# AGENTS\.md instructions)")
_NESTED = "exec-"
"""How the id begins of what a script of the model's did (code mode): no call of the model has it."""
_SHELLS = frozenset({"shell", "exec_command", "shell_command", "local_shell"})
_FILE = regex(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_EXIT = regex(r"\A(?:Exit code:|Process exited with code) *([1-9]\d*)")


def is_host_record(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is a line of a rollout."""
    return isinstance(record.get("payload"), dict) and "message" not in record


def translate_record(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what *record* says in records of Claude Code."""
    about = {"timestamp": record.get("timestamp")}
    yield from ({**about, **made} for made in _convert_payload(str(record.get("type")), record["payload"]))


def _convert_payload(kind: str, payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if kind == "session_meta":
        branch = as_dict(payload.get("git")).get("branch")
        yield {"type": "started", "sessionId": payload.get("id"), "cwd": payload.get("cwd"), "gitBranch": branch}
    elif kind == "turn_context":
        yield {"type": "mode", "cwd": payload.get("cwd")}
    elif kind == "compacted":
        yield {"type": "system", "subtype": "compact_boundary"}
        yield build_summary(payload.get("message"))
    elif kind == "event_msg":
        yield from _convert_event(payload)
    elif kind == "response_item":
        yield from _convert_item(payload)
    elif kind not in _TYPES:
        yield {"type": f"codex {kind}"}


def _convert_event(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = str(payload.get("type"))
    if kind == "token_count":
        info = as_dict(payload.get("info"))
        if isinstance(last := info.get("last_token_usage"), dict):
            used = {"input_tokens": last.get("input_tokens"), "context_window": info.get("model_context_window")}
            yield build_message("assistant", [], usage=used)
    elif kind == "item_completed":
        item = as_dict(payload.get("item"))
        if str(item.get("id")).startswith(_NESTED):
            yield from _convert_nested_call(item)
    elif kind not in _EVENTS:
        yield {"type": f"codex event_msg {kind}"}


def _convert_nested_call(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a call that a script made, with its result: a command, changes of files, or a tool of an MCP server."""
    call, code, output = str(item.get("id")), item.get("exit_code"), item.get("stdout")
    calls: list[dict[str, Any]] = []
    if item.get("type") == "CommandExecution":
        calls = list(_convert_calls("exec_command", {"command": item.get("command")}, call))
        output = item.get("aggregated_output")
    elif item.get("type") == "FileChange":
        calls = build_edits(call, _iter_changes(as_dict(item.get("changes"))))
    elif item.get("type") == "McpToolCall":
        name = f"mcp__{item.get('server')}__{item.get('tool')}"
        calls = [build_call(call, name, as_dict(item.get("arguments")))]
        texts = [part.get("text") for part in as_dicts(as_dict(item.get("result")).get("content"))]
        output = "\n".join(text for text in texts if isinstance(text, str))
    if calls:
        yield build_message("assistant", calls, id=call)
        failed = item.get("status") != "completed" or (isinstance(code, int) and code != 0)
        yield build_message("user", [build_result(call, output, is_error=failed)])


def _iter_changes(changes: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the changes of files as edits, by the paths that stand in the item."""
    for path, value in changes.items():
        change = as_dict(value)
        text = change.get("content", change.get("unified_diff"))
        rows = text.splitlines() if isinstance(text, str) else []
        removed = [row[1:] for row in rows if row[:1] == "-"]
        if change.get("type") == "add":
            yield _build_edit("Add", path, rows, removed)
        else:
            yield _build_edit("Update", path, [row[1:] for row in rows if row[:1] == "+"], removed)


def _convert_item(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind, call = str(payload.get("type")), payload.get("call_id")
    if kind == "message":
        yield from _convert_message(payload)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        calls = _convert_calls(str(payload.get("name") or "local_shell"), _parse_arguments(payload), call)
        yield build_message("assistant", list(calls), id=call)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text, failed = _parse_output(payload.get("output"))
        yield build_message("user", [build_result(call, text, is_error=failed)])
    elif kind not in _SILENT:
        yield {"type": f"codex response_item {kind}"}


def _convert_message(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role, parts = payload.get("role"), payload.get("content")
    content = build_texts(*([part.get("text") for part in as_dicts(parts)] if isinstance(parts, list) else [parts]))
    if role in ("user", "assistant"):
        is_meta = role == "user" and any(_TOLD_BY_HOST.match(block["text"]) for block in content)
        yield {**build_message(role, content), "isMeta": is_meta}


def _parse_arguments(payload: Mapping[str, Any]) -> object:
    """Return what a tool is given: JSON within JSON, a text, or an action."""
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    try:
        return json.loads(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
    except (ValueError, RecursionError):
        return given


def _convert_calls(name: str, given: object, call: object) -> list[dict[str, Any]]:
    held = as_dict(given)
    patch = given if isinstance(given, str) else held.get("input", held.get("patch"))
    if name == "apply_patch" and isinstance(patch, str) and (edits := build_edits(call, parse_patch(patch))):
        return edits
    if name in _SHELLS:
        words = held.get("command", held.get("cmd"))
        line = " ".join(map(str, words)) if isinstance(words, list) else words
        name, held = "Bash", {**held, "command": line if isinstance(line, str) else ""}
    elif name == "update_plan" and isinstance(held.get("plan"), list):
        todos = [{"content": step.get("step"), "status": step.get("status")} for step in as_dicts(held["plan"])]
        name, held = "TodoWrite", {"todos": todos}
    return [build_call(call, name, held)]


def build_edits(call: object, edits: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the blocks of *edits*, which one *call* made: the first has its id, the others the id with a number."""
    numbered = enumerate(edits)
    return [build_call(f"{call}#{number}" if number else call, tool, given) for number, (tool, given) in numbered]


def parse_patch(patch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a patch does to each of its files: ("Write", …) for a new one, ("Edit", …) for another."""
    at: tuple[str, str] | None = None
    added: list[str] = []
    removed: list[str] = []
    for line in [*patch.splitlines(), "*** End Patch"]:
        match = _FILE.match(line)
        if at and (match or line == "*** End Patch"):
            yield _build_edit(*at, added, removed)
            at = None
        if match:
            at, added, removed = (match[1], match[2].strip()), [], []
        elif line[:1] == "+":
            added.append(line[1:])
        elif line[:1] == "-":
            removed.append(line[1:])


def _build_edit(kind: str, path: str, added: list[str], removed: list[str]) -> tuple[str, dict[str, Any]]:
    if kind == "Add":
        return "Write", {"file_path": path, "content": "\n".join(added)}
    return "Edit", {"file_path": path, "old_string": "\n".join(removed), "new_string": "\n".join(added)}


def _parse_output(output: object) -> tuple[str, bool]:
    """Return a tool's answer as text, and whether the tool failed."""
    held = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            held = json.loads(output)
        except (ValueError, RecursionError):
            held = output
    if isinstance(held, dict):
        about = held.get("metadata")
        code = about.get("exit_code") if isinstance(about, dict) else None
        text = held.get("output", held.get("content"))
        failed = held.get("success") is False or (isinstance(code, int) and code != 0)
        return (text, failed) if isinstance(text, str) else (str(output), failed)
    text = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
    return text, bool(_EXIT.match(text))
