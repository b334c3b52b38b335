"""Parse a tool call of any host: the paths it reads and writes, in any spelling, and the owner of each.

`programs` and `shell` read the shell commands among the calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from kb.errors import BadRecord
from kb.git.git_process import find_git_dir
from kb.guard.programs import CallEffects, CallPath, analyse_command_line, list_patched_files
from kb.guard.shell import MAX_SHELL_CHARACTERS, UNKNOWN
from kb.records.blocks import MACHINE_START, find_blocks
from kb.records.kinds import CONTENT, KINDS
from kb.startup.lazy_regex import IGNORECASE, regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

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
"""Tool names of all hosts, lower-case without separators → what the tool does."""

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
"""Maximum number of edits to read per call."""
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
"""Maximum bytes of a file to search for a block."""


def classify_tool(tool: str) -> str:
    """Return the class of *tool*, READ … MCP, or "" if it touches no files."""
    if tool.startswith(("mcp__", "MCP:", "mcp_", "kb_")):
        return MCP
    return _TOOLS.get("".join(filter(str.isalnum, tool)).lower(), "")


def parse_effects(tool: str, given: Given, known: Mapping[str, str] | None = None) -> CallEffects:
    """Return the effects of calling *tool* with the arguments *given*; *known*: shell variables."""
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
    """Return the files of a patch, under any key of the input."""
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
    """Return the effects of an MCP tool, judged by the verbs in its name; kb's own server counts as kb."""
    server, _, name = tool.removeprefix("mcp__").removeprefix("MCP:").removeprefix("mcp_").rpartition("__")
    actions = [given[key] for key in ("action", "operation") if isinstance(given.get(key), str)]
    verbs = {part.lower() for word in (name, *actions) for part in _NAME_PART_PATTERN.findall(word[:200])}
    # `mcp__kb__search` reads records; `mcp__kb__write` goes through the gate and needs no guard
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
    """Return the first text among the values of *keys*, or None."""
    return next((given[key] for key in keys if isinstance(given.get(key), str)), None)


def _collect_patched(given: Given) -> list[CallPath]:
    """Return the files of the patches in the input."""
    values = [given.get(key) for key in _PATCH_KEYS]
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return [
        CallPath(path)
        for text in texts
        if isinstance(text, str)
        for path in list_patched_files(text[:MAX_SHELL_CHARACTERS])
    ]


def _collect_paths(given: Given) -> tuple[CallPath, ...]:
    """Return the paths in the input, under any key used by a host or server."""
    paths = []
    for text in (text for key in (*_PATH_KEYS, *_PATH_LIST_KEYS) for text in _iter_path_values(given.get(key))):
        if text.startswith("file://"):  # a percent-encoded URI ("%20")
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
    """Return whether the call changes, or may change, a tool's block of the file *path*."""
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
    """One replacement in a file by a call: old and new text."""

    path: str
    """As spelled in the call; "" for the only file of the call."""
    old: str
    new: str


