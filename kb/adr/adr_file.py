"""Read a decision record of another tool: Nygard, MADR 2 to 4, adr-tools, log4brains, and their relatives.

This module maps one parsed file to a record. `adr_outline` cuts the markdown, `adr_text` says what its words mean,
`adr_fields` what single fields mean, and `adr_set` links the records of a whole import.

Nothing of a body is lost: what has no field of its own stays under its heading, and notes say what could not be mapped.
Consequences become the section `impact`; "because …" of a MADR outcome becomes `why`, word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adr_fields import (
    find_bare_date,
    find_first_day,
    find_history_day,
    find_last_change_status,
    find_status_date,
    is_change_list,
    is_date_heading,
    is_day_first,
    list_change_dates,
    list_status_rows,
    name_field,
    parse_date,
    parse_status,
)
from kb.adr.adr_front_matter import (
    expose_front_matter,
    find_front_matter_links,
    lift_decision_values,
    parse_plain_front_matter,
)
from kb.adr.adr_links import (
    find_successor,
    find_text_links,
    find_title_links,
)
from kb.adr.adr_markup import convert_markup
from kb.adr.adr_outline import (
    AdrFields,
    AdrPart,
    find_section_level,
    flatten_value,
    is_quoted,
    merge_subparts,
    open_heading,
    parse_fields,
    split_list,
    split_parts,
)
from kb.adr.adr_style import detect_style
from kb.adr.adr_text import (
    AdrLink,
    build_sections,
    derive_title,
    drop_code,
    extract_stem,
    find_loose_date,
    find_loose_status,
    inline_links,
    is_folder_page,
    is_numbered_record,
    is_pointer,
    list_definitions,
    match_section,
    parse_file_date,
    parse_file_number,
    split_title_number,
)
from kb.adr.adr_words import DAY_FIRST_HEADINGS
from kb.errors import BadRecord, NoDecision
from kb.i18n import Message, msg
from kb.records.front_matter import KEYS, find_body_start, find_front_matter
from kb.records.model import IMPORTED, Record, Status
from kb.safety.injection import remove_invisible
from kb.text.segment import has_cjk, one_line

if TYPE_CHECKING:
    from typing import Any


class ImportedAdr(NamedTuple):
    """A foreign decision record, as read; `kb.adr.adr_set.resolve_imports` settles links and ids."""

    record: Record
    """Its id is empty; `extra["adr"]` holds the number it had."""
    format: str
    """nygard, adr-tools, madr2, madr3, madr4, log4brains or plain."""
    number: int | None
    links: tuple[AdrLink, ...]
    notes: tuple[Message, ...]
    """What could not be mapped, and where it stays."""
    path: str
    day_first: bool | None = None
    """Whether the file's dates show that days are written before months; None where they show neither."""
    changes: tuple[str, ...] = ()
    """The dates of its list of changes, as they are written, where no other date is in the file."""
    has_status: bool = True
    """Whether the file says anything of its status."""


_FOOT_LINES = 8
_RULE = re.compile(r"[-*_]{3,}")


class _AdrFile(NamedTuple):
    """A file in its parts."""

    path: str
    text: str
    values: Mapping[str, Any]
    """The front matter."""
    heading: str
    """The title as it is written, or ""."""
    fields: AdrFields
    """What the lines before the first section say."""
    parts: list[AdrPart]
    """The sections."""
    header: str = ""
    """What stands before the first section, without the title."""

    @property
    def foot(self) -> str:
        """The few lines behind a rule at the end."""
        lines = self.parts[-1].text.rstrip().splitlines()[-_FOOT_LINES:] if self.parts else []
        rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line.strip())]
        return "\n".join(lines[rules[-1] + 1 :]) if rules else ""

    def get_value(self, key: str) -> str:
        """Return what the front matter says under *key*, as text."""
        return flatten_value(self.values.get(key))

    def list_dates(self) -> Iterator[str]:
        """Yield what the front matter and the field lines give as the day of the decision, as text, the surest first.

        The day a file was created counts only where nothing says when it was decided, its last change after that.
        """
        keys = [(name_field(str(key)), self.get_value(key)) for key in self.values]
        yield self.get_value("date")
        yield from (text for name in ("date", "day") for key, text in keys if key == name and parse_date(text).date)
        yield self.fields.date
        yield from (text for name in ("created", "updated") for key, text in keys if key == name)

    def list_texts(self, section: str) -> list[str]:
        """Return the texts of all parts that are the *section*."""
        return [part.text for part in self.parts if match_section(part.heading) == section]


