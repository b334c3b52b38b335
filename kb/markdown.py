"""Record files as text: frontmatter, sections, MACHINE and USER blocks. Bytes that are not edited never change.

Every edit cuts the text at the edges of what it means to change and joins the pieces again; nothing is dumped anew.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kb.errors import BadRecord
from kb.front import KEYS, Span, body_start, decode, front, key_line, line_of, lines, newline, scalar
from kb.kinds import SECTIONS, section_label, section_named
from kb.record import Record, Section
from kb.words import say

MACHINE_START = "<!-- MACHINE_BLOCK_START -->"
MACHINE_END = "<!-- MACHINE_BLOCK_END -->"
USER_START = "<!-- USER_BLOCK_START -->"
USER_END = "<!-- USER_BLOCK_END -->"
MARKERS = (MACHINE_START, MACHINE_END, USER_START, USER_END)


_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_MARKER = re.compile(r"(?m)^ {0,3}(<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->)[ \t]*$")


class Blocks(NamedTuple):
    """Where the inside of the two blocks stands, markers not included."""

    machine: Span
    user: Span


def code_lines(text: str) -> set[int]:
    """Return the 0-based lines of *text* that stand in code: fences and indented blocks."""
    if "```" not in text and "~~~" not in text:
        return set()
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(text)
    code = [token.map for token in tokens if token.type in ("fence", "code_block") and token.map]
    return {line for first, last in code for line in range(first, last)}


# -- blocks ---------------------------------------------------------------------------------------


def blocks(text: str, path: str = "") -> Blocks:
    """Return where the MACHINE and the USER block stand.

    Raise BadRecord, naming the line, for a marker missing, doubled, nested or out of order. Markers in code are text.
    """
    found = _markers(text)
    for marker in MARKERS:
        places = [match for match in found if match.group(1) == marker]
        if not places:
            raise BadRecord(
                say("the marker {marker} is missing", marker=marker),
                path=path,
                line=line_of(text, len(text)),
                hint=_marker_hint(),
            )
        if len(places) > 1:
            raise BadRecord(
                say("the marker {marker} stands here twice", marker=marker),
                path=path,
                line=line_of(text, places[1].start()),
                hint=_marker_hint(),
            )
    if [match.group(1) for match in found] not in ([*MARKERS], [*MARKERS[2:], *MARKERS[:2]]):
        wrong = found[1] if found[0].group(1) in (MACHINE_START, USER_START) else found[0]
        raise BadRecord(
            say("the block markers are nested or out of order"),
            path=path,
            line=line_of(text, wrong.start()),
            hint=_marker_hint(),
        )
    at = {match.group(1): match for match in found}
    return Blocks(
        Span(_after_line(text, at[MACHINE_START].end()), at[MACHINE_END].start()),
        Span(_after_line(text, at[USER_START].end()), at[USER_END].start()),
    )


def has_markers(text: str) -> bool:
    """Tell whether *text* has any block marker outside code."""
    return bool(_markers(text))


def _marker_hint() -> Any:
    return say("put the four markers back: MACHINE start, end, USER start, end, each once on a line of its own")


def _markers(text: str) -> list[re.Match[str]]:
    found = list(_MARKER.finditer(text.replace("\r", "\n")))
    if not found:
        return []
    start = body_start(text)
    code = code_lines(text[start:])
    offset = line_of(text, start)
    return [match for match in found if match.start() >= start and line_of(text, match.start()) - offset not in code]


def _after_line(text: str, offset: int) -> int:
    match = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)").match(text, offset)
    return match.end() if match else offset


def replace_machine(text: str, inside: str, path: str = "") -> str:
    """Return *text* with the inside of its MACHINE block replaced by *inside*, in the line ending of *text*."""
    span = blocks(text, path).machine
    new = inside.replace("\r\n", "\n").replace("\n", newline(text))
    return text[: span.start] + new + text[span.end :]


# -- sections -------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """A heading outside code, and how far what follows it reaches."""

    level: int
    title: str
    start: int
    body: int
    end: int


def headings(text: str, level: int = 2) -> list[Heading]:
    """Return the headings of *level* in *text*; each reaches to the next of the same or a higher rank."""
    code = code_lines(text)
    marks: list[tuple[int, str, int, int]] = []
    offset = 0
    for number, line in enumerate(lines(text)):
        match = _HEADING.match(line.rstrip("\r\n")) if number not in code else None
        if match and len(match.group(1)) <= level:
            marks.append((len(match.group(1)), match.group(2), offset, offset + len(line)))
        offset += len(line)
    ends = [mark[2] for mark in marks[1:]] + [len(text)]
    return [Heading(*mark, end) for mark, end in zip(marks, ends, strict=True) if mark[0] == level]


def sections(text: str, level: int = 2) -> tuple[Section, ...]:
    """Return the sections of *text* under headings of *level*."""
    return tuple(
        Section(section_named(h.title), h.title, text[h.body : h.end].strip("\r\n").replace("\r\n", "\n"))
        for h in headings(text, level)
    )


def edit_section(text: str, name: str, body: str, language: str = "en", path: str = "") -> str:
    """Return *text* with the section *name* of its MACHINE block set to *body*; it is added in its place if missing."""
    span = blocks(text, path).machine
    inside = text[span.start : span.end]
    end = newline(text)
    body = escape(body).replace("\r\n", "\n").strip("\n").replace("\n", end)
    present = next((h for h in headings(inside) if section_named(h.title) == name), None)
    if present:
        tail = inside[present.body : present.end]
        gap = tail[len(tail.rstrip("\r\n")) :] if tail.strip("\r\n") else end + end
        new = inside[: present.body] + end + body + (gap or end) + inside[present.end :]
    else:
        at = _section_place(inside, name)
        lead = (
            ""
            if inside[:at].endswith((end + end,)) or not inside[:at]
            else end
            if inside[:at].endswith(end)
            else end + end
        )
        new = f"{inside[:at]}{lead}## {section_label(name, language)}{end}{end}{body}{end}{end}{inside[at:]}"
    return text[: span.start] + new + text[span.end :]


def append_to_section(text: str, name: str, line: str, language: str = "en", path: str = "") -> str:
    """Return *text* with *line* added at the end of the section *name* of its MACHINE block."""
    span = blocks(text, path).machine
    inside = text[span.start : span.end]
    present = next((h for h in headings(inside) if section_named(h.title) == name), None)
    if present is None:
        return edit_section(text, name, line, language, path)
    end = newline(text)
    kept = inside[present.body : present.end].rstrip("\r\n")
    tail = inside[present.body + len(kept) : present.end] or end
    new = inside[: present.body] + kept + end + escape(line).replace("\n", end) + tail + inside[present.end :]
    return text[: span.start] + new + text[span.end :]


def _section_place(inside: str, name: str) -> int:
    """Return where a new section *name* goes in the MACHINE block: before the first known section that follows it."""
    order = [section.name for section in SECTIONS]
    for heading in headings(inside):
        known = section_named(heading.title)
        if known and order.index(known) > order.index(name):
            return heading.start
    return len(inside)


# -- whole files ----------------------------------------------------------------------------------


def escape(text: str) -> str:
    """Return *text* so that it stays inside its section: no block markers, no headings of a section's rank."""
    for marker in MARKERS:
        text = text.replace(marker, "&lt;" + marker[1:])
    if "#" not in text:
        return text
    code = code_lines(text)
    rows = lines(text)
    return "".join(
        line if n in code else re.sub(r"^( {0,3})#{1,2}(?=[ \t])", r"\1###", line) for n, line in enumerate(rows)
    )


