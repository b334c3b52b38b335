"""List the known sessions: those with files in the state folder, and those with a transcript."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.files import open_nonblocking
from kb.i18n import msg
from kb.records.model import GLOBAL
from kb.records.record_paths import sanitise_session_id
from kb.sessions.host_input import read_transcript
from kb.sessions.transcript import parse_transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace

_HEAD_BYTES = 65_536
"""Bytes of a transcript that say in which folder its session works."""
_TAIL_BYTES = 8_000_000
"""Bytes at the end of a transcript in which records that kb does not know are counted."""


class KnownSession(NamedTuple):
    """A session that kb heard of."""

    session: str
    transcript: str
    scope: str = ""
    """The project it worked in; "" where that is not known yet."""
    folder: str = ""


def list_known_sessions(kb: Workspace, session: str = "") -> list[KnownSession]:
    """Return the sessions whose ids begin with *session* and whose transcripts are there, the latest first."""
    found: dict[tuple[str, str], tuple[float, KnownSession]] = {}
    for folder in ("pending", "cursors"):
        path = kb.state.path(folder)
        for name in os.listdir(path) if os.path.isdir(path) else ():
            key_session = name.partition(".")[0]
            if not (key_session.startswith(session) and name.endswith(".json")):
                continue
            kept = kb.state.load(folder, name) or {}
            transcript = kept.get("transcript")
            with contextlib.suppress(OSError, ValueError):
                if isinstance(transcript, str) and os.path.isfile(transcript):
                    key = key_session, transcript
                    known = KnownSession(*key, str(kept.get("scope") or ""), str(kept.get("folder") or ""))
                    found[key] = os.stat(transcript).st_mtime, known
    return [known for _, known in sorted(found.values(), key=lambda pair: (pair[0], pair[1][:2]), reverse=True)]


def iter_project_sessions(kb: Workspace, found: Sequence[KnownSession], scope: str) -> Iterator[KnownSession]:
    """Yield the sessions of *found* that worked in the project *scope*; for a folder of no project, then the others.

    Where no project is kept of a session, the beginning of its transcript says where it worked.
    """
    for known in found:
        own, folder = known.scope, known.folder
        if not own and not folder:
            with contextlib.suppress(OSError), open(known.transcript, "rb", opener=open_nonblocking) as file:
                folder = parse_transcript(file.read(_HEAD_BYTES)).cwd
        if (own or (kb.project(folder) if folder else "")) == scope:
            yield known
    # outside of every project a person means whatever ran last
    if scope in ("", GLOBAL):
        yield from found


def find_latest_session(kb: Workspace, session: str = "") -> KnownSession:
    """Return the session of the caller's project that kb heard of last, or that whose id begins with *session*.

    Only an id can name a session of another project. In a folder of no project the sessions of all projects count,
    those of the folder first. Raise UnknownId where there is none.
    """
    found = list_known_sessions(kb, session)
    own = next(iter_project_sessions(kb, found, kb.caller_scope), found[0] if found and session else None)
    if own:
        return own
    problem, hint = msg("no session is known here"), msg("name the transcript, a JSONL file")
    if session:
        problem = msg("no running session has an id that begins with {id}", id=session)
    elif found:
        project = kb.caller_scope.removeprefix("project/")
        problem = msg("no session of {project} is known here, only those of other projects", project=project)
        hint = msg("name the transcript, a JSONL file, or one of those sessions: {id}", id=found[0].session)
    raise UnknownId(problem, hint=hint)


def find_latest_transcript(kb: Workspace) -> str:
    """Return the transcript of the session that kb heard of last; raise UnknownId for none."""
    return find_latest_session(kb).transcript


def find_running_session(kb: Workspace, session: str) -> str:
    """Return the id of the running session whose id begins with *session*; raise UnknownId for none or several.

    A session runs from its first hook on, even while kb knows no transcript of it.
    """
    beginning = sanitise_session_id(session)
    path = kb.state.path("active")
    names = [name for name in os.listdir(path) if name.startswith(beginning)] if os.path.isdir(path) else []
    if beginning in names or len(names) == 1:
        return beginning if beginning in names else names[0]
    problem = msg("no running session has an id that begins with {id}", id=session)
    hint = msg("leave --session out for the last session of this project")
    if names:
        choices = ", ".join(sorted(names)[:10])
        problem = msg("{id} names several sessions: {choices}", id=session, choices=choices)
        hint = msg("name one of them")
    raise UnknownId(problem, hint=hint)


def count_unknown_records(kb: Workspace, most: int = 5) -> tuple[int, dict[str, int], int]:
    """Return of the *most* sessions that kb heard of last: how many can be read, the kinds of records in them that
    carry a text and that kb does not know, each with its number, and how many lines are no records."""
    unknown: Counter[str] = Counter()
    readable = skipped = 0
    for known in list_known_sessions(kb)[:most]:
        try:
            found = parse_transcript(read_transcript(known.transcript, _TAIL_BYTES))
        except BadInput:
            continue
        readable += 1
        skipped += sum(1 < skip.line <= found.lines for skip in found.skipped)
        unknown.update(found.unread)
    return readable, unknown, skipped
