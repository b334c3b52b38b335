"""Parse a tool call of any host: the paths it reads, the paths it writes, and other effects.

`call_targets` resolves these paths, `programs` and `shell` read the shell commands among the calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.errors import BadRecord
from kb.guard.programs import CallEffects, CallPath, analyse_command_line, list_patched_files
from kb.guard.shell import MAX_SHELL_CHARACTERS
from kb.records.blocks import MACHINE_START, find_blocks
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    Given = Mapping[str, Any]

READ, WRITE, EDIT, PATCH, SHELL, MCP = "read", "write", "edit", "patch", "shell", "mcp"
_TOOLS: Mapping[str, str] = {
    name: kind
    for kind, names in (
        (READ, "read readfile readmanyfiles view notebookread beforereadfile grep glob ls list listdirectory"),
        (READ, "searchfilecontent grepsearch"),
        (WRITE, "write writefile create createfile savefile"),
        (EDIT, "edit editfile replace multiedit strreplace strreplaceeditor notebookedit strreplacebasededittool"),
        (EDIT, "searchreplace insert delete deletefile"),
        (PATCH, "applypatch patch"),
        (SHELL, "bash shell powershell runshellcommand localshell exec execcommand runterminalcmd runcommand"),
        (SHELL, "unifiedexec writestdin terminal"),
    )
    for name in names.split()
}
"""The tools of all hosts by their names in small letters without anything between."""

_PATH_KEYS = """file_path filePath filepath path absolute_path relative_path file filename uri notebook_path target_file
    source destination target old_path new_path from to src dst oldPath newPath targetFile target_path pathInProject
    output dest""".split()
_PATH_LIST_KEYS = ("paths", "files", "filePaths", "edits", "changes", "operations")
_COMMAND_KEYS = ("command", "cmd", "script", "input", "chars")
_FOLDER_KEYS = ("workdir", "cwd", "directory", "dir_path")
_PATCH_KEYS = ("patch", "patch_text", "patchText", "diff", "input", "command", "content", "changes")
_CONTENT_KEYS = ("content", "file_text", "contents")
_OLD_TEXT_KEYS, _NEW_TEXT_KEYS = ("old_string", "old_str", "oldString"), ("new_string", "new_str", "newString")
_INSERTED_TEXT_KEYS = (*_NEW_TEXT_KEYS, "new_source", "insert_text", "content")
_MAX_EDITS = 50
"""Edits of one call that are looked at."""
_PATCH_FILE = regex(r"(?:\*\*\* (?:Add|Update) File: |\+\+\+ (?:b/)?)(\S.*)|\*\*\* (?:Delete|End)|--- ")
_WRITE_VERBS = frozenset(
    """write edit create make move rename delete remove patch apply append insert replace update save put push copy
    set upload modify overwrite touch truncate""".split()
)
_READ_VERBS = frozenset("read get view cat open show search grep glob find list tree fetch load head tail".split())
_RUN_VERBS = frozenset(["run", "exec", "execute", "shell", "bash", "command", "terminal", "process"])
_NAME_PART_PATTERN = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERCENT_ESCAPE = regex(r"%([0-7][0-9A-Fa-f])")
_KB_SERVER_PATTERN = regex(r"(?:^|_)kb(?:_|$|-anchors)")
_MARKDOWN = (".md", ".mdx", ".markdown")
_MAX_FILE_BYTES = 2_000_000
"""Bytes of a file in which a block is looked for."""


def classify_tool(tool: str) -> str:
    """Return which of READ … MCP the *tool* is; "" for one that touches no files."""
    if tool.startswith(("mcp__", "MCP:", "mcp_", "kb_")):
        return MCP
    return _TOOLS.get("".join(filter(str.isalnum, tool)).lower(), "")


def parse_effects(tool: str, given: Given, known: Mapping[str, str] | None = None) -> CallEffects:
    """Return what the call of *tool* with what it is *given* touches; *known* are the shell's variables."""
    reader = _READERS.get(classify_tool(tool))
    return reader(tool, given, known or {}) if reader else CallEffects()