def inside_machine(record: Record, language: str = "en") -> str:
    """Return what a new MACHINE block holds for *record*."""
    parts = [f"# [{record.id}] {record.title}\n"]
    for section in record.sections:
        heading = section_label(section.name, language) if section.name else section.heading
        parts.append(f"## {heading}\n\n{escape(section.text).strip(chr(10))}\n")
    return "\n".join(parts)


def front_values(record: Record) -> dict[str, object]:
    """Return the frontmatter of *record* in the order of KEYS: what is empty is left out."""
    values = {key: getattr(record, key) for key in KEYS}
    always = {"id", "kind", "title", "status", "scope"}
    kept = {key: value for key, value in values.items() if key in always or (value and value != 1)}
    return {**kept, **record.extra}


def render(record: Record, language: str = "en") -> str:
    """Return the whole text of a new record file."""
    lines = [f"{key}: {scalar(value)}\n" for key, value in front_values(record).items()]
    user = record.user if record.user.endswith("\n") else record.user + "\n"
    return (
        f"---\n{''.join(lines)}---\n{MACHINE_START}\n{inside_machine(record, language)}{MACHINE_END}\n\n"
        f"{USER_START}\n{user}{USER_END}\n"
    )


def read(data: bytes, path: str = "") -> Record:
    """Return the record in a file; raise BadRecord naming file and line for what is no record."""
    text = decode(data, path)
    refuse_conflict_markers(text, path)
    values = front(text, path)
    if not values:
        raise BadRecord(
            say("the file has no frontmatter"),
            path=path,
            line=1,
            hint=say("begin it with --- and the keys id, kind, title"),
        )
    for key in ("id", "kind", "title"):
        if not isinstance(values.get(key), str) or not str(values[key]).strip():
            raise BadRecord(say("the key {key} is missing or no text", key=key), path=path, line=key_line(text, key))
    spans = blocks(text, path)
    machine = text[spans.machine.start : spans.machine.end]
    return _record(values, sections(machine), text[spans.user.start : spans.user.end], path, text)


