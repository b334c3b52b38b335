"""Input and result of a doctor check: values."""

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
    """The folder in which the caller works."""
    environment: Mapping[str, str]
    kb: KnowledgeBase | None = None
    """The knowledge base, opened; None where it cannot be."""
    problem: KbError | None = None
    """Why it cannot be opened."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""

    @property
    def base(self) -> KnowledgeBase:
        """The opened knowledge base; only for checks that need one."""
        assert self.kb is not None
        return self.kb


class DoctorCheck(NamedTuple):
    """One thing to examine."""

    name: str
    check: Callable[[DoctorTarget], DoctorFinding]
    remedy: Message
    fix: Callable[[DoctorTarget], None] | None = None
    """What repairs it without taking a risk."""
    needs_kb: bool = True
    """Whether it is skipped where no knowledge base can be opened."""
