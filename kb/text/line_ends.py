"""Lines of a text as markdown knows them: what ends one, which one an offset stands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kb.startup.lazy_regex import regex

_LINE_END = regex(r"\r\n|\n|\r")
_LINE = regex(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


def detect_newline(text: str) -> str:
    """Return the line ending *text* uses first, or a line feed."""
    match = _LINE_END.search(text)
    return match.group() if match else "\n"


def normalise_newlines(text: str) -> str:
    """Return *text* with a line feed for every line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def find_line_number(text: str, offset: int) -> int:
    """Return the 1-based line on which *offset* stands."""
    return len(_LINE_END.findall(text[:offset])) + 1


def iter_line_numbers(text: str, offsets: Iterable[int]) -> Iterator[int]:
    """Yield the 1-based line of each of the rising *offsets* of line starts, in one pass."""
    at, line = 0, 1
    for offset in offsets:
        line += len(_LINE_END.findall(text, at, offset))
        at = offset
        yield line


def split_lines(text: str) -> list[str]:
    """Return *text* cut after its line ends as markdown knows them (not at form feeds and the like)."""
    return _LINE.findall(text)
