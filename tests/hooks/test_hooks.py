"""Every event as a host sends it: real processes, payloads on stdin, and nothing ever stops the agent."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kb import hooks
from kb.capture import save_session
from kb.hooks import claude, events
from kb.hosts import HookResponse
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.sessions.active_sessions import ExtractionJob
from kb.state import state_folder
from kb.text.segment import estimate_tokens
from tests.support.sealed import git
from tests.support.talk import EN, PASSING, ZH, add, called, said, transcript

EVENTS = {
    "session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "pre-compact": "PreCompact", "stop": "Stop",
    "subagent-stop": "SubagentStop", "subagent-start": "SubagentStart", "session-end": "SessionEnd",
}  # fmt: skip


class Answer(NamedTuple):
    """What a hook printed and how it ended."""

    code: int
    output: dict[str, Any]
    error: str = ""

    @property
    def context(self) -> str:
        return str(self.output.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def message(self) -> str:
        return str(self.output.get("systemMessage", ""))


class Host:
    """An agent host with a knowledge base in use and a folder to work in."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        folder.mkdir(exist_ok=True)

    def payload(self, word: str, session: str, path: str, **more: Any) -> bytes:
        given = {"session_id": session, "transcript_path": path, "cwd": str(self.folder)}
        return json.dumps({**given, "hook_event_name": EVENTS[word], "permission_mode": "default", **more}).encode()

    def process(self, word: str) -> "subprocess.Popen[bytes]":
        """Start a hook that waits for its payload."""
        code = "from kb.hooks import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "KB_HOME": str(self.root)}, cwd=self.folder,
        )  # fmt: skip

    def run(self, word: str, session: str = "s1", path: str = "", **more: Any) -> Answer:
        """Run a hook as a process of its own, as a host does."""
        process = self.process(word)
        out, error = process.communicate(self.payload(word, session, path, **more), timeout=60)
        return Answer(process.returncode, json.loads(out) if out.strip() else {}, error.decode())

    def raw(self, word: str, data: bytes) -> Answer:
        """Run a hook in this process."""
        streams = [io.TextIOWrapper(io.BytesIO(written), "utf-8") for written in (data, b"", b"")]
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as left:
            patch.setenv("KB_HOME", str(self.root))
            patch.chdir(self.folder)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            hooks.main([word])
        out, error = map(self._written, streams[1:])
        return Answer(int(left.value.code or 0), json.loads(out) if out.strip() else {}, error)

    def _written(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        stream.seek(0)
        return stream.read()

    def send(self, word: str, session: str = "s1", path: str = "", **more: Any) -> Answer:
        """Send an event to a hook in this process."""
        return self.raw(word, self.payload(word, session, path, **more))

    def kb(self) -> KnowledgeBase:
        """Open the knowledge base to look into it."""
        return KnowledgeBase(str(self.root), os.environ)


@pytest.fixture
def host(root: Path, tmp_path: Path) -> Host:
    """A host that works in a folder of its own."""
    return Host(root, tmp_path / "work")


# -- the loop --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoken", "prompt", "named", "why"),
    [(ZH, "后端框架应该用 FastAPI 还是 Flask？", "FastAPI", "类型提示"),
     (EN, "Do API responses have to go through the Sanitizer?", "Sanitizer", "compliance audits")],
    ids=["zh", "en"],
)  # fmt: skip
def test_a_later_session_is_told_what_an_earlier_one_decided(
    host: Host, tmp_path: Path, spoken: str, prompt: str, named: str, why: str
) -> None:
    path = transcript(tmp_path / "t.jsonl", spoken)
    ended = host.run("session-end", "s1", path, reason="other")
    assert (ended.code, ended.output) == (0, {})
    started = host.run("session-start", "s2", str(tmp_path / "new.jsonl"), source="startup")
    assert started.code == 0 and "[D001]" in started.message and "kb rm D001" in started.message
    assert any(line.startswith("    + ") and named in line for line in started.message.splitlines()), "what it says"
    answer = host.run("user-prompt", "s2", str(tmp_path / "new.jsonl"), prompt=prompt)
    assert answer.code == 0 and "[D001]" in answer.context and named in answer.context and why in answer.context
    assert estimate_tokens(answer.context) <= host.kb().config.prompt_tokens
    again = host.send("session-start", "s3", "", source="startup")
    assert again.message == "" and len(host.kb().sessions()) == 1


