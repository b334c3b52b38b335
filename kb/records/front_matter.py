"""The front of a record file: its frontmatter read as a mapping and edited as text, so that every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kb.errors import BadRecord
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.line_ends import detect_newline, find_line_number, split_lines

if TYPE_CHECKING:
    from typing import Any

    from kb.records.safe_yaml import YamlEntry, YamlFrontMatter

MAX_BYTES = 4_000_000
MAX_FRONT = 64_000
MAX_DEPTH = 12

_OPENING = regex(r"\ufeff?---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = regex(r"[\r\n](?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_COMMENT = regex(r"(?:[ \t]*+[|>][-+0-9]{0,2})?([ \t]++#[^\r\n]*)")

_PUNCTUATION = "\u2018-\u201d\u2014\u2026\u3001-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PLAIN = regex(rf"[^\W\d](?:[\w./+@()' {_PUNCTUATION}-]*[\w./+@(){_PUNCTUATION}-])?")
_DAY = regex(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_OTHERS_READ_AS_VALUES = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_UNSEEN = regex("[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]")
_HALF = regex("[\ud800-\udfff]")
_LONGEST_KEY = 500

KEYS = (
    "id", "uid", "kind", "title", "status", "scope", "date", "tags", "impact", "supersedes", "amends",
    "coexists_with", "claims", "occurrences", "sources", "confirmed",
)  # fmt: skip
"""The frontmatter keys kb knows, in the order in which it writes them."""


class TextSpan(NamedTuple):
    """A piece of a text: offsets of its first character and of the one after its last."""

    start: int
    end: int


# -- bytes and lines ------------------------------------------------------------------------------


def decode_record(data: bytes, path: str = "") -> str:
    """Return the text of a record file; raise BadRecord for what is no text or larger than 4 MB."""
    if len(data) > MAX_BYTES:
        raise BadRecord(
            msg("the file has {size} bytes; a record has at most {limit}", size=len(data), limit=MAX_BYTES),
            path=path,
        )
    if b"\0" in data:
        raise BadRecord(
            msg("the file is binary, not markdown"),
            path=path,
            hint=msg("restore it with: git checkout -- {path}", path=path),
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = find_line_number(data[: error.start].decode("utf-8"), error.start)
        raise BadRecord(
            msg("the file is not valid UTF-8"), path=path, line=line, hint=msg("save it as UTF-8")
        ) from None


# -- the front ------------------------------------------------------------------------------------


def find_front_matter(text: str) -> TextSpan | None:
    """Return where the YAML between the `---` lines stands, or None for a text without a front."""
    edges = _find_edges(text)
    return TextSpan(edges[0], edges[1]) if edges else None


def find_body_start(text: str) -> int:
    """Return the offset behind the front; 0 without one."""
    edges = _find_edges(text)
    return edges[2] if edges else 0


def parse_front_matter(text: str, path: str = "") -> dict[str, Any]:
    """Return the frontmatter of *text* as a mapping; {} without one. Raise BadRecord naming the line.

    The only place where kb reads YAML. Keys and dates stay text; tags, anchors and aliases are refused.
    """
    source = _extract_yaml(text, path)
    return {key: entry.value for key, entry in _load_yaml(source, path).entries.items()} if source else {}


def find_key_line(text: str, key: str) -> int:
    """Return the 1-based line of *key* in the front of *text*; 1 where it has none or cannot be read."""
    try:
        entry = _load_yaml(_extract_yaml(text, ""), "").entries.get(key)
    except BadRecord:
        return 1
    return entry.line + 2 if entry else 1


def _find_edges(text: str) -> tuple[int, int, int] | None:
    """Return where the front's YAML begins and ends, and where the body begins."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    return (opening.end(), closing.start() + 1, closing.end()) if opening and closing else None


def _extract_yaml(text: str, path: str) -> str:
    """Return the YAML of the front, "" without one."""
    span = find_front_matter(text)
    if span is None and _OPENING.match(text):
        raise BadRecord(msg("the frontmatter is never closed"), path=path, line=1, hint=msg("end it with a line ---"))
    source = text[span.start : span.end] if span else ""
    if len(source) > MAX_FRONT:
        raise BadRecord(msg("the frontmatter is larger than {limit} characters", limit=MAX_FRONT), path=path, line=1)
    return source


def _load_yaml(source: str, path: str) -> YamlFrontMatter:
    from kb.records.safe_yaml import YamlError, load_yaml

    try:
        return load_yaml(source, MAX_DEPTH)
    except YamlError as error:
        raise BadRecord(
            msg("the frontmatter cannot be read: {problem}", problem=error.problem),
            path=path,
            line=error.line + 1,
        ) from None


# -- values as text -------------------------------------------------------------------------------


