"""The front of a record file: its frontmatter read as a mapping and edited as text, so that every other byte stays."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kb.errors import BadRecord
from kb.words import say

MAX_BYTES = 4_000_000
MAX_FRONT = 64_000
MAX_DEPTH = 12

_FRONT = re.compile(
    r"\ufeff?---[ \t]*(?:\r\n|\n|\r)(.*?)^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"(?m)^([A-Za-z_][\w-]*|\"[^\"\n]*\"|'[^'\n]*')[ \t]*:(?=[ \t\r\n]|\Z)")
_PLAIN = re.compile(r"[A-Za-z_\u0080-\ud7ff\ue000-\ufffd][\w./+@() \u0080-\ud7ff\ue000-\ufffd-]*")
_WORDS_YAML_READS = frozenset(["null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"])
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\]\n]*\]|[^\s"'\[{|>#&*!%@`](?:[^#\n]|(?<=\S)#)*?)"""
_COMMENT = re.compile(rf"^[ \t]*{_VALUE}([ \t]+#[^\n\r]*)$")

KEYS = (
    "id", "uid", "kind", "title", "status", "scope", "date", "tags", "impact", "supersedes", "amends",
    "coexists_with", "claims", "occurrences", "sources", "confirmed",
)  # fmt: skip
"""The frontmatter keys kb knows, in the order in which it writes them."""


class Span(NamedTuple):
    """A piece of a text: offsets of its first character and of the one after its last."""

    start: int
    end: int


# -- bytes and lines ------------------------------------------------------------------------------


