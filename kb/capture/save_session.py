"""What a session leaves behind: candidates through the gate, the compact form, an archive, and the session index.

A transcript only grows. Its cursor says how far it is extracted; every part of it is extracted once, and the archive
tells of all parts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.capture import extract
from kb.capture.consent import consult_proposals, settle_proposals
from kb.capture.session_candidates import candidates_of
from kb.errors import BadInput, Busy, GitFailed, KbError
from kb.files import json_bytes
from kb.i18n import Message, msg
from kb.records.candidate import as_json
from kb.records.model import GLOBAL, Candidate, Verdict
from kb.records.record_paths import CONTENT
from kb.safety import redaction
from kb.sessions import active_sessions, archive_reports, subagents
from kb.sessions import session_archive as archives
from kb.sessions import transcript as transcripts
from kb.sessions.active_sessions import Desk, Job, Row
from kb.sessions.facts import Progress, where_it_stands
from kb.sessions.forms import EXPANDED, NORMAL
from kb.sessions.render_forms import Known, compact_of, masked, written
from kb.sessions.transcript import TranscriptMessage
from kb.sessions.transcript_files import has_words as has_words
from kb.sessions.transcript_files import read_transcript as read_transcript
from kb.state.state_folder import State, write_whole
from kb.text.segment import slugify
from kb.writing.karma import NEUTRAL, karma
from kb.writing.pipeline import write
from kb.writing.spool import spool

if TYPE_CHECKING:
    from kb.workspace import Workspace

_HEAD = 4096
"""Bytes of its first line by which a transcript is known: another file in its place is read from its beginning."""

LARGEST_EXPANDED = 200_000
"""Bytes of an expanded form that is archived in git; a larger one stays in the state folder of the clone."""


class Saved(NamedTuple):
    """What saving a session did."""

    session: str
    compact: str
    candidates: tuple[Candidate, ...]
    """What this call found; what earlier calls found is in the archive."""
    verdicts: tuple[Verdict, ...]
    archive: str
    """The archive's name; "" where there is none."""
    notes: tuple[str, ...]
    kept: str = ""
    """Why git refused to take the session, and the next step; "" where it took it. It lands with a later call."""


def save(
    kb: Workspace, path: str, *, session: str = "", folder: str = "", host: str = "", agent: str = "",
    archive: bool = True, full: bool = False, landing: str = "", answer: str = "",
) -> Saved:  # fmt: skip
    """Extract candidates from the transcript *path*, put them through the gate, and keep what the session was about.

    For the same state of the transcript the second call changes nothing. With *archive* False, and for a sub-agent
    (*agent*), nothing is archived; with *full* all three forms are. *landing* names the spooled job that this
    lands. When the repository cannot take the session now, the wish to save it is spooled. *answer* is the agent's
    last, which the host may not have written to the file yet.
    """
    job = Job(path, session, folder, host, agent)
    with kb.state.alone(os.path.realpath(path)):
        saving = _Saving(kb, job, archive=archive and not agent, full=full, landing=landing, answer=answer)
        saved = saving.run()
    saving.tell_session()
    if saved.archive:
        archives.sessions(kb)
    if not agent:
        extra = catch_up(kb, saved.session, landing=landing)
        saved = saved._replace(verdicts=(*saved.verdicts, *extra))
    return saved


