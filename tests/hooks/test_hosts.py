"""Every host and every event: what is printed is what the host reads, and no payload stops the agent."""

import io
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kb import hooks
from kb.capture.save_session import save
from kb.hooks.install import get_host
from kb.hosts import STRICTER, HookResponse
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.sessions.active_sessions import ExtractionJob
from kb.state import state_folder
from tests.support.hostanswers import ANSWERS, CODES, HOSTS, MUST_ANSWER, faults, payloads, seen
from tests.support.talk import EN, transcript

ALL = [(host, event) for host in HOSTS for event in ANSWERS[host]]


class Printed(NamedTuple):
    """How a hook ended."""

    code: int
    out: str
    error: str


def run(host: str, event: str, data: bytes) -> Printed:
    """Run a hook in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(written), "utf-8") for written in (data, b"", b"")]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as left:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        hooks.main([event, "--host", host])
    for stream in streams[1:]:
        stream.flush()
        stream.seek(0)
    return Printed(int(left.value.code or 0), streams[1].read(), streams[2].read())


class World(NamedTuple):
    """A knowledge base in use, and what payloads speak of."""

    root: Path
    values: dict[str, Any]

    def sent(self, host: str, event: str, **more: Any) -> Printed:
        """Send an event as *host* does."""
        payload = {**payloads(host, **self.values)[event], **more}
        return run(host, event, json.dumps(payload).encode())


@pytest.fixture(scope="module")
def used(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A knowledge base with a decision in it, made once."""
    from kb.knowledge_base import KnowledgeBase

    folder = tmp_path_factory.mktemp("hosts")
    root, work = folder / "kb", folder / "work"
    shutil.copytree(empty_kb, root, symlinks=True)
    work.mkdir()
    path = transcript(folder / "t.jsonl", EN)
    (work / "long.txt").write_text("a row\n" * 5000)
    with KnowledgeBase(str(root), os.environ) as kb:
        save(kb, ExtractionJob(path, "s-0", str(work)))
    names = [f"src/part{n:03}/module_{n:03}.py" for n in range(500)]
    values = {"CWD": str(work), "TRANSCRIPT": path, "LONG": str(work / "long.txt"), "PATHS": names,
              "PATHTEXT": "\n".join(names)}  # fmt: skip
    return World(root, values)


