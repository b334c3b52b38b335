"""Write decision records in the style of the folder they go into: a new one looks like the newest one there.

File name, number, heading, fields, the words of a status and the names of the sections are learnt from the files.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kb.adr.adr_fields import parse_date, parse_status
from kb.adr.adr_links import find_text_links
from kb.adr.adr_outline import (
    AdrFields,
    AdrPart,
    FieldLine,
    find_status_place,
    iter_field_lines,
    iter_sections,
    read_status,
    split_list,
    split_outline,
)
from kb.adr.adr_text import extract_stem, match_section, parse_file_date, parse_file_number
from kb.adr.adr_text import split_title_number as split_number
from kb.records.front_matter import find_front_matter, format_scalar
from kb.records.kinds import section_label
from kb.records.model import Record, Section
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import detect_newline, has_cjk, one_line, slugify, split_lines

_PLAIN = "# 1. Title\n\nDate: 2024-01-01\n\n## Status\n\nAccepted\n\n## Context\n\n## Decision\n\n## Consequences\n"
_PLAIN_ZH = "# 1. 标题\n\n日期: 2024-01-01\n\n## 状态\n\n已接受\n\n## 背景\n\n## 决策\n\n## 后果\n"
"""What an empty folder begins with: the five headings of Nygard's records, numbered as adr-tools does."""
_CHINESE_WORDS = {"proposed": "提议", "accepted": "已接受", "rejected": "已拒绝", "deprecated": "已废弃"}


class AdrStyle(NamedTuple):
    """How the records of a folder are written."""

    folder: str
    path: str
    """The newest record, relative to the knowledge base."""
    sample: str
    """Its text, with `\\n` as line ends."""
    words: Mapping[str, str]
    """Status → the word for it in this folder."""
    says_chinese: bool
    """Whether statuses and relations are in Chinese; headings may be where they are not."""
    has_chinese: bool
    """Whether headings are in Chinese."""
    constants: Mapping[str, str] = {}
    """The rows of front matter that the newest records have in common, such as `parent: Decisions`."""

    def say_status(self, status: str) -> str:
        """Return the word for *status* as this folder writes it."""
        if word := self.words.get(status):
            return word
        if self.says_chinese:
            return _CHINESE_WORDS.get(status, "已取代")
        return match_case(status, next(iter(self.words.values()), "Accepted"))

    def say_relation(self, relation: str, links: Sequence[str], like: str = "") -> str:
        """Return the line that states *relation* to the records behind *links*, in the case of the word *like*."""
        joined = ("、" if self.says_chinese else ", ").join(links)
        if self.says_chinese:
            phrases = {"superseded_by": "已被 {} 取代", "supersedes": "取代 {}", "amends": "修订 {}"}
            return phrases[relation].format(joined)
        phrase = relation.replace("_", " ")
        return f"{match_case(phrase, like or self.say_status('accepted'))} {joined}"

    def link(self, target: Record, path: str) -> str:
        """Return a link to the record *target* as a file *path* of this folder has it."""
        where = posixpath.relpath(target.path, posixpath.dirname(path))
        number = parse_file_number(target.path)
        if number is None:
            return f"[{target.title}]({where})"
        title = split_outline(self.sample).title
        counted = re.match(r"(\d+)\. ", title.heading) if title else None
        width = len(next(iter(re.findall(r"\d+", extract_stem(target.path))), ""))
        if counted:
            return f"[{_write_number(number, counted[1])}. {target.title}]({where})"
        return f"[ADR-{number:0{width}d}]({where})"


