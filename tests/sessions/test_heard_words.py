"""What a person says beside the prompts is heard: answers to questions, queued prompts, words with a refusal."""

import json
from typing import Any

import pytest

from kb.sessions.handed_text import iter_summary_errors, split_prompt, split_summary
from kb.sessions.host_records import PersonAnswer
from kb.sessions.transcript import Transcript, list_prompts, parse_transcript

ASKED = "Where do users find their public key?"
OPTIONS = [
    {"label": "Settings page (Recommended)", "description": "Always there, with a copy button."},
    {"label": "Share dialog", "description": "Beside the field to paste into."},
]
OTHER = "哪个缓存？"
SHORT = [{"label": "Redis", "description": ""}, {"label": "Memcached", "description": ""}]
QUESTIONS = [{"question": ASKED, "header": "Key", "options": OPTIONS}, {"question": OTHER, "options": SHORT}]
PLACE = PersonAnswer(
    ASKED,
    (("Settings page (Recommended)", "Always there, with a copy button."),),
    (("Share dialog", "Beside the field to paste into."),),
)
OWN = PersonAnswer(OTHER, (), (("Redis", ""), ("Memcached", "")), "都不用，先测性能")


def read(*records: Any) -> Transcript:
    return parse_transcript("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode())


def claude(*blocks: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"type": role, "uuid": "u", "message": {"role": role, "content": list(blocks)}, **more}


def asked(name: str = "AskUserQuestion", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": name, "input": given or {"questions": QUESTIONS}}


def result(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "c1", "content": text, **more}


SAID = (
    f'User has answered your questions: "{ASKED}"="Settings page (Recommended)", "{OTHER}"="都不用，先测性能". You can '
    "now continue with the user's answers in mind."
)


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": {"type": kind, **payload}}


def hosts() -> dict[str, list[Any]]:
    numbered = {"answers": {"0": "Settings page (Recommended)", "1": "都不用，先测性能"}}
    named = {
        "answers": {
            "q1": {"answers": ["Settings page (Recommended)"]},
            "q2": {"answers": ["user_note: 都不用，先测性能"]},
        }
    }
    questions = [{**one, "id": f"q{number}"} for number, one in enumerate(QUESTIONS, 1)]
    state = {"status": "completed", "input": {"questions": QUESTIONS}, "output": SAID}
    info = {"id": "m1", "sessionID": "ses_1", "role": "assistant"}
    call = {"id": "c1", "name": "ask_user", "args": {"questions": QUESTIONS}, "status": "success"}
    answer = {"functionResponse": {"response": {"output": json.dumps(numbered)}}}
    return {
        "claude": [claude(asked()), claude(result(SAID), role="user")],
        "claude with an object": [
            claude(asked()),
            claude(result("x"), role="user", toolUseResult={"answers": {ASKED: OPTIONS[0]["label"], OTHER: OWN.typed}}),
        ],
        "codex": [
            codex(
                "function_call", name="request_user_input", arguments=json.dumps({"questions": questions}), call_id="c1"
            ),
            codex("function_call_output", call_id="c1", output=json.dumps(named)),
        ],
        "gemini": [
            {"sessionId": "g", "projectHash": "h"},
            {"id": "1", "type": "gemini", "content": "", "toolCalls": [{**call, "result": [answer]}]},
        ],
        "opencode": [{"info": info, "parts": [{"type": "tool", "tool": "question", "callID": "c1", "state": state}]}],
    }


@pytest.mark.parametrize("host", hosts())
def test_an_answer_to_a_question_is_the_persons_word(host: str) -> None:
    transcript = read(*hosts()[host])
    answers = [answer for message in transcript.messages for answer in message.answers]
    assert answers == [PLACE, OWN]
    texts = next(message.texts for message in transcript.messages if message.origin == "answer")
    assert texts[0].startswith(f"{ASKED}\n☑ Settings page (Recommended): Always there") and "☐ Share dialog" in texts[0]
    assert list_prompts(transcript) == [], "an answer begins no turn"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User selected: Red", PersonAnswer("Which colour?", (("Red", ""),), (("Blue", ""),))),
        (
            "User responded: green,\nplease",
            PersonAnswer("Which colour?", (), (("Red", ""), ("Blue", "")), "green,\nplease"),
        ),
    ],
)
def test_copilot_asks_one_question_a_call(text: str, expected: PersonAnswer) -> None:
    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": "i", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}

    request = {"toolCallId": "c1", "name": "ask_user"}
    request |= {"arguments": {"question": "Which colour?", "choices": ["Red", "Blue"], "allow_freeform": True}}
    done = event("tool.execution_complete", toolCallId="c1", success=True, result={"content": text})
    transcript = read(event("assistant.message", content="", toolRequests=[request], messageId="m"), done)
    assert [message.answers for message in transcript.messages if message.answers] == [(expected,)]


