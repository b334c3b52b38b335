"""One reason against writing a candidate, and what would answer it."""

from __future__ import annotations

from kb.i18n import Message
from kb.startup.namedtuple import NamedTuple


class Objection(NamedTuple):
    """One reason to refuse or hold a candidate, and what would answer it."""

    rule: str
    """A short name that stays the same: "vague-title", "temporary", "gate", …"""
    reason: Message
    remedy: Message
    """The one thing to do about it."""
    refuses: bool = True
    """False: the candidate is held, kept in the inbox until it is seen again or a person decides."""

    @property
    def holds(self) -> bool:
        """Return whether the candidate is only held."""
        return not self.refuses
