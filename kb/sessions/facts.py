"""Collect the facts of a session for its forms: files, commands, steps, outcome; all verbatim from the transcript."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kb.sessions.transcript import (
    AGENT,
    DELEGATED,
    SUMMARY,
    ToolCall,
    Transcript,
    get_own_texts,
    get_prompt,
    list_calls,
)
from kb.text.mentions import make_relative
from kb.text.segment import clip, one_line

# a line that declares something: “async def fetch(url):”, “pub fn parse(text: &str) -> Tree {”
_SIGNATURE = re.compile(
    r"^[ \t]*+((?:(?:export|default|pub(?:\([a-z]+\))?|public|static|async|abstract)[ \t]++)*+"
    r"(?:def|func|fn|function|class|interface|struct|trait|enum|defmodule|defmacro)\s+[A-Za-z][^\n]{0,140}?)"
    r"\s*+(?:\bdo|[{:]|=>)?[ \t]*+$",
    re.MULTILINE,
)
_CODE = re.compile(r"\.(?:py|pyi|js|mjs|ts|tsx|jsx|go|rs|ex|exs|java|kt|rb|c|h|cc|cpp|hpp|cs|swift|php|scala)$")
_TEST = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)test_|_test\.|\.(?:test|spec)\.")
# “def _helper(”, “def test_login(”: nobody outside calls these
_PRIVATE = re.compile(r" (?:_|test_|test$)")


class FileEdit(NamedTuple):
    """One change of a file."""

    path: str
    line: int
    is_new: bool
    added: int
    removed: int
    diff: str


class FailedCall(NamedTuple):
    """A call that failed."""

    what: str
    error: str
    line: int
    mended: str
    """What went well later in its place; "" for nothing."""


# -- files -----------------------------------------------------------------------------------------


def _list_edit_calls(transcript: Transcript) -> list[tuple[str, ToolCall]]:
    """Return the calls that changed a file by a tool for that, each with its path as it is given."""
    made = [one.request for one in list_calls(transcript) if not one.is_error]
    calls = [one for one in made if one.name in ("Edit", "Write", "NotebookEdit")]
    named = [(_get_text(one.input, "file_path", "notebook_path"), one) for one in calls]
    return [(path, one) for path, one in named if path]


def list_edits(transcript: Transcript) -> list[FileEdit]:
    """Return every change that was made to a file by a tool for that."""
    found = []
    for path, call in _list_edit_calls(transcript):
        old, new = _get_text(call.input, "old_string"), _get_text(call.input, "new_string", "content", "new_source")
        rows = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
        added, removed = (sum(row.startswith(mark) for row in rows) for mark in "+-")
        path, is_new = make_relative(path, transcript.cwd), call.name == "Write"
        found.append(FileEdit(path, call.line, is_new, added, removed, "\n".join(rows)))
    return found


def list_changed_files(changes: Sequence[FileEdit]) -> list[str]:
    """Return the changed files, each once, the one changed most first."""
    sizes: Counter[str] = Counter()
    for change in changes:
        sizes[change.path] += change.added + change.removed
    return sorted(sizes, key=lambda path: (bool(_TEST.search(path)), -sizes[path]))


def list_signatures(transcript: Transcript) -> list[str]:
    """Return the signatures that were written into code outside tests, in order, each once, the last one said."""
    found: dict[str, str] = {}
    for path, call in _list_edit_calls(transcript):
        if _CODE.search(path) and not _TEST.search(make_relative(path, transcript.cwd)):
            for match in _SIGNATURE.finditer(_get_text(call.input, "new_string", "content")):
                row = one_line(match[1])
                found[row.partition("(")[0]] = row
    whole = (row for row in found.values() if row.count("(") == row.count(")"))
    return [row for row in whole if not _PRIVATE.search(row.partition("(")[0])]


# -- problems --------------------------------------------------------------------------------------


def list_failed_calls(transcript: Transcript) -> list[FailedCall]:
    """Return the calls that failed, with what went well later in their place."""
    calls = list_calls(transcript)
    found = []
    for number, one in enumerate(calls):
        if one.result and one.has_failed:
            later = (other for other in calls[number + 1 :] if other.result and not other.is_error)
            mended = next((other.request for other in later if _has_same_target(one.request, other.request)), None)
            error, better = _format_error(one.output), format_call(mended) if mended else ""
            found.append(FailedCall(format_call(one.request), error, one.request.line, better))
    return found


def _has_same_target(one: ToolCall, other: ToolCall) -> bool:
    if one.name != other.name:
        return False
    if path := _get_text(one.input, "file_path"):
        return path == _get_text(other.input, "file_path")
    words, others = (_get_text(call.input, "command").split()[:3] for call in (one, other))
    return len(words) > 1 and words == others


def format_call(call: ToolCall, limit: int = 100) -> str:
    """Return *call* as a person knows it."""
    given = next((v.strip() for v in call.input.values() if isinstance(v, str) and v.strip()), "")
    return f"{call.name} {clip(given.splitlines()[0] if given else '', limit)}".strip()


def _format_error(text: str) -> str:
    rows = [row.strip() for row in text.replace("<tool_use_error>", "").splitlines() if row.strip()]
    telling = [row for row in rows if not row.startswith("Exit code")]
    return clip((telling or rows or [""])[0].removesuffix("</tool_use_error>"), 160)


# -- the whole -------------------------------------------------------------------------------------


def list_entries(transcript: Transcript) -> list[dict[str, Any]]:
    """Return everything that was said and called, in order: who, when and what."""
    calls, found = iter(list_calls(transcript)), []
    for message in transcript.messages:
        about = {"time": message.time[:16].replace("T", " "), "line": message.line}
        made = list(islice(calls, len(message.calls)))
        if (prompt := get_prompt(message)) or message.origin in (DELEGATED, SUMMARY):
            text = _quote_text(prompt or "\n\n".join(message.texts))
            found.append({"who": "person" if prompt else message.origin, **about, "text": text})
        if message.origin == AGENT:
            found += [{"who": "agent", **about, "text": _quote_text(text)} for text in get_own_texts(message)]
            for one in made:
                error = f" — {_format_error(one.output)}" if one.is_error else ""
                text = f"{format_call(one.request, 160)}{error}"
                found.append({"who": "tool", **about, "text": text, "failed": one.is_error})
    return found


def _quote_text(text: str) -> str:
    """Return *text* as a quotation, so that headings and fences in it are none of the form's."""
    return "\n".join(f"> {row}".rstrip() for row in text.strip().splitlines())


def _get_text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the values of *keys* that is a text and not empty, or ""."""
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")
