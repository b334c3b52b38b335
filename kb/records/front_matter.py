"""The front matter of a record file: read as a mapping, and edited as text so that every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kb.errors import BadRecord
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import detect_newline, find_line_number, split_lines

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
# YAML 1.1 reads these words as values; a tag `no` (Norway) is quoted so that every reader sees text.
_OTHERS_READ_AS_VALUES = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_INVISIBLE_CHARACTERS = regex("[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]")
_HALF = regex("[\ud800-\udfff]")
_LONGEST_KEY = 500

_KEYS = (
    "id uid kind title status scope date tags impact supersedes amends coexists_with claims occurrences sources "
    "confirmed"
)
KEYS = tuple(_KEYS.split())
"""The front matter keys kb knows, in the order in which it writes them."""


class TextSpan(NamedTuple):
    """A span of a text: the offsets of its first character and of the one after its last."""

    start: int
    end: int


# -- bytes and lines ------------------------------------------------------------------------------


def decode_record(data: bytes, path: str = "") -> str:
    """Return the text of a record file; raise BadRecord if it is not UTF-8 text or is larger than 4 MB."""
    if len(data) > MAX_BYTES:
        message = msg("the file has {size} bytes; a record has at most {limit}", size=len(data), limit=MAX_BYTES)
        raise BadRecord(message, path=path)
    if b"\0" in data:
        hint = msg("restore it with: git checkout -- {path}", path=path)
        raise BadRecord(msg("the file is binary, not markdown"), path=path, hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = find_line_number(data[: error.start].decode("utf-8"), error.start)
        message = msg("the file is not valid UTF-8")
        raise BadRecord(message, path=path, line=line, hint=msg("save it as UTF-8")) from None


# -- the front ------------------------------------------------------------------------------------


def find_front_matter(text: str) -> TextSpan | None:
    """Return the span of the YAML between the `---` lines, or None for a text without front matter."""
    return _find_edges(text)[0]


def find_body_start(text: str) -> int:
    """Return the offset after the front matter, or 0."""
    return _find_edges(text)[1]


def _find_edges(text: str) -> tuple[TextSpan | None, int]:
    """Return the span of the front matter's YAML, and the start of the body."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    return (TextSpan(opening.end(), closing.start() + 1), closing.end()) if opening and closing else (None, 0)


def parse_front_matter(text: str, path: str = "") -> dict[str, Any]:
    """Return the front matter of *text* as a mapping, {} if there is none; raise BadRecord with the line.

    This is the only place where kb reads YAML. Keys and dates stay text; tags, anchors and aliases are refused.
    """
    source = _extract_yaml(text, path)
    if (values := parse_plain_rows(source)) is not None:
        return values
    return {key: entry.value for key, entry in _load_yaml(source, path).entries.items()} if source else {}


def parse_plain_rows(source: str) -> dict[str, Any] | None:
    """Return what *source* means in YAML if every row is `key: word`, `key: [word, …]` or `key: {word: word, …}`.

    Return None for anything else. Most records have only such rows, which `format_entry` writes; loading the YAML
    library takes longer than all other work on a record.
    """
    values: dict[str, Any] = {}
    rows = source.split("\n")
    if rows.pop() or not "".join(rows).isprintable():  # unprintable: a tab, carriage return or zero-width space
        return None
    for row in rows:
        key, _, written = row.partition(": ")
        value = _parse_plain_value(written)
        is_word = len(key) <= _LONGEST_KEY and key.isascii() and key.replace("_", "").isalpha()
        if not is_word or key in values or value is None:
            return None
        values[key] = value
    return values


def _parse_plain_value(written: str) -> Any:
    """Return the word, list of words or mapping of words *written*, or None for anything else."""
    items = written[1:-1].split(", ") if len(written) > 2 else []
    if written[:1] + written[-1:] == "[]":
        words = [_parse_plain_word(item) for item in items]
        return None if None in words else words
    if written[:1] + written[-1:] == "{}":
        pairs = [item.partition(": ") for item in items]
        mapping = {name: _parse_plain_word(word) for name, _, word in pairs}
        is_plain = all(len(name) <= _LONGEST_KEY and is_plain_text(name) for name in mapping)
        return mapping if is_plain and None not in mapping.values() and len(mapping) == len(pairs) else None
    return _parse_plain_word(written)


