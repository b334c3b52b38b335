"""Archived sessions: the folders under `content/sessions/`, their index, and which of them to prune.

Archives of sessions that are old and that no record cites are pruned: history keeps them, the checkout does not.
Known sessions are those with files in the state folder, and those with a transcript.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.files import open_nonblocking, resolve_within
from kb.i18n import msg
from kb.records.kinds import CONTENT, sanitise_session_id
from kb.records.model import GLOBAL
from kb.sessions.host_input import read_transcript
from kb.sessions.transcript import parse_transcript
from kb.state.state_folder import CURSORS
from kb.text.segment import normalise, slugify

if TYPE_CHECKING:
    from kb.workspace import Workspace

INDEX = "sessions.json"
YESTERDAY = ("yesterday", "昨天")
"""The words that mean one day that is over; the others mean all that has been since."""
_NAME = r"(.+)-(\d{8})-(\d{6})-(.{8})"
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_AGO = {"today": 0, "yesterday": 1, "week": 6, "今天": 0, "昨天": 1, "本周": 6}


class SessionArchive(NamedTuple):
    """An archived session."""

    name: str
    """The folder under `content/sessions/`: <project>-<timestamp>-<id8>."""
    project: str
    time: str
    """ISO 8601, local."""
    task: str
    session: str
    anchors: int
    """How many records it created."""
    path: str


def list_sessions(kb: Workspace) -> list[SessionArchive]:
    """Return the archived sessions, oldest first, and bring the session index (`.kb/sessions.json`) up to them.

    A folder is read again only when it is newer than the index (SHI-09: derived, can be deleted at any time).
    """
    with kb.state.hold_lock(INDEX):
        kept = kb.state.load(INDEX) or {}
        try:
            rows = kept.get("sessions", [])
            known = {row["name"]: SessionArchive(*(row[field] for field in SessionArchive._fields)) for row in rows}
        except (KeyError, TypeError):
            known = {}
        # archives are written once: what is older than the index is in it
        since = _get_mtime(kb.state.path(INDEX)) if known else 0
        top = os.path.join(kb.root, CONTENT, "sessions")
        names = os.listdir(top) if os.path.isdir(top) and os.path.realpath(top) == top else []
        found = [session for name in names if (session := _load_session(top, name, known, since))]
        found.sort(key=lambda session: (session.time, session.name))
        projects = dict(Counter(session.project for session in found))
        rows = [{**session._asdict(), "status": "archived"} for session in found]
        value = {"version": 1, "sessions": rows, "projects": projects}
        if kept != value:
            kb.state.save(value, INDEX)
    return found


def _load_session(top: str, name: str, known: Mapping[str, SessionArchive], since: float) -> SessionArchive | None:
    match = re.fullmatch(_NAME, name)
    files = [os.path.join(top, name, file) for file in ("hui-output.json", "shi-result.json")]
    if match is None or (name in known and all(0 < _get_mtime(file) < since for file in files)):
        return known.get(name)
    try:
        hui, shi = (_load_json(resolve_within(top, f"{name}/{os.path.basename(file)}")) for file in files)
        written = len(shi.get("anchors_written", ()))
        when, task, session = str(hui["timestamp"]), str(hui["context"]["task"]), str(hui["session_id"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return SessionArchive(name, match[1], when, task, session, written, f"{CONTENT}/sessions/{name}")


def _get_mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def _load_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def choose_free_name(kb: Workspace, project: str, session: str) -> str:
    """Return a name no archive has: <project>-<timestamp>-<the first 8 characters of *session*>.

    Where it is taken (two sessions may begin alike and end in one second) the next free second is told.
    """
    seconds = kb.now()
    while True:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(seconds))
        name = f"{project}-{stamp}-{session[:8].ljust(8, '0')}"
        if not os.path.lexists(os.path.join(kb.root, CONTENT, "sessions", name)):
            return name
        seconds += 1


def find_session(kb: Workspace, name: str) -> SessionArchive:
    """Return the archived session whose name begins with, or else contains, *name*; raise UnknownId for no single.

    Where no name does, the task may contain it.
    """
    named = find_sessions(kb, name)
    if len(named) == 1:
        return named[0]
    problem, hint = msg("there is no session {id}", id=name), msg("see: kb session list --all")
    if named:
        choices = [session.name for session in named[-10:]]
        problem, hint = msg("{id} names several sessions: {choices}", id=name, choices=choices), msg("name one of them")
    raise UnknownId(problem, hint=hint)


def find_sessions(kb: Workspace, name: str, folder: str = "") -> list[SessionArchive]:
    """Return the archived sessions that *name* may mean: by the beginning of their names, a part, or their tasks.

    A name is the same for everybody; where it may mean several, those of the project around *folder* come first.
    Words of a task mean a session of that project alone. Of the archives of one session the latest stands for all,
    unless *name* is the whole name of one.
    """
    everything, words = list_sessions(kb), normalise(name)
    own = filter_own_project(kb, everything, folder)
    # “shop-20261120” means all of that day, “退款” the sessions whose task has the word
    named = [session for session in everything if session.name.startswith(name)]
    if whole := [session for session in named if session.name == name]:
        return whole
    if named := named or [session for session in everything if name in session.name]:
        return _keep_latest([session for session in named if session in own] or named)
    return _keep_latest(session for session in own if len(words) > 1 and words in normalise(session.task))


def _keep_latest(found: Iterable[SessionArchive]) -> list[SessionArchive]:
    """Return the latest archive of each session of *found*, which are in the order of their time."""
    latest = {(one.project, one.session): one for one in found}
    return sorted(latest.values(), key=lambda one: (one.time, one.name))


def filter_own_project(kb: Workspace, found: Sequence[SessionArchive], folder: str = "") -> list[SessionArchive]:
    """Return the sessions of the project around *folder* (default: the caller's); all in a folder of no project."""
    scope = kb.project(folder) if folder else kb.caller_scope
    return [one for one in found if scope in ("", GLOBAL) or one.project == scope.removeprefix("project/")]


def list_archive_files(kb: Workspace, session: SessionArchive) -> list[str]:
    """Return the files of an archive besides its compact form, and the expanded form that stays in this clone."""
    names = ("normal.md", "expanded.md", "hui-output.json", "shi-result.json", "dcp-report.md")
    reports = os.path.join(kb.root, session.path, "reports")
    found = sorted(os.listdir(reports)) if os.path.isdir(reports) else []
    paths = [os.path.join(kb.root, session.path, name) for name in (*names, *(f"reports/{one}" for one in found))]
    return [path for path in (*paths, kb.state.path("expanded", f"{session.name}.md")) if os.path.isfile(path)]


def find_session_scope(kb: Workspace, session: SessionArchive) -> str:
    """Return the scope that *session* worked in: its archive is named after it."""
    scopes = {record.scope for record in kb.index.records()} - {GLOBAL}
    own = [scope for scope in sorted(scopes) if slugify(scope.removeprefix("project/")) == session.project]
    return own[0] if own else GLOBAL if session.project == GLOBAL else f"project/{session.project}"


def list_written_ids(kb: Workspace, session: SessionArchive) -> frozenset[str]:
    """Return the ids of the records that *session* wrote or added to; none where its report cannot be read."""
    try:
        shi = _load_json(resolve_within(kb.root, f"{session.path}/shi-result.json"))
        rows = [*shi.get("anchors_written", ()), *shi.get("anchors_merged", ())]
        return frozenset(str(row.get("new_id") or row.get("existing_id") or "") for row in rows)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return frozenset()


def read_session_file(kb: Workspace, session: SessionArchive, file: str) -> str:
    """Return one file of an archive."""
    with open(resolve_within(kb.root, f"{session.path}/{file}"), encoding="utf-8", errors="replace") as opened:
        return opened.read()


def parse_day(word: str, now: float) -> str:
    """Return the first ISO day that *word* means at the time *now*; raise BadInput for no such word."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        return word
    counted = re.fullmatch(r"(\d{1,4})d", word)
    if word not in _AGO and not counted:
        raise BadInput(msg("{word} is not a day", word=word), hint=msg("use today, yesterday, week, 7d or 2026-11-21"))
    days = int(counted[1]) if counted else _AGO[word]
    return time.strftime("%Y-%m-%d", time.localtime(now - 86_400 * days))


# -- pruning ---------------------------------------------------------------------------------------


class PrunedSessions(NamedTuple):
    """The archives that a call pruned, or would prune."""

    gone: tuple[SessionArchive, ...]
    kept: tuple[tuple[SessionArchive, str], ...]
    """The archives that are old enough and stay, each with the id of a record that cites it."""
    commit: str = ""


def parse_days(age: str) -> int:
    """Return how many days *age* is: `180d`, `26w`, `6m` (of 30 days) or `1y`; raise BadInput for another text."""
    match = re.fullmatch(r"([0-9]{1,6})([dwmy])", age.strip().casefold())
    if match is None:
        raise BadInput(msg("{word} is not an age", word=age), hint=msg("use for example 180d, 26w, 6m or 1y"))
    return int(match[1]) * _DAYS[match[2]]


def prune_archives(kb: Workspace, days: int, *, dry_run: bool = False) -> PrunedSessions:
    """Prune the archives of sessions that are more than *days* old, in one commit; *dry_run* only returns which.

    One that a record cites stays: by the session among its sources, or by the archive's name or the session's id
    anywhere in its text.
    """
    from kb.writing.file_changes import commit_files
    from kb.writing.transaction import transactions

    for transaction in transactions(kb, dry_run=dry_run):
        with transaction:
            tip = transaction.head.oid
            last = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(kb.now() - days * 86_400))
            old = [session for session in list_sessions(kb) if session.time < last]
            cited = _find_citations(kb, tip, old)
            gone = tuple(session for session in old if session.name not in cited)
            subject = f"Retire {len(gone)} archived session{'s' * (len(gone) > 1)}"
            body = "\n".join(f"- {session.name} {session.task}" for session in gone[:200])
            files = {path: None for session in gone for path in kb.repository.list_files(tip, session.path)}
            commit = commit_files(transaction, "retired", files, subject, body)
    if commit and not dry_run:
        for session in gone:  # empty folders, and expanded forms that were too large for git
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(kb.root, session.path))
            with contextlib.suppress(OSError):
                os.unlink(kb.state.path("expanded", f"{session.name}.md"))
        list_sessions(kb)
    kept = tuple((session, cited[session.name]) for session in old if session.name in cited)
    return PrunedSessions(gone, kept, "" if dry_run else commit)


def _find_citations(kb: Workspace, revision: str, old: list[SessionArchive]) -> dict[str, str]:
    """Return which of *old* a record cites: the archive's name → the record's id."""
    if not old:
        return {}
    names = {name: session.name for session in old for name in (session.name, session.session) if len(name) > 3}
    sought = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)).encode())
    paths = [path for path in kb.repository.list_files(revision, f"{CONTENT}/anchors") if path.endswith(".md")]
    found: dict[str, str] = {}
    for path, data in kb.repository.read_files(revision, paths).items():
        for match in sought.finditer(data or b""):
            found.setdefault(names[match[0].decode()], os.path.basename(path).partition("-")[0])
    return found


# -- known sessions -------------------------------------------------------------------------------

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
    for folder in ("pending", CURSORS):
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
    hint = msg("omit --session for the last session of this project")
    if names:
        choices = sorted(names)[:10]
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
