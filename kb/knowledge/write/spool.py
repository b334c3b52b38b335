"""What could not be written when it came: kept in the spool, written by the next call that can.

A file goes when what it holds is written. A process that dies in between leaves it; written again it changes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence

from kb.candidate import as_json
from kb.candidate import candidates as candidates_of
from kb.errors import Busy, GitFailed, KbError
from kb.knowledge.write import attempts
from kb.record import Candidate, Verdict
from kb.store.files import content
from kb.store.git.repository import QUEUE
from kb.values import TYPE_CHECKING
from kb.words import say
from kb.writing import redact

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase


def spool(kb: KnowledgeBase, candidates: Sequence[Candidate], folder: str, why: KbError) -> list[Verdict]:
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked.

    The scope is found out now: the call that lands them may come from elsewhere.
    """
    scope = _scope(kb, folder)
    safe = [redact.redacted(c._replace(scope=c.scope or scope), kb.config.masking)[0] for c in candidates]
    value = {"folder": folder, "candidates": [as_json(candidate) for candidate in safe]}
    try:
        path = kb.state.spool(kb.now(), value)
    except OSError:
        raise why from None
    reasons = (kb.words(why.message), kb.words(say("kept in {path}; the next call that can writes it", path=path)))
    return [
        Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=kb.words(why.hint), spooled=True)
        for c in safe
    ]


def _scope(kb: KnowledgeBase, folder: str) -> str:
    try:
        return kb.project(folder)
    except KbError:
        return ""


def land_spool(kb: KnowledgeBase) -> list[Verdict]:
    """Do what earlier calls had to spool, oldest first; what still cannot be done stays and holds up nothing else.

    A file that cannot be read, or was begun twice in vain, is set aside; its verdict is `refused` and names it.
    """
    landed: list[Verdict] = []
    end = time.monotonic() + QUEUE
    for path in kb.state.spooled():
        try:
            data = content(path)
            if data is None:
                continue
            value = kb.state.wish(path, json.loads(data.decode()))
            if value is None:
                raise KbError(say("it does not come from this clone"))
            if attempts.is_hopeless(path):
                raise KbError(say("it was begun twice and did not come to an end"))
            with attempts.attempt(path):
                landed += _landed(kb, value, path)
        except (Busy, GitFailed, OSError):
            if _cannot_write(kb) or time.monotonic() > end:
                break
            continue
        except attempts.JobTooLong:
            continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KbError) as error:
            landed.append(_set_aside(kb, path, error))
            continue
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if time.monotonic() > end:
            break
    return landed


def _cannot_write(kb: KnowledgeBase) -> bool:
    """Tell whether it is the repository that is in the way, and not one file."""
    try:
        return kb.repository.not_now() is not None
    except GitFailed:
        return True


def _set_aside(kb: KnowledgeBase, path: str, error: Exception) -> Verdict:
    kept = kb.state.set_aside(path)
    attempts.forget_tries(path)
    problem = kb.words(error.message) if isinstance(error, KbError) else str(error)
    reason = say("what was spooled cannot be written: {problem}; it is kept in {path}", problem=problem, path=kept)
    return Verdict("refused", os.path.basename(path), "", reasons=(kb.words(reason),), spooled=True)


def told_of_the_spool(verdicts: list[Verdict], landed: Sequence[Verdict]) -> list[Verdict]:
    """Return *verdicts*, the first of which tells of what *landed* and could not be read."""
    bad = [
        reason for verdict in landed if verdict.spooled and verdict.verdict == "refused" for reason in verdict.reasons
    ]
    return [verdicts[0]._replace(reasons=(*verdicts[0].reasons, *bad)), *verdicts[1:]] if bad and verdicts else verdicts


def _landed(kb: KnowledgeBase, value: Mapping[str, Any], path: str) -> list[Verdict]:
    from kb.knowledge.write.candidates import Deciding

    if "save" in value:
        from kb.knowledge.session.keeping import save

        job = value["save"]
        saved = save(
            kb, job["transcript"], session=job["session"], folder=job["folder"], host=job["host"], landing=True
        )
        return list(saved.verdicts)
    folder = str(value["folder"])
    return Deciding(kb, "", folder if os.path.isdir(folder) else "").run(candidates_of(value["candidates"], path))
