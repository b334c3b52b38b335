"""Sessions of other hosts, said in the records of Claude Code: one model of a session, whoever ran it.

A format is a module with `is_host_record` (whether a record is of it) and `translate_record`. It is known by what a
record holds, not by a file's name; a record that a format does not know comes back with its type, to be counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType

from kb.sessions.adapters import codex, copilot, cursor, gemini, opencode
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

FORMATS: tuple[ModuleType, ...] = (codex, copilot, cursor, gemini, opencode)
HOST = "kb-host"
"""The key under which a translated record names its host."""
UNREAD = "kb-unread"
"""The key under which a record that a format does not know says that it carries a text."""
_TEXTS = ("text", "content", "message", "prompt", "summary", "payload", "data", "parts", "info", "blocks")
"""Keys under which hosts write what was said."""
_LEAST_WORDS = 3
_DEEPEST = 5
_OWN = ("uuid", "parentUuid", "isSidechain")
"""Keys that stand in most records of Claude Code and in no other."""


def translate_host_record(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return what *record* of any host says in records of Claude Code; one of Claude Code is itself."""
    if not any(key in record for key in _OWN):
        for one in FORMATS:
            if one.is_host_record(record):
                return [_add_host(made, one.NAME, record) for made in one.translate_record(record)]
    return [record]


def _add_host(made: Mapping[str, Any], name: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a format *made* of *record* with its host's *name*; one it does not know is "NAME type"."""
    is_unknown = str(made.get("type")).startswith(f"{name} ")
    return {**made, HOST: name, **({UNREAD: True} if is_unknown and has_text(record) else {})}


def has_text(value: object, depth: int = 0) -> bool:
    """Return whether *value*, a record, says something in words where hosts write what was said."""
    if isinstance(value, str):
        return len(value.split()) >= _LEAST_WORDS or any(letter >= "\u2e80" for letter in value)
    if depth > _DEEPEST:
        return False
    if isinstance(value, list):
        return any(has_text(one, depth + 1) for one in value if isinstance(one, dict | list) or depth > 1)
    return isinstance(value, dict) and any(has_text(value[key], depth + 1) for key in _TEXTS if key in value)


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
    if not isinstance(messages, list) or (isinstance(value, dict) and "$set" in value):
        return None
    about = {key: one for key, one in value.items() if key != "messages"} if isinstance(value, dict) else {}
    found = [message for message in messages if isinstance(message, dict)]
    if not any(one.is_host_record(message) for message in found[:5] for one in FORMATS):
        return None
    for message in found[:1]:
        message["session"] = about
    return found


def drop_superseded(rows: Iterable[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Return *rows* without what a later one takes back: Gemini writes a message anew whenever it grows."""
    kept: dict[object, tuple[int, dict[str, Any]]] = {}
    for number, record in rows:
        if (back := record.get("$rewindTo")) is not None:
            names = list(kept)
            at = names.index(str(back)) if str(back) in kept else len(names)
            for name in names[at:]:
                del kept[name]
        name = record.get("id") if gemini.is_host_record(record) else None
        key = name if isinstance(name, str) else number
        kept.pop(key, None)
        kept[key] = (number, record)
    return list(kept.values())


def iter_records(rows: Iterable[bytes]) -> Iterator[Mapping[str, Any] | None]:
    """Yield the records of a session of any host, one for each line or message; None for what cannot be read."""
    lines = iter(rows)
    first = next(lines, b"")
    start = first.strip()
    if start[:1] == b"[" or start == b"{" or b'"messages"' in first:
        data = b"".join([first, *lines])
        found = parse_whole_session(data)
        yield from found if found is not None else map(_parse_line, data.split(b"\n"))
        return
    record = _parse_line(first)
    if record is not None and gemini.is_host_record(record):
        every = [record, *map(_parse_line, lines)]
        kept = dict(drop_superseded((number, one) for number, one in enumerate(every) if one is not None))
        yield from (kept.get(number) for number in range(len(every)))
        return
    yield record
    yield from map(_parse_line, lines)


def _parse_line(row: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(row.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