# -- the whole file -------------------------------------------------------------------------------

_EVIDENCE = frozenset({"context", "decision", "alternatives", "status"})
_NOT_A_RECORD = frozenset(
    {"readme", "index", "template", "agents", "claude", "contributing", "changelog", "toc", "summary", "overview"}
    | {"progress", "roadmap", "glossary", "目录", "索引", "模板"}
)
_OF_RECORDS = frozenset(
    {"adr", "adrs", "architecture", "architectural", "decision", "decisions", "record", "records", ""}
)
_COLLECTION = re.compile(
    r"(?i)(?:(?:the|our|all|project|technical|architectur(?:e|al)) ){0,3}(?:decision records|decisions|adrs)"
    r"(?: (?:index|log|list|overview))?(?: ?[(（].*)?|.{0,9}(?:决策|決定|決策)(?:记录|記録|記錄)(?: ?[(（].*)?"
)
"""The title of a page on all records: “Architecture Decision Records (ADRs)”."""
_SORTED_FIRST = re.compile(r"[\d_-]+")
_FORGE_FORM = re.compile(r"(?i)(?:^|/)(?:issue|merge_request|pull_request)_templates?/")
_TEMPLATE = re.compile(r"(?i)template|vorlage|模板|範本|テンプレート|ひな形|plantilla|modèle|шаблон|szablon")
_CHOICE = re.compile(r"[|/\[{<]")
"""In the words of a status: “[proposed | accepted]” is to be filled in."""
_PLACEHOLDER = re.compile(
    r"[\[{<]\s*(?:short |brief )?(?:title|简短|标题)|\bshort title of\b|(?:^|[:：.]\s*)[\[{<][^\]}>]{1,60}[\]}>]\s*$",
    re.IGNORECASE,
)
"""A title to be filled in: `{short title}`, or all of it in brackets, as in “ADR 0000: [Decision Statement]”."""


def read_adr(text: str, path: str) -> ImportedAdr:
    """Return the decision record in *text*; raise BadRecord with the reason, NoDecision where it is none."""
    if "\0" in text:
        raise BadRecord(msg("the file is binary, not markdown"), path=path)
    if not text.strip():
        raise NoDecision(msg("the file is empty"), path=path)
    notes: list[Message] = []
    text, removed = remove_invisible(convert_markup(text, path))
    if removed:
        notes.append(
            msg("{count} invisible character was removed", "{count} invisible characters were removed", count=removed)
        )
    text = expose_front_matter(text)
    values = lift_decision_values(parse_plain_front_matter(text, path, notes))
    body = text[find_body_start(text) :].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    parts = [*map(open_heading, split_parts(body))]
    if len(parts) == 1:
        raise NoDecision(msg("no heading: this is not a decision record"), path=path)
    known = [part.level for part in parts if match_section(part.heading)]
    above, *rest = merge_subparts(parts, find_section_level(parts))
    heading, preamble = "", above.text
    is_untitled = bool(rest and match_section(rest[0].heading)) and (rest[0].level > 1 or known.count(1) > 1)
    if rest and not is_untitled:
        heading, preamble, rest = rest[0].heading, above.text + rest[0].text, rest[1:]
    fields = parse_fields(preamble)
    if not (fields.status or fields.date) and rest and not match_section(rest[0].heading):
        # the fields may stand under a second title: "# Kafka", "## Kafka", "* Status: accepted"
        below = parse_fields(rest[0].text)
        if below.status:
            fields = below._replace(rest=fields.rest)
            rest = (
                [rest[0]._replace(text=below.rest), *rest[1:]] if below.rest or rest[0].heading != heading else rest[1:]
            )
    file = _AdrFile(path, text, values, heading, fields, rest, preamble)
    _refuse_non_records(file)
    return _build_import(file, notes)


