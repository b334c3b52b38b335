"""Name statuses and areas in a sentence: in English by the word that is typed, in Chinese by what it means."""

from __future__ import annotations

from collections.abc import Mapping

from kb.record import Status
from kb.text import clip
from kb.words import Said, say

_LONGEST = 40
"""Characters of a status that kb does not know, which may be any text."""

_STATUSES: Mapping[str, Said] = {
    Status.PROPOSED: say("proposed"),
    Status.ACCEPTED: say("accepted"),
    Status.REJECTED: say("rejected"),
    Status.DEPRECATED: say("deprecated"),
    Status.SUPERSEDED: say("superseded"),
}
_AREAS: Mapping[str, Said] = {
    "architecture": say("architecture"),
    "security": say("security"),
    "performance": say("performance"),
    "compliance": say("compliance"),
    "modules": say("modules"),
}


def status_name(status: str) -> Said | str:
    """Return what *status* is called in a sentence; one that kb does not know is itself, cut short."""
    return _STATUSES.get(str(status)) or clip(str(status), _LONGEST)


def area_name(area: str) -> Said | str:
    """Return what the *area* of a large impact is called in a sentence."""
    return _AREAS.get(area, area)
