"""Read the records of a session of any host, each in the form of Claude Code's.

A session's file has a JSON object a line, or is one JSON value with all messages. The formats are in `host_formats`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from kb.i18n import Message, msg
from kb.sessions.host_formats import FORMATS, is_gemini
from kb.sessions.host_input import to_text
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any] | Message | None
    """What a line holds: a record, why it cannot be read, or None for nothing."""


HOST = "kb-host"
"""The key under which a translated record names its host."""
UNREAD = "kb-unread"
"""The key under which a record that a format does not know says that it carries a text."""
_TEXT_KEYS = ("text", "content", "message", "prompt", "summary", "payload", "data", "parts", "info", "blocks")
"""Keys under which hosts write what was said."""
_MIN_TEXT_WORDS = 3
"""An ASCII value of fewer words is a name or a number rather than text."""
_MAX_DEPTH = 5
"""Levels of a record that are searched for text."""
_CLAUDE_KEYS = ("uuid", "parentUuid", "isSidechain")
"""Keys that are in most records of Claude Code and in no other."""


def find_format(record: Mapping[str, Any]) -> str:
    """Return the host in whose format *record* is, "" for Claude Code and for what no format knows."""
    return next((host for host, one in FORMATS.items() if one.is_record(record)), "")


def translate_host_record(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return what *record* of any host says in records of Claude Code; one of Claude Code is itself.

    A message of a sub-agent that Claude Code wrapped into a progress record is unwrapped.
    """
    data = record.get("data")
    if isinstance(data, dict) and data.get("type") == "agent_progress" and isinstance(data.get("message"), dict):
        about = {"isSidechain": True, "agentId": record.get("parentToolUseID"), "timestamp": record.get("timestamp")}
        return [{**data["message"], **about}]
    host = "" if any(key in record for key in _CLAUDE_KEYS) else find_format(record)
    if not host:
        return [record]
    about = {"timestamp": record.get("timestamp")}
    made = [{**about, **one, HOST: host} for one in FORMATS[host].translate(record)]
    for one in made:
        if str(one.get("type")).startswith(f"{host} ") and has_text(record):
            one[UNREAD] = True
    return made


def has_text(value: object, depth: int = 0) -> bool:
    """Return whether *value*, a record, says something in words where hosts write what was said."""
    if isinstance(value, str):
        return len(value.split()) >= _MIN_TEXT_WORDS or any(letter >= "\u2e80" for letter in value)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, list):
        return any(has_text(one, depth + 1) for one in value if isinstance(one, dict | list) or depth > 1)
    return isinstance(value, dict) and any(has_text(value[key], depth + 1) for key in _TEXT_KEYS if key in value)


def parse_line(line: bytes) -> Row:
    """Return the record on *line* as it stands there, lone surrogates included."""
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return msg("not valid UTF-8")
    except (ValueError, RecursionError):
        return msg("not valid JSON")
    return record if isinstance(record, dict) else msg("not a JSON object")


def parse_clean_line(line: bytes) -> Row:
    """Return the record on *line* without lone surrogates: those cannot be encoded again."""
    record = parse_line(line)
    if isinstance(record, dict) and (b"\\ud" in line or b"\\uD" in line):
        record = replace_surrogates(record)
    return record


def replace_surrogates(record: dict[str, Any]) -> dict[str, Any]:
    """Return *record* with "?" for lone surrogates."""
    made: dict[str, Any] = json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
    return made


def parse_whole_session(data: bytes) -> list[dict[str, Any]] | None:
    """Return the records of a session that is one JSON value, in order; None where *data* is lines, or no JSON."""
    start = data.lstrip()[:1]
    if start not in (b"{", b"["):
        return None
    line = data.lstrip().split(b"\n", 1)[0].strip()
    if start == b"{" and line not in (b"{", b"{}") and b'"messages"' not in line:
        return None  # what most sessions are: a first line that is a record by itself
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    messages = value.get("messages") if isinstance(value, dict) else value
    # Gemini's {"$set": {"messages": …}} is a record a line that takes the others back, not a session
    if not isinstance(messages, list) or (isinstance(value, dict) and "$set" in value):
        return None
    found = [message for message in messages if isinstance(message, dict)]
    if not any(map(find_format, found[:5])):
        return None
    session = {key: one for key, one in value.items() if key != "messages"} if isinstance(value, dict) else {}
    return [{**message, "session": session} if not number else message for number, message in enumerate(found)]