def match_case(word: str, like: str) -> str:
    """Return *word* in the case of *like*: ACCEPTED, Accepted or accepted."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def learn_style(folder: str, files: Sequence[tuple[str, str]], language: str) -> AdrStyle:
    """Return the style of the records in *folder*: *files* are path and text of some of them, the newest last."""
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for _, text in files:
        said = read_status(text).strip("*_ ")
        status = parse_status(said)
        if status.exact and len(said) < 20:
            words[status.status][said] += 1
    chosen = {status: counts.most_common(1)[0][0] for status, counts in words.items()}
    path, sample = next(((path, text) for path, text in reversed(files) if split_outline(text).sections), ("", ""))
    if not sample:
        sample = _PLAIN_ZH if language == "zh" else _PLAIN
        path = files[-1][0] if files else f"{folder}/0000-title.md"
    has_chinese = any(has_cjk(part.heading) for part in split_outline(sample).sections)
    says_chinese = has_cjk("".join(chosen.values())) or (not chosen and has_chinese)
    return AdrStyle(folder, path, sample, chosen, says_chinese, has_chinese, _find_constants(files))


_COMPARED = 3
"""How many of the newest records have to agree in a row of front matter for it to be the same in all."""


def _find_constants(files: Sequence[tuple[str, str]]) -> dict[str, str]:
    fronts = []
    for _, text in files[-_COMPARED:]:
        span = find_front_matter(text)
        rows = split_lines(text[span.start : span.end]) if span else []
        fronts.append({match[1]: match[3] for row in rows if (match := _ROW.match(row.rstrip("\n")))})
    shared = set.intersection(*(set(front.items()) for front in fronts)) if len(fronts) == _COMPARED else set()
    return dict(shared)


# -- file names -----------------------------------------------------------------------------------

_WORD = re.compile(r"(?i)((?:adr|decision|dr|record|决策)[-_ ]?)?(\d{1,5})([-_. ]|$)")


def build_file_name(style: AdrStyle, record: Record, number: int, taken: frozenset[str] = frozenset()) -> str:
    """Return the path of a new *record*, named as its neighbours are: `0013-use-kafka.md`, `20261016-use-kafka.md`."""
    stem, slug = extract_stem(style.path), slugify(record.title, 60)
    folder = posixpath.dirname(style.path)
    if parse_file_date(style.path):
        day = record.date if re.match(r"\d{4}-", stem) else record.date.replace("-", "")
        behind = re.match(r"[\d-]{8,10}_0*\d{1,5}-", stem)
        name = f"{day}_{number:03d}-{slug}" if behind else f"{day}-{slug}"
    elif (match := _WORD.match(stem)) and parse_file_number(style.path) is not None:
        width = max(len(match[2]) if match[2][0] == "0" or len(match[2]) > 2 else 1, 1)
        name = f"{match[1] or ''}{number:0{width}d}{match[3] and match[3] + slug}"
    else:
        name = slug
    if "_" in stem[len(name) - len(slug) :] and "-" not in stem[len(name) - len(slug) :]:
        name = name.replace(slug, slug.replace("-", "_"))
    path, count = f"{folder}/{name}.md", 2
    while path in taken:
        path, count = f"{folder}/{name}-{count}.md", count + 1
    return path


# -- a new record ---------------------------------------------------------------------------------


def render_new(style: AdrStyle, record: Record, number: int, statements: Sequence[str] = ()) -> str:
    """Return the text of a new *record*; *statements* are its lines on the records that it replaces.

    Headings of the newest record that this one has nothing for are left out, sections that the newest one lacks come
    last under kb's own names.
    """
    outline = split_outline(style.sample)
    known = parse_file_number(style.path)
    parts = [_render_front(outline.front, style, record, number, known)]
    if outline.title:
        parts += [outline.above, _render_title(outline.title, record.title, number, known)]
    header = (outline.title.text if outline.title else outline.above) + "".join(
        part.line + part.text for part in outline.header
    )
    fields = _render_fields(style, header, record)
    parts.append(f"\n{fields}\n" if fields else "\n")
    text = "".join(parts).rstrip("\n") + "\n\n" + _render_sections(style, outline.sections, record, statements)
    # the newest one may name no status, as MADR allows; what is written now has one
    return text if find_status_place(text) else set_status(text, style.say_status(record.status))


_ROW = re.compile(r"([A-Za-z_][\w .-]*?)([ \t]*:)[ \t]*(.*)$")


def _render_front(front: str, style: AdrStyle, record: Record, number: int, known: int | None) -> str:
    """Return the front matter of a new record: what it knows, and the keys of the *front* it is like without values."""
    span = find_front_matter(front)
    if span is None:
        return ""
    rows = []
    for row in split_lines(front[span.start : span.end]):
        match = _ROW.match(row.rstrip("\n"))
        if not match:
            continue  # a row of a list, or of a value of several lines
        key, value = match[1].lower(), match[3].strip()
        own = {"status": style.say_status(record.status), "date": record.date, "title": record.title}
        if key in own:
            made = format_scalar(own[key])
        elif key in ("tags", "labels") and record.tags:
            made = format_scalar(list(record.tags))
        elif known is not None and re.fullmatch(rf"\D*0*{known}", value.strip("\"'")):
            made = re.sub(r"\d+", lambda found: _write_number(number, found.group()), value)
        elif parse_date(value).exact and parse_date(value).date:
            made = record.date
        elif match[1] in style.constants:
            made = style.constants[match[1]]
        else:
            made = "[]" if value.startswith("[") else ""
        rows.append(f"{match[1]}{match[2]} {made}".rstrip() + "\n")
    return front[: span.start] + "".join(rows) + front[span.end :]


def _write_number(number: int, like: str) -> str:
    return f"{number:0{len(like)}d}" if like[0] == "0" else str(number)


def _render_title(part: AdrPart, title: str, number: int, known: int | None) -> str:
    """Return the heading of a new record, with its *number* where the heading *part* has one."""
    bare, _ = split_number(one_line(part.heading), known)
    lead = part.heading[: len(part.heading) - len(bare)] if part.heading.endswith(bare) else ""
    lead = re.sub(r"\d+", lambda found: _write_number(number, found.group()), lead, count=1)
    return f"{'#' * part.level} {lead}{one_line(title)}\n"


def _render_fields(style: AdrStyle, header: str, record: Record) -> str:
    """Return the field lines of a new record, in the form and the order of *header*."""
    text = f"# x\n{header}"
    found: dict[int, list[FieldLine]] = defaultdict(list)
    for at, field in iter_field_lines(text):
        found[at].append(field)
    rows: list[str] = []
    start = 0
    for line in split_lines(text):
        fields = found.get(start, [])
        start += len(line)
        if not fields:
            is_table = line.lstrip().startswith("|") and bool(re.fullmatch(r"[\s|:-]+", line.strip()))
            rows += [line] if is_table or (line.lstrip().startswith("|") and not rows) else []
            continue
        made, done = "", 0
        for field in fields:
            value = {"status": style.say_status(record.status), "date": record.date, "tags": ", ".join(record.tags)}
            made += line[done : field.start] + value.get(
                "date" if field.name in ("created", "updated") else field.name, ""
            )
            done = field.end
        if [field.name for field in fields] == ["tags"] and not split_list(record.tags):
            continue
        # Of a line that fields share, what stands behind the last of them belongs to the record it was learnt from.
        is_row = line.lstrip().startswith("|")
        made += line[done:] if len(fields) == 1 else re.sub(r"[^|\n]+", " ", line[done:]) if is_row else ""
        rows.append(made.rstrip() + line[len(line.rstrip("\n")) :])
    return "".join(rows).strip("\n")


# -- sections -------------------------------------------------------------------------------------

_LEAD = re.compile(r"\A(?:The|A|An|It|Its|We|Our|This|That|These|They|There|All|Most|Some|No|Each|Every)\b")
_CHOSEN = re.compile(r"(?i)\s*(\**Chosen (?:option|solution):)")


def _render_sections(style: AdrStyle, sample: Sequence[AdrPart], record: Record, statements: Sequence[str]) -> str:
    """Return the sections of a new record under the headings of the *sample*, in its order."""
    texts = {section.name: section.text.strip("\n") for section in record.sections if section.name}
    names = [match_section(part.heading) for part in sample]
    if "why" not in names and "why" in texts:
        _place_reason(texts, sample, names)
    if "status" not in names and statements:
        texts["links"] = "\n".join(f"- {statement}" for statement in statements)
    made, done = [], set()
    for part, name in zip(sample, names, strict=True):
        if name == "status" and name not in done:
            body = "\n\n".join([style.say_status(record.status), *statements])
        elif name in texts and name not in done:
            body = texts[name]
        else:
            continue
        done.add(name)
        made.append(f"{part.line.rstrip(chr(10))}\n\n{body}\n")
    marks = "#" * min((part.level for part in sample), default=2)
    others = [Section(name, "", text) for name, text in texts.items() if name not in done]
    others += [section for section in record.sections if not section.name]
    for section in others:
        label = section.heading or _label_section(section.name, record.kind, "zh" if style.has_chinese else "en")
        made.append(f"{marks} {label}\n\n{section.text.strip(chr(10))}\n")
    return "\n".join(made)


def _place_reason(texts: dict[str, str], sample: Sequence[AdrPart], names: Sequence[str]) -> None:
    """Move the reason to where records of this style have it: into MADR's outcome, else into the context."""
    reason, decision = texts["why"], texts.get("decision", "")
    outcome = next((part.text for part, name in zip(sample, names, strict=True) if name == "decision"), "")
    is_short = "\n" not in decision and "\n\n" not in reason
    if (chosen := _CHOSEN.match(outcome)) and is_short and decision:
        option = decision.rstrip(".。").replace('"', "'")
        reason = _LEAD.sub(lambda match: match.group().lower(), reason)
        texts["decision"] = f'{chosen[1]} "{option}", because {reason}'
        del texts["why"]
    elif "context" in names:
        texts["context"] = "\n\n".join(filter(None, (texts.get("context", ""), reason)))
        del texts["why"]


