"""Name the parts of a foreign decision record: sections, reasons, numbers and titles, references (see `adr`)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from kb.adr.adr_fields import (
    DECIDED,
    is_status_word,
    list_status_rows,
    name_field,
    normalise_heading,
    parse_date,
    parse_status,
    read_badges,
)
from kb.adr.adr_words import SECTION_BY_HEADING
from kb.records.kinds import resolve_section_name
from kb.records.model import Section, Status
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import has_cjk

if TYPE_CHECKING:
    from kb.adr.adr_outline import AdrPart

# -- section names --------------------------------------------------------------------------------

_PARENTHESIS_TAIL = re.compile(r"(?<!\s)\s*+(?=[(（/])")


@lru_cache(maxsize=256)
def match_section(heading: str) -> str:
    """Return the canonical name of the section that *heading* begins, "status", or "".

    Consequences are the record's impact (what follows from the decision); drivers, links and the like have no name.
    """
    plain = normalise_heading(heading)
    return _match_heading(plain) or _match_heading(_PARENTHESIS_TAIL.split(plain, maxsplit=1)[0])


def extract_remark(heading: str) -> str:
    """Return what *heading* says beside its section's name: "(2024, staging)" of "Evidence (2024, staging)"."""
    head, *tail = _PARENTHESIS_TAIL.split(normalise_heading(heading), maxsplit=1)
    return tail[0] if tail and _match_heading(head) and not _match_heading(tail[0].strip("()（）/ ")) else ""


def _match_heading(plain: str) -> str:
    word = plain.rstrip(":：").strip().lower()
    return resolve_section_name(word) or SECTION_BY_HEADING.get(word, "")


# -- the outcome ---------------------------------------------------------------------------------

_SUBSECTION = re.compile(r"(?m)^### ++([^\n](?:[^\n]*[^\n \t#])?)[ \t#]*$")
_CHOSEN = re.compile(r"\W*(?:Chosen (?:option|solution|alternative)|选择|选定|选中|所选|采用|决定)", re.IGNORECASE)
_BECAUSE = re.compile(r"(?i)(?:[,;.]\s*|\s)because\b[ \t:,]*|[，；]?因为[：:，]?\s*")
_LIST = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")


def split_outcome(text: str, taken: set[str]) -> tuple[str, list[Section]]:
    """Return the outcome's own text, then its subsections on consequences and confirmation as sections of their own."""
    code = find_code_lines(text)
    marks = [match for match in _SUBSECTION.finditer(text) if text.count("\n", 0, match.start()) not in code]
    if not marks:
        return text, []
    ends = [match.start() for match in marks[1:]] + [len(text)]
    own = text[: marks[0].start()]
    split: dict[str, Section] = {}
    for match, end in zip(marks, ends, strict=True):
        heading, whole = match[1], text[match.start() : end]
        name = "impact" if re.search(r"(?i)\bconsequences\b|后果", heading) else match_section(heading)
        if name not in ("impact", "verification") or name in taken:
            own += whole
        elif name in split:
            split[name] = split[name]._replace(text="\n\n".join((split[name].text, whole.strip("\n"))))
        else:
            # "Positive Consequences" is more than the name of the section: the heading stays in the text.
            inside = text[match.end() : end] if match_section(heading) == name else whole
            split[name] = Section(name, heading, inside.strip("\n"))
    return own.strip("\n"), [*split.values()]


def extract_reason(decision: str) -> str:
    """Return what a MADR outcome ("Chosen option: …, because …") gives as its reason, word for word, or ""."""
    paragraphs = re.split(r"\n[ \t]*\n", decision)
    for number, paragraph in enumerate(paragraphs):
        match = _BECAUSE.search(paragraph) if _CHOSEN.match(paragraph) else None
        if match is None:
            continue
        clause = paragraph[match.end() :].strip()
        following = paragraphs[number + 1] if number + 1 < len(paragraphs) else ""
        if not clause or clause[-1] in ":：":
            clause = f"{clause}\n\n{following}".strip("\n") if _LIST.match(following) else ""
        return "" if clause.startswith("{") else clause
    return ""


