"""Recognise events that need no answer without opening the knowledge base: tool calls come by the hundred.

Whatever is not plain is left to the slow path. Until the guard has spoken once for a prompt it is asked at every write.
Payloads are clean here: texts are texts, and `tool_input` is a dictionary.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

from kb.paths import PROSE_SUFFIXES
from kb.startup.lazy_regex import bytes_regex, regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import failed_calls, record_stamps

if TYPE_CHECKING:
    from typing import Any

AFTER_TOOL = ("PostToolUse", "PostToolUseFailure")
"""The events after a call; Claude Code and Copilot have one of their own for a call that failed."""
SPAWNS = frozenset({"Agent", "Task"})
"""Tools that start a sub-agent: what it is asked for is remembered."""
_SEARCHES = frozenset({"Glob", "Grep"})
_SETTINGS = "dcp-config.yaml"
_CHUNK, _PATHS = 1000, 200
"""Lines that are read at once, and paths that a search may answer: what the settings say where their file does not."""
_MIN_LONG_RESULT_CHARACTERS = 4000
"""Characters of a search's result below which no setting shortens it."""
_NON_TEXT_SUFFIXES = (".ipynb", ".pdf")
"""Files that a host reads by cells or pages."""
_BLOCK, _BLOCKS = 1 << 20, 64
"""Bytes that are read at once, and how often at most."""

