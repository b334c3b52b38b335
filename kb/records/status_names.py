"""Name statuses and areas in a sentence: in English by the word that is typed, in Chinese by what it means."""

from __future__ import annotations

from collections.abc import Mapping

from kb.i18n import Message, msg
from kb.records.model import Status
from kb.text.segment import clip

_LONGEST = 40
"""Characters of a status that kb does not know, which may be any text."""

_STATUSES: Mapping[str, Message] = {
    Status.PROPOSED: msg("proposed"),
    Status.ACCEPTED: msg("accepted"),
    Status.REJECTED: msg("rejected"),
    Status.DEPRECATED: msg("deprecated"),
    Status.SUPERSEDED: msg("superseded"),
}
_AREAS: Mapping[str, Message] = {
    "architecture": msg("architecture"),
    "security": msg("security"),
    "performance": msg("performance"),
    "compliance": msg("compliance"),
    "modules": msg("modules"),
}


def status_name(status: str) -> Message | str:
    """Return what *status* is called in a sentence; one that kb does not know is itself, cut short."""
    return _STATUSES.get(str(status)) or clip(str(status), _LONGEST)


def area_name(area: str) -> Message | str:
    """Return what the *area* of a large impact is called in a sentence."""
    return _AREAS.get(area, area)
