"""The transcript reader: tolerant of every byte, exact about lines and about who speaks."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.sessions.transcript import (
    AGENT,
    HUMAN,
    MAX_READ_CHARACTERS,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    get_prompt,
    get_read_texts,
    parse_transcript,
)
from tests.support.timing import within


def user(content: object, **extra: object) -> dict[str, Any]:
    return {
        "type": "user",
        "sessionId": "s-1",
        "cwd": "/home/me/shop",
        "gitBranch": "main",
        "timestamp": "2026-03-01T10:00:00Z",
        "message": {"role": "user", "content": content},
        **extra,
    }


def agent(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "timestamp": "2026-03-01T10:01:00Z",
        "message": {"role": "assistant", "content": [*blocks]},
    }


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def test_reads_who_said_what_and_where() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    answer = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "坏了"}],
        "is_error": True,
    }
    transcript = parse_transcript(
        lines(user("请修复构建"), agent({"type": "text", "text": "好的。"}, call), user([answer]))
    )
    human, spoke, tool = transcript.messages
    assert (human.line, human.origin, human.texts, human.time) == (1, "human", ("请修复构建",), "2026-03-01T10:00:00Z")
    assert (spoke.line, spoke.origin, spoke.texts) == (2, "agent", ("好的。",))
    assert spoke.calls[0]._asdict() == {"id": "t1", "name": "Bash", "input": {"command": "make"}, "line": 2, "block": 1}
    assert tool.results[0]._asdict() == {
        "id": "t1",
        "text": "坏了",
        "is_error": True,
        "line": 3,
        "block": 0,
        "is_text": True,
    }
    assert (transcript.session_id, transcript.cwd, transcript.branch) == ("s-1", "/home/me/shop", "main")
    assert (transcript.started, transcript.ended, transcript.lines) == (
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:00Z",
        3,
    )


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        (user("fix the build"), "human"),
        (user([{"type": "text", "text": "fix the build"}]), "human"),
        (user("Skill text", isMeta=True), "meta"),
        (user("Explore the code", isSidechain=True), "delegated"),
        (user("This session is being continued", isCompactSummary=True), "summary"),
        (user("<command-name>/model</command-name>"), "wrapper"),
        (user("<local-command-stdout>ok</local-command-stdout>"), "wrapper"),
        (user("<system-reminder>be nice</system-reminder>"), "wrapper"),
        (user("<task-notification>\ndone</task-notification>\nRead it"), "wrapper"),
        (user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]), "wrapper"),
        (user([{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]), "tool"),
        ({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "also run the tests"}}, "human"),
    ],
)
def test_knows_a_person_from_the_rest(record: dict[str, Any], origin: str) -> None:
    assert [message.origin for message in parse_transcript(lines(record)).messages] == [origin]


def test_a_wrapper_beside_a_prompt_is_not_part_of_it() -> None:
    blocks = [
        {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"},
        {"type": "text", "text": "为什么慢？"},
    ]
    assert parse_transcript(lines(user(blocks))).messages[0].texts == ("为什么慢？",)


def test_asked_gives_the_words_of_a_person() -> None:
    prompt = "fix it<system-reminder>never said</system-reminder>please"
    command = "<command-name>/plan</command-name><command-args>先写测试</command-args>"
    asked_for = [
        get_prompt(message) for message in parse_transcript(lines(user(prompt), user(command), agent())).messages
    ]
    assert asked_for == ["fix it\n\nplease", "先写测试"]
    assert "never said" not in "".join(get_own_texts(parse_transcript(lines(user(prompt))).messages[0]))


def test_an_unclosed_reminder_stays() -> None:
    assert (
        get_prompt(parse_transcript(lines(user("see <system-reminder> here"))).messages[0])
        == "see <system-reminder> here"
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"{not json}\n", "not valid JSON"),
        (b'"a text"\n', "not a JSON object"),
        (b"\xff\xfe\n", "not valid UTF-8"),
        (b"[" * 100_000 + b"\n", "not valid JSON"),
        (b"1" * 5_000 + b"\n", "not valid JSON"),
        (b'{"type": "user"}\n', "a record of type user without a message"),
        (b'{"type": "assistant", "message": {"content": 7}}\n', "a record of type assistant without a message"),
    ],
)
def test_a_broken_line_is_named_and_skipped(row: bytes, reason: str) -> None:
    transcript = parse_transcript(lines(user("one")) + row + lines(user("three")))
    assert [(skipped.line, str(skipped.reason)) for skipped in transcript.skipped] == [(2, reason)]
    assert [message.line for message in transcript.messages] == [1, 3]


def test_a_half_written_last_line_waits_for_the_next_read() -> None:
    whole = lines(user("one"), user("two"))
    half = parse_transcript(whole[:-12])
    assert [str(skipped.reason) for skipped in half.skipped] == ["the last line is not finished yet"]
    assert half.lines == 1
    rest = parse_transcript(whole, after_line=half.lines)
    assert [(message.line, message.texts) for message in rest.messages] == [(2, ("two",))]
    assert rest.lines == 2


def test_a_last_line_without_its_line_end_counts() -> None:
    assert parse_transcript(lines(user("one"))[:-1]).lines == 1


def test_reading_goes_on_behind_the_cursor() -> None:
    data = lines(user("一"), user("二"), user("三"))
    assert [message.texts[0] for message in parse_transcript(data, after_line=2).messages] == ["三"]
    assert parse_transcript(data, after_line=9) == Transcript(lines=9)


def test_unknown_types_are_counted_and_known_ones_are_not() -> None:
    transcript = parse_transcript(
        lines({"type": "novel"}, {"type": "novel"}, {"type": 3}, {"type": "progress"}, user("x y z"))
    )
    assert transcript.unknown == {"novel": 2, "?": 1} and transcript.unread == {}
    assert transcript.skipped == ()


WITH_TEXT = [
    {"type": "novel", "message": {"role": "assistant", "content": [{"type": "text", "text": "Keys are in a table"}]}},
    {"type": "novel", "text": "决定使用表"}, {"type": "novel", "content": "what was said here"},
    {"type": "new_thing", "payload": {"message": "We keep the keys in a table"}},
]  # fmt: skip
WITHOUT = [
    {"type": "novel", "message": {"content": []}}, {"type": "novel", "tools": ["Read"]},
    {"type": "new_thing", "payload": {"total": 3, "model": "a"}}, {"type": "novel", "uuid": "a b c d"},
    {"type": "api-request-blob", "message": {"content": "a b c"}},
    {"type": "tools-used", "tools": ["Read"]}, {"type": "atis-latch", "atis": ""},
]  # fmt: skip


@pytest.mark.parametrize("record", [*WITH_TEXT, *WITHOUT])
def test_only_what_carries_a_text_was_left_unread(record: dict[str, object]) -> None:
    assert sum(parse_transcript(lines(record)).unread.values()) == (record in WITH_TEXT)


def test_compactions_are_remembered() -> None:
    assert parse_transcript(lines(user("a"), {"type": "system", "subtype": "compact_boundary"})).compactions == (2,)


def test_half_an_emoji_becomes_writable_text() -> None:
    record = b'{"type":"user","message":{"content":"bad \\ud83d half, good \\ud83d\\ude00"}}\n'
    text = parse_transcript(record).messages[0].texts[0]
    assert text.encode() and "😀" in text


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    parse_transcript(data)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "content", "text", "input", "tool_use_id", "attachment", "prompt", "id"]
            ),
            inner
            | st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "attachment", "queued_command"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=5))
def test_no_json_makes_it_fail(records: list[object]) -> None:
    transcript = parse_transcript(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    assert transcript.lines == len(records)
    for message in transcript.messages:
        assert all(isinstance(text, str) for text in (*message.texts, get_prompt(message), *get_own_texts(message)))


def test_three_megabytes_take_less_than_a_second_and_200_megabytes() -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": "输出 output\n" * 300}
    data = lines(*([user("继续"), user([block]), {"type": "progress", "data": {"x": "y" * 2000}}] * 450))
    assert len(data) > 3_000_000
    with within(1):
        parse_transcript(data)
    tracemalloc.start()
    parse_transcript(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000_000


def test_of_a_long_message_rules_read_a_persons_beginning_and_an_agents_end() -> None:
    texts = ("start " + "x" * MAX_READ_CHARACTERS, "y" * MAX_READ_CHARACTERS + " end")
    (asked,) = get_read_texts(TranscriptMessage(1, "", "user", HUMAN, texts))
    (said,) = get_read_texts(TranscriptMessage(2, "", "assistant", AGENT, texts))
    assert asked.startswith("start x") and said.endswith("y end")
    assert len(asked) == len(said) == MAX_READ_CHARACTERS
    assert get_read_texts(TranscriptMessage(3, "", "assistant", AGENT, ("a", "b"))) == ("a", "b")
