"""What the gate has refused of the sessions that this clone heard of: kept with their cursors, never silent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb.sessions.active_sessions import parse_judged

if TYPE_CHECKING:
    from kb.workspace import Workspace

REFUSED = "refused"
LATELY = 7 * 86_400
"""Seconds for which `kb inbox` counts a refusal."""


class Refusal(NamedTuple):
    """A candidate of a session that was not written, and why."""

    session: str
    time: float
    """Seconds since 1970, of the last extraction from that session."""
    title: str
    reasons: tuple[str, ...]


def list_refusals(kb: Workspace, since: float = 0.0) -> list[Refusal]:
    """Return what was refused in sessions read at the time *since* or later, the latest session first."""
    return sorted(_iter_refusals(kb, since), key=lambda one: -one.time)


def _iter_refusals(kb: Workspace, since: float) -> Iterator[Refusal]:
    for folder, _, names in os.walk(kb.state.path("cursors")):
        for name in sorted(names):
            within = os.path.relpath(os.path.join(folder, name), kb.state.folder)
            kept = kb.state.load(*within.split(os.sep)) if name.endswith(".json") else None
            if isinstance(kept, dict) and float(kept.get("time") or 0) >= since:
                session = within.split(os.sep)[1].removesuffix(".json")
                for row in parse_judged(kept):
                    if row.verdict.verdict == REFUSED:
                        yield Refusal(session, float(kept.get("time") or 0), row.candidate.title, row.verdict.reasons)