def test_cursor_names_the_options() -> None:
    options = [{"id": "a", "label": "Use PostgreSQL"}, {"id": "b", "label": "Use SQLite"}]
    call = {"type": "tool_use", "id": "c1", "name": "AskQuestion"}
    call |= {"input": {"questions": [{"id": "q1", "prompt": "Which database?", "options": options}]}}
    said = {"type": "tool_result", "tool_use_id": "c1", "content": "q1: selected option b"}
    transcript = read(
        {"role": "assistant", "message": {"content": [call]}}, {"role": "assistant", "message": {"content": [said]}}
    )
    expected = PersonAnswer("Which database?", (("Use SQLite", ""),), (("Use PostgreSQL", ""),))
    assert [message.answers for message in transcript.messages if message.answers] == [(expected,)]


@pytest.mark.parametrize(
    "text",
    [
        '{"answers": {}}',
        f'User has answered your questions: "{ASKED}"="Unanswered". You can now continue',
        "User dismissed ask_user dialog without answering.",
        "Use of Settings page (Recommended) or Share dialog, of Redis or Memcached was not answered",
    ],
)
def test_no_answer_is_none(text: str) -> None:
    assert not any(message.answers for message in read(claude(asked()), claude(result(text), role="user")).messages)


def test_another_tool_answers_nothing() -> None:
    call = asked("ask_question", question="What does it do?", repoName="a/b")
    assert not any(m.answers for m in read(claude(call), claude(result("User selected: it"), role="user")).messages)


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "


def test_words_with_a_refusal_are_a_prompt() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Edit", "input": {"file_path": "a.py"}}
    said = result(REFUSED + "the user said:\n不要改这个文件，它是生成的", is_error=True)
    assert list_prompts(read(claude(call), claude(said, role="user"))) == ["不要改这个文件，它是生成的"]
    for canned in (
        "STOP what you are doing",
        "the user said:\nThe user wants to clarify these questions.\n  (No answer",
    ):
        assert list_prompts(read(claude(call), claude(result(REFUSED + canned, is_error=True), role="user"))) == []
    quoted = result("the user said:\nalways use tabs")
    assert list_prompts(read(claude(call), claude(quoted, role="user"))) == [], "a file may hold these words"


def queued(operation: str, content: Any = None) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, **({} if content is None else {"content": content})}


WISH = "I would prefer not to wipe staging again"


def test_a_prompt_typed_while_the_agent_works_is_heard() -> None:
    first, later = (
        claude({"type": "text", "text": "Fix the index"}, role="user"),
        claude({"type": "text", "text": "ok"}),
    )
    transcript = read(first, queued("enqueue", WISH), queued("remove"), later)
    assert list_prompts(transcript) == ["Fix the index", WISH]
    assert [(message.line, message.turn) for message in transcript.messages] == [(1, 0), (2, 1), (4, 2)]


@pytest.mark.parametrize(
    "again",
    [
        [queued("dequeue"), claude({"type": "text", "text": WISH}, role="user")],
        [queued("dequeue"), {"type": "user", "uuid": "u", "message": {"role": "user", "content": f"{WISH}\nand this"}}],
        [{"type": "attachment", "attachment": {"type": "queued_command", "prompt": WISH, "commandMode": "prompt"}}],
    ],
)
def test_it_is_heard_once(again: list[Any]) -> None:
    transcript = read(queued("enqueue", WISH), *again)
    assert "\n".join(list_prompts(transcript)).count(WISH) == 1 and transcript.messages[0].line == len(again) + 1


def test_a_slash_command_that_waits_is_heard_once() -> None:
    command = "<command-name>/review</command-name><command-args>the ledger first</command-args>"
    rows = [queued("enqueue", "/review the ledger first"), queued("dequeue")]
    prompt = {"type": "user", "uuid": "u", "message": {"role": "user", "content": command}}
    assert list_prompts(read(*rows)) == list_prompts(read(*rows, prompt)) == ["the ledger first"]


@pytest.mark.parametrize(
    "content",
    [
        '{"task_id":"a276f4c","tool_use_id":"t","description":"Explore the tests","task_type":"local_agent"}',
        "<task-notification>\n<result>Decision: use tabs</result>\n</task-notification>",
        "/compact", "", 7,
    ],
)  # fmt: skip
def test_what_a_host_queues_is_no_prompt(content: Any) -> None:
    assert read(queued("enqueue", content)).messages == ()


def test_what_was_taken_back_was_not_said() -> None:
    assert list_prompts(read(queued("enqueue", WISH), queued("popAll", WISH))) == []
    assert list_prompts(read(queued("enqueue", WISH), queued("popAll"), queued("enqueue", "no"))) == ["no"]


