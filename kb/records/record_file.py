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
    blocks,
    contained,
    escape,
    refuse_conflict_markers,
    sections,
    title_of,
)
from kb.records.blocks import MARKERS as MARKERS
from kb.records.blocks import Blocks as Blocks
from kb.records.blocks import Heading as Heading
from kb.records.blocks import append_to_section as append_to_section
from kb.records.blocks import edit_section as edit_section
from kb.records.blocks import has_markers as has_markers
from kb.records.blocks import headings as headings
from kb.records.blocks import replace_machine as replace_machine
from kb.records.citations import citations as citations
from kb.records.citations import record_links as record_links
from kb.records.front_matter import KEYS, body_start, decode, entry, front, front_span, key_line
from kb.records.kinds import section_label, section_named
from kb.records.model import GLOBAL, Record, Section, Status
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.code_fences import code_lines as code_lines
from kb.text.line_ends import line_feeds, line_of, newline
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any


def inside_machine(record: Record, language: str = "en") -> str:
    """Return what a new MACHINE block holds for *record*."""
    parts = [f"# [{one_line(record.id)}] {one_line(record.title)}\n"]
    for section in record.sections:
        body = line_feeds(escape(section.text)).strip("\n")
        parts.append(f"## {_heading(section, language)}\n" + (f"\n{body}\n" if body else ""))
    return "\n".join(parts)


def _heading(section: Section, language: str) -> str:
    """Return the heading of *section* as it was written, else its label in *language*."""
    written = one_line(section.heading)
    if section.name and section_named(written) != section.name:
        return section_label(section.name, language)
    return written if title_of(written) == written else f"{written} ##"


def front_values(record: Record) -> dict[str, object]:
    """Return the frontmatter of *record* in the order of KEYS: what is empty is left out."""
    values = {key: getattr(record, key) for key in KEYS} | {"title": one_line(record.title)}
    always = {"id", "kind", "title", "status", "scope"}
    kept = {key: value for key, value in values.items() if key in always or (value and value != 1)}
    return {**kept, **{key: value for key, value in record.extra.items() if key not in KEYS}}


def render(record: Record, language: str = "en") -> str:
    """Return the whole text of a new record file; `read` gives *record* back, texts as `escape` leaves them."""
    rows = [f"{entry(key, value)}\n" for key, value in front_values(record).items()]
    return (
        f"---\n{''.join(rows)}---\n{MACHINE_START}\n{inside_machine(record, language)}{MACHINE_END}\n\n"
        f"{USER_START}\n{contained(record.user)}\n{USER_END}\n"
    )


def settled(record: Record, language: str = "en") -> Record:
    """Return what `read` would give of `render(record, language)`, without the cost of reading YAML."""
    headings = [title_of(_heading(section, language)) for section in record.sections]
    parts = (
        Section(section_named(heading), heading, line_feeds(escape(section.text)).strip("\n"))
        for heading, section in zip(headings, record.sections, strict=True)
    )
    return record._replace(title=one_line(record.title), sections=tuple(parts), user=contained(record.user))


def read(data: bytes, path: str = "") -> Record:
    """Return the record in a file; raise BadRecord naming file and line for what is no record."""
    return record_of(decode(data, path), path)


def proved(old: str, new: str, keys: Iterable[str], path: str = "") -> None:
    """Raise BadRecord unless *new* is a record that differs from *old* in its MACHINE block and front *keys* only."""
    record_of(new, path)
    before, after = front(old, path), front(new, path)
    free = set(keys)
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in free and (key not in before or key not in after or repr(before[key]) != repr(after[key])):
            said = msg("the edit would change the key {key}, which it must not touch", key=key)
            raise BadRecord(said, path=path, line=key_line(new, key))
    if _outside(old, path) != _outside(new, path):
        said = msg("the edit would change text outside the MACHINE block")
        raise BadRecord(said, path=path, line=line_of(new, body_start(new)))


def _outside(text: str, path: str) -> tuple[str, str, str]:
    """Return what stands before the front's keys, between front and MACHINE block, and behind that block."""
    inside, machine = front_span(text), blocks(text, path).machine
    return text[: inside.start if inside else 0], text[body_start(text) : machine.start], text[machine.end :]


def record_of(text: str, path: str = "") -> Record:
    """Return the record in the *text* of a file; raise BadRecord naming file and line for what is no record."""
    refuse_conflict_markers(text, path)
    values = _Values(front(text, path), text, path)
    if not values.front:
        raise BadRecord(
            msg("the file has no frontmatter"),
            path=path,
            line=1,
            hint=msg("begin it with --- and the keys id, kind, title"),
        )
    spans = blocks(text, path)
    return Record(
        id=values.needed("id"),
        kind=values.needed("kind"),
        title=one_line(values.needed("title")),
        scope=values.word("scope") or GLOBAL,
        status=values.word("status") or Status.PROPOSED,
        uid=values.word("uid"),
        date=values.word("date"),
        tags=values.words("tags"),
        impact=values.words("impact"),
        supersedes=values.words("supersedes"),
        amends=values.words("amends"),
        coexists_with=values.pairs("coexists_with"),
        claims=values.pairs("claims"),
        occurrences=values.count("occurrences"),
        sources=values.words("sources"),
        confirmed=values.word("confirmed"),
        extra={key: value for key, value in values.front.items() if key not in KEYS},
        sections=sections(text[slice(*spans.machine)]),
        user=text[slice(*spans.user)].removesuffix(newline(text)),
        path=path,
    )


class _Values(NamedTuple):
    """The values of a front; what is not of the kind that is asked for raises BadRecord."""

    front: Mapping[str, Any]
    text: str
    path: str

    def needed(self, key: str) -> str:
        """Return the text under *key*, which must show something on a line."""
        word = self.front.get(key)
        if not isinstance(word, str | int | float) or isinstance(word, bool) or not one_line(str(word)):
            raise self._wrong(key, msg("the key {key} is missing or no text", key=key))
        return str(word)

    def word(self, key: str) -> str:
        """Return the text under *key*, or ""."""
        value = self.front.get(key, "")
        return value if isinstance(value, str) else self._text(value, key, msg("the key {key} must be text", key=key))

    def words(self, key: str) -> tuple[str, ...]:
        """Return the list of words under *key*; one word is a list of one."""
        value = self.front.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        wrong = msg("the key {key} must be a list of words", key=key)
        return tuple(self._text(item, key, wrong) for item in items)

    def pairs(self, key: str) -> dict[str, str]:
        """Return the mapping of words under *key*; a list is a mapping to nothing."""
        value = self.front.get(key)
        if not value:
            return {}
        wrong = msg("the key {key} must be a mapping", key=key)
        if isinstance(value, list):
            return {self._text(item, key, wrong): "" for item in value}
        if not isinstance(value, dict):
            raise self._wrong(key, wrong)
        return {name: self._text(item, key, wrong) for name, item in value.items()}

    def count(self, key: str) -> int:
        """Return the number under *key*, 1 without one."""
        value = self.front.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong(key, msg("the key {key} must be a whole number from 1 on", key=key))
        return value

    def _text(self, value: object, key: str, wrong: Message) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if value is None or isinstance(value, str | int | float):
            return "" if value is None else str(value)
        raise self._wrong(key, wrong)

    def _wrong(self, key: str, said: Message) -> BadRecord:
        return BadRecord(said, path=self.path, line=key_line(self.text, key))


def render_checked(record: Record, language: str) -> bytes:
    """Return the file of a new *record*; raise BadRecord where kb could not read it again, which is tried."""
    data = render(record, language).encode()
    read(data, record.path)
    return data
