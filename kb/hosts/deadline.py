"""A hook's own time limit, below that of its host: who ends in time can still say what was not done."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType, ModuleType

_SHARE = 0.8
"""The part of the host's time that kb takes."""
_AT_END = 1.2
"""Seconds at the end of a session where kb is a plugin: the host gives all hooks of plugins together 1.5."""


class Late(BaseException):
    """The time is over. It is no Exception, so nothing that goes on after a failure goes on after this."""


def seconds(host: ModuleType, event: str) -> float:
    """Return how long kb may take at *event*, kb's name of it."""
    given = [host.TIMEOUTS.get(own, 10) for own, ours in host.EVENTS.items() if ours == event]
    if event == "SessionEnd" and "CLAUDE_PLUGIN_ROOT" in os.environ:
        return _AT_END
    return _SHARE * min(given, default=10)


@contextlib.contextmanager
def deadline(limit: float) -> Iterator[None]:
    """Raise Late in the block after *limit* seconds."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Late(f"not done within {limit:g} s")

    try:
        before = signal.signal(signal.SIGALRM, ring)
    except ValueError:  # not the main thread: who calls from another one keeps its own time
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
