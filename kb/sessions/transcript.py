"""Session: the parsed transcript, its messages in order with their speakers, and the tool calls with results.

A session is read once, whichever host ran it. Formats may change with any release, so nothing here insists: what is
unknown is counted, what is broken is skipped and named with its line, and no bytes make the reader fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from kb.i18n import Message, msg
from kb.sessions.host_input import TEAMMATE, extract_typed_text, split_element, strip_injected, to_text
from kb.sessions.host_records import (
    ASK,
    HOST,
    UNREAD,
    PersonAnswer,
    drop_superseded,
    extract_queued_text,
    find_refusal_words,
    has_text,
    parse_answers,
    parse_clean_line,
    parse_whole_session,
    replace_surrogates,
    translate_host_record,
)
from kb.sessions.usage import count_context_tokens, read_tokens_after_compaction
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.sessions.host_records import Row

HUMAN = "human"
AGENT = "agent"
TOOL = "tool"
SUMMARY = "summary"
META = "meta"
WRAPPER = "wrapper"
DELEGATED = "delegated"
"""The first prompt of a sub-agent: an agent wrote it, not a person."""
ANSWER = "answer"
"""What a person answered to a question of the agent's: their words, and no prompt."""

KNOWN_TYPES = frozenset(
    "user assistant system progress file-history-snapshot file-history-delta queue-operation summary attachment"
    " ai-title custom-title last-prompt mode permission-mode agent-name pr-link frame-link worktree-state "
    " fork-context-ref started result tools-used atis-latch api-request api-request-shape api-request-blob".split()
)
"""Record types seen in the field that need no counting as unknown."""
MARK = "[kb: "
"""The prefix of what replaces pruned text."""
MAX_READ_CHARACTERS = 20_000
"""Characters of one message, or of one answer of a tool, that rules read: what is longer is pasted or generated."""
_REFUSED = "The user doesn't want to"
"""A call that a person refused begins its answer so: that is a decision and no failure."""


# -- values ----------------------------------------------------------------------------------------


class ToolCall(NamedTuple):
    """What an agent asked a tool to do."""

    id: str
    name: str
    input: Mapping[str, Any]
    line: int
    block: int = 0
    """The number of its block in the message; -1 where its input is no object."""

    @property
    def path(self) -> str:
        """The file it reads or writes, or ""."""
        given = self.input.get("file_path", self.input.get("notebook_path", self.input.get("path")))
        return to_text(given)


class ToolResult(NamedTuple):
    """What a tool answered."""

    id: str
    text: str
    is_error: bool
    line: int
    block: int = 0
    is_text: bool = False


class TranscriptMessage(NamedTuple):
    """One user or assistant line."""

    line: int
    """1-based line in the file, or number of the message where the session is one JSON value."""
    time: str
    role: str
    origin: str
    """human, agent, tool, summary, meta, wrapper, delegated or answer: who really speaks."""
    texts: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    blocks: tuple[int, ...] = ()
    """The number of the block of each of the texts; () where the message is not made of blocks."""
    step: int = 0
    """1-based number of the agent's step; 0 for a message that is none."""
    turn: int = 0
    """How many prompts of a person came before it."""
    in_context: bool = True
    """False for a sub-agent that runs within the session: it has a context of its own."""
    agent: str = ""
    """Which sub-agent it belongs to: its id, or the id of the call that started it."""
    answers: tuple[PersonAnswer, ...] = ()
    """What a person answered, where that is what the message is: one for each of the texts."""


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
    """How many of these hold text that was not read; the others only describe the session."""
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    host: str = ""
    """The host whose format it is; "" for Claude Code."""
    started: str = ""
    ended: str = ""
    lines: int = 0
    """How many lines were read, a half-written last one excepted: the cursor for the next read."""
    compactions: tuple[int, ...] = ()
    """The lines at which the host compacted the conversation: nothing above the last is in the context any more."""
    steps: int = 0
    tokens: int = 0
    """Tokens in the context at the end, by the host's own count; 0 where it does not say."""
    model: str = ""


