"""What a running session has in the state folder: compact form, passing notes, the cursor of its transcript.

Every session, and every sub-agent of one, has files of its own, so that what runs side by side never meets.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from kb.errors import KbError, UnknownId
from kb.files import json_bytes, open_nonblocking, resolve_within
from kb.i18n import msg
from kb.records.candidate import build_candidates as candidates_of
from kb.records.candidate import candidate_to_json
from kb.records.model import GLOBAL, Candidate, SimilarRecord, Verdict
from kb.records.record_paths import CONTENT, TREE, sanitise_session_id
from kb.safety import redaction
from kb.sessions import transcript as transcripts
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.state_folder import StateFolder, write_atomic
from kb.text.segment import normalise

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

NOTES = "notes.jsonl"
_HEAD = 65_536
"""Bytes of a transcript that say in which folder its session works."""
LONGEST_STAY = 30 * 86_400
"""Seconds after which what a session left is of no use: a host keeps its transcripts no longer (30 days)."""


class JudgedCandidate(NamedTuple):
    """A candidate the session brought, and what became of it."""

    candidate: Candidate
    verdict: Verdict


class ActiveSession:
    """The files of one running session, or of one of its sub-agents (*agent*)."""

    def __init__(self, kb: Workspace, session: str, agent: str = "") -> None:
        """Name the files; none is made yet."""
        self._kb = kb
        self.session = session
        self.name = sanitise_session_id(session)
        self._active = ("active", self.name, *(("agents", sanitise_session_id(agent)) if agent else ()))
        self._cursor = ("cursors", *((self.name, sanitise_session_id(agent)) if agent else (self.name,)))

    @property
    def is_open(self) -> bool:
        """Whether the session has files of its own now: it has begun and not ended."""
        return os.path.isdir(self._kb.state.path(*self._active))

    @property
    def is_session_running(self) -> bool:
        """Whether the session itself runs, be this the desk of one of its sub-agents."""
        return os.path.isdir(self._kb.state.path(*self._active[:2]))

    def register_transcript(self, transcript: str, folder: str = "") -> None:
        """Remember where the session's transcript is and where it works, unless that is known; it runs from now on."""
        known = self.load_cursor()
        if transcript and not known.get("transcript"):
            self.move_cursor({"transcript": transcript, "folder": folder}, parse_judged(known))
        self._kb.state.ensure_folder()
        os.makedirs(self._kb.state.path(*self._active[:2]), exist_ok=True)

    def load_cursor(self) -> dict[str, Any]:
        """Return how far the session is extracted; {} before the first time."""
        kept = self._kb.state.load(*self._cursor[:-1], self._cursor[-1] + ".json")
        return kept if isinstance(kept, dict) else {}

    def move_cursor(self, cursor: dict[str, Any], rows: Sequence[JudgedCandidate]) -> None:
        """Keep how far the session is extracted, and what it has brought; both without secrets."""
        private = self._kb.config.masking
        kept = [
            {
                "candidate": candidate_to_json(redaction.redact_candidate(row.candidate, private)[0]),
                "verdict": row.verdict._asdict(),
            }
            for row in rows
        ]
        self._kb.state.save({**cursor, "rows": kept}, *self._cursor[:-1], self._cursor[-1] + ".json")

    def load_judged(self) -> list[JudgedCandidate]:
        """Return what the session has brought so far."""
        return parse_judged(self.load_cursor())

    def add_judged(self, rows: Sequence[JudgedCandidate]) -> None:
        """Add *rows* to what the session has brought: they are in its forms and in its archive, and are no records."""
        transcript = str(self.load_cursor().get("transcript") or self.session)
        with self._kb.state.hold_lock(os.path.realpath(transcript)):
            cursor = self.load_cursor()
            known = parse_judged(cursor)
            new = [row for row in rows if not is_repeated(row.candidate, (one.candidate for one in known))]
            self.move_cursor(cursor, [*known, *new])

    def save_compact(self, compact: str, scope: str, folder: str) -> None:
        """Keep the compact form and whose it is (SHI-02, SHI-03)."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self._kb.now()))
        about = {
            "session_id": self.session,
            "project": scope.removeprefix("project/"),
            "cwd": folder,
            "timestamp": when,
        }
        self._kb.state.ensure_folder()
        write_atomic(self._kb.state.path(*self._active, "compact.md"), compact.encode())
        write_atomic(self._kb.state.path(*self._active, "metadata.json"), json_bytes(about, indent=1))
        save_current_form(self._kb, "compact", compact)

    def add_notes(self, passing: Iterable[Candidate]) -> None:
        """Keep what holds for this session only (中业: RUYI-12); it goes when the session ends."""
        known = self.load_notes()
        private = self._kb.config.masking
        new = [redaction.redact_candidate(candidate, private)[0] for candidate in passing]
        new = [candidate for candidate in new if not is_repeated(candidate, known)]
        if new:
            lines = [json_bytes(candidate_to_json(candidate)) + b"\n" for candidate in (*known, *new)]
            self._kb.state.ensure_folder()
            write_atomic(self._kb.state.path(*self._active, NOTES), b"".join(lines))

    def load_notes(self) -> list[Candidate]:
        """Return what was noted for this session only."""
        try:
            with open(self._kb.state.path(*self._active, NOTES), encoding="utf-8") as file:
                return candidates_of([json.loads(line) for line in file])
        except (OSError, ValueError, KbError):
            return []

    def remove_files(self) -> None:
        """Take the session's files away, as it has ended; its cursor stays, in case it is resumed."""
        import shutil  # which takes as long to load as all else that a prompt needs

        shutil.rmtree(self._kb.state.path(*self._active), ignore_errors=True)


