"""Spool writes that cannot be made now, and retry them with the next call that can.

A spool file is deleted once its job is written. If a process dies in between, the next one learns from the saved
commits (`group_commit.has_landed`) that the job is written, on any branch. Each attempt is noted beside the file before
it begins, so that a bad job does not hold up later writes: after two timeouts a job is not tried again. A job whose
process was killed is tried more often, because the job may not be the cause.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from kb.config import Config
from kb.errors import KbError
from kb.files import read_if_exists, write_atomic
from kb.i18n import msg
from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate, Verdict
from kb.safety import redaction
from kb.state.state_folder import StateFolder, is_process_running

if TYPE_CHECKING:
    from kb.workspace import Workspace


JOB_SECONDS = 20.0
"""Seconds of processor time for one job; a session of some megabytes takes one or two."""
OVER_TRIES = 2
STOPPED_TRIES = 5
_BEGUN_SUFFIX = ".begun"
_ENDED_SUFFIX = "over"


def spool_candidates(
    kb: Workspace,
    candidates: Sequence[Candidate],
    folder: str,
    why: KbError,
    *,
    decided: bool = False,
    job: str = "",
    proofs: Sequence[str] = (),
) -> list[Verdict]:
    """Mask *candidates* and spool them for the next call; raise *why* if they cannot be spooled.

    The scope is determined now, because the next call may come from another folder. *job* is their name in the queue:
    the process that read them there may still write them.
    """
    scope = ""
    with contextlib.suppress(KbError):
        scope = kb.project(folder)
    safe = [redaction.redact_candidate(c._replace(scope=c.scope or scope), kb.config.masking)[0] for c in candidates]
    rows = [candidate_to_json(candidate) for candidate in safe]
    value = {"folder": folder, "candidates": rows, "decided": decided, "proofs": list(proofs)}
    try:
        path = kb.state.spool_job(kb.now(), value, job)
    except OSError:
        raise why from None
    remark = msg("kept in {path}; the next call that can writes it", path=path)
    reasons, remedy = (kb.localise(why.message), kb.localise(remark)), kb.localise(why.hint)
    return [Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=remedy, spooled=True) for c in safe]


def spool_without_settings(root: str, environment: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Spool *candidates* although the settings of the knowledge base *root* cannot be read, and return the file.

    They are masked by kb's built-in rules now, and by those of the settings when they are written. Raise OSError if
    the file cannot be written.
    """
    state = StateFolder(root, environment)
    safe = [candidate_to_json(redaction.redact_candidate(candidate, Config().masking)[0]) for candidate in candidates]
    return state.spool_job(time.time(), {"folder": os.getcwd(), "candidates": safe, "decided": False})


# -- what one job may cost ------------------------------------------------------------------------


class JobTooLong(BaseException):
    """A job takes too long. Not an Exception, so that code that goes on after errors does not go on after this."""


def count_vain_tries(path: str) -> int:
    """Return how often the job in *path* has failed if that is too often, else 0."""
    ended = [word for word in _read_tries(path) if not (word.isdigit() and is_process_running(int(word)))]
    is_hopeless = ended.count(_ENDED_SUFFIX) >= OVER_TRIES or len(ended) >= STOPPED_TRIES
    return len(ended) if is_hopeless else 0


def delete_tries(path: str) -> None:
    """Delete the record of attempts at the job in *path*."""
    with contextlib.suppress(OSError):
        os.unlink(path + _BEGUN_SUFFIX)


@contextlib.contextmanager
def track_attempt(path: str) -> Iterator[None]:
    """Note an attempt at the job in *path*; raise JobTooLong in the block after `JOB_SECONDS` of processor time.

    If the block ends, even with an error of kb, the note is removed; if the process is stopped, it stays.
    """
    before = _read_tries(path)
    _write_tries(path, [*before, str(os.getpid())])
    try:
        with _limit_processor_time(JOB_SECONDS):
            yield
    except JobTooLong:
        _write_tries(path, [*before, _ENDED_SUFFIX])
        raise
    except Exception:  # an error of kb is no failed attempt; a stopped process (SystemExit, Ctrl-C) is
        _write_tries(path, before)
        raise
    delete_tries(path)


def _read_tries(path: str) -> list[str]:
    try:
        return (read_if_exists(path + _BEGUN_SUFFIX) or b"").decode().split()
    except (OSError, ValueError):
        return []


def _write_tries(path: str, tries: list[str]) -> None:
    """Save *tries*; if the file cannot be written, the attempt is not counted."""
    if tries:
        with contextlib.suppress(OSError):
            write_atomic(path + _BEGUN_SUFFIX, " ".join(tries).encode())
    else:
        delete_tries(path)


@contextlib.contextmanager
def _limit_processor_time(limit: float) -> Iterator[None]:
    """Raise JobTooLong in the block after *limit* seconds of processor time; in the main thread only.

    Raise it again after every further *limit* seconds, because Python drops exceptions raised in a finalizer.
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
