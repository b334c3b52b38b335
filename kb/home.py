"""Find the knowledge base that holds for a folder. Imports next to nothing: a hook asks this before anything else."""

from __future__ import annotations

import os
from collections.abc import Mapping

FILE = "kb.toml"


def found(start: str, environment: Mapping[str, str]) -> str | None:
    """Return the root of the knowledge base that holds for *start*, or None.

    In this order: `$KB_HOME`; the nearest folder above with a `kb.toml`; `~/.kb`.
    """
    if home := environment.get("KB_HOME"):
        return home if os.path.isfile(os.path.join(home, FILE)) else None
    folder = os.path.abspath(start)
    while not os.path.isfile(os.path.join(folder, FILE)):
        if folder == os.path.dirname(folder):
            user = user_home(environment)
            return user if os.path.isfile(os.path.join(user, FILE)) else None
        folder = os.path.dirname(folder)
    return folder


def user_home(environment: Mapping[str, str]) -> str:
    """Return where the user's own knowledge base is, or would be."""
    return os.path.join(_home(environment), ".kb")


def state_home(environment: Mapping[str, str]) -> str:
    """Return the folder in which kb keeps what belongs to the user and to no clone."""
    base = environment.get("XDG_STATE_HOME") or os.path.join(_home(environment), ".local", "state")
    return os.path.join(base, "kb")


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
