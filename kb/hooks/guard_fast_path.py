"""Tell without loading anything that the guard has nothing to say to a tool call, nor anything to remember of it.

Whatever is not plain is left to the guard itself. Until it has spoken once for a prompt it is asked at every write.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

BANK = "memory-bank"
_READS = frozenset(["Read", "Grep", "Glob", "LS", "NotebookRead", "read", "grep", "glob", "list", "read_file", "view"])
_WRITES = frozenset(["Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "write_file", "replace", "create"])
_SHELLS = frozenset(["Bash", "PowerShell", "Shell", "shell", "bash", "run_shell_command"])
_TOUCHING = _READS | _WRITES | _SHELLS | {"apply_patch", "patch", "multiedit", "str_replace_editor", "exec_command"}
_PATHS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path")
_PLAIN_OUT = regex(r"\d?>&\d|(?:\d|&)?>>?\s*/dev/(?:null|stderr|stdout)\b")
_BUSY = regex(
    r">|\bkb\b|kb-hook|kb\.hooks|mb\s*[:：]|memory.?bank|anchors|content|\.kb\b|\bcd\b|\$\(|`|proposal|"
    r"\b(?:tee|sed|perl|ruby|patch|apply_?patch|apply|mv|cp|rm|rmdir|ln|truncate|touch|shred|unlink|rsync|xargs|eval|"
    r"sponge|ed|ex|vim?|nano|checkout|restore|find|parallel|script|"
    r"git\s+am|git\s[^|;&\n]{0,80}\bclean)\b|"
    r"\b(?:python|node|deno|bun|php|lua)[\d.]*\s+(?:-\s*$|-[ceE]|--eval|-\s)|\b(?:ba|z|da|k)?sh\s+-\w*c|<<|\|\s*(?:ba|z)?sh\b",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands in a command that may write a file or ask kb for something; `cat` and `pytest` are not looked into."""
_DISCARDS = regex(r"\bgit\b[^\n]{0,200}\b(?:checkout|restore|reset|stash|clean|switch|read-tree)\b")
_QUOTES = regex(r"[\\'\"]")
_VERBS = ("write", "edit", "create", "move", "rename", "delete", "remove", "patch", "append", "insert", "replace",
          "update", "save", "put", "copy", "push", "read", "get", "search", "list", "run", "exec", "shell",
          "command")  # fmt: skip
_OTHERS = ("Todo", "todo", "Web", "web", "Task", "task", "Agent", "Exit", "Enter", "Ask", "Skill", "Bash", "Kill")
"""How the names of tools begin that touch no file, though there are verbs in them."""
_LARGEST = 2_000_000
_PLAIN_NAME = regex(r"[A-Za-z0-9_-]{1,64}")


_RUNNERS = ("exec", "run", "shell", "command", "terminal", "process", "patch")
"""What stands in the names of tools that run programs, or apply patches."""


def may_write(payload: Mapping[str, Any]) -> bool:
    """Return whether the tool may write files other than the one it names: then they are compared after the call."""
    tool = payload.get("tool_name")
    if not isinstance(tool, str) or tool in _READS or tool in _WRITES:
        return False
    if tool.startswith(("mcp__", "MCP:", "mcp_")):
        return any(verb in tool.lower() for verb in (*_VERBS[:16], *_RUNNERS))
    return tool in _SHELLS or (not tool.startswith(_OTHERS) and any(verb in tool.lower() for verb in _RUNNERS))


def may_discard(payload: Mapping[str, Any]) -> bool:
    """Return whether the command may throw away what is not committed."""
    given = payload.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else ""
    return isinstance(command, str) and _DISCARDS.search(command) is not None


def get_session_id(payload: Mapping[str, Any]) -> str:
    """Return the name of the session, "" where the payload has none."""
    session = payload.get("session_id")
    return session if isinstance(session, str) else ""


def get_call_folder(payload: Mapping[str, Any], root: str) -> str:
    """Return the folder of the call."""
    folder = payload.get("cwd")
    return folder if isinstance(folder, str) and folder else root