def _parse_plain_word(word: str) -> str | int | None:
    """Return the text or number that *word* means in YAML, or None if it is not of the plainest kind."""
    if word.isdecimal() and word.isascii() and str(int(word[:20])) == word:  # 007 is text
        return int(word)
    if word[:1] == '"' and word.find('"', 1) == len(word) - 1 and len(word) > 1:
        return word[1:-1] if "\\" not in word else None
    return word if is_plain_text(word) else None


def find_key_line(text: str, key: str) -> int:
    """Return the 1-based line of *key* in the front matter of *text*; 1 if it is missing or unreadable."""
    try:
        entry = _load_yaml(_extract_yaml(text, ""), "").entries.get(key)
    except BadRecord:
        return 1
    return entry.line + 2 if entry else 1


def _extract_yaml(text: str, path: str) -> str:
    """Return the YAML of the front matter, or ""."""
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
        message = msg("the frontmatter cannot be read: {problem}", problem=error.problem)
        raise BadRecord(message, path=path, line=error.line + 1) from None


# -- values as text -------------------------------------------------------------------------------


def format_scalar(value: object) -> str:
    """Return *value* as YAML on one line: plain if every reader takes it as text, else in JSON's double quotes.

    `parse_front_matter` reads it back equal, and so does YAML 1.1 except for dates. A lone surrogate becomes U+FFFD.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):  # YAML 1.1 needs a decimal point in a number: 1e5 becomes 1.0e5
        text = repr(float(value))
        named = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
        return named.get(text) or (text if "." in text else text.replace("e", ".0e"))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Mapping):
        keys = {format_scalar(str(key)): item for key, item in value.items()}
        # YAML requires a question mark before a key of more than 1,024 characters.
        pairs = (f"{k if len(k) <= _LONGEST_KEY else f'? {k} '}: {format_scalar(v)}" for k, v in keys.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_scalar(v) for v in value) + "]"
    word = str(value)
    if is_plain_text(word):
        return word
    quoted = json.dumps(replace_surrogates(word), ensure_ascii=False)
    if quoted.isprintable():  # a character to escape would be unprintable
        return quoted
    return _INVISIBLE_CHARACTERS.sub(lambda m: f"\\u{ord(m.group()):04x}", quoted)


def is_plain_text(word: str) -> bool:
    """Return whether every YAML reader takes the unquoted *word* as text; YAML 1.1 may still see a date."""
    plain = _PLAIN.fullmatch(word) and word.lower() not in _OTHERS_READ_AS_VALUES
    return bool(plain or _DAY.fullmatch(word))


def format_entry(key: str, value: object) -> str:
    """Return the front matter line that sets *key* to *value*, without its line end."""
    return f"{format_scalar(str(key))}: {format_scalar(value)}"


def replace_surrogates(text: str) -> str:
    """Return *text* with every lone surrogate, which a file cannot store, replaced by U+FFFD."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


# -- edits ----------------------------------------------------------------------------------------


class _RowEdit(NamedTuple):
    """Replace rows *first* to *after* (exclusive) by *new*; *rank* orders additions at one place."""

    first: int
    after: int
    new: str
    rank: int


def edit_front_matter(text: str, changes: Mapping[str, object], path: str = "") -> str:
    """Return *text* with the keys of *changes* set in its front matter; None removes a key. All other bytes stay.

    Raise BadRecord if the front matter cannot be read or is not written one key per line.
    """
    span, source, end = find_front_matter(text), _extract_yaml(text, path), detect_newline(text)
    if span is None:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        added = "".join(f"{format_entry(key, value)}{end}" for key, value in changes.items() if value is not None)
        return f"{mark}---{end}{added}---{end}{text[len(mark) :]}" if added else text
    front, rows = _load_yaml(source, path), split_lines(source)
    _require_one_key_per_line(front, rows, path)
    found = (_build_edit(rows, front.entries, key, value, end) for key, value in changes.items())
    edits = sorted(found, key=lambda edit: (edit.first, edit.rank))
    new = _apply_edits(rows, edits)
    # Removing a key must not append the empty and indented rows after it to a block scalar before it.
    if not all(edit.new for edit in edits) and not _has_values(new, front, changes):
        new = _apply_edits(rows, [_extend_removal(rows, edit) for edit in edits])
    return text[: span.start] + new + text[span.end :]