@pytest.fixture
def world(used: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of it, found by every hook."""
    shutil.copytree(used.root, tmp_path / "kb", symlinks=True)
    monkeypatch.setenv("KB_HOME", str(tmp_path / "kb"))
    return World(tmp_path / "kb", used.values)


@pytest.fixture(scope="module")
def shared(used: World) -> World:
    """The same one for tests that do not mind each other."""
    return used


def module(host: str) -> Any:
    return import_module(f"kb.hooks.{host}")


# -- what is printed -------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_every_event_is_answered_in_the_words_of_its_host(world: World, host: str) -> None:
    for event in ANSWERS[host]:
        done = world.sent(host, event)
        assert (done.code, done.error, faults(host, event, done.out)) == (0, "", []), event
    assert state_folder.list_failures(str(world.root)) == []


@pytest.mark.parametrize("host", HOSTS)
def test_whatever_is_decided_no_key_is_printed_that_the_host_does_not_list(host: str) -> None:
    given = payloads(host, CWD="/w", TRANSCRIPT="/t", LONG="/l", PATHS=[], PATHTEXT="")
    texts = ("", "文" * 30_000)
    for event in ANSWERS[host]:
        ours = get_host(host).events[event]
        for permission, text, note in itertools.product(STRICTER, texts, texts):
            for put_in, put_out in itertools.product((None, {"a": 1}), (None, "short")):
                decision = HookResponse(permission, text, text, text, put_in, put_out, note)
                printed = module(host).render_response(ours, decision, given[event])
                assert faults(host, event, printed) == [], (event, decision[:1], put_in, put_out)


DENIED: dict[str, Callable[[dict[str, Any]], tuple[object, object]]] = {
    "claude": lambda a: (a["hookSpecificOutput"]["permissionDecision"], _reason(a)),
    "codex": lambda a: (a["hookSpecificOutput"]["permissionDecision"], _reason(a)),
    "gemini": lambda a: (a["decision"], a["reason"]),
    "copilot": lambda a: (a["permissionDecision"], a["permissionDecisionReason"]),
    "cursor": lambda a: (a["permission"], a["user_message"]),
    "opencode": lambda a: ("deny", a["deny"]),
}


def _reason(answer: dict[str, Any]) -> object:
    return answer["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_is_denied_is_denied_everywhere_and_its_input_stays(host: str) -> None:
    decision = HookResponse("deny", "read patterns.md first", updated_input={"a": 1}, updated_output="x")
    answer = json.loads(module(host).render_response("PreToolUse", decision, {}))
    assert DENIED[host](answer) == ("deny", "read patterns.md first")
    assert "a" not in json.dumps(list(answer.values())[-1:]) or "patterns.md" in json.dumps(answer)
    assert not {"updatedInput", "modifiedArgs", "updated_input", "input"} & set(str(answer).replace("'", " ").split())


UNHEARD: dict[str, str] = {"gemini": "systemMessage", "cursor": "user_message"}
"""The hosts that tell the model nothing before a call, and the key of what they show the person."""


@pytest.mark.parametrize("host", HOSTS)
def test_what_holds_for_a_file_is_told_before_the_call_and_once(host: str) -> None:
    """Where the host can tell the model nothing then, it shows it to the person: it is not dropped."""
    text = "read C001 first"
    for decision in (HookResponse("warn", context=text), HookResponse(context=text, message=text)):
        printed = module(host).render_response("PreToolUse", decision, {})
        assert printed.count(text) == 1 or (host not in UNHEARD and decision.message), host
        assert host not in UNHEARD or json.loads(printed)[UNHEARD[host]] == text


AFTER_EDIT = {
    "gemini": ("BeforeTool", "AfterTool", {"tool_name": "write_file"}),
    "cursor": ("preToolUse", "postToolUse", {"tool_name": "Write"}),
}


@pytest.mark.parametrize("host", AFTER_EDIT)
def test_what_a_host_discards_before_a_call_is_told_after_it_once(world: World, host: str) -> None:
    before, after, given = AFTER_EDIT[host]
    rule = Candidate("constraint", "Amounts are integer cents", "Amounts are integer cents.", why="Floats lose cents.",
                     alternatives="None.", verification="mypy", rollback="None.", impact=("ledger.py",),
                     affects_future=True)  # fmt: skip
    ledger = Path(world.values["CWD"]) / "ledger.py"
    ledger.touch()
    with KnowledgeBase(str(world.root), os.environ) as kb:
        kb.write([rule], decided=True, folder=str(ledger.parent))
    call = {**given, "tool_input": {"file_path": str(ledger), "content": "x = 1\n"}, "session_id": "s-9",
            "conversation_id": "s-9"}  # fmt: skip
    assert "integer cents" not in str(json.loads(world.sent(host, before, **call).out).get("hookSpecificOutput"))
    assert "integer cents" in world.sent(host, after, **call).out
    assert "integer cents" not in world.sent(host, after, **call).out


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_is_told_what_was_decided_before(world: World, host: str) -> None:
    event = next(own for own, ours in get_host(host).events.items() if ours == "UserPromptSubmit")
    said = world.sent(host, event).out
    assert ("D001" in said) == (host != "cursor"), "which takes no text at a prompt"


def test_searches_are_shortened_where_the_host_allows_it(world: World) -> None:
    for host, event in (("claude", "PostToolUse"), ("copilot", "postToolUse"), ("opencode", "tool.execute.after")):
        said = world.sent(host, event).out
        assert said.count("module_") == 200 and "narrow the search" in said, host
    for host, event in (("gemini", "AfterTool"), ("codex", "PostToolUse"), ("cursor", "postToolUse")):
        assert "narrow the search" not in world.sent(host, event).out, "what is not changed is not told"


def test_long_files_are_read_in_parts_where_the_agent_can_be_told(world: World) -> None:
    assert json.loads(world.sent("claude", "PreToolUse").out)["hookSpecificOutput"]["updatedInput"]["limit"] == 1000
    for host, event in (("gemini", "BeforeTool"), ("copilot", "preToolUse"), ("opencode", "tool.execute.before")):
        assert json.loads(world.sent(host, event).out) == {}, host
    assert json.loads(world.sent("cursor", "preToolUse").out) == {"permission": "allow"}


def test_the_same_session_id_on_two_hosts_is_two_sessions(world: World) -> None:
    for host in HOSTS:
        world.sent(host, next(own for own, ours in get_host(host).events.items() if ours == "Stop"))
    wanted = {"s-0", "s-1", *(f"s-1-{host}" for host in HOSTS[1:])}
    for place in ("active", "cursors"):
        assert {path.name.partition(".")[0] for path in (world.root / ".kb" / place).iterdir()} == wanted


@pytest.mark.parametrize(("host", "source"), [("codex", "compact"), ("gemini", "resume"), ("copilot", "resume"),
                                              ("cursor", ""), ("opencode", "compact")])  # fmt: skip
def test_a_session_gets_its_compact_form_back(world: World, host: str, source: str) -> None:
    more = {"source": source} if source else {}

    def own(event: str) -> str:
        return next(name for name, ours in get_host(host).events.items() if ours == event)

    assert "order service" not in world.sent(host, own("SessionStart"), **more).out
    world.sent(host, own("PreCompact"))
    assert "order service" in world.sent(host, own("SessionStart"), **more).out
    other = dict.fromkeys(("session_id", "sessionId", "conversation_id"), "s-9")
    assert "order service" not in world.sent(host, own("SessionStart"), **more, **other).out


# -- bad input -------------------------------------------------------------------------------------


def stands(host: str, event: str, done: Printed) -> bool:
    """Return whether a host goes on after what a hook did."""
    return done.code in CODES[host] and faults(host, event, done.out) == [] and done.code != 2


@pytest.mark.parametrize("host", HOSTS)
def test_a_payload_that_is_cut_anywhere_stops_nothing(shared: World, host: str) -> None:
    # There is no knowledge base here: what is looked at is the reading of the payload and the words of the host.
    for event, payload in payloads(host, **{**shared.values, "PATHS": ["a"], "PATHTEXT": "a"}).items():
        data = json.dumps({**payload, "cwd": "/"}).encode()
        for end in range(len(data)):
            done = run(host, event, data[:end])
            assert stands(host, event, done), (event, end, done)


STRANGE: list[Any] = [None, 7, -1.5, True, [], {}, [[]], {"a": {"b": [None]}}, "\ud800", "\0", "../..", "x" * 5000]


@pytest.mark.parametrize("host", HOSTS)
def test_values_of_another_type_stop_nothing(world: World, host: str) -> None:
    for event, payload in payloads(host, **world.values).items():
        for strange in STRANGE[:: 1 if event in ("PreToolUse", "preToolUse") else 3]:
            done = run(host, event, json.dumps(dict.fromkeys(payload, strange)).encode())
            assert stands(host, event, done), (event, strange, done)
        for number, key in enumerate(payload):
            strange = STRANGE[number % len(STRANGE)]
            done = run(host, event, json.dumps({**payload, key: strange}).encode())
            assert stands(host, event, done), (event, key, strange, done)


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_that_breaks_still_answers(world: World, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kb.hooks import events

    monkeypatch.setitem(events.HANDLERS, "PreToolUse", lambda kb, payload: 1 / 0)  # type: ignore[arg-type]
    monkeypatch.setattr(hooks, "can_skip_event", lambda *_: False)
    event = next(own for own, ours in get_host(host).events.items() if ours == "PreToolUse")
    done = world.sent(host, event)
    assert stands(host, event, done) and "division by zero" in done.error
    assert done.code == (0 if host in ("copilot", "cursor") else 1)
    (row,) = state_folder.list_failures(str(world.root))
    assert row.event == "PreToolUse" and "ZeroDivisionError" in row.error


@pytest.mark.parametrize("host", sorted(MUST_ANSWER))
def test_an_event_that_is_not_known_and_a_module_that_breaks_stop_nothing(host: str) -> None:
    assert run(host, "no-such-event", b"{}").code in CODES[host]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module(host), "normalise_payload", lambda *_: 1 / 0)
        done = run(host, "stop", b"{}")
    assert done.code in CODES[host] and json.loads(done.out) is not None


def test_ten_megabytes_of_a_prompt_are_a_prompt(world: World) -> None:
    for host in HOSTS:
        event = next(own for own, ours in get_host(host).events.items() if ours == "UserPromptSubmit")
        done = world.sent(host, event, prompt="Sanitizer 中文 " * 600_000)
        assert stands(host, event, done) and done.code == 0, (host, done.error)


# -- which module is loaded -------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_the_events_a_host_is_asked_for_are_events_it_has(host: str) -> None:
    one = get_host(host)
    assert set(one.timeouts) <= set(one.events) and set(one.matchers) <= set(one.timeouts)
    assert (
        set(ANSWERS[host])
        == set(one.events)
        == set(payloads(host, **dict.fromkeys(("CWD", "TRANSCRIPT", "LONG", "PATHS", "PATHTEXT"), "")))
    ), "every event has a payload and a form of answer"


# -- what was seen inside running hosts ------------------------------------------------------------


def test_what_running_hosts_sent_is_answered_in_their_words(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for row in seen(**world.values):
        host, event, about = row["host"], row["event"], row["payload"]
        if "Copilot" in row["what"]:
            monkeypatch.setenv("COPILOT_CLI", "1")
        done = run(host, event, json.dumps(about).encode())
        monkeypatch.delenv("COPILOT_CLI", raising=False)
        assert (done.code, done.error, faults(host, event, done.out)) == (0, "", []), row["what"]
    assert state_folder.list_failures(str(world.root)) == []
    quiet = {("gemini", "PreCompress"), ("copilot", "agentStop"), ("gemini", "BeforeAgent")}
    for row in seen(**world.values):
        if (row["host"], row["event"]) in quiet:
            assert json.loads(run(row["host"], row["event"], json.dumps(row["payload"]).encode()).out) == {}


def test_a_patch_by_codex_is_read_wherever_it_stands(world: World) -> None:
    (record,) = (path for path in (world.root / "content" / "anchors").rglob("D001-*.md"))
    patch = f"*** Begin Patch\n*** Update File: {record}\n@@\n-status: accepted\n+status: deprecated\n*** End Patch"
    done = world.sent("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": patch})
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_read_by_mcp_counts_in_copilots_spelling(world: World) -> None:
    (world.root / "kb.toml").write_text((world.root / "kb.toml").read_text() + '\nguard = "block"\n')
    path = Path(world.values["CWD"]) / "src" / "auth" / "login.py"
    edit = {"toolName": "edit", "toolArgs": {"path": str(path), "old_str": "a", "new_str": "b"}}
    world.sent("copilot", "userPromptSubmitted", prompt="Harden the password check of the login")
    assert json.loads(world.sent("copilot", "preToolUse", **edit).out)["permissionDecision"] == "deny"
    world.sent("copilot", "preToolUse", toolName="kb-search", toolArgs={"query": "login password"})
    assert "permissionDecision" not in json.loads(world.sent("copilot", "preToolUse", **edit).out)


ASKED = HookResponse("ask", "kb: kb.toml holds the settings", unasked="kb: settings. Next: ask the person")


@pytest.mark.parametrize("host", ["codex", "gemini", "cursor", "opencode"])
def test_where_nobody_can_be_asked_the_call_is_denied_with_the_next_step(host: str) -> None:
    answer = json.loads(module(host).render_response("PreToolUse", ASKED, {}))
    permission, reason = DENIED[host](answer)
    assert (permission, reason) == ("deny", ASKED.unasked)


@pytest.mark.parametrize("host", ["claude", "copilot"])
def test_where_the_person_is_asked_no_other_step_is_named(host: str) -> None:
    permission, reason = DENIED[host](json.loads(module(host).render_response("PreToolUse", ASKED, {})))
    assert (permission, reason) == ("ask", ASKED.reason)


@pytest.mark.parametrize("host", HOSTS)
def test_the_settings_of_kb_are_changed_nowhere_without_the_person(world: World, host: str) -> None:
    path = str(world.root / "kb.toml")
    given = {"file_path": path, "content": 'guard = "off"\n'}
    event = next(own for own, ours in get_host(host).events.items() if ours == "PreToolUse")
    fields = {"toolName": "create", "toolArgs": {"path": path, "file_text": "x"}} if host == "copilot" else {
        "tool_name": {"gemini": "write_file", "opencode": "write"}.get(host, "Write"), "tool_input": given}  # fmt: skip
    permission, reason = DENIED[host](json.loads(world.sent(host, event, **fields).out))
    assert permission == ("ask" if host in ("claude", "copilot") else "deny") and "settings" in str(reason)
    assert ("Next: ask the person" in str(reason)) == (permission == "deny")


def test_gemini_archives_when_it_compresses_and_not_before_every_request(world: World) -> None:
    def archives() -> list[str]:
        place = world.root / "content" / "sessions"
        return sorted(path.name for path in place.iterdir()) if place.is_dir() else []

    before = archives()
    for _ in range(3):
        assert json.loads(world.sent("gemini", "PreCompress", trigger="auto", session_id="s-7").out) == {}
    assert archives() == before and not (world.root / ".kb" / "active" / "s-7-gemini").exists()
    world.sent("gemini", "PreCompress", trigger="manual", session_id="s-7")
    assert len(archives()) == len(before) + 1