def build_sections(preamble: str, rest: Sequence[AdrPart], status: Status) -> tuple[Section, ...]:
    """Return the record's sections in the order of the file; the first of a name has it, others keep their heading.

    Where their heading is that of the section too, they are part of the first: of two sections only one is read.
    """
    found: list[Section] = []
    taken = {match_section(part.heading) for part in rest}
    if preamble.strip():
        found.append(Section("", choose_preamble_heading(preamble), preamble.strip("\n")))
    for part in rest:
        name, text = match_section(part.heading), part.text.strip("\n")
        if name == "status":
            # A status section whose word is the record's status says nothing more.
            is_mapped = parse_status(text).exact and parse_status(text).status == status
            found += [Section("", part.heading, text)] if text.strip() and not is_mapped else []
            continue
        first = next((number for number, section in enumerate(found) if name and section.name == name), None)
        if first is not None and name == resolve_section_name(part.heading):
            is_alike = part.heading.casefold() == found[first].heading.casefold()
            own = text if is_alike else f"### {part.heading}\n\n{text}"
            found[first] = found[first]._replace(text="\n\n".join(filter(None, (found[first].text, own))))
            continue
        is_first = bool(name) and first is None
        text, subsections = split_outcome(text, taken) if name == "decision" and is_first else (text, [])
        remark = extract_remark(part.heading) if is_first and name != resolve_section_name(part.heading) else ""
        own = "\n\n".join(filter(None, (remark, text)))
        found += [Section(name if is_first else "", part.heading or "…", own), *subsections]
    decision = next((section.text for section in found if section.name == "decision"), "")
    clause = extract_reason(decision)
    if clause and not any(section.name == "why" for section in found):
        at = max(n for n, section in enumerate(found) if section.name == "decision") + 1
        found.insert(at, Section("why", "理由" if has_cjk(clause) else "Why", clause))
    return tuple(found)


# -- numbers and titles ---------------------------------------------------------------------------

_NAME_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[-_ ](?=\D|(\d{3,4})[-_ ]\D)|$)")
"""`20201016-…`, `2020-10-16-…`, and with a number behind it `2020-10-16_012-…`."""
_NAME_MONTH = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])-\D")
_NAME_NUMBER = re.compile(r"(?i)(?:(?:[a-z]{0,4}dr|decision|record|决策)[-_ ]?)?0*(\d{1,5})(?=[-_. ]|$)")
_RECORD_WORD = (
    r"(?:architectur(?:e|al) decision(?: records?)?|decision records?|[a-z]{0,3}adr|agdr|[a-z]?dr"
    r"|架构决策(?:记录)?|决策记录)"
)
_TITLE_NUMBER = (
    re.compile(rf"(?i)\[?{_RECORD_WORD}[-_# ]?\s?(\d{{1,5}})\]?(?:\s*[:：.,\-–—]+\s*|\s+)(?=\S)"),
    re.compile(rf"(?i){_RECORD_WORD}()\s*[:：\-–—]\s*(?=\S)"),
    re.compile(r"\[?(\d{1,5})\]?(?:\s?[.:：)\]\-–—]+\s+|\s?[、：]\s*|\s+[-–—]\s+)(?=\S)"),
)
_TITLE_BARE_NUMBER = re.compile(r"0*(\d{1,5})\s+(?=\S)")


_PAGES_OF_FOLDERS = frozenset({"readme", "index"})
"""Files that are called by their folder: the record `0007-kafka/README.md` is 7, on Kafka."""


def is_folder_page(name: str) -> bool:
    """Return whether a file called *name* is the page of its folder."""
    return _FILE_END.sub("", name.lower()) in _PAGES_OF_FOLDERS


def extract_stem(path: str) -> str:
    """Return the name of the record in the file *path*: without folders and suffix, of a README its folder's."""
    *folders, name = path.replace("\\", "/").split("/")
    stem = _FILE_END.sub("", name)
    if is_folder_page(name) and folders and folders[-1] not in ("", ".", ".."):
        return folders[-1]
    return stem


def parse_file_number(path: str) -> int | None:
    """Return the number a file name begins with, or has behind a date, or None; a date such as 20201016 is none."""
    stem = extract_stem(path)
    if dated := _NAME_DATE.match(stem):
        return int(dated[4]) if dated[4] else None
    match = None if _NAME_MONTH.match(stem) else _NAME_NUMBER.match(stem)
    return int(match[1]) if match else None


def parse_file_date(path: str) -> str:
    """Return the ISO date a file name begins with (`20201016-…`, `2020-10-16-…`), or ""."""
    match = _NAME_DATE.match(extract_stem(path))
    return parse_date("-".join(match.group(1, 2, 3))).date if match else ""


def split_title_number(heading: str, number: int | None) -> tuple[str, int | None]:
    """Return *heading* without its "12." or "ADR-012:", and that number; *number* is the one of the file name."""
    title = heading.strip()
    for pattern in _TITLE_NUMBER:
        match = pattern.match(title)
        if match:
            return title[match.end() :], int(match[1]) if match[1] else None
    match = _TITLE_BARE_NUMBER.match(title)
    if match and number is not None and int(match[1]) == number:
        return title[match.end() :], number
    return title, None


