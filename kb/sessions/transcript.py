"""Read a session: JSON lines, or one JSON value, whose format may change with any release, so nothing here insists.

What is unknown is counted, what is broken is skipped and named with its line, and no bytes make the reader fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from kb.i18n import Message, msg
from kb.sessions import adapters
from kb.sessions.host_input import extract_typed_text, split_element, strip_injected
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

HUMAN = "human"
AGENT = "agent"
TOOL = "tool"
SUMMARY = "summary"
META = "meta"
WRAPPER = "wrapper"
DELEGATED = "delegated"
"""The first prompt of a subagent: an agent wrote it, not a person."""

KNOWN_TYPES = frozenset({
    "user", "assistant", "system", "progress", "file-history-snapshot", "file-history-delta", "queue-operation",
    "summary", "attachment", "ai-title", "custom-title", "last-prompt", "mode", "permission-mode", "agent-name",
    "pr-link", "frame-link", "worktree-state", "fork-context-ref", "started", "result", "tools-used", "atis-latch",
    "api-request", "api-request-shape", "api-request-blob",
})  # fmt: skip
"""Record types seen in the field that need no counting as unknown."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class ToolCall(NamedTuple):
    """What an agent asked a tool to do."""

    id: str
    name: str
    input: Mapping[str, Any]
    line: int


class ToolResult(NamedTuple):
    """What a tool answered."""

    id: str
    """The id of the call."""
    text: str
    is_error: bool
    line: int


class TranscriptMessage(NamedTuple):
    """One user or assistant line."""

    line: int
    """1-based line in the file."""
    time: str
    role: str
    origin: str
    """human, agent, tool, summary, meta, wrapper or delegated: who really speaks."""
    texts: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


class SkippedLine(NamedTuple):
    """A line that could not be read."""

    line: int
    reason: Message


class Transcript(NamedTuple):
    """What one session's file says."""

    messages: tuple[TranscriptMessage, ...] = ()
    skipped: tuple[SkippedLine, ...] = ()
    unknown: Mapping[str, int] = {}
    """How often each record type occurs that this reader does not know."""
    unread: Mapping[str, int] = {}
    """How many of these carry a text, of which nothing was read; the others tell only of the session itself."""
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    started: str = ""
    ended: str = ""
    lines: int = 0
    """How many lines are done with: the cursor for the next read. A half-written last line is not among them."""
    compactions: tuple[int, ...] = ()
    """The lines at which the host compacted the conversation."""
    host: str = ""
    """The host whose format it is; "" for Claude Code."""


class _BrokenLine(Exception):
    """One line cannot be used; the reason stands in its argument."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_transcript(data: bytes, after_line: int = 0) -> Transcript:
    """Return what the lines of *data* behind *after_line* (1-based; 0: all of them) say. Never raises."""
    records, skipped, whole = _read_records(data, max(after_line, 0))
    messages: list[TranscriptMessage] = []
    unknown: dict[str, int] = {}
    unread: dict[str, int] = {}
    for number, record in records:
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in KNOWN_TYPES:
            name = kind[:60] if isinstance(kind, str) else "?"
            unknown[name] = unknown.get(name, 0) + 1
            if record.get(adapters.UNREAD) or adapters.has_text(record):
                unread[name] = unread.get(name, 0) + 1
        try:
            messages += parse_messages(record, number)
        except _BrokenLine as broken:
            skipped.append(SkippedLine(number, broken.reason))
    times = [time for _, record in records if (time := _get_text(record.get("timestamp")))]
    return Transcript(
        messages=tuple(messages),
        skipped=tuple(sorted(skipped, key=lambda skip: skip.line)),
        unknown=unknown,
        unread=unread,
        session_id=_find_first(records, "sessionId"),
        cwd=_find_first(records, "cwd"),
        branch=_find_first(records, "gitBranch"),
        started=times[0] if times else "",
        ended=times[-1] if times else "",
        lines=max([whole, after_line, *(number for number, _ in records[-1:])]),
        compactions=tuple(number for number, record in records if record.get("subtype") == "compact_boundary"),
        host=_find_first(records, adapters.HOST),
    )


def add_answer(transcript: Transcript, answer: str) -> Transcript:
    """Return *transcript* with the agent's last *answer*, where its file does not have it yet.

    A host may write the file a moment after it has told of the end of the turn. The line of what is added is the next.
    """
    if not answer.strip() or _has_answer(transcript, answer):
        return transcript
    added = TranscriptMessage(transcript.lines + 1, transcript.ended, "assistant", AGENT, (answer,))
    return transcript._replace(messages=(*transcript.messages, added))


def _has_answer(transcript: Transcript, answer: str) -> bool:
    """Return whether the agent has said *answer* since the last prompt; it may stand there in several messages."""
    messages = transcript.messages
    last = max((n for n, message in enumerate(messages) if message.role == "user" and not message.results), default=-1)
    texts = [text for message in messages[last + 1 :] if message.origin == AGENT for text in message.texts]
    return " ".join(answer.split()) in " ".join(" ".join(texts).split())


def get_prompt(message: TranscriptMessage) -> str:
    """Return the words a person typed in *message*, arguments of a slash command included, or ""."""
    if message.origin == HUMAN:
        return "\n".join(get_own_texts(message)).strip()
    if message.origin == WRAPPER:
        return "\n".join(split_element(text, "command-args")[1].strip() for text in message.texts).strip()
    return ""


def get_own_texts(message: TranscriptMessage) -> tuple[str, ...]:
    """Return the texts in *message* that a person or the agent wrote themselves, without the host's reminders."""
    if message.origin == HUMAN:
        return tuple(extract_typed_text(text) for text in message.texts)
    return tuple(strip_injected(text) for text in message.texts) if message.origin == AGENT else ()