class AnsweredCall(NamedTuple):
    """A tool call with its result, None where there is none."""

    request: ToolCall
    result: ToolResult | None = None
    step: int = 0
    turn: int = 0
    """How many prompts of a person came before it."""

    @property
    def output(self) -> str:
        """The text of the answer."""
        return self.result.text if self.result else ""

    @property
    def is_text(self) -> bool:
        """Whether there is an answer that is text and nothing else."""
        return self.result is not None and self.result.is_text

    @property
    def is_error(self) -> bool:
        """Whether the tool answered with an error."""
        return self.result is not None and self.result.is_error

    @property
    def has_failed(self) -> bool:
        """Whether it failed by itself: a person did not refuse it."""
        return self.is_error and not self.output.lstrip().startswith(_REFUSED)

    @property
    def is_pruned(self) -> bool:
        """Whether the answer was pruned before."""
        return self.output.startswith(MARK)


# -- reading ---------------------------------------------------------------------------------------


def parse_transcript(data: bytes, after_line: int = 0) -> Transcript:
    """Return what the lines of *data* behind *after_line* (1-based; 0: all of them) say. Never raises.

    Where the session is one JSON value, its messages count as lines.
    """
    after = max(after_line, 0)
    messages = parse_whole_session(data)
    if messages is None:
        whole = data.count(b"\n")
        rows = drop_superseded(map(parse_clean_line, data.split(b"\n")[after:]))
    else:
        whole = len(messages)
        rows = (replace_surrogates(message) for message in messages[after:])
    made = _parse_rows(rows, after + 1)
    whole = max(whole, made.lines)
    unfinished = msg("the last line is not finished yet")
    skipped = tuple(one if one.line <= whole else one._replace(reason=unfinished) for one in made.skipped)
    return made._replace(skipped=skipped, lines=max(whole, after_line))


def parse_records(records: Iterable[Row]) -> Transcript:
    """Return what *records* say: what each line of a session holds, or bare messages as a host hands them over."""

    def wrap_message(row: Row) -> Row:
        is_bare = isinstance(row, dict) and row.get("type") not in ("user", "assistant") and "content" in row
        if isinstance(row, dict) and is_bare and row.get("role") in ("user", "assistant"):
            return {"type": row["role"], "message": row}
        return row

    return _parse_rows(map(wrap_message, records), 1)


def _parse_rows(rows: Iterable[Row], first: int) -> Transcript:
    """Return what *rows* say; the first of them has the number *first*."""
    reader = _TranscriptReader()
    for number, row in enumerate(rows, first):
        if isinstance(row, dict):
            reader.lines = number
            for record in translate_host_record(row):
                reader.read_record(number, record)
        elif row is not None:
            reader.skipped.append(SkippedLine(number, row))
    return reader.build_transcript()


