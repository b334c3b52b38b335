"""Record files: bytes to record, record to text, and verifying that an edit changes nothing else.

`front_matter` and `blocks` handle the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.blocks import (
    MACHINE_END,
    MACHINE_START,
    USER_END,
    USER_START,
    escape_block,
    escape_section,
    find_record_blocks,
    parse_sections,
    refuse_conflict_markers,
)
from kb.records.front_matter import (
    KEYS,
    decode_record,
    find_body_start,
    find_front_matter,
    find_key_line,
    format_entry,
    parse_front_matter,
)
from kb.records.kinds import resolve_section_name, section_label
from kb.records.model import GLOBAL, Record, Section, Status
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.markdown_scan import parse_heading_title
from kb.text.segment import detect_newline, find_line_number, normalise_newlines, one_line

if TYPE_CHECKING:
    from typing import Any


_REQUIRED = ("id", "kind", "title")
SHAPES: Mapping[str, str] = {
    **dict.fromkeys(_REQUIRED, "required"),
    **dict.fromkeys(("scope", "status", "uid", "date"), "text"),
    **dict.fromkeys(("tags", "impact", "supersedes", "amends"), "list"),
    **dict.fromkeys(("coexists_with", "claims"), "mapping"),
    "occurrences": "count",
    "sources": "list",
    "confirmed": "text",
}
"""The expected shape of each key's value, in the order in which errors are reported."""


# -- from a record to text ------------------------------------------------------------------------


def render(record: Record, language: str = "en") -> str:
    """Return the text of a new record file; `read` gives *record* back, with texts as `escape_block` leaves them.

    Keys are in the order of KEYS; empty ones are left out.
    """
    values = {key: getattr(record, key) for key in KEYS} | {"title": one_line(record.title)}
    always = {*_REQUIRED, "status", "scope"}
    front = {key: value for key, value in values.items() if key in always or (value and value != 1)}
    front |= {key: value for key, value in record.extra.items() if key not in KEYS}
    rows = "".join(f"{format_entry(key, value)}\n" for key, value in front.items())
    parts = [f"# [{one_line(record.id)}] {one_line(record.title)}\n"]
    for section in record.sections:
        body = normalise_newlines(escape_section(section.text)).strip("\n")
        parts.append(f"## {_format_heading(section, record.kind, language)}\n" + (f"\n{body}\n" if body else ""))
    machine = "\n".join(parts)
    user = escape_block(record.user)
    return f"---\n{rows}---\n{MACHINE_START}\n{machine}{MACHINE_END}\n\n{USER_START}\n{user}\n{USER_END}\n"


def render_and_verify(record: Record, language: str) -> bytes:
    """Return the file of a new *record*; raise BadRecord if kb cannot read it back."""
    data = render(record, language).encode()
    read(data, record.path)
    return data


def normalise_record(record: Record, language: str = "en") -> Record:
    """Return what `read` would make of `render(record, language)`, without reading YAML."""
    parts = []
    for section in record.sections:
        heading = parse_heading_title(_format_heading(section, record.kind, language))
        body = normalise_newlines(escape_section(section.text)).strip("\n")
        parts.append(Section(resolve_section_name(heading, record.kind), heading, body))
    return record._replace(title=one_line(record.title), sections=tuple(parts), user=escape_block(record.user))


def _format_heading(section: Section, kind: str, language: str) -> str:
    """Return the heading of *section* as written, or its label in *language*."""
    written = one_line(section.heading)
    if section.name and resolve_section_name(written, kind) != section.name:
        return section_label(section.name, language, kind)
    # "About C#" would be read back as "About C": a closing run of hashes protects the hash of the title.
    return written if parse_heading_title(written) == written else f"{written} ##"


# -- from bytes to a record -----------------------------------------------------------------------


def read(data: bytes, path: str = "") -> Record:
    """Return the record in a file; raise BadRecord, with file and line, if it is not a valid one."""
    return parse_record(decode_record(data, path), path)