def save_current_form(kb: Workspace, form: str, text: str) -> None:
    """Keep *form* of the running session in the tree of one project as well, where that layout is wanted (RUYI-04)."""
    if kb.config.layout == "project":
        with contextlib.suppress(OSError):
            write_atomic(resolve_within(kb.root, f"{TREE}/current/{form}.md"), text.encode("utf-8", "replace"))


def parse_judged(cursor: dict[str, Any]) -> list[JudgedCandidate]:
    """Return what a session has brought so far; what cannot be read is left out."""
    rows = []
    for kept in cursor.get("rows") or ():
        with contextlib.suppress(KbError, KeyError, TypeError, ValueError):
            given = dict(kept["verdict"])
            alike = tuple(SimilarRecord(*similar) for similar in given.pop("similar", ()))
            verdict = Verdict(**{**given, "reasons": tuple(given.get("reasons", ()))}, similar=alike)
            rows.append(JudgedCandidate(candidates_of(kept["candidate"])[0], verdict))
    return rows


def parse_kept_candidates(value: object) -> list[Candidate]:
    """Return the candidates that a cursor keeps; [] for what cannot be read."""
    try:
        return candidates_of(value) if isinstance(value, list) and value else []
    except (KbError, TypeError, ValueError):
        return []


def is_repeated(candidate: Candidate, earlier: Iterable[Candidate]) -> bool:
    """Return whether *earlier* has the same thing said in the same words."""
    key = (candidate.kind, normalise(candidate.title), normalise(candidate.decision))
    return any(key == (one.kind, normalise(one.title), normalise(one.decision)) for one in earlier)


def load_compact(kb: Workspace, session: str) -> str:
    """Return the compact form of a session: while it runs its own, later that of its last archive; "" without one."""
    desk = ActiveSession(kb, session)
    with (
        contextlib.suppress(OSError, ValueError),
        open(kb.state.path("active", desk.name, "compact.md"), encoding="utf-8") as file,
    ):
        return file.read()
    if archive := str(desk.load_cursor().get("archive") or ""):
        place = f"{CONTENT}/sessions/{archive}/compact.md"
        with contextlib.suppress(OSError, ValueError), open(resolve_within(kb.root, place), encoding="utf-8") as file:
            return file.read()
    return ""


class KnownSession(NamedTuple):
    """The session that kb heard of last."""

    session: str
    transcript: str
    scope: str = ""
    """The project it worked in; "" where that is not known yet."""
    folder: str = ""


def find_latest_session(kb: Workspace, session: str = "") -> KnownSession:
    """Return the session of the caller's project that kb heard of last, or that whose id begins with *session*.

    An id may be that of another project's session; without one, nobody is answered with another project's. In a folder
    of no project the sessions of all count, its own before them. Raise UnknownId where there is none.
    """
    found = list_known_sessions(kb, session)
    if own := next(iter_project_sessions(kb, found, kb.caller_scope), found[0] if found and session else None):
        return own
    raise _build_unknown_error(kb, session, found)


def find_latest_transcript(kb: Workspace) -> str:
    """Return the transcript of the session that kb heard of last; raise UnknownId for none."""
    return find_latest_session(kb).transcript


def _build_unknown_error(kb: Workspace, session: str, others: Sequence[KnownSession]) -> UnknownId:
    """Return that no session can be meant: none begins with the id *session*, or all known are those of *others*."""
    hint = msg("name the transcript, a JSONL file")
    if session:
        return UnknownId(msg("no running session has an id that begins with {id}", id=session), hint=hint)
    if not others:
        return UnknownId(msg("no session is known here"), hint=hint)
    project = kb.caller_scope.removeprefix("project/")
    return UnknownId(
        msg("no session of {project} is known here, only those of other projects", project=project),
        hint=msg("name the transcript, a JSONL file, or one of those sessions: {id}", id=others[0].session),
    )


def iter_project_sessions(kb: Workspace, found: Sequence[KnownSession], scope: str) -> Iterator[KnownSession]:
    """Yield the sessions of *found* that worked in the project *scope*; for a folder of no project, then the others."""
    yield from (heard for heard in found if _find_scope(kb, heard) == scope)
    if scope in ("", GLOBAL):
        yield from found