def format_scalar(value: object) -> str:
    """Return *value* as YAML on one line: plain where every reader takes it as text, else in JSON's double quotes.

    `parse_front_matter` reads it back equal, and so does YAML 1.1 but for dates. Half a character (a lone surrogate)
    becomes U+FFFD.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _format_number(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_format_key(k)}: {format_scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_scalar(v) for v in value) + "]"
    word = str(value)
    if (_PLAIN.fullmatch(word) and word.lower() not in _OTHERS_READ_AS_VALUES) or _DAY.fullmatch(word):
        return word
    quoted = json.dumps(replace_surrogates(word), ensure_ascii=False)
    return _UNSEEN.sub(lambda m: f"\\u{ord(m.group()):04x}", quoted)


def format_entry(key: str, value: object) -> str:
    """Return the line of the front that sets *key* to *value*, without its end."""
    return f"{format_scalar(str(key))}: {format_scalar(value)}"


def replace_surrogates(text: str) -> str:
    """Return *text* with every half character (lone surrogate), which no file can hold, replaced by U+FFFD."""
    return _HALF.sub("\ufffd", text)


def _format_number(value: float) -> str:
    text = repr(float(value))
    named = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    return named.get(text) or (text if "." in text else text.replace("e", ".0e"))


def _format_key(key: object) -> str:
    """Return *key* for a mapping in braces; YAML wants a question mark before a long one."""
    text = format_scalar(str(key))
    return text if len(text) <= _LONGEST_KEY else f"? {text} "


# -- edits ----------------------------------------------------------------------------------------


def edit_front_matter(text: str, changes: Mapping[str, object], path: str = "") -> str:
    """Return *text* with the keys of *changes* set in its front; None removes a key. All other bytes stay.

    Raise BadRecord for a front that cannot be read or is not written one key a line.
    """
    span = find_front_matter(text)
    source = _extract_yaml(text, path)
    if span is None:
        return _add_front_matter(text, changes)
    read, rows = _load_yaml(source, path), split_lines(source)
    other = next((entry for entry in read.entries.values() if not _is_row_start(rows[entry.line], entry)), None)
    if read.braces or other:
        raise _layout_error(path, other.line + 2 if other and not read.braces else 2)
    edits = sorted(
        (_build_edit(rows, read.entries, key, value, detect_newline(text), path) for key, value in changes.items()),
        key=lambda edit: (edit.first, edit.rank),
    )
    new = "".join(_apply_edits(rows, edits))
    others = {key: entry.value for key, entry in read.entries.items() if key not in changes}
    if not all(edit.new for edit in edits) and not _has_values(new, others):
        new = "".join(_apply_edits(rows, [_extend_removal(rows, edit) for edit in edits]))
    return text[: span.start] + new + text[span.end :]


def _is_row_start(row: str, entry: YamlEntry) -> bool:
    """Return whether *row* has nothing before the key of *entry*, and its colon right behind it."""
    return not row[: entry.column].strip(" ") and row[entry.key_end :].lstrip(" \t").startswith(":")


class _RowEdit(NamedTuple):
    """Rows *first* to *after*, which is not included, become *new*; *rank* orders what is added at one place."""

    first: int
    after: int
    new: str
    rank: int


def _add_front_matter(text: str, changes: Mapping[str, object]) -> str:
    end = detect_newline(text)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    added = "".join(f"{format_entry(key, value)}{end}" for key, value in changes.items() if value is not None)
    return f"{mark}---{end}{added}---{end}{text[len(mark) :]}" if added else text


def _build_edit(
    rows: list[str], entries: Mapping[str, YamlEntry], key: str, value: object, end: str, path: str
) -> _RowEdit:
    """Return the edit that sets *key* to *value*, or removes it."""
    known = entries.get(key)
    if known is None:
        place = _find_insert_row(rows, entries, key)
        end = "\n" if end == "\r" and rows[place : place + 1] == ["\n"] else end
        lead = rows[first.line][: first.column] if (first := next(iter(entries.values()), None)) else ""
        new = "" if value is None else f"{lead}{format_entry(key, value)}{end}"
        return _RowEdit(place, place, new, KEYS.index(key) if key in KEYS else len(KEYS))
    row, last = rows[known.line], _find_last_row(rows, known)
    colon = row.index(":", known.key_end) + 1
    behind = rows[last][known.value_end :].rstrip("\r\n") if known.value_end >= 0 else ""
    comment = _COMMENT.match(row, colon) or _COMMENT.match(behind)
    end = rows[last][len(rows[last].rstrip("\r\n")) :]
    new = "" if value is None else f"{row[:colon]} {format_scalar(value)}{comment.group(1) if comment else ''}{end}"
    return _RowEdit(known.line, last + 1, new, len(KEYS) + 1)


def _has_values(source: str, values: Mapping[str, Any]) -> bool:
    """Return whether *source* still has *values*."""
    entries = _load_yaml(source, "").entries
    return all(key in entries and repr(entries[key].value) == repr(value) for key, value in values.items())


def _extend_removal(rows: list[str], edit: _RowEdit) -> _RowEdit:
    """Return a removal with the empty and indented rows behind it, which a block scalar before it would take over."""
    after = edit.after
    while not edit.new and edit.first < after < len(rows) and rows[after][0] in " \t\r\n":
        after += 1
    return edit._replace(after=after)


def _find_last_row(rows: list[str], entry: YamlEntry) -> int:
    """Return the last row of *entry*: empty ones behind it do not belong to it unless its value keeps them."""
    last = entry.last
    while last > entry.line and not entry.keeps and not rows[last].strip():
        last -= 1
    return last


def _find_insert_row(rows: list[str], entries: Mapping[str, YamlEntry], key: str) -> int:
    """Return the row for a new *key*: behind the last key that comes before it in KEYS, else at the end."""
    before = KEYS[: KEYS.index(key)] if key in KEYS else ()
    known = next((entries[name] for name in reversed(before) if name in entries), None)
    return _find_last_row(rows, known) + 1 if known else len(rows)


def _apply_edits(rows: list[str], edits: list[_RowEdit]) -> Iterator[str]:
    """Yield the pieces of the front after *edits*, which are in order and do not overlap."""
    at = 0
    for edit in edits:
        yield from rows[at : edit.first]
        yield edit.new
        at = max(at, edit.after)
    yield from rows[at:]


def _layout_error(path: str, line: int) -> BadRecord:
    return BadRecord(
        msg("the frontmatter must have one key per line"),
        path=path,
        line=line,
        hint=msg("write each key on its own line: key: value"),
    )