_BANK = "memory-bank"
_READS = frozenset(["Read", "Grep", "Glob", "LS", "NotebookRead", "read", "grep", "glob", "list", "read_file", "view"])
_WRITES = frozenset(["Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "write_file", "replace", "create"])
_SHELLS = frozenset(["Bash", "PowerShell", "Shell", "shell", "bash", "run_shell_command"])
_PATH_TOOLS = _READS | _WRITES | _SHELLS | {"apply_patch", "patch", "multiedit", "str_replace_editor", "exec_command"}
_MCP = ("mcp__", "MCP:", "mcp_")
_PATH_KEYS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path")
_PLAIN_REDIRECT = regex(r"\d?>&\d|(?:\d|&)?>>?\s*/dev/(?:null|stderr|stdout)\b")
_RELEVANT_COMMAND = regex(
    r">|\bkb\b|kb-hook|kb\.hooks|mb\s*[:：]|memory.?bank|anchors|content|\.kb\b|\bcd\b|\$\(|`|proposal|"
    r"\b(?:tee|sed|perl|ruby|patch|apply_?patch|apply|mv|cp|rm|rmdir|ln|truncate|touch|shred|unlink|rsync|xargs|eval|"
    r"sponge|ed|ex|vim?|nano|checkout|restore|find|parallel|script|"
    r"git\s+am|git\s[^|;&\n]{0,80}\bclean)\b|"
    r"\b(?:python|node|deno|bun|php|lua)[\d.]*\s+(?:-\s*$|-[ceE]|--eval|-\s)|\b(?:ba|z|da|k)?sh\s+-\w*c|<<|\|\s*(?:ba|z)?sh\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Parts of a command that may write a file or ask kb for something; `cat` and `pytest` are not looked into."""
_DISCARD_COMMAND = regex(r"\bgit\b[^\n]{0,200}\b(?:checkout|restore|reset|stash|clean|switch|read-tree)\b")
_QUOTES = regex(r"[\\'\"]")
_WRITE_VERBS = """write edit create move rename delete remove patch append insert replace update save put copy
    push""".split()
_VERBS = (*_WRITE_VERBS, "read", "get", "search", "list", "run", "exec", "shell", "command")
_RUNNERS = ("exec", "run", "shell", "command", "terminal", "process", "patch")
"""Parts of the names of tools that run programs or apply patches."""
_OTHER_TOOL_PREFIXES = (
    "Todo",
    "todo",
    "Web",
    "web",
    "Task",
    "task",
    "Agent",
    "Exit",
    "Enter",
    "Ask",
    "Skill",
    "Bash",
    "Kill",
)
"""How the names of tools begin that touch no file, though there are verbs in them."""
_MAX_FILE_BYTES, _MAX_CITING_BYTES = 2_000_000, 200_000
_CITING = bytes_regex(rb"\[(?:[\w.-]{1,64}:)?[A-Z]{1,2}\d{3,9}\]|ADRs?[-_ #]{0,2}\d|\xe5\x86\xb3\xe7\xad\x96")
"""`[D001]`, ADR-0012, and 决策 in UTF-8, with which 架构决策 and 决策记录 are written."""
_NEW_TEXT_KEYS = ("content", "file_text", "contents", "new_string", "new_str", "newString", "new_source", "insert_text")
_PLAIN_NAME = regex(r"[A-Za-z0-9_-]{1,64}")


def can_skip_event(event: str, payload: Mapping[str, Any], root: str) -> bool:
    """Return whether *event* can be answered with nothing right away."""
    if event == "UserPromptSubmit":
        return not payload.get("prompt", "").strip()
    tool, session = payload.get("tool_name", ""), payload.get("session_id", "")
    command = payload.get("tool_input", {}).get("command") if tool in _SHELLS else None
    if event == "PreToolUse":
        if tool in _WRITES or (may_write(payload) and tool not in _SHELLS):
            failed_calls.note_change(root, session)
        elif isinstance(command, str) and failed_calls.is_repeated_in_vain(root, session, command):
            return False
        # the cheap questions first; noting that a call begins comes last, since only a plain call may be noted here
        is_plain = (
            tool not in SPAWNS
            and not _is_long_read(payload, root)
            and _can_skip_guard(payload, root)
            and not _is_near_alert(payload, root)
        )
        return is_plain and (not may_write(payload) or _note_if_unchanged(payload, root, is_begin=True))
    if event in AFTER_TOOL:
        error = payload.get("tool_error", "")
        if isinstance(command, str):
            failed_calls.note_call(root, session, command, failed=bool(error))
        is_short = tool not in _SEARCHES or _is_short_result(payload.get("tool_response"))
        printed = error or payload.get("unclear_output", "")
        is_known = bool(printed) and failed_calls.may_be_known(root, printed)
        is_deferred = bool(session) and os.path.exists(_active_file(root, payload, "deferred.json"))
        is_plain = is_short and not is_known and not is_deferred and not _is_near_alert(payload, root)
        return is_plain and (not may_write(payload) or _note_if_unchanged(payload, root, is_begin=False))
    return False


def _note_if_unchanged(payload: Mapping[str, Any], root: str, *, is_begin: bool) -> bool:
    """Return whether the files that only kb writes are as they were, and if so note that a call begins or has ended."""
    # before `git checkout .` a snapshot is taken: that could throw a person's text away
    if (is_begin and may_discard(payload)) or not record_stamps.is_unchanged(root, payload.get("cwd") or root):
        return False
    note = record_stamps.mark_call_started if is_begin else record_stamps.mark_call_ended
    note(root, payload.get("session_id", ""))
    return True


def _is_near_alert(payload: Mapping[str, Any], root: str) -> bool:
    """Return whether the context may be full enough for an alert: by the size that its transcript had at the last."""
    path = payload.get("transcript_path", "")
    if not payload.get("session_id"):
        return False
    try:
        size = os.stat(path).st_size
        with open(_active_file(root, payload, "lights.json"), encoding="utf-8") as file:
            until = json.load(file)["until"]
        return not isinstance(until, int) or size >= until
    except (OSError, ValueError, KeyError, TypeError):
        return os.path.exists(path)


def _active_file(root: str, payload: Mapping[str, Any], name: str) -> str:
    return os.path.join(root, ".kb", "active", payload.get("session_id", ""), name)


# -- what is read ------------------------------------------------------------------------------------


def _is_long_read(payload: Mapping[str, Any], root: str) -> bool:
    given = payload.get("tool_input", {})
    path = given.get("file_path")
    if payload.get("tool_name") != "Read" or given.get("limit") is not None or not isinstance(path, str):
        return False
    # where the team has settings of its own, only they know how long is long
    most = 1 if os.path.exists(os.path.join(root, _SETTINGS)) else _CHUNK
    return count_lines(path, most) > most


def count_lines(path: str, enough: int) -> int:
    """Return how many lines the text file *path* has, counted up to *enough* or 64 MB; 0 where it is none."""
    try:
        if path.lower().endswith(_NON_TEXT_SUFFIXES) or not os.path.isfile(path):
            return 0
        found = 0
        with open(path, "rb") as file:
            for _ in range(_BLOCKS):
                block = file.read(_BLOCK)
                # a host does not read binary files by lines
                if b"\0" in block:
                    return 0
                found += block.count(b"\n")
                if not block or found > enough:
                    break
        return found
    except (OSError, ValueError):
        return 0


def _is_short_result(response: object) -> bool:
    if isinstance(response, dict):
        names = response.get("filenames")
        return (
            not (isinstance(names, list) and len(names) > _PATHS) and len(str(response)) < _MIN_LONG_RESULT_CHARACTERS
        )
    return not isinstance(response, str) or len(response) < _MIN_LONG_RESULT_CHARACTERS


# -- what the guard says -----------------------------------------------------------------------------


def may_write(payload: Mapping[str, Any]) -> bool:
    """Return whether the tool may write files other than the one it names: then they are compared after the call."""
    tool = payload.get("tool_name", "")
    if tool in _READS or tool in _WRITES:
        return False
    if tool.startswith(_MCP):
        return any(verb in tool.lower() for verb in (*_WRITE_VERBS, *_RUNNERS))
    return tool in _SHELLS or (
        not tool.startswith(_OTHER_TOOL_PREFIXES) and any(verb in tool.lower() for verb in _RUNNERS)
    )


def may_discard(payload: Mapping[str, Any]) -> bool:
    """Return whether the command may throw away what is not committed."""
    command = payload.get("tool_input", {}).get("command")
    return isinstance(command, str) and _DISCARD_COMMAND.search(command) is not None


def _can_skip_guard(payload: Mapping[str, Any], root: str) -> bool:
    """Return whether the guard of the knowledge base at *root* has nothing to say to the call, and nothing to note."""
    tool, given, folder = payload.get("tool_name", ""), payload.get("tool_input", {}), payload.get("cwd", "")
    try:
        if tool in _SHELLS:
            command = given.get("command")
            return isinstance(command, str) and not _is_risky_command(command) and not _is_inside_base(folder, root)
        if tool in _READS or tool in _WRITES:
            paths = [os.path.join(folder, path) for key in _PATH_KEYS if isinstance(path := given.get(key), str)]
            if not (paths or tool in _READS) or any(_is_inside_base(path, root) for path in paths or [folder]):
                return False
            # a read outside is nothing to the guard; a write may need the memory to be read first
            return tool in _READS or _is_already_allowed(payload, root, paths)
    except (OSError, ValueError):  # a path that can be none, or that nobody may ask about
        return False
    if tool.startswith(_MCP):
        # `mcp__jira__transition` may do anything but to files; `mcp__files__edit` and `mcp__kb__search` are looked at
        return not any(verb in tool.lower() for verb in (*_VERBS, "kb"))
    if tool.startswith("kb_"):  # kb's own server, as opencode spells it
        return False
    return tool not in _PATH_TOOLS and (
        tool.startswith(_OTHER_TOOL_PREFIXES) or not any(verb in tool.lower() for verb in _VERBS)
    )


def _is_risky_command(command: str) -> bool:
    """Return whether *command* may write a file or ask kb for something, however its words are quoted."""
    # `pytest 2>&1 >/dev/null` writes nothing; `r\m x` and `'rm' x` are `rm x`
    plain = _PLAIN_REDIRECT.sub(" ", command)
    return any(_RELEVANT_COMMAND.search(text) for text in (plain, _QUOTES.sub("", plain)))


def _is_inside_base(path: str, root: str) -> bool:
    """Return whether *path* leads into what kb keeps, or to its settings; also by a link or another name.

    A file with a second name (a hard link) counts as well: that may be the name of a record.
    """
    real = os.path.realpath(path)
    if _BANK in real.casefold() or _BANK in path.casefold():
        return True
    tops = []
    for name in ("content", ".kb", "kb.toml", "risk.yaml"):
        try:
            tops.append(os.stat(os.path.join(root, name)))
        except OSError:
            continue
    # by inode, not by name: `/tmp/link/a.md` and a bind mount lead there as well
    for spelled in {real, os.path.abspath(path)}:
        part = spelled
        while part != os.path.dirname(part):
            try:
                found = os.stat(part)
                has_links = part == spelled and found.st_nlink > 1 and not os.path.isdir(part)
                if has_links or any(os.path.samestat(found, top) for top in tops):
                    return True
            except (OSError, ValueError):
                pass
            part = os.path.dirname(part)
    return False


def _is_already_allowed(payload: Mapping[str, Any], root: str, paths: list[str]) -> bool:
    """Return whether the guard has said for this prompt that writes to *paths* are nothing to it."""
    if not _PLAIN_NAME.fullmatch(payload.get("session_id", "")):
        return False
    try:
        with open(_active_file(root, payload, "guard.json"), encoding="utf-8") as file:
            kept = json.load(file)
        # it has spoken for one prompt; a host that names no prompts begins each with an event of its own
        if kept["settled"] is not True or kept["prompt"] not in ("", payload.get("prompt_id", "")):
            return False
        if _takes_up_option(payload.get("tool_input", {}), paths, kept["options"], may_cite=kept["citing"]):
            return False
        return not any(_is_governed(path, kept) or _has_machine_block(path) for path in paths)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _is_governed(path: str, kept: Mapping[str, Any]) -> bool:
    """Return whether a record not told yet may govern *path*, or the guard spoke of another project.

    *kept* has the paths that such records name, whether the prompt is about any record that a file could cite, and the
    files whose citations were looked at for this prompt.
    """
    real, project = os.path.realpath(path), kept["project"]
    if not real.startswith(project + os.sep):
        return True
    inside = real[len(project) + 1 :].replace(os.sep, "/")
    folded = inside.casefold()
    if any(folded.startswith(pattern) for pattern in kept["patterns"]):
        return True
    return kept["citing"] and inside not in kept["files"] and _may_cite(real)


def _may_cite(path: str) -> bool:
    """Return whether the file *path* cites a record: `[D001]`, ADR-0012."""
    try:
        with open(path, "rb") as file:
            return _CITING.search(file.read(_MAX_CITING_BYTES)) is not None
    except OSError:
        return False


def _takes_up_option(given: Mapping[str, Any], paths: list[str], options: list[str], *, may_cite: bool) -> bool:
    """Return whether the text that a call puts into code may take up a rejected option, or *may_cite* and does."""
    edits = given.get("edits")
    pieces = [given, *(edits if isinstance(edits, list) else ())]
    texts = [
        one[key] for one in pieces if isinstance(one, dict) for key in _NEW_TEXT_KEYS if isinstance(one.get(key), str)
    ]
    new = "\n".join(texts)
    if may_cite and _CITING.search(new.encode("utf-8", "replace")):
        return True
    if not options or all(path.lower().endswith(PROSE_SUFFIXES) and "requirements" not in path for path in paths):
        return False
    folded = new.casefold()
    squeezed = "".join(folded.split())
    return any(option in folded or option in squeezed for option in options)


def _has_machine_block(path: str) -> bool:
    if not path.lower().endswith((".md", ".mdx", ".markdown")):
        return False
    try:
        with open(path, "rb") as file:
            return b"MACHINE_BLOCK_" in file.read(_MAX_FILE_BYTES)
    except FileNotFoundError:
        return False
