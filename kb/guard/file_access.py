"""What a tool call touches."""

from __future__ import annotations

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

_NAMED = regex(
    r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) |rename (?:from|to) |copy to "
    r"|diff --git (?:\"?a/[^\n]*?) )(\"?[^\t\r\n]+)"
)
_NOWHERE = ("/dev/null", "dev/null")


RESTORED, REMOVED = "restored", "removed"


class CallPath(NamedTuple):
    """A path as a call spells it."""

    path: str
    folder: str = ""
    """What it is relative to, as a shell's `cd` said; "" for the folder of the call."""
    whole: bool = False
    """Whether all that stands below it is meant, where it is a folder."""
    brought: str = ""
    """The name of what comes into it, where it is a folder."""
    back: str = ""
    """RESTORED or REMOVED where that may take back a change of it; "" for any other write."""


class CallEffects(NamedTuple):
    """What one tool call does, as far as it can be told before it is made."""

    reads: tuple[CallPath, ...] = ()
    writes: tuple[CallPath, ...] = ()
    asked: tuple[str, ...] = ()
    """The commands or tools of kb by which it asks for records."""
    forges: str = ""
    """What in it passes for a person's word, as it stands there."""
    decides: str = ""
    """What in it decides for a person, as it stands there: the person is asked."""
    many: bool = False
    """Whether it writes more files, or others, than can be told."""


def list_patched_files(text: str) -> list[str]:
    """Return the files that the patch *text* names, in the form of git, of `diff -u` or of `apply_patch`."""
    found = []
    for match in _NAMED.finditer(text):
        name = match.group(1).strip().strip('"')
        if match.group().startswith(("+++", "---", "diff")) and name[:2] in ("a/", "b/"):
            name = name[2:]
        if name and name not in _NOWHERE:
            found.append(name)
    return list(dict.fromkeys(found))


def merge_effects(calls: list[CallEffects]) -> CallEffects:
    """Return *calls* as one."""
    return CallEffects(
        tuple(dict.fromkeys(place for call in calls for place in call.reads)),
        tuple(dict.fromkeys(place for call in calls for place in call.writes)),
        tuple(dict.fromkeys(word for call in calls for word in call.asked)),
        next((call.forges for call in calls if call.forges), ""),
        next((call.decides for call in calls if call.decides), ""),
        any(call.many for call in calls),
    )