@pytest.mark.parametrize(
    "prompt", ["hi", "thanks!", "你好", "好的，继续", "", "   ", "?", "👍", "run the tests please", "ok"]
)
def test_small_talk_is_not_answered(host: Host, tmp_path: Path, prompt: str) -> None:
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH, EN))
    answer = host.send("user-prompt", "s2", prompt=prompt)
    assert (answer.code, answer.output) == (0, {})


def test_an_empty_knowledge_base_says_nothing(host: Host) -> None:
    for word, more in (
        ("session-start", {"source": "startup"}), ("user-prompt", {"prompt": "which framework?"}),
        ("subagent-start", {"agent_id": "a", "agent_type": "Explore"}),
    ):  # fmt: skip
        answer = host.send(word, **more)
        assert (answer.code, answer.output, answer.error) == (0, {}, ""), word


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork", "", 7])
def test_a_start_restores_the_compact_form_where_it_was_lost(host: Host, tmp_path: Path, source: object) -> None:
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH), trigger="auto", custom_instructions="")
    answer = host.send("session-start", "s1", source=source)
    assert answer.code == 0 and ("Compact context" in answer.context) == (source in ("compact", "resume"))
    assert len(answer.context) <= 10_000 and estimate_tokens(answer.context) <= host.kb().config.start_tokens
    assert "Compact context" not in host.send("session-start", "other", source=source).context


def test_a_sub_agent_is_told_by_its_role_and_task(host: Host, tmp_path: Path) -> None:
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH, EN))
    parent = tmp_path / "parent.jsonl"
    parent.write_text(
        said("user", "go") + called("Agent", {"subagent_type": "Plan", "prompt": "plan the FastAPI backend"})
    )
    more = {"agent_id": "a1"}
    told = host.send("subagent-start", "s2", str(parent), agent_type="Plan", **more)
    assert "FastAPI" in told.context and "Sanitizer" not in told.context
    for agent_type in ("general-purpose", "耳", ""):
        assert host.send("subagent-start", "s2", str(parent), agent_type=agent_type, **more).output == {}


@pytest.mark.parametrize(
    ("message", "prompt"),
    [(EN, "Why do responses go through the Sanitizer module?"), (ZH, "为什么后端框架采用 FastAPI 而不用 Flask？")],
)
def test_a_session_is_told_a_record_once_until_it_is_compacted(
    host: Host, tmp_path: Path, message: str, prompt: str
) -> None:
    path = transcript(tmp_path / "t.jsonl", message)
    host.send("stop", "s0", path, stop_hook_active=False)
    asked = {"path": path, "prompt": prompt}
    assert "001]" in host.send("user-prompt", "s1", **asked).context
    assert host.send("user-prompt", "s1", **asked).context == ""
    assert "001]" in host.send("user-prompt", "s1", agent_id="a1", **asked).context, "a sub-agent has not heard it"
    host.send("session-end", "s1", path)
    host.send("session-start", "s1", source="resume")
    assert host.send("user-prompt", "s1", **asked).context == "", "a resumed session still has it"
    host.send("session-start", "s1", source="compact")
    assert "001]" in host.send("user-prompt", "s1", **asked).context
    host.send("pre-compact", "s1", path, trigger="auto")
    assert "001]" in host.send("user-prompt", "s1", **asked).context, "some hosts have no event after it"


def test_what_always_holds_is_not_said_again_to_a_resumed_session(host: Host) -> None:
    wish = Candidate("preference", "Answers are in Chinese", "Answer in Chinese.", scope="global", affects_future=True)
    with host.kb() as kb:
        kb.write([wish], decided=True)
    assert "U001" in host.send("session-start", "s1", source="startup").context
    assert "U001" not in host.send("session-start", "s1", source="resume").context
    assert "U001" in host.send("session-start", "s1", source="compact").context
    assert "U001" in host.send("session-start", "s2", source="startup").context


