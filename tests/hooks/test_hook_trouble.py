"""Hooks where things go wrong around them: late, crowded, without a home, a moved base, transcripts that change."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kb import hooks
from kb.hooks import events
from kb.hooks.install import get_host
from kb.hosts import Host, HostEvent
from kb.knowledge_base import KnowledgeBase
from kb.sessions import host_input
from kb.state import state_folder
from tests.hooks.test_hosts import World, run, stands
from tests.support.hostanswers import ANSWERS, CODES, HOSTS, faults, payloads
from tests.support.sealed import DATA, git
from tests.support.talk import EN, ZH, add, transcript

CROWD = str(DATA.parent / "support" / "hookcrowd.py")


@pytest.fixture
def world(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An empty knowledge base and a session that decides something."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("KB_HOME", str(root))
    path = transcript(tmp_path / "t.jsonl", ZH)
    return World(root, {"CWD": str(work), "TRANSCRIPT": path, "LONG": path, "PATHS": ["a"], "PATHTEXT": "a"})


def own(host: str, event: str) -> str:
    """Return the host's name of an event."""
    return next(name for name, ours in get_host(host).events.items() if ours == event)


def records(root: Path) -> list[str]:
    with KnowledgeBase(str(root), os.environ) as kb:
        kb.land()
        return [record.title for record in kb.records()]


# -- late ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_gives_up_before_its_host_does(world: World, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    event = own(host, "Stop")
    monkeypatch.setattr(Host, "event_rows", (HostEvent(event, "Stop", 0.2),))  # type: ignore[arg-type]
    with monkeypatch.context() as slow:
        slow.setitem(events.HANDLERS, "Stop", lambda kb, payload: time.sleep(90))  # type: ignore[arg-type]
        began = time.monotonic()
        done = world.sent(host, event)
        assert time.monotonic() - began < 60
    assert stands(host, event, done) and "not done within 0.16 s" in done.error
    (row,) = state_folder.list_failures(str(world.root))
    assert row.event == "Stop" and row.error.startswith("DeadlineExceeded")
    assert records(world.root), "what the session decided is not lost"


def test_every_own_limit_is_below_that_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in HOSTS:
        for event, limit in get_host(host).timeouts.items():
            late, too_late = events.compute_limits(get_host(host), get_host(host).events[event])
            assert 0 < late < too_late < limit, (host, event)
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", "/p")
    assert events.compute_limits(get_host("claude"), "SessionEnd")[1] < 1.5


@pytest.mark.parametrize("host", ["claude", "copilot"])
def test_a_hook_that_waits_for_somebody_is_ended_in_time(world: World, tmp_path: Path, host: str) -> None:
    code = (  # without the alarm: what is left is the last resort
        "import sys; from kb import hooks as hosts; from kb.hooks import events\n"
        "from kb.hosts import Host, HostEvent\n"
        "Host.event_rows = tuple(HostEvent(name, 'PreToolUse', 0.5) for name in ('PreToolUse', 'preToolUse'))\n"
        "import sqlite3, signal; signal.signal = lambda *_: None; signal.setitimer = lambda *_: None\n"
        "def wait(kb, payload): sqlite3.connect(sys.argv.pop(), timeout=90).execute('BEGIN EXCLUSIVE')\n"
        "events.HANDLERS['PreToolUse'] = wait; hosts.can_skip_event = lambda *_: False; hosts.main()"
    )
    path = str(tmp_path / "locked.db")
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    given = json.dumps({"cwd": str(tmp_path), "tool_name": "Read", "toolName": "view"}).encode()
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code, "pre-tool", "--host", host, path], input=given,
                          capture_output=True, check=False)  # fmt: skip
    lock.close()
    assert time.monotonic() - began < 60
    event = own(host, "PreToolUse")
    assert done.returncode in CODES[host] and faults(host, event, done.stdout.decode()) == []


# -- crowded ---------------------------------------------------------------------------------------

HOOKS = 50 if os.environ.get("KB_MANY") else 12