class _TranscriptReader:
    """Takes one record of Claude Code's after the other."""

    def __init__(self) -> None:
        self.messages: list[TranscriptMessage] = []
        self.skipped: list[SkippedLine] = []
        self.unknown: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self.session = {"sessionId": "", "cwd": "", "gitBranch": "", HOST: ""}
        self.started = self.ended = self.model = ""
        self.compactions: list[int] = []
        self.steps: dict[str, int] = {}
        self.lines = self.tokens = 0
        self.asked: dict[str, ToolCall] = {}
        self.queued: dict[int, str] = {}  # the number of a message → the prompt that waits, until it comes as one
        self.dropped: set[int] = set()
        self.main_side: bool | None = None

    def read_record(self, number: int, record: Mapping[str, Any]) -> None:
        for key, known in self.session.items():
            self.session[key] = known or to_text(record.get(key))
        if time := to_text(record.get("timestamp")):
            self.started, self.ended = self.started or time, time
        if (left := read_tokens_after_compaction(record)) is not None:
            self.tokens = left
            self.compactions.append(number)
        kind, attachment = record.get("type"), record.get("attachment")
        if not isinstance(kind, str) or kind not in KNOWN_TYPES:
            name = kind[:60] if isinstance(kind, str) else "?"
            self.unknown[name] += 1
            if record.get(UNREAD) or has_text(record):
                self.unread[name] += 1
        elif kind in ("user", "assistant"):
            message = record.get("message")
            if isinstance(message, dict) and isinstance(message.get("content"), str | list):
                self._read_message(TranscriptMessage(number, time, kind, AGENT), record, message)
            else:
                self.skipped.append(SkippedLine(number, msg("a record of type {kind} without a message", kind=kind)))
        elif kind == "attachment" and isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            texts, _ = _read_texts(attachment.get("prompt"))
            if any(map(_is_typed, texts)):
                self._add_message(TranscriptMessage(number, time, "user", HUMAN, texts))
        elif kind == "queue-operation":
            self._read_queue(TranscriptMessage(number, time, "user", HUMAN), record)

    def _read_queue(self, made: TranscriptMessage, record: Mapping[str, Any]) -> None:
        """Take a prompt typed while the agent works: it counts here unless it comes again as one, or is taken back."""
        text = extract_queued_text(record.get("content"))
        if record.get("operation") == "enqueue" and _is_typed(text):
            self._add_message(made._replace(texts=(text,)))
            self.queued[len(self.messages) - 1] = text
        elif record.get("operation") == "popAll":  # back into the input line, to be changed
            self._drop_queued(text or "\n".join(self.queued.values()))

    def _drop_queued(self, text: str) -> None:
        """Drop the queued prompts that *text* holds; a host may join several, each on lines of its own."""
        for number, queued in tuple(self.queued.items()):
            if f"\n{queued}\n" in f"\n{text}\n":
                self.dropped.add(number)
                del self.queued[number]

    def _read_message(self, made: TranscriptMessage, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        content, (texts, blocks) = message["content"], _read_texts(message["content"])
        # in the file of a sub-agent every record is a side chain: the first one shows which side the session itself is
        side = record.get("isSidechain") is True
        self.main_side = side if self.main_side is None else self.main_side
        made = made._replace(texts=texts, in_context=side == self.main_side, agent=to_text(record.get("agentId")))
        if made.role == "user":
            results = tuple(_iter_results(content, made.line))
            origin = _find_origin(record, texts, bool(results))
            if origin == HUMAN:  # beside what was typed, a message may hold reminders in blocks of their own
                texts = tuple(filter(_is_typed, texts))
            self._add_message(made._replace(origin=origin, texts=texts, results=results))
            for result in results:
                self._read_answers(made._replace(texts=()), result, record.get("toolUseResult"))
            return
        step = 0
        if made.in_context:
            # one answer of the model is written as several records, a block each, with the id of the message
            name = str(message.get("id") or record.get("requestId") or made.line)
            if content:  # Codex counts tokens in records of their own, which say nothing
                step = self.steps.setdefault(name, len(self.steps) + 1)
            if used := count_context_tokens(record):
                self.tokens, self.model = used, str(message.get("model") or "")
        calls = []
        for at, block in _iter_blocks(content, "tool_use"):
            given = block.get("input")
            call = ToolCall(to_text(block.get("id")), to_text(block.get("name")), {}, made.line, -1)
            calls.append(call._replace(input=given, block=at) if isinstance(given, dict) else call)
            if call.name == ASK:
                self.asked[call.id] = calls[-1]
        self._add_message(made._replace(calls=tuple(calls), blocks=blocks, step=step))

    def _read_answers(self, made: TranscriptMessage, result: ToolResult, details: object) -> None:
        """Take what a person says in the *result* of a tool: an answer to a question, or words with a refusal."""
        call = self.asked.pop(result.id, None)
        if call and not result.is_error and (answers := parse_answers(call.input, result.text, details)):
            self._add_message(made._replace(origin=ANSWER, texts=tuple(one.text for one in answers), answers=answers))
        if result.is_error and result.text.lstrip().startswith(_REFUSED) and (words := find_refusal_words(result.text)):
            self._add_message(made._replace(origin=HUMAN, texts=(words,)))

    def _add_message(self, message: TranscriptMessage) -> None:
        if message.texts or message.calls or message.results:
            if self.queued and (prompt := get_prompt(message)):
                self._drop_queued(prompt)
            self.messages.append(message)

    def _number_turns(self) -> Iterator[TranscriptMessage]:
        """Yield the messages that count, each with the number of prompts that came before it."""
        turns = 0
        for number, message in enumerate(self.messages):
            if number not in self.dropped:
                yield message._replace(turn=turns)
                turns += message.in_context and bool(get_prompt(message))

    def build_transcript(self) -> Transcript:
        session, folder, branch, host = self.session.values()
        made = Transcript(
            tuple(self._number_turns()), tuple(self.skipped), self.unknown, self.unread, session, folder, branch
        )
        made = made._replace(host=host, started=self.started, ended=self.ended, model=self.model, tokens=self.tokens)
        return made._replace(lines=self.lines, compactions=tuple(self.compactions), steps=len(self.steps))


def _find_origin(record: Mapping[str, Any], texts: tuple[str, ...], has_results: bool) -> str:
    if has_results:
        return TOOL
    for key, origin in (("isCompactSummary", SUMMARY), ("isMeta", META)):
        if record.get(key) is True:
            return origin
    if not any(map(_is_typed, texts)):
        return DELEGATED if any(text.lstrip().startswith(TEAMMATE) for text in texts) else WRAPPER
    return DELEGATED if record.get("isSidechain") is True else HUMAN


def _is_typed(text: str) -> bool:
    """Return whether some of *text* was typed by a person."""
    return bool(extract_typed_text(text).strip())


def _read_texts(content: object) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the texts of *content* that say something, and the numbers of their blocks, () where it is one text."""
    if isinstance(content, str):
        return (content,) if content.strip() else (), ()
    found = {at: block["text"] for at, block in _iter_blocks(content, "text") if to_text(block.get("text")).strip()}
    return tuple(found.values()), tuple(found)


def _iter_results(content: object, number: int) -> Iterator[ToolResult]:
    for at, block in _iter_blocks(content, "tool_result"):
        answer = block.get("content")
        parts = answer if isinstance(answer, list) else [{"text": answer}]
        texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
        is_text, is_error = len(texts) == len(parts) > 0, block.get("is_error") is True
        yield ToolResult(to_text(block.get("tool_use_id")), "\n".join(texts), is_error, number, at, is_text)


def _iter_blocks(content: object, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the blocks of one *kind* in *content*, each with its number."""
    for at, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict) and block.get("type") == kind:
            yield at, block


