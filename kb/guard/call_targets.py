"""Resolve the paths of a tool call, however they are spelled, and tell who owns each target."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kb.git.git_process import find_git_dir
from kb.guard.shell import UNKNOWN
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.startup.lazy_regex import IGNORECASE, regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.guard.programs import CallPath
    from kb.workspace import Workspace

BANK = "memory-bank"
_MAX_EXPANDED_PATHS = 2000
"""Paths that one word of a call may stand for, at most."""
_KB_PATH_PATTERN = regex(
    r"(?:^|[/\0])(?:content[/\0]+(?:anchors|sessions)|anchors|memory-bank|\.kb)(?:[/\0]|$)", IGNORECASE
)
_BRACES = regex(r"\{([^{},]*+,[^{}]*+)\}")
_MAX_HARDLINK_FILES = 20_000
"""Files among which the other name of a file with two names is looked for."""


class CallFolders(NamedTuple):
    """The folders that matter to one call; all are real."""

    root: str
    folder: str
    """Where the call is made."""
    project: str
    """The top of the project around it."""
    bank: str
    """The memory bank of the project, or of the knowledge base; "" for none."""
    home: str = ""

    @property
    def protected_folders(self) -> list[tuple[str, str]]:
        """The folders only kb writes, each with what is in them."""
        content = os.path.join(self.root, CONTENT)
        records = dict.fromkeys(kind.folder for kind in KINDS)
        found = [(os.path.join(content, name), "record") for name in records]
        found += [(os.path.join(content, "sessions"), "session"), (os.path.join(self.root, ".kb"), "state")]
        return [*found, *([(self.bank, "bank")] if self.bank else [])]

    @property
    def memory_folders(self) -> list[str]:
        """The folders whose reading is reading the memory."""
        return [os.path.join(self.root, CONTENT), *([self.bank] if self.bank else [])]


def find_call_folders(kb: Workspace, folder: str) -> CallFolders:
    """Return the folders that matter to a call in *folder*."""
    here = os.path.realpath(folder or kb.root)
    found = find_git_dir(here)
    project = found[0] if found else here
    banks = [os.path.join(top, BANK) for top in dict.fromkeys((here, project, kb.root))]
    bank = next((os.path.realpath(path) for path in banks if os.path.isdir(path)), "")
    return CallFolders(kb.root, here, project, bank, kb.environment.get("HOME", ""))


def resolve_real_path(path: str) -> str:
    """Return where *path* leads; the path itself where that may not be asked, as in another user's `/proc/1/cwd`."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.abspath(path.replace("\0", ""))


def expand_call_path(target: CallPath, folders: CallFolders) -> list[str]:
    """Return the paths that *target* stands for, absolute, links not yet followed; none where that is not known."""
    found = []
    for path in _expand_braces(target.path):
        parts = (_expand_home(target.folder, folders), _expand_home(path, folders)) if path else ()
        whole = os.path.join(folders.folder, *parts).replace("\\", "/") if parts else folders.folder
        try:
            os.fsencode(whole)
        except UnicodeEncodeError:  # half a character: no file has that name
            continue
        if UNKNOWN in whole:
            continue
        if target.copied_name and os.path.isdir(whole):
            whole = os.path.join(whole, target.copied_name)
        # a file may be called `a[1].md`: what is there is meant as it stands
        is_pattern = any(mark in whole for mark in "*?[") and not os.path.lexists(whole)
        found += _expand_glob(whole, folders) if is_pattern else [whole]
    return list(dict.fromkeys(found))[:_MAX_EXPANDED_PATHS]


def _expand_home(path: str, folders: CallFolders) -> str:
    return folders.home + path[1:] if folders.home and (path == "~" or path.startswith("~/")) else path


def _expand_braces(path: str) -> list[str]:
    """Return what the braces in *path* (`{a,b}`) stand for; the path itself where that is more than 64 paths."""
    found = [path]
    while any(_BRACES.search(one) for one in found):
        longer = []
        for one in found:
            braces = _BRACES.search(one)
            words = braces.group(1).split(",") if braces else [""]
            longer += [one[: braces.start()] + word + one[braces.end() :] if braces else one for word in words]
        if len(longer) > 64:
            return [path]
        found = longer
    return found


def _expand_glob(pattern: str, folders: CallFolders) -> list[str]:
    """Return what *pattern* stands for; a whole disk is not walked for it."""
    from glob import iglob
    from itertools import islice

    near = (folders.project, folders.root, *filter(None, [folders.bank]))
    is_near = "**" not in pattern or any(is_inside(_find_glob_root(pattern), top) for top in near)
    found = islice(iglob(pattern, recursive=True, include_hidden=True), _MAX_EXPANDED_PATHS) if is_near else ()
    return list(found) or [pattern]


def _find_glob_root(pattern: str) -> str:
    """Return the folder below which the `**` in *pattern* looks."""
    return pattern.partition("**")[0].rpartition("/")[0] or "/"


def classify_path(path: str, folders: CallFolders, *, whole: bool = False) -> str:
    """Return whose the path is: record, session, state, bank, or "" for anybody's.

    Both the path itself and what it leads to are looked at; *whole*: all that stands below it is meant.
    """
    # `rm content/**/*.md`: what cannot be told apart counts as what stands at its top
    if "**" in path and not os.path.lexists(path):
        path, whole = _find_glob_root(path), False
    folder, name = os.path.split(path.rstrip("/"))
    itself = os.path.join(resolve_real_path(folder), name if name not in (".", "..") else "")
    # a link is as protected as what it leads to, and so is the link itself: `rm link`, `echo > link`
    for real in {resolve_real_path(path), itself}:
        for top, what in folders.protected_folders:
            if is_inside(real, top) or (whole and os.path.isdir(real) and is_inside(top, real)):
                return what
        parts = real.casefold().split("/")
        if BANK in parts and os.path.isdir("/".join(real.split("/")[: parts.index(BANK) + 1])):
            return "bank"
    return "record" if _is_hard_link(path, folders) else ""


def is_inside(path: str, top: str) -> bool:
    """Return whether *path* is *top* or stands below it, in whatever case or by whatever name of the same folder."""
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
    """Return whether what is known of a *target* that is not wholly known names where only kb writes."""
    spelled = f"{target.folder}/{target.path}" if target.folder else target.path
    return UNKNOWN in spelled and _KB_PATH_PATTERN.search(spelled) is not None


def filter_project_paths(paths: Sequence[str], folders: CallFolders) -> list[str]:
    """Return those of *paths* that stand in the project, relative to its top; folders keep their slash."""
    found = []
    for path in paths:
        real = resolve_real_path(path)
        if is_inside(real, folders.project) and real != folders.project:
            found.append(os.path.relpath(real, folders.project).replace(os.sep, "/") + path[len(path.rstrip("/")) :])
    return list(dict.fromkeys(found))
