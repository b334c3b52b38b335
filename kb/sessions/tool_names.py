"""The tools of a host under the names kb knows them by, and what kb changed in them under the host's names again."""

from __future__ import annotations

from collections.abc import Mapping

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

Tools = Mapping[str, tuple[str, Mapping[str, str]]]
"""The name that a host gives a tool: the name kb knows it by, and the host's names of what it is given, each with kb's.

kb knows the tools by the names of Claude Code: Read(file_path, offset, limit), Write(file_path, content),
Edit(file_path, old_string, new_string), Bash(command), Glob(pattern, path), Grep(pattern, path),
Agent(subagent_type, prompt). Another tool keeps its name.
"""


GEMINI: Tools = {
    "read_file": ("Read", {"absolute_path": "file_path"}),
    "write_file": ("Write", {}),
    "replace": ("Edit", {}),
    "run_shell_command": ("Bash", {}),
    "glob": ("Glob", {}),
    "search_file_content": ("Grep", {}),
    "grep_search": ("Grep", {}),
    "write_todos": ("TodoWrite", {}),
}
COPILOT: Tools = {
    "bash": ("Bash", {}),
    "powershell": ("Bash", {}),
    "view": ("Read", {"path": "file_path"}),
    "create": ("Write", {"path": "file_path", "file_text": "content"}),
    "edit": ("Edit", {"path": "file_path", "old_str": "old_string", "new_str": "new_string"}),
    "glob": ("Glob", {}),
    "grep": ("Grep", {}),
    "task": ("Agent", {"agent_type": "subagent_type"}),
}
CURSOR: Tools = {
    "Shell": ("Bash", {}),
    "Read": ("Read", {"path": "file_path", "target_file": "file_path"}),
    "Write": ("Write", {"path": "file_path", "contents": "content"}),
    "StrReplace": ("Edit", {"path": "file_path"}),
    "Grep": ("Grep", {}),
    "Task": ("Agent", {}),
}
OPENCODE: Tools = {
    "read": ("Read", {"filePath": "file_path"}),
    "write": ("Write", {"filePath": "file_path"}),
    "edit": ("Edit", {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}),
    "multiedit": ("Edit", {"filePath": "file_path"}),
    "patch": ("apply_patch", {"patchText": "patch"}),
    "apply_patch": ("apply_patch", {"patchText": "patch"}),
    "bash": ("Bash", {}),
    "glob": ("Glob", {}),
    "grep": ("Grep", {}),
    "task": ("Agent", {}),
    "todowrite": ("TodoWrite", {}),
}


def translate_tool(tools: Tools, name: object, given: object) -> tuple[str, dict[str, Any]]:
    """Return a tool and what it is given by the names kb knows."""
    held = given if isinstance(given, dict) else {}
    ours, keys = tools.get(name, (name, {})) if isinstance(name, str) else ("", {})
    return ours, {keys.get(key, key): value for key, value in held.items()}


def translate_copilot_tool(name: object, given: object) -> tuple[str, dict[str, Any]]:
    """Return a tool of Copilot's and what it is given by the names kb knows.

    Its own tools have no hyphen in their names; those of MCP servers are called `SERVER-TOOL`.
    """
    tool, held = translate_tool(COPILOT, name, given)
    server, hyphen, rest = tool.rpartition("-")
    return (f"mcp__{server}__{rest}" if hyphen else tool), held


def restore_host_names(tools: Tools, name: object, given: object, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return *changed*, what kb puts in the place of *given*, by the names that the host used."""
    used = given if isinstance(given, dict) else {}
    keys = tools[name][1] if isinstance(name, str) and name in tools else {}
    back = {ours: own for own, ours in keys.items() if own in used}
    return {back.get(key, key): value for key, value in changed.items()}


def to_text(value: object) -> str:
    """Return *value* where it is text, else ""."""
    return value if isinstance(value, str) else ""


def clip_bytes(value: str, most: int) -> str:
    """Return the beginning of *value*, *most* bytes at most and no half character."""
    data = value.encode("utf-8", "replace")
    return value if len(data) <= most else data[:most].decode("utf-8", "ignore")
