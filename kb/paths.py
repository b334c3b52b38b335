"""Find the knowledge base of a folder. Imports almost nothing, because every hook starts here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

FILE = "kb.toml"


PROSE_SUFFIXES = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt", ".html", ".log", ".csv", ".lock", ".svg", ".po")
"""Files of prose or data, in which a word is no use of a rejected option."""


def find_root(start: str, environment: Mapping[str, str]) -> str | None:
    """Return the root of the knowledge base for *start*, or None.

    Tried in order: `$KB_HOME`; the nearest folder above with a `kb.toml`, if `is_trusted`; `~/.kb`.
    """
    if home := environment.get("KB_HOME"):
        return home if os.path.isfile(os.path.join(home, FILE)) else None
    if folder := find_root_above(start, environment):
        return folder
    user = user_home(environment)
    return user if os.path.isfile(os.path.join(user, FILE)) else None


def find_root_above(start: str, environment: Mapping[str, str]) -> str:
    """Return the nearest folder above *start* that is a trusted knowledge base, or ""."""
    return next((folder for folder in _iter_roots_above(start) if is_trusted(folder, environment)), "")


def find_untrusted_root(start: str, environment: Mapping[str, str]) -> str:
    """Return the nearest folder above *start* with an untrusted `kb.toml`, or ""."""
    if environment.get("KB_HOME"):
        return ""
    nearest = next(_iter_roots_above(start), "")
    return "" if not nearest or is_trusted(nearest, environment) else nearest


def is_trusted(folder: str, environment: Mapping[str, str]) -> bool:
    """Return whether only the user and root can have put a knowledge base into *folder*.

    Folder and `kb.toml` must belong to them; root's folders must not be world-writable like `/tmp`. Under `sudo` the
    calling user counts too.
    """
    try:
        about, file = os.stat(folder), os.stat(os.path.join(folder, FILE), follow_symlinks=False)
    except OSError:
        return False
    user, caller = os.getuid(), environment.get("SUDO_UID", "")
    mine = {user, int(caller)} if not user and caller.isdecimal() else {user}
    is_everybodys = about.st_uid not in mine and bool(about.st_mode & 0o002)
    return {about.st_uid, file.st_uid} <= mine | {0} and not is_everybodys


def _iter_roots_above(start: str) -> Iterator[str]:
    """Yield the folders from *start* up that have a `kb.toml`."""
    folder = os.path.abspath(start)
    while True:
        if os.path.isfile(os.path.join(folder, FILE)):
            yield folder
        # the root is its own parent
        if folder == (folder := os.path.dirname(folder)):
            return


def user_home(environment: Mapping[str, str]) -> str:
    """Return the path of the user's own knowledge base, which may not exist."""
    return os.path.join(home_folder(environment), ".kb")


def state_home(environment: Mapping[str, str]) -> str:
    """Return the folder for kb's files that belong to the user and not to a clone."""
    base = environment.get("XDG_STATE_HOME") or os.path.join(home_folder(environment), ".local", "state")
    return os.path.join(base, "kb")


def home_folder(environment: Mapping[str, str]) -> str:
    """Return the home folder of the user with *environment*."""
    return environment.get("HOME") or os.path.expanduser("~")
