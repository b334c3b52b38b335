"""State of a running session: compact form, passing notes, the cursor of its transcript.

Every session, and every sub-agent of one, has files of its own, so that parallel sessions never share one.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput, KbError
from kb.files import json_bytes, open_nonblocking, read_if_exists, remove_folder, resolve_within, write_atomic
from kb.i18n import msg
from kb.records.candidate import build_candidates, candidate_to_json
from kb.records.kinds import CONTENT, TREE, sanitise_session_id
from kb.records.model import Candidate, SimilarRecord, Verdict
from kb.safety import redaction
from kb.sessions.host_input import has_content, read_transcript
from kb.state.session_log import TOLD
from kb.state.state_folder import CURSORS, StateFolder
from kb.text.segment import normalise

if TYPE_CHECKING:
    from typing import Any

    from kb.sessions.transcript import Transcript
    from kb.workspace import Workspace

NOTES = "notes.jsonl"
_WRITTEN_VERDICTS = ("created", "updated", "appended")
"""The verdicts that made a record, or added to one."""
_MAX_LATER = 6
"""Records written after a compact form was made that are named after it, the latest."""
MAX_AGE_SECONDS = 30 * 86_400
"""Seconds after which the files of a session are of no use: hosts delete their transcripts after 30 days."""


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
        agents = [sanitise_session_id(agent)] if agent else []
        self._active = ("active", self.name, *(("agents", *agents) if agent else ()))
        *folders, last = CURSORS, self.name, *agents
        self._cursor = (*folders, f"{last}.json")

    @property
    def is_open(self) -> bool:
        """Whether the session has files of its own now: it has begun and not ended."""
        return os.path.isdir(self._kb.state.path(*self._active))

    @property
    def is_session_running(self) -> bool:
        """Whether the session itself runs, be these the files of one of its sub-agents."""
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
        return self._kb.state.load(*self._cursor) or {}

    def move_cursor(self, cursor: dict[str, Any], rows: Sequence[JudgedCandidate]) -> None:
        """Keep how far the session is extracted, and what it has brought; both without secrets."""
        masking = self._kb.config.masking
        kept = []
        for candidate, verdict in rows:
            clean = redaction.redact_candidate(candidate, masking)[0]
            kept.append({"candidate": candidate_to_json(clean), "verdict": verdict._asdict()})
        self._kb.state.save({**cursor, "rows": kept}, *self._cursor)

    def add_judged(self, rows: Sequence[JudgedCandidate]) -> None:
        """Add *rows* to what the session has brought: they are in its forms and in its archive, and are no records."""
        transcript = str(self.load_cursor().get("transcript") or self.session)
        with self._kb.state.hold_lock(os.path.realpath(transcript)):
            cursor = self.load_cursor()
            self.move_cursor(cursor, merge_judged(parse_judged(cursor), rows))

    def add_passed_over(self, rows: Sequence[tuple[str, str]], most: int) -> None:
        """Add text and reason of what the session brought and nothing was made of; the newest *most* are kept."""
        transcript = str(self.load_cursor().get("transcript") or self.session)
        with self._kb.state.hold_lock(os.path.realpath(transcript)):
            cursor = self.load_cursor()
            masked = [[redaction.redact_text(text, self._kb.config.masking)[0], reason] for text, reason in rows]
            kept = [*(one for one in cursor.get("passed_over") or [] if one not in masked), *masked]
            self._kb.state.save({"time": self._kb.now(), **cursor, "passed_over": kept[-most:]}, *self._cursor)

    def save_compact(self, compact: str, scope: str, folder: str) -> None:
        """Keep the compact form and whose it is (SHI-02, SHI-03)."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(self._kb.now()))
        project = scope.removeprefix("project/")
        about = {"session_id": self.session, "project": project, "cwd": folder, "timestamp": when}
        self._kb.state.ensure_folder()
        write_atomic(self._kb.state.path(*self._active, "compact.md"), compact.encode())
        write_atomic(self._kb.state.path(*self._active, "metadata.json"), json_bytes(about, indent=1))
        save_current_form(self._kb, "compact", compact)

    def add_notes(self, passing: Iterable[Candidate]) -> None:
        """Keep what holds for this session only (中业: RUYI-12); it goes when the session ends."""
        known = self.load_notes()
        clean = [redaction.redact_candidate(candidate, self._kb.config.masking)[0] for candidate in passing]
        if new := [candidate for candidate in clean if not is_repeated(candidate, known)]:
            lines = [json_bytes(candidate_to_json(candidate)) + b"\n" for candidate in (*known, *new)]
            self._kb.state.ensure_folder()
            write_atomic(self._kb.state.path(*self._active, NOTES), b"".join(lines))

    def load_notes(self) -> list[Candidate]:
        """Return what was noted for this session only."""
        try:
            with open(self._kb.state.path(*self._active, NOTES), encoding="utf-8") as file:
                return build_candidates([json.loads(line) for line in file])
        except (OSError, ValueError, KbError):
            return []

    def remove_files(self) -> None:
        """Take the session's files away, as it has ended; its cursor stays, in case it is resumed."""
        with contextlib.suppress(OSError):
            remove_folder(self._kb.state.path(*self._active))
        if self._kb.config.layout == "project":  # a session beside it writes its own again with its next save
            with contextlib.suppress(OSError):
                remove_folder(resolve_within(self._kb.root, f"{TREE}/current"))


