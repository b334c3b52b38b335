"""Spool writes that cannot be made now, and retry them with the next call that can.

A file goes when what it holds is written. A process that dies in between leaves it; the next one finds by the commits
that were noted for it (`group_commit.has_landed`) that it is written already, on whatever branch. So that no job holds
up every later write, it is noted beside the file before one is begun: a job whose time was over twice is not begun a
third time. One whose process was stopped is tried more often: a process is killed for reasons that are not the job's.
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
"""Seconds of processor time that one job may take: a session of some megabytes takes one or two."""
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
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked.

    The scope is found out now: the call that lands them may come from elsewhere. *job* is the name they had in the
    queue: who found them there may still write them.
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
    kept = msg("kept in {path}; the next call that can writes it", path=path)
    reasons, remedy = (kb.localise(why.message), kb.localise(kept)), kb.localise(why.hint)
    return [Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=remedy, spooled=True) for c in safe]


def spool_without_settings(root: str, environment: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Keep *candidates* for the next call although the settings of the knowledge base *root* cannot be read.

    Return the file. What is kept is masked by the rules that kb has of itself; those of the settings mask it when it is
    written. Raise OSError where nothing can be kept.
    """
    state = StateFolder(root, environment)
    safe = [candidate_to_json(redaction.redact_candidate(candidate, Config().masking)[0]) for candidate in candidates]
    return state.spool_job(time.time(), {"folder": os.getcwd(), "candidates": safe, "decided": False})


# -- what one job may cost ------------------------------------------------------------------------


class JobTooLong(BaseException):
    """The time of a job is over. It is no Exception, so nothing that goes on after a failure goes on after this."""


def count_vain_tries(path: str) -> int:
    """Return how often the job in *path* was begun in vain, where that is too often; else 0."""
    ended = [word for word in _read_tries(path) if not (word.isdigit() and is_process_running(int(word)))]
    is_hopeless = ended.count(_ENDED_SUFFIX) >= OVER_TRIES or len(ended) >= STOPPED_TRIES
    return len(ended) if is_hopeless else 0


def delete_tries(path: str) -> None:
    """Delete the note of the tries of the job in *path*."""
    with contextlib.suppress(OSError):
        os.unlink(path + _BEGUN_SUFFIX)


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
        _write_tries(path, [*before, _ENDED_SUFFIX])
        raise
    except Exception:  # an error of kb's is no try in vain; what stops the process (SystemExit, Ctrl-C) still is one
        _write_tries(path, before)
        raise
    delete_tries(path)


def _read_tries(path: str) -> list[str]:
    try:
        return (read_if_exists(path + _BEGUN_SUFFIX) or b"").decode().split()
    except (OSError, ValueError):
        return []


def _write_tries(path: str, tries: list[str]) -> None:
    """Write down *tries*; where nothing can be written, nothing is counted."""
    if tries:
        with contextlib.suppress(OSError):
            write_atomic(path + _BEGUN_SUFFIX, " ".join(tries).encode())
    else:
        delete_tries(path)


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