def list_text_edits(tool: str, given: Given) -> list[TextEdit]:
    """Return the text edits of the call as far as its input shows them; [] for a shell command."""
    kind = classify_tool(tool)
    if kind == WRITE:
        return [TextEdit("", "", _find_text(given, _CONTENT_KEYS) or "")]
    if kind == EDIT:
        edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
        parts = [edit for edit in edits or () if isinstance(edit, dict)]
        return [
            TextEdit("", _find_text(edit, _OLD_TEXT_KEYS) or "", _find_text(edit, _INSERTED_TEXT_KEYS) or "")
            for edit in parts[:_MAX_EDITS]
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
    """Return the file *before* after the call, or None if that is unknown."""
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
        # hosts replace the first match or refuse the call; assume they replace it
        everywhere = edit.get("replace_all", edit.get("replaceAll"))
        before = before.replace(old, new, -1 if everywhere else 1)
    return before


BANK = "memory-bank"
_MAX_EXPANDED_PATHS = 2000
"""Maximum number of paths that one word of a call expands to."""
_KB_PATH_PATTERN = regex(
    r"(?:^|[/\0])(?:content[/\0]+(?:anchors|sessions)|anchors|memory-bank|\.kb)(?:[/\0]|$)", IGNORECASE
)
_BRACES = regex(r"\{([^{},]*+,[^{}]*+)\}")
_MAX_HARDLINK_FILES = 20_000
"""Maximum number of files to search for the other name of a hard link."""


class CallFolders(NamedTuple):
    """The folders that matter to one call, as real paths."""

    root: str
    folder: str
    """The folder of the call."""
    project: str
    """The top of the project around it."""
    bank: str
    """The memory bank of the project or of the knowledge base, or ""."""
    home: str = ""

    @property
    def protected_folders(self) -> list[tuple[str, str]]:
        """The folders that only kb writes, each with the kind of its contents."""
        content = os.path.join(self.root, CONTENT)
        records = dict.fromkeys(kind.folder for kind in KINDS)
        folders = [(os.path.join(content, name), "record") for name in records]
        folders += [(os.path.join(content, "sessions"), "session"), (os.path.join(self.root, ".kb"), "state")]
        return [*folders, *([(self.bank, "bank")] if self.bank else [])]

    @property
    def memory_folders(self) -> list[str]:
        """The folders that count as memory when read."""
        return [os.path.join(self.root, CONTENT), *([self.bank] if self.bank else [])]


def find_call_folders(kb: Workspace, folder: str) -> CallFolders:
    """Return the folders that matter to a call in *folder*."""
    folder_path = os.path.realpath(folder or kb.root)
    repository = find_git_dir(folder_path)
    project = repository[0] if repository else folder_path
    banks = [os.path.join(top, BANK) for top in dict.fromkeys((folder_path, project, kb.root))]
    bank = next((os.path.realpath(path) for path in banks if os.path.isdir(path)), "")
    return CallFolders(kb.root, folder_path, project, bank, kb.environment.get("HOME", ""))


def resolve_real_path(path: str) -> str:
    """Return the real path of *path*, or the path itself if access is denied, as for another user's `/proc/1/cwd`."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.abspath(path.replace("\0", ""))


def expand_call_path(target: CallPath, folders: CallFolders) -> list[str]:
    """Return the absolute paths that *target* expands to, without following links; [] if unknown."""
    expanded = []
    for path in _expand_braces(target.path):
        parts = (_expand_home(target.folder, folders), _expand_home(path, folders)) if path else ()
        whole = os.path.join(folders.folder, *parts).replace("\\", "/") if parts else folders.folder
        try:
            os.fsencode(whole)
        except UnicodeEncodeError:  # a lone surrogate: no such file can exist
            continue
        if UNKNOWN in whole:
            continue
        if target.copied_name and os.path.isdir(whole):
            whole = os.path.join(whole, target.copied_name)
        # a file may be named `a[1].md`: an existing file is taken literally
        is_pattern = any(mark in whole for mark in "*?[") and not os.path.lexists(whole)
        expanded += _expand_glob(whole, folders) if is_pattern else [whole]
    return list(dict.fromkeys(expanded))[:_MAX_EXPANDED_PATHS]


def _expand_home(path: str, folders: CallFolders) -> str:
    return folders.home + path[1:] if folders.home and (path == "~" or path.startswith("~/")) else path


def _expand_braces(path: str) -> list[str]:
    """Return the expansions of the braces in *path* (`{a,b}`), or the path itself if there are more than 64."""
    expansions = [path]
    while any(_BRACES.search(one) for one in expansions):
        longer = []
        for one in expansions:
            braces = _BRACES.search(one)
            words = braces.group(1).split(",") if braces else [""]
            longer += [one[: braces.start()] + word + one[braces.end() :] if braces else one for word in words]
        if len(longer) > 64:
            return [path]
        expansions = longer
    return expansions


def _expand_glob(pattern: str, folders: CallFolders) -> list[str]:
    """Return the paths that match *pattern*, without walking a whole disk."""
    from glob import iglob
    from itertools import islice

    near = (folders.project, folders.root, *filter(None, [folders.bank]))
    is_near = "**" not in pattern or any(is_inside(_find_glob_root(pattern), top) for top in near)
    matches = islice(iglob(pattern, recursive=True, include_hidden=True), _MAX_EXPANDED_PATHS) if is_near else ()
    return list(matches) or [pattern]


def _find_glob_root(pattern: str) -> str:
    """Return the folder that the `**` in *pattern* searches."""
    return pattern.partition("**")[0].rpartition("/")[0] or "/"


def classify_path(path: str, folders: CallFolders, *, whole: bool = False) -> str:
    """Return the owner of the path: record, session, state, bank, or "" for a path that anybody may write.

    Both the path and its real path count; *whole*: the path stands for everything under it.
    """
    # `rm content/**/*.md`: too many paths count as their top folder
    if "**" in path and not os.path.lexists(path):
        path, whole = _find_glob_root(path), False
    folder, name = os.path.split(path.rstrip("/"))
    itself = os.path.join(resolve_real_path(folder), name if name not in (".", "..") else "")
    # a link is as protected as its target, and so is the link itself: `rm link`, `echo > link`
    for real in {resolve_real_path(path), itself}:
        for top, what in folders.protected_folders:
            if is_inside(real, top) or (whole and os.path.isdir(real) and is_inside(top, real)):
                return what
        parts = real.casefold().split("/")
        if BANK in parts and os.path.isdir("/".join(real.split("/")[: parts.index(BANK) + 1])):
            return "bank"
    return "record" if _is_hard_link(path, folders) else ""


def is_inside(path: str, top: str) -> bool:
    """Return whether *path* is *top* or under it, also in other case or by another name of the same folder."""
    if path == top or path.startswith(top + "/"):
        return True
    try:
        wanted = os.stat(top)
    except OSError:
        return False
    while path:
        try:
            if os.path.samestat(os.stat(path), wanted):
                return True
        except (OSError, ValueError):
            pass
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return False


def _is_hard_link(path: str, folders: CallFolders) -> bool:
    """Return whether *path* is another name (a hard link) of a record file."""
    try:
        own = os.stat(path)
        if own.st_nlink < 2 or os.path.isdir(path):
            return False
    except (OSError, ValueError):
        return False
    seen = 0
    for top, _ in folders.protected_folders:
        for folder, _, names in os.walk(top):
            for name in names[: _MAX_HARDLINK_FILES - seen]:
                seen += 1
                try:
                    if os.path.samestat(os.stat(os.path.join(folder, name)), own):
                        return True
                except OSError:
                    continue
    return False


def is_likely_protected(target: CallPath) -> bool:
    """Return whether the known parts of a partly unknown *target* name a folder that only kb writes."""
    spelled = f"{target.folder}/{target.path}" if target.folder else target.path
    return UNKNOWN in spelled and _KB_PATH_PATTERN.search(spelled) is not None


def filter_project_paths(paths: Sequence[str], folders: CallFolders) -> list[str]:
    """Return those of *paths* that are in the project, relative to its top; folders keep their trailing slash."""
    inside = []
    for path in paths:
        real = resolve_real_path(path)
        if is_inside(real, folders.project) and real != folders.project:
            inside.append(os.path.relpath(real, folders.project).replace(os.sep, "/") + path[len(path.rstrip("/")) :])
    return list(dict.fromkeys(inside))