def _parse_read(tool: str, given: Given, known: Mapping[str, str]) -> CallEffects:
    return CallEffects(reads=_collect_paths(given))


def _parse_write(tool: str, given: Given, known: Mapping[str, str]) -> CallEffects:
    paths = _collect_paths(given)
    if given.get("command") == "view":
        return CallEffects(reads=paths)
    return CallEffects(
        writes=paths, is_unbounded=not paths and tool.lower().startswith("multi")
    )  # many edits of one file


def _parse_patch(tool: str, given: Given, known: Mapping[str, str]) -> CallEffects:
    """Return the files of a patch, whatever key of the input holds it."""
    patched = _collect_patched(given)
    return CallEffects(writes=tuple(dict.fromkeys((*patched, *_collect_paths(given)))), is_unbounded=not patched)


def _parse_shell_call(tool: str, given: Given, known: Mapping[str, str]) -> CallEffects:
    folder = _find_text(given, _FOLDER_KEYS) or ""
    for key in _COMMAND_KEYS:
        value = given.get(key)
        if isinstance(value, list) and all(isinstance(word, str) for word in value) and value:
            return analyse_command_line(value, folder, known)
        if isinstance(value, str) and value:
            return analyse_command_line([value], folder, known, as_text=True)
    return CallEffects()


def _parse_mcp_call(tool: str, given: Given, known: Mapping[str, str]) -> CallEffects:
    """Return what a tool of an MCP server touches, told by its verbs; kb's own server is kb."""
    server, _, name = tool.removeprefix("mcp__").removeprefix("MCP:").removeprefix("mcp_").rpartition("__")
    actions = [given[key] for key in ("action", "operation") if isinstance(given.get(key), str)]
    verbs = {part.lower() for word in (name, *actions) for part in _NAME_PART_PATTERN.findall(word[:200])}
    # `mcp__kb__search` asks kb; `mcp__kb__write` goes through the gate, which needs no guard
    if _KB_SERVER_PATTERN.search(server) or name.startswith("kb_"):
        return CallEffects(asked=("mcp",)) if verbs & _READ_VERBS or not verbs & _WRITE_VERBS else CallEffects()
    if verbs & _WRITE_VERBS:  # `mcp__files__moveFile`, or `mcp__files__run` with {"action": "delete"}
        return CallEffects(writes=tuple(dict.fromkeys((*_collect_paths(given), *_collect_patched(given)))))
    command = _find_text(given, _COMMAND_KEYS)
    if command is not None and verbs & _RUN_VERBS:
        return analyse_command_line([command], "", known, as_text=True)
    return CallEffects(reads=_collect_paths(given)) if verbs & _READ_VERBS else CallEffects()


_READERS: Mapping[str, Callable[[str, Given, Mapping[str, str]], CallEffects]] = {
    READ: _parse_read,
    WRITE: _parse_write,
    EDIT: _parse_write,
    PATCH: _parse_patch,
    SHELL: _parse_shell_call,
    MCP: _parse_mcp_call,
}


def _find_text(given: Given, keys: Sequence[str]) -> str | None:
    """Return the first of *keys* that is a text; None for none."""
    return next((given[key] for key in keys if isinstance(given.get(key), str)), None)


def _collect_patched(given: Given) -> list[CallPath]:
    """Return the files of the patches that the input holds."""
    values = [given.get(key) for key in _PATCH_KEYS]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return [
        CallPath(path)
        for text in texts
        if isinstance(text, str)
        for path in list_patched_files(text[:MAX_SHELL_CHARACTERS])
    ]


def _collect_paths(given: Given) -> tuple[CallPath, ...]:
    """Return the paths that the input names, under whatever key a host or server has for them."""
    paths = []
    for text in (text for key in (*_PATH_KEYS, *_PATH_LIST_KEYS) for text in _iter_path_values(given.get(key))):
        if text.startswith("file://"):  # a URI with characters written as numbers ("%20")
            text = _PERCENT_ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text[len("file://") :])
        paths += [CallPath(text)] if text and "\n" not in text else []
    return tuple(dict.fromkeys(paths))


