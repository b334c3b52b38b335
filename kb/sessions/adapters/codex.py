"""Rollouts of Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, every line `{timestamp, type, payload}`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

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
    kind, payload = str(record.get("type")), record["payload"]
    about = {"timestamp": record.get("timestamp")}
    if kind == "session_meta":
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        yield {**about, "type": "started", "sessionId": payload.get("id"), "cwd": payload.get("cwd"),
               "gitBranch": branch}  # fmt: skip
    elif kind == "turn_context":
        yield {**about, "type": "mode", "cwd": payload.get("cwd")}
    elif kind == "compacted":
        yield {**about, "type": "system", "subtype": "compact_boundary"}
        yield {
            **about,
            "type": "user",
            "isCompactSummary": True,
            "message": _build_message("user", payload.get("message")),
        }
    elif kind == "event_msg":
        yield from ({**about, **made} for made in _convert_event(payload))
    elif kind == "response_item":
        yield from ({**about, **made} for made in _convert_item(payload))
    elif kind not in _TYPES:
        yield {**about, "type": f"codex {kind}"}


def _build_message(role: str, text: object) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text if isinstance(text, str) else ""}]}


def _convert_event(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = str(payload.get("type"))
    if kind == "token_count":
        info = payload.get("info")
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if isinstance(info, dict) and isinstance(last, dict):
            used = {"input_tokens": last.get("input_tokens"), "context_window": info.get("model_context_window")}
            yield {"type": "assistant", "message": {"role": "assistant", "content": [], "usage": used}}
    elif kind == "item_completed":
        item = payload.get("item")
        if isinstance(item, dict) and str(item.get("id")).startswith(_NESTED):
            yield from _convert_nested_call(item)
    elif kind not in _EVENTS:
        yield {"type": f"codex event_msg {kind}"}


def _convert_nested_call(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a call that a script made, with its result: a command, changes of files, or a tool of an MCP server."""
    name, calls, told = str(item.get("id")), [], item.get("stdout")
    code = item.get("exit_code")
    if item.get("type") == "CommandExecution":
        calls, told = (
            list(_convert_calls("exec_command", {"command": item.get("command")}, name)),
            item.get("aggregated_output"),
        )
    elif item.get("type") == "FileChange":
        calls = list(_convert_changes(item.get("changes"), name))
    elif item.get("type") == "McpToolCall":
        given = item.get("arguments")
        tool = {"type": "tool_use", "id": name, "name": f"mcp__{item.get('server')}__{item.get('tool')}"}
        calls, told = [{**tool, "input": given if isinstance(given, dict) else {}}], _join_texts(item.get("result"))
    if calls:
        yield {"type": "assistant", "message": {"role": "assistant", "id": name, "content": calls}}
        failed = item.get("status") != "completed" or (isinstance(code, int) and code != 0)
        text = told if isinstance(told, str) else ""
        block = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": failed}
        yield {"type": "user", "message": {"role": "user", "content": [block]}}


def _convert_changes(changes: object, call: str) -> Iterator[dict[str, Any]]:
    """Yield the changes of files as calls, by the paths that stand in the item."""
    held = changes if isinstance(changes, dict) else {}
    for number, (path, about) in enumerate(held.items()):
        change = about if isinstance(about, dict) else {}
        text = change.get("content", change.get("unified_diff"))
        rows = text.splitlines() if isinstance(text, str) else []
        is_new = change.get("type") == "add"
        added = rows if is_new else [row[1:] for row in rows if row[:1] == "+"]
        tool, given = _build_edit(
            "Add" if is_new else "Update", path, added, [row[1:] for row in rows if row[:1] == "-"]
        )
        yield {"type": "tool_use", "id": call if not number else f"{call}#{number}", "name": tool, "input": given}


def _join_texts(result: object) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _convert_item(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind, call = str(payload.get("type")), payload.get("call_id")
    if kind == "message":
        yield from _convert_message(payload)
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        content = list(_convert_calls(str(payload.get("name") or "local_shell"), _parse_arguments(payload), call))
        yield {"type": "assistant", "message": {"role": "assistant", "id": call, "content": content}}
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text, failed = _parse_output(payload.get("output"))
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        yield {"type": "user", "message": {"role": "user", "content": [block]}}
    elif kind not in _SILENT:
        yield {"type": f"codex response_item {kind}"}


def _convert_message(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role, parts = payload.get("role"), payload.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else [parts]
    content = [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
    if role in ("user", "assistant"):
        is_meta = role == "user" and any(_TOLD_BY_HOST.match(block["text"]) for block in content)
        yield {"type": role, "isMeta": is_meta, "message": {"role": role, "content": content}}


def _parse_arguments(payload: Mapping[str, Any]) -> object:
    """Return what a tool is given: JSON within JSON, a text, or an action."""
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    try:
        return json.loads(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
    except (ValueError, RecursionError):
        return given


def _convert_calls(name: str, given: object, call: object) -> Iterator[dict[str, Any]]:
    held = given if isinstance(given, dict) else {}
    patch = given if isinstance(given, str) else held.get("input", held.get("patch"))
    if name == "apply_patch" and isinstance(patch, str):
        edits = list(parse_patch(patch))
        for number, (tool, changed) in enumerate(edits):
            yield {"type": "tool_use", "id": call if not number else f"{call}#{number}", "name": tool, "input": changed}
        if edits:
            return
    if name in _SHELLS:
        words = held.get("command", held.get("cmd"))
        line = " ".join(map(str, words)) if isinstance(words, list) else words
        name, held = "Bash", {**held, "command": line if isinstance(line, str) else ""}
    elif name == "update_plan" and isinstance(held.get("plan"), list):
        steps = [step for step in held["plan"] if isinstance(step, dict)]
        todos = [{"content": step.get("step"), "status": step.get("status")} for step in steps]
        name, held = "TodoWrite", {"todos": todos}
    yield {"type": "tool_use", "id": call, "name": name, "input": held}


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