def _refuse_non_records(file: _AdrFile) -> None:
    """Raise NoDecision for a template, an index, or a page that nothing shows to be a decision record."""
    path, number, stem = file.path, parse_file_number(file.path), extract_stem(file.path).lower()
    said = file.get_value("status") or file.fields.status or "\n".join(file.list_texts("status")).strip()
    status, is_vacant = parse_status(said), bool(_PLACEHOLDER.search(file.heading))
    first, words = said.partition("\n")[0], [word for word in re.split(r"[\W_\d]+", stem) if len(word) > 2]
    words = [word for word in words if word not in _OF_RECORDS]
    is_form = not (status.certain or list_status_rows(said)) and bool(_CHOICE.search(first) or _TEMPLATE.match(first))
    is_called = (len(words) == 1 and _TEMPLATE.fullmatch(words[0]) is not None) or (
        "template" in stem and (number is None or is_vacant)
    )
    is_likely = is_vacant or bool(_TEMPLATE.search(f"{stem}\n{file.heading}"))
    if is_called or (is_likely and is_form) or _FORGE_FORM.search(path):
        raise NoDecision(msg("the file is a template, no decision record"), path=path)
    known = {match_section(part.heading) for part in file.parts}
    own = extract_stem(path.rpartition("/")[2]).lower()
    is_counted = number is not None or bool(parse_file_date(path))
    shown = (
        (is_counted and not is_folder_page(own))
        or is_numbered_record(file.heading)
        or (status.certain and not (said == file.fields.status and is_quoted(file.text, said)))
        or bool(_EVIDENCE & known)
    )
    if not shown:
        reason = msg("not a decision record: no number, no status, no section “Context” or “Decision”")
        raise NoDecision(reason, path=path)
    if (
        not status.certain
        and not known & _EVIDENCE
        and is_pointer((file.fields.rest, *(part.text for part in file.parts)))
    ):
        raise NoDecision(msg("the file only leads to a decision record, and is none itself"), path=path)
    # A README is a page about its folder, but in `0007-kafka/README.md` it is the record.
    is_record = is_folder_page(own) and is_counted
    name = _SORTED_FIRST.sub("", own, count=1)
    if number is None and len(words) == 1 and not is_folder_page(own):  # "ADR_INDEX"
        name = words[0]
    # pages of a site have a status too: “Architecture Decision Records”
    is_stated = bool(file.values.get("status")) and not (
        is_folder_page(own) and _COLLECTION.fullmatch(file.heading.strip())
    )
    if name in _NOT_A_RECORD and not is_record and not is_stated:
        raise NoDecision(msg("the file is an index of a folder, no decision record"), path=path)


def _build_import(file: _AdrFile, notes: list[Message]) -> ImportedAdr:
    title, number = _resolve_title(file, notes)
    said = _read_status(file, notes)
    day = _read_date(file, said, notes)
    style = detect_style(file.parts, file.heading, file.fields, file.values, file.path)
    links = _collect_links(file, said, title)
    is_followed = not said.text and any(one.relation == "superseded_by" and not one.in_part for one in links)
    extra: dict[str, Any] = {IMPORTED: style} | ({"adr": number} if number is not None else {}) | said.extra
    extra |= day.extra | dict(file.fields.others) | _collect_extra(file)
    record = Record(
        id="",
        kind="decision",
        title=title,
        status=Status.SUPERSEDED if is_followed else said.status,
        date=day.date,
        tags=tuple(dict.fromkeys((*split_list(file.values.get("tags")), *file.fields.tags))),
        sources=(file.path,),
        extra=extra,
        sections=build_sections(file.fields.rest, file.parts, said.status),
    )
    remarks, is_day_first_there = tuple(notes), next(iter(day.proofs)) if len(day.proofs) == 1 else None
    return ImportedAdr(
        record,
        style,
        number,
        links,
        remarks,
        file.path,
        is_day_first_there,
        day.changes,
        bool(said.text) or is_followed,
    )


class _StatusFound(NamedTuple):
    """The status of a file, and where it was read."""

    status: Status
    text: str
    """The words that say it."""
    section: str
    """The whole section on the status."""
    fields: AdrFields
    """What that section lists, where it is a list of fields."""
    extra: dict[str, Any]


