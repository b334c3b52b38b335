"""Find the citations in a text: `[D001]` in its own scope, `[shop:D001]` in another (SHI-18)."""

import re
from collections.abc import Iterable, Iterator

from kb.errors import BadRecord
from kb.fences import code_lines, indented_code_lines
from kb.front import body_start, line_of, lines
from kb.kinds import BY_PREFIX
from kb.patterns import regex

_ID = "(?:" + "|".join(sorted(BY_PREFIX, key=len, reverse=True)) + ")[0-9]{3,9}"
_CITATION = regex(rf"\[(?:([\w.-]{{1,100}}):)?({_ID})\]")
_CHAIN = regex(rf"(?<![A-Za-z0-9\]!])(?<![A-Za-z0-9]_)(?:\[(?:[\w.-]{{1,100}}:)?{_ID}\])+")
_DEFINITION = regex(
    r" {0,3}\[[^\[\]]+\]:[ \t]*(?:<[^<>]*>|\S+)(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*[\r\n]*\Z"
)
_NAME_PLATE = regex(rf" {{0,3}}#{{1,6}}[ \t]+\[{_ID}\]")
_BLOCK_START = regex(r"[ \t]*(?:[-*+>|]|[0-9]{1,9}[.)]|#{1,6}[ \t])")
_TICKS = regex("`+")
_MARK = regex(r"`+|\\[!-/:-@\[-`{-~]")


def citations(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each citation as (project or "", id, 1-based line).

    Code, images, links with their definitions and what is escaped do not count, nor `[D1]`, nor the `[D001]` with
    which a heading names its record.
    """
    start = body_start(text)
    body = text[start:]
    if not _CITATION.search(body):
        return
    first = line_of(text, start)
    rows = lines(body)
    for piece in _pieces(rows, _code(body, rows)):
        shown = _without_code("".join(rows[n] for n in piece))
        for number, row in zip(piece, lines(shown), strict=True):
            yield from ((project, id_, first + number) for project, id_ in _in_row(row))


def _in_row(row: str) -> Iterator[tuple[str, str]]:
    """Yield the citations of one line that is not code."""
    if "[" not in row or _DEFINITION.match(row):
        return
    plate = _NAME_PLATE.match(row)
    for chain in _CHAIN.finditer(row, plate.end() if plate else 0):
        found = _CITATION.findall(chain.group())
        behind = row[chain.end() : chain.end() + 1]
        yield from found[:-1] if behind and behind in "([" else found


def _code(body: str, rows: list[str]) -> Iterable[int]:
    """Return the lines that are code; of a text too tangled to tell, none."""
    try:
        code = set(code_lines(body))
    except BadRecord:
        return ()
    indented = any(
        n not in code and row.startswith(("    ", "\t", " \t", "  \t", "   \t")) and _CITATION.search(row)
        for n, row in enumerate(rows)
    )
    return code | indented_code_lines(body) if indented else code


def _pieces(rows: list[str], code: Iterable[int]) -> Iterator[list[int]]:
    """Yield runs of lines that form one paragraph, item, row or heading: no code span reaches beyond them."""
    piece: list[int] = []
    for number, row in enumerate(rows):
        gap = number in code or not row.strip()
        if piece and (gap or _BLOCK_START.match(row)):
            yield piece
            piece = []
        if not gap:
            piece.append(number)
    if piece:
        yield piece


def _without_code(text: str) -> str:
    """Return *text* with its code spans and escaped characters blanked, lines and lengths kept."""
    if "`" not in text and "\\" not in text:
        return text
    closers: dict[int, list[int]] = {}
    for run in reversed(list(_TICKS.finditer(text))):
        closers.setdefault(len(run.group()), []).append(run.start())
    out: list[str] = []
    at = 0
    for mark in _MARK.finditer(text):
        if mark.start() < at:
            continue
        end = mark.end() if mark.group()[0] == "\\" else _span_end(mark, closers)
        out += (text[at : mark.start()], _blank(text[mark.start() : end]))
        at = end
    return "".join(out) + text[at:]


def _span_end(opener: re.Match[str], closers: dict[int, list[int]]) -> int:
    """Return where the code span ends that *opener* begins; where *opener* ends if none does."""
    length = len(opener.group())
    starts = closers.get(length, [])
    while starts and starts[-1] < opener.end():
        starts.pop()
    return starts[-1] + length if starts else opener.end()


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