def save_current_form(kb: Workspace, form: str, text: str) -> None:
    """Keep *form* of the running session in the tree of one project as well, where that layout is wanted (RUYI-04).

    *form* is the name of a form, or of the report of pruning.
    """
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
            rows.append(JudgedCandidate(build_candidates(kept["candidate"])[0], verdict))
    return rows


def parse_kept_candidates(value: object) -> list[Candidate]:
    """Return the candidates that a cursor keeps; [] for what cannot be read."""
    try:
        return build_candidates(value) if isinstance(value, list) and value else []
    except (KbError, TypeError, ValueError):
        return []


def is_repeated(candidate: Candidate, earlier: Iterable[Candidate]) -> bool:
    """Return whether *earlier* has the same thing said in the same words."""
    key = (candidate.kind, normalise(candidate.title), normalise(candidate.decision))
    return any(key == (one.kind, normalise(one.title), normalise(one.decision)) for one in earlier)


def merge_judged(known: Sequence[JudgedCandidate], rows: Iterable[JudgedCandidate]) -> list[JudgedCandidate]:
    """Return *known* and after it those of *rows* that say something new."""
    candidates = [row.candidate for row in known]
    return [*known, *(row for row in rows if not is_repeated(row.candidate, candidates))]


def map_record_ids(rows: Iterable[JudgedCandidate]) -> dict[str, str]:
    """Return the ids of records by the titles of what became them; what waits in the inbox is no record yet."""
    return {row.candidate.title: row.verdict.id for row in rows if row.verdict.id and row.verdict.verdict != "held"}


def load_compact(kb: Workspace, session: str) -> str:
    """Return the compact form of a session: its own while it runs, later that of its last archive; "" without one.

    What the session handed over after the form was made is named after it.
    """
    active = ActiveSession(kb, session)
    cursor, text = active.load_cursor(), ""
    paths = [kb.state.path("active", active.name, "compact.md")]
    if archive := str(cursor.get("archive") or ""):
        paths.append(resolve_within(kb.root, f"{CONTENT}/sessions/{archive}/compact.md"))
    for path in paths:
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
            text = file.read()
            break
    rows = [row.verdict for row in parse_judged(cursor) if row.verdict.verdict in _WRITTEN_VERDICTS]
    later = [f"- [{one.id}] {one.title}" for one in rows if text and one.id not in text and one.title not in text]
    if not later:
        return text
    return "\n".join([text.rstrip(), "", kb.localise(msg("written since then:")), *later[-_MAX_LATER:], ""])


# -- sub-agents ------------------------------------------------------------------------------------