def _label_section(name: str, kind: str, language: str) -> str:
    return ("相关" if language == "zh" else "Links") if name == "links" else section_label(name, language, kind)


# -- lines on other records -----------------------------------------------------------------------

_LINK_SECTIONS = re.compile(
    r"(?:\d+[.)、]\s*)?(?:links?|related(?: \w+)?|references?|more information|see also|相关\w*|链接|参考\w*|关联\w*)",
    re.I,
)


def add_statement(text: str, statement: str) -> str:
    """Return *text* with *statement* on another record: in its status section, else among its links."""
    for start, part in iter_sections(text):
        if match_section(part.heading) == "status":
            return _append_paragraph(text, start, part, statement)
    for start, part in reversed([*iter_sections(text)]):
        if _LINK_SECTIONS.fullmatch(part.heading.strip().rstrip(":：")):
            bullet = re.findall(r"(?m)^([-*+]) ", part.text)
            return _append_paragraph(text, start, part, f"{bullet[-1]} {statement}" if bullet else statement, bullet)
    sections = [part for _, part in iter_sections(text)]
    marks = "#" * min((part.level for part in sections), default=2)
    return f"{text.rstrip(chr(10))}\n\n{marks} Links\n\n- {statement}\n"


def _append_paragraph(text: str, start: int, part: AdrPart, line: str, bullets: list[str] | None = None) -> str:
    end = start + len(part.line) + len(part.text)
    body = text[:end].rstrip("\n")
    gap = "\n" if bullets else "\n\n"
    behind = text[len(body) : end]
    return f"{body}{gap}{line}{behind or chr(10)}{text[end:]}"


