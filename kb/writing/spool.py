"""What could not be written when it came: kept in the spool, written by the next call that can.

A file goes when what it holds is written. A process that dies in between leaves it; the next one finds by the commits
that were noted for it (`landed`) that it is written already, on whatever branch.
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
from kb.state.state_folder import StateFolder

if TYPE_CHECKING:
    from kb.workspace import Workspace


def spool_candidates(
    kb: Workspace, candidates: Sequence[Candidate], folder: str, why: KbError, *, decided: bool = False,
    job: str = ""
) -> list[Verdict]:  # fmt: skip
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked.

    The scope is found out now: the call that lands them may come from elsewhere. *job* is the name they had in the
    queue: who found them there may still write them.
    """
    scope = _find_scope(kb, folder)
    safe = [redaction.redact_candidate(c._replace(scope=c.scope or scope), kb.config.masking)[0] for c in candidates]
    value = {"folder": folder, "candidates": [candidate_to_json(candidate) for candidate in safe], "decided": decided}
    try:
        path = kb.state.spool_job(kb.now(), value, job)
    except OSError:
        raise why from None
    reasons = (
        kb.localise(why.message),
        kb.localise(msg("kept in {path}; the next call that can writes it", path=path)),
    )
    return [
        Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=kb.localise(why.hint), spooled=True)
        for c in safe
    ]


def spool_without_settings(root: str, environment: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Keep *candidates* for the next call although the settings of the knowledge base *root* cannot be read.

    Return the file. What is kept is masked by the rules that kb has of itself; those of the settings mask it when it is
    written. Raise OSError where nothing can be kept.
    """
    state = StateFolder(root, environment)
    safe = [candidate_to_json(redaction.redact_candidate(candidate, Config().masking)[0]) for candidate in candidates]
    return state.spool_job(time.time(), {"folder": os.getcwd(), "candidates": safe, "decided": False})


def _find_scope(kb: Workspace, folder: str) -> str:
    try:
        return kb.project(folder)
    except KbError:
        return ""


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
