"""Copilot CLI and Cursor run the hooks of Claude Code's settings as well: one answers, and none denies by failing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kb import hooks
from kb.capture.save_session import save
from kb.hooks import copilot, install, settings_file
from kb.hosts import HOSTS, resolve_settings_path
from kb.knowledge_base import KnowledgeBase
from kb.sessions.active_sessions import ExtractionJob
from tests.hooks.test_hosts import run
from tests.support.talk import EN, transcript

SESSION = "s-1"
QUESTION = "Do API responses have to go through the Sanitizer?"


@pytest.fixture
def work(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which Copilot works, with a knowledge base that holds a decision."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("KB_HOME", str(root))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    with KnowledgeBase(str(root), os.environ) as kb:
        save(kb, ExtractionJob(transcript(tmp_path / "t.jsonl", EN), "s-0", str(folder)))
    return folder


@pytest.fixture
def in_copilot(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, called by Copilot."""
    monkeypatch.setenv("COPILOT_CLI", "1")
    return work


def payload(event: str, folder: Path, **more: Any) -> bytes:
    """Return a payload as Copilot 1.0.102 writes it for a hook of Claude Code's settings."""
    about = {"hook_event_name": event, "session_id": SESSION, "timestamp": "2026-11-20T10:00:00.000Z",
             "cwd": str(folder)}  # fmt: skip
    return json.dumps({**about, **more}).encode()


def context(out: str) -> str:
    return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""


def test_claudes_hooks_answer_in_copilot_where_it_has_none_of_its_own(in_copilot: Path) -> None:
    done = run("claude", "UserPromptSubmit", payload("UserPromptSubmit", in_copilot, prompt=QUESTION))
    assert done.code == 0 and "D001" in context(done.out)


@pytest.mark.parametrize("place", ["user", "project"])
def test_where_copilot_has_hooks_of_kbs_they_alone_answer(in_copilot: Path, place: str) -> None:
    path = resolve_settings_path(HOSTS["copilot"].hooks, str(in_copilot) if place == "project" else "", os.environ)
    settings_file.apply_edit(install.plan_installation(HOSTS["copilot"], path, "kb-hook", os.environ), os.environ)
    done = run("claude", "UserPromptSubmit", payload("UserPromptSubmit", in_copilot, prompt=QUESTION))
    assert (done.code, done.out) == (0, "")
    about = {"sessionId": SESSION, "timestamp": 1, "cwd": str(in_copilot), "prompt": QUESTION}
    assert "D001" in run("copilot", "userPromptSubmitted", json.dumps(about).encode()).out


def test_a_claude_code_inside_of_copilot_is_claude_code(in_copilot: Path) -> None:
    path = resolve_settings_path(HOSTS["copilot"].hooks, "", os.environ)
    settings_file.apply_edit(install.plan_installation(HOSTS["copilot"], path, "kb-hook", os.environ), os.environ)
    about = {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "cwd": str(in_copilot), "prompt": QUESTION,
             "transcript_path": "", "permission_mode": "default"}  # fmt: skip
    assert "D001" in context(run("claude", "UserPromptSubmit", json.dumps(about).encode()).out)


def test_a_record_is_kept_from_copilots_edits_under_claudes_names(in_copilot: Path, root: Path) -> None:
    (record,) = (path for path in (root / "content" / "anchors").rglob("D001-*.md"))
    given = {"path": str(record), "old_str": "status: accepted", "new_str": "status: deprecated"}
    done = run("claude", "PreToolUse", payload("PreToolUse", in_copilot, tool_name="Edit", tool_input=given))
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_failure_of_kbs_denies_nothing_in_copilot(in_copilot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kb.hooks import events

    monkeypatch.setitem(events.HANDLERS, "PreToolUse", lambda kb, payload: 1 / 0)  # type: ignore[arg-type]
    monkeypatch.setattr(hooks, "can_skip_event", lambda *_: False)
    about = payload("PreToolUse", in_copilot, tool_name="Edit", tool_input={"path": "a.py"})
    done = run("claude", "PreToolUse", about)
    assert (done.code, done.out) == (0, "") and "division by zero" in done.error
    monkeypatch.delenv("COPILOT_CLI")
    assert run("claude", "PreToolUse", about).code == 1, "where the host takes that for what it is"


@pytest.mark.parametrize("style", ["claude", "copilot"])
def test_a_sub_agents_prompt_and_end_are_not_the_sessions(in_copilot: Path, root: Path, style: str) -> None:
    agent = {"agent_id": "a-1", "agent_type": "explore", "parent_agent_id": SESSION} if style == "claude" else {
        "agentId": "a-1", "agentType": "explore", "parentAgentId": SESSION}  # fmt: skip
    about = json.loads(payload("x", in_copilot, prompt=QUESTION, transcript_path="/nowhere", **agent))
    about |= {"session_id": "a-1", "sessionId": "a-1"}
    for event in ("UserPromptSubmit", "Stop", "SubagentStop"):
        done = run(style, event, json.dumps(about).encode())
        assert done.code == 0 and done.out.strip() in ("", "{}"), event
    assert not list((root / ".kb").glob("active/a-1*"))


def test_the_transcript_that_copilot_does_not_name_is_found(in_copilot: Path, tmp_path: Path) -> None:
    file = tmp_path / "home" / ".copilot" / "session-state" / SESSION / "events.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("{}\n")
    made = copilot.normalise_payload("SessionEnd", {"sessionId": SESSION, "reason": "complete"})
    assert made is not None and made["transcript_path"] == str(file)
    early = copilot.normalise_payload("SessionEnd", {"sessionId": "s-2"})
    assert early is not None and early["transcript_path"] == str(file.parent.with_name("s-2") / file.name), (
        "not there yet"
    )
    for strange in ("../other", "", None, 7, "a\0b"):
        found = copilot.normalise_payload("SessionEnd", {"sessionId": strange})
        assert found is not None and found["transcript_path"] == ""


def test_cursor_asks_its_own_hooks_only(work: Path) -> None:
    about = json.dumps({"hook_event_name": "SessionStart", "session_id": SESSION, "conversation_id": SESSION,
                        "cursor_version": "3.9.16", "workspace_roots": [str(work)]}).encode()  # fmt: skip
    assert "Knowledge base" in context(run("claude", "SessionStart", about).out)
    path = resolve_settings_path(HOSTS["cursor"].hooks, "", os.environ)
    settings_file.apply_edit(install.plan_installation(HOSTS["cursor"], path, "kb-hook", os.environ), os.environ)
    assert run("claude", "SessionStart", about).out == ""
    assert "Knowledge base" in run("cursor", "sessionStart", about).out
