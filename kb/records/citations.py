"""Find what a text refers to: records by citations, files by links and paths, and the options that a decision rejected.

A citation is `[D001]` in its own scope and `[shop:D001]` in another (SHI-18). The names of rejected options go into the
index; `guard.taken_options` looks for them in new code.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

from kb.errors import BadRecord
from kb.records.front_matter import TextSpan, find_body_start
from kb.records.kinds import BY_PREFIX
from kb.records.model import Record
from kb.startup.lazy_regex import regex
from kb.text.markdown_scan import find_code_lines, find_indented_code
from kb.text.mentions import find_paths, is_document
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
"""What precedes the destination of a link or image, or of a link definition."""
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
"""Maximum characters of a destination, and of its title: a repeated `[a](` never ends one."""
_PATH = regex(r"(?:[^#?\\]|\\[^#?])*")
_ELSEWHERE = regex(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\\|\Z")
_ESCAPED = regex(r"\\([!-/:-@\[-`{-~])")
_UNFIT = regex(r"[\x00- \x7f()<>%#?\\`|\"\[\]]")


def find_citations(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each citation as (project or "", id, 1-based line).

    Skip code, images, links with their definitions, escaped text, `[D1]`, and the `[D001]` in a record's own heading.
    In a text nested too deeply to parse, nothing counts as code.
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
    """Return project (or ""), id and span of the `[shop:D001]`, or `kb:D001` in code, at *column* of *row*, or None.

    Unlike `find_citations` this ignores the context: a reader who points at an id wants to see the record.
    """
    for match in _REFERENCE.finditer(row):
        if match.start() <= column <= match.end():
            return match[1] or "", match[2] or match[3], TextSpan(match.start(), match.end())
    return None


def _find_relevant_code(body: str, rows: list[str], sought: re.Pattern[str]) -> Iterable[int]:
    """Return the lines of code; indented code only if one of its lines has a *sought* match; raise BadRecord."""
    # Finding indented code needs a full Markdown parser, which most texts can do without.
    code = set(find_code_lines(body))
    indented = any(
        n not in code and row.startswith(("    ", "\t", " \t", "  \t", "   \t")) and sought.search(row)
        for n, row in enumerate(rows)
    )
    return code | find_indented_code(body) if indented else code


def _iter_paragraphs(rows: list[str], code: Iterable[int]) -> Iterator[list[int]]:
    """Yield the lines of each paragraph, item, row or heading: no code span extends beyond one."""
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
    """Return *text* with code spans and escaped characters blanked; lines and lengths stay."""
    if "`" not in text and "\\" not in text:
        return text
    # A span opened by n backticks is closed by the next run of exactly n: runs by length, last one first.
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
    """Return the end of the code span that *opener* begins, or the end of *opener* if the span is not closed."""
    length = len(opener.group())
    starts = closers.get(length, [])
    while starts and starts[-1] < opener.end():
        starts.pop()
    return starts[-1] + length if starts else opener.end()


# -- links to files -------------------------------------------------------------------------------


def rewrite_links(text: str, new: Callable[[str], str]) -> str:
    """Return *text*, which has no front matter, with the path of each relative link and image mapped by *new*.

    *new* gets the path as the file system has it, without anchor, and returns "" to keep it. A replacement is
    percent-encoded if the old path was. Code stays unchanged, as does a text nested too deeply to parse.
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
    """Return the spans of the paths of links, images and link definitions outside code, without anchors.

    Cached because one text is scanned several times in a row, for links to records and for other links.
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
    """Yield the destinations in one *piece* of text, which begins at the offset *start*."""
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
            # "(see [a](b_(c).md))": a destination without angle brackets ends at the first unmatched bracket.
            bare = _ESCAPED.sub("", path)
            if bare.count("(") == bare.count(")") or group == 1:
                yield TextSpan(start + target.start(group), start + target.start(group) + len(path))


_RECORD_FILE = regex(
    rf"(?:(?:^|/)(?:projects/(?P<project>[^/]{{1,100}})|(?P<shared>global))/)?(?P<id>{_ID})-[^/]*\.md\Z"
)


def find_record_links(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each link to a record file, such as `[ADR 7](D007-kafka.md)`, in the form of `find_citations`.

    A link into another folder names its scope like a citation: the project, or "global".
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
    """Return the path in a destination as *written*, decoded."""
    path = _ESCAPED.sub(r"\1", written) if "\\" in written else written
    if "%" not in path:
        return path
    from urllib.parse import unquote

    return unquote(path)


def _encode_path(path: str, like: str, in_angles: bool) -> str:
    """Return *path* as a destination: percent-encoded if *like*, which it replaces, is; else only where necessary."""
    from urllib.parse import quote

    if "%" in like:
        return quote(path, safe="/!$&'*+,;=:@~")
    return _UNFIT.sub(lambda match: " " if in_angles and match.group() == " " else quote(match.group()), path)


NAME, WORD, CODE, SORT = "name", "word", "code", "sort"
"""How an option is named. A product ("RabbitMQ") matches anywhere in code. An ordinary word ("memcached sidecar")
matches only as a package, and a piece of code (`approved: bool`) as written. A sort ("a shared database") matches any
of its products."""

SORTS = {
    "database": "database", "databases": "database", "db": "database", "数据库": "database", "cache": "cache",
    "缓存": "cache", "queue": "queue", "broker": "queue", "队列": "queue", "orm": "orm", "service": "server",
    "server": "server", "daemon": "server", "microservice": "server", "服务": "server", "服务器": "server",
}  # fmt: skip
"""Word → the sort of product it stands for if no product is named."""

_MAX_OPTIONS, _MAX_HEAD_CHARACTERS, _MAX_CODE_CHARACTERS = 12, 90, 60
_KINDS = ("decision", "constraint", "interface")
_ITEM = regex(r"\A\s*+(?:[-*+•]|\d{1,2}[.)、]|#{2,6}|\|)\s++")
# what separates an option from its reason: "Redis — ops refuses it", "Flask：更底层", "Django because …"
_REASON = regex(r"\s[—–|-]+\s|[:：(（|]|[,，;；。]|\.\s|\.$|\s(?:because|since|as it|but)\s|因为|由于|但")
_CODE_SPAN = regex(r"`([^`\n]{2,80})`")
_TOKEN = regex(r"[A-Za-z][A-Za-z0-9]*(?:[.+#/-][A-Za-z0-9]+)*(?:\+\+|#)?")
_IDENTIFIER = regex(r"@?[A-Za-z_][\w./-]*")
_CHOSEN = regex(r"(?i)\b(?:chosen|selected|accepted|adopted|this (?:one|option))\b|✅|✔|选定|选中|采纳|最终选择")
# “Use X instead of Y”, 用 X 而不是 Y: what follows is rejected
_CONTRAST = regex(
    r"(?i)(?:\b(?:instead of|rather than|over|not|without|no longer|replac\w+|drop\w*|versus|vs)\b|而不是|而非|"
    r"代替|替代|取代|不用|不使用|不采用|弃用)[^.;；。，,\n]*"
)
_GENERIC = frozenset(
    """option alternative approach solution keep nothing none good bad neutral pros cons current existing custom own
    simple plain single shared separate central common use using build make write store load service server client
    library framework tool tools cache database queue table file files code data type types class model module package
    test tests config string object value field method function parameter request response session token user time
    based only first both each every with without from into through more less same other standard default native
    static dynamic local remote global internal external manual automatic java python javascript typescript
    golang rust kotlin http https json yaml html rest base core util utils common main index src docs web app api sql
    system path json xml""".split()
)  # words under which packages exist, and with which any option may begin


def extract_rejected_options(record: Record) -> list[tuple[str, str]]:
    """Return (folded text, NAME | WORD | CODE | SORT) for each name of an option that *record* rejected.

    Leave out the chosen option, taken from the title and the start of the decision: lists of considered options mostly
    include it.
    """
    text = record.section("alternatives")
    if record.kind not in _KINDS or len(text) < 3:
        return []
    decided = _CONTRAST.sub(" ", f"{record.title}\n{record.section('decision')[:300]}")
    chosen = {match[0].casefold() for match in _TOKEN.finditer(decided)}
    parts = {part for token in chosen for part in (token, *re.split(r"[.+#/-]", token))}
    kinds_by_text: dict[str, str] = {}
    for row in _iter_rows(text):
        head = _cut_reason(row)[:_MAX_HEAD_CHARACTERS]
        names = dict(_iter_names(head))
        for value, sort in names.items():
            if value not in parts and kinds_by_text.get(value) != NAME:
                kinds_by_text[value] = sort
        if not {NAME, CODE} & set(names.values()):
            kinds_by_text |= {meant: SORT for word, meant in SORTS.items() if _has_term(head, word)}
    return list(kinds_by_text.items())


def find_option_row(record: Record, value: str) -> str:
    """Return the row of the alternatives of *record* that names the option *value*, or ""."""
    for row in _iter_rows(record.section("alternatives")):
        head = _cut_reason(row)[:_MAX_HEAD_CHARACTERS]
        if value in dict(_iter_names(head)) or any(_has_term(head, word) for word in SORTS if SORTS[word] == value):
            return row
    return ""


def _has_term(head: str, word: str) -> bool:
    return word in head if not word.isascii() else re.search(rf"\b{word}\b", head, re.IGNORECASE) is not None


def _iter_rows(text: str) -> Iterator[str]:
    """Yield the rejected options in *text*: its list items not marked as chosen, or its sentences if it has no list."""
    rows = [row for row in text.splitlines() if row.strip()]
    items = [row for row in rows if _ITEM.match(row)]
    pieces = items or [piece for row in rows for piece in re.split(r"(?<=[.;；。])\s*", row)]
    for piece in pieces[:_MAX_OPTIONS]:
        plain = _ITEM.sub("", piece, count=1).replace("**", "").strip()
        if not _CHOSEN.search(plain):
            yield plain


def _cut_reason(row: str) -> str:
    """Return *row* without its reason; colons in code spans such as `approved: bool` do not start one."""
    spans = [match.span() for match in _CODE_SPAN.finditer(row)]
    for match in _REASON.finditer(row):
        if match.start() and not any(start <= match.start() < end for start, end in spans):
            return row[: match.start()]
    return row


def _iter_names(head: str) -> Iterator[tuple[str, str]]:
    for span in _CODE_SPAN.findall(head):
        squeezed = re.sub(r"\s+", "", span).casefold()
        if _IDENTIFIER.fullmatch(span.strip()):
            yield squeezed.strip("@./"), NAME
        elif 4 < len(squeezed) <= _MAX_CODE_CHARACTERS:
            yield squeezed, CODE
    plain = _CODE_SPAN.sub(" ", head)
    tokens = list(_TOKEN.finditer(plain))
    for match in tokens:
        token, folded = match[0], match[0].casefold()
        if folded in _GENERIC or len(folded) < 3:
            continue
        # a capital at the start of a sentence is no evidence, unless the option is this one word
        begins = not plain[: match.start()].strip() and len(tokens) > 1
        is_name = not token.isupper() and (
            any(map(str.isupper, token[1:])) or any(map(str.isdigit, token)) or (token[0].isupper() and not begins)
        )
        if is_name or len(folded) > 3:
            yield folded, NAME if is_name else WORD


MAX_SCANNED_CHARACTERS = 100_000
"""Characters of a record in which paths are looked for."""


def find_named_paths(record: Record) -> tuple[str, ...]:
    """Return the files of code that the text of *record* names and that none of its impact paths covers."""
    text = "\n".join(section.text for section in record.sections)[:MAX_SCANNED_CHARACTERS]
    if "/" not in text:
        return ()
    declared = {path.rstrip("/") for path in record.impact}
    above = tuple(f"{path}/" for path in declared)
    paths = find_paths(text)
    return tuple(
        path for path in paths if path not in declared and not path.startswith(above) and not is_document(path)
    )
