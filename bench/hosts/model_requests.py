"""Read what an agent asks its model, whatever the protocol, and write a tool call as that agent spells it.

The protocols are Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini.
"""

import json
import re
from typing import Any, NamedTuple

_COMPACTION = re.compile(
    r"detailed summary of (the|our|this) conversation|CRITICAL: Respond with TEXT ONLY|CONTEXT CHECKPOINT COMPACTION|"
    r"create a (new )?(anchored|detailed)? ?summary|summariz\w+ the (conversation|session)|state_snapshot|"
    r"context compaction",
    re.IGNORECASE,
)


class Turn(NamedTuple):
    """One message of a request."""

    role: str
    text: str
    is_result: bool
    """Whether it holds the result of a tool call."""


class ModelRequest:
    """A request in one shape: the system text, the turns, and the tools that are offered, by name."""

    def __init__(self, protocol: str, body: dict[str, Any]) -> None:
        """Read *body* as *protocol*: anthropic, chat, responses or gemini."""
        self.body = body
        self.turns: list[Turn] = []
        self.tools: dict[str, dict[str, Any]] = {}
        self.system = ""
        getattr(self, f"_read_{protocol}")()

    @property
    def last_prompt(self) -> str:
        """The last text of the person's side."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")

    @property
    def purpose(self) -> str:
        """What is asked for: "main" a step of the session, "compact" a summary of it, "side" anything else."""
        asks_summary = _COMPACTION.search(self.last_prompt[-12_000:] + self.system[:1500])
        if asks_summary and (len(self.turns) > 1 or not self.tools):
            return "compact"
        return "main" if self.tools else "side"

    def _read_anthropic(self) -> None:
        self.system = join_texts(self.body.get("system"))
        self.tools = {tool.get("name"): tool.get("input_schema") or {} for tool in self.body.get("tools") or []}
        for message in self.body.get("messages") or []:
            content = message.get("content")
            is_result = isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
            self.turns.append(Turn(message["role"], join_texts(content), is_result))

    def _read_chat(self) -> None:
        functions = [tool["function"] for tool in self.body.get("tools") or [] if "function" in tool]
        self.tools = {function["name"]: function.get("parameters") or {} for function in functions}
        for message in self.body.get("messages") or []:
            text = join_texts(message.get("content"))
            if message["role"] in ("system", "developer"):
                self.system += text + "\n"
            elif message["role"] == "tool":
                self.turns.append(Turn("user", text, True))
            else:
                self.turns.append(Turn(message["role"], text, False))

    def _read_responses(self) -> None:
        self.system = self.body.get("instructions") or ""
        given = self.body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
        added = [tool for item in items if item.get("type") == "additional_tools" for tool in item.get("tools") or []]
        for tool in [*(self.body.get("tools") or []), *added]:
            if tool.get("type") == "namespace":
                for own in tool.get("tools") or []:
                    row = {**(own.get("parameters") or {}), "x-type": own.get("type")}
                    self.tools[f"{tool.get('name')}::{own.get('name')}"] = row
            else:
                row = {**(tool.get("parameters") or {}), "x-type": tool.get("type")}
                self.tools[tool.get("name") or tool.get("type")] = row
        is_assistant = False
        for item in items:
            kind = item.get("type", "message")
            if kind == "message" and item.get("role") in ("system", "developer"):
                self.system += "\n" + join_texts(item.get("content"))
            elif kind == "message":
                text, role = join_texts(item.get("content")), item.get("role")
                if role == "assistant" and is_assistant:
                    self.turns[-1] = Turn(role, self.turns[-1].text + text, False)
                else:
                    self.turns.append(Turn(role, text, False))
                is_assistant = role == "assistant"
            elif kind.endswith("_call") or kind == "reasoning":
                if not is_assistant:
                    self.turns.append(Turn("assistant", "", False))
                is_assistant = True
            elif kind.endswith("_output"):
                self.turns.append(Turn("user", str(item.get("output")), True))
                is_assistant = False

    def _read_gemini(self) -> None:
        self.system = join_texts((self.body.get("systemInstruction") or {}).get("parts"))
        for group in self.body.get("tools") or []:
            for tool in group.get("functionDeclarations") or []:
                self.tools[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
        for message in self.body.get("contents") or []:
            parts = message.get("parts") or []
            role = "assistant" if message.get("role") == "model" else "user"
            self.turns.append(Turn(role, join_texts(parts), any("functionResponse" in part for part in parts)))


def join_texts(content: Any) -> str:
    """Return the plain texts in the *content* of a message."""
    if isinstance(content, str):
        return content
    texts = []
    for block in content or []:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") in (None, "text", "input_text", "output_text") and "text" in block:
            texts.append(block["text"] or "")
    return "\n".join(texts)


# -- a tool call as the host spells it ---------------------------------------------------------------


def translate_call(tools: dict[str, dict[str, Any]], name: str, given: dict[str, Any]) -> tuple[str, Any]:
    """Return the call of Claude Code's tool *name* as the host writes it that offers *tools*."""
    if name in tools:
        return name, given
    if "functions::exec" in tools:
        return "functions::exec", _write_javascript(name, given)
    if name == "Bash":
        return _call_shell(tools, given["command"])
    if name == "Read":
        return _call_reader(tools, given["file_path"])
    if name in ("Write", "Edit"):
        return _call_editor(tools, name, given)
    if name.startswith("mcp__"):
        _, server, own = name.split("__", 2)
        for tool in sorted(tools, key=len):
            if server in tool and re.search(rf"(^|[^a-z]){own}$", tool):
                return tool, given
    return name, given


