"""Save a session: candidates through the gate, the compact form, an archive, and the session index.

A transcript only grows. Its cursor says how far it is extracted; every part of it is extracted once, and the archive
covers all parts.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.extract import find_candidates, list_broken_blocks
from kb.capture.refusals import (
    MAX_PASSED_OVER,
    PASSED_OVER,
    close_written_proposals,
    consult_proposals,
    find_passed_over,
)
from kb.capture.reports import build_report_files
from kb.context.give_hints import note_questions
from kb.errors import BadInput, Busy, GitFailed, KbError
from kb.files import json_bytes, write_atomic
from kb.i18n import msg
from kb.records.candidate import candidate_to_json
from kb.records.kinds import CONTENT
from kb.records.model import GLOBAL, Candidate, Verdict
from kb.safety import redaction
from kb.sessions import active_sessions, session_archive
from kb.sessions.active_sessions import ActiveSession, ExtractionJob, JudgedCandidate, map_record_ids
from kb.sessions.forms import COMPACT, EXPANDED, NORMAL, FormFacts
from kb.sessions.host_input import has_content, read_transcript
from kb.sessions.progress import find_progress
from kb.sessions.render_forms import build_hui_output, build_shi_result, mask_remarks, mask_transcript, render_form
from kb.sessions.trackers import SessionProgress, count_tools
from kb.sessions.transcript import AGENT, Transcript, TranscriptMessage, get_prompt, parse_transcript
from kb.state.state_folder import StateFolder
from kb.text.segment import slugify
from kb.writing.pipeline import write
from kb.writing.quality import NEUTRAL, classify_karma
from kb.writing.spool import spool_candidates

if TYPE_CHECKING:
    from kb.workspace import Workspace

_HEAD_BYTES = (
    4096  # bytes of its first line by which a transcript is known: another file in its place is read from the start
)
_WRITTEN_VERDICTS = ("created", "updated", "appended")
MAX_EXPANDED_BYTES = 200_000
"""Bytes of an expanded form that is archived in git; a larger one stays in the state folder of the clone."""


class SessionReading(NamedTuple):
    """A session that is being saved, as the features above hear of it."""

    job: ExtractionJob
    scope: str
    transcript: Transcript
    rows: Sequence[JudgedCandidate]
    """What it brought so far."""


_MAX_TOOLS = 20
"""Tools and programs whose calls are counted for the profile, the most called; they stay in the clone."""


class SavedSession(NamedTuple):
    """What saving a session did."""

    session: str
    compact: str
    candidates: tuple[Candidate, ...]  # what this call found; what earlier calls found is in the archive
    verdicts: tuple[Verdict, ...]
    archive: str  # its name; "" where there is none
    notes: tuple[str, ...]
    kept: str = ""
    """Why git refused to take the session, and the next step; "" where it took it. It lands with a later call."""


def save(
    kb: Workspace, job: ExtractionJob, *, archive: bool = True, full: bool = False, landing: str = "", answer: str = ""
) -> SavedSession:
    """Extract candidates from the transcript of *job*, put them through the gate, and keep what the session was about.

    For the same state of the transcript the second call changes nothing. With *archive* False, and for a sub-agent,
    nothing is archived; with *full* all three forms are. *landing* names the spooled job that this lands. When the
    repository cannot take the session now, the request to save it is spooled. *answer* is the agent's last, which the
    host may not have written to the file yet.
    """
    saved = _run_save(kb, job, archive=archive and not job.agent, full=full, landing=landing, answer=answer)
    if saved.archive:
        session_archive.list_sessions(kb)
    if job.agent:
        return saved
    return saved._replace(verdicts=(*saved.verdicts, *extract_postponed(kb, saved.session, landing=landing)))


def extract_postponed(kb: Workspace, session: str = "", *, landing: str = "") -> list[Verdict]:
    """Extract what was put off, by *session* and its sub-agents or by all, and return the verdicts."""
    verdicts: list[Verdict] = []
    for job in active_sessions.list_postponed(kb, session):
        if not session and not is_due(kb, job.session, job.agent):
            continue
        with contextlib.suppress(BadInput):
            verdicts += _run_save(kb, job, archive=False, landing=landing).verdicts
        active_sessions.remove_postponed(kb, job.session, job.agent)
    return verdicts


def is_due(kb: Workspace, session: str, agent: str = "") -> bool:
    """Return whether the last extraction from *session* is long enough ago (`pause`, 30 s by default: ZCLAW-15)."""
    last = float(ActiveSession(kb, session, agent).load_cursor().get("time") or 0)
    return not last <= kb.now() < last + kb.config.pause


def spool_ended_session(kb: Workspace, job: ExtractionJob) -> None:
    """Spool the saving of a session that ends, and take away what it had while it ran, its passing notes among it.

    A short session may end before its host has written the transcript: it is looked for when the job lands.
    """
    if job.transcript and (has_content(job.transcript) or not os.path.exists(job.transcript)):
        active_sessions.spool_session(kb.state, job, kb.now())
    ActiveSession(kb, job.session).remove_files()


def spool_for_later(root: str, environment: Mapping[str, str], job: ExtractionJob) -> bool:
    """Spool the saving of a session, or put off a sub-agent's, even where the knowledge base cannot be opened.

    Return whether there was anything to keep.
    """
    if not has_content(job.transcript):
        return False
    state = StateFolder(os.path.realpath(root), environment)
    if job.agent:
        active_sessions.postpone_job(state, job)
    else:
        active_sessions.spool_session(state, job, time.time())
    return True


def _run_save(
    kb: Workspace, job: ExtractionJob, *, archive: bool, full: bool = False, landing: str = "", answer: str = ""
) -> SavedSession:
    with kb.state.hold_lock(os.path.realpath(job.transcript)):
        saving = _SessionSave(kb, job, archive=archive, full=full, landing=landing, answer=answer)
        saved = saving.run()
    # The session's own transcript has a lock too: two sub-agents that held theirs would wait for each other.
    if job.agent and saving.active.is_session_running:
        active_sessions.add_agent_results(kb, saving.job, saving.scope, saving.new, saving.transcript)
    return saved


class _SessionSave:
    """One call of `save`, under the lock of its transcript."""

    def __init__(
        self, kb: Workspace, job: ExtractionJob, *, archive: bool, full: bool, landing: str, answer: str
    ) -> None:
        """Read the transcript, and what is known of the session."""
        data = read_transcript(job.transcript)
        self.kb, self.archive, self.full, self.landing = kb, archive, full, landing
        self.notes: list[str] = []
        self.digest = sha256(data).hexdigest()
        self.head = sha256(data[: data.find(b"\n") + 1][:_HEAD_BYTES]).hexdigest()
        read = parse_transcript(data)
        whole = add_answer(read, answer)
        self.is_late = len(whole.messages) > len(read.messages)  # the host has yet to write the last answer to the file
        self.transcript = mask_transcript(whole, kb.config.masking)
        session = job.session or self.transcript.session_id or os.path.basename(job.transcript).partition(".")[0]
        folder = job.folder or self.transcript.cwd
        self.job = job._replace(session=session, folder=folder)
        self.active = ActiveSession(kb, session, job.agent)
        self.before = self.active.load_cursor()
        known = str(self.before.get("scope") or "")  # the folder of a session may be gone by now
        self.scope = known if known and not os.path.isdir(folder) else kb.project(folder) if folder else GLOBAL
        self.rows = active_sessions.parse_judged(self.before)
        self.new: list[JudgedCandidate] = []
        self.own: list[Candidate] = []  # the person's: into their own base, and into no form or archive of this one
        self.asked: list[Candidate] = []  # the person is being asked about these: an answer writes or drops them
        self.compact = ""
        self.progress: SessionProgress | None = None
        self.archive_name = ""
        self.passed_over = self.before.get("passed_over") or []
        self.after = self.transcript.lines  # where what was read before ends

    def run(self) -> SavedSession:
        """Extract what is new, write it, archive the whole, and move the cursor."""
        kb, session = self.kb, self.job.session
        if not self.transcript.messages:
            active_sessions.remove_postponed(kb, session, self.job.agent)
            return self._build_result((), (), kb.localise(msg("the transcript has no message")))
        name = str(self.before.get("archive", ""))
        normal = os.path.join(kb.root, CONTENT, "sessions", name, "normal.md")
        has_forms = not self.full or os.path.isfile(normal)
        if self.archive and self.before.get("archived") == self.digest and has_forms:
            self.archive_name = name
            if not self.before.get("asked"):
                self.compact = active_sessions.load_compact(kb, session)
                return self._build_result((), (), kb.localise(msg("already saved")))
            self.archive = False
        found, notes = self._find_new_candidates()
        lasting = [candidate for candidate in found if classify_karma(candidate) != NEUTRAL]
        passing = [candidate for candidate in found if classify_karma(candidate) == NEUTRAL]
        # Before the write: where that fails, the form is there all the same.
        self._update_compact(lasting, passing)
        try:
            verdicts = self._write_candidates(lasting, passing)
        except (Busy, GitFailed) as error:
            if self.landing:
                raise
            return self._postpone_save(error, lasting, notes)
        self.new = list(map(JudgedCandidate, lasting, verdicts))
        close_written_proposals(kb, self.new)
        self.rows += self.new
        self._update_compact()
        self._note_openings()
        self._keep_unsolved()
        self._note_questions()
        self._move_cursor()
        reading = SessionReading(self.job, self.scope, self.transcript, self.rows)
        for observe in self.kb.session_observers:  # what they count is counted with the next call where it fails
            with contextlib.suppress(KbError, OSError):
                observe(self.kb, reading)
        if self.own:
            from kb.writing.own_base import write_to_own_base

            verdicts = [*verdicts, *write_to_own_base(kb, self.own)]
        return self._build_result((*lasting, *passing), verdicts, *notes, *self.notes)

    def _build_result(self, found: Sequence[Candidate], verdicts: Sequence[Verdict], *notes: str) -> SavedSession:
        return SavedSession(self.job.session, self.compact, tuple(found), tuple(verdicts), self.archive_name, notes)

    def _find_new_candidates(self) -> tuple[list[Candidate], list[str]]:
        """Return what the transcript has after the cursor and the gate may judge, and notes for the person.

        While the session runs, what the person is being asked about waits for the answer; later nobody will answer.
        """
        kb, before, lines = self.kb, self.before, self.transcript.lines
        candidates = active_sessions.parse_kept_candidates(before.get("asked"))
        notes: list[str] = []
        is_same = before.get("transcript") == self.job.transcript and before.get("head", self.head) == self.head
        after = int(before.get("line", 0)) if is_same else 0
        if after != lines or self.is_late:
            after = self.after = after if after <= lines else 0
            found, notes = find_candidates(kb, self.transcript, after, self.job.session, self.job.host)
            # An answer that was read before the host had written it to the file is there now: it is not read twice.
            read = {
                m.line for m in self.transcript.messages if m.line > after and _hash_message(m) == before.get("late")
            }
            if read:
                found = [c for c in found if not c.evidence or any(one.line not in read for one in c.evidence)]
            for line, problem in list_broken_blocks(self.transcript, after):
                broken = msg("line {line}: a kb block is left out: {problem}", line=line, problem=problem)
                notes.append(kb.localise(broken))
            earlier = (self.before.get("passed_over") or []) if after else []
            self.passed_over = [*earlier, *find_passed_over(self.transcript, after, found)][-MAX_PASSED_OVER:]
            known = [*(row.candidate for row in self.rows), *candidates]
            safe = [redaction.redact_candidate(candidate, kb.config.masking)[0] for candidate in found]
            candidates += [
                candidate._replace(scope=candidate.scope or self.scope)
                for candidate in safe
                if not active_sessions.is_repeated(candidate, known)
            ]
        # Of a session that has ended nobody will answer: the gate judges.
        has_ended = bool(self.landing) and not self.active.is_session_running
        consulted = consult_proposals(kb, candidates, "" if has_ended else self.job.session)
        self.asked, self.own = consulted.waiting, consulted.own
        return consulted.free, [redaction.redact_text(note)[0] for note in notes]

    def _note_openings(self) -> None:
        """Keep what the session settled and nobody has worded; of a sub-agent its session's own agent hears anyway."""
        if not self.job.agent:
            from kb.capture.handover import note_openings

            kept = [row.candidate for row in self.rows if row.verdict.verdict != "refused"]
            note_openings(self.kb, self.job, self.scope, self.transcript, self.after, [*kept, *self.asked])

    def _update_compact(self, lasting: Sequence[Candidate] = (), passing: Sequence[Candidate] = ()) -> None:
        """Keep the compact form where the running session finds it again; one that has ended gets none."""
        if self.job.agent or (self.landing and not self.active.is_open):
            return
        self.active.add_notes(passing)
        self.compact = self._render_compact(self.rows, [*lasting, *self.active.load_notes()])
        self.active.save_compact(self.compact, self.scope, self.job.folder)

    def _render_compact(self, rows: Sequence[JudgedCandidate], more: Sequence[Candidate] = ()) -> str:
        # one call renders up to three compact forms
        self.progress = self.progress or find_progress(self.transcript, self.kb.config.language)
        return self._render_compact_of(self.transcript, self.progress, rows, more)

    def _render_compact_of(
        self,
        transcript: Transcript,
        progress: SessionProgress,
        rows: Sequence[JudgedCandidate],
        more: Sequence[Candidate] = (),
    ) -> str:
        written = tuple(row.verdict.id for row in rows if row.verdict.verdict in _WRITTEN_VERDICTS)
        facts = FormFacts((*(row.candidate for row in rows), *more), written, now=progress)
        return render_form(self.kb, COMPACT, transcript, facts).text

    def _write_candidates(self, lasting: Sequence[Candidate], passing: Sequence[Candidate]) -> list[Verdict]:
        """Write the candidates and, in the same commit, the archive."""
        candidates = [*lasting, *passing]
        if not candidates and not self.archive:
            return []
        folder = self.job.folder if os.path.isdir(self.job.folder) else ""
        subject = f"Archive session {self.active.name[:8]}"

        def build_files(verdicts: Sequence[Verdict]) -> dict[str, bytes]:
            # What holds for the session only (*passing*) is in no archive.
            new = list(map(JudgedCandidate, lasting, verdicts))
            return self._build_archive_files(new, passing) if self.archive else {}

        return write(
            self.kb,
            candidates,
            folder=folder,
            subject=subject,
            beside=build_files,
            raise_when_busy=True,
            job=self.landing,
        )

    def _build_archive_files(self, new: list[JudgedCandidate], passing: Sequence[Candidate] = ()) -> dict[str, bytes]:
        """Return the files of an archive (SHI-04, SHI-05, SHI-06); of what is *passing* only that it was left out."""
        from kb.sessions.prune_transcript import build_archive_report

        kb, rows = self.kb, [*self.rows, *new]
        when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(kb.now()))
        project = slugify(self.scope.removeprefix("project/"))
        self.archive_name = session_archive.choose_free_name(kb, project, self.active.name)
        folder = f"{CONTENT}/sessions/{self.archive_name}/"
        # the team reads the archive: what people said of their lives stays out of it
        shared, candidates = mask_remarks(self.transcript), [row.candidate for row in rows]
        now = find_progress(shared, kb.config.language)
        compact = self._render_compact_of(shared, now, rows)
        files = self._render_archive_forms(folder, rows) if self.full else {}
        try:
            report = build_archive_report(kb, self.job.transcript)
        except KbError as error:  # settings that cannot be used keep no session from being archived
            report = error.translate(kb.config.language) + "\n"
        if report:
            files[folder + "dcp-report.md"] = redaction.redact_text(report, kb.config.masking)[0].encode()
        for name, text in build_report_files(shared).items():
            files[folder + name] = redaction.redact_text(text, kb.config.masking)[0].encode("utf-8", "replace")
        files[folder + "compact.md"] = compact.encode()
        hui = build_hui_output(
            shared, candidates=candidates, compact_md=compact, timestamp=when, project_path=self.job.folder, now=now
        )
        hui["session_id"] = self.job.session
        left = [(one.title, kb.localise(msg("it applies to this session only"))) for one in passing]
        left += [(str(quote), kb.localise(PASSED_OVER[key])) for quote, key in self.passed_over if key in PASSED_OVER]
        shi = build_shi_result([row.verdict for row in rows], passed_over=left)
        for name, value in (("hui-output.json", hui), ("shi-result.json", shi)):
            files[folder + name] = json_bytes(redaction.redact_json(value, kb.config.masking), indent=1) + b"\n"
        return files

    def _render_archive_forms(self, folder: str, rows: list[JudgedCandidate]) -> dict[str, bytes]:
        """Return the normal and the expanded form for the archive; one too large for git stays in this clone."""
        made = map_record_ids(rows)
        facts = FormFacts(tuple(row.candidate for row in rows), tuple(made.values()), made)
        transcript = mask_transcript(mask_remarks(self.transcript), self.kb.config.masking, everything=True)
        files = {}
        for form in (NORMAL, EXPANDED):
            rendered = render_form(self.kb, form, transcript, facts)
            self.notes += rendered.notes
            files[f"{folder}{form}.md"] = rendered.text.encode("utf-8", "replace")
        if len(files[f"{folder}{EXPANDED}.md"]) > MAX_EXPANDED_BYTES:
            local = self.kb.state.path(EXPANDED, f"{self.archive_name}.md")
            write_atomic(local, files.pop(f"{folder}{EXPANDED}.md"))
            stays = msg(
                "the expanded form is larger than {limit} bytes and stays in this clone: {path}",
                limit=MAX_EXPANDED_BYTES,
                path=local,
            )
            self.notes.append(self.kb.localise(stays))
        return files

    def _keep_unsolved(self) -> None:
        """Keep what failed and was not overcome, and by which words errors with a cure are recognised."""
        from kb.capture.failures import list_unsolved
        from kb.state import failed_calls

        unsolved, day = list_unsolved(self.transcript), self.kb.today()
        failed_calls.save_unsolved(self.kb.state, self.job.session, unsolved, day=day, project=self.scope)
        if any(row.candidate.kind == "pitfall" for row in self.new):
            failed_calls.save_known_errors(self.kb.state, self.kb.sync_index(thorough=False).list_error_lines())

    def _note_questions(self) -> None:
        """Note what the person asked since the transcript was last read; here it costs no prompt its time."""
        if not self.job.agent:
            new = (message for message in self.transcript.messages if message.line > self.after)
            note_questions(self.kb, map(get_prompt, new), scope=self.scope, session=self.job.session)

    def _postpone_save(
        self, error: Busy | GitFailed, lasting: Sequence[Candidate], notes: Sequence[str]
    ) -> SavedSession:
        """Leave the work to the next call that can commit it.

        A busy repository is free by then; what git refuses ("failed to sign") a person has to fix, so it is reported.
        """
        words = self.kb.localise
        stays = words(msg("the session is kept and lands with the next call"))
        problem, way_out = words(error.message), words(error.hint) or words(msg("see: kb doctor"))
        kept = f"{problem}; {stays}\n→ {way_out}" if isinstance(error, GitFailed) else ""
        if self.job.agent:
            verdicts = spool_candidates(self.kb, lasting, self.job.folder, error) if lasting else []
            self._move_cursor()
        else:
            lasting, verdicts = (), []
            active_sessions.spool_session(self.kb.state, self.job, self.kb.now())
            active_sessions.remove_postponed(self.kb, self.job.session)
        return self._build_result(lasting, verdicts, *notes, problem, stays)._replace(kept=kept)

    def _move_cursor(self) -> None:
        cursor = {
            "transcript": self.job.transcript,
            "line": self.transcript.lines,
            "time": self.kb.now(),
            "head": self.head,
            "scope": self.scope,
            "archived": self.digest if self.archive else self.before.get("archived", ""),
            "archive": self.archive_name or self.before.get("archive", ""),
            "passed_over": self.passed_over,
            "tools": dict(count_tools(self.transcript).most_common(_MAX_TOOLS)),
            "asked": list(map(candidate_to_json, self.asked)),
            "late": _hash_message(self.transcript.messages[-1]) if self.is_late else "",
        }
        self.active.move_cursor(cursor, self.rows)
        active_sessions.remove_postponed(self.kb, self.job.session, self.job.agent)


def _hash_message(message: TranscriptMessage) -> str:
    return sha256("\n".join(message.texts).encode("utf-8", "replace")).hexdigest()


def add_answer(transcript: Transcript, answer: str) -> Transcript:
    """Return *transcript* with the agent's last *answer*, where its file does not have it yet.

    A host may write the file a moment after it has reported the end of the turn. The added message gets the next line.
    """
    messages = transcript.messages
    last = max((n for n, message in enumerate(messages) if message.role == "user" and not message.results), default=-1)
    # the answer may be there in several messages, and with other white space
    said = " ".join(text for message in messages[last + 1 :] if message.origin == AGENT for text in message.texts)
    if not answer.strip() or " ".join(answer.split()) in " ".join(said.split()):
        return transcript
    added = TranscriptMessage(transcript.lines + 1, transcript.ended, "assistant", AGENT, (answer,))
    return transcript._replace(messages=(*messages, added))