def _iter_path_values(value: object) -> Iterator[str]:
    """Yield the paths in *value*: a text, the keys of an object, or a list of texts and of objects with a path each."""
    if isinstance(value, str):
        yield value[:4096]
    elif isinstance(value, dict):
        yield from (key[:4096] for key in list(value)[:1000] if isinstance(key, str))
    elif isinstance(value, Sequence):
        for item in value[:1000]:
            if isinstance(item, str):
                yield item[:4096]
            elif isinstance(item, dict):
                yield from (text for key in _PATH_KEYS for text in _iter_path_values(item.get(key)))


# -- what a tool keeps in a file (the MACHINE block), also where the file is no record -----------------


def can_change_block(path: str, tool: str, given: Given) -> bool:
    """Return whether the call changes what stands in a tool's block of the file *path*, or may."""
    if not path.lower().endswith(_MARKDOWN):
        return False
    try:
        if os.path.getsize(path) > _MAX_FILE_BYTES or not os.path.isfile(path):
            return False
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
        if MACHINE_START not in before:
            return False
        span = find_blocks(before).machine
    except (OSError, UnicodeDecodeError, BadRecord):
        return False
    after = _apply_edits(before, classify_tool(tool), given)
    if after is None:
        return True
    try:
        now = find_blocks(after).machine
    except BadRecord:
        return True
    return before[span.start : span.end] != after[now.start : now.end]


class TextEdit(NamedTuple):
    """What a call takes out of a file and puts in."""

    path: str
    """As the call names it; "" for the one file that it names."""
    old: str
    new: str


def list_text_edits(tool: str, given: Given) -> list[TextEdit]:
    """Return what the call changes in the files it writes, as far as it says; [] for a command."""
    kind = classify_tool(tool)
    if kind == WRITE:
        return [TextEdit("", "", _find_text(given, _CONTENT_KEYS) or "")]
    if kind == EDIT:
        edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
        found = [edit for edit in edits or () if isinstance(edit, dict)]
        return [
            TextEdit("", _find_text(edit, _OLD_TEXT_KEYS) or "", _find_text(edit, _INSERTED_TEXT_KEYS) or "")
            for edit in found[:_MAX_EDITS]
        ]
    if kind != PATCH:
        return []
    texts = [given.get(key) for key in _PATCH_KEYS]
    return [edit for text in texts if isinstance(text, str) for edit in _split_patch(text[:MAX_SHELL_CHARACTERS])]


def _split_patch(patch: str) -> Iterator[TextEdit]:
    path = ""
    old: list[str] = []
    new: list[str] = []
    for row in [*patch.splitlines(), "*** End Patch"]:
        if match := _PATCH_FILE.match(row):
            if path and (old or new):
                yield TextEdit(path, "\n".join(old), "\n".join(new))
            path, old, new = match[1] or path, [], []
        elif row.startswith("-"):
            old.append(row[1:])
        elif row.startswith("+"):
            new.append(row[1:])
    if path and (old or new):
        yield TextEdit(path, "\n".join(old), "\n".join(new))


def _apply_edits(before: str, kind: str, given: Given) -> str | None:
    """Return what a file becomes by the call; None where that cannot be told."""
    if kind == WRITE:
        return _find_text(given, _CONTENT_KEYS)
    if kind != EDIT:
        return None
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    for edit in edits or [None]:
        if not isinstance(edit, dict):
            return None
        old, new = _find_text(edit, _OLD_TEXT_KEYS), _find_text(edit, _NEW_TEXT_KEYS)
        if not old or new is None:
            return None
        # hosts replace the first place or refuse; whether they refuse is theirs to say
        everywhere = edit.get("replace_all", edit.get("replaceAll"))
        before = before.replace(old, new, -1 if everywhere else 1)
    return before
