"""What a check of the doctor is given and what it answers: values."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kb.errors import KbError
from kb.i18n import Message
from kb.knowledge_base import KnowledgeBase

OK, NOTE, FAILED, SKIPPED = "ok", "note", "failed", "skipped"
"""What a check can find; a note is worth knowing and no failure."""


class DoctorFinding(NamedTuple):
    """What a check found."""

    state: str
    said: Message
    remedy: Message | None = None
    """A remedy that fits better than the check's own."""


class DoctorTarget(NamedTuple):
    """What is examined."""

    root: str
    """The knowledge base; "" for none."""
    folder: str
    """Where the one who asks works."""
    environment: Mapping[str, str]
    kb: KnowledgeBase | None = None
    """The knowledge base, opened; None where it cannot be."""
    problem: KbError | None = None
    """Why it cannot be opened."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""


class DoctorCheck(NamedTuple):
    """One thing to look at."""

    name: str
    look: Callable[[DoctorTarget], DoctorFinding]
    remedy: Message
    mend: Callable[[DoctorTarget], None] | None = None
    """What makes it good without taking a risk."""


def require_base(place: DoctorTarget) -> KnowledgeBase:
    """Return the opened knowledge base of *place*."""
    assert place.kb is not None
    return place.kb