def _call_shell(tools: dict[str, dict[str, Any]], command: str) -> tuple[str, Any]:
    names = ("exec_command", "shell", "local_shell", "bash", "run_shell_command", "shell_command")
    shell = next((name for name in names if name in tools), "shell")
    if shell == "exec_command":
        return shell, {"cmd": command}
    if shell == "shell":
        return shell, {"command": ["bash", "-lc", command]}
    return shell, {"command": command, "description": "run"} if shell != "shell_command" else {"command": command}


def _call_reader(tools: dict[str, dict[str, Any]], path: str) -> tuple[str, Any]:
    if "read" in tools:
        return "read", {"filePath": path}
    if "read_file" in tools:
        key = "file_path" if "file_path" in (tools["read_file"].get("properties") or {}) else "absolute_path"
        return "read_file", {key: path}
    return ("view", {"path": path}) if "view" in tools else _call_shell(tools, f"cat {path}")


def _call_editor(tools: dict[str, dict[str, Any]], name: str, given: dict[str, Any]) -> tuple[str, Any]:
    path, old, new = given["file_path"], given.get("old_string", ""), given.get("new_string", "")
    if name == "Write":
        keys = {
            "write": ("filePath", "content"),
            "write_file": ("file_path", "content"),
            "create": ("path", "file_text"),
        }
        for tool, (path_key, text_key) in keys.items():
            if tool in tools:
                return tool, {path_key: path, text_key: given["content"]}
    elif "edit" in tools and "filePath" in json.dumps(tools["edit"]):
        return "edit", {"filePath": path, "oldString": old, "newString": new}
    elif "replace" in tools:
        values = {"file_path": path, "instruction": "change", "old_string": old, "new_string": new}
        return "replace", values
    elif "edit" in tools:
        return "edit", {"path": path, "old_str": old, "new_str": new}
    if "apply_patch" in tools:
        patch = _write_patch(name, given)
        if "patchText" in json.dumps(tools["apply_patch"]):
            return "apply_patch", {"patchText": patch}
        return "apply_patch", patch if tools["apply_patch"].get("x-type") == "custom" else {"input": patch}
    return _call_shell(tools, f"apply_patch <<'XX'\n{_write_patch(name, given)}\nXX")


def _write_patch(name: str, given: dict[str, Any]) -> str:
    path = given["file_path"]
    if name == "Write":
        body = "\n".join("+" + line for line in given["content"].rstrip("\n").split("\n"))
        return f"*** Begin Patch\n*** Add File: {path}\n{body}\n*** End Patch"
    old = "\n".join("-" + line for line in given["old_string"].split("\n"))
    new = "\n".join("+" + line for line in given["new_string"].split("\n"))
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{old}\n{new}\n*** End Patch"


def _write_javascript(name: str, given: dict[str, Any]) -> str:
    """Return a call as Codex's newer models make it: JavaScript that calls the tools."""
    if name in ("Write", "Edit"):
        return f"text(await tools.apply_patch({json.dumps(_write_patch(name, given))}))"
    if name.startswith("mcp__"):
        return f"text(await tools.{name.replace('-', '_')}({json.dumps(given)}))"
    command = given["command"] if name == "Bash" else f"cat {given['file_path']}"
    return f"const r = await tools.exec_command({json.dumps({'cmd': command})}); text(r.output)"