def refuse_conflict_markers(text: str, path: str = "") -> None:
    """Raise BadRecord where git's conflict markers stand in *text*."""
    match = re.search(r"(?m)^(?:<{7}|>{7}) \S", text)
    if match and re.search(r"(?m)^={7}\r?$", text):
        raise BadRecord(
            say("git's conflict markers stand in the file"),
            path=path,
            line=line_of(text, match.start()),
            hint=say("resolve the merge, then: git add {path}", path=path),
        )


def _record(values: Mapping[str, Any], parts: tuple[Section, ...], user: str, path: str, text: str) -> Record:
    def words(key: str) -> tuple[str, ...]:
        value = values.get(key)
        if value is None:
            return ()
        if isinstance(value, str | int | float):
            return (str(value),)
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
            return tuple(str(item) for item in value)
        raise BadRecord(say("the key {key} must be a list of words", key=key), path=path, line=key_line(text, key))

    def pairs(key: str) -> dict[str, str]:
        value = values.get(key) or {}
        if isinstance(value, list):
            return {str(item): "" for item in value}
        if not isinstance(value, dict):
            raise BadRecord(say("the key {key} must be a mapping", key=key), path=path, line=key_line(text, key))
        return {str(k): str(v) for k, v in value.items()}

    occurrences = values.get("occurrences", 1)
    if not isinstance(occurrences, int) or isinstance(occurrences, bool) or occurrences < 1:
        raise BadRecord(
            say("the key {key} must be a whole number from 1 on", key="occurrences"),
            path=path,
            line=key_line(text, "occurrences"),
        )
    return Record(
        id=str(values["id"]),
        kind=str(values["kind"]),
        title=str(values["title"]),
        scope=str(values.get("scope") or "global"),
        status=str(values.get("status") or "proposed"),
        uid=str(values.get("uid") or ""),
        date=str(values.get("date") or ""),
        tags=words("tags"),
        impact=words("impact"),
        supersedes=words("supersedes"),
        amends=words("amends"),
        coexists_with=pairs("coexists_with"),
        claims=pairs("claims"),
        occurrences=occurrences,
        sources=words("sources"),
        confirmed=str(values.get("confirmed") or ""),
        extra={key: value for key, value in values.items() if key not in KEYS},
        sections=parts,
        user=user,
        path=path,
    )


# -- citations ------------------------------------------------------------------------------------

_CITATION = re.compile(r"(?<![\w\]!\\])\[(?:([\w.-]+):)?([A-Z]{1,2}\d{3,})\](?![(\[:])")


def citations(text: str) -> Iterable[tuple[str, str, int]]:
    """Yield each citation as (project or "", id, 1-based line); code, links and arrays do not count (SHI-18)."""
    if "[" not in text:
        return
    start = body_start(text)
    code = code_lines(text[start:])
    for number, line in enumerate(lines(text[start:])):
        if number in code:
            continue
        for match in _CITATION.finditer(re.sub(r"`[^`]*`", lambda m: " " * len(m.group()), line)):
            yield match.group(1) or "", match.group(2), number + line_of(text, start)