def add_agent_results(
    kb: Workspace, job: ExtractionJob, scope: str, found: Sequence[JudgedCandidate], transcript: Transcript
) -> None:
    """Add what the sub-agent of *job* *found* to its session: to its compact form, and after the expanded (RUYI-51).

    A session that has ended gets no forms any more; what its agents found is in the store all the same.
    """
    from kb.sessions.forms import COMPACT, FormFacts
    from kb.sessions.render_forms import mask_transcript, render_form
    from kb.sessions.transcript import parse_transcript

    active = ActiveSession(kb, job.session)
    # the session's transcript: as kb knows it, or where the host keeps those of its agents below it
    known = str(active.load_cursor().get("transcript") or "")
    around = os.path.dirname(os.path.dirname(job.transcript)) + ".jsonl"
    parent = next((path for path in (known, around) if has_content(path)), "")
    # without it there is no session to add to; what the agent found is in the store by now
    if not parent:
        return
    with kb.state.hold_lock(os.path.realpath(parent)):
        cursor = active.load_cursor()
        rows = merge_judged(parse_judged(cursor), found)
        kept = {key: value for key, value in cursor.items() if key != "rows"}
        active.move_cursor({"transcript": parent, "folder": job.folder, **kept}, rows)
        with contextlib.suppress(BadInput):
            masked = mask_transcript(parse_transcript(read_transcript(parent)), kb.config.masking)
            made = [row.verdict.id for row in rows if row.verdict.verdict in _WRITTEN_VERDICTS]
            brought = [*(row.candidate for row in rows), *active.load_notes()]
            compact = render_form(kb, COMPACT, masked, FormFacts(tuple(brought), tuple(made))).text
            active.save_compact(compact, scope, job.folder)
        own = FormFacts(tuple(row.candidate for row in found))
        compact = render_form(kb, COMPACT, transcript, own).text
        _append_agent_section(kb, active, sanitise_session_id(job.agent), compact)


def _append_agent_section(kb: Workspace, active: ActiveSession, agent: str, compact: str) -> None:
    """Put what *agent* did after the expanded form, in place of what stood there of it before."""
    path = kb.state.path("active", active.name, "expanded.md")
    before = (read_if_exists(path) or b"").decode("utf-8", "replace")
    start, end = f"<!-- agent {agent} -->", f"<!-- end of agent {agent} -->"
    above, _, rest = before.partition(start)
    below = rest.partition(end)[2]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(kb.now()))
    section = f"{start}\n## {agent} · {when}\n\n{compact.strip()}\n{end}"
    text = "\n\n".join(filter(None, (above.strip(), below.strip(), section))) + "\n"
    write_atomic(path, text.encode("utf-8", "replace"))


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
    jobs = [[job.get(field) for field in ExtractionJob._fields] for job in kept if job]
    return [ExtractionJob(*values) for values in jobs if all(isinstance(value, str) for value in values)]


def remove_postponed(kb: Workspace, session: str, agent: str = "") -> None:
    """Forget what *session* or its *agent* had put off."""
    with contextlib.suppress(OSError):
        os.unlink(kb.state.path("pending", _build_job_name(session, agent)))


def _build_job_name(session: str, agent: str) -> str:
    return f"{sanitise_session_id(session)}.{sanitise_session_id(agent) if agent else ''}.json"


def spool_session(state: StateFolder, job: ExtractionJob, now: float) -> bool:
    """Spool the wish to archive a session, once for each transcript; return whether that was new.

    This asks nothing of the knowledge base but a folder to write to, and where there is none, the user's.
    """
    for path in state.list_spooled():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            with open(path, encoding="utf-8", opener=open_nonblocking) as file:
                kept = (state.unwrap_job(path, json.load(file)) or {}).get("save") or {}
            if (kept.get("transcript"), kept.get("session")) == (job.transcript, job.session):
                return False
    state.spool_job(now, {"save": {name: value for name, value in job._asdict().items() if name != "agent"}})
    return True


def list_stale_files(state: StateFolder, now: float) -> list[str]:
    """Return the files and folders of sessions that have not changed for 30 days and will not go on."""
    found = []
    for folder in ("active", CURSORS, "pending", "handover", TOLD):
        with contextlib.suppress(OSError), os.scandir(state.path(folder)) as entries:
            found += [entry.path for entry in entries if entry.stat().st_mtime < now - MAX_AGE_SECONDS]
    return sorted(found)