_MAX_OWN_NUMBER = 99_999


def derive_id(path: str, number: int | None) -> str:
    """Return the id of the decision in the file *path*: D012 by its *number*, else one that its name alone gives.

    A name with a day is its day and three digits (D201016483), any other a nine and eight digits.
    """
    if number is not None and number <= _MAX_OWN_NUMBER:
        return f"D{number:03d}"
    mark = zlib.crc32(extract_stem(path).lower().encode())
    if day := parse_file_date(path):
        return f"D{day.replace('-', '')[2:]}{mark % 1000:03d}"
    return f"D9{mark % 10**8:08d}"


PREAMBLES = ("前言", "Preamble")


def choose_preamble_heading(text: str) -> str:
    """Return the heading under which a record keeps *text* that stands before a file's first section."""
    return PREAMBLES[0] if has_cjk(text) else PREAMBLES[1]


def is_numbered_record(heading: str) -> bool:
    """Return whether *heading* names a decision record by its number: "ADR-7: …", and not "1. Install"."""
    match = _TITLE_NUMBER[0].match(heading.strip())
    return bool(match and match[1])


def derive_title(path: str) -> str:
    """Return a title made of the words of a file name, for a file that has none inside."""
    stem = extract_stem(path)
    match = _NAME_DATE.match(stem) or _NAME_NUMBER.match(stem)
    words = stem[match.end(4) if match and match.re is _NAME_DATE and match[4] else match.end() if match else 0 :]
    return re.sub(r"[-_]+", " ", words).strip() or stem


# -- fields in unusual forms ---------------------------------------------------------------------

_LOOSE_FIELD = re.compile(
    r"[\s>*+#_-]{0,9}([^\W\d_][\w '’-]{1,30}?)(?:(?:\*\*|__)[ \t]?[:=—–-]?|[ \t]?[:：=→]|[ \t]+[-–—]{1,2})"
    r"[ \t]*(\S.*)"
)
_BESIDE_TAGS = re.compile(r"</(?:t[dh]|dt)>\s{0,9}<(?:t[dh]|dd)\b[^<>]{0,200}>|\n[ \t]{0,9}:(?=[ \t])")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|<!--|-->")
_STATUS_END = re.compile(r"[,.;:(（|·•，；]|\s!\[|\s[—–-]{1,2}\s|\s(?:on|since|as of|by|am|le|el|em|il|op)\s")
_IN_BRACKETS = re.compile(
    r"\W{0,9}[\[(（【]([^\[\]()（）【】]{2,30})[\])）】]|.*[\[(（【]([^\[\]()（）【】]{2,30})[\])）】]\W{0,3}\Z"
)
_DUE = re.compile(r"(?i)\b(?:review|until|expir|deadline|due|next|revisit|target|planned)|复审|到期|截止|見直し|期限")
_SIGNED = re.compile(
    r"(?i)[\s>*+#_-]{0,9}(?!status|statut|estado|stato|статус|状态|狀態|ステータス|상태)"
    r"(?:[^\W\d_][\w ()'’*-]{1,30}[:=：]|(?:accepted|approved|decided|proposed|drafted|created|written|authored|by)\s)"
)
"""A line of a header that says who did what, and when."""
_HEADER_LINES = 12
_MAX_HEADER_CHARACTERS = 160


def _list_loose_fields(text: str) -> list[tuple[str, str]]:
    """Return the fields, with their values, that *text* has in HTML, behind a dash, or in a comment."""
    plain = _TAGS.sub("\n", _BESIDE_TAGS.sub(": ", text[:20_000]))
    pieces = (piece[:400] for piece in re.split(r"[\n;|·•｜]", plain))
    fields = (match for piece in pieces if (match := _LOOSE_FIELD.fullmatch(piece)))
    return [(name_field(field[1]) or field[1].lower(), field[2].strip(" *_`")) for field in fields]


def _list_header_lines(text: str) -> list[str]:
    lines = (line.strip() for line in text[:20_000].splitlines())
    return [line for line in lines if 0 < len(line) <= _MAX_HEADER_CHARACTERS][:_HEADER_LINES]


