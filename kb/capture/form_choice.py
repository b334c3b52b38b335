"""Which form a session is shown in: the one a person asked for, until the use of the context calls for another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.session_candidates import candidates_of
from kb.capture.usage_alerts import usage
from kb.errors import UnknownId
from kb.files import write_whole
from kb.i18n import msg
from kb.records.record_paths import safe_id
from kb.sessions import transcript as transcripts
from kb.sessions.active_sessions import Desk, Heard, at_hand, latest, rows_of
from kb.sessions.forms import COMPACT, EXPANDED, FORMS, NORMAL
from kb.sessions.render_forms import Formed, Known, masked, written
from kb.sessions.transcript_files import read_transcript
from kb.sessions.usage import Band, Usage, band

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FILE = "form.json"


class Standing(NamedTuple):
    """How a running session stands."""

    session: str
    transcript: str
    form: str
    forced: bool
    """Whether a person chose the form."""
    usage: Usage
    band: Band


def standing(kb: Workspace, session: str = "") -> Standing:
    """Return how *session* stands ("": the one that kb heard of last); raise UnknownId for none."""
    heard = latest(kb, safe_id(session) if session else "")
    used = usage(kb, heard.transcript)
    now = band(used.percent)
    kept = kb.state.load("active", heard.session, _FILE)
    forced = isinstance(kept, dict) and kept.get("band") == now.name and kept.get("form") in FORMS
    return Standing(heard.session, heard.transcript, kept["form"] if forced else now.form, forced, used, now)


def force(kb: Workspace, form: str, heard: Heard) -> Formed:
    """Show the session *heard* in *form* until the use of its context falls into another band (SHI-30)."""
    now = band(usage(kb, heard.transcript).percent)
    kb.state.save({"form": form, "band": now.name}, "active", safe_id(heard.session), _FILE)
    formed = form_of(kb, heard.transcript, form, heard.session)
    at_hand(kb, form, formed.text)
    return formed


def forced(kb: Workspace, form: str, session: str = "") -> Formed:
    """Force *form* for *session*, "" for the one that kb heard of last."""
    return force(kb, form, latest(kb, safe_id(session) if session else ""))


def unfolded(kb: Workspace, heard: Heard) -> Formed:
    """Force the expanded form, keep it beside the running session, and return the normal one with a pointer to it."""
    whole = force(kb, EXPANDED, heard)
    place = kb.state.path("active", safe_id(heard.session), f"{EXPANDED}.md")
    write_whole(place, whole.text.encode("utf-8", "replace"))
    normal = form_of(kb, heard.transcript, NORMAL, heard.session)
    return Formed(f"{normal.text}\n→ {place}\n", normal.notes)


def note(kb: Workspace, form: str) -> str:
    """Return what a person is told of a forced form."""
    return kb.words(msg("the session is shown in its {form} form until the use of its context calls for another",
                        form=form))  # fmt: skip


def form_wanted(kb: Workspace, form: str, source: str, *, percent: float = -1.0) -> Formed:
    """Return *form*, or where it is "" that which the use of the context calls for, of *source*.

    A source is a transcript or a part of the name of an archived session; "": the session that was heard of last.
    """
    from kb.capture.usage_alerts import measured
    from kb.sessions.prune_transcript import latest_transcript

    path = source if os.path.exists(source) else ""
    if source and not path:
        return archived(kb, source, form or COMPACT)
    path = path or latest_transcript(kb)
    return form_of(kb, path, form or measured(kb, path, percent=percent, model="")[1].form)


def archived(kb: Workspace, name: str, form: str) -> Formed:
    """Return *form* of the archived session *name*; raise UnknownId where it was not kept."""
    from kb.sessions.session_archive import one_session, session_file

    session = one_session(kb, name)
    try:
        return Formed(session_file(kb, session, f"{form}.md"))
    except FileNotFoundError:
        with_it = os.path.join(kb.state.path("expanded"), f"{session.name}.md")
        if form not in (COMPACT, NORMAL) and os.path.isfile(with_it):
            with open(with_it, encoding="utf-8") as file:
                return Formed(file.read())
        hint = msg("name the transcript instead, or archive it with: kb archive --full")
        raise UnknownId(msg("{session} was archived without its {form} form", session=session.name, form=form),
                        hint=hint) from None  # fmt: skip


def form_of(kb: Workspace, path: str, form: str, session: str = "") -> Formed:
    """Return *form* of the transcript *path*, with what is known of its *session*; nothing is kept."""
    transcript = masked(transcripts.read(read_transcript(path)), kb.config.masking, everything=form != COMPACT)
    kb.fresh()
    session = session or transcript.session_id
    rows = rows_of(Desk(kb, session).cursor()) if session else []
    found = [row.candidate for row in rows]
    notes: list[str] = []
    if not found:
        found, notes = candidates_of(kb, transcript, 0, session, "")
    made = {row.candidate.title: row.verdict.id for row in rows if row.verdict.id}
    formed = written(kb, form, transcript, Known(tuple(found), tuple(made.values()), made))
    return formed._replace(notes=(*notes, *formed.notes))
