"""When a sub-agent returns: what it found belongs to the session it worked for, and stands in that session's forms."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.files import content, write_whole
from kb.records.record_paths import safe_id
from kb.sessions import transcript as transcripts
from kb.sessions.active_sessions import Desk, Job, Row, rows_of, said_before
from kb.sessions.forms import EXPANDED
from kb.sessions.render_forms import compact_of, masked
from kb.sessions.transcript import Transcript
from kb.sessions.transcript_files import has_words, read_transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MADE = ("created", "updated", "appended")


def returned(kb: Workspace, job: Job, scope: str, found: Sequence[Row], transcript: Transcript) -> None:
    """Add what the sub-agent of *job* *found* to its session: to its compact form, and behind the expanded (RUYI-51).

    A session that has ended gets no forms any more; what its agents found is in the store all the same.
    """
    desk = Desk(kb, job.session)
    parent = _transcript_of(desk, job)
    if not parent:
        return
    with kb.state.alone(os.path.realpath(parent)):
        cursor = desk.cursor()
        rows = rows_of(cursor)
        known = [row.candidate for row in rows]
        rows += [row for row in found if not said_before(row.candidate, known)]
        kept = {key: value for key, value in cursor.items() if key != "rows"}
        desk.move_cursor({"transcript": parent, "folder": job.folder, **kept}, rows)
        with contextlib.suppress(BadInput):
            told = masked(transcripts.read(read_transcript(parent)), kb.config.masking)
            made = [row.verdict.id for row in rows if row.verdict.verdict in _MADE]
            desk.show(compact_of(kb, told, [*(row.candidate for row in rows), *desk.notes()], made), scope, job.folder)
        _append(kb, desk, job.agent, compact_of(kb, transcript, [row.candidate for row in found]))


def _transcript_of(desk: Desk, job: Job) -> str:
    """Return the transcript of the session: as kb knows it, or where the host keeps those of its agents below it."""
    known = str(desk.cursor().get("transcript") or "")
    around = os.path.dirname(os.path.dirname(job.transcript)) + ".jsonl"
    return next((path for path in (known, around) if has_words(path)), "")


def _append(kb: Workspace, desk: Desk, agent: str, compact: str) -> None:
    """Put what *agent* did behind the expanded form, in the place of what stood there of it before."""
    place = kb.state.path("active", desk.name, f"{EXPANDED}.md")
    before = (content(place) or b"").decode("utf-8", "replace")
    start, end = f"<!-- agent {safe_id(agent)} -->", f"<!-- end of agent {safe_id(agent)} -->"
    above, _, rest = before.partition(start)
    below = rest.partition(end)[2]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(kb.now()))
    section = f"{start}\n## {safe_id(agent)} · {when}\n\n{compact.strip()}\n{end}"
    text = "\n\n".join(filter(None, (above.strip(), below.strip(), section))) + "\n"
    write_whole(place, text.encode("utf-8", "replace"))