def test_what_a_start_named_by_its_title_is_said_where_it_counts(host: Host) -> None:
    rule = Candidate("constraint", "Amounts are integer cents", "Amounts are integer cents.", why="Floats lose cents.")
    with host.kb() as kb:
        kb.write([rule._replace(scope="global", affects_future=True)], decided=True)
    assert "C001" in host.send("session-start", "s1", source="startup").context
    asked = {"prompt": "are amounts integer cents or floats?"}
    assert "C001" in host.send("user-prompt", "s1", **asked).context
    assert host.send("user-prompt", "s1", **asked).context == ""


def test_a_path_is_named_as_the_agent_opens_it(host: Host, tmp_path: Path) -> None:
    told = host.send("stop", "s1", transcript(tmp_path / "t.jsonl", EN), stop_hook_active=False).output["systemMessage"]
    asked = host.send("user-prompt", "s2", prompt="Why do responses go through the Sanitizer module?").context
    for text in (told, asked):
        [path] = re.findall(r"\((\S+\.md)\)", text)
        assert os.path.isabs(path) and os.path.isfile(path)
    prompt, folder = "Why do responses go through the Sanitizer module?", str(host.root)
    assert "(content/anchors/" in host.kb().answer_to_prompt(prompt, project="project/work", folder=folder)