def _read_status(file: _AdrFile, notes: list[Message]) -> _StatusFound:
    """Return the status that *file* says: in its front matter, a field, a section, or the last of its changes."""
    section = next(filter(None, (text.strip() for text in file.list_texts("status"))), "")
    # Of a status section the first paragraph counts; comments and a quoted legend of the statuses do not.
    paragraphs = re.split(r"\n[ \t]*\n", re.sub(r"(?s)<!--.*?(?:-->|\Z)", "", section).strip())
    paragraph = next((one for one in paragraphs if not one.startswith(">")), paragraphs[0]).strip()
    logged = (find_last_change_status(part.heading, part.text) for part in file.parts)
    listed = parse_fields("".join(line for line in section.splitlines(keepends=True) if not line.startswith(">")))
    paragraph = listed.status or paragraph
    history = list_status_rows(section)
    if history and (len(history) > 1 or not parse_status(paragraph).certain) and not parse_status(paragraph).exact:
        paragraph = history[-1].status
    text = file.get_value("status") or file.fields.status or paragraph or next(filter(None, logged), "")
    text = text or find_loose_status(file.header, file.foot, file.heading)
    is_told = parse_status(file.get_value("status")).certain  # then a later section adds nothing to it
    status, extra = _resolve_status(text, "" if is_told else section, notes)
    is_followed = any(
        link.relation == "superseded_by" and not link.in_part for link in find_front_matter_links(file.values)
    )
    if status == Status.DEPRECATED and is_followed and not parse_status(text).exact:
        status = Status.SUPERSEDED  # "moved" or "void", and to where
    return _StatusFound(status, text, section, listed, extra)


class _DateFound(NamedTuple):
    """The day of a file, and what its dates say of their order."""

    date: str
    changes: tuple[str, ...]
    """The days of its list of changes, where nothing else says the day."""
    proofs: set[bool | None]
    """Whether a day stands before its month, as far as one of its dates shows."""
    extra: dict[str, Any]


def _read_date(file: _AdrFile, said: _StatusFound, notes: list[Message]) -> _DateFound:
    """Return the day that *file* says: in a field, a section, its name, its status, or the first of its changes."""
    dated = (part.text.strip().partition("\n")[0] for part in file.parts if is_date_heading(part.heading))
    texts = [text for text in (*file.list_dates(), *dated, said.fields.date, find_bare_date(file.fields.rest)) if text]
    is_own = any(part.heading.strip().lower() in DAY_FIRST_HEADINGS for part in file.parts)
    text = next((one for one in texts if parse_date(one, day_first=True).date), texts[0] if texts else "")
    proofs = {is_day_first(text, is_year_last=not has_cjk(file.text))} - {None} or ({True} if is_own else set())
    day = parse_date(text, day_first=proofs == {True})
    date = day.date or parse_file_date(file.path)
    if text and not day.date:
        notes.append(msg("the date “{date}” is not a definite day; it is kept as original_date", date=text))
    elif not date:
        told = [p.text for p in file.parts if is_change_list(p.heading) or match_section(p.heading) == "status"]
        date = find_status_date(said.text) or find_history_day((*told, file.header))
        if not date and (text := find_loose_date(file.header, file.foot)):
            day = parse_date(text, day_first=is_own)
            date = day.date
    listed = [one for part in file.parts for one in list_change_dates(part.heading, part.text)]
    changes = () if date or text else tuple(listed)
    proofs |= {is_day_first(one) for one in changes} - {None}
    extra = {"original_date": one_line(text)} if text and not (day.date and day.exact) else {}
    return _DateFound(date or find_first_day(changes, day_first=proofs == {True}), changes, proofs, extra)


