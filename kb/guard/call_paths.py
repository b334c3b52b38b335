"""Read a tool call, of whatever host: which paths it reads, which it writes, and what else it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.guard.file_access import CallEffects, CallPath, list_patched_files
from kb.guard.programs import analyse_command_line
from kb.guard.shell import MOST
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

READ, SEARCH, WRITE, EDIT, PATCH, SHELL, MCP = "read", "search", "write", "edit", "patch", "shell", "mcp"
TOOLS: Mapping[str, str] = {
    **dict.fromkeys(("read", "readfile", "readmanyfiles", "view", "notebookread", "beforereadfile"), READ),
    **dict.fromkeys(("grep", "glob", "ls", "list", "listdirectory", "searchfilecontent", "grepsearch"), SEARCH),
    **dict.fromkeys(("write", "writefile", "create", "createfile", "savefile"), WRITE),
    **dict.fromkeys(("edit", "editfile", "replace", "multiedit", "strreplace", "strreplaceeditor", "notebookedit",
                     "strreplacebasededittool", "searchreplace", "insert", "delete", "deletefile"), EDIT),
    **dict.fromkeys(("applypatch", "patch"), PATCH),
    **dict.fromkeys(("bash", "shell", "powershell", "runshellcommand", "localshell", "exec", "execcommand",
                     "runterminalcmd", "runcommand", "unifiedexec", "writestdin", "terminal"), SHELL),
}  # fmt: skip
"""The tools of all hosts by their names in small letters without anything between."""

_PATHS = ("file_path", "filePath", "filepath", "path", "absolute_path", "relative_path", "file", "filename", "uri",
          "notebook_path", "target_file", "source", "destination", "target", "old_path", "new_path", "from", "to",
          "src", "dst", "oldPath", "newPath", "targetFile", "target_path", "pathInProject", "output", "dest",
          "paths", "files", "filePaths", "edits", "changes", "operations")  # fmt: skip
_COMMANDS = ("command", "cmd", "script", "input", "chars")
_PATCHES = ("patch", "patch_text", "patchText", "diff", "input", "command", "content", "changes")
_WRITES = frozenset([
    "write", "edit", "create", "make", "move", "rename", "delete", "remove", "patch", "apply", "append", "insert",
    "replace", "update", "save", "put", "push", "copy", "set", "upload", "modify", "overwrite", "touch", "truncate",
])  # fmt: skip
_READS = frozenset([
    "read", "get", "view", "cat", "open", "show", "search", "grep", "glob", "find", "list", "tree", "fetch", "load",
    "head", "tail",
])  # fmt: skip
_PART = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ESCAPED = regex(r"%([0-7][0-9A-Fa-f])")
_OURS = regex(r"(?:^|_)kb(?:_|$|-anchors)")


def classify_tool(tool: str) -> str:
    """Return which of READ … MCP the *tool* is; "" for one that touches no files."""
    if tool.startswith(("mcp__", "MCP:", "mcp_", "kb_")):
        return MCP
    return TOOLS.get("".join(filter(str.isalnum, tool)).lower(), "")


def parse_effects(tool: str, given: Mapping[str, Any], known: Mapping[str, str] | None = None) -> CallEffects:
    """Return what the call of *tool* with what it is *given* touches; *known* are the shell's variables."""
    reader = _READERS.get(classify_tool(tool))
    return reader(tool, given, known or {}) if reader else CallEffects()


def _parse_read(tool: str, given: Mapping[str, Any], known: Mapping[str, str]) -> CallEffects:
    return CallEffects(reads=_collect_paths(given))


def _parse_write(tool: str, given: Mapping[str, Any], known: Mapping[str, str]) -> CallEffects:
    if given.get("command") == "view":
        return CallEffects(reads=_collect_paths(given))
    places = _collect_paths(given)
    return CallEffects(
        writes=places, many=not places and tool.lower().startswith("multi")
    )  # many edits are not many files