def _require_one_key_per_line(front: YamlFrontMatter, rows: list[str], path: str) -> None:
    """Raise BadRecord unless every key starts a row and is followed directly by its colon."""
    wrong = [0] if front.braces else []
    for entry in front.entries.values():
        row = rows[entry.line]
        if row[: entry.column].strip(" ") or not row[entry.key_end :].lstrip(" \t").startswith(":"):
            wrong.append(entry.line)
    if wrong:
        hint = msg("write each key on its own line: key: value")
        raise BadRecord(msg("the frontmatter must have one key per line"), path=path, line=wrong[0] + 2, hint=hint)


def _build_edit(rows: list[str], entries: Mapping[str, YamlEntry], key: str, value: object, end: str) -> _RowEdit:
    """Return the edit that sets *key* to *value*, or removes it."""
    known = entries.get(key)
    if known is None:  # it goes after the last key that precedes it in KEYS, else to the end
        rank = KEYS.index(key) if key in KEYS else len(KEYS)
        before = [entries[name] for name in KEYS[:rank] if name in entries] if key in KEYS else []
        place = _find_last_row(rows, before[-1]) + 1 if before else len(rows)
        end = "\n" if end == "\r" and rows[place : place + 1] == ["\n"] else end
        lead = rows[first.line][: first.column] if (first := next(iter(entries.values()), None)) else ""
        return _RowEdit(place, place, "" if value is None else f"{lead}{format_entry(key, value)}{end}", rank)
    # Replace only the value: the key as written, quoted or not, and the comment after the value stay.
    row, last = rows[known.line], _find_last_row(rows, known)
    colon = row.index(":", known.key_end) + 1
    behind = rows[last][known.value_end :].rstrip("\r\n") if known.value_end >= 0 else ""
    comment = _COMMENT.match(row, colon) or _COMMENT.match(behind)
    end = rows[last][len(rows[last].rstrip("\r\n")) :]
    new = "" if value is None else f"{row[:colon]} {format_scalar(value)}{comment.group(1) if comment else ''}{end}"
    return _RowEdit(known.line, last + 1, new, len(KEYS) + 1)


def _has_values(source: str, front: YamlFrontMatter, changes: Mapping[str, object]) -> bool:
    """Return whether *source* still has the values of *front*, except for the *changes*."""
    entries = _load_yaml(source, "").entries
    unchanged = {key: entry.value for key, entry in front.entries.items() if key not in changes}
    return all(key in entries and repr(entries[key].value) == repr(value) for key, value in unchanged.items())


def _extend_removal(rows: list[str], edit: _RowEdit) -> _RowEdit:
    """Return a removal extended to the empty and indented rows after it."""
    after = edit.after
    while not edit.new and edit.first < after < len(rows) and rows[after][0] in " \t\r\n":
        after += 1
    return edit._replace(after=after)


def _find_last_row(rows: list[str], entry: YamlEntry) -> int:
    """Return the last row of *entry*; trailing empty rows belong to it only if its value keeps them."""
    last = entry.last
    while last > entry.line and not entry.keeps and not rows[last].strip():
        last -= 1
    return last


def _apply_edits(rows: list[str], edits: list[_RowEdit]) -> str:
    """Return the front matter after *edits*, which are in order and do not overlap."""
    new: list[str] = []
    at = 0
    for edit in edits:
        # several edits may begin at one row (new keys before a known one), but none begins inside another
        new += [*rows[at : edit.first], edit.new]
        at = max(at, edit.after)
    return "".join([*new, *rows[at:]])
