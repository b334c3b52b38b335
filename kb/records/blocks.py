"""The inside of a record file as text: MACHINE and USER blocks, sections, and what keeps a text inside its own.

Structure is what stands at the start of a line outside fenced code: block markers, and headings with hashes. Every
edit cuts the text at the edges of what it means to change and joins the pieces again; nothing is dumped anew.
"""

from __future__ import annotations

import re

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import Span, body_start, whole_characters
from kb.records.kinds import SECTIONS, section_label, section_named
from kb.records.model import Section
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.code_fences import Code, code_lines, fenced
from kb.text.line_ends import line_feeds, line_of, lines, lines_of, newline

MACHINE_START = "<!-- MACHINE_BLOCK_START -->"
MACHINE_END = "<!-- MACHINE_BLOCK_END -->"
USER_START = "<!-- USER_BLOCK_START -->"
USER_END = "<!-- USER_BLOCK_END -->"
MARKERS = (MACHINE_START, MACHINE_END, USER_START, USER_END)
_PARTNER = dict(zip(MARKERS, (MACHINE_END, MACHINE_START, USER_END, USER_START), strict=True))

_HEADING = regex(r"(?m)^ {0,3}(#{1,6})(?=[ \t\r\n]|\Z)([^\n]*)")
_MARKER = regex(r"(?m)^ {0,3}(<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->)[ \t]*$")
_HIGH_HEADING = regex(r"^( {0,3})#{1,2}(?=[ \t\r\n]|\Z)")
_COMMENT_START = regex(r" {0,3}<!--")
_OURS = regex(r"(?m)^<{7} \S")
_BETWEEN = regex(r"(?m)^={7}\r?$")


class Blocks(NamedTuple):
    """Where the inside of the two blocks stands, markers not included."""

    machine: Span
    user: Span


# -- blocks ---------------------------------------------------------------------------------------


def blocks(text: str, path: str = "") -> Blocks:
    """Return where the MACHINE and the USER block stand.

    Raise BadRecord, naming the line, for a marker missing, doubled, nested or out of order. Markers in code are text.
    """
    start = body_start(text)
    code = _code_of(text[start:], path)
    found = _markers(text, start, code)
    for marker in MARKERS:
        places = [match for match in found if match.group(1) == marker]
        if not places:
            raise _missing(marker, found, text, start, code, path)
        if len(places) > 1:
            line = line_of(text, places[1].start())
            raise _bad_markers(msg("the marker {marker} stands here twice", marker=marker), path, line)
    for one, other in zip(found[::2], found[1::2], strict=True):
        if _PARTNER[one.group(1)] != other.group(1) or one.group(1) in (MACHINE_END, USER_END):
            wrong = one if one.group(1) in (MACHINE_END, USER_END) else other
            line = line_of(text, wrong.start())
            raise _bad_markers(msg("the block markers are nested or out of order"), path, line)
    at = {match.group(1): match for match in found}
    return Blocks(
        Span(_after_line(text, at[MACHINE_START].end()), at[MACHINE_END].start()),
        Span(_after_line(text, at[USER_START].end()), at[USER_END].start()),
    )


def has_markers(text: str) -> bool:
    """Return whether *text* has any block marker outside code."""
    start = body_start(text)
    return "_BLOCK_" in text and bool(_markers(text, start, fenced(text[start:])))


def _code_of(body: str, path: str) -> Code:
    try:
        return fenced(body)
    except BadRecord as error:
        raise BadRecord(error.message, path=path) from None


def _missing(marker: str, found: list[re.Match[str]], text: str, start: int, code: Code, path: str) -> BadRecord:
    """Return what to say of a missing *marker*: at the open fence that swallows it, at its partner, else at the end."""
    if code.left_open and marker in text[start:]:
        said = msg("a code fence that is never closed swallows the marker {marker}", marker=marker)
        return _bad_markers(said, path, line_of(text, start) + code.left_open.line)
    partner = next((match.start() for match in found if match.group(1) == _PARTNER[marker]), None)
    line = line_of(text, partner) if partner is not None else max(1, len(lines(text)))
    return _bad_markers(msg("the marker {marker} is missing", marker=marker), path, line)


def _bad_markers(said: Message, path: str, line: int) -> BadRecord:
    hint = msg("put the four markers back: MACHINE start, end, USER start, end, each once on a line of its own")
    return BadRecord(said, path=path, line=line, hint=hint)


def _markers(text: str, start: int, code: Code) -> list[re.Match[str]]:
    found = [match for match in _MARKER.finditer(text.replace("\r", "\n")) if match.start() >= start]
    if not found or not code.lines:
        return found
    first = line_of(text, start)
    places = lines_of(text, (match.start() for match in found))
    return [match for match, line in zip(found, places, strict=True) if line - first not in code.lines]


def _after_line(text: str, offset: int) -> int:
    """Return the offset behind the line end at *offset*."""
    return offset + (2 if text.startswith("\r\n", offset) else 1)


def replace_machine(text: str, inside: str, path: str = "") -> str:
    """Return *text* with the inside of its MACHINE block replaced by *inside*, in the line ending of *text*.

    Markers in *inside* are neutralised and a fence that it leaves open is closed.
    """
    span = blocks(text, path).machine
    new = line_feeds(contained(inside))
    new += "\n" if new and not new.endswith("\n") else ""
    return text[: span.start] + new.replace("\n", newline(text)) + text[span.end :]