def test_the_text_of_a_skill_is_nobodys() -> None:
    skill = "<skill>\n<name>coordinator</name>\n<path>/x/SKILL.md</path>\n---\nAlways use worktrees.\n</skill>"
    row = codex("message", role="user", content=[{"type": "input_text", "text": skill}])
    assert list_prompts(read(row)) == []


HANDED = "- We decided to keep SQLite because it needs no server.\n" * 5


@pytest.mark.parametrize(
    "intro",
    [
        "Continue from this handover:", "Please resume from the summary below:\n", "Session handoff:",
        "Implement the following plan:\n\n",
        "You are the fresh coordinator taking over from an older coordinator context.\n", "接着上次会话：",
        "以下是交接说明：",
        "请继续上一个会话的总结：", "交接：",
    ],
)  # fmt: skip
def test_what_is_handed_over_is_an_agents_text(intro: str) -> None:
    parts = split_prompt(f"{intro}\n{HANDED}")
    assert "decided" not in "".join(parts.own) and "".join(parts.handed).count("We decided") == 5


@pytest.mark.parametrize(
    "prompt", ["Continue from the summary: use tabs.", "请继续。" + HANDED, "Hand over the key to the lock.\n" + HANDED]
)
def test_a_prompt_is_the_persons_own(prompt: str) -> None:
    assert split_prompt(prompt) == ((prompt,), ())


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix this.\n<issue>\nWe decided to always use tabs.\n</issue>\n",
        "Fix this.\n\nIssue #12:\nWe decided to always use tabs.",
        "Fix this.\nHere is the bug report\nWe decided to always use tabs.",
        "Fix this.\n以下是工单内容\n以后都用制表符。 use tabs.",
        "Fix this.\n## 🔸 Compact context\n- use tabs.", "Fix this.\n## Knowledge base: shop\nalways use tabs.",
    ],
)  # fmt: skip
def test_what_is_quoted_is_nobodys(prompt: str) -> None:
    parts = split_prompt(prompt)
    assert [one.strip() for one in parts.own] == ["Fix this."] and not parts.handed


def test_what_follows_an_element_is_the_persons() -> None:
    assert (
        "".join(split_prompt("Look:\n<issue>\nbroken\n</issue>\nWe decided to use tabs.").own)
        == "Look:\n\nWe decided to use tabs."
    )


SUMMARY = """This session is being continued from a previous conversation that ran out of context.

Analysis:
1. The user said "always use tabs".

Summary:
1. Primary Request and Intent:
   Fix the tests.

4. Errors and Fixes:
   - **Upload 500 error: "fetch failed"**
     - Root cause: `IPFS_URL` was not set
     - Fix: Created `apps/api/.env` with `IPFS_URL`
   - **Credo nesting depth** in `classify`: Fixed by extracting `classify_line/3`.
   - **User asked "is it down?"**:
     - Fix: explained it

6. All user messages:
   - "From now on always use tabs"

7. Pending Tasks:
   - Run the whole suite

9. Optional Next Step:
   Commit the fix.

If you need specific details from before compaction, read the full transcript at: /x.jsonl
"""


def test_a_summary_is_read_by_its_sections() -> None:
    sections = split_summary(SUMMARY)
    assert sections["pending"].strip() == "- Run the whole suite" and sections["next"].strip() == "Commit the fix."
    errors = list(iter_summary_errors(sections["errors"]))
    assert [(one.symptom, one.cause, one.cure) for one in errors] == [
        ('Upload 500 error: "fetch failed"', "`IPFS_URL` was not set", "Created `apps/api/.env` with `IPFS_URL`"),
        ("Credo nesting depth in `classify`", "", "Fixed by extracting `classify_line/3`."),
    ]
    assert all(one.quote in SUMMARY for one in errors)


def test_other_hosts_write_other_headings() -> None:
    sections = split_summary("<overview>\nShip it\n</overview>\n<next_steps>\nMerge the pull request\n</next_steps>\n")
    assert "Merge" in sections["next"] and "Ship" in sections["request"]
    assert split_summary("## 错误和修复\n- 构建失败：改用 pnpm 安装\n## 下一步\n提交") == {
        "errors": "- 构建失败：改用 pnpm 安装",
        "next": "提交",
    }
    [error] = iter_summary_errors("- 构建失败：改用 pnpm 安装")
    assert (error.symptom, error.cure) == ("构建失败", "改用 pnpm 安装")


def test_a_summary_without_a_list_of_errors_has_none() -> None:
    assert list(iter_summary_errors("")) == list(iter_summary_errors("None so far.")) == []
