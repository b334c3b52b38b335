"""How full a context is, and what is done at 70, 85 and 95 %."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from sessions import Session, numbered

from kb.decision import Decision
from kb.hosts import events
from kb.knowledge import KnowledgeBase
from kb.sessions.usage import Usage, band, usage_in, window_of

# -- bands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "name", "form"),
    [(0, "roomy", "expanded"), (49.9, "roomy", "expanded"), (50, "normal", "normal"), (69.9, "normal", "normal"),
     (70, "reminder", "compact"), (84.9, "reminder", "compact"), (85, "prune", "compact"), (95, "prune", "compact"),
     (95.1, "archive", "compact"), (130, "archive", "compact")],
)  # fmt: skip
def test_the_bands_begin_at_50_70_85_and_above_95(root: Path, percent: float, name: str, form: str) -> None:
    assert (band(percent).name, band(percent).form) == (name, form)
    told = json.loads(run(root, "context", "usage", "--percent", str(percent), "--json").out)
    assert (told["band"], told["form"], told["percent"]) == (name, form, percent)


def test_a_band_is_told_in_both_languages(root: Path) -> None:
    assert run(root, "context", "usage", "--percent", "86").out == "🟠 86.0%: time to prune: kb prune\n"
    (root / "kb.toml").write_text('language = "zh"\n')
    assert "⚠️ 71.0%: 适合缩形态；上下文还有空间" in run(root, "context", "usage", "--percent", "71").out


# -- by the transcript -----------------------------------------------------------------------------


def used(tokens: int, **more: Any) -> bytes:
    session = Session()
    session.step(used=tokens, **more)
    return session.data()


def test_the_last_answer_says_how_full_the_context_is() -> None:
    session = Session()
    session.step(used=50_000)
    session.step(used=142_000)
    session.call("Bash", "ok", command="true")
    found = usage_in(session.data())
    assert (found.tokens, found.percent, found.left, found.model) == (142_000, 71.0, 58_000, "claude-opus-4-6")


def test_words_of_an_agent_within_do_not_count_and_a_compaction_empties() -> None:
    data = used(120_000) + used(9_000).replace(b'"isSidechain":false', b'"isSidechain":true')
    assert usage_in(data).tokens == 120_000
    for about, tokens in (({"postTokens": 20_000}, 20_000), ({"preTokens": 1}, 0), (None, 0)):
        row = json.dumps({"type": "system", "subtype": "compact_boundary", "compactMetadata": about})
        found = usage_in(data + row.encode())
        assert found.tokens == tokens and found.line


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"usage"', b'{"message":{"usage":7}}', b'{"message":7,"usage":1}',
                                  b'{"message":{"usage":{"input_tokens":"x"}}}', b'["usage"]'])  # fmt: skip
def test_what_says_nothing_is_empty(data: bytes) -> None:
    assert usage_in(data) == Usage()


@pytest.mark.parametrize(
    ("model", "window"),
    [("claude-opus-4-6", 200_000), ("claude-opus-4-6[1m]", 1_000_000), ("gpt-5", 400_000), ("gpt-5-mini", 300_000)],
)
def test_the_window_of_a_model_is_a_setting(root: Path, model: str, window: int) -> None:
    assert window_of(model, ("gpt-5=400000", "gpt-*=300000")) == window
    (root / "kb.toml").write_text('context_windows = ["gpt-5=400000", "gpt-*=300000"]\n')
    told = run(root, "context", "usage", "--percent", "1", "--model", model, "--json")
    assert json.loads(told.out)["window"] == window


def test_a_pattern_with_brackets_names_what_it_says() -> None:
    assert window_of("x[1m]", ("x[1m]=500000",)) == 500_000 and window_of("x1", ("x[1m]=500000",)) == 200_000


def test_the_command_reads_a_transcript(root: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(used(174_000))
    assert run(root, "context", "usage", str(tmp_path / "t.jsonl")).out.startswith("🟠 87.0% (174,000 / 200,000)")


# -- lights ----------------------------------------------------------------------------------------


class Agent:
    """A session whose context fills up."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.path = root, folder / "t.jsonl"
        self.session = Session("Implement the order service")
        for _ in range(3):
            self.session.read("/w/app.py", numbered("row of text\n" * 60))
        self.session.idle(10)
        self.session.call("Bash", "log\n" * 30_000, command="make")

    def prompt(self, percent: float, event: str = "UserPromptSubmit", **more: Any) -> Decision:
        self.session.step(used=round(percent * 2000))
        self.session.write(self.path)
        payload = {"session_id": "s-1", "transcript_path": str(self.path), "prompt": "go on please",
                   "cwd": str(self.root), **more}  # fmt: skip
        return events.answered(event, payload, str(self.root))

    def report(self) -> Path:
        return self.root / ".kb" / "active" / "s-1" / "dcp-report.md"

    def archives(self) -> list[str]:
        return sorted(p.name for p in (self.root / "content" / "sessions").glob("*-*"))


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(root, tmp_path)