def remove_statements(text: str, is_meant: Callable[[str, str], bool]) -> tuple[str, bool]:
    """Return *text* without the lines that say nothing but what *is_meant*, and whether some say more and stay.

    *is_meant* is given the relation and the target of a link.
    """
    found: dict[int, bool] = {}
    code = find_code_lines(text)
    for number, line in enumerate(split_lines(text)):
        links = find_text_links(line) if number not in code else ()
        meant = [link for link in links if is_meant(link.relation, link.target)]
        if meant:
            found[number] = len(meant) == len(links)
    kept: list[str] = []
    for number, line in enumerate(split_lines(text)):
        if not found.get(number):
            kept.append(line)
        elif kept and not kept[-1].strip() and not parse_status(line).exact:
            kept.pop()
    return "".join(kept), not all(found.values())


def set_status(text: str, value: str) -> str:
    """Return *text* with *value* as its status; of what stood there the word on its amendments stays."""
    place = find_status_place(text)
    if place is None:
        return _insert_status(text, value)
    if place.sort == "front":
        # a value that YAML would take for more than a word is quoted, as `superseded by [ADR-9](0009-x.md)` is
        return text[: place.start] + format_scalar(value) + text[place.end :]
    if place.sort == "field":
        kept = [
            clause
            for clause in re.split(r"\s{0,9}[,;·]\s{0,9}", text[place.start : place.end])[1:]
            if _is_amended(clause)
        ]
        return text[: place.start] + ", ".join([value, *kept]) + text[place.end :]
    if place.sort == "heading":
        return text[: place.start] + value + text[place.end :]
    end = text.find("\n", place.end)
    head = text[: place.start] + value
    rest = text[place.end :] if end >= 0 else "\n"
    if place.start == place.end:
        head, rest = f"{text[: place.start].rstrip(chr(10))}\n\n{value}\n\n", text[place.end :].lstrip("\n")
    start, part = next((s, p) for s, p in iter_sections(text) if match_section(p.heading) == "status")
    length = start + len(part.line) + len(part.text) - place.end
    return head + _drop_lines(rest[:length], _is_superseded) + rest[length:]


