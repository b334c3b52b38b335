"""Names that a tree can hold and no checkout may have: a commit that came from elsewhere is untrusted.

git refuses them when it checks out; what kb writes itself it has to refuse itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb.errors import NeedsPerson
from kb.i18n import msg
from kb.startup.lazy_regex import regex

_UNSEEN = regex("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of a name, so that what holds them is another name."""


def is_unsafe_path(name: str) -> bool:
    """Return whether the path *name* leaves its tree, or enters git's own folder, on any system that kb may run on."""
    return any(map(_is_unsafe_part, name.replace("\\", "/").split("/")))


def _is_unsafe_part(part: str) -> bool:
    plain = _UNSEEN.sub("", part).partition(":")[0].rstrip(" .").lower()
    return plain in ("", ".git", "git~1")


def refuse_unsafe_paths(names: Iterable[str], own: str) -> None:
    """Raise NeedsPerson where one of *names* leads out of its tree, or into *own*, the folder of this clone's state."""
    for name in names:
        if is_unsafe_path(name) or f"{name}/".lower().startswith(f"{own}/".lower()):
            raise NeedsPerson(
                msg("a commit holds {path}, which no checkout may have", path=name),
                hint=msg("do not merge it; see who made it: git log --all -- {path}", path=name),
            )