def test_at_70_percent_the_agent_is_told_once_that_there_is_room(agent: Agent) -> None:
    assert agent.prompt(69) == Decision()
    told = agent.prompt(71).context
    assert "71% of the context" in told and "58,000 tokens are free" in told
    assert agent.prompt(72) == agent.prompt(40) == agent.prompt(75) == Decision()


def test_at_85_percent_the_session_is_pruned_and_the_report_written(agent: Agent) -> None:
    told = agent.prompt(86)
    assert "kb prune" in told.message and str(agent.report()) in told.message
    text = agent.report().read_text()
    assert "**Trigger**: context use 86%" in text and "| Deduplication | 2 repeated reads |" in text
    assert (agent.root / ".kb" / "dcp-report.md").read_text() == text
    assert agent.prompt(87) == Decision() and agent.archives() == []


def test_above_95_percent_the_session_is_archived_and_the_person_told_how_to_go_on(agent: Agent) -> None:
    told = agent.prompt(96)
    [name] = agent.archives()
    text = (agent.root / "content" / "sessions" / name / "dcp-report.md").read_text()
    assert "**Trigger**: before archiving" in text and "| Deduplication | 2 repeated reads |" in text
    assert f"继续{name}" in told.message and name in told.context
    assert agent.prompt(97) == Decision() and agent.archives() == [name]


def test_after_a_compaction_the_lights_are_lit_again(agent: Agent) -> None:
    assert agent.prompt(86).message and not agent.prompt(88).message
    assert not agent.prompt(20).message and agent.prompt(86).message


def test_at_the_end_of_a_turn_the_same_is_done(agent: Agent) -> None:
    assert "kb prune" in agent.prompt(90, "Stop").message
    assert not agent.prompt(91, "UserPromptSubmit").message


def test_a_session_that_works_alone_hears_of_its_context_at_a_tool_call(agent: Agent) -> None:
    more = {"tool_name": "Grep", "tool_input": {}, "tool_response": {"content": "x"}}
    assert "71% of the context" in agent.prompt(71, "PostToolUse", **more).context
    assert agent.prompt(72, "PostToolUse", **more) == Decision()
    assert agent.prompt(97, "PreToolUse", **more) == Decision() and agent.archives() == []


def test_what_a_host_measured_goes_before_the_transcript(agent: Agent) -> None:
    assert agent.prompt(71, context_usage_percent=10) == Decision()
    assert "80% of the context" in agent.prompt(10, context_tokens=160, context_window_size=200).context


def test_broken_settings_do_not_keep_the_prompt_from_its_answer(agent: Agent) -> None:
    (agent.root / "dcp-config.yaml").write_text("dcp: [\n")
    assert agent.prompt(86) == Decision()
    failures = run(agent.root, "doctor", "--json").out
    assert "dcp-config.yaml" in failures


def test_without_a_transcript_nothing_is_said(kb: KnowledgeBase) -> None:
    for path in ("", "/nowhere/t.jsonl", os.sep):
        payload = {"session_id": "s-1", "transcript_path": path, "prompt": "go on please"}
        assert events.answered("UserPromptSubmit", payload, kb.root) == Decision()
