"""The inside of a record file as text: MACHINE and USER blocks, sections, and what keeps a text inside its own.

Structure is what is at the start of a line outside fenced code: block markers, and headings with hashes. Every
edit cuts the text at the edges of what it means to change and joins the pieces again; nothing is dumped again.
"""

from __future__ import annotations

import re

from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import TextSpan, find_body_start, find_front_matter, replace_surrogates
from kb.records.kinds import SECTIONS, resolve_section_name, section_label
from kb.records.model import Section
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.markdown_scan import FencedCode, find_code_lines, find_fenced_code
from kb.text.segment import detect_newline, find_line_number, iter_line_numbers, normalise_newlines, split_lines

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
_KIND = regex(r"""(?m)^ *["']?kind["']? *: *["']?([\w-]+)""")
_OURS = regex(r"(?m)^<{7} \S")
_BETWEEN = regex(r"(?m)^={7}\r?$")
_LEFTOVER = regex(r"(?m)^(?:<{7}|>{7}|\|{7})(?=[ \t]\S|\r?$)")


class BlockSpans(NamedTuple):
    """Where the inside of the two blocks stands, markers not included."""

    machine: TextSpan
    user: TextSpan


# -- blocks ---------------------------------------------------------------------------------------


def find_blocks(text: str, path: str = "") -> BlockSpans:
    """Return where the MACHINE and the USER block stand.

    Raise BadRecord, naming the line, for a marker missing, doubled, nested or out of order. Markers in code are text.
    """
    start = find_body_start(text)
    code = _find_code(text[start:], path)
    found = _find_markers(text, start, code)
    for marker in MARKERS:
        places = [match.start() for match in found if match.group(1) == marker]
        if not places:
            raise _missing_marker_error(marker, found, text, start, code, path)
        if len(places) > 1:
            said = msg("the marker {marker} appears twice", marker=marker)
            raise _marker_error(said, path, find_line_number(text, places[1]))
    for one, other in zip(found[::2], found[1::2], strict=True):
        is_end = one.group(1) in (MACHINE_END, USER_END)
        if is_end or _PARTNER[one.group(1)] != other.group(1):
            line = find_line_number(text, (one if is_end else other).start())
            raise _marker_error(msg("the block markers are nested or out of order"), path, line)
    at = {match.group(1): match for match in found}
    return BlockSpans(
        TextSpan(_skip_line_end(text, at[MACHINE_START].end()), at[MACHINE_END].start()),
        TextSpan(_skip_line_end(text, at[USER_START].end()), at[USER_END].start()),
    )


def find_record_blocks(text: str, path: str = "") -> BlockSpans:
    """Return where the blocks of a record stand; in a file written by hand without any marker, all is MACHINE block.

    Raise BadRecord as `find_blocks` does: a marker that is lost is no file without markers.
    """
    start = find_body_start(text)
    if any(marker in text[start:] for marker in MARKERS):
        return find_blocks(text, path)
    return BlockSpans(TextSpan(start, len(text)), TextSpan(len(text), len(text)))


def add_markers(text: str) -> str:
    """Return *text*, a record's file without markers, with its body in a MACHINE block and an empty USER block."""
    start, newline = find_body_start(text), detect_newline(text)
    body = text[start:] if text.endswith(("\n", "\r")) or start == len(text) else text[start:] + newline
    return newline.join((text[:start] + MACHINE_START, body + MACHINE_END, "", USER_START, "", USER_END, ""))


def has_markers(text: str) -> bool:
    """Return whether *text* has any block marker outside code."""
    start = find_body_start(text)
    return "_BLOCK_" in text and bool(_find_markers(text, start, find_fenced_code(text[start:])))


def _find_code(body: str, path: str) -> FencedCode:
    try:
        return find_fenced_code(body)
    except BadRecord as error:
        raise BadRecord(error.message, path=path) from None


def _missing_marker_error(
    marker: str, found: list[re.Match[str]], text: str, start: int, code: FencedCode, path: str
) -> BadRecord:
    """Return what to say of a missing *marker*: at the open fence that swallows it, at its partner, else at the end."""
    if code.left_open and marker in text[start:]:
        said = msg("a code fence that is never closed swallows the marker {marker}", marker=marker)
        return _marker_error(said, path, find_line_number(text, start) + code.left_open.line)
    partner = next((match.start() for match in found if match.group(1) == _PARTNER[marker]), None)
    line = find_line_number(text, partner) if partner is not None else max(1, len(split_lines(text)))
    return _marker_error(msg("the marker {marker} is missing", marker=marker), path, line)


