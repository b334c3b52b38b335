"""A hook's own time limit, below that of its host: who ends in time can still say what was not done."""

from __future__ import annotations

import _thread
import contextlib
import os
from collections.abc import Iterator
from types import FrameType

from kb.hosts import Host
from kb.startup.process import signal

_SHARE = 0.8
"""The part of the host's time that kb takes."""
_LAST = 0.9
"""The part of the host's time after which a hook that still waits for somebody else is ended."""
_AT_END = 1.2
"""Seconds at the end of a session where kb is a plugin: the host gives all hooks of plugins together 1.5."""


class Late(BaseException):
    """The time is over. It is no Exception, so nothing that goes on after a failure goes on after this."""


def compute_limits(host: Host, event: str) -> tuple[float, float]:
    """Return after how long kb gives up at *event*, kb's name of it, and after how long it is ended."""
    given = [host.timeouts.get(own, 10) for own, ours in host.events.items() if ours == event]
    if event == "SessionEnd" and "CLAUDE_PLUGIN_ROOT" in os.environ:
        return _AT_END, _AT_END + 0.1
    return _SHARE * min(given, default=10), _LAST * min(given, default=10)


@contextlib.contextmanager
def enforce_deadline(limit: float) -> Iterator[None]:
    """Raise Late in the block after *limit* seconds."""

    def raise_at_alarm(number: int, frame: FrameType | None) -> None:
        raise Late(f"not done within {limit:g} s")

    try:
        before = signal.signal(signal.SIGALRM, raise_at_alarm)
    except ValueError:  # not the main thread: who calls from another one keeps its own time
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def force_exit_after(limit: float, answer: str, code: int) -> Iterator[None]:
    """End the process with *answer* and *code* after *limit* seconds (0: never), whatever the block is waiting for."""
    if not limit:
        yield
        return
    over = _thread.allocate_lock()
    over.acquire()

    def exit_when_late() -> None:
        if not over.acquire(timeout=limit):
            os.write(1, answer.encode())
            os._exit(code)

    _thread.start_new_thread(exit_when_late, ())
    try:
        yield
    finally:
        over.release()