def test_what_is_written_is_told(host: Host, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    told = host.send("stop", "s1", path, stop_hook_active=False)
    assert "[D001]" in told.message and "content/anchors/projects/work/D001-" in told.message
    flask = "决定：后端统一使用 Flask 框架，因为团队更熟悉，影响整体架构。"
    told = host.send("stop", "s2", transcript(tmp_path / "u.jsonl", flask))
    assert "kb review show kb/review/" in told.message


def test_a_passing_note_is_gone_at_the_end(host: Host, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", PASSING, ZH, "继续。")
    host.send("pre-compact", "s1", path)
    notes = host.root / ".kb" / "active" / "s1" / "notes.jsonl"
    assert "注释掉登录测试" in notes.read_text("utf-8")
    assert "注释掉登录测试" in host.send("session-start", "s1", path, source="compact").context
    host.send("session-end", "s1", path)
    assert not notes.parent.exists()
    host.send("session-start", "s2", source="startup")
    kept = git(host.root, "grep", "-l", "-e", "注释掉登录测试", "HEAD", "--", "content").splitlines()
    assert kept and all(path.endswith("shi-result.json") for path in kept), "only the report says what became of it"


# -- side by side ----------------------------------------------------------------------------------


def test_sessions_side_by_side_never_meet(host: Host, tmp_path: Path) -> None:
    texts = [f"决定：第{n}号服务统一使用独立的数据库，因为隔离故障，影响整体架构。" for n in range(4)]
    paths = [transcript(tmp_path / f"{n}.jsonl", text) for n, text in enumerate(texts)]
    running = [(host.process("pre-compact"), n) for n in range(4)]
    answers = []

    def talk(process: "subprocess.Popen[bytes]", n: int) -> None:
        answers.append(process.communicate(host.payload("pre-compact", f"session-{n}", paths[n]), timeout=60))

    threads = [threading.Thread(target=talk, args=pair) for pair in running]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process, _ in running] == [0] * 4, answers
    kb = host.kb()
    for n in range(4):
        compact = (host.root / ".kb" / "active" / f"session-{n}" / "compact.md").read_text("utf-8")
        assert [m for m in range(4) if f"第{m}号" in compact] == [n]
    assert {session.session for session in kb.sessions()} == {f"session-{n}" for n in range(4)}
    assert len(kb.records()) + len(kb.reviews()) + len(kb.held()) == 4
    assert git(host.root, "status", "--porcelain") == "" and kb.state.list_spooled() == []


def test_an_ended_session_lands_once_though_two_start(host: Host, tmp_path: Path) -> None:
    host.send("session-end", "s1", transcript(tmp_path / "t.jsonl", ZH))
    running = [host.process("session-start") for _ in range(3)]
    threads = [
        threading.Thread(target=p.communicate, args=(host.payload("session-start", f"n{n}", "", source="startup"),))
        for n, p in enumerate(running)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    host.send("session-start", "last", "", source="startup")  # where the disk stood still, the first had no time left
    kb = host.kb()
    assert len(kb.sessions()) == 1 and [r.occurrences for r in kb.records()] == [1]
    assert kb.state.list_spooled() == []


def test_the_pause_of_one_session_is_no_pause_for_another(host: Host, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    host.send("stop", "s1", path)
    add(path, EN)
    assert host.send("stop", "s1", path).message == ""
    other = transcript(tmp_path / "u.jsonl", "约束：所有金额必须使用整数分存储，因为浮点误差会导致对账失败，影响架构。")
    assert host.send("stop", "s2", other).message != ""
    assert "Sanitizer" in host.send("pre-compact", "s1", path).message


def test_a_sub_agents_last_words_are_not_lost(host: Host, tmp_path: Path) -> None:
    main, agent = transcript(tmp_path / "main.jsonl", "好的。"), transcript(tmp_path / "agent.jsonl", ZH)
    more = {"agent_id": "a1", "agent_type": "Explore", "agent_transcript_path": agent}
    assert "[D001]" in host.send("subagent-stop", "s1", main, **more).message
    add(agent, EN)
    host.send("subagent-stop", "s1", main, **more)
    host.send("session-end", "s1", main)
    assert "Sanitizer" in host.send("session-start", "s2", source="startup").message


def test_a_sub_agent_without_a_transcript_of_its_own_is_its_parent(host: Host, tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", ZH)
    assert "[D001]" in host.send("subagent-stop", "s1", path, agent_id="a1").message
    add(path, EN)
    assert host.send("stop", "s1", path).message == "", "the pause of the one is the pause of the other"


def test_what_a_sub_agent_found_stands_in_the_forms_of_its_session(host: Host, tmp_path: Path) -> None:
    main, agent = transcript(tmp_path / "main.jsonl", "好的。"), transcript(tmp_path / "agent.jsonl", ZH)
    more = {"agent_id": "a1", "agent_type": "Explore", "agent_transcript_path": agent}
    host.send("subagent-stop", "s1", main, **more)
    active = host.root / ".kb" / "active" / "s1"
    assert "FastAPI" in (active / "compact.md").read_text("utf-8")
    assert (active / "expanded.md").read_text("utf-8").count("## a1 · ") == 1
    add(agent, EN)
    host.send("subagent-stop", "s1", main, **{**more, "agent_id": "a2"})
    host.send("subagent-stop", "s1", main, **more)
    expanded = (active / "expanded.md").read_text("utf-8")
    assert (expanded.count("## a1 · "), expanded.count("## a2 · ")) == (1, 1), "one section for each agent"
    restored = host.send("session-start", "s1", main, source="compact").context
    assert "FastAPI" in restored and "Sanitizer" in restored, "the agent that goes on knows what its helpers found"
    host.send("pre-compact", "s1", main)
    (archive,) = (path for path in (host.root / "content" / "sessions").iterdir() if path.is_dir())
    told = json.loads((archive / "hui-output.json").read_text("utf-8"))
    assert json.dumps(told, ensure_ascii=False).count("FastAPI") > 0
    assert len(host.kb().records()) == 2


def test_a_sub_agent_whose_session_has_ended_opens_it_no_more(host: Host, tmp_path: Path) -> None:
    main, agent = transcript(tmp_path / "main.jsonl", "好的。"), transcript(tmp_path / "agent.jsonl", ZH)
    host.send("subagent-stop", "s1", main, agent_id="a1", agent_transcript_path=agent)
    host.send("session-end", "s1", main)
    add(agent, EN)
    with host.kb() as kb:
        save_session.save(kb, ExtractionJob(agent, "s1", agent="a1"), archive=False)
        assert len(kb.records()) == 2
    assert not (host.root / ".kb" / "active" / "s1").exists()


# -- whatever comes --------------------------------------------------------------------------------

PAYLOADS: list[bytes] = [
    b"", b"   ", b"{}", b"[]", b"null", b"7", b'"x"', b"{", b"\xff\xfe\x00", b"NaN", b"[" * 100_000, b'{"a":' * 5000,
    b'{"session_id": null, "transcript_path": 7, "cwd": [], "prompt": {}, "source": {}}',
    b'{"session_id": "\\ud800", "transcript_path": "\\u0000", "cwd": "\\u0000x", "prompt": "\\udfff"}',
    b'{"session_id": "../../x", "transcript_path": "/", "cwd": "/does/not/exist", "prompt": "x"}',
    b'{"session_id": "' + b"y" * 5000 + b'", "transcript_path": "~/none.jsonl", "new_field": {"deep": [1]}}',
]  # fmt: skip


@pytest.mark.parametrize("word", EVENTS)
def test_no_payload_stops_the_agent(host: Host, word: str) -> None:
    for data in PAYLOADS:
        assert host.raw(word, data).code in (0, 1), data[:60]
    assert git(host.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("word", ["pre-compact", "stop", "subagent-stop", "session-end", "subagent-start"])
@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "empty", "binary", "unset"])
def test_no_transcript_stops_the_agent(host: Host, tmp_path: Path, word: str, kind: str) -> None:
    path = tmp_path / "t.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind in ("empty", "binary"):
        path.write_bytes(b"" if kind == "empty" else bytes(range(256)) * 4000)
    began = time.monotonic()
    answer = host.send(word, "s1", "" if kind == "unset" else str(path), agent_id="a", agent_type="Explore")
    assert answer.code == 0 and time.monotonic() - began < 60

    def left(*folders: str) -> list[str]:
        return [p.name for folder in folders for p in (host.root / ".kb" / folder).glob("*")]

    assert left("pending") == []
    is_spooled = word == "session-end" and kind in ("binary", "missing")
    assert len(left("spool")) == is_spooled, "only what could be read, or may yet be written, is spooled"
    assert host.send("session-start", "s2", source="startup").code == 0
    assert left("spool", "pending") == [], "nothing is kept or set aside that says nothing"


def test_a_session_that_ends_before_its_transcript_is_written_is_saved_later(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for word in ("stop", "session-end"):
        assert host.send(word, "s1", str(path)).code == 0
    transcript(path, ZH)
    assert "[D001]" in host.send("session-start", "s2", source="startup").message
    assert host.kb().state.list_spooled() == []


def test_a_transcript_that_cannot_be_read_is_remembered(host: Host, tmp_path: Path) -> None:
    assert host.send("pre-compact", "s1", str(tmp_path / "none.jsonl")).code == 0
    (row,) = state_folder.list_failures(str(host.root))
    assert row.event == "PreCompact" and "none.jsonl" in row.error and row.by_host
    (tmp_path / "a-folder").mkdir()
    assert host.send("pre-compact", "s1", str(tmp_path / "a-folder")).code == 0
    assert [row.by_host for row in state_folder.list_failures(str(host.root))] == [True, False]


def test_a_call_that_goes_well_ends_the_failures_of_its_event(host: Host, tmp_path: Path) -> None:
    def open_ones() -> list[str]:
        return [row.event for row in state_folder.list_failures(str(host.root)) if not row.over]

    host.send("pre-compact", "s1", str(tmp_path / "none.jsonl"))
    events.remember_failure(str(host.root), "Stop", ValueError("x"))
    assert open_ones() == ["PreCompact", "Stop"], "the call that failed has not gone well"
    host.send("user-prompt", prompt="which framework?")
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH))
    assert open_ones() == ["Stop"]
    host.send("stop", "s1", transcript(tmp_path / "u.jsonl", "好的。"))
    assert open_ones() == []
    before = (host.root / ".kb" / state_folder.FILE).read_bytes()
    host.send("stop", "s1", transcript(tmp_path / "u.jsonl", "好的。"))
    assert (host.root / ".kb" / state_folder.FILE).read_bytes() == before, "the time of the first good call stays"
    host.send("pre-compact", "s1", str(tmp_path / "none.jsonl"))
    assert open_ones() == ["PreCompact"], "what is over is not what fails now"


def test_what_could_not_land_at_a_start_is_no_call_that_went_well(host: Host, tmp_path: Path) -> None:
    tip = git(host.root, "rev-parse", "HEAD").strip()
    lost = host.root / ".git" / "objects" / tip[:2] / tip[2:]
    lost.rename(tmp_path / "lost")
    told = host.send("stop", "s1", transcript(tmp_path / "t.jsonl", ZH))
    assert told.code == 0 and "kept" in told.message and "kb doctor" in told.message
    for _ in range(2):
        assert host.send("session-start", "s2", source="startup").code == 0
    rows = state_folder.list_failures(str(host.root))
    assert [(row.event, row.over) for row in rows] == [("Stop", "")] and host.kb().state.list_spooled()
    (tmp_path / "lost").rename(lost)
    assert "[D001]" in host.send("session-start", "s2", source="startup").message
    assert host.kb().state.list_spooled() == []


@pytest.mark.parametrize("word", ["pre-compact", "session-end", "stop", "subagent-stop"])
def test_broken_settings_lose_nothing(host: Host, tmp_path: Path, word: str) -> None:
    good = (host.root / "kb.toml").read_bytes()
    (host.root / "kb.toml").write_text("language = [", encoding="utf-8")
    path = transcript(tmp_path / "t.jsonl", ZH)
    more = {"agent_id": "a1", "agent_transcript_path": path} if word == "subagent-stop" else {}
    for _ in range(2):
        assert host.send(word, "s1", "" if more else path, **more).code == 1
    (host.root / "kb.toml").write_bytes(good)
    assert "[D001]" in host.send("session-start", "s2", source="startup").message
    assert [row.event for row in state_folder.list_failures(str(host.root))] == [EVENTS[word]] * 2
    assert len(host.kb().records()) == 1


@pytest.mark.parametrize("word", ["pre-compact", "session-end", "stop"])
def test_a_state_folder_that_cannot_be_written_loses_nothing(host: Host, tmp_path: Path, word: str) -> None:
    shutil.rmtree(host.root / ".kb", ignore_errors=True)
    (host.root / ".kb").write_text("in the way")
    path = transcript(tmp_path / "t.jsonl", ZH)
    for _ in range(2):
        assert host.send(word, "s1", path).code in (0, 1)
    (host.root / ".kb").unlink()
    host.send("session-start", "s2", source="startup")
    assert len(host.kb().records()) == 1 and len(host.kb().sessions()) == 1


@pytest.mark.parametrize("mark", ["index.lock", "MERGE_HEAD"])
def test_a_busy_repository_gets_the_session_later(host: Host, tmp_path: Path, mark: str) -> None:
    lock = host.root / ".git" / mark
    lock.write_text("0" * 40)
    path = transcript(tmp_path / "t.jsonl", ZH)
    assert host.send("pre-compact", "s1", path).code == 0
    assert "FastAPI" in (host.root / ".kb" / "active" / "s1" / "compact.md").read_text("utf-8")
    assert host.send("session-start", "s1", path, source="compact").code == 0
    lock.unlink()
    host.send("session-start", "s2", source="startup")
    assert len(host.kb().records()) == 1 and len(host.kb().sessions()) == 1
    assert git(host.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("word", ["pre-compact", "stop"])
def test_a_commit_that_cannot_be_signed_stops_no_event(host: Host, tmp_path: Path, word: str, language: str) -> None:
    """The session is kept, the next step is named, and it lands once the signing works."""
    (host.root / "kb.toml").write_text(f'language = "{language}"\n')
    git(host.root, "commit", "-qam", "Choose a language")
    for key, value in (("commit.gpgsign", "true"), ("gpg.program", "false")):
        git(host.root, "config", "--global", key, value)
    path = transcript(tmp_path / "t.jsonl", ZH)
    told = host.send(word, "s1", path)
    assert told.code == 0 and "gpg.program" in told.output["systemMessage"]
    assert ("下一次" if language == "zh" else "lands with the next call") in told.output["systemMessage"]
    assert host.kb().records() == [] and len(host.kb().state.list_spooled()) == 1
    for key in ("commit.gpgsign", "gpg.program"):
        git(host.root, "config", "--global", "--unset", key)
    host.send("session-start", "s2", source="startup")
    assert len(host.kb().records()) == 1 and host.kb().state.list_spooled() == []


@pytest.mark.parametrize("where", [0, 4000])
def test_a_damaged_index_loses_nothing(host: Host, tmp_path: Path, where: int) -> None:
    host.send("pre-compact", "s0", transcript(tmp_path / "a.jsonl", EN))
    index = host.root / ".kb" / "index.db"
    data = bytearray(index.read_bytes())
    data[where : where + 9000] = b"\xaa" * 9000
    index.write_bytes(data)
    path = transcript(tmp_path / "t.jsonl", ZH)
    assert host.send("pre-compact", "s1", path).code in (0, 1)
    assert host.send("user-prompt", "s1", prompt="FastAPI?").code in (0, 1)
    for end in ("", "-wal", "-shm"):
        Path(f"{index}{end}").unlink(missing_ok=True)
    host.send("session-start", "s2", source="startup")
    assert {"FastAPI" in r.title for r in host.kb().records()} == {True, False}


@pytest.mark.parametrize("event", EVENTS.values())
def test_the_host_gets_only_what_it_takes(event: str) -> None:
    reply = HookResponse(context="长" * 30_000, message="字" * 30_000)
    output = json.loads(claude.render_response(event, reply, {}))
    assert len(output["systemMessage"]) == 10_000
    speaks = event in ("SessionStart", "UserPromptSubmit", "SubagentStart")
    assert ("hookSpecificOutput" in output) == speaks
    if speaks:
        assert output["hookSpecificOutput"] == {"hookEventName": event, "additionalContext": "长" * 10_000}
    assert claude.render_response(event, HookResponse(), {}) == ""


def test_failures_are_kept_in_a_ring(root: Path) -> None:
    for number in range(60):
        events.remember_failure(str(root), "Stop", ValueError(f"{number} 错误"))
    rows = state_folder.list_failures(str(root))
    assert len(rows) == 50 and (rows[0].error, rows[-1].error) == ("ValueError: 10 错误", "ValueError: 59 错误")
    path = root / ".kb" / state_folder.FILE
    path.write_bytes(b"\xff not json\n[]\n7\n" + path.read_bytes())
    assert state_folder.list_failures(str(root)) == rows, "a damaged line hides no other"
    events.remember_failure(str(root), "Stop", ValueError("a \udfff half"))
    assert state_folder.list_failures(str(root))[-1].error == "ValueError: a ? half"


def test_a_failure_that_cannot_be_kept_stops_nothing(root: Path) -> None:
    shutil.rmtree(root / ".kb", ignore_errors=True)
    (root / ".kb").write_text("in the way")
    events.remember_failure(str(root), "Stop", ValueError("x"))
    state_folder.mark_recovered(str(root), os.environ, "Stop", 0.0)
    state_folder.delete_failures(str(root))
    assert state_folder.list_failures(str(root)) == [] and (root / ".kb").read_text() == "in the way"


@pytest.mark.parametrize(
    ("words", "code"), [(["--host", "claude"], 0), (["--host=claude"], 0), (["--host", "nobody"], 1)]
)
def test_a_host_that_is_not_known_is_named(words: list[str], code: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from kb.hooks import main; main()", "stop", *words],
        input=b"{}", cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert (b"nobody" in done.stderr) == (code == 1)


def test_a_damaged_index_stops_no_event(host: Host, tmp_path: Path) -> None:
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH))
    index = host.root / ".kb" / "index.db"
    data = index.read_bytes()
    index.write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))
    assert "D001" in host.send("user-prompt", "s2", prompt="后端框架应该用 FastAPI 还是 Flask？").context
    assert state_folder.list_failures(str(host.root)) == []