def find_loose_status(header: str, foot: str, title: str) -> str:
    """Return the words for the status of a record that has no field or section on it, or "".

    “**Accepted** · 2024-05-06” above the first section, `<td>Status</td><td>Accepted</td>`, “Status — accepted”, a list
    of the statuses it has had, or “[Accepted]” in the title.
    """
    for name, value in (*_list_loose_fields(header), *_list_loose_fields(foot)):
        if name in ("status", "state") and parse_status(value).certain:
            return value
    own = (line for line in _list_header_lines(header) if not _DUE.search(line))
    lines = [re.sub(r":\w{2,30}:|^#{1,6}\s", "", read_badges(line)) for line in own]
    bare = [line for line in lines if is_status_word(_STATUS_END.split(line.strip(" >*_-+"), maxsplit=1)[0])]
    if bare and len({parse_status(line).status for line in bare}) == 1:
        return bare[0].strip(" >*_-+")
    decided = (match for line in _list_header_lines(header) if (match := DECIDED.search(line)))
    for match in decided:  # "Kind: decision (ACCEPTED 2024-05-06, agreed by all)"
        if match.string[: match.start()].rstrip()[-1:] in tuple("([（【*_|·>"):
            return match.group()
    if rows := list_status_rows(header):
        return rows[-1].status
    found = _IN_BRACKETS.match(title[:400])
    words = found[1] or found[2] if found else ""
    return words if words and is_status_word(words) else ""


def find_loose_date(header: str, foot: str) -> str:
    """Return the text that says the day of a record without a field on it: the only date of its header, or "".

    “Version 1.2 (2024-05-06)” names it too; “Review until 2025-01-01” does not.
    """
    fields = [(name, value) for text in (header, foot) for name, value in _list_loose_fields(text)]
    for wanted in ("date", "day", "created", "updated"):
        for name, value in fields:
            if name == wanted and parse_date(value, day_first=True).date:
                return value
    decided = next(filter(None, map(DECIDED.search, _list_header_lines(header))), None)
    if decided:
        return decided[1]
    lines = [line for line in _list_header_lines(header) if _SIGNED.match(line) and not _DUE.search(line)]
    days = [line for line in lines if parse_date(line).date]
    return days[0] if len({parse_date(line).date for line in days}) == 1 else ""


# -- references to other records ------------------------------------------------------------------

_SUFFIXES = r"(?:md|markdown|adoc|asciidoc|rst)"
REFERENCE = re.compile(
    r"\[(?P<label>[^\[\]]{0,200})\]\((?P<url>[^()\s]{1,300})\)"
    r"|(?<![a-zà-ɏ\d_/#-])(?:ADRs?|DR)(?:[-‐‑_ #]|\s?(?:№|n[ro]\.?|n[°º]|n\.º)\s?)?"
    r"(?P<number>\d{1,5}(?:[a-z](?![a-z\d]))?)(?![\w.]?\d"
    r"|-\d\d-\d)"
    r"|\[\[(?P<wiki>[^\[\]|]{1,200})(?:\|[^\]]{0,200})?\]\]"
    rf"|(?<![a-zà-ɏ\d_/.-])(?:[\w.-]{{1,60}}/){{0,8}}(?P<file>(?:ADR[-_])?\d{{1,8}}-[\w.-]{{3,150}}\.{_SUFFIXES})\b"
    r"|(?<![a-zà-ɏ\d_/.#-])(?P<slug>\d{3,5}-(?=[^\W\d_])[\w-]{4,150})(?![\w./])"
    r"|(?<![a-zà-ɏ\d_/.#-])"
    r"(?P<mark>(?-i:ADR(?:-[A-Za-z][A-Za-z0-9]{0,9}){1,2}|[A-Z]{2,8}|[A-Z][a-z]{1,5}DR)[- ]?\d{1,5})(?![\w-]|\.\d)"
    r"|(?<![\w.,:/#$-])(?P<padded>0\d{2,4})(?![\w%-]|[.,:/]\d)",
    re.IGNORECASE,
)
"""A link, `ADR-12`, a wiki link, a file, its name alone, an id with the house's own prefix, or `0012`."""
_NUMBERED = re.compile(r"(?i)\b(?:ADR|DR)[- #]?(\d{1,5})\b|^0*(\d{1,5})(?:[.:]|$)")
_RECORD_FOLDER = re.compile(r"(?:^|/)(?:\d{4}-\d\d-\d\d|\d{2,5})[-_][\w-]{1,100}/?$")
_FILE_END = re.compile(rf"(?i)\.{_SUFFIXES}$")
_FURTHER = re.compile(
    r"\s{0,2}(?:[,/、，&・]|and\b|und\b|et\b|y\b|e\b|和|与|と)\s{0,2}#?(\d{2,5})(?![a-z\d_%-]|[.:]\d)"
)
"""The next number of “ADR-0012, 0013 and 0014”."""
_MARK = re.compile(r"(?i)\W{0,4}((?:[a-z][a-z0-9]{0,9}[-_ ]?){1,3}?)[-_ #]?0*(\d{1,5})(?!\d)")