def _parse_patch(tool: str, given: Mapping[str, Any], known: Mapping[str, str]) -> CallEffects:
    """Return the files of a patch, whatever key of the input holds it."""
    texts = [text for key in _PATCHES for text in _iter_texts(given.get(key))]
    found = [CallPath(path) for text in texts for path in list_patched_files(text)]
    return CallEffects(writes=tuple(dict.fromkeys((*found, *_collect_paths(given)))), many=not found)


def _parse_shell_call(tool: str, given: Mapping[str, Any], known: Mapping[str, str]) -> CallEffects:
    folder = next((given[key] for key in ("workdir", "cwd", "directory", "dir_path")
                   if isinstance(given.get(key), str)), "")  # fmt: skip
    for key in _COMMANDS:
        value = given.get(key)
        if isinstance(value, list) and all(isinstance(word, str) for word in value) and value:
            return analyse_command_line(value, folder, known)
        if isinstance(value, str) and value:
            return analyse_command_line([value], folder, known, as_text=True)
    return CallEffects()


def _parse_mcp_call(tool: str, given: Mapping[str, Any], known: Mapping[str, str]) -> CallEffects:
    """Return what a tool of an MCP server touches, told by its verbs; kb's own server is kb."""
    server, _, name = tool.removeprefix("mcp__").removeprefix("MCP:").removeprefix("mcp_").rpartition("__")
    actions = [given[key] for key in ("action", "operation") if isinstance(given.get(key), str)]
    verbs = {part.lower() for word in (name, *actions) for part in _PART.findall(word[:200])}
    if _OURS.search(server) or name.startswith("kb_"):
        return CallEffects(asked=("mcp",)) if verbs & _READS or not verbs & _WRITES else CallEffects()
    if verbs & _WRITES:
        patches = [
            CallPath(path)
            for key in _PATCHES
            for text in _iter_texts(given.get(key))
            for path in list_patched_files(text)
        ]
        return CallEffects(writes=tuple(dict.fromkeys((*_collect_paths(given), *patches))))
    commands = [value for key in _COMMANDS if isinstance(value := given.get(key), str)]
    if commands and verbs & {"run", "exec", "execute", "shell", "bash", "command", "terminal", "process"}:
        return analyse_command_line(commands[:1], "", known, as_text=True)
    return CallEffects(reads=_collect_paths(given)) if verbs & _READS else CallEffects()


_READERS: Mapping[str, Callable[[str, Mapping[str, Any], Mapping[str, str]], CallEffects]] = {
    READ: _parse_read,
    SEARCH: _parse_read,
    WRITE: _parse_write,
    EDIT: _parse_write,
    PATCH: _parse_patch,
    SHELL: _parse_shell_call,
    MCP: _parse_mcp_call,
}


def _collect_paths(given: Mapping[str, Any]) -> tuple[CallPath, ...]:
    """Return the paths that the input names, under whatever key a host or server has for them."""
    found = [text for key in _PATHS for text in _iter_path_values(given.get(key))]
    return tuple(dict.fromkeys(CallPath(_decode_file_uri(text)) for text in found if text and "\n" not in text))


def _decode_file_uri(text: str) -> str:
    """Return the path that *text* names, which may be a URI with characters told by their numbers."""
    if not text.startswith("file://"):
        return text
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text[len("file://") :])


def _iter_path_values(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:4096]
    elif isinstance(value, dict):
        yield from (key[:4096] for key in list(value)[:1000] if isinstance(key, str))
    elif isinstance(value, Sequence):
        for item in value[:1000]:
            yield from _iter_path_values(item) if isinstance(item, str) else ()
            if isinstance(item, dict):
                yield from (text for key in _PATHS[:27] for text in _iter_path_values(item.get(key)))


def _iter_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:MOST]
    elif isinstance(value, list):
        yield from (item[:MOST] for item in value if isinstance(item, str))
