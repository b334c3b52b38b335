"""Retire archives of sessions that are old and that no record cites; history keeps them, the checkout does not."""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.record_paths import CONTENT
from kb.sessions.forms import EXPANDED
from kb.sessions.session_archive import SessionArchive, list_sessions
from kb.writing.file_changes import FileChanges, change_files, read_at_revision

if TYPE_CHECKING:
    from kb.workspace import Workspace

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class RetiredSessions(NamedTuple):
    """What a call has retired, or would."""

    gone: tuple[SessionArchive, ...]
    kept: tuple[tuple[SessionArchive, str], ...]
    """The archives that are old enough and stay, each with the id of a record that cites it."""
    commit: str = ""


def parse_days(age: str) -> int:
    """Return how many days *age* is: `180d`, `26w`, `6m` (of 30 days) or `1y`; raise BadInput for another text."""
    match = re.fullmatch(r"([0-9]{1,6})([dwmy])", age.strip().casefold())
    if match is None:
        raise BadInput(msg("{word} is no age", word=age), hint=msg("use for example 180d, 26w, 6m or 1y"))
    return int(match[1]) * _DAYS[match[2]]


def retire_archives(kb: Workspace, days: int, *, dry_run: bool = False) -> RetiredSessions:
    """Retire the archives of sessions that are more than *days* old, in one commit; *dry_run* only tells which.

    One that a record cites stays: by the session among its sources, or by the archive's name or the session's id
    anywhere in its text.
    """
    retired = RetiredSessions((), ())

    def plan_retirement(tip: str) -> FileChanges:
        nonlocal retired
        retired = _select_retired(kb, tip, days)
        gone = retired.gone
        subject = f"Retire {len(gone)} archived session{'s' * (len(gone) > 1)}"
        files = {path: None for session in gone for path in kb.repository.list_files(tip, session.path)}
        return FileChanges(files, subject, "\n".join(f"- {session.name} {session.task}" for session in gone[:200]))

    commit = change_files(kb, "retired", plan_retirement, dry_run=dry_run)
    if commit and not dry_run:
        _remove_leftovers(kb, retired.gone)
        list_sessions(kb)
    return retired._replace(commit="" if dry_run else commit)


def _select_retired(kb: Workspace, tip: str, days: int) -> RetiredSessions:
    last = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(kb.now() - days * 86_400))
    old = [session for session in list_sessions(kb) if session.time < last]
    cited = _find_citations(kb, tip, old)
    kept = tuple((session, cited[session.name]) for session in old if session.name in cited)
    return RetiredSessions(tuple(session for session in old if session.name not in cited), kept)


def _find_citations(kb: Workspace, revision: str, old: list[SessionArchive]) -> dict[str, str]:
    """Return which of *old* a record cites: the archive's name → the record's id."""
    if not old:
        return {}
    names = {name: session.name for session in old for name in (session.name, session.session) if len(name) > 3}
    sought = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)).encode())
    paths = [path for path in kb.repository.list_files(revision, f"{CONTENT}/anchors") if path.endswith(".md")]
    found: dict[str, str] = {}
    for path, data in read_at_revision(kb, revision, paths).items():
        for match in sought.finditer(data or b""):
            found.setdefault(names[match[0].decode()], os.path.basename(path).partition("-")[0])
    return found


def _remove_leftovers(kb: Workspace, gone: tuple[SessionArchive, ...]) -> None:
    """Take away the empty folders, and the expanded forms that were too large for git."""
    for session in gone:
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(kb.root, session.path))
        with contextlib.suppress(OSError):
            os.unlink(kb.state.path(EXPANDED, f"{session.name}.md"))