def can_skip_guard(payload: Mapping[str, Any], root: str) -> bool:
    """Return whether the guard of the knowledge base at *root* has nothing to say to the call, and nothing to note."""
    tool, given = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return True
    try:
        return _is_harmless_call(tool, given, payload, root)
    except (OSError, ValueError):  # a path that can be none, or that nobody may ask about
        return False


def _is_harmless_call(tool: str, given: Mapping[str, Any], payload: Mapping[str, Any], root: str) -> bool:
    folder = payload.get("cwd") if isinstance(payload.get("cwd"), str) else ""
    if tool in _SHELLS:
        command = given.get("command")
        return isinstance(command, str) and not _is_risky_command(command) and not _is_inside_base(str(folder), root)
    if tool in _READS or tool in _WRITES:
        paths = [os.path.join(str(folder), path) for key in _PATHS if isinstance(path := given.get(key), str)]
        plain = bool(paths or tool in _READS) and not any(
            _is_inside_base(path, root) for path in paths or [str(folder)]
        )
        return plain and (tool in _READS or _is_already_allowed(payload, root, paths))
    if tool.startswith(("mcp__", "MCP:", "mcp_")):
        return not any(verb in tool.lower() for verb in (*_VERBS, "kb"))
    if tool.startswith("kb_"):  # kb's own server, as opencode spells it
        return False
    return tool not in _TOUCHING and (tool.startswith(_OTHERS) or not any(verb in tool.lower() for verb in _VERBS))


def _is_risky_command(command: str) -> bool:
    """Return whether *command* may write a file or ask kb for something, however its words are quoted."""
    plain = _PLAIN_OUT.sub(" ", command)
    return any(_BUSY.search(text) for text in (plain, _QUOTES.sub("", plain)))


def _is_inside_base(path: str, root: str) -> bool:
    """Return whether *path* leads into what kb keeps, or to its settings; also by a link or another name."""
    real = os.path.realpath(path)
    if BANK in real.casefold() or BANK in path.casefold():
        return True
    tops = []
    for name in ("content", ".kb", "kb.toml", "risk.yaml"):
        try:
            tops.append(os.stat(os.path.join(root, name)))
        except OSError:
            continue
    for spelled in {real, os.path.abspath(path)}:
        place = spelled
        while place != os.path.dirname(place):
            try:
                found = os.stat(place)
                if any(os.path.samestat(found, top) for top in tops) or (
                    place == spelled and _has_hard_links(place, found)
                ):
                    return True
            except (OSError, ValueError):
                pass
            place = os.path.dirname(place)
    return False


def _has_hard_links(path: str, found: os.stat_result) -> bool:
    """Return whether the file has a second name, which may be that of a record."""
    return found.st_nlink > 1 and not os.path.isdir(path)


def _is_already_allowed(payload: Mapping[str, Any], root: str, paths: list[str]) -> bool:
    """Return whether the guard has said for this prompt that writes to *paths* are nothing to it."""
    session = payload.get("session_id")
    if not isinstance(session, str) or not _PLAIN_NAME.fullmatch(session):
        return False
    try:
        with open(os.path.join(root, ".kb", "active", session, "guard.json"), encoding="utf-8") as file:
            kept = json.load(file)
        if kept["settled"] is not True or kept["prompt"] not in ("", payload.get("prompt_id", "")):
            return False
        project, patterns = kept["project"], kept["patterns"]
        return not any(_is_constrained(path, project, patterns) or _has_machine_block(path) for path in paths)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_constrained(path: str, project: str, patterns: list[str]) -> bool:
    """Return whether a constraint may be about *path*, or the guard spoke of another project."""
    real = os.path.realpath(path)
    if not real.startswith(project + os.sep):
        return True
    inside = real[len(project) + 1 :].replace(os.sep, "/").casefold()
    return any(inside.startswith(pattern) for pattern in patterns)


def _has_machine_block(path: str) -> bool:
    if not path.lower().endswith((".md", ".mdx", ".markdown")):
        return False
    try:
        with open(path, "rb") as file:
            return b"MACHINE_BLOCK_" in file.read(_LARGEST)
    except FileNotFoundError:
        return False
