"""Count what kb cannot read in the transcripts of the sessions it heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.sessions import active_sessions
from kb.sessions import transcript as transcripts
from kb.sessions.host_input import read_transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace

_LOOKED_AT = 8_000_000
"""Bytes at the end of a transcript in which records that kb does not know are counted."""


def count_unknown_records(kb: Workspace, most: int = 5) -> tuple[int, dict[str, int], int]:
    """Return of the *most* sessions that kb heard of last: how many can be read, the kinds of records in them that
    carry a text and that kb does not know, each with its number, and how many lines are no records."""
    unknown: dict[str, int] = {}
    looked = skipped = 0
    for heard in active_sessions.list_known_sessions(kb)[:most]:
        try:
            found = transcripts.parse_transcript(read_transcript(heard.transcript, _LOOKED_AT))
        except BadInput:
            continue
        looked += 1
        skipped += sum(1 < skip.line <= found.lines for skip in found.skipped)
        for kind, times in found.unread.items():
            unknown[kind] = unknown.get(kind, 0) + times
    return looked, unknown, skipped
