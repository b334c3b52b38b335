"""A command that fails as it failed before is answered with the cure, once; one that fails in vain with a warning."""

import json
from pathlib import Path
from typing import Any

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.state import failed_calls
from kb.text.segment import estimate_tokens
from tests.hooks.test_hosts import Printed, run
from tests.support.hostanswers import faults
from tests.support.sealed import git

PIKA = "ModuleNotFoundError: No module named 'pika'"
PITFALL = Candidate(
    "pitfall",
    f"`pytest -q` fails: {PIKA}",
    f"`pytest -q`: {PIKA}",
    sections={"solution": "Run `pip install pika`.", "outcome": "`pytest -q` passes"},
    fields={"signature": ("pytest", PIKA.casefold())},
    prevents_repeat=True,
    session="s0",
)
FAILING: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("PostToolUseFailure", {
        "tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "error": f"Exit code 2\nE   {PIKA}"}),
    "codex": ("PostToolUse", {
        "tool_name": "Bash", "tool_input": {"command": "pytest -q"},
        "tool_response": f"Chunk ID: 1\nProcess exited with code 2\nFinal output:\n{PIKA}"}),
    "gemini": ("AfterTool", {
        "tool_name": "run_shell_command", "tool_input": {"command": "pytest -q"},
        "tool_response": {"llmContent": f"Command: pytest -q\nOutput: {PIKA}\nError: (none)\nExit Code: 2"}}),
    "copilot": ("postToolUseFailure", {
        "toolName": "bash", "toolArgs": {"command": "pytest -q"}, "error": f"{PIKA}\n<exited with exit code 2>"}),
    "cursor": ("postToolUse", {
        "tool_name": "Shell", "tool_input": {"command": "pytest -q"},
        "tool_output": json.dumps({"exitCode": 2, "stdout": "", "stderr": PIKA})}),
    "opencode": ("tool.execute.after", {
        "tool_name": "bash", "tool_input": {"command": "pytest -q"}, "tool_error": PIKA}),
}  # fmt: skip


@pytest.fixture
def base(kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    """A knowledge base that knows one cure, in which a session has started."""
    [verdict] = kb.write([PITFALL], folder=str(root.parent))
    assert verdict.verdict == "created", verdict.reasons
    monkeypatch.setenv("KB_HOME", str(root))
    start(root)
    return kb


def start(root: Path) -> None:
    assert run("claude", "SessionStart", payload(root, source="startup")).code == 0


def payload(root: Path, session: str = "s-1", **more: Any) -> bytes:
    ids = {"session_id": session, "sessionId": session, "conversation_id": session}
    return json.dumps({**ids, "cwd": str(root.parent), **more}).encode()


def fail(root: Path, host: str = "claude", session: str = "s-1", **more: Any) -> Printed:
    event, given = FAILING[host]
    done = run(host, event, payload(root, session, **{**given, **more}))
    assert (done.code, done.error, faults(host, event, done.out)) == (0, "", [])
    return done


@pytest.mark.parametrize("host", FAILING)
def test_the_cure_is_told_once_at_the_failure(base: KnowledgeBase, root: Path, host: str) -> None:
    told = fail(root, host).out
    for word in ("[P001]", "No module named 'pika'", "pip install pika", "proved in 1 session"):
        assert word in told
    assert "pip install" not in fail(root, host).out
    assert "pip install" in fail(root, host, session="s-2").out


SHOWN = f"{PIKA}\n<shellId: 0 completed with exit code 1>"
CODELESS: dict[str, dict[str, Any]] = {
    "codex": {"tool_response": PIKA},
    "copilot": {"toolResult": {"resultType": "success", "textResultForLlm": SHOWN}},
}


@pytest.mark.parametrize("host", CODELESS)
def test_a_failure_that_its_host_calls_a_success_gets_the_cure(base: KnowledgeBase, root: Path, host: str) -> None:
    event = {"codex": "PostToolUse", "copilot": "postToolUse"}[host]
    given = {**FAILING[host][1], **CODELESS[host]}
    assert "pip install pika" in run(host, event, payload(root, **given)).out


def test_an_output_without_an_exit_code_is_no_failure_by_itself(base: KnowledgeBase, root: Path) -> None:
    given = {**FAILING["codex"][1], "tool_response": "2 passed"}
    for _ in range(3):
        assert run("codex", "PostToolUse", payload(root, **given)).out == ""
    assert not failed_calls.is_repeated_in_vain(str(root), "s-1-codex", "pytest -q")


def test_it_costs_few_tokens(base: KnowledgeBase, root: Path) -> None:
    text = json.loads(fail(root).out)["hookSpecificOutput"]["additionalContext"]
    assert estimate_tokens(text) <= 60


def test_in_a_chinese_base_it_is_told_in_chinese(base: KnowledgeBase, root: Path) -> None:
    toml = root / "kb.toml"
    toml.write_text(toml.read_text() + '\nlanguage = "zh"\n')
    assert "在 1 个会话中得到验证" in fail(root).out


def write_by_hand(kb: KnowledgeBase, root: Path, *signature: str, **more: Any) -> None:
    """Write in a base of its own what a person typed: lines as the terminal shows them, and no session."""
    given = {"session": "", "fields": {"signature": signature}, **more}
    [verdict] = kb.write([PITFALL._replace(**given)], folder=str(root.parent))
    assert verdict.verdict == "created", verdict.reasons


@pytest.mark.parametrize(
    "signature",
    [
        ("pytest", PIKA),
        ("pytest -q tests/unit", f"E   {PIKA}"),
        (PIKA,),
        (f"  /srv/app/tests/test_queue.py:12: {PIKA}",),
    ],
)
def test_a_signature_typed_by_hand_is_recognised(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch, signature: tuple[str, ...]
) -> None:
    monkeypatch.setenv("KB_HOME", str(root))
    write_by_hand(kb, root, *signature)
    start(root)
    told = fail(root).out
    assert "pip install pika" in told and "proved" not in told
    assert fail(root, session="s-2", error="Exit code 2\nModuleNotFoundError: No module named 'redis'").out == ""
    other = fail(root, session="s-3", tool_input={"command": "make test"}).out
    assert ("pip install pika" in other) == (len(signature) == 1), "without a command it stands for any"


def test_a_signature_edited_by_hand_is_recognised(base: KnowledgeBase, root: Path) -> None:
    [path] = root.glob("content/anchors/**/P001-*.md")
    text = path.read_text()
    assert PIKA.casefold() in text
    path.write_text(text.replace(PIKA.casefold(), PIKA))
    git(root, "commit", "-qam", "Write it as it is shown")
    start(root)
    assert "pip install pika" in fail(root).out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_cure_is_cut(kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("KB_HOME", str(root))
    toml = root / "kb.toml"
    toml.write_text(toml.read_text() + f'\nlanguage = "{language}"\n')
    title, cure = {
        "en": (
            "The queue tests fail on a fresh checkout " * 3,
            "Run `pip install pika` in the environment of the tests " * 4,
        ),
        "zh": (
            "在新检出的仓库里运行队列测试会失败，因为没有安装消息队列的客户端" * 3,
            "先在测试环境里运行 `pip install pika`，再重新执行队列相关的全部测试并确认通过" * 3,
        ),
    }[language]
    write_by_hand(kb, root, PIKA, title=title[:80], sections={"solution": cure})
    start(root)
    text = json.loads(fail(root).out)["hookSpecificOutput"]["additionalContext"]
    assert "[P001]" in text and "pip install pika" in text
    assert estimate_tokens(text) <= 60


@pytest.mark.parametrize(
    "error",
    [
        "Exit code 2\nModuleNotFoundError: No module named 'redis'",  # another one of the same sort
        "Exit code 1\n3 failed, 2 passed",
        "Exit code 1",
        "",
    ],
)
def test_another_failure_gets_no_cure(base: KnowledgeBase, root: Path, error: str) -> None:
    assert fail(root, error=error).out == ""


def test_another_tool_with_the_same_words_gets_no_cure(base: KnowledgeBase, root: Path) -> None:
    assert fail(root, tool_input={"command": "cargo test"}).out == ""
    assert fail(root, tool_input={"command": "grep -rn pika ."}).out == ""


def test_what_a_person_stopped_has_not_failed(base: KnowledgeBase, root: Path) -> None:
    assert fail(root, is_interrupt=True).out == ""


def test_a_pitfall_that_is_fixed_is_silent(base: KnowledgeBase, root: Path) -> None:
    [path] = root.glob("content/anchors/**/P001-*.md")
    path.write_text(path.read_text().replace("signature:", "fixed_by: 1234567\nsignature:", 1))
    git(root, "commit", "-qam", "Fix it")
    assert fail(root).out == ""


def test_a_pitfall_that_is_rejected_is_silent(base: KnowledgeBase, root: Path) -> None:
    [path] = root.glob("content/anchors/**/P001-*.md")
    path.write_text(path.read_text().replace("status: proposed", "status: rejected", 1))
    git(root, "commit", "-qam", "Reject it")
    assert fail(root).out == ""


def test_a_cure_that_failed_in_this_session_is_not_told(base: KnowledgeBase, root: Path) -> None:
    assert fail(root, tool_input={"command": "pip install pika"}, error="Exit code 1\nno network").out == ""
    assert fail(root).out == ""
    assert "pip install" in fail(root, session="s-2").out


def test_lines_that_stand_under_three_failures_tell_nothing(base: KnowledgeBase, root: Path) -> None:
    rows = [("pytest", PIKA.casefold(), f"error: no '{name}'") for name in ("alpha", "beta", "gamma")]
    failed_calls.save_unsolved(base.state, "s9", rows, day="2026-11-01", project="global")
    assert fail(root).out == ""


# -- the same again, in vain ---------------------------------------------------------------------------


def before(root: Path, session: str = "s-1", **more: Any) -> str:
    given = {"tool_name": "Bash", "tool_input": {"command": "make release"}, **more}
    return run("claude", "PreToolUse", payload(root, session, **given)).out


def release(root: Path, event: str = "PostToolUseFailure", command: str = "make release", session: str = "s-1") -> None:
    result = {"error": "Exit code 2\nboom"} if event == "PostToolUseFailure" else {"tool_response": {"stdout": "ok"}}
    run("claude", event, payload(root, session, tool_name="Bash", tool_input={"command": command}, **result))


def test_before_the_third_try_with_nothing_changed_there_is_one_warning(base: KnowledgeBase, root: Path) -> None:
    release(root)
    assert before(root) == ""
    release(root)
    release(root, "PostToolUse", "git status")
    warned = json.loads(before(root))
    assert "failed twice" in warned["hookSpecificOutput"]["additionalContext"]
    assert "permissionDecision" not in warned["hookSpecificOutput"], "it is no denial"
    assert before(root) == ""
    assert before(root, session="s-2") == ""


@pytest.mark.parametrize("change", ["edit", "command"])
def test_once_something_is_changed_it_may_be_tried_again(base: KnowledgeBase, root: Path, change: str) -> None:
    release(root)
    release(root)
    if change == "edit":
        before(root, tool_name="Edit", tool_input={"file_path": str(root.parent / "Makefile"), "new_string": "x"})
    else:
        release(root, "PostToolUse", "npm install")
    assert before(root) == ""