def _read_records(data: bytes, after: int) -> tuple[list[tuple[int, dict[str, Any]]], list[SkippedLine], int]:
    """Return the records behind line *after* in the form of Claude Code, what is none, and how many lines are whole.

    Where the session is one JSON value, its messages count as lines.
    """
    skipped: list[SkippedLine] = []
    messages = adapters.parse_whole_session(data)
    if messages is None:
        whole = data.count(b"\n")
        rows, skipped = _parse_lines(data, after, whole)
    else:
        whole = len(messages)
        rows = [(n, _replace_surrogates(m)) for n, m in enumerate(messages, 1) if n > after]
    own = [
        (number, dict(one))
        for number, row in adapters.drop_superseded(rows)
        for one in adapters.translate_host_record(row)
    ]
    return own, skipped, whole


def _replace_surrogates(record: dict[str, Any]) -> dict[str, Any]:
    """Return *record* without halves of characters, which cannot be written to any file again."""
    made: dict[str, Any] = json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
    return made


def _parse_lines(data: bytes, after: int, whole: int) -> tuple[list[tuple[int, dict[str, Any]]], list[SkippedLine]]:
    """Return the records behind line *after* with their lines, and what is none; *whole* lines have their end."""
    records: list[tuple[int, dict[str, Any]]] = []
    skipped: list[SkippedLine] = []
    for number, row in enumerate(data.split(b"\n")[after:], after + 1):
        try:
            if row.strip():
                records.append((number, _parse_line(row)))
        except _BrokenLine as broken:
            reason = msg("the last line is not finished yet") if number > whole else broken.reason
            skipped.append(SkippedLine(number, reason))
    return records, skipped


def _find_first(records: list[tuple[int, dict[str, Any]]], key: str) -> str:
    return next((text for _, record in records if (text := _get_text(record.get(key)))), "")


def _parse_line(row: bytes) -> dict[str, Any]:
    try:
        record = json.loads(row.decode("utf-8-sig"))
        if _SURROGATE.search(row):
            record = _replace_surrogates(record)
    except UnicodeDecodeError:
        raise _BrokenLine(msg("not valid UTF-8")) from None
    except (ValueError, RecursionError):
        raise _BrokenLine(msg("not valid JSON")) from None
    if not isinstance(record, dict):
        raise _BrokenLine(msg("no JSON object"))
    return record


def parse_messages(record: Mapping[str, Any], number: int) -> Iterator[TranscriptMessage]:
    kind, time = record.get("type"), _get_text(record.get("timestamp"))
    attachment = record.get("attachment")
    if kind == "attachment" and isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        texts = _extract_texts(attachment.get("prompt"))
        if any(_is_typed(text) for text in texts):
            yield TranscriptMessage(number, time, "user", HUMAN, texts)
        return
    if kind not in ("user", "assistant"):
        return
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str | list):
        raise _BrokenLine(msg("a record of type {kind} without a message", kind=kind))
    texts = _extract_texts(content)
    if kind == "assistant":
        calls = tuple(_iter_calls(content, number))
        if texts or calls:
            yield TranscriptMessage(number, time, "assistant", AGENT, texts, calls)
        return
    results = tuple(_iter_results(content, number))
    origin = _find_origin(record, texts, bool(results))
    if origin == HUMAN:
        texts = tuple(text for text in texts if _is_typed(text))
    if texts or results:
        yield TranscriptMessage(number, time, "user", origin, texts, (), results)


def _find_origin(record: Mapping[str, Any], texts: tuple[str, ...], has_results: bool) -> str:
    if has_results:
        return TOOL
    if record.get("isCompactSummary") is True:
        return SUMMARY
    if record.get("isMeta") is True:
        return META
    if not any(_is_typed(text) for text in texts):
        return WRAPPER
    return DELEGATED if record.get("isSidechain") is True else HUMAN


def _is_typed(text: str) -> bool:
    """Return whether some of *text* was typed by a person."""
    return bool(extract_typed_text(text).strip())


def _extract_texts(content: object) -> tuple[str, ...]:
    if isinstance(content, str):
        return (content,) if content.strip() else ()
    found = [_get_text(block.get("text")) for block in _iter_blocks(content, "text")]
    return tuple(text for text in found if text.strip())


def _iter_calls(content: object, number: int) -> Iterator[ToolCall]:
    for block in _iter_blocks(content, "tool_use"):
        given = block.get("input")
        yield ToolCall(
            _get_text(block.get("id")), _get_text(block.get("name")), given if isinstance(given, dict) else {}, number
        )


def _iter_results(content: object, number: int) -> Iterator[ToolResult]:
    for block in _iter_blocks(content, "tool_result"):
        text = "\n".join(_extract_texts(block.get("content")))
        yield ToolResult(_get_text(block.get("tool_use_id")), text, block.get("is_error") is True, number)


def _iter_blocks(content: object, kind: str) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict) and block.get("type") == kind)


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""
