"""Choose the form a session is shown in: the one a person asked for, until the context usage calls for another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.extract import find_candidates
from kb.capture.usage_alerts import measure_band, measure_usage
from kb.errors import BadInput, UnknownId
from kb.files import write_atomic
from kb.i18n import msg
from kb.records.record_paths import sanitise_session_id
from kb.search.query import find_references
from kb.sessions.active_sessions import ActiveSession, parse_judged, save_current_form
from kb.sessions.forms import COMPACT, EXPANDED, FORMS, LIMIT, NORMAL, FormFacts
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import RenderedForm, mask_transcript, render_form
from kb.sessions.session_archive import KnownSession, find_latest_session, find_latest_transcript
from kb.sessions.transcript import parse_transcript
from kb.sessions.usage import ContextUsage, UsageBand, find_band
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from kb.workspace import Workspace


_FILE = "form.json"
_COMPACT_LIMITS = (LIMIT, 400, 300, 200, 140, 100, 60)  # 字 of the compact forms that are tried, one after the other


class FormStatus(NamedTuple):
    """How a running session stands."""

    session: str
    transcript: str
    form: str
    forced: bool  # a person chose the form
    usage: ContextUsage
    band: UsageBand


def get_form_status(kb: Workspace, session: str = "") -> FormStatus:
    """Return how *session* stands ("": the one that kb heard of last); raise UnknownId for none."""
    known = find_latest_session(kb, sanitise_session_id(session) if session else "")
    used = measure_usage(kb, known.transcript)
    now = find_band(used.percent)
    kept = kb.state.load("active", known.session, _FILE)
    forced = isinstance(kept, dict) and kept.get("band") == now.name and kept.get("form") in FORMS
    return FormStatus(known.session, known.transcript, kept["form"] if forced else now.form, forced, used, now)


def force_form(kb: Workspace, form: str, known: KnownSession) -> RenderedForm:
    """Show the session *known* in *form* until the use of its context falls into another band (SHI-30)."""
    now = find_band(measure_usage(kb, known.transcript).percent)
    kb.state.save({"form": form, "band": now.name}, "active", sanitise_session_id(known.session), _FILE)
    formed = render_transcript_form(kb, known.transcript, form, known.session)
    save_current_form(kb, form, formed.text)
    return formed


def force_session_form(kb: Workspace, form: str, session: str = "") -> RenderedForm:
    """Force *form* for *session*, "" for the one that kb heard of last."""
    return force_form(kb, form, find_latest_session(kb, sanitise_session_id(session) if session else ""))


def expand_session(kb: Workspace, known: KnownSession) -> RenderedForm:
    """Force the expanded form, keep it beside the running session, and return the normal one with a pointer to it."""
    whole = force_form(kb, EXPANDED, known)
    path = kb.state.path("active", sanitise_session_id(known.session), f"{EXPANDED}.md")
    write_atomic(path, whole.text.encode("utf-8", "replace"))
    normal = render_transcript_form(kb, known.transcript, NORMAL, known.session)
    return RenderedForm(f"{normal.text}\n→ {path}\n", normal.notes)


def describe_forced_form(kb: Workspace, form: str) -> str:
    """Return what a person is told of a forced form."""
    shown = msg("the session is shown in its {form} form until the use of its context calls for another", form=form)
    return kb.localise(shown)


def render_wanted_form(kb: Workspace, form: str, source: str, *, percent: float = -1.0) -> RenderedForm:
    """Return *form*, or where it is "" that which the use of the context calls for, of *source*.

    A source is a transcript or a part of the name of an archived session; "": the session that was heard of last.
    """
    path = source if os.path.exists(source) else ""
    if source and not path:
        return load_archived_form(kb, source, form or COMPACT)
    path = path or find_latest_transcript(kb)
    return render_transcript_form(kb, path, form or measure_band(kb, path, percent=percent, model="")[1].form)


def load_archived_form(kb: Workspace, name: str, form: str) -> RenderedForm:
    """Return *form* of the archived session *name*; raise UnknownId where it was not kept."""
    from kb.sessions.session_archive import find_session, read_session_file

    session = find_session(kb, name)
    try:
        return RenderedForm(read_session_file(kb, session, f"{form}.md"))
    except FileNotFoundError:
        path = os.path.join(kb.state.path("expanded"), f"{session.name}.md")
        if form not in (COMPACT, NORMAL) and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return RenderedForm(file.read())
        problem = msg("{session} was archived without its {form} form", session=session.name, form=form)
        hint = msg("name the transcript instead, or archive it with: kb archive --full")
        raise UnknownId(problem, hint=hint) from None


def render_transcript_form(kb: Workspace, path: str, form: str, session: str = "") -> RenderedForm:
    """Return *form* of the transcript *path*, with what is known of its *session*; nothing is kept."""
    parsed = parse_transcript(read_transcript(path))
    transcript = mask_transcript(parsed, kb.config.masking, everything=form != COMPACT)
    kb.sync_index()
    session = session or transcript.session_id
    rows = parse_judged(ActiveSession(kb, session).load_cursor()) if session else []
    found = [row.candidate for row in rows]
    notes: list[str] = []
    if not found:
        found, notes = find_candidates(kb, transcript, 0, session, "")
    made = {row.candidate.title: row.verdict.id for row in rows if row.verdict.id}
    formed = render_form(kb, form, transcript, FormFacts(tuple(found), tuple(made.values()), made))
    return formed._replace(notes=(*notes, *formed.notes))


def compress_session(kb: Workspace, path: str, budget: int) -> RenderedForm:
    """Return the transcript *path* in *budget* tokens at most; raise BadInput where not even its anchors fit."""
    usual = kb.config
    expanded = render_transcript_form(kb, path, EXPANDED)
    ids = dict.fromkeys(one.id for one in find_references(expanded.text) if kb.index.find_by_id(one.id))
    least = 0
    try:
        for form, limit in (("", 0), (NORMAL, 0), *((COMPACT, limit) for limit in _COMPACT_LIMITS)):
            kb.config = usual._replace(compact_limit=limit or usual.compact_limit)
            made = render_transcript_form(kb, path, form) if form else expanded
            missing = [f"[{name}]" for name in ids if f"[{name}]" not in made.text]
            text = made.text + (" ".join(missing) + "\n" if missing else "")
            least = estimate_tokens(text)
            if least <= budget:
                return RenderedForm(text)
    finally:
        kb.config = usual
    problem = msg("the shortest summary with all its anchors has {n} tokens", n=least)
    raise BadInput(problem, path=path, hint=msg("give a larger --budget"))
