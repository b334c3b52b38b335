"""Parse commands to kb in a prompt: 存档一下, 加载上下文, 继续…; within a longer prompt these are only words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kb.capture.proposal_cues import PromptAnswer
from kb.errors import UnknownId
from kb.i18n import msg
from kb.sessions.forms import COMPACT
from kb.sessions.session_archive import KnownSession, filter_own_project, list_sessions
from kb.text.segment import count_words, slugify

if TYPE_CHECKING:
    from kb.sessions.session_archive import SessionArchive
    from kb.workspace import Workspace

_POLITE_WRAPPING = re.compile(r"^(?:请|麻烦|帮我)*+((?:.*[^。.!！~～\s])?)[。.!！~～\s]*$", re.DOTALL)
_CONTINUE_PATTERN = re.compile(r"(?:继续|continue)[\s:：“\"']*+([^\s“”\"'](?:[^\n]*[^\n”\"'])?)[”\"']*")
# “continue api” names a session, “continue it” does not: a name has three characters or more, words of a task four 字.
_MIN_NAME_CHARACTERS, _MIN_TASK_WORDS = 3, 4
_NAME = re.compile(r"[\w.-]+")


def answer_phrase(
    kb: Workspace, prompt: str, *, path: str, session: str, folder: str, host: str
) -> PromptAnswer | None:
    """Return the answer where *prompt* is one of the phrases (RUYI-30) and nothing else; None for any other prompt."""
    match = _POLITE_WRAPPING.match(prompt.strip())
    words = match.group(1).strip() if match else ""
    known = KnownSession(session, path)
    if words == "详细说说":
        from kb.capture.form_choice import expand_session

        return PromptAnswer(expand_session(kb, known).text)
    if words == "简要概括":
        from kb.capture.form_choice import force_form

        return PromptAnswer(force_form(kb, COMPACT, known).text)
    if words == "存档一下":
        return _archive_session(kb, known, folder, host)
    if words == "加载上下文":
        if own := filter_own_project(kb, list_sessions(kb), folder):
            return PromptAnswer(restore_session(kb, own[-1]))
        none = msg("kb: no session of this project is archived yet; those of all: kb session list --all")
        return PromptAnswer(kb.localise(none))
    if words == "修剪上下文":
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
    if not found or not (is_name or count_words(name) >= _MIN_TASK_WORDS):
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
