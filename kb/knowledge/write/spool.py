"""What could not be written when it came: kept in the spool, written by the next call that can.

A file goes when what it holds is written. A process that dies in between leaves it; the next one finds by the commits
that were noted for it (`landed`) that it is written already, on whatever branch.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence

from kb.candidate import as_json
from kb.candidate import candidates as candidates_of
from kb.config import Config
from kb.errors import Busy, GitFailed, IndexFailed, KbError
from kb.i18n import msg
from kb.knowledge.write import attempts
from kb.knowledge.write.landed import claimed, has_landed
from kb.record import Candidate, Verdict
from kb.store.files import content
from kb.store.git.repository import QUEUE
from kb.store.state import State
from kb.values import TYPE_CHECKING
from kb.writing import redact

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase


def spool(
    kb: KnowledgeBase, candidates: Sequence[Candidate], folder: str, why: KbError, *, decided: bool = False,
    job: str = "",
) -> list[Verdict]:  # fmt: skip
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked.

    The scope is found out now: the call that lands them may come from elsewhere. *job* is the name they had in the
    queue: who found them there may still write them.
    """
    scope = _scope(kb, folder)
    safe = [redact.redacted(c._replace(scope=c.scope or scope), kb.config.masking)[0] for c in candidates]
    value = {"folder": folder, "candidates": [as_json(candidate) for candidate in safe], "decided": decided}
    try:
        path = kb.state.spool(kb.now(), value, job)
    except OSError:
        raise why from None
    reasons = (kb.words(why.message), kb.words(msg("kept in {path}; the next call that can writes it", path=path)))
    return [
        Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=kb.words(why.hint), spooled=True)
        for c in safe
    ]


def spool_without_settings(root: str, environment: Mapping[str, str], candidates: Sequence[Candidate]) -> str:
    """Keep *candidates* for the next call although the settings of the knowledge base *root* cannot be read.

    Return the file. What is kept is masked by the rules that kb has of itself; those of the settings mask it when it is
    written. Raise OSError where nothing can be kept.
    """
    state = State(root, environment)
    safe = [as_json(redact.redacted(candidate, Config().masking)[0]) for candidate in candidates]
    return state.spool(time.time(), {"folder": os.getcwd(), "candidates": safe, "decided": False})


def _scope(kb: KnowledgeBase, folder: str) -> str:
    try:
        return kb.project(folder)
    except KbError:
        return ""


def land_spool(kb: KnowledgeBase) -> list[Verdict]:
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
            except attempts.JobTooLong:
                continue
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KbError) as error:
                landed.append(_set_aside(kb, path, error))
                continue
        if time.monotonic() > end:
            break
    return landed


def hand_in_again(kb: KnowledgeBase) -> list[Verdict]:
    """Do what was set aside, each job with all its tries again; what still cannot be done is set aside again."""
    for path in kb.state.unreadable():
        kb.state.take_back(path)
    return land_spool(kb)


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
    reason = msg("what was spooled cannot be written: {problem}; it is kept in {path}", problem=problem, path=kept)
    return Verdict("refused", os.path.basename(path), "", reasons=(kb.words(reason),), spooled=True)


def told_of_the_spool(verdicts: list[Verdict], landed: Sequence[Verdict]) -> list[Verdict]:
    """Return *verdicts*, the first of which tells of what *landed* and could not be read."""
    bad = [
        reason for verdict in landed if verdict.spooled and verdict.verdict == "refused" for reason in verdict.reasons
    ]
    return [verdicts[0]._replace(reasons=(*verdicts[0].reasons, *bad)), *verdicts[1:]] if bad and verdicts else verdicts


def _landed(kb: KnowledgeBase, path: str) -> list[Verdict]:
    """Write what the spooled file *path* holds, unless that was done before, and take the file away."""
    data, job = content(path), os.path.basename(path)
    if data is None:
        return []
    value = kb.state.wish(path, json.loads(data.decode()))
    if value is None:
        raise KbError(msg("it does not come from this clone"))
    verdicts = [] if has_landed(kb, job) else _attempted(kb, value, path, job)
    attempts.forget_tries(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return verdicts


def _attempted(kb: KnowledgeBase, value: Mapping[str, Any], path: str, job: str) -> list[Verdict]:
    if tries := attempts.vain_tries(path):
        raise KbError(msg("it was begun {n} times and did not come to an end", n=tries))
    with attempts.attempt(path):
        return _written(kb, value, path, job)


def _written(kb: KnowledgeBase, value: Mapping[str, Any], path: str, job: str) -> list[Verdict]:
    from kb.knowledge.session.declined import keep_declined
    from kb.knowledge.write.candidates import Deciding

    if "save" in value:
        from kb.knowledge.session.keeping import save

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
