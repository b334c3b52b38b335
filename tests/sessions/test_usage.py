"""How full a context is, and what is done at 70, 85 and 95 %."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kb.hooks import events
from kb.hooks.fast_path import can_skip_event
from kb.hosts import HookResponse
from kb.knowledge_base import KnowledgeBase
from kb.sessions.usage import ContextUsage, ContextWindow, find_band, find_window, read_usage
from tests.support.command_line import run
from tests.support.sessions import Session, numbered

# -- bands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "name", "form"),
    [(0, "roomy", "expanded"), (49.9, "roomy", "expanded"), (50, "normal", "normal"), (69.9, "normal", "normal"),
     (70, "reminder", "compact"), (84.9, "reminder", "compact"), (85, "prune", "compact"), (95, "prune", "compact"),
     (95.1, "archive", "compact"), (130, "archive", "compact")],
)  # fmt: skip
def test_the_bands_begin_at_50_70_85_and_above_95(root: Path, percent: float, name: str, form: str) -> None:
    assert (find_band(percent).name, find_band(percent).form) == (name, form)
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
    found = read_usage(session.data())
    assert (found.tokens, found.percent, found.left, found.model) == (142_000, 71.0, 58_000, "claude-opus-4-6")


def test_words_of_an_agent_within_do_not_count_and_a_compaction_empties() -> None:
    data = used(120_000) + used(9_000).replace(b'"isSidechain":false', b'"isSidechain":true')
    assert read_usage(data).tokens == 120_000
    for about, tokens in (({"postTokens": 20_000}, 20_000), ({"preTokens": 1}, 0), (None, 0)):
        row = json.dumps({"type": "system", "subtype": "compact_boundary", "compactMetadata": about})
        found = read_usage(data + row.encode())
        assert found.tokens == tokens and found.line


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"usage"', b'{"message":{"usage":7}}', b'{"message":7,"usage":1}',
                                  b'{"message":{"usage":{"input_tokens":"x"}}}', b'["usage"]'])  # fmt: skip
def test_what_says_nothing_is_empty(data: bytes) -> None:
    assert read_usage(data) == ContextUsage()


@pytest.mark.parametrize(
    ("model", "window"),
    [("claude-opus-4-6", 200_000), ("claude-opus-4-6[1m]", 1_000_000), ("gpt-5", 400_000), ("gpt-5-mini", 300_000)],
)
def test_the_window_of_a_model_is_a_setting(root: Path, model: str, window: int) -> None:
    assert find_window(model, ("gpt-5=400000", "gpt-*=300000")).tokens == window
    (root / "kb.toml").write_text('context_windows = ["gpt-5=400000", "gpt-*=300000"]\n')
    told = run(root, "context", "usage", "--percent", "1", "--model", model, "--json")
    assert json.loads(told.out)["window"] == window


def test_a_pattern_with_brackets_names_what_it_says() -> None:
    assert (
        find_window("x[1m]", ("x[1m]=500000",)).tokens == 500_000
        and find_window("x1", ("x[1m]=500000",)).tokens == 200_000
    )


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

    def prompt(self, percent: float, event: str = "UserPromptSubmit", **more: Any) -> HookResponse:
        self.session.step(used=round(percent * 2000))
        self.session.write(self.path)
        payload = {"session_id": "s-1", "transcript_path": str(self.path), "prompt": "go on please",
                   "cwd": str(self.root), **more}  # fmt: skip
        return events.handle_event(event, payload, str(self.root))

    def report(self) -> Path:
        return self.root / ".kb" / "active" / "s-1" / "dcp-report.md"

    def archives(self) -> list[str]:
        return sorted(p.name for p in (self.root / "content" / "sessions").glob("*-*"))


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(root, tmp_path)


def test_at_70_percent_the_agent_is_told_once_that_there_is_room(agent: Agent) -> None:
    assert agent.prompt(69) == HookResponse()
    told = agent.prompt(71).context
    assert "71% of the context" in told and "58,000 tokens are free" in told
    assert agent.prompt(72) == agent.prompt(40) == agent.prompt(75) == HookResponse()


def test_at_85_percent_the_session_is_pruned_and_the_report_written(agent: Agent) -> None:
    told = agent.prompt(86)
    assert "kb prune" in told.message and str(agent.report()) in told.message
    text = agent.report().read_text()
    assert "**Trigger**: context use 86%" in text and "| Deduplication | 2 repeated reads |" in text
    assert (agent.root / ".kb" / "dcp-report.md").read_text() == text
    assert agent.prompt(87) == HookResponse() and agent.archives() == []


def test_above_95_percent_the_session_is_archived_and_the_person_told_how_to_go_on(agent: Agent) -> None:
    told = agent.prompt(96)
    [name] = agent.archives()
    text = (agent.root / "content" / "sessions" / name / "dcp-report.md").read_text()
    assert "**Trigger**: before archiving" in text and "| Deduplication | 2 repeated reads |" in text
    assert f"continue {name}" in told.message and name in told.context
    assert agent.prompt(97) == HookResponse() and agent.archives() == [name]


def test_after_a_compaction_the_lights_are_lit_again(agent: Agent) -> None:
    assert agent.prompt(86).message and not agent.prompt(88).message
    assert not agent.prompt(20).message and agent.prompt(86).message


def test_at_the_end_of_a_turn_the_same_is_done(agent: Agent) -> None:
    assert "kb prune" in agent.prompt(90, "Stop").message
    assert not agent.prompt(91, "UserPromptSubmit").message


def test_a_session_that_works_alone_hears_of_its_context_at_a_tool_call(agent: Agent) -> None:
    more = {"tool_name": "Grep", "tool_input": {}, "tool_response": {"content": "x"}}
    assert "71% of the context" in agent.prompt(71, "PostToolUse", **more).context
    assert agent.prompt(72, "PostToolUse", **more) == HookResponse()
    assert agent.prompt(97, "PreToolUse", **more) == HookResponse() and agent.archives() == []


def test_at_the_end_of_a_turn_what_the_agent_is_to_hear_waits_for_the_next(agent: Agent) -> None:
    assert agent.prompt(75, "Stop") == HookResponse()
    assert "75% of the context" in agent.prompt(75).context
    assert agent.prompt(76, "Stop") == agent.prompt(76) == HookResponse()


def test_the_agent_hears_of_the_archive_that_was_made_at_the_end_of_a_turn(agent: Agent) -> None:
    told = agent.prompt(96, "Stop")
    [name] = agent.archives()
    assert name in told.message and not told.context
    assert name in agent.prompt(96).context
    assert agent.prompt(97) == agent.prompt(97, "Stop") == HookResponse()


def test_one_compaction_makes_one_archive(agent: Agent) -> None:
    agent.prompt(96)
    [name] = agent.archives()
    agent.prompt(98, "PreCompact", trigger="auto")
    assert agent.archives() == [name]
    agent.prompt(60)
    agent.prompt(80, "PreCompact", trigger="auto")
    assert len(agent.archives()) == 2, "the next compaction has an archive of its own"
    assert agent.prompt(96).message and len(agent.archives()) == 3


MODELS_OF_TODAY = [
    ("claude-opus-5-5", 1_000_000), ("us.anthropic.claude-opus-5-v1:0", 1_000_000), ("gemini-2.5-pro", 1_048_576),
    ("anthropic/claude-sonnet-5", 1_000_000), ("claude-sonnet-4@20250514", 200_000), ("gemini-3.1-pro", 1_048_576),
    ("claude-3-5-haiku-latest", 200_000), ("claude-opus-4-5-20251101-v1:0", 200_000), ("claude-haiku-4-5", 200_000),
]  # fmt: skip


@pytest.mark.parametrize(("model", "tokens"), MODELS_OF_TODAY)
def test_the_windows_of_todays_models_are_known(model: str, tokens: int) -> None:
    assert find_window(model) == ContextWindow(tokens)


@pytest.mark.parametrize("model", ["", "claude-opus-9", "claude-opus-5-5x", "gpt-7", "fake-model", "gemini-1.0"])
def test_another_model_is_not_guessed_from_its_name(model: str) -> None:
    assert not find_window(model).is_known and find_window(model, (), 32_000) == ContextWindow(32_000)


def lights(root: Path, path: Path, used: int, model: str) -> HookResponse:
    session = Session()
    session.step(used=used, model=model)
    session.call("Bash", "log\n" * 1000, command="make")
    payload = {"session_id": "s-1", "transcript_path": session.write(path), "prompt": "go on please", "cwd": str(root)}
    return events.handle_event("UserPromptSubmit", payload, str(root))


@pytest.mark.parametrize("used", [150_000, 175_000, 193_000])
@pytest.mark.parametrize("model", ["claude-opus-5-5", "gemini-2.5-pro", "some-new-model"])
def test_no_light_is_lit_above_a_guess(root: Path, tmp_path: Path, used: int, model: str) -> None:
    assert lights(root, tmp_path / "t.jsonl", used, model) == HookResponse()


def test_more_tokens_than_the_window_is_another_window(root: Path, tmp_path: Path) -> None:
    for used in (300_000, 190_000, 196_000):
        assert lights(root, tmp_path / "t.jsonl", used, "claude-sonnet-4-5") == HookResponse()
    assert run(root, "context", "usage", str(tmp_path / "t.jsonl")).out.startswith("🔴 98.0%"), "of what it says alone"


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_a_small_transcript_may_fill_a_small_window(root: Path, tmp_path: Path, event: str) -> None:
    (root / "kb.toml").write_text("context_window = 32000\n")
    session = Session()
    session.step(used=31_204, model="local")
    payload = {"session_id": "s-1", "transcript_path": session.write(tmp_path / "t.jsonl"), "prompt": "go on please",
               "cwd": str(root)}  # fmt: skip
    told = events.handle_event(event, payload, str(root))
    assert "the context is nearly full" in told.message
    assert len(list((root / "content/sessions").glob("*-*"))) == 1


def test_a_tool_call_is_looked_at_until_the_next_light_is_known_to_be_far(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    payload = {"session_id": "s-1", "transcript_path": str(path), "tool_name": "TodoWrite", "tool_input": {},
               "cwd": str(root)}  # fmt: skip
    session = Session()
    session.step(used=60_000, model="claude-opus-5-5")
    session.write(path)
    assert not can_skip_event("PreToolUse", payload, str(root)), "nobody has looked yet"
    events.handle_event("PreToolUse", payload, str(root))
    assert can_skip_event("PreToolUse", payload, str(root))
    session.call("Bash", "x" * 300_000, command="make")
    session.write(path)
    assert can_skip_event("PreToolUse", payload, str(root)), "640,000 tokens are more bytes"
    session.call("Bash", "x" * 50_000, command="make")
    session.step(used=720_000, model="claude-opus-5-5")
    session.write(path)
    assert not can_skip_event("PreToolUse", payload, str(root))
    assert "72% of the context" in events.handle_event("PreToolUse", payload, str(root)).context


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_a_compaction_tells_how_large_the_window_is(root: Path, tmp_path: Path, trigger: str) -> None:
    about = {"trigger": trigger, "preTokens": 500_000, "postTokens": 3000}
    row = json.dumps({"type": "system", "uuid": "x", "subtype": "compact_boundary", "compactMetadata": about}) + "\n"
    session = Session()
    session.step(used=440_000, model="some-new-model")
    used = read_usage(row.encode() + session.data())
    assert (used.window, used.is_known) == ((500_000, True) if trigger == "auto" else (1_000_000, False))
    session.step(used=4000, model="claude-sonnet-4-5")
    used = read_usage(row.encode() + session.data())
    assert not used.is_known and used.window == 1_000_000


def test_where_nothing_can_be_saved_nothing_is_said(root: Path, tmp_path: Path) -> None:
    assert lights(root, tmp_path / "t.jsonl", 175_000, "claude-haiku-4-5") == HookResponse()
    assert (root / ".kb/active/s-1/dcp-report.md").is_file()


@pytest.mark.parametrize("damage", ["{", "[]", '{"lit": 7, "untold": 1, "held": "x", "until": []}', '{"lit": [7]}'])
def test_damaged_lights_are_lit_anew(agent: Agent, damage: str) -> None:
    agent.prompt(71)
    (agent.root / ".kb/active/s-1/lights.json").write_text(damage)
    assert "72% of the context" in agent.prompt(72).context


def test_what_a_host_measured_goes_before_the_transcript(agent: Agent) -> None:
    assert agent.prompt(71, context_usage_percent=10) == HookResponse()
    assert "80% of the context" in agent.prompt(10, context_tokens=160, context_window_size=200).context


def test_broken_settings_do_not_keep_the_prompt_from_its_answer(agent: Agent) -> None:
    (agent.root / "dcp-config.yaml").write_text("dcp: [\n")
    assert agent.prompt(86) == HookResponse()
    failures = run(agent.root, "doctor", "--json").out
    assert "dcp-config.yaml" in failures


def test_without_a_transcript_nothing_is_said(kb: KnowledgeBase) -> None:
    for path in ("", "/nowhere/t.jsonl", os.sep):
        payload = {"session_id": "s-1", "transcript_path": path, "prompt": "go on please"}
        assert events.handle_event("UserPromptSubmit", payload, kb.root) == HookResponse()