def _marker_error(said: Message, path: str, line: int) -> BadRecord:
    hint = msg("put the four markers back: MACHINE start, end, USER start, end, each once on a line of its own")
    return BadRecord(said, path=path, line=line, hint=hint)


def _find_markers(text: str, start: int, code: FencedCode) -> list[re.Match[str]]:
    # `^` and `$` know the line feed only; a carriage return is one too, and the offsets stay.
    found = [match for match in _MARKER.finditer(text.replace("\r", "\n")) if match.start() >= start]
    if not found or not code.lines:
        return found
    first = find_line_number(text, start)
    places = iter_line_numbers(text, (match.start() for match in found))
    return [match for match, line in zip(found, places, strict=True) if line - first not in code.lines]


def _skip_line_end(text: str, offset: int) -> int:
    """Return the offset after the line end at *offset*."""
    return offset + (2 if text.startswith("\r\n", offset) else 1)


def replace_machine_block(text: str, inside: str, path: str = "") -> str:
    """Return *text* with the inside of its MACHINE block replaced by *inside*, in the line ending of *text*.

    Markers in *inside* are neutralised and a fence that it leaves open is closed.
    """
    span = find_blocks(text, path).machine
    new = normalise_newlines(escape_block(inside))
    new += "\n" if new and not new.endswith("\n") else ""
    return text[: span.start] + new.replace("\n", detect_newline(text)) + text[span.end :]


def refuse_conflict_markers(text: str, path: str = "") -> None:
    """Raise BadRecord where git's conflict markers are in *text* outside code."""
    if "<<<<<<< " not in text:
        return
    plain = text.replace("\r", "\n")
    # `<<<<<<< ours` alone may be quoted text: it is a conflict where a line of seven `=` follows it.
    last = max((match.start() for match in _BETWEEN.finditer(plain)), default=0)
    found = [match.start() for match in _OURS.finditer(plain, 0, last)]
    if not found:
        return
    start = find_body_start(text)
    code, first = _find_code(text[start:], path).lines, find_line_number(text, start)
    for line in iter_line_numbers(text, found):
        if line - first not in code:
            hint = msg("resolve the merge, then: git add {path}", path=path)
            raise BadRecord(msg("the file contains git conflict markers"), path=path, line=line, hint=hint)


def find_leftover_marker(text: str) -> int:
    """Return the line, from 1, of a conflict marker outside code in *text*, if only one stayed behind; 0 for none."""
    if not any(mark in text for mark in ("<" * 7, ">" * 7, "|" * 7)):
        return 0
    start = find_body_start(text)
    first = find_line_number(text, start)
    try:
        code = find_fenced_code(text[start:]).lines
    except BadRecord:  # too tangled to tell what is code
        code = frozenset()
    places = iter_line_numbers(text, (match.start() for match in _LEFTOVER.finditer(text)))
    return next((line for line in places if line - first not in code), 0)


def refuse_leftover_marker(text: str, path: str = "") -> None:
    """Raise BadRecord for a *text* to be written that has a conflict marker outside code: nobody has resolved it."""
    if line := find_leftover_marker(text):
        hint = msg("remove it, and check the text around it")
        raise BadRecord(msg("the file contains git conflict markers"), path=path, line=line, hint=hint)


# -- sections -------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """A heading outside code, and how far what follows it reaches."""

    level: int
    title: str
    start: int
    body: int
    end: int


def find_headings(text: str, level: int = 2) -> list[Heading]:
    """Return the headings of *level* in *text*; each reaches to the next of the same or a higher rank."""
    code = find_code_lines(text)
    marks = [match for match in _HEADING.finditer(text.replace("\r", "\n")) if len(match.group(1)) <= level]
    if marks and code:
        places = iter_line_numbers(text, (match.start() for match in marks))
        marks = [match for match, line in zip(marks, places, strict=True) if line - 1 not in code]
    ends = [match.start() for match in marks[1:]] + [len(text)] * bool(marks)
    return [
        Heading(level, parse_heading_title(m.group(2)), m.start(), min(_skip_line_end(text, m.end()), len(text)), end)
        for m, end in zip(marks, ends, strict=True)
        if len(m.group(1)) == level
    ]


