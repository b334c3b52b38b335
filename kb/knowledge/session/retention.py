"""Retire archives of sessions that are old and that no record cites; history keeps them, the checkout does not."""

from __future__ import annotations

import contextlib
import os
import re
import time

from kb.errors import BadInput
from kb.knowledge.names import CONTENT
from kb.knowledge.session.archive import Session, sessions
from kb.knowledge.sync.advance import Advance, go, prepared
from kb.knowledge.write.change import Writing
from kb.sessions.forms import EXPANDED
from kb.store.git.repository import message
from kb.values import TYPE_CHECKING, NamedTuple
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class Retired(NamedTuple):
    """What a call has retired, or would."""

    gone: tuple[Session, ...]
    kept: tuple[tuple[Session, str], ...]
    """The archives that are old enough and stay, each with the id of a record that cites it."""
    commit: str = ""


def days_in(age: str) -> int:
    """Return how many days *age* is: `180d`, `26w`, `6m` (of 30 days) or `1y`; raise BadInput for another text."""
    match = re.fullmatch(r"([0-9]{1,6})([dwmy])", age.strip().casefold())
    if match is None:
        raise BadInput(say("{word} is no age", word=age), hint=say("use for example 180d, 26w, 6m or 1y"))
    return int(match[1]) * _DAYS[match[2]]


def retire(kb: KnowledgeBase, days: int, *, dry_run: bool = False) -> Retired:
    """Retire the archives of sessions that are more than *days* old, in one commit; *dry_run* only tells which.

    One that a record cites stays: by the session among its sources, or by the archive's name or the session's id
    anywhere in its text.
    """
    writing = Writing(kb, "", "")
    advances: list[Advance] = []

    def plan() -> Retired:
        return _planned(writing, days, advances)

    def publish(done: Retired) -> Retired:
        go(kb, advances[0], [], "kb: retire sessions")
        writing.is_published = True
        return done

    done = writing.until_won(plan, None if dry_run else publish)
    if not dry_run and done.gone:
        _forget(kb, done.gone)
        sessions(kb)
    return done


def _planned(writing: Writing, days: int, advances: list[Advance]) -> Retired:
    kb, head = writing.kb, writing.head
    last = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(kb.now() - days * 86_400))
    old = [session for session in sessions(kb) if session.time < last]
    cited = _cited(kb, head.oid, old)
    gone = tuple(session for session in old if session.name not in cited)
    kept = tuple((session, cited[session.name]) for session in old if session.name in cited)
    files: dict[str, bytes | None] = {
        path: None for session in gone for path in kb.repository.files(head.oid, session.path)
    }
    if not files:
        advances[:] = [Advance(head, head.oid, {})]
        return Retired((), kept)
    subject = f"Retire {len(gone)} archived sessions" if len(gone) > 1 else f"Retire the session {gone[0].name}"
    body = "\n".join(f"- {session.name} {session.task}" for session in gone[:200])
    with kb.state.stage() as stage:
        words = message(subject, body, {"Kb-Op": "retired"})
        commit = kb.repository.build(head.oid, files, words, stage=stage)
    advances[:] = [prepared(kb, head, commit, "")]
    return Retired(gone, kept, commit)


def _cited(kb: KnowledgeBase, revision: str, old: list[Session]) -> dict[str, str]:
    """Return which of *old* a record cites: the archive's name → the record's id."""
    if not old:
        return {}
    names = {name: session.name for session in old for name in (session.name, session.session) if len(name) > 3}
    sought = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)).encode())
    paths = [path for path in kb.repository.files(revision, f"{CONTENT}/anchors") if path.endswith(".md")]
    found: dict[str, str] = {}
    for path, data in zip(paths, kb.repository.blobs([(revision, path) for path in paths]), strict=True):
        for match in sought.finditer(data or b""):
            found.setdefault(names[match[0].decode()], os.path.basename(path).partition("-")[0])
    return found


def _forget(kb: KnowledgeBase, gone: tuple[Session, ...]) -> None:
    """Take away the empty folders, and the expanded forms that were too large for git."""
    for session in gone:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(kb.root, session.path))
        with contextlib.suppress(OSError):
            os.unlink(kb.state.path(EXPANDED, f"{session.name}.md"))
