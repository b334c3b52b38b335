"""Bound what one spooled job may cost, so that no job holds up every later write.

Before a job is begun, that is noted in a file beside it. A job whose time was over twice is not begun a third time.
One whose process was stopped is tried more often: a process is killed for reasons that are not the job's.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from kb.files import read_if_exists, write_atomic

JOB_SECONDS = 20.0
"""Seconds of processor time that one job may take: a session of some megabytes takes one or two."""
OVER_TRIES = 2
STOPPED_TRIES = 5
_BEGUN = ".begun"
_OVER = "over"


class JobTooLong(BaseException):
    """The time of a job is over. It is no Exception, so nothing that goes on after a failure goes on after this."""


def count_vain_tries(path: str) -> int:
    """Return how often the job in *path* was begun in vain, where that is too often; else 0."""
    ended = [process for process in _read_tries(path) if not _is_running(process)]
    is_hopeless = ended.count(_OVER) >= OVER_TRIES or len(ended) >= STOPPED_TRIES
    return len(ended) if is_hopeless else 0


def delete_tries(path: str) -> None:
    """Delete the note of the tries of the job in *path*."""
    with contextlib.suppress(OSError):
        os.unlink(path + _BEGUN)


@contextlib.contextmanager
def track_attempt(path: str) -> Iterator[None]:
    """Note that the job in *path* is begun; raise JobTooLong in the block after `JOB_SECONDS` of processor time.

    A block that ends, even with an error of kb's, leaves no note; one that is stopped leaves its own.
    """
    before = _read_tries(path)
    _write_tries(path, [*before, str(os.getpid())])
    try:
        with _limit_processor_time(JOB_SECONDS):
            yield
    except JobTooLong:
        _write_tries(path, [*before, _OVER])
        raise
    except Exception:
        _write_tries(path, before)
        raise
    delete_tries(path)


def _read_tries(path: str) -> list[str]:
    try:
        return (read_if_exists(path + _BEGUN) or b"").decode().split()
    except (OSError, ValueError):
        return []


def _write_tries(path: str, tries: list[str]) -> None:
    """Write down *tries*; where nothing can be written, nothing is counted."""
    if tries:
        with contextlib.suppress(OSError):
            write_atomic(path + _BEGUN, " ".join(tries).encode())
    else:
        delete_tries(path)


def _is_running(process: str) -> bool:
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


@contextlib.contextmanager
def _limit_processor_time(limit: float) -> Iterator[None]:
    """Raise JobTooLong in the block after *limit* seconds of processor time; in the main thread only.

    It is raised again after as many seconds more: Python drops what is raised in a finalizer.
    """

    def raise_too_long(number: int, frame: FrameType | None) -> None:
        raise JobTooLong

    try:
        before = signal.signal(signal.SIGPROF, raise_too_long)
    except ValueError:
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, limit, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