class AdrLink(NamedTuple):
    """One statement of a record about another."""

    relation: str
    """supersedes, superseded_by, amends or amended_by, seen from the record that says it."""
    target: str
    """A path as it is written, a file name or slug, a number, or the title as `quote_title` writes it."""
    in_part: bool = False
    is_open: bool = False
    """Whether the words leave open which of the two acts: it counts only where the one that acts is the younger."""


class AdrReference(NamedTuple):
    """A reference to another record, and where it stands."""

    target: str
    start: int
    end: int


def quote_title(title: str) -> str:
    """Return the target of a link that names a record by its *title* alone."""
    return f'"{" ".join(title.lower().split())}"'


def iter_references(text: str) -> Iterator[AdrReference]:
    """Yield the records that *text* refers to; links to anything else are none."""
    for match in REFERENCE.finditer(text):
        url = unquote((match["url"] or "").partition("#")[0])
        number = _NUMBERED.search(match["label"] or "")
        target = next(filter(None, match.group("number", "wiki", "file", "slug", "mark", "padded")), "")
        if _FILE_END.search(url):
            target = url.rpartition("/")[2] if "://" in url else url
        elif "://" not in url and _RECORD_FOLDER.search(url):  # a folder that is one record
            target = f"{url.rstrip('/')}/README.md"
        elif match["url"] and number:
            target = number[1] or number[2]
        elif _RECORD_FOLDER.search(url):  # a page of a site, or a file whose suffix was left out
            target = url.rstrip("/").rpartition("/")[2]
        if not target:
            continue
        yield AdrReference(str(int(target)) if match["padded"] else target, match.start(), match.end())
        end = match.end()
        while match["number"] and (further := _FURTHER.match(text, end)) and len(further[1]) == len(match["number"]):
            yield AdrReference(further[1], further.start(1), further.end())
            end = further.end()


def has_reference(text: str) -> bool:
    """Return whether *text* names another record."""
    return any(not parse_mark(one.target) for one in iter_references(text))


MAX_POINTER_CHARACTERS = 160
"""What says more than this beside a reference, is more than the way to it; Chinese characters count twice."""


def is_pointer(texts: Iterable[str]) -> bool:
    """Return whether all that *texts* say is where to read on: “Moved to ADR 7”."""
    said = [paragraph for paragraph in re.split(r"\n[ \t]*\n", "\n\n".join(texts)) if re.search(r"\w", paragraph)]
    own = len(REFERENCE.sub("", "".join(said))) + sum(letter > "\u2e80" for letter in "".join(said))
    return bool(said) and own <= MAX_POINTER_CHARACTERS and all(map(has_reference, said))


def parse_mark(text: str) -> str:
    """Return the id that *text* begins with, as in “YDR-005: …” or `adr-fe-012-cache`, in one form: "ydr-5", or ""."""
    match = _MARK.match(text)
    return re.sub(r"[-_ ]", "", match[1]).lower() + f"-{int(match[2])}" if match else ""


_DEFINED = re.compile(r"(?m)^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*+<?([^\s<>]{1,300})>?(?=\s|\Z)")
_BY_LABEL = re.compile(r"\[([^\[\]\n]{1,200})\](?:\[([^\[\]\n]{0,200})\])?(?![\[(:])")


def list_definitions(text: str) -> dict[str, str]:
    """Return the addresses that *text* defines for its links: label in lower case → “[label]: 0007-x.md”."""
    return {match[1].lower(): match[2] for match in _DEFINED.finditer(text)} if "]:" in text else {}


def inline_links(text: str, definitions: Mapping[str, str]) -> str:
    """Return *text* with its links by label, “[the process][process]”, as links that name their addresses."""

    def write_link(match: re.Match[str]) -> str:
        address = definitions.get((match[2] or match[1]).lower())
        return f"[{match[1]}]({address})" if address else match.group()

    return _BY_LABEL.sub(write_link, text) if definitions else text


_CODE = re.compile(r"`[^`\n]{0,300}`")


def drop_code(text: str) -> str:
    """Return *text* without code of several words, such as an example of a status; `0012` alone may be a record."""
    return _CODE.sub(lambda match: "" if " " in match.group() else match.group(), text)
