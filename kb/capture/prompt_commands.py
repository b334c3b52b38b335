"""Parse commands to kb in a prompt: 存档一下, 加载上下文, 继续…; within a longer prompt these are only words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.extract import find_candidates
from kb.capture.proposal_cues import PromptAnswer
from kb.capture.usage_alerts import measure_band, measure_usage
from kb.errors import BadInput, UnknownId
from kb.files import write_atomic
from kb.i18n import msg
from kb.records.kinds import sanitise_session_id
from kb.search.query import find_references
from kb.sessions.active_sessions import ActiveSession, map_record_ids, parse_judged, save_current_form
from kb.sessions.forms import COMPACT, EXPANDED, FORMS, LIMIT, NORMAL, FormFacts
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import RenderedForm, mask_transcript, render_form
from kb.sessions.session_archive import (
    KnownSession,
    filter_own_project,
    find_latest_session,
    find_latest_transcript,
    list_sessions,
)
from kb.sessions.transcript import parse_transcript
from kb.sessions.usage import ContextUsage, UsageBand, find_band
from kb.text.segment import count_words, estimate_tokens, slugify

if TYPE_CHECKING:
    from kb.sessions.session_archive import SessionArchive
    from kb.workspace import Workspace


_POLITE_WRAPPING = re.compile(r"^(?:请|麻烦|帮我)*+((?:.*[^。.!！~～\s])?)[。.!！~～\s]*$", re.DOTALL)
_CONTINUE_PATTERN = re.compile(r"(?:继续|[Cc]ontinue)[\s:：“\"']*+([^\s“”\"'](?:[^\n]*[^\n”\"'])?)[”\"']*")
# “continue api” names a session, “continue it” does not: a name has three characters or more, words of a task two 字,
# “继续 worker”, “继续库存”, unless they say what to do: “继续测试”, “continue testing”, “continue with the docs”.
_MIN_NAME_CHARACTERS, _MIN_TASK_WORDS = 3, 4
_WORK = re.compile(
    r"(?i)(?:with|the|from|until|till|to|on|and|as|it|this|that|please|now|by|where|your|working|\w+ing)\b"
    r"|(?:测试|修复|修改|完善|优化|重构|实现|开发|部署|运行|执行|检查|分析|处理|排查|调试|提交|推送|生成|补充|更新|完成|工作|下一步|上次|刚才|之前"
    r"|写|做|跑|改|看|查|加|删|往下|吧|说|讲|干)"
)
_NAME = re.compile(r"[\w.-]+")
# What people type for a command: the sentence of the protocol, the bare word, and English. The hooks look first whether
# a prompt has one of these words at all.
_PHRASES = {
    "expand": ("详细说说", "展开", "展开上下文", "expand the context"),
    "compact": ("简要概括", "压缩", "压缩上下文", "sum up briefly"),
    "archive": ("存档一下", "存档", "archive the session", "archive this session"),
    "load": ("加载上下文", "load the context"),
    "prune": ("修剪上下文", "修剪", "prune the context"),
}


def answer_phrase(
    kb: Workspace, prompt: str, *, path: str, session: str, folder: str, host: str
) -> PromptAnswer | None:
    """Return the answer where *prompt* is one of the phrases (RUYI-30) and nothing else; None for any other prompt."""
    match = _POLITE_WRAPPING.match(prompt.strip())
    words = match.group(1).strip() if match else ""
    known = KnownSession(session, path)
    command = next((name for name, phrases in _PHRASES.items() if words.casefold() in phrases), "")
    if command == "expand":
        return PromptAnswer(expand_session(kb, known).text)
    if command == "compact":
        return PromptAnswer(force_form(kb, COMPACT, known).text)
    if command == "archive":
        return _archive_session(kb, known, folder, host)
    if command == "load":
        if own := filter_own_project(kb, list_sessions(kb), folder):
            return PromptAnswer(restore_session(kb, own[-1]))
        none = msg("kb: no session of this project is archived yet; those of all: kb session list --all")
        return PromptAnswer(kb.localise(none))
    if command == "prune":
        return _prune_session(kb, known)
    go_on = _CONTINUE_PATTERN.fullmatch(words)
    return _continue_session(kb, go_on.group(1), folder) if go_on else None


def _archive_session(kb: Workspace, known: KnownSession, folder: str, host: str) -> PromptAnswer:
    from kb.capture.submit import flush_and_save
    from kb.sessions.active_sessions import ExtractionJob

    saved = flush_and_save(kb, ExtractionJob(known.transcript, known.session, folder, host), full=True)
    if not saved.archive:
        notes = "\n".join(saved.notes)
        return PromptAnswer(notes, notes)
    name = saved.archive
    archived = kb.localise(
        msg("kb: the session is archived: content/sessions/{name}; go on with it any time: continue {name}", name=name)
    )
    return PromptAnswer(archived, "\n".join((archived, *saved.notes)))


def _prune_session(kb: Workspace, known: KnownSession) -> PromptAnswer:
    from kb.sessions import prune_transcript
    from kb.sessions.dcp_settings import load_settings

    wanted = prune_transcript.PruneRequest(propose=True)
    made = prune_transcript.prune(known.transcript, load_settings(kb), wanted, config=kb.config, now=kb.now())
    prune_transcript.save_report(kb, made.report, known.session)
    report = prune_transcript.format_result(made, kb.config.language)
    return PromptAnswer(report, report)


def _continue_session(kb: Workspace, name: str, folder: str) -> PromptAnswer | None:
    """Return the archived session that *name* means, a list of several, or None: then it was an ordinary prompt."""
    from kb.sessions.session_archive import find_sessions

    found = find_sessions(kb, name, folder)
    found = found or (find_sessions(kb, slugify(name), folder) if _NAME.fullmatch(name) else [])
    by_name = any(name in session.name for session in found)
    is_name = by_name and len(name) >= _MIN_NAME_CHARACTERS and not name.isdigit()
    is_task = count_words(name) >= _MIN_TASK_WORDS or (len(name) > 1 and not _WORK.match(name))
    if not found or not (is_name if by_name else is_task):
        return None
    if len(found) == 1:
        return PromptAnswer(restore_session(kb, found[0]))
    several = kb.localise(msg("kb: “{name}” may be one of these archived sessions:", name=name))
    return PromptAnswer("\n".join([several, *(f"- {one.name}: {one.task}" for one in found[-10:])]))


def restore_session(kb: Workspace, session: SessionArchive) -> str:
    """Return the compact form of an archived session and where the rest of it is (RUYI-29)."""
    from kb.sessions.session_archive import list_archive_files, read_session_file

    try:
        text = read_session_file(kb, session, f"{COMPACT}.md")
    except FileNotFoundError:
        raise UnknownId(msg("there is no session {id}", id=session.name)) from None
    return "\n".join([text.rstrip(), "", *(f"→ {path}" for path in list_archive_files(kb, session))])


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
    if form == EXPANDED and kb.config.layout == "project":  # the normal form is what a sub-agent is pointed to
        save_current_form(kb, NORMAL, render_transcript_form(kb, known.transcript, NORMAL, known.session).text)
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
    made = map_record_ids(rows)
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