# -- views -----------------------------------------------------------------------------------------


def get_prompt(message: TranscriptMessage) -> str:
    """Return the words a person typed in *message*, arguments of a slash command included, or ""."""
    if message.origin == HUMAN:
        return "\n".join(get_own_texts(message)).strip()
    if message.origin == WRAPPER:
        return "\n".join(split_element(text, "command-args")[1].strip() for text in message.texts).strip()
    return ""


def get_own_texts(message: TranscriptMessage) -> tuple[str, ...]:
    """Return the texts in *message* of a person or the agent (a compaction's summary too), without reminders."""
    if message.origin == HUMAN:
        return tuple(extract_typed_text(text) for text in message.texts)
    return tuple(map(strip_injected, message.texts)) if message.origin in (AGENT, SUMMARY, ANSWER) else ()


def get_read_texts(message: TranscriptMessage) -> tuple[str, ...]:
    """Return what rules read of `get_own_texts`: `MAX_READ_CHARACTERS` of the end of an agent's, else of the beginning.

    A person says what they want and pastes below it; an agent ends with what came of the work.
    """
    texts = get_own_texts(message)
    if sum(map(len, texts)) <= MAX_READ_CHARACTERS:
        return texts
    whole = "\n\n".join(texts)
    return (whole[-MAX_READ_CHARACTERS:] if message.origin == AGENT else whole[:MAX_READ_CHARACTERS],)


def list_prompts(transcript: Transcript) -> list[str]:
    """Return what a person asked, in order."""
    return [prompt for message in transcript.messages if (prompt := get_prompt(message))]


def list_agent_texts(
    transcript: Transcript, read: Callable[[TranscriptMessage], tuple[str, ...]] = get_own_texts
) -> list[tuple[int, str]]:
    """Return what the agent said, in order, as *read* reads its messages, each text with its line."""
    own = (message for message in transcript.messages if message.origin == AGENT and message.in_context)
    return [(message.line, text) for message in own for text in read(message)]


def list_calls(transcript: Transcript, *, in_context: bool = False) -> list[AnsweredCall]:
    """Return every call with its result, in order; *in_context*: without those of agents within the session.

    A session that was resumed may repeat a call with its id: a result belongs to the call above it.
    """
    found: list[AnsweredCall] = []
    unanswered: dict[str, int] = {}
    for message in transcript.messages:
        if in_context and not message.in_context:
            continue
        for call in message.calls:
            unanswered[call.id] = len(found)
            found.append(AnsweredCall(call, None, message.step, message.turn))
        # the id goes once it is answered: a resumed session may repeat the call with its answer
        for result in message.results:
            if (at := unanswered.pop(result.id, None)) is not None:
                found[at] = found[at]._replace(result=result)
    return found
