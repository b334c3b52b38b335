"""Read the records of a session of any host, each in the form of Claude Code's.

A session's file has a JSON object a line, or is one JSON value with all messages. The formats are in `host_formats`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from kb.i18n import Message, msg
from kb.sessions.host_formats import FORMATS, is_gemini
from kb.startup.namedtuple import TYPE_CHECKING

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
"""Keys that stand in most records of Claude Code and in no other."""


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
    return record if isinstance(record, dict) else msg("no JSON object")


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
    """Yield *rows* with None for what a later one takes back: Gemini writes a message anew whenever it grows.

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
        # {"$rewindTo": id} takes back that message and all behind it
        if (rewound := record.get("$rewindTo")) is not None and str(rewound) in kept:
            names = list(kept)
            for name in names[names.index(str(rewound)) :]:
                del kept[name]
        name = record.get("id") if is_gemini(record) else None
        key = name if isinstance(name, str) else number
        kept.pop(key, None)  # a message that is written anew moves to the end
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
