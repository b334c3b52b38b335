"""Cut what was said in a session into pieces and sentences that are slices of it, so that every quote is verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb.text.segment import one_line

_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(\S.*)$")
_ITEM = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,3}[.)、])[ \t]+")
_QUOTED = re.compile(r"(?<![ \t])[ \t]*+>")
_TABLE = re.compile(r"(?<![ \t])[ \t]*+\|")
_INDENTED = re.compile(r"(?: {4}|\t)")
_CODE = re.compile(r"`[^`\n]*`")
_BOUNDARY = re.compile(r"[。！？；](?:[”」』）)]*)|[.!?](?=[\s\"”'*)]|$)[\"”'*)]*")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|No|resp|incl)|(?<![A-Za-z0-9])[0-9A-Z])\.$")
_PATH = re.compile(r"(?<![\w/.:@~-])(?:/|\./)?[\w.@-]+(?:/[\w.@-]+)*(?![\w/])")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}(?::\d+)?$")

_STARTS = (("heading", _HEADING), ("quote", _QUOTED), ("table", _TABLE), ("item", _ITEM))


class ProsePiece(NamedTuple):
    """A paragraph, list item, heading or code block."""

    what: str
    """prose, item, heading, code, quote or table."""
    text: str
    """A slice of the whole text, without the line end."""
    start: int
    """Offset of the slice."""
    level: int = 0
    """Rank of a heading."""
    info: str = ""
    """What stands behind the opening fence of a code block."""
    after_gap: bool = True
    """True where an empty line or another kind of piece stands before."""


class _PieceSpan(NamedTuple):
    """A piece whose text is not cut out yet."""

    what: str
    start: int
    end: int
    level: int = 0
    info: str = ""
    gap: bool = True


def split_pieces(text: str) -> list[ProsePiece]:
    """Return the pieces of markdown *text* in order; fences of any indentation and unclosed ones are code."""
    spans: list[_PieceSpan] = []
    fence, opened, info = "", 0, ""
    offset, gap = 0, True
    for row in text.split("\n"):
        line, start = row.rstrip("\r"), offset
        offset += len(row) + 1
        match = _FENCE.match(line)
        if fence:
            if match and match.group(1).startswith(fence) and not match.group(2).strip():
                spans.append(_PieceSpan("code", opened, max(start - 1, opened), info=info))
                fence, gap = "", True
        elif match:
            fence, opened, info = match.group(1), min(offset, len(text)), match.group(2).strip()
        elif not line.strip():
            gap = True
        else:
            _add_line(spans, line, start, gap)
            gap = False
    if fence:
        spans.append(_PieceSpan("code", opened, len(text), info=info))
    return [ProsePiece(s.what, text[s.start : s.end], s.start, s.level, s.info, s.gap) for s in spans]


def _add_line(spans: list[_PieceSpan], line: str, start: int, gap: bool) -> None:
    """Add *line* to the last of *spans* if it continues it, otherwise as a span of its own."""
    last, end = spans[-1] if spans else None, start + len(line)
    what = next((name for name, pattern in _STARTS if pattern.match(line)), "prose")
    heading = _HEADING.match(line)
    if what == "prose" and last and not gap and last.what in ("prose", "item", "quote"):
        spans[-1] = last._replace(end=end)
    elif what == "prose" and gap and _INDENTED.match(line) and not (last and last.what == "item"):
        spans.append(_PieceSpan("code", start, end, gap=gap))
    else:
        spans.append(_PieceSpan(what, start, end, level=len(heading.group(1)) if heading else 0, gap=gap))


def blank_code(text: str) -> str:
    """Return *text* in equal length with the inside of its code spans blanked, so that patterns see only words."""
    if "`" not in text:
        return text
    return _CODE.sub(lambda match: "`" + "x" * (len(match.group()) - 2) + "`", text)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of one piece as slices of *text*."""
    mark = _ITEM.match(text)
    start = mark.end() if mark else 0
    masked = blank_code(text)
    for match in _BOUNDARY.finditer(masked):
        if match.end() <= start or (
            match.group().startswith(".")
            and _ABBREVIATION.search(masked[max(start, match.start() - 8) : match.start() + 1])
        ):
            continue
        if sentence := text[start : match.end()].strip():
            yield sentence
        start = match.end()
    if rest := text[start:].strip():
        yield rest


def strip_markdown(text: str) -> str:
    """Return *text* on one line without markdown's emphasis and the full stop at its end."""
    line = one_line(re.sub(r"\*\*|__", "", text) if "**" in text or "__" in text else text)
    return line.strip(" \t*").rstrip("。.；;，,：:").strip()


def remove_code(text: str) -> str:
    """Return *text* with a space for every code span."""
    return _CODE.sub(" ", text)


def find_paths(text: str, cwd: str = "", known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the file paths that *text* names, relative to *cwd*, at most eight.

    A path has an extension and a slash, or is the name of exactly one of the *known* paths; URLs are none.
    """
    by_name: dict[str, set[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], set()).add(path)
    found: list[str] = []
    for match in _PATH.finditer(re.sub(r"(?<!\w)\w++://\S+", " ", text)):
        path = make_relative(match.group().rstrip("."), cwd)
        named = by_name.get(path, set())
        if "/" not in path and len(named) == 1:
            path = next(iter(named))
        if path and "/" in path and not path.startswith("/") and _EXTENSION.search(path) and path not in found:
            found.append(path)
    return tuple(found[:8])


def make_relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* where it lies below it, with forward slashes; otherwise as it is."""
    path, root = path.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and path.startswith(root + "/"):
        return path[len(root) + 1 :]
    return path.removeprefix("./")
