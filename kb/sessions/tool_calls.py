"""What a session holds of tool calls: each with its answer, its place and its step. Read in one pass, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from kb.sessions import adapters
from kb.sessions.transcript import get_prompt, parse_messages
from kb.sessions.usage import count_context_tokens, read_tokens_after_compaction
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import Any

MARK = "[kb: "
"""What stands in the place of pruned text begins so."""
_REFUSED = "The user doesn't want to"
"""A call that a person refused begins its answer so: that is a decision and no failure."""


class BlockPosition(NamedTuple):
    """Where a block of a message stands."""

    line: int
    """1-based line of the file, or number of the message."""
    block: int = 0


class AnsweredCall(NamedTuple):
    """A tool call with its answer."""

    name: str
    input: Mapping[str, Any]
    asked: BlockPosition
    step: int
    """1-based number of the assistant step."""
    prompt: int
    """How many prompts of a person came before it."""
    answered: BlockPosition = BlockPosition(0)
    """Line 0 where there is no answer."""
    output: str = ""
    is_text: bool = False
    """Whether the answer is text and nothing else."""
    is_error: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether a person refused it."""
        return self.is_error and self.output.lstrip().startswith(_REFUSED)

    @property
    def has_failed(self) -> bool:
        """Whether it failed by itself."""
        return self.is_error and not self.is_refused

    @property
    def is_pruned(self) -> bool:
        """Whether the answer was pruned before."""
        return self.output.startswith(MARK)

    @property
    def path(self) -> str:
        """The file it reads or writes, or ""."""
        given = self.input.get("file_path", self.input.get("notebook_path", self.input.get("path")))
        return given if isinstance(given, str) else ""


class SpokenText(NamedTuple):
    """A text block of the assistant."""

    text: str
    place: BlockPosition
    step: int
    prompt: int


class SessionHistory(NamedTuple):
    """What a session came to, for those who prune it."""

    calls: tuple[AnsweredCall, ...] = ()
    spoken: tuple[SpokenText, ...] = ()
    prompts: tuple[str, ...] = ()
    """What a person asked, in order."""
    steps: int = 0
    tokens: int = 0
    """Tokens in the context at the end, by the host's own count; 0 where it does not say."""
    model: str = ""
    boundary: int = 0
    """The line of the last compaction: what stands above it is in no context any more."""
    lines: int = 0
    host: str = ""
    """The host whose format it is; "" for Claude Code."""

    @property
    def tool_tokens(self) -> int:
        """Estimated tokens of all calls and answers."""
        return sum(estimate_tokens(dump_canonical(call.input)) + estimate_tokens(call.output) for call in self.calls)


def dump_canonical(given: object) -> str:
    """Return *given* as JSON that is the same for the same value."""
    return json.dumps(given, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def parse_line(row: bytes) -> dict[str, Any] | None:
    """Return the JSON object of one line; None where it holds none."""
    try:
        record = json.loads(row.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def read_history(records: Iterable[Mapping[str, Any] | None]) -> SessionHistory:
    """Return the history in *records*: lines of a transcript, or bare messages; None for what cannot be read."""
    reader = _HistoryReader()
    for number, record in enumerate(records, 1):
        reader.lines = number
        for one in adapters.translate_host_record(record) if record is not None else ():
            reader.read_record(number, one)
    return reader.build_history()


class _HistoryReader:
    """Takes one record after the other."""

    def __init__(self) -> None:
        self.calls: list[AnsweredCall] = []
        self.spoken: list[SpokenText] = []
        self.prompts: list[str] = []
        self.open: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.tokens = self.boundary = self.lines = 0
        self.model = self.host = ""
        self.aside: bool | None = None

    def read_record(self, number: int, record: Mapping[str, Any]) -> None:
        self.host = self.host or str(record.get(adapters.HOST) or "")
        left = read_tokens_after_compaction(record)
        if left is not None:
            self.tokens, self.boundary = left, number
            return
        message = get_message(record)
        if message is None:
            return
        aside = record.get("isSidechain") is True
        self.aside = aside if self.aside is None else self.aside
        if aside != self.aside:  # an agent within the session: its words are in another context
            return
        if message.get("role") == "assistant":
            self._read_agent_message(number, record, message)
        else:
            self._read_user_message(number, record, message)

    def _read_agent_message(self, number: int, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        name = str(message.get("id") or record.get("requestId") or number)
        step = self.steps.setdefault(name, len(self.steps) + 1)
        if used := count_context_tokens(record):
            self.tokens, self.model = used, str(message.get("model") or "")
        for at, block in iter_blocks(message):
            if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                self.open[str(block.get("id"))] = len(self.calls)
                called = AnsweredCall(
                    str(block.get("name")), block["input"], BlockPosition(number, at), step, len(self.prompts)
                )
                self.calls.append(called)
            elif block.get("type") == "text" and isinstance(text := block.get("text"), str) and text.strip():
                self.spoken.append(SpokenText(text, BlockPosition(number, at), step, len(self.prompts)))

    def _read_user_message(self, number: int, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        for at, block in iter_blocks(message):
            known = self.open.pop(str(block.get("tool_use_id")), None) if block.get("type") == "tool_result" else None
            if known is not None:
                output, is_text = extract_output(block.get("content"))
                self.calls[known] = self.calls[known]._replace(
                    answered=BlockPosition(number, at),
                    output=output,
                    is_text=is_text,
                    is_error=block.get("is_error") is True,
                )
        for told in parse_messages({"type": "user", **record, "message": message}, number):
            if prompt := get_prompt(told):
                self.prompts.append(prompt)

    def build_history(self) -> SessionHistory:
        return SessionHistory(
            tuple(self.calls), tuple(self.spoken), tuple(self.prompts), len(self.steps), self.tokens, self.model,
            self.boundary, self.lines, self.host,
        )  # fmt: skip


def get_message(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message in *record*, which may be a message itself; None where it holds none of a conversation."""
    message = record.get("message") if record.get("type") in ("user", "assistant") else record
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return None
    return message if isinstance(message.get("content"), str | list) else None


def iter_blocks(message: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the blocks of *message* with their numbers."""
    content = message.get("content")
    if isinstance(content, list):
        yield from ((at, block) for at, block in enumerate(content) if isinstance(block, dict))


def extract_output(content: object) -> tuple[str, bool]:
    """Return the text of a tool's answer, and whether there is nothing else in it."""
    if isinstance(content, str):
        return content, True
    if not isinstance(content, list):
        return "", False
    texts = [b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str)]
    return "\n".join(texts), len(texts) == len(content) > 0
