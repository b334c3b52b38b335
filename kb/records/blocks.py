"""The body of a record file as text: MACHINE and USER blocks, sections, and escaping text so that it stays inside one.

Structure is what starts a line outside fenced code: block markers, and headings with hashes. An edit replaces only the
part it changes; every other byte stays.
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
from kb.text.markdown_scan import HIGH_HEADING, FencedCode, Heading, find_fenced_code, find_headings
from kb.text.segment import (
    detect_newline,
    find_line_number,
    iter_line_numbers,
    normalise_newlines,
    skip_line_end,
    split_lines,
)

MACHINE_START = "<!-- MACHINE_BLOCK_START -->"
MACHINE_END = "<!-- MACHINE_BLOCK_END -->"
USER_START = "<!-- USER_BLOCK_START -->"
USER_END = "<!-- USER_BLOCK_END -->"
MARKERS = (MACHINE_START, MACHINE_END, USER_START, USER_END)
_PARTNER = dict(zip(MARKERS, (MACHINE_END, MACHINE_START, USER_END, USER_START), strict=True))

_MARKER = regex(r"(?m)^ {0,3}(<!-- (?:MACHINE|USER)_BLOCK_(?:START|END) -->)[ \t]*$")
_COMMENT_START = regex(r" {0,3}<!--")
_KIND = regex(r"""(?m)^ *["']?kind["']? *: *["']?([\w-]+)""")
_OURS = regex(r"(?m)^<{7} \S")
_BETWEEN = regex(r"(?m)^={7}\r?$")
_LEFTOVER = regex(r"(?m)^(?:<{7}|>{7}|\|{7})(?=[ \t]\S|\r?$)")


class BlockSpans(NamedTuple):
    """The spans of the contents of the two blocks, without their markers."""

    machine: TextSpan
    user: TextSpan


# -- blocks ---------------------------------------------------------------------------------------


def find_blocks(text: str, path: str = "") -> BlockSpans:
    """Return the spans of the MACHINE and the USER block.

    Raise BadRecord, with the line, if a marker is missing, repeated, nested or out of order. Ignore markers in code.
    """
    start = find_body_start(text)
    code = _find_code(text[start:], path)
    markers = _find_markers(text, start, code)
    for marker in MARKERS:
        places = [match.start() for match in markers if match.group(1) == marker]
        if not places:
            raise _missing_marker_error(marker, markers, text, start, code, path)
        if len(places) > 1:
            message = msg("the marker {marker} appears twice", marker=marker)
            raise _marker_error(message, path, find_line_number(text, places[1]))
    for one, other in zip(markers[::2], markers[1::2], strict=True):
        is_end = one.group(1) in (MACHINE_END, USER_END)
        if is_end or _PARTNER[one.group(1)] != other.group(1):
            line = find_line_number(text, (one if is_end else other).start())
            raise _marker_error(msg("the block markers are nested or out of order"), path, line)
    at = {match.group(1): match for match in markers}
    return BlockSpans(
        TextSpan(skip_line_end(text, at[MACHINE_START].end()), at[MACHINE_END].start()),
        TextSpan(skip_line_end(text, at[USER_START].end()), at[USER_END].start()),
    )


def find_record_blocks(text: str, path: str = "") -> BlockSpans:
    """Return the spans of the blocks of a record; a handwritten file without markers is all MACHINE block.

    Raise BadRecord like `find_blocks`: a file that lost one marker is not a file without markers.
    """
    start = find_body_start(text)
    if any(marker in text[start:] for marker in MARKERS):
        return find_blocks(text, path)
    return BlockSpans(TextSpan(start, len(text)), TextSpan(len(text), len(text)))


def add_markers(text: str) -> str:
    """Return *text*, a record file without markers, with its body in a MACHINE block and an empty USER block."""
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
    marker: str, markers: list[re.Match[str]], text: str, start: int, code: FencedCode, path: str
) -> BadRecord:
    """Return the error for a missing *marker*: at the fence that hides it, else at its partner, else at the end."""
    if code.left_open and marker in text[start:]:
        message = msg("a code fence that is never closed swallows the marker {marker}", marker=marker)
        return _marker_error(message, path, find_line_number(text, start) + code.left_open.line)
    partner = next((match.start() for match in markers if match.group(1) == _PARTNER[marker]), None)
    line = find_line_number(text, partner) if partner is not None else max(1, len(split_lines(text)))
    return _marker_error(msg("the marker {marker} is missing", marker=marker), path, line)


def _marker_error(message: Message, path: str, line: int) -> BadRecord:
    hint = msg("put the four markers back: MACHINE start, end, USER start, end, each once on a line of its own")
    return BadRecord(message, path=path, line=line, hint=hint)


def _find_markers(text: str, start: int, code: FencedCode) -> list[re.Match[str]]:
    # `^` and `$` match only at line feeds; replacing carriage returns keeps the offsets.
    markers = [match for match in _MARKER.finditer(text.replace("\r", "\n")) if match.start() >= start]
    if not markers or not code.lines:
        return markers
    first = find_line_number(text, start)
    places = iter_line_numbers(text, (match.start() for match in markers))
    return [match for match, line in zip(markers, places, strict=True) if line - first not in code.lines]


def replace_machine_block(text: str, inside: str, path: str = "") -> str:
    """Return *text* with the contents of its MACHINE block replaced by *inside*, with the line endings of *text*.

    Neutralise markers in *inside* and close a fence that it leaves open.
    """
    span = find_blocks(text, path).machine
    new = normalise_newlines(escape_block(inside))
    new += "\n" if new and not new.endswith("\n") else ""
    return text[: span.start] + new.replace("\n", detect_newline(text)) + text[span.end :]


def refuse_conflict_markers(text: str, path: str = "") -> None:
    """Raise BadRecord if *text* has git's conflict markers outside code."""
    if "<<<<<<< " not in text:
        return
    plain = text.replace("\r", "\n")
    # `<<<<<<< ours` alone may be quoted text; with a line of seven `=` after it, it is a conflict.
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
    """Return the 1-based line of a single conflict marker left outside code in *text*, or 0."""
    if not any(mark in text for mark in ("<" * 7, ">" * 7, "|" * 7)):
        return 0
    start = find_body_start(text)
    first = find_line_number(text, start)
    try:
        code = find_fenced_code(text[start:]).lines
    except BadRecord:  # nested too deeply to tell code from text
        code = frozenset()
    places = iter_line_numbers(text, (match.start() for match in _LEFTOVER.finditer(text)))
    return next((line for line in places if line - first not in code), 0)