def _is_amended(clause: str) -> bool:
    return {link.relation for link in find_text_links(clause)} == {"amended_by"}


def _is_superseded(line: str) -> bool:
    return {link.relation for link in find_text_links(line)} == {"superseded_by"}


def _drop_lines(text: str, is_gone: Callable[[str], bool]) -> str:
    """Return *text* without the lines that are gone, and without the empty line before each."""
    kept: list[str] = []
    for line in split_lines(text):
        if not is_gone(line):
            kept.append(line)
        elif kept and not kept[-1].strip():
            kept.pop()
    return "".join(kept)


def _insert_status(text: str, value: str) -> str:
    """Return *text*, which names no status, with one: in its front matter, else in a section before all others."""
    if span := find_front_matter(text):
        return text[: span.start] + f"status: {format_scalar(value)}\n" + text[span.start :]
    start = next((start for start, _ in iter_sections(text)), len(text))
    gap = "" if text[:start].endswith("\n\n") or not text[:start] else "\n"
    return f"{text[:start]}{gap}## Status\n\n{value}\n\n{text[start:]}"


def edit_lines(text: str, edit: Callable[[str], str]) -> str:
    """Return *text* as *edit* makes it, with the line ends that it had."""
    end = detect_newline(text)
    made = edit(text.replace("\r\n", "\n"))
    return made.replace("\n", "\r\n") if end == "\r\n" else made


# -- the style of a file --------------------------------------------------------------------------

_MADR = frozenset(
    {"context and problem statement", "decision outcome", "considered options", "pros and cons of the options"}
)


def detect_style(
    parts: Sequence[AdrPart], heading: str, fields: AdrFields, values: Mapping[str, object], path: str
) -> str:
    """Return the name of the form a file is written in, from its parts; "plain" for a form of nobody's."""
    headings = {re.sub(r"<!--.*?(?:-->|\Z)", "", part.heading).strip().lower() for part in parts}
    names = {match_section(part.heading) for part in parts}
    outcome = "\n".join(part.text for part in parts if match_section(part.heading) == "decision")
    if len(_MADR & headings) < 2:
        if "status" in names and {"context", "decision"} & names:
            return "adr-tools" if re.match(r"\d+\. ", heading) and fields.date else "nygard"
        return "nygard" if {"context", "decision", "impact"} <= names and not values else "plain"
    if parse_file_date(path) and not values:
        return "log4brains"
    if "decision-makers" in values or re.search(r"(?m)^### Confirmation", outcome):
        return "madr4"
    if values or re.search(r"(?m)^### Consequences", outcome):
        return "madr3"
    return "log4brains" if fields.bulleted == "-" and fields.tags else "madr2"
