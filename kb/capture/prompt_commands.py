"""What a person can say to kb in a prompt: 存档一下, 加载上下文, 继续…; within a longer one these are only words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import UnknownId
from kb.i18n import msg
from kb.sessions.forms import COMPACT
from kb.sessions.known_sessions import KnownSession
from kb.sessions.session_archive import filter_own_project, list_sessions
from kb.text.segment import count_words, slugify

if TYPE_CHECKING:
    from kb.sessions.session_archive import SessionArchive
    from kb.workspace import Workspace

_POLITE = re.compile(r"^(?:请|麻烦|帮我)*+((?:.*[^。.!！~～\s])?)[。.!！~～\s]*$", re.DOTALL)
_GO_ON = re.compile(r"(?:继续|continue)[\s:：“\"']*+([^\s“”\"'](?:[^\n]*[^\n”\"'])?)[”\"']*")
_LEAST_NAME, _LEAST_WORDS = 3, 4
"""A name has so many characters or more, words of a task so many 字: less than that is an ordinary prompt."""
_NAME = re.compile(r"[\w.-]+")


class PhraseAnswer(NamedTuple):
    """What a phrase is answered with: what the agent and what the person is told."""

    context: str = ""
    message: str = ""


def answer_phrase(
    kb: Workspace, prompt: str, *, path: str, session: str, folder: str, host: str
) -> PhraseAnswer | None:
    """Return the answer where *prompt* is one of the phrases and nothing else; None for any other prompt."""
    match = _POLITE.match(prompt.strip())
    words = match.group(1).strip() if match else ""
    if words in _PHRASES:
        return _PHRASES[words](kb, KnownSession(session, path), folder, host)
    go_on = _GO_ON.fullmatch(words)
    return _continue_session(kb, go_on.group(1), folder) if go_on else None


def _show_expanded(kb: Workspace, known: KnownSession, folder: str, host: str) -> PhraseAnswer:
    from kb.capture.form_choice import expand_session

    return PhraseAnswer(expand_session(kb, known).text)


def _show_compact(kb: Workspace, known: KnownSession, folder: str, host: str) -> PhraseAnswer:
    from kb.capture.form_choice import force_form

    return PhraseAnswer(force_form(kb, COMPACT, known).text)


def _archive_session(kb: Workspace, known: KnownSession, folder: str, host: str) -> PhraseAnswer:
    from kb.capture.flush_spool import flush_and_save

    saved = flush_and_save(kb, known.transcript, session=known.session, folder=folder, host=host, full=True)
    if not saved.archive:
        notes = "\n".join(saved.notes)
        return PhraseAnswer(notes, notes)
    name = saved.archive
    archived = kb.localise(
        msg("kb: the session is archived: content/sessions/{name}; go on with it any time: continue {name}", name=name)
    )
    return PhraseAnswer(archived, "\n".join((archived, *saved.notes)))


def _load_latest(kb: Workspace, known: KnownSession, folder: str, host: str) -> PhraseAnswer:
    own = filter_own_project(kb, list_sessions(kb), folder)
    if not own:
        none = msg("kb: no session of this project is archived yet; those of all: kb session list --all")
        return PhraseAnswer(kb.localise(none))
    return PhraseAnswer(restore_session(kb, own[-1]))


def _prune_session(kb: Workspace, known: KnownSession, folder: str, host: str) -> PhraseAnswer:
    from kb.sessions import prune_transcript
    from kb.sessions.dcp_settings import load_settings

    wanted = prune_transcript.PruneRequest(propose=True)
    made = prune_transcript.prune(known.transcript, load_settings(kb), wanted, config=kb.config, now=kb.now())
    prune_transcript.save_report(kb, made.report, known.session)
    report = prune_transcript.format_result(made, kb.config.language)
    return PhraseAnswer(report, report)


_PHRASES: Mapping[str, Callable[[Workspace, KnownSession, str, str], PhraseAnswer]] = {
    "详细说说": _show_expanded,
    "简要概括": _show_compact,
    "存档一下": _archive_session,
    "加载上下文": _load_latest,
    "修剪上下文": _prune_session,
}
"""The phrases and what they do (RUYI-30)."""


def _continue_session(kb: Workspace, name: str, folder: str) -> PhraseAnswer | None:
    """Return the archived session that *name* means, a list of several, or None: then it was an ordinary prompt."""
    from kb.sessions.session_archive import find_sessions

    found = find_sessions(kb, name, folder)
    found = found or (find_sessions(kb, slugify(name), folder) if _NAME.fullmatch(name) else [])
    by_name = any(name in session.name for session in found)
    if count_words(name) < _LEAST_WORDS and not (by_name and len(name) >= _LEAST_NAME and not name.isdigit()):
        return None
    if not found:
        return None
    if len(found) == 1:
        return PhraseAnswer(restore_session(kb, found[0]))
    choices = "\n".join(f"- {one.name}: {one.task}" for one in found[-10:])
    return PhraseAnswer(
        kb.localise(msg("kb: “{name}” may be one of these archived sessions:", name=name)) + "\n" + choices
    )


def restore_session(kb: Workspace, session: SessionArchive) -> str:
    """Return the compact form of an archived session and where the rest of it is (RUYI-29)."""
    from kb.sessions.session_archive import list_archive_files, read_session_file

    try:
        text = read_session_file(kb, session, f"{COMPACT}.md")
    except FileNotFoundError:
        raise UnknownId(msg("there is no session {id}", id=session.name)) from None
    return "\n".join([text.rstrip(), "", *(f"→ {path}" for path in list_archive_files(kb, session))])
