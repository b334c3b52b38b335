"""Record files: from bytes to a record, from a record to text, and the proof that an edit changed no more than it may.

What the parts are made of lives in `front`, `blocks`, `fences` and `citations`; their names can be had here too.
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
    find_blocks,
    parse_heading_title,
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
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.line_ends import detect_newline, find_line_number, normalise_newlines
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any


def render_machine_block(record: Record, language: str = "en") -> str:
    """Return what a new MACHINE block holds for *record*."""
    parts = [f"# [{one_line(record.id)}] {one_line(record.title)}\n"]
    for section in record.sections:
        body = normalise_newlines(escape_section(section.text)).strip("\n")
        parts.append(f"## {_format_heading(section, language)}\n" + (f"\n{body}\n" if body else ""))
    return "\n".join(parts)


def _format_heading(section: Section, language: str) -> str:
    """Return the heading of *section* as it was written, else its label in *language*."""
    written = one_line(section.heading)
    if section.name and resolve_section_name(written) != section.name:
        return section_label(section.name, language)
    return written if parse_heading_title(written) == written else f"{written} ##"


def collect_front_matter(record: Record) -> dict[str, object]:
    """Return the frontmatter of *record* in the order of KEYS: what is empty is left out."""
    values = {key: getattr(record, key) for key in KEYS} | {"title": one_line(record.title)}
    always = {"id", "kind", "title", "status", "scope"}
    kept = {key: value for key, value in values.items() if key in always or (value and value != 1)}
    return {**kept, **{key: value for key, value in record.extra.items() if key not in KEYS}}


def render(record: Record, language: str = "en") -> str:
    """Return the whole text of a new record file; `read` gives *record* back, texts as `escape` leaves them."""
    rows = [f"{format_entry(key, value)}\n" for key, value in collect_front_matter(record).items()]
    return (
        f"---\n{''.join(rows)}---\n{MACHINE_START}\n{render_machine_block(record, language)}{MACHINE_END}\n\n"
        f"{USER_START}\n{escape_block(record.user)}\n{USER_END}\n"
    )


def normalise_record(record: Record, language: str = "en") -> Record:
    """Return what `read` would give of `render(record, language)`, without the cost of reading YAML."""
    headings = [parse_heading_title(_format_heading(section, language)) for section in record.sections]
    parts = (
        Section(resolve_section_name(heading), heading, normalise_newlines(escape_section(section.text)).strip("\n"))
        for heading, section in zip(headings, record.sections, strict=True)
    )
    return record._replace(title=one_line(record.title), sections=tuple(parts), user=escape_block(record.user))


def read(data: bytes, path: str = "") -> Record:
    """Return the record in a file; raise BadRecord naming file and line for what is no record."""
    return parse_record(decode_record(data, path), path)


def verify_edit(old: str, new: str, keys: Iterable[str], path: str = "") -> None:
    """Raise BadRecord unless *new* is a record that differs from *old* in its MACHINE block and front *keys* only."""
    parse_record(new, path)
    before, after = parse_front_matter(old, path), parse_front_matter(new, path)
    free = set(keys)
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in free and (key not in before or key not in after or repr(before[key]) != repr(after[key])):
            said = msg("the edit would change the key {key}, which it must not touch", key=key)
            raise BadRecord(said, path=path, line=find_key_line(new, key))
    if _split_outside(old, path) != _split_outside(new, path):
        said = msg("the edit would change text outside the MACHINE block")
        raise BadRecord(said, path=path, line=find_line_number(new, find_body_start(new)))


def _split_outside(text: str, path: str) -> tuple[str, str, str]:
    """Return what stands before the front's keys, between front and MACHINE block, and behind that block."""
    inside, machine = find_front_matter(text), find_blocks(text, path).machine
    return text[: inside.start if inside else 0], text[find_body_start(text) : machine.start], text[machine.end :]


def parse_record(text: str, path: str = "") -> Record:
    """Return the record in the *text* of a file; raise BadRecord naming file and line for what is no record."""
    refuse_conflict_markers(text, path)
    values = _FrontMatterValues(parse_front_matter(text, path), text, path)
    if not values.front:
        raise BadRecord(
            msg("the file has no frontmatter"),
            path=path,
            line=1,
            hint=msg("begin it with --- and the keys id, kind, title"),
        )
    spans = find_blocks(text, path)
    return Record(
        id=values.require_text("id"),
        kind=values.require_text("kind"),
        title=one_line(values.require_text("title")),
        scope=values.get_text("scope") or GLOBAL,
        status=values.get_text("status") or Status.PROPOSED,
        uid=values.get_text("uid"),
        date=values.get_text("date"),
        tags=values.get_list("tags"),
        impact=values.get_list("impact"),
        supersedes=values.get_list("supersedes"),
        amends=values.get_list("amends"),
        coexists_with=values.get_mapping("coexists_with"),
        claims=values.get_mapping("claims"),
        occurrences=values.get_count("occurrences"),
        sources=values.get_list("sources"),
        confirmed=values.get_text("confirmed"),
        extra={key: value for key, value in values.front.items() if key not in KEYS},
        sections=parse_sections(text[slice(*spans.machine)]),
        user=text[slice(*spans.user)].removesuffix(detect_newline(text)),
        path=path,
    )


class _FrontMatterValues(NamedTuple):
    """The values of a front; what is not of the kind that is asked for raises BadRecord."""

    front: Mapping[str, Any]
    text: str
    path: str

    def require_text(self, key: str) -> str:
        """Return the text under *key*, which must show something on a line."""
        word = self.front.get(key)
        if not isinstance(word, str | int | float) or isinstance(word, bool) or not one_line(str(word)):
            raise self._value_error(key, msg("the key {key} is missing or no text", key=key))
        return str(word)

    def get_text(self, key: str) -> str:
        """Return the text under *key*, or ""."""
        value = self.front.get(key, "")
        return (
            value
            if isinstance(value, str)
            else self._convert_text(value, key, msg("the key {key} must be text", key=key))
        )

    def get_list(self, key: str) -> tuple[str, ...]:
        """Return the list of words under *key*; one word is a list of one."""
        value = self.front.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        wrong = msg("the key {key} must be a list of words", key=key)
        return tuple(self._convert_text(item, key, wrong) for item in items)

    def get_mapping(self, key: str) -> dict[str, str]:
        """Return the mapping of words under *key*; a list is a mapping to nothing."""
        value = self.front.get(key)
        if not value:
            return {}
        wrong = msg("the key {key} must be a mapping", key=key)
        if isinstance(value, list):
            return {self._convert_text(item, key, wrong): "" for item in value}
        if not isinstance(value, dict):
            raise self._value_error(key, wrong)
        return {name: self._convert_text(item, key, wrong) for name, item in value.items()}

    def get_count(self, key: str) -> int:
        """Return the number under *key*, 1 without one."""
        value = self.front.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._value_error(key, msg("the key {key} must be a whole number from 1 on", key=key))
        return value

    def _convert_text(self, value: object, key: str, wrong: Message) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if value is None or isinstance(value, str | int | float):
            return "" if value is None else str(value)
        raise self._value_error(key, wrong)

    def _value_error(self, key: str, said: Message) -> BadRecord:
        return BadRecord(said, path=self.path, line=find_key_line(self.text, key))


def render_and_verify(record: Record, language: str) -> bytes:
    """Return the file of a new *record*; raise BadRecord where kb could not read it again, which is tried."""
    data = render(record, language).encode()
    read(data, record.path)
    return data
