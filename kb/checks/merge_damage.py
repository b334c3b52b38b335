"""Detect records damaged by git's line merge: duplicate keys and paragraphs, leftover conflict markers.

git merges lines. Where no line is in dispute, or it was told to keep both sides, the outcome may read as a record and
still say a thing twice, or two things at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb.checks.check_context import CheckContext, Finding, LoadedRecord, MergeVersions, Severity
from kb.checks.content_rules import locate_code_lines
from kb.errors import BadRecord
from kb.i18n import msg
from kb.records.blocks import find_blocks, find_headings
from kb.records.front_matter import TextSpan
from kb.records.model import Section, is_imported
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import clip, count_words, find_line_number, one_line, split_lines

MIN_REPEATED_WORDS = 3
"""字 from which on a list item that stands twice was hardly meant to."""
PARAGRAPH = 8
"""The same for a paragraph, which stands further away from its like."""

_LISTS = ("tags", "impact", "supersedes", "amends", "sources")
_ITEM = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(\S.*)|(\|.*)")
_MARKS = ("<" * 7, ">" * 7, "|" * 7)
_LEFTOVER = re.compile(r"(?m)^(?:<{7}|>{7}|\|{7})(?=[ \t]\S|\r?$)")


# -- sections -------------------------------------------------------------------------------------


def check_duplicate_sections(context: CheckContext) -> Iterator[Finding]:
    """Report a section that is in a record twice: whatever asks for it gets the first."""
    for one in context.records:
        first: dict[str, Section] = {}
        for number, section in enumerate(one.record.sections):
            old = first.setdefault(section_key(section), section)
            is_free = is_imported(one.record.extra) and not section.name
            if old is section or is_free:  # "Pros" below each option of a foreign record is asked for by nobody
                continue
            heading = clip(section.heading, 60)
            if one_line(old.text) == one_line(section.text):
                message = msg("the section {heading} appears twice, word for word", heading=heading)
                fix = msg("remove one of them")
            else:
                message = msg("the section {heading} appears twice, and only the first is read", heading=heading)
                fix = msg("put both into one; after a merge: kb repair {id}", id=one.record.scoped_id)
            is_written_alike = old.heading.casefold() == section.heading.casefold()
            severity: Severity = "error" if section.name and is_written_alike else "warning"
            yield Finding("section-twice", severity, one.record.path, _find_section_line(one, number), message, fix)


def section_key(section: Section) -> str:
    """Return the key that identifies a section in its record."""
    return section.name or one_line(section.heading).casefold()


def _find_section_line(one: LoadedRecord, number: int) -> int:
    return find_line_number(one.text, _find_section_spans(one.text)[number].start)


def _find_section_spans(text: str) -> list[TextSpan]:
    """Return where the sections of a record stand, each from its heading on, in the order of its `sections`."""
    start, end = find_blocks(text).machine
    return [TextSpan(start + heading.start, start + heading.end) for heading in find_headings(text[start:end])]


def check_both_sides(context: CheckContext) -> Iterator[Finding]:
    """Report a section in which the last merge kept what both sides put in the place of the same lines."""
    for one in context.records:
        versions = context.surroundings.merges.get(one.record.path)
        for number, section in enumerate(one.record.sections if versions else ()):
            if versions and _has_both_sides(section, versions):
                message = msg("the merge kept what both sides wrote in {heading}", heading=clip(section.heading, 60))
                fix = msg("choose one, or combine them: kb edit {id}", id=one.record.scoped_id)
                yield Finding("both-sides", "error", one.record.path, _find_section_line(one, number), message, fix)


def _has_both_sides(section: Section, versions: MergeVersions) -> bool:
    """Return whether *section* holds the lines of both sides where each replaced the same ones, or wrote the first."""
    key = section_key(section)
    base, ours, theirs = (
        {
            row
            for other in (record.sections if record else ())
            if section_key(other) == key
            for row in _split_rows(other)
        }
        for record in versions
    )
    # base "use A", ours "use B", theirs "use C": a merge that kept both sides says "use B" and "use C"
    mine, other = ours - base, theirs - base
    if not mine - other or not other - mine or not mine | other <= set(_split_rows(section)):
        return False
    return not base or bool((base - ours) & (base - theirs))


def _split_rows(section: Section) -> list[str]:
    return [row.strip() for row in section.text.split("\n") if row.strip()]


# -- lines ----------------------------------------------------------------------------------------


def check_duplicate_items(context: CheckContext) -> Iterator[Finding]:
    """Report what stands twice in a list of the front."""
    for one in context.records:
        for key in _LISTS:
            items = getattr(one.record, key)
            once = tuple(dict.fromkeys(items))
            if len(once) < len(items):
                item = next(item for item in once if items.count(item) > 1)
                message = msg("{item} appears under {key} twice", item=clip(item, 80), key=key)
                fix = msg("remove the duplicate: kb check --fix")
                change = {key: list(once)}
                yield one.report("twice", key, message, fix, item=item, severity="warning", change=change)


def check_duplicate_lines(context: CheckContext) -> Iterator[Finding]:
    """Report, once for a section, a list item that its list has twice, or a paragraph that the section has twice."""
    for one in context.records:
        if is_imported(one.record.extra) and one.record.path not in context.surroundings.merges:
            continue  # its author wrote it so; only a merge repeats what nobody meant to
        texts = [*(section.text for section in one.record.sections), one.record.user]
        spans = [*_find_section_spans(one.text), find_blocks(one.text).user] if any(map(_can_repeat, texts)) else []
        for text, span in zip(texts, spans, strict=False):
            found = _find_repeated(one.text[span.start : span.end]) if _can_repeat(text) else None
            if found:
                row, words = found
                message = msg("“{text}” appears twice", text=clip(words, 80))
                line = find_line_number(one.text, span.start) + row
                yield Finding("twice", "warning", one.record.path, line, message, msg("remove one of them"))


def _can_repeat(text: str) -> bool:
    # "1. Retry twice" and "3. Retry twice" are one item that two sides have numbered
    rows = [row.strip().lstrip("0123456789.)") for row in text.split("\n") if row.strip()]
    return len(set(rows)) < len(rows)


def _find_repeated(text: str) -> tuple[int, str] | None:
    """Return the 0-based row, and the words, of the first item or paragraph in *text* that stood there before."""
    items: set[str] = set()
    paragraphs: set[str] = set()
    for row, words, is_item in _iter_pieces(text):
        if not is_item:
            items = set()  # another list begins
        seen, least = (items, MIN_REPEATED_WORDS) if is_item else (paragraphs, PARAGRAPH)
        if words in seen and count_words(words) >= least:
            return row, words
        seen.add(words)
    return None


def _iter_pieces(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the outer list items and table rows of *text*, and its paragraphs, each with its 0-based row.

    A heading is a paragraph without words.
    """
    paragraph: list[str] = []
    try:
        code = find_code_lines(text)
    except BadRecord:  # too tangled to tell what is code
        return
    rows = ["" if number in code else row.rstrip("\r\n") for number, row in enumerate(split_lines(text))]
    for number, row in enumerate([*rows, ""]):
        item = _ITEM.match(row)
        if paragraph and (item or not row.strip()):
            yield number - len(paragraph), one_line(" ".join(paragraph)), False
            paragraph = []
        if item:
            yield number, one_line(item[1] or item[2]), True
        elif row.startswith("#"):
            yield number, "", False  # the list below another heading is another list
        elif row.strip() and (paragraph or not row.startswith((" ", "\t"))):
            paragraph.append(row)


def check_leftover_markers(context: CheckContext) -> Iterator[Finding]:
    """Report a conflict marker that stayed behind alone; a file with all of them is no record."""
    for text in context.texts:
        match = _LEFTOVER.search(text.text) if any(mark in text.text for mark in _MARKS) else None
        if match is None:
            continue
        line = find_line_number(text.text, match.start())
        if line not in locate_code_lines(text.text):
            severity: Severity = "error" if text.is_record else "warning"
            message = msg("git's conflict markers stand in the file")
            fix = msg("remove it, and check the text around it")
            yield Finding("conflict-markers", severity, text.path, line, message, fix)