def refuse_leftover_marker(text: str, path: str = "") -> None:
    """Raise BadRecord if a *text* to be written has a conflict marker outside code."""
    if line := find_leftover_marker(text):
        hint = msg("remove it, and check the text around it")
        raise BadRecord(msg("the file contains git conflict markers"), path=path, line=line, hint=hint)


# -- sections -------------------------------------------------------------------------------------


def parse_sections(text: str, level: int = 2, kind: str = "") -> tuple[Section, ...]:
    """Return the sections of *text*, of a record of *kind*, under headings of *level*.

    Their texts have line feeds and no leading or trailing empty lines.
    """
    return tuple(
        Section(resolve_section_name(h.title, kind), h.title, normalise_newlines(text[h.body : h.end]).strip("\n"))
        for h in find_headings(text, level)
    )


def edit_section(text: str, name: str, body: str, language: str = "en", path: str = "") -> str:
    """Return *text* with the section *name* of its MACHINE block set to *body*, in its usual position if it is new."""
    span, kind = find_record_blocks(text, path).machine, _read_kind(text)
    inside, end = text[span.start : span.end], detect_newline(text)
    body = normalise_newlines(escape_section(body)).strip("\n").replace("\n", end)
    present = _find_section(inside, name, kind)
    if present:
        before, old, behind = inside[: present.body], inside[present.body : present.end], inside[present.end :]
    else:  # before the first known section that follows it, separated by an empty line
        order = [section.name for section in SECTIONS]
        later = order[order.index(name) + 1 :]
        at = next((h.start for h in find_headings(inside) if resolve_section_name(h.title, kind) in later), len(inside))
        before, old, behind = inside[:at], "", inside[at:]
        ended = len(split_lines(before[len(before.rstrip("\r\n")) :]))
        gap = end * (2 - min(ended, 2)) if before.strip("\r\n") else ""
        before += f"{gap}## {section_label(name, language, kind)}{end}"
    # Keep the empty lines after the old text.
    trimmed = old.rstrip("\r\n")
    gap = (old[len(trimmed) :] if trimmed else "") or (end * 2 if behind else end)
    new = end + body + gap if body else end if behind else ""
    return text[: span.start] + before + new + behind + text[span.end :]


def append_to_section(text: str, name: str, line: str, language: str = "en", path: str = "") -> str:
    """Return *text* with *line* added at the end of the section *name* of its MACHINE block."""
    span = find_record_blocks(text, path).machine
    inside = text[span.start : span.end]
    present = _find_section(inside, name, _read_kind(text))
    old = inside[present.body : present.end] if present else ""
    trimmed = old.rstrip("\r\n")
    if present is None or not trimmed.strip("\r\n"):  # nothing to append to: set the section, with its empty lines
        return edit_section(text, name, line, language, path)
    end = detect_newline(text)
    added = normalise_newlines(line).strip("\n").replace("\n", end)
    # Escape both together: *line* may close a fence that the text before it leaves open.
    new = escape_section(trimmed + end + added) + (old[len(trimmed) :] or end)
    return text[: span.start] + inside[: present.body] + new + inside[present.end :] + text[span.end :]


def _find_section(inside: str, name: str, kind: str) -> Heading | None:
    return next((h for h in find_headings(inside) if resolve_section_name(h.title, kind) == name), None)


def _read_kind(text: str) -> str:
    """Return the kind named in the front matter of *text*, or "", without parsing YAML."""
    span = find_front_matter(text)
    match = _KIND.search(text.replace("\r", "\n"), span.start, span.end) if span else None
    return match.group(1) if match else ""


# -- what keeps a text inside its own ------------------------------------------------------------


def escape_section(text: str) -> str:
    """Return *text* so that it stays inside its section: like `escape_block`, with headings of level 1 or 2 lowered."""
    return _escape_structure(text, HIGH_HEADING)


def escape_block(text: str) -> str:
    """Return *text* so that it stays inside its block.

    Outside code, the first character of a block marker, of an unclosed comment and of git's conflict marker becomes an
    entity; an open fence is closed; NUL and lone surrogates, which a file cannot store, become U+FFFD.
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
            # An unclosed comment would hide the markers and everything after them.
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