def test_a_record_that_git_passes_over_is_answered_as_it_is_now(host: Host, tmp_path: Path) -> None:
    host.send("pre-compact", "s1", transcript(tmp_path / "t.jsonl", ZH))
    with host.kb() as kb:
        (record,) = kb.records()
        git(host.root, "update-index", "--assume-unchanged", record.path)
        kb.records()
        place = host.root / record.path
        with place.open("r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace("类型提示", "运行速度"))
        prompt = "后端框架应该用 FastAPI 还是 Flask？"
        assert "运行速度" in kb.answer_to_prompt(prompt, project=record.scope)
        assert kb.recall("运行速度")


class _Endless(io.RawIOBase):
    """A stream without an end, of which nobody may read more than is needed."""

    given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.given += len(buffer)
        assert self.given < 40_000_000, "reads on and on"
        buffer[:] = b" " * len(buffer)
        return len(buffer)


def test_write_reads_no_more_than_it_takes(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(_Endless())))
    with pytest.raises(SystemExit) as left:
        hooks.main(["write"])
    assert left.value.code == 1


def test_a_report_says_each_sentence_once(kb: KnowledgeBase) -> None:
    said = "Lists are sorted by day."
    made = Candidate("decision", "Lists are sorted by day", decision=said, why="They are read so.", reusable=True)
    told = events.format_report(kb, kb.write([made._replace(alternatives=said)]))
    assert told.lower().count("lists are sorted by day") == 1 and "+ They are read so." in told, told
