"""Sessions of other hosts: the same conversation, read from five formats, is the same session."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kb.capture.extract import extract_candidates
from kb.capture.prompt_commands import render_transcript_form
from kb.errors import BadInput
from kb.hosts import HOSTS
from kb.knowledge_base import KnowledgeBase
from kb.sessions import prune_transcript
from kb.sessions.dcp_settings import DcpSettings
from kb.sessions.host_formats import FORMATS
from kb.sessions.host_records import iter_file_records
from kb.sessions.transcript import (
    DELEGATED,
    HUMAN,
    META,
    SUMMARY,
    Transcript,
    get_prompt,
    list_calls,
    list_prompts,
    parse_records,
    parse_transcript,
)
from kb.sessions.usage import read_usage
from tests.support.talk import EN, ZH
from tests.support.timing import within

TASK = "Implement the order service / 实现订单服务"
TIME = "2026-11-20T10:00:00Z"
PLAN = [{"content": "write the model", "status": "completed"}, {"content": "write the API", "status": "in_progress"}]


def line(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def codex(used: int = 1000) -> bytes:
    def item(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": TIME, "type": "response_item", "payload": {"type": kind, **payload}}

    def say(role: str, text: str) -> dict[str, Any]:
        return item(
            "message", role=role, content=[{"type": f"{'in' if role == 'user' else 'out'}put_text", "text": text}]
        )

    steps = [{"step": step["content"], "status": step["status"]} for step in PLAN]
    patch = "*** Begin Patch\n*** Add File: shop/order.py\n+class Order: ...\n*** Update File: shop/api.py\n-a\n+b\n"
    about = {"id": "cx-1", "cwd": "/w/shop", "git": {"branch": "main"}}
    failed = json.dumps({"output": "broken", "metadata": {"exit_code": 2}})
    count = {"last_token_usage": {"input_tokens": used}, "model_context_window": 272_000}
    return line(
        {"timestamp": TIME, "type": "session_meta", "payload": about},
        {"timestamp": TIME, "type": "turn_context", "payload": {"cwd": "/w/shop", "model": "gpt-5.3-codex"}},
        say("user", "<environment_context>\n<cwd>/w/shop</cwd>"), say("user", TASK),
        {"timestamp": TIME, "type": "event_msg", "payload": {"type": "user_message", "message": TASK}},
        item("reasoning", summary=[]), say("assistant", EN), say("assistant", ZH),
        item("function_call", name="shell", arguments=json.dumps({"command": ["bash", "-lc", "make"]}), call_id="c1"),
        item("function_call_output", call_id="c1", output=failed),
        item("custom_tool_call", name="apply_patch", input=patch + "*** End Patch\n", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output="Success."),
        item("function_call", name="update_plan", arguments=json.dumps({"plan": steps}), call_id="c3"),
        {"timestamp": TIME, "type": "event_msg", "payload": {"type": "token_count", "info": count}},
        {"timestamp": TIME, "type": "event_msg", "payload": {"type": "never_heard_of"}},
    )  # fmt: skip


def gemini_messages(used: int = 1000) -> list[dict[str, Any]]:
    def call(number: int, name: str, args: Any, output: str, status: str = "success") -> dict[str, Any]:
        answer = {"functionResponse": {"id": f"c{number}", "name": name, "response": {"output": output}}}
        return {"id": f"c{number}", "name": name, "args": args, "result": [answer], "status": status}

    steps = [{"description": step["content"], "status": step["status"]} for step in PLAN]
    calls = [
        call(1, "run_shell_command", {"command": "make"}, "broken", "error"),
        call(2, "write_file", {"file_path": "shop/order.py", "content": "class Order: ..."}, "ok"),
        call(3, "replace", {"file_path": "shop/api.py", "old_string": "a", "new_string": "b"}, "ok"),
        call(4, "write_todos", {"todos": steps}, "ok"),
    ]
    return [
        {"id": "m1", "timestamp": TIME, "type": "user", "content": [{"text": TASK}]},
        {"id": "m2", "timestamp": TIME, "type": "info", "content": "update available"},
        {"id": "m3", "timestamp": TIME, "type": "gemini", "content": EN, "model": "gemini-3-pro"},
        {"id": "m4", "timestamp": TIME, "type": "gemini", "content": ZH, "toolCalls": calls, "tokens": {"input": used}},
    ]


ABOUT = {"sessionId": "gm-1", "projectHash": "x", "startTime": TIME, "directories": ["/w/shop"]}


def gemini(used: int = 1000) -> bytes:
    return json.dumps({**ABOUT, "messages": gemini_messages(used)}, indent=2, ensure_ascii=False).encode()


def gemini_lines(used: int = 1000) -> bytes:
    first, info, said, last = gemini_messages(used)
    wrong = {"id": "m9", "type": "user", "content": "Decision: never mind this because it is taken back later on."}
    return line(ABOUT, first, info, said, wrong, {"$rewindTo": "m9"}, {**last, "toolCalls": []}, last,
                {"$set": {"lastUpdated": TIME}})  # fmt: skip


def cursor() -> bytes:
    def said(role: str, *content: Any) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(content)}}

    def call(name: str, **given: Any) -> dict[str, Any]:
        return {"type": "tool_use", "name": name, "input": given}

    text = f"<open_files>a.py</open_files>\n<user_query>\n{TASK}\n</user_query>"
    return line(
        said("user", {"type": "text", "text": text}), said("assistant", {"type": "text", "text": EN}),
        said("assistant", {"type": "text", "text": ZH}, call("Shell", command="make"),
             call("Write", path="shop/order.py", contents="class Order: ..."),
             call("StrReplace", path="shop/api.py", old_string="a", new_string="b"), call("TodoWrite", todos=PLAN)),
        {"type": "turn_ended"},
    )  # fmt: skip


def opencode_messages(used: int = 1000) -> list[dict[str, Any]]:
    times = {"created": 1_795_168_800_000}

    def call(number: int, tool: str, given: Any, **state: Any) -> dict[str, Any]:
        held = {"status": "completed", "input": given, "output": "ok", **state}
        return {"type": "tool", "callID": f"c{number}", "tool": tool, "state": held}

    info = {"sessionID": "oc-1", "time": times, "path": {"cwd": "/w/shop"}}
    return [
        {"info": {**info, "id": "m1", "role": "user"},
         "parts": [{"type": "text", "text": "a reminder", "synthetic": True}, {"type": "text", "text": TASK}]},
        {"info": {**info, "id": "m2", "role": "assistant", "modelID": "m", "tokens": {"input": used - 300,
                  "cache": {"read": 200, "write": 100}}},
         "parts": [{"type": "step-start"}, {"type": "text", "text": EN}, {"type": "text", "text": ZH},
                   call(1, "bash", {"command": "make"}, status="error", error="broken"),
                   call(2, "write", {"filePath": "shop/order.py", "content": "class Order: ..."}),
                   call(3, "edit", {"filePath": "shop/api.py", "oldString": "a", "newString": "b"}),
                   call(4, "todowrite", {"todos": PLAN}), {"type": "never_heard_of"}]},
    ]  # fmt: skip


def opencode(used: int = 1000) -> bytes:
    return json.dumps({"info": {"id": "oc-1", "directory": "/w/shop"}, "messages": opencode_messages(used)}).encode()


def copilot(used: int = 1000) -> bytes:
    def event(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
        about = {"agentId": agent} if agent else {}
        return {"type": kind, "data": data, "id": "e", "timestamp": TIME, "parentId": None, **about}

    def call(number: int, name: str, **given: Any) -> dict[str, Any]:
        return {"toolCallId": f"c{number}", "name": name, "arguments": given, "type": "function"}

    def done(number: int, **more: Any) -> dict[str, Any]:
        return event("tool.execution_complete", toolCallId=f"c{number}", **more)

    def usage(tokens: int, agent: str = "") -> dict[str, Any]:
        held = {"model": "gpt-5", "inputTokens": tokens, "outputTokens": 3, "maxPromptTokens": 128_000}
        return event("session.usage_record", agent, usage=held)

    context = {"cwd": "/w/shop", "gitRoot": "/w/shop", "branch": "main"}
    calls = [call(2, "create", path="shop/order.py", file_text="class Order: ..."),
             call(3, "edit", path="shop/api.py", old_str="a", new_str="b"),
             call(4, "task", agent_type="explore", prompt="find the model")]  # fmt: skip
    return line(
        event("session.start", sessionId="cp-1", version=1, context=context, startTime=TIME),
        event("hook.start", hookType="sessionStart", input={"initialPrompt": TASK}),
        event("user.message", content=TASK, transformedContent=f"<current_datetime>{TIME}</current_datetime>{TASK}"),
        event("system.message", role="system", content="You are the GitHub Copilot CLI."),
        event("assistant.turn_start", turnId="0"), event("assistant.message", content=EN, model="gpt-5"),
        event("assistant.message", content=ZH, toolRequests=[call(1, "bash", command="make")]),
        event("tool.execution_start", toolCallId="c1", toolName="bash", arguments={"command": "make"}),
        event("permission.requested", requestId="r"),
        done(1, success=True, result={"content": "broken"}, shellExecution={"exitCode": 2}),
        event("assistant.message", content="", toolRequests=calls),
        done(2, success=True, result={"content": "ok"}), done(3, success=False, error={"message": "No match found"}),
        usage(used), event("subagent.started", "a1", agentName="explore"),
        event("user.message", "a1", content="find the model", source="agent-cp-1"), usage(99_000, "a1"),
        event("assistant.message", "a1", content="It is in shop/order.py."), done(4, success=True, result={}),
        event("session.shutdown"), event("session.never_heard_of"),
    )  # fmt: skip


SESSIONS = {
    "codex": codex(),
    "copilot": copilot(),
    "gemini": gemini(),
    "gemini lines": gemini_lines(),
    "cursor": cursor(),
    "opencode": opencode(),
}
EVERY = pytest.mark.parametrize("name", SESSIONS)


def calls(session: Transcript) -> list[tuple[str, str]]:
    made = [call for message in session.messages for call in message.calls]
    return [(call.name, str(call.input.get("file_path") or call.input.get("command") or "")) for call in made]


@EVERY
def test_the_same_conversation_is_the_same_session(name: str) -> None:
    session = parse_transcript(SESSIONS[name])
    assert session.host == name.split()[0] and session.skipped == ()
    assert [get_prompt(message) for message in session.messages if message.origin == HUMAN] == [TASK]
    found = [candidate.title for candidate in extract_candidates(session)]
    assert (
        len(found) == 2 and any("Sanitizer" in title for title in found) and any("FastAPI" in title for title in found)
    )
    command, *edits = calls(session)[:3]
    assert command[0] == "Bash" and command[1].endswith("make")
    assert edits == [("Write", "shop/order.py"), ("Edit", "shop/api.py")]
    plans = [c.input["todos"] for m in session.messages for c in m.calls if c.name == "TodoWrite"]
    steps = [(todo["content"], todo["status"]) for plan in plans for todo in plan]
    assert steps == ([] if name == "copilot" else [tuple(step.values()) for step in PLAN]), "Copilot keeps plans in SQL"
    if name != "cursor":
        assert session.session_id[3:] == "1" and session.cwd == "/w/shop" and session.started == TIME
        results = [result for message in session.messages for result in message.results]
        assert (results[0].text, results[0].is_error) == ("broken", True)
        assert [result.text for result in results[1:] if result.is_error] == (
            ["No match found"] if name == "copilot" else []
        )


@EVERY
def test_its_forms_and_its_calls_are_told(name: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_bytes(SESSIONS[name])
    told = render_transcript_form(kb, str(path), "compact").text
    assert "Sanitizer" in told and "order service" in told
    assert ("write the API" in told) == (name != "copilot")
    with path.open("rb") as file:
        made = parse_records(iter_file_records(file))
    assert (made.host, list_prompts(made)) == (name.split()[0], [TASK])
    assert [one.request.name for one in list_calls(made)] == [
        "Bash",
        "Write",
        "Edit",
        "Agent" if name == "copilot" else "TodoWrite",
    ]
    if name != "cursor":
        assert list_calls(made)[0].has_failed and made.tokens == 1000


@pytest.mark.parametrize("make", [codex, copilot, gemini, gemini_lines, opencode])
def test_how_full_the_context_is(make: Any) -> None:
    windows = {codex: 272_000, copilot: 128_000}
    for used in (1000, 126_000):
        found = read_usage(make(used))
        assert found.tokens == used and found.window == windows.get(make, 200_000)


def test_what_a_sub_agent_of_copilot_does_is_no_word_of_the_person() -> None:
    session = parse_transcript(copilot())
    assert [message.texts for message in session.messages if message.origin == DELEGATED] == [("find the model",)]
    agents = [call.input["subagent_type"] for m in session.messages for call in m.calls if call.name == "Agent"]
    assert agents == ["explore"]


def test_a_compaction_of_copilot_tells_what_was_left() -> None:
    told = {"preCompactionTokens": 136_000, "postCompactionTokens": 9000, "summaryContent": "so far: the shop"}
    after = line({"type": "session.compaction_complete", "data": told, "id": "e", "timestamp": TIME, "parentId": "p"})
    session = parse_transcript(copilot(136_000) + after)
    assert session.messages[-1].origin == SUMMARY and len(session.compactions) == 1
    assert read_usage(copilot(136_000) + after).tokens == 9000


def test_a_patch_in_copilot_is_the_changes_in_it() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n-a\n+b\n*** End Patch\n"
    request = {"toolCallId": "c1", "name": "apply_patch", "arguments": patch}
    said = {"type": "assistant.message", "data": {"content": "", "toolRequests": [request]}, "parentId": None}
    assert calls(parse_transcript(line(said))) == [("Write", "a.py"), ("Edit", "b.py")]


def test_what_the_host_wrote_is_no_prompt() -> None:
    origins = [message.origin for message in parse_transcript(codex()).messages]
    assert origins[0] == META
    closed = line({"type": "compacted", "payload": {"message": "so far: the shop"}})
    session = parse_transcript(codex() + closed)
    assert session.messages[-1].origin == SUMMARY and session.compactions == (16,)
    assert read_usage(codex() + closed).tokens == 0
    summary = {
        "info": {"role": "assistant", "summary": True, "sessionID": "s"},
        "parts": [{"type": "text", "text": "so far"}],
    }
    assert parse_transcript(line(*opencode_messages(), summary)).messages[-1].origin == SUMMARY


def test_a_file_named_in_a_prompt_of_gemini_is_no_word_of_the_person() -> None:
    wish = "From now on we always deploy on Fridays, because the audit asks for it."
    parts = ["<hook_context>Knowledge base: shop</hook_context>\n\nLook at @notes.md please",
             "\n--- Content from referenced files ---", "\nContent from @notes.md:\n",
             f"{wish}\n--- End of content ---\n{wish}", "\n--- End of content ---",
             "<hook_context>D001</hook_context>"]  # fmt: skip
    record = {"id": "m1", "timestamp": TIME, "type": "user", "content": [{"text": part} for part in parts]}
    (message,) = parse_transcript(line(ABOUT, record)).messages
    assert get_prompt(message).strip() == "Look at @notes.md please" and message.origin == HUMAN
    open_end = {**record, "content": [{"text": "a"}, {"text": "--- Content from referenced files ---"}]}
    assert parse_transcript(line(ABOUT, open_end)).messages[0].origin == HUMAN


def test_what_a_script_of_codex_did_is_told_with_its_files() -> None:
    def done(item: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": TIME, "type": "event_msg", "payload": {"type": "item_completed", "item": item}}

    diff = "@@ -3,3 +3,3 @@\n \n-def refund(order):\n+def refund(order, key):\n     pass\n"
    changes = {"/w/a.py": {"type": "update", "unified_diff": diff, "move_path": None},
               "/w/b.py": {"type": "add", "content": "x = 1\n"}}  # fmt: skip
    ran = {"type": "CommandExecution", "command": ["/bin/bash", "-lc", "make"], "aggregated_output": "broken",
           "exit_code": 2, "status": "failed"}  # fmt: skip
    asked_kb = {"type": "McpToolCall", "id": "exec-3", "server": "kb", "tool": "search", "arguments": {"query": "q"},
                "status": "completed", "result": {"content": [{"type": "text", "text": "D001"}]}}  # fmt: skip
    script = {"timestamp": TIME, "type": "response_item", "payload": {"type": "custom_tool_call", "name": "exec",
              "call_id": "c9", "input": "await tools.apply_patch(...)"}}  # fmt: skip
    items = [{**ran, "id": "exec-1"}, {"type": "FileChange", "id": "exec-2", "changes": changes, "status": "completed",
             "stdout": "Success."}, asked_kb, {**ran, "id": "call_1"}, {"type": "AgentMessage", "id": "m"}]  # fmt: skip
    session = parse_transcript(line(script, *map(done, items)))
    assert calls(session) == [("exec", ""), ("Bash", "/bin/bash -lc make"), ("Edit", "/w/a.py"), ("Write", "/w/b.py"),
                              ("mcp__kb__search", "")]  # fmt: skip
    given = {call.name: call.input for message in session.messages for call in message.calls}
    assert (given["Edit"]["old_string"], given["Edit"]["new_string"]) == (
        "def refund(order):",
        "def refund(order, key):",
    )
    assert given["Write"]["content"] == "x = 1"
    results = [result for message in session.messages for result in message.results]
    assert [(r.text, r.is_error) for r in results] == [("broken", True), ("Success.", False), ("D001", False)]
    for item in items:
        for strange in STRANGE:
            for key in item:
                parse_transcript(line(done({**item, key: strange} if strange != "\ud800" else item)))


def test_records_of_codex_that_say_nothing_are_no_surprise() -> None:
    quiet = [{"type": kind, "payload": {}} for kind in ("token_usage_record", "world_state",
             "inter_agent_communication_metadata")]  # fmt: skip
    quiet += [{"type": "event_msg", "payload": {"type": "thread_settings_applied"}}]
    quiet += [{"type": "response_item", "payload": {"type": kind}} for kind in ("additional_tools", "agent_message")]
    assert parse_transcript(line(*quiet)).unknown == {}


def test_a_count_of_tokens_is_no_step_of_codex() -> None:
    session = parse_transcript(codex(2000))
    assert (session.steps, session.tokens) == (5, 2000), "two texts and three calls"


def test_unknown_records_are_counted_with_their_host() -> None:
    assert parse_transcript(codex()).unknown == {"codex event_msg never_heard_of": 1}
    assert parse_transcript(opencode()).unknown == {"opencode never_heard_of": 1}
    assert parse_transcript(copilot()).unknown == {"copilot session.never_heard_of": 1}
    assert parse_transcript(line({"type": "new_thing", "payload": {}})).unknown == {"codex new_thing": 1}
    assert (
        parse_transcript(gemini()).unknown
        == parse_transcript(gemini_lines()).unknown
        == parse_transcript(cursor()).unknown
        == {}
    )


@pytest.mark.parametrize("name", ["codex", "copilot", "gemini lines", "cursor"])
def test_what_comes_later_is_read_from_there(name: str) -> None:
    data = SESSIONS[name]
    whole = parse_transcript(data)
    assert parse_transcript(data, whole.lines).messages == ()
    more = {"codex": {"timestamp": TIME, "type": "response_item", "payload": {"type": "message", "role": "user",
                      "content": [{"type": "input_text", "text": "and then?"}]}},
            "gemini lines": {"id": "m7", "type": "user", "content": "and then?"},
            "copilot": {"type": "user.message", "data": {"content": "and then?"}, "id": "e", "parentId": "d"},
            "cursor": {"role": "user", "message": {"content": "and then?"}}}[name]  # fmt: skip
    assert [get_prompt(message) for message in parse_transcript(data + line(more), whole.lines).messages] == [
        "and then?"
    ]


def test_messages_that_are_one_value_are_counted_like_lines() -> None:
    whole = parse_transcript(gemini())
    assert (
        whole.lines == 4
        and [m.line for m in parse_transcript(gemini(), 3).messages] == [4, 4]
        and parse_transcript(gemini(), 4).messages == ()
    )


@EVERY
def test_pruning_is_planned_and_no_copy_is_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_bytes(SESSIONS[name])
    made = prune_transcript.prune(str(path), DcpSettings(), prune_transcript.PruneRequest())
    assert made.report
    with pytest.raises(BadInput):
        prune_transcript.write_copy(str(path), str(tmp_path / "copy"), DcpSettings(), prune_transcript.PruneRequest())
    assert os.listdir(tmp_path) == ["session"]


# -- broken ----------------------------------------------------------------------------------------


@EVERY
def test_no_cut_and_no_stranger_makes_the_reader_fail(name: str) -> None:
    data = SESSIONS[name]
    with within(5):
        for end in range(0, len(data), 7):
            assert isinstance(parse_transcript(data[:end]), Transcript)
            assert isinstance(parse_records(iter_file_records(iter([data[:end]]))), Transcript)
            read_usage(data[:end])
    parts = data.split(b"\n")
    for at in range(len(parts)):
        parse_transcript(b"\n".join([*parts[:at], b"\xff\xfe{", *parts[at + 1 :]]))


STRANGE: list[Any] = [None, 7, True, [], {}, "x", [None], [{}], {"a": None}, "\ud800", [[1]], {"type": 7}]


def swapped(value: Any, strange: Any) -> Any:
    """Yield *value* with *strange* in place of each of its parts in turn."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield {**value, key: strange}
            yield from ({**value, key: deeper} for deeper in swapped(one, strange))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield [*value[:number], strange, *value[number + 1 :]]
            yield from ([*value[:number], deeper, *value[number + 1 :]] for deeper in swapped(one, strange))


@pytest.mark.parametrize("name", ["codex", "copilot", "gemini lines", "cursor"])
def test_values_of_another_type_are_passed_over(name: str) -> None:
    for row in SESSIONS[name].splitlines():
        for number, strange in enumerate(STRANGE):
            for record in list(swapped(json.loads(row), strange))[number % 3 :: 3]:
                data = line(record) if strange != "\ud800" else json.dumps(record).encode() + b"\n"
                json.dumps(
                    [message._asdict() for message in parse_transcript(data).messages], ensure_ascii=False
                ).encode()
                parse_records([record])
                read_usage(data)


def test_messages_of_another_type_are_passed_over() -> None:
    for messages in (gemini_messages(), opencode_messages()):
        for number, strange in enumerate(STRANGE):
            for value in list(swapped({"messages": messages, "sessionId": "x"}, strange))[number % 5 :: 5]:
                data = json.dumps(value).encode()
                json.dumps(
                    [message._asdict() for message in parse_transcript(data).messages], ensure_ascii=False
                ).encode()
                read_usage(data)
                parse_records(iter_file_records(iter([data])))


def test_every_host_but_claude_code_has_a_format_for_its_sessions() -> None:
    assert {*FORMATS, "claude"} == {*HOSTS}