def decode(data: bytes, path: str = "") -> str:
    """Return the text of a record file; raise BadRecord for what is no text or larger than 4 MB."""
    if len(data) > MAX_BYTES:
        raise BadRecord(
            say("the file has {size} bytes; a record has at most {limit}", size=len(data), limit=MAX_BYTES),
            path=path,
        )
    if b"\0" in data:
        raise BadRecord(
            say("the file is binary, not markdown"),
            path=path,
            hint=say("restore it with: git checkout -- {path}", path=path),
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRecord(
            say("the file is not valid UTF-8"), path=path, line=line, hint=say("save it as UTF-8")
        ) from None


def newline(text: str) -> str:
    """Return the line ending *text* uses first, or a line feed."""
    match = re.search(r"\r\n|\n|\r", text)
    return match.group() if match else "\n"


def line_of(text: str, offset: int) -> int:
    """Return the 1-based line on which *offset* stands."""
    return len(re.findall(r"\r\n|\n|\r", text[:offset])) + 1


def lines(text: str) -> list[str]:
    """Return *text* cut after its line ends as markdown knows them (not at form feeds and the like)."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", text)


# -- the front ------------------------------------------------------------------------------------


def front_span(text: str) -> Span | None:
    """Return where the YAML between the `---` lines stands, or None for a text without a front."""
    match = _FRONT.match(text)
    return Span(match.start(1), match.end(1)) if match else None


def body_start(text: str) -> int:
    """Return the offset behind the front; 0 without one."""
    match = _FRONT.match(text)
    return match.end() if match else 0


def front(text: str, path: str = "") -> dict[str, Any]:
    """Return the frontmatter of *text* as a mapping; {} without one. Raise BadRecord naming the line.

    The only place where kb reads YAML. Scalars that look like dates stay text; tags, anchors and aliases are refused.
    """
    span = front_span(text)
    if span is None:
        if re.match(r"\ufeff?---[ \t]*[\r\n]", text):
            raise BadRecord(
                say("the frontmatter is never closed"), path=path, line=1, hint=say("end it with a line ---")
            )
        return {}
    source = text[span.start : span.end]
    if len(source) > MAX_FRONT:
        raise BadRecord(say("the frontmatter is larger than {limit} characters", limit=MAX_FRONT), path=path, line=1)
    return _load_yaml(source, path)


def _load_yaml(source: str, path: str) -> dict[str, Any]:
    from kb.yamlfront import YamlError, load

    try:
        return load(source, MAX_DEPTH)
    except YamlError as error:
        raise BadRecord(
            say("the frontmatter cannot be read: {problem}", problem=error.problem),
            path=path,
            line=error.line + 1,
        ) from None


def key_line(text: str, key: str) -> int:
    """Return the 1-based line of *key* in the front of *text*; 1 where it has none."""
    span = _key_spans(text).get(key)
    return line_of(text, span.start) if span else 1


def _key_spans(text: str) -> dict[str, Span]:
    """Return where each top-level key of the front stands, its value and trailing line end included."""
    span = front_span(text)
    if span is None:
        return {}
    source = text[span.start : span.end]
    spans: dict[str, Span] = {}
    for match in _KEY.finditer(source):
        spans[match.group(1).strip("\"'")] = Span(
            span.start + match.start(), span.start + _value_end(source, match.end())
        )
    return spans


def _value_end(source: str, after_colon: int) -> int:
    """Return where the value that begins at *after_colon* ends: behind its last indented, list or bracketed line."""
    rows = lines(source[after_colon:])
    end = after_colon + len(rows[0]) if rows else after_colon
    pending = 0
    depth = _open_brackets(rows[0]) if rows else 0
    for line in rows[1:]:
        pending += len(line)
        bare = line.strip()
        if depth > 0 or (
            bare and (line[0] in " \t" or bare.startswith("- ") or bare == "-") and not line.startswith("#")
        ):
            depth += _open_brackets(line) if depth > 0 else 0
            end += pending
            pending = 0
        elif bare and not bare.startswith("#"):
            break
    return end


def _open_brackets(line: str) -> int:
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:^|\s)#.*", "", line)
    if not re.match(r"[ \t]*[\[{]", line) and bare.count("]") + bare.count("}") == 0:
        return 0
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


def scalar(value: object) -> str:
    """Return *value* as YAML on one line: plain where that is safe, else in JSON's double quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(scalar(v) for v in value) + "]"
    word = str(value)
    if _PLAIN.fullmatch(word) and word.strip() == word and word.lower() not in _WORDS_YAML_READS:
        return word
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        return word
    return (
        json.dumps(word, ensure_ascii=False)
        .replace("\x7f", "\\x7f")
        .replace("\u0085", "\\N")
        .replace("\u2028", "\\L")
        .replace("\u2029", "\\P")
        .replace("\ufeff", "\\ufeff")
    )


def edit_front(text: str, changes: Mapping[str, object]) -> str:
    """Return *text* with the keys of *changes* set in its front; None removes a key. All other bytes stay."""
    end = newline(text)
    if front_span(text) is None:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        added = "".join(f"{key}: {scalar(value)}{end}" for key, value in changes.items() if value is not None)
        return f"{mark}---{end}{added}---{end}{text[len(mark) :]}"
    for key, value in changes.items():
        spans = _key_spans(text)
        span = spans.get(key)
        line = "" if value is None else f"{key}: {scalar(value)}{_kept_comment(text, span)}{end}"
        at = span or _place_for(text, key, spans)
        text = text[: at.start] + line + text[at.end :]
    return text


def _kept_comment(text: str, span: Span | None) -> str:
    """Return the comment behind a value that stands on one line, with the space before it."""
    if span is None:
        return ""
    rows = lines(text[span.start : span.end])
    match = _COMMENT.match(rows[0].partition(":")[2].rstrip("\r\n")) if len(rows) == 1 else None
    return match.group(1) if match else ""


def _place_for(text: str, key: str, spans: Mapping[str, Span]) -> Span:
    """Return the empty span for a new *key*: behind the last key that comes before it in KEYS, else at the end."""
    before = KEYS[: KEYS.index(key)] if key in KEYS else ()
    for known in reversed(before):
        if known in spans:
            return Span(spans[known].end, spans[known].end)
    whole = front_span(text)
    assert whole is not None
    return Span(whole.end, whole.end)
