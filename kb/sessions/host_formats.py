"""Convert transcript records of other hosts to the form of Claude Code's, so that one reader serves all.

A format is recognised by what a record holds, not by a file's name. A record of a type that its format does not know
comes back as "HOST TYPE", to be counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from kb.hosts import HOSTS
from kb.sessions.host_input import FILES_BEGIN, FILES_END, translate_tool
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    Record = Mapping[str, Any]
    Translated = Iterator[dict[str, Any]]


def _get(value: object, *keys: str) -> Any:
    """Return what is under *keys* in nested objects; None where one is missing: formats change with any release."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _build_start(session: object, folder: object, branch: object = None) -> dict[str, Any]:
    return {"type": "started", "sessionId": session, "cwd": folder, "gitBranch": branch}


def _build_message(role: str, content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return the record of a message of *role*; *more* are other keys of its message."""
    return {"type": role, "message": {"role": role, "content": content, **more}}


def _build_texts(*texts: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str) and text]


def _build_call(call: object, name: object, given: Record) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _build_result(call: object, text: object, *, is_error: bool) -> dict[str, Any]:
    content = text if isinstance(text, str) else ""
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}


def _build_compaction(summary: object, **about: object) -> Translated:
    """Yield the boundary of a compaction, with what is known *about* it, and the summary that it left."""
    yield {"type": "system", "subtype": "compact_boundary", "compactMetadata": about or None}
    yield {**_build_message("user", _build_texts(summary)), "isCompactSummary": True}


def _has_failed(success: object, exit_code: object) -> bool:
    return success is False or (isinstance(exit_code, int) and exit_code != 0)


# -- Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, every line `{timestamp, type, payload}` -------------

_CODEX_SILENT = {
    "": "response_item event_msg token_usage_record world_state inter_agent_communication_metadata".split(),
    "event_msg": (
        "user_message agent_message agent_reasoning agent_reasoning_raw_content turn_aborted task_started"
        " task_complete context_compacted exec_command_end mcp_tool_call_end patch_apply_end error warning"
        " thread_rolled_back web_search_end turn_started turn_complete thread_settings_applied"
    ).split(),
    "response_item": "reasoning web_search_call ghost_snapshot compaction additional_tools agent_message".split(),
}
"""Types of records, events and items that repeat what others say, or say nothing of what was decided."""
_CODEX_NOTICE = regex(r"\s*(?:<(?:environment_context|user_instructions|permissions)|# AGENTS\.md instructions)")
_CODEX_NESTED = "exec-"
"""How the id begins of what a script of the model's did (code mode): no call of the model has it."""
_CODEX_SHELLS = ("shell", "exec_command", "shell_command", "local_shell")
_CODEX_EXIT = regex(r"\A(?:Exit code:|Process exited with code) *([1-9]\d*)")
_PATCHED_FILE = regex(r"^\*\*\* (Add|Update|Delete) File: (.+)$")


def _is_codex(record: Record) -> bool:
    return isinstance(record.get("payload"), dict) and "message" not in record


def _translate_codex(record: Record) -> Translated:
    kind, payload = str(record.get("type")), record["payload"]
    what = str(payload.get("type"))
    item, call = _as_dict(payload.get("item")), payload.get("call_id")
    if kind == "session_meta":
        yield _build_start(payload.get("id"), payload.get("cwd"), _get(payload, "git", "branch"))
    elif kind == "turn_context":
        yield {"type": "mode", "cwd": payload.get("cwd")}
    elif kind == "compacted":
        yield from _build_compaction(payload.get("message"))
    # the only record that says how full the context is; it belongs to no message, so it comes as an empty one
    elif (kind, what) == ("event_msg", "token_count"):
        if isinstance(last := _get(payload, "info", "last_token_usage"), dict):
            window = _get(payload, "info", "model_context_window")
            used = {"input_tokens": last.get("input_tokens"), "context_window": window}
            yield _build_message("assistant", [], usage=used)
    elif (kind, what) == ("event_msg", "item_completed"):
        if str(item.get("id")).startswith(_CODEX_NESTED):
            yield from _translate_codex_nested(item)
    elif (kind, what) == ("response_item", "message"):
        parts, role = payload.get("content"), payload.get("role")
        # a text, or a list of parts
        texts = [part.get("text") for part in _as_dicts(parts)] if isinstance(parts, list) else [parts]
        if role in ("user", "assistant"):
            content = _build_texts(*texts)
            is_meta = role == "user" and any(_CODEX_NOTICE.match(block["text"]) for block in content)
            yield {**_build_message(role, content), "isMeta": is_meta}
    elif kind == "response_item" and what in ("function_call", "custom_tool_call", "local_shell_call"):
        # JSON within JSON for a function, plain text for a custom tool, an action for the local shell
        given = payload.get("arguments", payload.get("input", payload.get("action")))
        calls = _build_codex_calls(str(payload.get("name") or "local_shell"), _parse_json(given), call)
        yield _build_message("assistant", calls, id=call)
    elif kind == "response_item" and what in ("function_call_output", "custom_tool_call_output"):
        yield _build_message("user", [_build_codex_result(call, payload.get("output"))])
    elif kind in ("event_msg", "response_item") and what not in _CODEX_SILENT[kind]:
        yield {"type": f"codex {kind} {what}"}
    elif kind not in _CODEX_SILENT[""]:
        yield {"type": f"codex {kind}"}


def _translate_codex_nested(item: Record) -> Translated:
    """Yield a call that a script made, with its result: a command, changes of files, or a tool of an MCP server."""
    kind, call, output = item.get("type"), str(item.get("id")), item.get("stdout")
    calls: list[dict[str, Any]] = []
    if kind == "CommandExecution":
        calls = _build_codex_calls("exec_command", {"command": item.get("command")}, call)
        output = item.get("aggregated_output")
    elif kind == "FileChange":
        calls = _build_edits(call, _iter_file_changes(_as_dict(item.get("changes"))))
    elif kind == "McpToolCall":
        calls = [_build_call(call, f"mcp__{item.get('server')}__{item.get('tool')}", _as_dict(item.get("arguments")))]
        texts = [part.get("text") for part in _as_dicts(_get(item, "result", "content"))]
        output = "\n".join(text for text in texts if isinstance(text, str))
    if calls:
        yield _build_message("assistant", calls, id=call)
        failed = _has_failed(item.get("status") == "completed", item.get("exit_code"))
        yield _build_message("user", [_build_result(call, output, is_error=failed)])


def _parse_json(text: object) -> object:
    """Return the object that *text* holds as JSON, *text* itself where it holds none."""
    try:
        return json.loads(text) if isinstance(text, str) and text.lstrip().startswith("{") else text
    except (ValueError, RecursionError):
        return text


def _build_codex_calls(name: str, given: object, call: object) -> list[dict[str, Any]]:
    held = _as_dict(given)
    patch = given if isinstance(given, str) else held.get("input", held.get("patch"))
    if name == "apply_patch" and isinstance(patch, str) and (edits := _build_edits(call, _parse_patch(patch))):
        return edits
    if name in _CODEX_SHELLS:
        words = held.get("command", held.get("cmd"))
        line = " ".join(map(str, words)) if isinstance(words, list) else words
        name, held = "Bash", {**held, "command": line if isinstance(line, str) else ""}
    elif name == "update_plan" and isinstance(held.get("plan"), list):
        todos = [{"content": step.get("step"), "status": step.get("status")} for step in _as_dicts(held["plan"])]
        name, held = "TodoWrite", {"todos": todos}
    return [_build_call(call, *translate_tool(HOSTS["codex"], name, held))]


def _build_codex_result(call: object, output: object) -> dict[str, Any]:
    held = _parse_json(output)
    if isinstance(held, dict):
        text = held.get("output", held.get("content"))
        failed = _has_failed(held.get("success"), _get(held, "metadata", "exit_code"))
        return _build_result(call, text if isinstance(text, str) else str(output), is_error=failed)
    text = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
    return _build_result(call, text, is_error=bool(_CODEX_EXIT.match(text)))


def _build_edits(call: object, edits: Iterable[tuple[str, str, list[str], list[str]]]) -> list[dict[str, Any]]:
    """Return the blocks of *edits*, which one *call* made: the first has its id, the others the id with a number.

    An edit is what is done to a file (Add, Update or Delete), its path, and the lines that come and go.
    """
    blocks = []
    for number, (kind, path, added, removed) in enumerate(edits):
        tool, given = "Edit", {"old_string": "\n".join(removed), "new_string": "\n".join(added)}
        if kind == "Add":
            tool, given = "Write", {"content": "\n".join(added)}
        blocks.append(_build_call(f"{call}#{number}" if number else call, tool, {"file_path": path, **given}))
    return blocks


def _iter_file_changes(changes: Record) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield the edits that an item holds by their paths: the whole text of a new file, else a unified diff."""
    for path, value in changes.items():
        change = _as_dict(value)
        text = change.get("content", change.get("unified_diff"))
        rows = text.splitlines() if isinstance(text, str) else []
        added, removed = ([row[1:] for row in rows if row[:1] == mark] for mark in "+-")
        yield ("Add", path, rows, []) if change.get("type") == "add" else ("Update", path, added, removed)


def _parse_patch(patch: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield the edits of a patch in the form of the tool apply_patch, one for each file."""
    edit: tuple[str, str, list[str], list[str]] | None = None
    for line in [*patch.splitlines(), "*** End Patch"]:
        match = _PATCHED_FILE.match(line)
        if edit and (match or line == "*** End Patch"):
            yield edit
            edit = None
        if match:
            edit = (match[1], match[2].strip(), [], [])
        elif edit and line[:1] in ("+", "-"):
            lines = edit[2] if line[0] == "+" else edit[3]
            lines.append(line[1:])


# -- Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`, lines `{type, data, id, timestamp, parentId}` ---------

_COPILOT_SILENT = (
    "tool.execution_start system.message session.shutdown session.compaction_start session.model_change".split()
)
_COPILOT_SILENT_GROUPS = ("hook.", "model.", "permission.", "subagent.", "assistant.turn_")
"""How the types begin of what repeats other records, or says nothing of what was decided."""


def _is_copilot(record: Record) -> bool:
    return isinstance(record.get("data"), dict) and "parentId" in record and "." in str(record.get("type"))


def _translate_copilot(record: Record) -> Translated:
    # what a sub-agent does is in the same file, with the agentId it has
    side = {"isSidechain": True, "agentId": record["agentId"]} if record.get("agentId") else {}
    yield from ({**side, **made} for made in _translate_copilot_event(str(record["type"]), record["data"]))


def _translate_copilot_event(kind: str, data: Record) -> Translated:
    if kind in ("session.start", "session.resume"):
        yield _build_start(data.get("sessionId"), _get(data, "context", "cwd"), _get(data, "context", "branch"))
    elif kind == "user.message":
        yield _build_message("user", _build_texts(data.get("content")))
    elif kind == "assistant.message":
        content = _build_texts(data.get("content"))
        for request in _as_dicts(data.get("toolRequests")):
            call, name, given = request.get("toolCallId"), request.get("name"), request.get("arguments")
            patch = given if isinstance(given, str) else _get(given, "patch")
            if name == "apply_patch" and isinstance(patch, str):
                content += _build_edits(call, _parse_patch(patch))
            else:
                content.append(_build_call(call, *translate_tool(HOSTS["copilot"], name, given)))
        yield _build_message("assistant", content, id=data.get("messageId"), model=data.get("model"))
    elif kind == "tool.execution_complete":
        text = _get(data, "result", "content")
        text = text if isinstance(text, str) else _get(data, "error", "message")
        failed = _has_failed(data.get("success"), _get(data, "shellExecution", "exitCode"))
        yield _build_message("user", [_build_result(data.get("toolCallId"), text, is_error=failed)])
    elif kind == "session.usage_record":
        usage = _as_dict(data.get("usage"))
        used = {"input_tokens": usage.get("inputTokens"), "context_window": usage.get("maxPromptTokens")}
        yield _build_message("assistant", [], model=usage.get("model"), usage=used)
    elif kind == "session.compaction_complete":
        tokens = {"preTokens": data.get("preCompactionTokens"), "postTokens": data.get("postCompactionTokens")}
        yield from _build_compaction(data.get("summaryContent"), trigger=data.get("trigger"), **tokens)
    elif kind not in _COPILOT_SILENT and not kind.startswith(_COPILOT_SILENT_GROUPS):
        yield {"type": f"copilot {kind}"}


# -- Cursor: `~/.cursor/projects/…/agent-transcripts/….jsonl`, a line `{role, message: {content}}` each -------------


def _is_cursor(record: Record) -> bool:
    # the end of a turn is a record with a type; its messages have a role instead
    if record.get("type") == "turn_ended":
        return "message" not in record
    return "role" in record and isinstance(record.get("message"), dict) and "type" not in record


def _translate_cursor(record: Record) -> Translated:
    role, content = record.get("role"), _get(record, "message", "content")
    if record.get("type") == "turn_ended":
        return
    if role not in ("user", "assistant"):
        yield {"type": f"cursor {role}"}
    elif isinstance(content, str | list):
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _as_dicts(content)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        # Cursor writes the answers of tools into the message of the agent; here they are the user's, as elsewhere
        if role == "assistant" and results:
            yield _build_message("user", results)
            blocks = [block for block in blocks if block.get("type") != "tool_result"]
        yield _build_message(role, [_convert_cursor_block(block) for block in blocks])


def _convert_cursor_block(block: Record) -> dict[str, Any]:
    text = block.get("text")
    if block.get("type") == "text" and isinstance(text, str) and "<user_query>" in text:
        return {**block, "text": text.partition("<user_query>")[2].partition("</user_query>")[0].strip()}
    if block.get("type") == "tool_use":
        name, given = translate_tool(HOSTS["cursor"], block.get("name"), block.get("input"))
        return {**block, "name": name, "input": given}
    return dict(block)


# -- Gemini CLI: `~/.gemini/tmp/…/chats/session-….json` (one object) or `.jsonl` (a record a line) ------------------

_GEMINI_SILENT = ("info", "error", "warning")


def is_gemini(record: Record) -> bool:
    """Return whether *record* is a message of Gemini CLI, or says something of the session or takes something back."""
    if "projectHash" in record or isinstance(record.get("$set"), dict) or "$rewindTo" in record:
        return True
    return record.get("type") in ("user", "gemini", *_GEMINI_SILENT) and "content" in record and "message" not in record


def _translate_gemini(record: Record) -> Translated:
    # in a file that is one object the session's own fields come with its first message: see parse_whole_session
    head, kind = _as_dict(record.get("session", record)), record.get("type")
    if session := head.get("sessionId"):
        folders = head.get("directories")
        folder = folders[0] if isinstance(folders, list) and folders else None
        yield {**_build_start(session, folder), "timestamp": head.get("startTime")}
    if kind == "user":
        yield _build_message("user", _remove_gemini_files(_convert_gemini_texts(record.get("content"))))
    elif kind == "gemini":
        content, results = _convert_gemini_texts(record.get("content")), []
        for call in _as_dicts(record.get("toolCalls")):
            name, given = translate_tool(HOSTS["gemini"], call.get("name"), call.get("args"))
            if name == "TodoWrite" and isinstance(given.get("todos"), list):
                given = {"todos": [{**step, "content": step.get("description")} for step in _as_dicts(given["todos"])]}
            content.append(_build_call(call.get("id"), name, given))
            if call.get("status") in ("success", "error", "cancelled"):
                results.append(_convert_gemini_result(call))
        usage = {"input_tokens": _get(record, "tokens", "input")}
        yield _build_message("assistant", content, id=record.get("id"), model=record.get("model"), usage=usage)
        if results:
            yield _build_message("user", results)
    elif kind not in (*_GEMINI_SILENT, None):
        yield {"type": f"gemini {kind}"}


def _convert_gemini_texts(content: object) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else [content]
    return _build_texts(*(part.get("text") if isinstance(part, dict) else part for part in parts))


def _remove_gemini_files(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *blocks* without the files that the prompt names with @: each is a block of its own between two marks."""
    marks = [block["text"].strip() for block in blocks]
    if FILES_BEGIN not in marks or FILES_END not in marks:
        return blocks
    begin, end = marks.index(FILES_BEGIN), len(marks) - 1 - marks[::-1].index(FILES_END)
    return blocks[:begin] + blocks[max(begin, end + 1) :]


def _convert_gemini_result(call: Record) -> dict[str, Any]:
    parts, found = call.get("result"), []
    for part in parts if isinstance(parts, list) else [parts]:
        answer = _get(part, "functionResponse", "response")
        texts = [part] if isinstance(part, str) else [_get(answer, "output"), _get(answer, "error")]
        found += [text for text in texts if isinstance(text, str)]
    text = "\n".join(found) or call.get("resultDisplay")
    return _build_result(call.get("id"), text, is_error=call.get("status") != "success")


# -- opencode: messages `{info, parts}`, as its plugin hands them over and `opencode export` prints them -------------

_OPENCODE_SILENT = frozenset(
    "text tool compaction reasoning step-start step-finish snapshot patch file agent retry subtask".split()
)


def _is_opencode(record: Record) -> bool:
    return isinstance(record.get("info"), dict) and isinstance(record.get("parts"), list)


def _translate_opencode(record: Record) -> Translated:
    info = record["info"]
    has_path = isinstance(info.get("path"), dict)
    folder = _get(info, "path", "cwd") if has_path else _get(record, "session", "info", "directory")
    about = {"timestamp": _format_opencode_time(info), "sessionId": info.get("sessionID"), "cwd": folder}
    yield from ({**about, **made} for made in _translate_opencode_message(info, list(map(_as_dict, record["parts"]))))


def _translate_opencode_message(info: Record, parts: list[dict[str, Any]]) -> Translated:
    role, kinds = info.get("role"), {str(part.get("type")) for part in parts if part}
    if "compaction" in kinds:
        yield {"type": "system", "subtype": "compact_boundary"}
    yield from ({"type": f"opencode {kind}"} for kind in sorted(kinds - _OPENCODE_SILENT))
    # one that says nothing is an empty block in its place: pruning names a block by the number of its part
    blocks = [_convert_opencode_part(part) for part in parts]
    if role not in ("user", "assistant"):
        yield {"type": f"opencode {role}"}
    elif role == "assistant" and info.get("summary") is True:
        yield {**_build_message("user", blocks, id=info.get("id")), "isCompactSummary": True}
    else:
        usage = {
            "input_tokens": _get(info, "tokens", "input"),
            "cache_read_input_tokens": _get(info, "tokens", "cache", "read"),
            "cache_creation_input_tokens": _get(info, "tokens", "cache", "write"),
        }
        more = {"model": info.get("modelID"), "usage": usage} if role == "assistant" else {}
        yield _build_message(role, blocks, id=info.get("id"), **more)
        results = [_convert_opencode_result(part) for part in parts]
        if any(results):
            yield _build_message("user", results)


def _format_opencode_time(info: Record) -> str:
    created = _get(info, "time", "created")
    # milliseconds since 1970; what is larger is no date that datetime can hold
    if not isinstance(created, int | float) or not 0 < created < 1e14:
        return ""
    from datetime import UTC, datetime  # late: no other host's session needs it

    return datetime.fromtimestamp(created / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _convert_opencode_part(part: Record) -> dict[str, Any]:
    if part.get("ignored") is True:
        return {}
    if part.get("type") == "text" and part.get("synthetic") is not True:
        return {"type": "text", "text": part.get("text")}
    if part.get("type") == "tool":
        tool = translate_tool(HOSTS["opencode"], part.get("tool"), _get(part, "state", "input"))
        return _build_call(part.get("callID"), *tool)
    return {}


def _convert_opencode_result(part: Record) -> dict[str, Any]:
    status = _get(part, "state", "status")
    if part.get("type") != "tool" or status not in ("completed", "error"):
        return {}
    text = _get(part, "state", "error" if status == "error" else "output")
    return _build_result(part.get("callID"), text, is_error=status == "error")


class HostFormat(NamedTuple):
    """How the sessions of a host are read: whether a record is one of its, and what it says in Claude Code's."""

    is_record: Callable[[Record], bool]
    translate: Callable[[Record], Translated]


FORMATS = {
    "codex": HostFormat(_is_codex, _translate_codex),
    "copilot": HostFormat(_is_copilot, _translate_copilot),
    "cursor": HostFormat(_is_cursor, _translate_cursor),
    "gemini": HostFormat(is_gemini, _translate_gemini),
    "opencode": HostFormat(_is_opencode, _translate_opencode),
}
"""A format for each host of `kb.hosts` but Claude Code."""