class _Saving:
    """One call of `save`, under the lock of its transcript."""

    def __init__(
        self, kb: Workspace, job: Job, *, archive: bool, landing: str, full: bool = False, answer: str = ""
    ) -> None:
        """Read the transcript, and what is known of the session."""
        data = read_transcript(job.transcript)
        self.kb = kb
        self.archive = archive
        self.full = full
        self.notes: list[str] = []
        self.landing = landing
        self.state = sha256(data).hexdigest()
        self.head = sha256(data[: data.find(b"\n") + 1][:_HEAD]).hexdigest()
        read = transcripts.read(data)
        whole = transcripts.add_answer(read, answer)
        self.is_late = len(whole.messages) > len(read.messages)
        self.transcript = masked(whole, kb.config.masking)
        session = job.session or self.transcript.session_id or os.path.basename(job.transcript).partition(".")[0]
        self.job = job._replace(session=session, folder=job.folder or self.transcript.cwd)
        self.desk = Desk(kb, session, job.agent)
        self.before = self.desk.cursor()
        self.scope = self._scope()
        self.rows = active_sessions.rows_of(self.before)
        self.new: list[Row] = []
        self.asked: list[Candidate] = []
        """What the person is being asked about: it is written or dropped once they have answered."""
        self.compact = ""
        self.stands: Progress | None = None
        self.shelf = ""

    def _scope(self) -> str:
        """Return the scope of the session's folder, which may be gone by now."""
        folder, known = self.job.folder, str(self.before.get("scope") or "")
        if known and not os.path.isdir(folder):
            return known
        return self.kb.project(folder) if folder else GLOBAL

    def run(self) -> Saved:
        """Extract what is new, write it, archive the whole, and move the cursor."""
        if not self.transcript.messages:
            active_sessions.done(self.kb, self.job.session, self.job.agent)
            return self._saved((), (), self.kb.words(msg("the transcript has no message")))
        if self.archive and self.before.get("archived") == self.state and self._has_forms():
            self.shelf = str(self.before.get("archive", ""))
            if not self.before.get("asked"):
                self.compact = active_sessions.active_compact(self.kb, self.job.session)
                return self._saved((), (), self.kb.words(msg("saved already")))
            self.archive = False
        found, notes = self._found()
        lasting = [candidate for candidate in found if karma(candidate) != NEUTRAL]
        passing = [candidate for candidate in found if karma(candidate) == NEUTRAL]
        self._show(lasting, passing)
        try:
            verdicts = self._write(lasting, passing)
        except (Busy, GitFailed) as trouble:
            if self.landing:
                raise
            return self._later(trouble, lasting, notes)
        self.new = list(map(Row, lasting, verdicts))
        settle_proposals(self.kb, self.new)
        self.rows += self.new
        self._show()
        self._move_cursor()
        return self._saved((*lasting, *passing), verdicts, *notes, *self.notes)

    def tell_session(self) -> None:
        """Tell the session what its sub-agent found; no longer under the lock of the sub-agent's transcript."""
        if self.job.agent and self.desk.belongs_to_running:
            subagents.returned(self.kb, self.job, self.scope, self.new, self.transcript)

    def _has_forms(self) -> bool:
        """Return whether the archive of before holds the forms that are wanted now."""
        shelf = str(self.before.get("archive", ""))
        return not self.full or os.path.isfile(os.path.join(self.kb.root, CONTENT, "sessions", shelf, "normal.md"))

    def _saved(self, found: Iterable[Candidate], verdicts: Iterable[Verdict], *notes: str) -> Saved:
        return Saved(self.job.session, self.compact, tuple(found), tuple(verdicts), self.shelf, notes)

    def _found(self) -> tuple[list[Candidate], list[str]]:
        """Return what the transcript has behind the cursor and the session has not said before."""
        same = self.before.get("transcript") == self.job.transcript
        after = int(self.before.get("line", 0)) if same and self.before.get("head", self.head) == self.head else 0
        asked = active_sessions.candidates_kept(self.before.get("asked"))
        if after == self.transcript.lines and not self.is_late:
            return self._decided(asked), []
        after = after if after <= self.transcript.lines else 0
        found, notes = candidates_of(self.kb, self.transcript, after, self.job.session, self.job.host)
        counted = [m.line for m in self.transcript.messages if m.line > after and _digest(m) == self.before.get("late")]
        found = [c for c in found if not (counted and c.evidence) or any(e.line not in counted for e in c.evidence)]
        notes += [self.kb.words(_left_out(*broken)) for broken in extract.broken_blocks(self.transcript, after)]
        known = [row.candidate for row in self.rows]
        safe = [redaction.redacted(candidate, self.kb.config.masking)[0] for candidate in found]
        new = [candidate for candidate in safe if not active_sessions.said_before(candidate, [*known, *asked])]
        placed = [c._replace(scope=c.scope or self.scope) for c in new]
        return self._decided([*asked, *placed]), [redaction.redact(note)[0] for note in notes]

    def _decided(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return those of *candidates* that the gate may judge: a person's word on a proposal comes before it.

        While the session runs, what the person is being asked about waits for the answer; later nobody will answer.
        """
        has_ended = bool(self.landing) and not self.desk.belongs_to_running
        made = consult_proposals(self.kb, candidates, "" if has_ended else self.job.session)
        self.asked = made.waiting
        return made.free

    def _show(self, lasting: Sequence[Candidate] = (), passing: Sequence[Candidate] = ()) -> None:
        """Keep the compact form where the running session finds it again; one that has ended gets none."""
        if self.job.agent or (self.landing and not self.desk.is_open):
            return
        self.desk.note(passing)
        self.compact = self._compact([*lasting, *self.desk.notes()])
        self.desk.show(self.compact, self.scope, self.job.folder)

    def _now(self) -> Progress:
        """Return where the session stands: up to three compact forms of one call tell it."""
        self.stands = self.stands or where_it_stands(self.transcript)
        return self.stands

    def _compact(self, more: Sequence[Candidate]) -> str:
        made = [row.verdict.id for row in self.rows if row.verdict.verdict in ("created", "updated", "appended")]
        return compact_of(self.kb, self.transcript, [*(row.candidate for row in self.rows), *more], made, self._now())

    def _write(self, lasting: Sequence[Candidate], passing: Sequence[Candidate]) -> list[Verdict]:
        candidates = [*lasting, *passing]
        if not candidates and not self.archive:
            return []
        folder = self.job.folder if os.path.isdir(self.job.folder) else ""
        subject = f"Archive session {self.desk.name[:8]}"

        def files(verdicts: Sequence[Verdict]) -> dict[str, bytes]:
            return self._files(list(map(Row, lasting, verdicts))) if self.archive else {}

        return write(self.kb, candidates, folder=folder, subject=subject, beside=files, landing=True, job=self.landing)

    def _files(self, new: list[Row]) -> dict[str, bytes]:
        """Return the three files of an archive (SHI-04, SHI-05, SHI-06); what holds for the session only is in none."""
        kb, rows = self.kb, [*self.rows, *new]
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(kb.now()))
        self.shelf = archives.free_name(kb, slugify(self.scope.removeprefix("project/")), self.desk.name)
        made = [row.verdict.id for row in rows if row.verdict.verdict in ("created", "updated", "appended")]
        compact = compact_of(kb, self.transcript, [row.candidate for row in rows], made, self._now())
        hui = archive_reports.hui_output(
            self.transcript, candidates=[row.candidate for row in rows], compact_md=compact, timestamp=when,
            project_path=self.job.folder,
        )  # fmt: skip
        hui["session_id"] = self.job.session
        place = f"{CONTENT}/sessions/{self.shelf}/"
        report = redaction.redact(_report(kb, self.job.transcript), kb.config.masking)[0]
        return {
            **(self._forms(place, rows) if self.full else {}),
            **({place + "dcp-report.md": report.encode()} if report else {}),
            place + "compact.md": compact.encode(),
            place + "hui-output.json": _masked_json(kb, hui),
            place + "shi-result.json": _masked_json(kb, archive_reports.shi_result([row.verdict for row in rows])),
        }

    def _forms(self, place: str, rows: list[Row]) -> dict[str, bytes]:
        """Return the normal and the expanded form for the archive; one too large for git stays in this clone."""
        made = {row.candidate.title: row.verdict.id for row in rows if row.verdict.id}
        known = Known(tuple(row.candidate for row in rows), tuple(made.values()), made)
        transcript = masked(self.transcript, self.kb.config.masking, everything=True)
        files = {}
        for form in (NORMAL, EXPANDED):
            formed = written(self.kb, form, transcript, known)
            self.notes += formed.notes
            files[f"{place}{form}.md"] = formed.text.encode("utf-8", "replace")
        if len(files[f"{place}{EXPANDED}.md"]) > LARGEST_EXPANDED:
            local = self.kb.state.path(EXPANDED, f"{self.shelf}.md")
            write_whole(local, files.pop(f"{place}{EXPANDED}.md"))
            stays = msg("the expanded form is larger than {limit} bytes and stays in this clone: {path}",
                        limit=LARGEST_EXPANDED, path=local)  # fmt: skip
            self.notes.append(self.kb.words(stays))
        return files

    def _later(self, trouble: Busy | GitFailed, lasting: Sequence[Candidate], notes: Sequence[str]) -> Saved:
        """Leave the work to the next call that can commit it.

        Who is busy will be done by then; what git refuses ("failed to sign") a person has to mend, so it is told.
        """
        words = self.kb.words
        stays = words(msg("the session is kept and lands with the next call"))
        problem, way_out = words(trouble.message), words(trouble.hint) or words(msg("see: kb doctor"))
        kept = f"{problem}; {stays}\n→ {way_out}" if isinstance(trouble, GitFailed) else ""
        reasons = (*notes, problem, stays)
        if not self.job.agent:
            active_sessions.leave(self.kb.state, self.job, self.kb.now())
            active_sessions.done(self.kb, self.job.session)
            return self._saved((), (), *reasons)._replace(kept=kept)
        verdicts = spool(self.kb, lasting, self.job.folder, trouble) if lasting else []
        self._move_cursor()
        return self._saved(lasting, verdicts, *reasons)._replace(kept=kept)

    def _move_cursor(self) -> None:
        cursor = {
            "transcript": self.job.transcript, "line": self.transcript.lines, "time": self.kb.now(),
            "head": self.head, "scope": self.scope,
            "archived": self.state if self.archive else self.before.get("archived", ""),
            "archive": self.shelf or self.before.get("archive", ""), "asked": list(map(as_json, self.asked)),
            "late": _digest(self.transcript.messages[-1]) if self.is_late else "",
        }  # fmt: skip
        self.desk.move_cursor(cursor, self.rows)
        active_sessions.done(self.kb, self.job.session, self.job.agent)


# -- when ------------------------------------------------------------------------------------------


def due(kb: Workspace, session: str, agent: str = "") -> bool:
    """Return whether the last extraction from *session* is long enough ago (`pause`, 30 s by default: ZCLAW-15)."""
    last = float(Desk(kb, session, agent).cursor().get("time") or 0)
    return not last <= kb.now() < last + kb.config.pause


def catch_up(kb: Workspace, session: str = "", *, landing: str = "") -> list[Verdict]:
    """Extract what was put off, by *session* and its sub-agents or by all, and return the verdicts."""
    verdicts: list[Verdict] = []
    for job in active_sessions.waiting(kb, session):
        if not session and not due(kb, job.session, job.agent):
            continue
        try:
            with kb.state.alone(os.path.realpath(job.transcript)):
                saving = _Saving(kb, job, archive=False, landing=landing)
                verdicts += saving.run().verdicts
            saving.tell_session()
        except BadInput:
            pass
        active_sessions.done(kb, job.session, job.agent)
    return verdicts


def end(kb: Workspace, path: str, *, session: str, folder: str = "", host: str = "") -> None:
    """Spool the saving of a session that ends, and take away what it had while it ran, its passing notes among it."""
    if has_words(path):
        active_sessions.leave(kb.state, Job(path, session, folder, host), kb.now())
    Desk(kb, session).clear()


def keep_for_later(root: str, environment: Mapping[str, str], job: Job) -> bool:
    """Keep the wish to save a session or to extract from a sub-agent, even where the knowledge base cannot be opened.

    Return whether it is kept.
    """
    if not has_words(job.transcript):
        return False
    state = State(os.path.realpath(root), environment)
    if job.agent:
        active_sessions.postpone(state, job)
    else:
        active_sessions.leave(state, job, time.time())
    return True


# -- what a transcript says --------------------------------------------------------------------------


def _left_out(line: int, problem: Message | str) -> Message:
    return msg("line {line}: a kb block is left out: {problem}", line=line, problem=problem)


def _report(kb: Workspace, path: str) -> str:
    """Return the report of the pruning before an archive; settings that cannot be used keep no session from it."""
    from kb.sessions.prune_transcript import report_before_archiving

    try:
        return report_before_archiving(kb, path)
    except KbError as error:
        return error.translate(kb.config.language) + "\n"


def _digest(message: TranscriptMessage) -> str:
    return sha256("\n".join(message.texts).encode("utf-8", "replace")).hexdigest()


def _masked_json(kb: Workspace, value: object) -> bytes:
    return json_bytes(redaction.masked(value, kb.config.masking), indent=1) + b"\n"