def refuse_conflict_markers(text: str, path: str = "") -> None:
    """Raise BadRecord where git's conflict markers stand in *text* outside code."""
    if "<<<<<<< " not in text:
        return
    plain = text.replace("\r", "\n")
    last = max((match.start() for match in _BETWEEN.finditer(plain)), default=0)
    found = [match.start() for match in _OURS.finditer(plain, 0, last)]
    if not found:
        return
    start = body_start(text)
    code, first = _code_of(text[start:], path).lines, line_of(text, start)
    for line in lines_of(text, found):
        if line - first not in code:
            raise BadRecord(
                msg("git's conflict markers stand in the file"),
                path=path,
                line=line,
                hint=msg("resolve the merge, then: git add {path}", path=path),
            )


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
    marks = [match for match in _HEADING.finditer(text.replace("\r", "\n")) if len(match.group(1)) <= level]
    if marks and code:
        places = lines_of(text, (match.start() for match in marks))
        marks = [match for match, line in zip(marks, places, strict=True) if line - 1 not in code]
    ends = [match.start() for match in marks[1:]] + [len(text)] * bool(marks)
    return [
        Heading(level, title_of(m.group(2)), m.start(), min(_after_line(text, m.end()), len(text)), end)
        for m, end in zip(marks, ends, strict=True)
        if len(m.group(1)) == level
    ]


def title_of(written: str) -> str:
    """Return the title of a heading from what follows its hashes: a closing run of hashes does not belong to it."""
    title = written.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def sections(text: str, level: int = 2) -> tuple[Section, ...]:
    """Return the sections of *text* under headings of *level*, their texts with line feeds and no outer empty lines."""
    return tuple(
        Section(section_named(h.title), h.title, line_feeds(text[h.body : h.end]).strip("\n"))
        for h in headings(text, level)
    )


def edit_section(text: str, name: str, body: str, language: str = "en", path: str = "") -> str:
    """Return *text* with the section *name* of its MACHINE block set to *body*; it is added in its place if missing."""
    span = blocks(text, path).machine
    inside = text[span.start : span.end]
    end = newline(text)
    body = line_feeds(escape(body)).strip("\n").replace("\n", end)
    present = _present(inside, name)
    if present is None:
        at = _section_place(inside, name)
        head = _gap_before(inside[:at], end) + f"## {section_label(name, language)}{end}"
        new = inside[:at] + head + _region(body, "", at == len(inside), end) + inside[at:]
    else:
        old = inside[present.body : present.end]
        region = _region(body, old, present.end == len(inside), end)
        new = inside[: present.body] + region + inside[present.end :]
    return text[: span.start] + new + text[span.end :]


def append_to_section(text: str, name: str, line: str, language: str = "en", path: str = "") -> str:
    """Return *text* with *line* added at the end of the section *name* of its MACHINE block."""
    span = blocks(text, path).machine
    inside = text[span.start : span.end]
    present = _present(inside, name)
    old = inside[present.body : present.end] if present else ""
    kept = old.rstrip("\r\n")
    if present is None or not kept.strip("\r\n"):
        return edit_section(text, name, line, language, path)
    end = newline(text)
    added = line_feeds(line).strip("\n").replace("\n", end)
    new = escape(kept + end + added) + (old[len(kept) :] or end)
    return text[: span.start] + inside[: present.body] + new + inside[present.end :] + text[span.end :]


def _present(inside: str, name: str) -> Heading | None:
    return next((h for h in headings(inside) if section_named(h.title) == name), None)


def _region(body: str, old: str, last: bool, end: str) -> str:
    """Return what follows a heading: an empty line, *body*, and the empty lines that stood behind the *old* text."""
    if not body:
        return "" if last else end
    kept = old.rstrip("\r\n")
    gap = old[len(kept) :] if kept else ""
    return end + body + (gap or (end if last else end + end))


def _gap_before(text: str, end: str) -> str:
    """Return the line ends that set a heading off from the *text* before it."""
    trailing = len(lines(text[len(text.rstrip("\r\n")) :]))
    return end * (2 - min(trailing, 2)) if text.strip("\r\n") else ""


def _section_place(inside: str, name: str) -> int:
    """Return where a new section *name* goes in the MACHINE block: before the first known section that follows it."""
    order = [section.name for section in SECTIONS]
    for heading in headings(inside):
        known = section_named(heading.title)
        if known and order.index(known) > order.index(name):
            return heading.start
    return len(inside)


# -- what keeps a text inside its own ------------------------------------------------------------


def escape(text: str) -> str:
    """Return *text* so that it stays inside its section: `contained`, and headings of rank 1 and 2 get rank 3."""
    return _contained(text, _HIGH_HEADING)


def contained(text: str) -> str:
    """Return *text* so that it stays inside its block.

    Outside code, the first character of a block marker, of a comment that is never closed and of git's conflict mark
    becomes an entity; a fence left open is closed; NUL and half characters, which no file can hold, become U+FFFD.
    """
    return _contained(text, None)


def _contained(text: str, lowered: re.Pattern[str] | None) -> str:
    text = whole_characters(text).replace("\0", "\ufffd")
    if not any(mark in text for mark in ("#", "<", "```", "~~~")):
        return text
    code = fenced(text)
    closed_until = text.rfind("-->")
    out: list[str] = []
    offset = 0
    for number, row in enumerate(lines(text)):
        if number not in code.lines:
            hidden = _COMMENT_START.match(row) and offset > closed_until
            if hidden or _MARKER.match(row.rstrip("\r\n")) or _OURS.match(row):
                row = row.replace("<", "&lt;", 1)
            elif lowered:
                row = lowered.sub(r"\1###", row)
        out.append(row)
        offset += len(row)
    joined = "".join(out)
    if code.left_open is None:
        return joined
    return joined + ("" if joined.endswith(("\n", "\r")) else newline(text)) + code.left_open.marks