def find_running_session(kb: Workspace, session: str) -> str:
    """Return the id of the session that runs and whose id begins with *session*; raise UnknownId for none or several.

    One of which kb knows no transcript is running as well.
    """
    beginning = sanitise_session_id(session)
    place = kb.state.path("active")
    names = [name for name in os.listdir(place) if name.startswith(beginning)] if os.path.isdir(place) else []
    if beginning in names or len(names) == 1:
        return beginning if beginning in names else names[0]
    if names:
        choices = ", ".join(sorted(names)[:10])
        raise UnknownId(msg("{id} names several sessions: {choices}", id=session, choices=choices),
                        hint=msg("name one of them"))  # fmt: skip
    raise UnknownId(msg("no running session has an id that begins with {id}", id=session),
                    hint=msg("leave --session out for the last session of this project"))  # fmt: skip


def list_known_sessions(kb: Workspace, session: str = "") -> list[KnownSession]:
    """Return the sessions whose ids begin with *session* and whose transcripts are there, the latest first."""
    found: dict[tuple[str, str], KnownSession] = {}
    times: dict[tuple[str, str], float] = {}
    for folder in ("pending", "cursors"):
        place = kb.state.path(folder)
        for name in os.listdir(place) if os.path.isdir(place) else ():
            kept = kb.state.load(folder, name) if name.endswith(".json") else None
            path = kept.get("transcript") if isinstance(kept, dict) else None
            with contextlib.suppress(OSError, ValueError):
                if isinstance(kept, dict) and isinstance(path, str) and os.path.isfile(path):
                    key = name.partition(".")[0], path
                    times[key] = os.stat(path).st_mtime
                    found[key] = KnownSession(*key, str(kept.get("scope") or ""), str(kept.get("folder") or ""))
    wanted = (key for key in found if key[0].startswith(session))
    return [found[key] for key in sorted(wanted, key=lambda key: (times[key], key), reverse=True)]


def _find_scope(kb: Workspace, heard: KnownSession) -> str:
    """Return the project in which the session *heard* worked: by what is kept of it, or by its transcript; or ""."""
    if heard.scope:
        return heard.scope
    folder = heard.folder
    if not folder:
        with contextlib.suppress(OSError), open(heard.transcript, "rb", opener=open_nonblocking) as file:
            folder = transcripts.parse_transcript(file.read(_HEAD)).cwd
    return kb.project(folder) if folder else ""


# -- what is put off ------------------------------------------------------------------------------


class ExtractionJob(NamedTuple):
    """The wish to extract from a transcript."""

    transcript: str
    session: str = ""
    folder: str = ""
    host: str = ""
    agent: str = ""


def postpone_job(state: StateFolder, job: ExtractionJob) -> None:
    """Remember an extraction that is to be made; `list_postponed` names it until it is done."""
    state.save(job._asdict(), "pending", _build_job_name(job.session, job.agent))


def list_postponed(kb: Workspace, session: str = "") -> list[ExtractionJob]:
    """Return what was put off: by *session* and its sub-agents, or by all."""
    try:
        names = sorted(os.listdir(kb.state.path("pending")))
    except OSError:
        return []
    beginning = f"{sanitise_session_id(session)}." if session else ""
    kept = [kb.state.load("pending", name) for name in names if name.startswith(beginning) and name.endswith(".json")]
    return [job for value in kept if (job := _parse_job(value))]


def remove_postponed(kb: Workspace, session: str, agent: str = "") -> None:
    """Forget what *session* or its *agent* had put off."""
    with contextlib.suppress(OSError):
        os.unlink(kb.state.path("pending", _build_job_name(session, agent)))


def _build_job_name(session: str, agent: str) -> str:
    return f"{sanitise_session_id(session)}.{sanitise_session_id(agent) if agent else ''}.json"


def _parse_job(value: object) -> ExtractionJob | None:
    if not isinstance(value, dict) or not all(isinstance(value.get(field), str) for field in ExtractionJob._fields):
        return None
    return ExtractionJob(**{field: value[field] for field in ExtractionJob._fields})


def spool_session(state: StateFolder, job: ExtractionJob, now: float) -> bool:
    """Spool the wish to archive a session, once for each transcript; tell whether that was new.

    This asks nothing of the knowledge base but a folder to write to, and where there is none, the user's.
    """
    for path in state.list_spooled():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            with open(path, encoding="utf-8", opener=open_nonblocking) as file:
                kept = (state.unwrap_job(path, json.load(file)) or {}).get("save") or {}
            if (kept.get("transcript"), kept.get("session")) == (job.transcript, job.session):
                return False
    wish = {"transcript": job.transcript, "session": job.session, "folder": job.folder, "host": job.host}
    state.spool_job(now, {"save": wish})
    return True


def list_stale_files(state: StateFolder, now: float) -> list[str]:
    """Return the files and folders of sessions that have been still for 30 days and will not go on."""
    found = []
    for folder in ("active", "cursors", "pending"):
        with contextlib.suppress(OSError), os.scandir(state.path(folder)) as entries:
            found += [entry.path for entry in entries if entry.stat().st_mtime < now - LONGEST_STAY]
    return sorted(found)
