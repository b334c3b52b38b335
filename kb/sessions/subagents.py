"""When a sub-agent returns: what it found belongs to the session it worked for, and stands in that session's forms."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.files import read_if_exists, write_atomic
from kb.records.record_paths import sanitise_session_id
from kb.sessions import transcript as transcripts
from kb.sessions.active_sessions import ActiveSession, ExtractionJob, JudgedCandidate, is_repeated, parse_judged
from kb.sessions.forms import EXPANDED
from kb.sessions.host_input import has_content, read_transcript
from kb.sessions.render_forms import mask_transcript, render_compact_form
from kb.sessions.transcript import Transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MADE = ("created", "updated", "appended")


def add_agent_results(
    kb: Workspace, job: ExtractionJob, scope: str, found: Sequence[JudgedCandidate], transcript: Transcript
) -> None:
    """Add what the sub-agent of *job* *found* to its session: to its compact form, and behind the expanded (RUYI-51).

    A session that has ended gets no forms any more; what its agents found is in the store all the same.
    """
    desk = ActiveSession(kb, job.session)
    parent = _find_parent_transcript(desk, job)
    if not parent:
        return
    with kb.state.hold_lock(os.path.realpath(parent)):
        cursor = desk.load_cursor()
        rows = parse_judged(cursor)
        known = [row.candidate for row in rows]
        rows += [row for row in found if not is_repeated(row.candidate, known)]
        kept = {key: value for key, value in cursor.items() if key != "rows"}
        desk.move_cursor({"transcript": parent, "folder": job.folder, **kept}, rows)
        with contextlib.suppress(BadInput):
            told = mask_transcript(transcripts.parse_transcript(read_transcript(parent)), kb.config.masking)
            made = [row.verdict.id for row in rows if row.verdict.verdict in _MADE]
            desk.save_compact(
                render_compact_form(kb, told, [*(row.candidate for row in rows), *desk.load_notes()], made),
                scope,
                job.folder,
            )
        _append_agent_section(
            kb, desk, job.agent, render_compact_form(kb, transcript, [row.candidate for row in found])
        )


def _find_parent_transcript(desk: ActiveSession, job: ExtractionJob) -> str:
    """Return the transcript of the session: as kb knows it, or where the host keeps those of its agents below it."""
    known = str(desk.load_cursor().get("transcript") or "")
    around = os.path.dirname(os.path.dirname(job.transcript)) + ".jsonl"
    return next((path for path in (known, around) if has_content(path)), "")


def _append_agent_section(kb: Workspace, desk: ActiveSession, agent: str, compact: str) -> None:
    """Put what *agent* did behind the expanded form, in the place of what stood there of it before."""
    place = kb.state.path("active", desk.name, f"{EXPANDED}.md")
    before = (read_if_exists(place) or b"").decode("utf-8", "replace")
    start, end = f"<!-- agent {sanitise_session_id(agent)} -->", f"<!-- end of agent {sanitise_session_id(agent)} -->"
    above, _, rest = before.partition(start)
    below = rest.partition(end)[2]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(kb.now()))
    section = f"{start}\n## {sanitise_session_id(agent)} · {when}\n\n{compact.strip()}\n{end}"
    text = "\n\n".join(filter(None, (above.strip(), below.strip(), section))) + "\n"
    write_atomic(place, text.encode("utf-8", "replace"))
