"""Land what waits, where something does: most sessions find nothing, and need not load what would do it."""

from __future__ import annotations

import os

from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase
    from kb.record import Verdict


def land(kb: KnowledgeBase) -> list[Verdict]:
    """Write what earlier calls had to spool or put off, and return the verdicts."""
    place = kb.state.path("pending")
    if not kb.state.spooled() and not (os.path.isdir(place) and os.listdir(place)):
        return []
    from kb.knowledge.session.keeping import catch_up
    from kb.knowledge.write.spool import land_spool

    return [*land_spool(kb), *catch_up(kb)]