def _collect_links(file: _AdrFile, said: _StatusFound, title: str) -> tuple[AdrLink, ...]:
    """Return what *file* says of its relations to other records, each once."""
    defined = list_definitions(file.text)
    parts = [part._replace(text=inline_links(part.text, defined)) for part in file.parts]
    # What a list of changes says happened long ago, perhaps to another file; what was not chosen never happened.
    logs = [part.text for part in parts if is_change_list(part.heading)]
    kept = [
        part
        for part in parts
        if match_section(part.heading) not in ("status", "alternatives") and not is_change_list(part.heading)
    ]
    rest, section = (inline_links(text, defined) for text in (file.fields.rest, said.section))
    # What a field says may go on below it.
    whole = next((one for one in re.split(r"\n[ \t]*\n", rest) if said.text and said.text in one), "")
    status = inline_links(f"{said.text}\n{whole}\n{section}", defined)
    body = tuple(
        link for part in kept for link in find_text_links(part.heading, drop_code(part.text), label=part.heading)
    )
    inside = (
        *find_text_links(*(inline_links(text, defined) for text in (said.text, *file.list_texts("status")))),
        *find_text_links(status, is_own=True),
        *(one._replace(is_open=True) for one in body),
    )
    # A statement in a record that its status calls accepted ("**Superseded by ADR 9:** …") speaks of a part of it; the
    # lines of its header speak of all.
    if said.status == Status.ACCEPTED and parse_status(said.text).certain:
        inside = tuple(one._replace(in_part=True) if one.relation == "superseded_by" else one for one in inside)
    history = (link for link in find_text_links(*logs) if link.relation.startswith("amend"))
    stated = (*find_text_links(rest), *find_text_links(rest, is_own=True), *find_title_links(title), *history, *inside)
    links = [*find_front_matter_links(file.values), *stated]
    if said.status == Status.SUPERSEDED and not any(link.relation == "superseded_by" for link in links):
        links += find_successor(inline_links(said.text, defined)) or find_successor(section)
    return tuple(dict.fromkeys(links))


def _resolve_title(file: _AdrFile, notes: list[Message]) -> tuple[str, int | None]:
    """Return title and number; the file name's number goes before the title's."""
    named = parse_file_number(file.path)
    heading = "" if _PLACEHOLDER.search(file.heading) else file.heading
    inside = heading or file.get_value("title")
    if not inside and (span := find_front_matter(file.text)):
        # A title that slipped into the front, where YAML takes it for a comment: `# Title`, then an empty line.
        comment = re.match(r"#[ \t]++([^\r\n]++)\r?\n[ \t]*+\r?\n", file.text[span.start : span.end])
        inside = comment[1] if comment else ""
    title, written = split_title_number(one_line(inside), named)
    if not title:
        title = derive_title(file.path)
        notes.append(msg("the file has no title; the file name gives one: {title}", title=title))
    if named is not None and written is not None and named != written:
        notes.append(
            msg("the file name says number {named}, the title {written}; {named} is kept", named=named, written=written)
        )
    return title, written if named is None else named


def _resolve_status(text: str, status_part: str, notes: list[Message]) -> tuple[Status, dict[str, str]]:
    """Return the status and the words that say more than it."""
    if not text:
        return Status.PROPOSED, {}
    read = parse_status(f"{text}\n{status_part}" if status_part else text)
    if not read.certain:
        notes.append(msg("the status “{status}” is not known; it is taken as proposed", status=one_line(text)))
    if read.in_part:
        notes.append(msg("superseded in part: the record stays accepted for the rest"))
    # half of an emphasis is left where its other half was the field's: “**Status:** **Proposed.** …”
    said = one_line(text).replace("**", "", text.count("**") % 2)
    return read.status, {} if parse_status(text).exact else {"original_status": said}


def _collect_extra(file: _AdrFile) -> dict[str, Any]:
    """Return what the text says otherwise than the front matter, and the front matter that has no field of its own.

    The front matter's title is kept where the text has its own; a key that means another thing to kb is set apart.
    """
    extra: dict[str, Any] = {}
    for key, text in (("status", file.fields.status), ("date", file.fields.date), ("title", file.heading)):
        value = next(filter(None, file.list_dates()), "") if key == "date" else file.get_value(key)
        if text and value and value != text:
            name, kept = ("original_title", value) if key == "title" else (f"{key}_in_text", text)
            extra[name] = kept
    for key, value in file.values.items():
        if key not in ("status", "date", "title", "tags") and value not in (None, "", []):
            extra[f"original_{key}" if key in KEYS else key] = value
    return extra