def parse_heading_title(written: str) -> str:
    """Return the title of a heading from what follows its hashes: a closing run of hashes does not belong to it."""
    title = written.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def parse_sections(text: str, level: int = 2, kind: str = "") -> tuple[Section, ...]:
    """Return the sections of *text*, of a record of *kind*, under headings of *level*.

    Their texts have line feeds and no outer empty lines.
    """
    return tuple(
        Section(resolve_section_name(h.title, kind), h.title, normalise_newlines(text[h.body : h.end]).strip("\n"))
        for h in find_headings(text, level)
    )


def edit_section(text: str, name: str, body: str, language: str = "en", path: str = "") -> str:
    """Return *text* with the section *name* of its MACHINE block set to *body*; it is added in its place if missing."""
    span, kind = find_record_blocks(text, path).machine, _read_kind(text)
    inside, end = text[span.start : span.end], detect_newline(text)
    body = normalise_newlines(escape_section(body)).strip("\n").replace("\n", end)
    present = _find_section(inside, name, kind)
    if present:
        before, old, behind = inside[: present.body], inside[present.body : present.end], inside[present.end :]
    else:  # before the first known section that follows it, set off by an empty line
        order = [section.name for section in SECTIONS]
        later = order[order.index(name) + 1 :]
        at = next((h.start for h in find_headings(inside) if resolve_section_name(h.title, kind) in later), len(inside))
        before, old, behind = inside[:at], "", inside[at:]
        ended = len(split_lines(before[len(before.rstrip("\r\n")) :]))
        gap = end * (2 - min(ended, 2)) if before.strip("\r\n") else ""
        before += f"{gap}## {section_label(name, language, kind)}{end}"
    # The empty lines that stood after the old text stay after the new one.
    kept = old.rstrip("\r\n")
    gap = (old[len(kept) :] if kept else "") or (end * 2 if behind else end)
    new = end + body + gap if body else end if behind else ""
    return text[: span.start] + before + new + behind + text[span.end :]


def append_to_section(text: str, name: str, line: str, language: str = "en", path: str = "") -> str:
    """Return *text* with *line* added at the end of the section *name* of its MACHINE block."""
    span = find_record_blocks(text, path).machine
    inside = text[span.start : span.end]
    present = _find_section(inside, name, _read_kind(text))
    old = inside[present.body : present.end] if present else ""
    kept = old.rstrip("\r\n")
    if present is None or not kept.strip("\r\n"):  # nothing to add to: it is set, with the empty lines it needs
        return edit_section(text, name, line, language, path)
    end = detect_newline(text)
    added = normalise_newlines(line).strip("\n").replace("\n", end)
    # Escaped together: a line may close a fence that the text before it leaves open.
    new = escape_section(kept + end + added) + (old[len(kept) :] or end)
    return text[: span.start] + inside[: present.body] + new + inside[present.end :] + text[span.end :]


def _find_section(inside: str, name: str, kind: str) -> Heading | None:
    return next((h for h in find_headings(inside) if resolve_section_name(h.title, kind) == name), None)


def _read_kind(text: str) -> str:
    """Return the kind that the front of *text* names, without the cost of reading YAML; "" for none."""
    span = find_front_matter(text)
    found = _KIND.search(text.replace("\r", "\n"), span.start, span.end) if span else None
    return found.group(1) if found else ""


# -- what keeps a text inside its own ------------------------------------------------------------


def escape_section(text: str) -> str:
    """Return *text* so that it stays inside its section: `escape_block`, and headings of rank 1 and 2 get rank 3."""
    return _escape_structure(text, _HIGH_HEADING)


def escape_block(text: str) -> str:
    """Return *text* so that it stays inside its block.

    Outside code, the first character of a block marker, of a comment that is never closed and of git's conflict mark
    becomes an entity; a fence left open is closed; NUL and half characters, which no file can hold, become U+FFFD.
    """
    return _escape_structure(text, None)


def _escape_structure(text: str, lowered: re.Pattern[str] | None) -> str:
    text = replace_surrogates(text).replace("\0", "\ufffd")
    if not any(mark in text for mark in ("#", "<", "```", "~~~")):
        return text
    code = find_fenced_code(text)
    closed_until = text.rfind("-->")
    out: list[str] = []
    offset = 0
    for number, row in enumerate(split_lines(text)):
        if number not in code.lines:
            # A comment that is never closed would swallow the markers and all that comes after them.
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
    return joined + ("" if joined.endswith(("\n", "\r")) else detect_newline(text)) + code.left_open.marks
