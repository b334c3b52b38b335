"""Find what a text refers to: `[D001]` in its own scope, `[shop:D001]` in another (SHI-18), and files by links."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

from kb.errors import BadRecord
from kb.records.front_matter import TextSpan, find_body_start
from kb.records.kinds import BY_PREFIX
from kb.startup.lazy_regex import regex
from kb.text.markdown_scan import find_code_lines, find_indented_code
from kb.text.segment import find_line_number, split_lines

_ID = "(?:" + "|".join(sorted(BY_PREFIX, key=len, reverse=True)) + ")[0-9]{3,9}"
_CITATION = regex(rf"\[(?:((?:group/|agent/)?[\w.-]{{1,100}}):)?({_ID})\]")
_CHAIN = regex(rf"(?<![A-Za-z0-9\]!])(?<![A-Za-z0-9]_)(?:\[(?:[\w.-]{{1,100}}:)?{_ID}\])+")
_REFERENCE = regex(rf"\[(?:((?:group/|agent/)?[\w.-]{{1,100}}):)?({_ID})\]|(?<![\w/.-])kb:({_ID})(?![0-9A-Za-z])")
_DEFINITION = regex(
    r" {0,3}\[[^\[\]]+\]:[ \t]*(?:<[^<>]*>|\S+)(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*[\r\n]*\Z"
)
_NAME_PLATE = regex(rf" {{0,3}}#{{1,6}}[ \t]+\[{_ID}\]")
_BLOCK_START = regex(r"[ \t]*(?:[-*+>|]|[0-9]{1,9}[.)]|#{1,6}[ \t])")
_TICKS = regex("`+")
_MARK = regex(r"`+|\\[!-/:-@\[-`{-~]")

_LEAD = regex(r"(?m)\]\(|^[ \t>]*\[(?!\^)[^\[\]\r\n]+\]:")
"""What stands before the destination of a link or an image, or of a link's definition."""
_PLAIN = r"[^\s()<>`\\]|\\\S"
_ONE_DEEP = rf"{_PLAIN}|\((?:{_PLAIN})*+\)"
_TWO_DEEP = rf"{_PLAIN}|\((?:{_ONE_DEEP})*+\)"
_TARGET = regex(
    r"[ \t]*+(?:(?:\r\n|\n|\r)[ \t>]*+)?"
    rf"(?:<((?:[^<>`\\\r\n]|\\.)+)>|((?:{_PLAIN}|\((?:{_TWO_DEEP})*+\))++))"
)
_TITLE = r"(?:\s++(?:\"(?:[^\"\\]|\\[\s\S])*+\"|'(?:[^'\\]|\\[\s\S])*+'|\((?:[^()\\]|\\[\s\S])*+\)))?"
_BEHIND_TARGET = regex(rf"{_TITLE}\s*+\)")
_BEHIND_DEFINITION = regex(rf"{_TITLE}[ \t]*+(?:[\r\n]|\Z)")
_MAX_TARGET_CHARACTERS = 1000
"""Characters of a destination, and of the title behind it, that are read: `[a](` again and again ends none of them."""
_PATH = regex(r"(?:[^#?\\]|\\[^#?])*")
_ELSEWHERE = regex(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\\|\Z")
_ESCAPED = regex(r"\\([!-/:-@\[-`{-~])")
_UNFIT = regex(r"[\x00- \x7f()<>%#?\\`|\"\[\]]")


def find_citations(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each citation as (project or "", id, 1-based line).

    Code, images, links with their definitions and what is escaped do not count, nor `[D1]`, nor the `[D001]` with
    which a heading names its record. In a text too tangled to tell, nothing is code.
    """
    start = find_body_start(text)
    body = text[start:]
    if not _CITATION.search(body):
        return
    first = find_line_number(text, start)
    rows = split_lines(body)
    code: Iterable[int] = ()
    with contextlib.suppress(BadRecord):
        code = _find_relevant_code(body, rows, _CITATION)
    for piece in _iter_paragraphs(rows, code):
        shown = split_lines(_blank_code("".join(rows[n] for n in piece)))
        for number, row in zip(piece, shown, strict=True):
            if "[" not in row or _DEFINITION.match(row):
                continue
            plate = _NAME_PLATE.match(row)  # "# [D001] Use PostgreSQL" names the record itself
            for chain in _CHAIN.finditer(row, plate.end() if plate else 0):
                # `[D001](there)` and `[D001][there]` are links: the last of a chain is their text.
                is_link = row[chain.end() : chain.end() + 1] in ("(", "[")
                for project, record_id in _CITATION.findall(chain.group())[: -1 if is_link else None]:
                    yield project, record_id, first + number


def find_reference_at(row: str, column: int) -> tuple[str, str, TextSpan] | None:
    """Return project ("" for none), id and span of the `[shop:D001]`, or `kb:D001` as in code, at *column* of a *row*.

    Unlike `find_citations` this asks of no text around it: whoever points at one wants to know what it means.
    """
    for match in _REFERENCE.finditer(row):
        if match.start() <= column <= match.end():
            return match[1] or "", match[2] or match[3], TextSpan(match.start(), match.end())
    return None


def _find_relevant_code(body: str, rows: list[str], sought: re.Pattern[str]) -> Iterable[int]:
    """Return the lines that are code, those indented only where what is *sought* is in one; raise BadRecord."""
    # To find indented code takes a whole markdown parser, which most texts can do without.
    code = set(find_code_lines(body))
    indented = any(
        n not in code and row.startswith(("    ", "\t", " \t", "  \t", "   \t")) and sought.search(row)
        for n, row in enumerate(rows)
    )
    return code | find_indented_code(body) if indented else code


def _iter_paragraphs(rows: list[str], code: Iterable[int]) -> Iterator[list[int]]:
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


def _blank_code(text: str) -> str:
    """Return *text* with its code spans and escaped characters blanked, lines and lengths kept."""
    if "`" not in text and "\\" not in text:
        return text
    # A span that opens with n backticks is closed by the next run of exactly n: the runs by length, last one first.
    closers: dict[int, list[int]] = {}
    for run in reversed(list(_TICKS.finditer(text))):
        closers.setdefault(len(run.group()), []).append(run.start())
    out: list[str] = []
    at = 0
    for mark in _MARK.finditer(text):
        if mark.start() < at:
            continue
        end = mark.end() if mark.group()[0] == "\\" else _find_span_end(mark, closers)
        out += (text[at : mark.start()], re.sub(r"[^\r\n]", " ", text[mark.start() : end]))
        at = end
    return "".join(out) + text[at:]


def _find_span_end(opener: re.Match[str], closers: dict[int, list[int]]) -> int:
    """Return where the code span ends that *opener* begins; where *opener* ends if none does."""
    length = len(opener.group())
    starts = closers.get(length, [])
    while starts and starts[-1] < opener.end():
        starts.pop()
    return starts[-1] + length if starts else opener.end()


# -- links to files -------------------------------------------------------------------------------


def rewrite_links(text: str, new: Callable[[str], str]) -> str:
    """Return *text*, which has no front, with the paths of its relative links and images replaced by *new* of them.

    A path is given as the file system has it, without anchor; "" leaves it as it is written. What replaces it is
    percent-encoded as the old one was. Code stays, and so does a text too tangled to tell code from.
    """
    out: list[str] = []
    at = 0
    for span in list_destinations(text):
        written = text[span.start : span.end]
        path = "" if _ELSEWHERE.match(written) else _decode_path(written)
        lead = new(path) if path else ""
        if lead:
            out += (text[at : span.start], _encode_path(lead, written, text[span.start - 1] == "<"))
            at = span.end
    return "".join([*out, text[at:]]) if out else text


@lru_cache(maxsize=4)
def list_destinations(text: str) -> tuple[TextSpan, ...]:
    """Return where the paths of links, images and link definitions stand, outside code, without their anchors.

    One text is asked for them several times in a row: for its links to records, and for those that lead elsewhere.
    """
    if "](" not in text and "]:" not in text:
        return ()
    rows = split_lines(text)
    try:
        code = _find_relevant_code(text, rows, _LEAD)
    except BadRecord:
        return ()
    starts = [0, *accumulate(map(len, rows))]
    pieces = ((starts[piece[0]], starts[piece[-1] + 1]) for piece in _iter_paragraphs(rows, code))
    return tuple(span for start, end in pieces for span in _parse_destinations(text[start:end], start))


def _parse_destinations(piece: str, start: int) -> Iterator[TextSpan]:
    """Yield the destinations in one *piece*, which begins at the offset *start*."""
    shown = _blank_code(piece)
    first = shown.find("[")
    done = 0
    for lead in _LEAD.finditer(shown) if first >= 0 else ():
        if lead.start() < done or lead.end() - 2 <= first:
            continue
        target = _TARGET.match(piece, lead.end(), lead.end() + _MAX_TARGET_CHARACTERS)
        behind = _BEHIND_TARGET if lead.group() == "](" else _BEHIND_DEFINITION
        if target and behind.match(piece, target.end(), target.end() + _MAX_TARGET_CHARACTERS):
            done = target.end()
            group = target.lastindex or 0
            whole = _PATH.match(target.group(group))  # without anchor and query
            path = whole.group() if whole else ""
            # "(see [a](b_(c).md))": a destination without angle brackets ends at the bracket that nothing opened.
            bare = _ESCAPED.sub("", path)
            if bare.count("(") == bare.count(")") or group == 1:
                yield TextSpan(start + target.start(group), start + target.start(group) + len(path))


_RECORD_FILE = regex(
    rf"(?:(?:^|/)(?:projects/(?P<project>[^/]{{1,100}})|(?P<shared>global))/)?(?P<id>{_ID})-[^/]*\.md\Z"
)


def find_record_links(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each link to the file of a record, as `find_citations` does: `[ADR 7](D007-kafka.md)`.

    A link into another folder names its scope as a citation does: the project, or "global".
    """
    if ".md" not in text:
        return
    start = find_body_start(text)
    body = text[start:]
    for span in list_destinations(body):
        folder, _, name = _decode_path(body[span.start : span.end]).rpartition("/")
        match = _RECORD_FILE.search(f"{folder}/{name}" if folder else name)
        if match and not _ELSEWHERE.match(body[span.start : span.end]):
            yield match["project"] or match["shared"] or "", match["id"], find_line_number(text, start + span.start)


def _decode_path(written: str) -> str:
    """Return the path that is in a destination as *written*."""
    path = _ESCAPED.sub(r"\1", written) if "\\" in written else written
    if "%" not in path:
        return path
    from urllib.parse import unquote

    return unquote(path)


def _encode_path(path: str, like: str, in_angles: bool) -> str:
    """Return *path* as a destination: percent-encoded where *like*, which stood there, is; else only what must be."""
    from urllib.parse import quote

    if "%" in like:
        return quote(path, safe="/!$&'*+,;=:@~")
    return _UNFIT.sub(lambda match: " " if in_angles and match.group() == " " else quote(match.group()), path)