@pytest.mark.parametrize(("event", "host", "sessions"), [("Stop", "codex", 1), ("SessionEnd", "copilot", HOOKS)])
def test_many_hooks_at_once(world: World, event: str, host: str, sessions: int) -> None:
    name, rows = own(host, event), []
    for number in range(HOOKS):
        payload = payloads(host, **world.values)[name]
        if event == "SessionEnd":
            payload["transcriptPath"] = world.values["TRANSCRIPT"]
        payload |= {key: f"s{number % sessions}" for key in ("session_id", "sessionId") if key in payload}
        rows.append(json.dumps(payload).encode())
    done = subprocess.run([sys.executable, CROWD, name, host], input=b"\n".join(rows), capture_output=True, check=True)
    assert json.loads(done.stdout) == [0] * HOOKS, done.stderr.decode()[-2000:]
    assert state_folder.list_failures(str(world.root)) == [] and git(world.root, "status", "--porcelain") == ""
    with KnowledgeBase(str(world.root), os.environ) as kb:
        assert len(kb.state.list_spooled()) == (HOOKS if event == "SessionEnd" else 0)
        assert [record.occurrences for record in kb.records()] == ([] if event == "SessionEnd" else [1])


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", [None, "/proc", "/nowhere/at/all"])
def test_no_home_and_one_that_cannot_be_written(
    world: World, home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HOME")
    if home:
        monkeypatch.setenv("HOME", home)
    for host in HOSTS:
        for event in ANSWERS[host]:
            assert stands(host, event, done := world.sent(host, event)), (host, event, done)
    assert records(world.root)


def test_neither_home_nor_base_can_be_written_and_the_agent_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(world.root / ".kb")
    (world.root / ".kb").write_text("in the way")
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/none")
    for host in HOSTS:
        for event in ANSWERS[host]:
            assert stands(host, event, done := world.sent(host, event)), (host, event, done)


@pytest.mark.parametrize("host", HOSTS)
def test_a_base_that_is_moved_goes_on_where_it_is(world: World, host: str, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    assert world.sent(host, own(host, "Stop")).code == 0
    world.root.rename(tmp_path / "elsewhere")
    for event in ANSWERS[host]:
        assert stands(host, event, done := world.sent(host, event)) and done.code == 0, (event, done)
    monkeypatch.setenv("KB_HOME", str(tmp_path / "elsewhere"))
    add(world.values["TRANSCRIPT"], EN)
    assert world.sent(host, own(host, "PreCompact")).code == 0
    assert len(records(tmp_path / "elsewhere")) == 2, "nothing twice and nothing lost"


def test_a_base_that_vanishes_in_the_middle_of_a_call(world: World, tmp_path: Path) -> None:
    def vanish(kb: KnowledgeBase, payload: Any) -> Any:
        world.root.rename(tmp_path / "gone")
        return real(kb, payload)

    real = events.HANDLERS["Stop"]
    for host in HOSTS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(events.HANDLERS, "Stop", vanish)  # type: ignore[arg-type]
            done = world.sent(host, own(host, "Stop"))
        assert stands(host, own(host, "Stop"), done), (host, done)
        shutil.rmtree(world.root, ignore_errors=True)
        (tmp_path / "gone").rename(world.root)


def test_a_locked_repository_stops_no_agent(world: World) -> None:
    (world.root / ".git" / "index.lock").write_text("")
    for host, event in (("copilot", "agentStop"), ("cursor", "sessionStart")):
        assert stands(host, event, done := world.sent(host, event)), (event, done)
    (world.root / ".git" / "index.lock").unlink()
    assert records(world.root)


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [-86_400 * 400, 86_400 * 400])
def test_a_clock_that_jumps_loses_nothing(world: World, skew: float) -> None:
    assert world.sent("claude", "Stop").code == 0
    place = world.root / ".kb" / "cursors" / "s-1.json"
    cursor = json.loads(place.read_text())
    place.write_text(json.dumps({**cursor, "time": cursor["time"] + skew}))
    path = world.values["TRANSCRIPT"]
    add(path, EN)
    for touched in (path, place, world.root / "kb.toml"):
        os.utime(touched, (time.time() + skew, time.time() + skew))
    done = world.sent("claude", "Stop")
    assert (done.code, done.error) == (0, "") and len(records(world.root)) == 2


# -- transcripts -----------------------------------------------------------------------------------


def test_a_transcript_that_is_replaced_is_read_from_its_beginning(world: World, tmp_path: Path) -> None:
    path = Path(world.values["TRANSCRIPT"])
    world.sent("claude", "PreCompact")
    told = ["好的。"] * 9
    other = Path(transcript(tmp_path / "other.jsonl", EN, *told))
    lines = other.read_text().replace("请实现订单服务的接口", "请实现库存服务的接口")
    path.write_text(lines)
    world.sent("claude", "PreCompact")
    assert len(records(world.root)) == 2, "it is longer than the one before, and its beginning was not skipped"


def test_a_transcript_that_is_cut_short_is_read_again(world: World) -> None:
    path = world.values["TRANSCRIPT"]
    add(path, *["好的。"] * 5)
    world.sent("claude", "PreCompact")
    transcript(Path(path), EN)
    world.sent("claude", "PreCompact")
    assert len(records(world.root)) == 2


def test_a_transcript_that_grows_while_it_is_read(world: World) -> None:
    path, stop = world.values["TRANSCRIPT"], threading.Event()

    def grow() -> None:
        with open(path, "ab", buffering=0) as file:
            while not stop.is_set():
                for piece in (b'{"type": "assistant", "mess', b'age": {"role": "assistant", "content": "ok"}}\n'):
                    file.write(piece)
                time.sleep(0.001)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(5):
            done = world.sent("claude", "PreCompact")
            assert (done.code, done.error) == (0, "")
    finally:
        stop.set()
        writer.join()
    assert len(records(world.root)) == 1


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("becomes", ["nothing", "folder", "pipe", "binary"])
def test_a_transcript_that_vanishes_between_two_looks(world: World, host: str, becomes: str,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    path = Path(world.values["TRANSCRIPT"])
    path.unlink()
    if becomes == "folder":
        path.mkdir()
    elif becomes == "pipe":
        os.mkfifo(path)
    elif becomes == "binary":
        path.write_bytes(os.urandom(9000))
    from kb.capture import save_session

    for place in (host_input, save_session):
        monkeypatch.setattr(place, "has_content", lambda path: True)
    for event in ANSWERS[host]:
        assert stands(host, event, done := world.sent(host, event)), (event, done)


@pytest.mark.parametrize("host", ["claude", "gemini"])
def test_an_answer_is_utf_8_whatever_the_locale(world: World, host: str) -> None:
    world.sent("claude", "PreCompact")
    given = {"session_id": "s", "cwd": world.values["CWD"], "prompt": "后端框架应该用 FastAPI 还是 Flask？\ud800"}
    command = [sys.executable, "-c", "from kb.hooks import main; main()", "user-prompt", "--host", host]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, input=json.dumps(given).encode(), env=environment, capture_output=True, check=True)
    assert "后端统一使用" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"], done.stderr


def test_a_payload_without_end_and_one_of_nothing(world: World) -> None:
    for host in HOSTS:
        for data in (b"", b" " * 10_000, b'{"a": "' + b"x" * 33_000_000):
            assert stands(host, own(host, "PreToolUse"), run(host, "pre-tool", data)), host
    assert hooks.MAX_PAYLOAD < 33_000_000
