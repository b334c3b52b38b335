"""What earlier calls had to spool or put off is done by a later call, before its own work."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence

from kb.capture.declined import keep_declined
from kb.errors import Busy, GitFailed, IndexFailed, KbError
from kb.files import content
from kb.git.repository import QUEUE
from kb.i18n import msg
from kb.records.candidate import candidates as candidates_of
from kb.records.model import Candidate, Verdict
from kb.startup.namedtuple import TYPE_CHECKING
from kb.writing import pipeline, spool_attempts
from kb.writing.landed_jobs import claimed, has_landed
from kb.writing.pipeline import Deciding

if TYPE_CHECKING:
    from typing import Any

    from kb.capture.save_session import Saved
    from kb.workspace import Workspace
    from kb.writing.group_commit import Waiting


def land(kb: Workspace) -> list[Verdict]:
    """Write what earlier calls had to spool or put off, and return the verdicts."""
    from kb.capture.save_session import catch_up

    return [*land_spool(kb), *catch_up(kb)]


def write(
    kb: Workspace, candidates: Sequence[Candidate], *, folder: str, dry_run: bool, waiting: Waiting, decided: bool
) -> list[Verdict]:
    """Write what waits in the spool, then *candidates*; see `KnowledgeBase.write`."""
    landed = [] if dry_run else land_spool(kb)
    verdicts = pipeline.write(kb, candidates, folder=folder, dry_run=dry_run, waiting=waiting, decided=decided)
    return _tell_of_the_spool(verdicts, landed)


def save(
    kb: Workspace, path: str, *, session: str = "", folder: str = "", host: str = "", agent: str = "",
    archive: bool = True, full: bool = False, answer: str = "",
) -> Saved:  # fmt: skip
    """Write what waits in the spool, then save the transcript *path*; see `keeping.save`."""
    from kb.capture import save_session

    land_spool(kb)
    return save_session.save(
        kb, path, session=session, folder=folder, host=host, agent=agent, archive=archive, full=full, answer=answer
    )


def save_when_due(
    kb: Workspace, path: str, *, session: str, folder: str = "", host: str = "", agent: str = "", answer: str = ""
) -> Saved | None:
    """Extract what is new, or put it off when the last extraction is too recent: then a later call takes it along.

    It is put off first in any case, so that whatever stops the extraction, a later call takes it up.
    """
    from kb.capture.save_session import due
    from kb.sessions import active_sessions

    active_sessions.postpone(kb.state, active_sessions.Job(path, session, folder, host, agent))
    if due(kb, session, agent):
        return save(kb, path, session=session, folder=folder, host=host, agent=agent, archive=False, answer=answer)
    return None


def land_spool(kb: Workspace) -> list[Verdict]:
    """Do what earlier calls had to spool, oldest first; what still cannot be done stays and holds up nothing else.

    A file that cannot be read, or was begun too often in vain, is set aside; its verdict is `refused` and names it.
    """
    landed: list[Verdict] = []
    end = time.monotonic() + QUEUE
    for path in kb.state.spooled():
        with claimed(path) as is_mine:
            try:
                landed += _landed(kb, path) if is_mine else []
            except (Busy, GitFailed, IndexFailed, OSError):
                if _cannot_write(kb) or time.monotonic() > end:
                    break
                continue
            except spool_attempts.JobTooLong:
                continue
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KbError) as error:
                landed.append(_set_aside(kb, path, error))
                continue
        if time.monotonic() > end:
            break
    return landed


def hand_in_again(kb: Workspace) -> list[Verdict]:
    """Do what was set aside, each job with all its tries again; what still cannot be done is set aside again."""
    for path in kb.state.unreadable():
        kb.state.take_back(path)
    return land_spool(kb)


def _cannot_write(kb: Workspace) -> bool:
    """Return whether it is the repository that is in the way, and not one file."""
    try:
        return kb.repository.not_now() is not None
    except GitFailed:
        return True


def _set_aside(kb: Workspace, path: str, error: Exception) -> Verdict:
    kept = kb.state.set_aside(path)
    spool_attempts.forget_tries(path)
    problem = kb.words(error.message) if isinstance(error, KbError) else str(error)
    reason = msg("what was spooled cannot be written: {problem}; it is kept in {path}", problem=problem, path=kept)
    return Verdict("refused", os.path.basename(path), "", reasons=(kb.words(reason),), spooled=True)


def _tell_of_the_spool(verdicts: list[Verdict], landed: Sequence[Verdict]) -> list[Verdict]:
    """Return *verdicts*, the first of which tells of what *landed* and could not be read."""
    bad = [
        reason for verdict in landed if verdict.spooled and verdict.verdict == "refused" for reason in verdict.reasons
    ]
    return [verdicts[0]._replace(reasons=(*verdicts[0].reasons, *bad)), *verdicts[1:]] if bad and verdicts else verdicts


def _landed(kb: Workspace, path: str) -> list[Verdict]:
    """Write what the spooled file *path* holds, unless that was done before, and take the file away."""
    data, job = content(path), os.path.basename(path)
    if data is None:
        return []
    value = kb.state.wish(path, json.loads(data.decode()))
    if value is None:
        raise KbError(msg("it does not come from this clone"))
    verdicts = [] if has_landed(kb, job) else _attempted(kb, value, path, job)
    spool_attempts.forget_tries(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return verdicts


def _attempted(kb: Workspace, value: Mapping[str, Any], path: str, job: str) -> list[Verdict]:
    if tries := spool_attempts.vain_tries(path):
        raise KbError(msg("it was begun {n} times and did not come to an end", n=tries))
    with spool_attempts.attempt(path):
        return _written(kb, value, path, job)


def _written(kb: Workspace, value: Mapping[str, Any], path: str, job: str) -> list[Verdict]:
    if "save" in value:
        from kb.capture.save_session import save

        wish = value["save"]
        saved = save(
            kb, wish["transcript"], session=wish["session"], folder=wish["folder"], host=wish["host"], landing=job
        )
        return list(saved.verdicts)
    folder = str(value["folder"])
    there = folder if os.path.isdir(folder) else ""
    deciding = Deciding(kb, "", there, job=job, decided=value.get("decided") is True)
    candidates = candidates_of(value["candidates"], path)
    return keep_declined(kb, candidates, deciding.run(candidates), there)