def drop_superseded(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield *rows* with None for what a later one takes back: Gemini writes a message again whenever it grows.

    Only a session of Gemini is held in memory for that; another's records pass one by one.
    """
    coming = iter(rows)
    head: list[Row] = []
    for row in coming:
        head.append(row)
        if isinstance(row, dict):
            break
    if not (head and isinstance(head[-1], dict) and is_gemini(head[-1])):
        yield from chain(head, coming)
        return
    every = [*head, *coming]
    kept: dict[object, int] = {}
    for number, row in enumerate(every):
        record = row if isinstance(row, dict) else {}
        # {"$rewindTo": id} takes back that message and all after it
        if (rewound := record.get("$rewindTo")) is not None and str(rewound) in kept:
            names = list(kept)
            for name in names[names.index(str(rewound)) :]:
                del kept[name]
        name = record.get("id") if is_gemini(record) else None
        key = name if isinstance(name, str) else number
        kept.pop(key, None)  # a message that is written again moves to the end
        kept[key] = number
    numbers = set(kept.values())
    yield from (row if number in numbers else None for number, row in enumerate(every))


def iter_file_records(file: Iterable[bytes]) -> Iterator[Row]:
    """Yield what each line, or message, of a session in a *file* holds, without reading all of it at once.

    The records are as they stand there, so that what is not changed in them can be written back as it was.
    """
    lines = iter(file)
    first = next(lines, b"")
    start = first.strip()
    if start[:1] == b"[" or start == b"{" or b'"messages"' in first:
        data = b"".join([first, *lines])
        messages = parse_whole_session(data)
        yield from messages if messages is not None else map(parse_line, data.split(b"\n"))
    else:
        yield from drop_superseded(map(parse_line, chain([first], lines)))


ASK = "AskUserQuestion"
"""The tool by which an agent asks a person, whatever its host calls it."""
CHOSEN, LEFT, TYPED = "☑ ", "☐ ", "→ "
"""What the lines of an answer begin with: a chosen option, one that was not chosen, a person's own words."""
_NOTE = "user_note: "
_ONE = regex(r"(?s)\s*User (?:selected|responded): (.*)")
_REFUSAL = "the user said:\n"
_CANNED = "The user wants to clarify these questions"
"""With this Claude Code itself fills in the words of a person who has given none."""
_UNANSWERED = frozenset({"", "unanswered", "(no answer provided)", "no answer provided", "user dismissed dialog"})


class PersonAnswer(NamedTuple):
    """What a person answered to one question of the agent's."""

    question: str
    chosen: tuple[tuple[str, str], ...] = ()
    """The options that were taken, each with its description, "" for none."""
    left: tuple[tuple[str, str], ...] = ()
    """The options that were not taken."""
    typed: str = ""
    """What the person said in words of their own."""

    @property
    def text(self) -> str:
        """The answer in lines: the question, what was taken, what was said, what was left."""
        said = [TYPED + self.typed] if self.typed else []
        chosen, left = ([format_option(*one) for one in many] for many in (self.chosen, self.left))
        return "\n".join((self.question, *(CHOSEN + one for one in chosen), *said, *(LEFT + one for one in left)))


def format_option(label: str, about: str) -> str:
    """Return an option of a question in words."""
    return f"{label}: {about}" if about else label


def parse_answers(given: Mapping[str, Any], result: str, details: object = None) -> tuple[PersonAnswer, ...]:
    """Return what a person answered to the questions that a call was *given*; () for no answer.

    *result* is the text of the tool's result, *details* what the host keeps beside it.
    """
    listed = given.get("questions")
    questions = [one for one in (listed if isinstance(listed, list) else [given]) if isinstance(one, dict)]
    asked = [to_text(one.get("question")) or to_text(one.get("prompt")) for one in questions]
    held = _parse_object(result)
    about = details if isinstance(details, dict) else {}
    made = []
    for number, one in enumerate(questions):
        options = dict(_iter_options(one))
        words = _find_words(about.get("answers"), asked[number], number, one)
        words = words or _find_words(held.get("answers"), asked[number], number, one)
        words = words or list(_iter_quoted(result, asked[number], asked[number + 1 :]))
        if not (words or held or about.get("answers")) and (match := _ONE.match(result)):
            words = [match[1]]
        words = words or ([] if held else _find_named(result, one, options))
        notes = about.get("annotations")
        note = to_text(_get(notes, asked[number], "notes")) if isinstance(notes, dict) else ""
        if asked[number] and (answer := _build_answer(asked[number], options, [*words, *([note] if note else [])])):
            made.append(answer)
    return tuple(made)


def _build_answer(question: str, options: Mapping[str, str], words: list[str]) -> PersonAnswer | None:
    """Return the answer that *words* give: labels of options, several of them in one text perhaps, or own words."""
    taken, own = [], []
    for word in dict.fromkeys(part.strip() for part in words):
        labels = [word] if word in options else word.split(", ")
        if all(label in options for label in labels):
            taken += labels
        elif word.lower() not in _UNANSWERED:
            own.append(word.removeprefix(_NOTE).strip())
    if not (taken or own):
        return None
    left = tuple((label, about) for label, about in options.items() if label not in taken)
    return PersonAnswer(question, tuple((label, options[label]) for label in taken), left, "\n".join(own))


def _iter_options(question: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = question.get("options", question.get("choices"))
    for option in listed if isinstance(listed, list) else ():
        if isinstance(option, str) and option.strip():
            yield option.strip(), ""
        elif isinstance(option, dict) and (label := to_text(option.get("label")).strip()):
            yield label, " ".join(to_text(option.get("description")).split())


def _find_words(answers: object, asked: str, number: int, question: Mapping[str, Any]) -> list[str]:
    """Return the words under the question's text, its number or its id in an object of *answers*."""
    if isinstance(answers, list):
        value = answers[number] if number < len(answers) else None
    else:
        keys = (asked, str(number), to_text(question.get("id")))
        value = next((found for key in keys if (found := _get(answers, key)) is not None), None)
    value = value.get("answers") if isinstance(value, dict) else value
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _iter_quoted(result: str, asked: str, later: list[str]) -> Iterator[str]:
    """Yield what follows `"asked"="`, up to the next question or the end of the host's sentence."""
    start = result.find(f'"{asked}"="') if asked else -1
    if start >= 0:
        rest = result[start + len(asked) + 4 :]
        ends = [f'", "{one}"="' for one in later] + ['" user notes: ', '". You can now continue']
        cuts = [at for end in ends if (at := rest.find(end)) >= 0]
        yield rest[: min(cuts)] if cuts else rest.partition('"')[0]


def _find_named(result: str, question: Mapping[str, Any], options: Mapping[str, str]) -> list[str]:
    """Return the options that *result* names, unless it names all of them: then it only repeats the question."""
    listed = question.get("options")
    ids = {to_text(_get(one, "id")): to_text(_get(one, "label")) for one in listed} if isinstance(listed, list) else {}
    words = frozenset(word.strip("\"'`,.;[]()") for word in result.split())
    named = [label for label in options if label in result]
    named = named or [label for key, label in ids.items() if key in words and label in options]
    return named if len(named) < len(options) else []


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _get(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def find_refusal_words(result: str) -> str:
    """Return what a person said when refusing a call (“The user doesn't want to …, the user said:”), or ""."""
    words = result.partition(_REFUSAL)[2].strip()
    return "" if words.startswith(_CANNED) else words


def extract_queued_text(content: object) -> str:
    """Return what a person typed into the queue of prompts; "" for a task or a report that the host queued.

    Of a slash command (“/review the ledger”) only its arguments are a person's words.
    """
    if isinstance(content, list):
        content = "\n".join(to_text(_get(one, "text")) for one in content)
    text = to_text(content).strip()
    if "task_id" in _parse_object(text):
        return ""
    return text.partition(" ")[2].strip() if text.startswith("/") and "/" not in text.split(None, 1)[0][1:] else text
