"""What could not be written when it came: kept in the spool, written by the next call, exactly once."""

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kb.candidate import as_json
from kb.candidate import candidates as candidates_of
from kb.errors import Busy, KbError
from kb.record import Candidate, Verdict
from kb.words import say
from kb.writing import redact

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


def spool(kb: "KnowledgeBase", candidates: Sequence[Candidate], folder: str, why: KbError) -> list[Verdict]:
    """Keep *candidates* for the next call; raise *why* when not even that is possible. What is kept is masked."""
    safe = [redact.redacted(c._replace(scope=c.scope), kb.config.private_words)[0] for c in candidates]
    name = _name(kb)
    value = {"folder": folder, "candidates": [as_json(candidate) for candidate in safe]}
    try:
        path = kb.state.spool(name, value)
    except OSError:
        raise why from None
    reasons = (kb.words(why.message), kb.words(say("kept in {path}", path=path)))
    return [
        Verdict("held", c.title, c.kind, scope=c.scope, reasons=reasons, next=kb.words(why.hint), spooled=True)
        for c in safe
    ]


def spool_session(kb: "KnowledgeBase", transcript: str, *, session: str, folder: str, host: str) -> None:
    """Keep the wish to save a session."""
    job = {"transcript": transcript, "session": session, "folder": folder, "host": host}
    kb.state.spool(_name(kb), {"save": job})


def _name(kb: "KnowledgeBase") -> str:
    """Return a file name that sorts by time and is used by nobody else."""
    return f"{int(kb.now() * 1000):014d}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}"


def land_spool(kb: "KnowledgeBase") -> list[Verdict]:
    """Do what earlier calls had to spool, oldest first; what still cannot be done stays."""
    landed: list[Verdict] = []
    for path in kb.state.spooled():
        try:
            with open(path, encoding="utf-8") as file:
                value = json.load(file)
            landed += _landed(kb, value, path)
        except FileNotFoundError:
            continue
        except Busy:
            break
        except (ValueError, KeyError, TypeError, KbError):
            os.replace(path, path + ".unreadable")
            continue
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return landed


def _landed(kb: "KnowledgeBase", value: Mapping[str, Any], path: str) -> list[Verdict]:
    from kb.knowledge.write import Writing

    if "save" in value:
        from kb.knowledge.session import save

        job = value["save"]
        saved = save(
            kb, job["transcript"], session=job["session"], folder=job["folder"], host=job["host"], landing=True
        )
        return list(saved.verdicts)
    folder = str(value["folder"])
    return Writing(kb, kb.project(folder), folder).run(candidates_of(value["candidates"], path))