def parse_record(text: str, path: str = "") -> Record:
    """Return the record in the *text* of a file; raise BadRecord, with file and line, if it is not a valid one."""
    refuse_conflict_markers(text, path)  # first, because the markers cause all other errors
    front = parse_front_matter(text, path)
    if not front:
        hint = msg("begin it with --- and the keys id, kind, title")
        raise BadRecord(msg("the file has no frontmatter"), path=path, line=1, hint=hint)
    spans = find_record_blocks(text, path)
    values: dict[str, Any] = {}
    for key, shape in SHAPES.items():
        try:
            values[key] = _read_value(front, key, shape)
        except BadRecord as error:
            raise BadRecord(error.message, path=path, line=find_key_line(text, key)) from None
    # A multi-line title would break the heading, the list of records and the commit subject.
    values["title"] = one_line(values["title"])
    values["scope"] = values["scope"] or GLOBAL
    values["status"] = values["status"] or Status.PROPOSED
    return Record(
        **values,
        extra={key: value for key, value in front.items() if key not in KEYS},
        sections=parse_sections(text[slice(*spans.machine)], kind=values["kind"]),
        user=text[slice(*spans.user)].removesuffix(detect_newline(text)),
        path=path,
    )


def _read_value(front: Mapping[str, Any], key: str, shape: str) -> Any:
    """Return the value under *key* as a record stores it; raise BadRecord if it has another *shape*."""
    value = front.get(key)
    if shape == "required":
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not one_line(str(value)):
            raise BadRecord(msg("the key {key} is missing or no text", key=key))
        return str(value)
    if shape == "count":
        value = front.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadRecord(msg("the key {key} must be a whole number from 1 on", key=key))
        return value
    if shape == "text":
        return _convert_text(value, msg("the key {key} must be text", key=key))
    if shape == "list":  # a single word is a list of one
        items = [] if value is None else value if isinstance(value, list) else [value]
        wrong = msg("the key {key} must be a list of words", key=key)
        return tuple(_convert_text(item, wrong) for item in items)
    wrong = msg("the key {key} must be a mapping", key=key)
    pairs = dict.fromkeys(_convert_text(item, wrong) for item in value) if isinstance(value, list) else value or {}
    if not isinstance(pairs, dict):
        raise BadRecord(wrong)
    return {name: _convert_text(item, wrong) for name, item in pairs.items()}


def _convert_text(value: object, wrong: Message) -> str:
    """Return a scalar as text ("" for none); raise BadRecord with the message *wrong* for a list or mapping."""
    if isinstance(value, bool):  # `title: true` is a word that looks like a value
        return str(value).lower()
    if value is None or isinstance(value, str | int | float):
        return "" if value is None else str(value)
    raise BadRecord(wrong)


# -- edits ----------------------------------------------------------------------------------------


def verify_edit(old: str, new: str, keys: Iterable[str], path: str = "") -> None:
    """Raise BadRecord unless *new* is a record that differs from *old* only in its MACHINE block and the *keys*."""
    parse_record(new, path)
    before, after = parse_front_matter(old, path), parse_front_matter(new, path)
    free = set(keys)
    for key in {**before, **after}:
        # compared by `repr` because 1 == True == 1.0, though each is written differently
        is_same = key in before and key in after and repr(before[key]) == repr(after[key])
        if key not in free and not is_same:
            problem = msg("the edit would change the key {key}, which it must not touch", key=key)
            raise BadRecord(problem, path=path, line=find_key_line(new, key))
    if _split_outside(old, path) != _split_outside(new, path):
        problem = msg("the edit would change text outside the MACHINE block")
        raise BadRecord(problem, path=path, line=find_line_number(new, find_body_start(new)))


def _split_outside(text: str, path: str) -> tuple[str, str, str]:
    """Return the text before the front matter keys, between front matter and MACHINE block, and after that block."""
    inside, machine = find_front_matter(text), find_record_blocks(text, path).machine
    return text[: inside.start if inside else 0], text[find_body_start(text) : machine.start], text[machine.end :]
