"""Cut a markdown text into what is merged as one: a line, a list item, a table, a block of fenced code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kb.text.line_ends import split_lines
from kb.text.markdown_scan import find_fenced_code

_ITEM = re.compile(r"(?:[ \t]*+[\r\n]++)*+( *+)([-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_DATED = re.compile(r"[-*+] +([12][0-9]{3}-[01][0-9]-[0-3][0-9])\b")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ROW = re.compile(r" {0,3}\|")
_RULE = re.compile(r" {0,3}\|(?=[ \t:|]*-)[ \t:|-]*+$")
_ENDS_PARAGRAPH = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|>|\||<!--)")


def tokenise_markdown(text: str, *, structured: bool = True) -> list[str]:
    """Return the tokens of *text*; joined they are *text*. Unless *structured*, lists and tables are lines."""
    rows, code = split_lines(text), find_fenced_code(text).lines
    found: list[str] = []
    at = 0
    while at < len(rows):
        end = _find_token_end(rows, code, at, after_item=bool(found) and is_list_item(found[-1])) if structured else at
        if at in code:
            end = next((n for n in range(at, len(rows)) if n not in code), len(rows))
        end = max(end, at + 1)
        found.append("".join(rows[at:end]))
        at = end
    return found


def is_list_item(token: str) -> bool:
    """Return whether *token* is an item of a list."""
    return _ITEM.match(token) is not None


def is_unnumbered_item(token: str) -> bool:
    """Return whether *token* is an item of a list without numbers, so that others may stand before and behind it."""
    match = _ITEM.match(token)
    return match is not None and not match.group(2)[0].isdigit()


def measure_indent(token: str) -> int:
    """Return how far the item *token* is indented."""
    match = _ITEM.match(token)
    return len(match.group(1)) if match else 0


def group_nested_items(tokens: Iterable[str]) -> list[str]:
    """Return *tokens* with every item joined to the deeper ones below it."""
    found: list[str] = []
    depth = -1
    for token in tokens:
        is_below = depth >= 0 and is_list_item(token) and measure_indent(token) > depth
        if is_below:
            found[-1] += token
        else:
            found.append(token)
            depth = measure_indent(token) if is_list_item(token) else -1
    return found


def parse_note_day(token: str) -> str:
    """Return the day (YYYY-MM-DD) of a dated note, or ""."""
    match = _DATED.match(token.lstrip("\r\n"))
    return match.group(1) if match else ""


def is_code_block(token: str) -> bool:
    """Return whether *token* is a block of fenced code."""
    return _FENCE.match(token) is not None and len(split_lines(token)) > 1


def is_table(token: str) -> bool:
    """Return whether *token* is a table."""
    rows = split_lines(token)
    return len(rows) > 1 and _is_table_start(rows, 0)


def _is_table_start(rows: list[str], at: int) -> bool:
    return bool(_ROW.match(rows[at]) and at + 1 < len(rows) and _RULE.match(rows[at + 1].rstrip("\r\n")))


def _find_token_end(rows: list[str], code: Collection[int], at: int, *, after_item: bool) -> int:
    """Return the row behind the item or table that begins at row *at*; *at* where neither does."""
    if at not in code and _is_table_start(rows, at):
        return next((n for n in range(at, len(rows)) if not _ROW.match(rows[n])), len(rows))
    first = next((n for n in range(at, len(rows)) if rows[n].strip()), len(rows)) if after_item else at
    if first == len(rows) or first in code or not _ITEM.match(rows[first]):
        return at
    return _find_item_end(rows, code, first)


def _find_item_end(rows: list[str], code: Collection[int], first: int) -> int:
    """Return the row behind the item at row *first*: what is indented deeper belongs to it, but for other items."""
    depth = _measure_depth(rows[first])
    end = first + 1
    for number in range(first + 1, len(rows)):
        row = rows[number]
        if not row.strip():
            continue
        is_below = _measure_depth(row) > depth and (number in code or not _ITEM.match(row))
        goes_on = number == end and number not in code and not _ITEM.match(row) and not _ENDS_PARAGRAPH.match(row)
        if not is_below and not goes_on:
            break
        end = number + 1
    return end


def _measure_depth(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))
