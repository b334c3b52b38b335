"""What kb does at each event of an agent's session, whatever the host."""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kb.knowledge import KnowledgeBase

FAILURES = "hook-failures.jsonl"
_KEPT = 50


class Reply(NamedTuple):
    """What an event is answered with."""

    context: str = ""
    """Text for the model."""
    message: str = ""
    """Text for the person."""


def answered(event: str, payload: Mapping[str, Any], root: str) -> Reply:
    """Do what *event* calls for and return the answer."""
    with KnowledgeBase(root, os.environ) as kb:
        return HANDLERS[event](kb, payload)


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def session_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Land what earlier sessions spooled, and tell the new one what it should know."""
    kb.land()
    project = kb.project(_text(payload, "cwd"))
    session, source = _text(payload, "session_id"), _text(payload, "source")
    return Reply(kb.start_of_session(session, source=source, project=project))


def user_prompt(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Answer a prompt with what the knowledge base has on it; with nothing where nothing is relevant."""
    return Reply(kb.answer_to_prompt(_text(payload, "prompt"), project=kb.project(_text(payload, "cwd"))))


def subagent_start(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Give a sub-agent the hints for its role."""
    avatar, task = _text(payload, "agent_type"), _text(payload, "prompt")
    return Reply(kb.hint_for_avatar(avatar, task, project=kb.project(_text(payload, "cwd"))))


def pre_compact(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Keep the session before the host forgets it: candidates, compact form, archive."""
    kb.save_session(
        _text(payload, "transcript_path"),
        session=_text(payload, "session_id"),
        folder=_text(payload, "cwd"),
        host="claude",
    )
    return Reply()


def stop(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Extract what is new, unless the last extraction is too recent: then the next one takes it along."""
    session = "-".join(part for part in (_text(payload, "session_id"), _text(payload, "agent_id")) if part)
    transcript = _text(payload, "agent_transcript_path") or _text(payload, "transcript_path")
    if kb.is_due(session):
        kb.save_session(transcript, session=session, folder=_text(payload, "cwd"), host="claude", archive=False)
    return Reply()


def session_end(kb: KnowledgeBase, payload: Mapping[str, Any]) -> Reply:
    """Spool the session: the host waits 1.5 s at most, so the next call does the work."""
    kb.save_later(
        _text(payload, "transcript_path"),
        session=_text(payload, "session_id"),
        folder=_text(payload, "cwd"),
        host="claude",
    )
    return Reply()


HANDLERS: Mapping[str, Callable[[KnowledgeBase, Mapping[str, Any]], Reply]] = {
    "SessionStart": session_start,
    "UserPromptSubmit": user_prompt,
    "SubagentStart": subagent_start,
    "PreCompact": pre_compact,
    "Stop": stop,
    "SubagentStop": stop,
    "SessionEnd": session_end,
}


def remember_failure(root: str, event: str, error: BaseException) -> None:
    """Keep the last failures where `kb doctor` finds them."""
    path = os.path.join(root, ".kb", FAILURES)
    row = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": event, "error": f"{type(error).__name__}: {error}"}
    try:
        rows: list[str] = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                rows = file.read().splitlines()[-_KEPT:]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*rows, json.dumps(row, ensure_ascii=False)]) + "\n")
    except OSError:
        return
