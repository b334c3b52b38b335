"""Read and write the single-file form `anchors.md`: many anchors, each under `## [D001] title`.

A file in the canonical form comes back byte for byte. What a file does otherwise (other labels, more fields, a `---`
between anchors, text between them, more or fewer blank lines) is kept in `extra["anchors_md"]`, so that it comes back
too; only CRLF and blanks inside a heading do not. Inside a section headings count from `####`; in a record from `###`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adr_fields import parse_date, parse_status
from kb.adr.adr_text import PREAMBLES, choose_preamble_heading
from kb.errors import BadRecord
from kb.i18n import msg
from kb.records.blocks import escape_block, escape_section
from kb.records.kinds import BY_PREFIX, find_kind, kind_label, resolve_section_name, section_label
from kb.records.model import GLOBAL, Record, Section, Status
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import one_line, split_lines

if TYPE_CHECKING:
    from typing import Any

FORM = "anchors_md"
"""The key in `Record.extra` that remembers how a file departs from the canonical form."""
USER_HEADING = "User notes (用户笔记)"
SNAPSHOT = (
    "<!-- A copy of the records under content/, which may be newer. Make it anew: kb layout migrate project -->\n"
    "<!-- 这是 content/ 下记录的副本，记录可能更新。重新生成：kb layout migrate project -->\n\n"
)
"""What is at the top of an `anchors.md` that is committed beside the records; it belongs to no anchor."""

_ANCHOR = re.compile(r" {0,3}##[ \t]+\[([A-Z]{1,3})(\d{3,})\][ \t]*+((?:[^ \t\n]++|[ \t]++(?!$))*+)[ \t]*+$")
_TOP = re.compile(r" {0,3}##?(?:[ \t]|$)")
_SECTION = re.compile(r" {0,3}###[ \t]++((?:.*[^ \t\n])?)[ \t]*$")
_RULE = re.compile(r"(?:\A|\n)[ \t]*\n---[ \t]*\n*\Z")
_HASHES = re.compile(r"( {0,3})(?<!#)(#++)(?=[ \t\n]|$)")
_MAX_BLANK_LINES = 10_000
"""So many line ends in a row are believed to have stood in a file."""
_PATH = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\*\*)?`([^`\s]+)`")


class _AnchorRegion(NamedTuple):
    """The lines of one anchor, without its heading, and the numbers of those that are in code."""

    id: str
    title: str
    line: int
    rows: list[str]
    code: set[int]
    is_last: bool
    """Nothing follows it in the file."""


# -- reading --------------------------------------------------------------------------------------


def parse_anchors(text: str, scope: str = GLOBAL, path: str = "") -> list[Record]:
    """Return the anchors of a single-file *text*; raise BadRecord for a file without any, or a prefix no kind has.

    Scope is *scope* unless an anchor names its own.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").removeprefix(SNAPSHOT)
    rows = split_lines(text)
    language = "zh" if re.search(r"\*\*(?:状态|日期)", text) else "en"
    fenced = _find_code_rows(rows)
    records: list[Record] = []
    before: list[str] = []
    number = 0
    while number < len(rows):
        match = _ANCHOR.match(rows[number].rstrip("\n")) if number not in fenced else None
        if match is None:
            before.append(rows[number])
            number += 1
            continue
        end = next((n for n in range(number + 1, len(rows)) if n not in fenced and _TOP.match(rows[n])), len(rows))
        inside = {n - number - 1 for n in range(number + 1, end) if n in fenced}
        region = _AnchorRegion(
            match[1] + match[2], match[3], number + 1, rows[number + 1 : end], inside, end == len(rows)
        )
        records.append(_build_record(region, match[1], "".join(before), language, scope, path))
        before, number = [], end
    if not records:
        raise BadRecord(
            msg("no anchor: no heading such as “## [D001] title”"), path=path, hint=msg("for ADR files: kb import adr")
        )
    if "".join(before).strip():
        records[-1] = _add_form(records[-1], {"after": "".join(before)})
    return records


def _find_code_rows(rows: list[str]) -> set[int]:
    """Return the lines that are in code; anchor by anchor, so that a long file costs no more than its anchors."""
    starts = [n for n, row in enumerate(rows) if n and row.startswith("## [")]
    found: set[int] = set()
    for first, end in pairwise([0, *starts, len(rows)]):
        inside = find_code_lines("".join([*rows[first:end], "# \n"]))
        if end < len(rows) and end - first in inside:
            return set(find_code_lines("".join(rows)))
        found.update(first + n for n in inside if n < end - first)
    return found


def _build_record(region: _AnchorRegion, prefix: str, before: str, language: str, scope: str, path: str) -> Record:
    form: dict[str, Any] = {"before": before} if before else {}
    cut: list[int] = []
    headings: list[str] = []
    for number, row in enumerate(region.rows):
        if number not in region.code and (match := _SECTION.match(row.rstrip("\n"))):
            cut.append(number)
            headings.append(re.sub(r"(?<![ \t])[ \t]++#+$", "", match[1]))
    spans = pairwise([-1, *cut, len(region.rows)])
    texts = [_promote_headings(region.rows[a + 1 : b], a + 1, region.code) for a, b in spans]
    if rule := _RULE.search(texts[-1]):
        texts[-1] = texts[-1][: rule.start()]
        form["rule"] = True if rule[0] == _format_closing_rule(texts[-1], region.is_last) else rule[0]
    head = texts[0]
    values, rest = _parse_head(head)
    values.pop("id", None)
    # The lines of the head that are not fields come first.
    sections = [Section("", choose_preamble_heading(rest), rest)] if rest else []
    user = ""
    kind = values.pop("kind", "") or (BY_PREFIX[prefix].name if prefix in BY_PREFIX else "")
    if not kind:
        raise BadRecord(msg("no kind has the prefix {prefix}", prefix=prefix), path=path, line=region.line)
    for heading, text in zip(headings, texts[1:], strict=True):
        name, text = resolve_section_name(heading, kind), text.strip("\n")
        if heading == USER_HEADING:
            user = user or text
        else:
            taken = any(section.name == name for section in sections)
            sections.append(Section("" if taken else name, heading, text))
    record = Record(region.id, kind, one_line(region.title), **{"scope": scope, **values})
    record = record._replace(sections=tuple(sections), user=_shift_headings(user, -2) + "\n" if user else "")
    if "impact" not in values:
        record = record._replace(impact=parse_impact_paths(record.section("impact")))
    # What departs from the canonical form is remembered, so that the file comes back as it was.
    if _render_head(record, rest, language, scope) != head.strip("\n"):
        form["head"] = head.strip("\n")
    if len(texts) > 1 and all(re.match(r"\n[^\n]", text) for text in texts[1:]):
        form["loose"] = True
    return _add_form(record, form | _find_uneven_gaps(texts, form, region.is_last))


def _parse_head(head: str) -> tuple[dict[str, Any], str]:
    """Return the values of the field lines of an anchor's *head*, and its other lines."""
    values: dict[str, Any] = {}
    rest: list[str] = []
    for row in split_lines(head):
        read = _parse_field_line(row)
        if read and read[0] not in values:
            values[read[0]] = read[1]
        else:
            rest.append(row)
    return values, "".join(rest).strip("\n")


def _find_uneven_gaps(texts: Sequence[str], form: Mapping[str, Any], is_last: bool) -> dict[str, Any]:
    """Return the line ends around *texts*, which follow the headings of an anchor, where they are not the usual ones.

    They are two numbers for each text; the last one is left out where it is the usual one.
    """
    found: list[int] = []
    usual: list[int] = []
    for number, text in enumerate(texts):
        core = text.strip("\n")
        lead = len(text) - len(text.lstrip("\n"))
        found += [lead, len(text) - lead - len(core)]
        usual += _compute_usual_gaps(number, len(texts), core, form, is_last=is_last)
    if found == usual:
        return {}
    return {"gaps": found[:-1] if found[-1] == usual[-1] else found}


def _compute_usual_gaps(number: int, count: int, text: str, form: Mapping[str, Any], *, is_last: bool) -> list[int]:
    """Return how many line ends come before and after the *text* of that *number* in the canonical form.

    Text 0 of the *count* is the head. Behind a text stand 2, unless a rule or the end of the file follows.
    """
    is_end = number + 1 == count
    behind = 0 if is_end and form.get("rule") else 1 if is_end and is_last else 2
    if not text:
        return [1 if behind == 2 else 0, 0]
    return [1 if number == 0 or form.get("loose") else 0, behind]


def _format_closing_rule(text: str, is_last: bool) -> str:
    """Return the line that closes an anchor behind its last *text*, in the canonical form."""
    return ("\n\n" if text.strip("\n") else "\n") + ("---\n" if is_last else "---\n\n")


def parse_impact_paths(text: str) -> tuple[str, ...]:
    """Return the paths that the list items of an impact section begin with: "- `src/llm/`: …"."""
    found = (match[1] for match in map(_PATH.match, text.split("\n")) if match)
    return tuple(dict.fromkeys(word for word in found if "/" in word or re.search(r"\w\.\w+$", word)))


def _add_form(record: Record, form: Mapping[str, Any]) -> Record:
    if not form:
        return record
    return record._replace(extra={**record.extra, FORM: {**record.extra.get(FORM, {}), **form}})


# -- writing --------------------------------------------------------------------------------------


def format_heading(section: Section, kind: str, language: str) -> str:
    """Return the heading of *section* as it was written, else "Decision" in English, "Decision (决策)" in Chinese."""
    written = one_line(section.heading)
    if not section.name or resolve_section_name(written, kind) == section.name:
        return written or "…"
    label = section_label(section.name, "en", kind)
    return f"{label} ({section_label(section.name, 'zh', kind)})" if language == "zh" else label


def render_anchors(records: Sequence[Record], language: str, scope: str = GLOBAL) -> str:
    """Return *records* as one file; the scope of a record is written where it is not *scope*.

    The uid is not written: it belongs to the store.
    """
    last = len(records) - 1
    return "".join(
        _render_anchor(record, language, scope, is_last=number == last) for number, record in enumerate(records)
    )


def _render_anchor(record: Record, language: str, scope: str, *, is_last: bool) -> str:
    form = record.extra.get(FORM)
    form = form if isinstance(form, Mapping) else {}
    after = str(form.get("after") or "")
    if after and not is_last:
        after = after.rstrip("\n") + "\n\n"
    preamble = next((s.text.strip("\n") for s in record.sections if not s.name and s.heading in PREAMBLES), "")
    head = _render_kept_head(record, form, preamble, language, scope)
    pieces = [(f"## [{record.id}] {one_line(record.title)}\n", _shift_headings(escape_block(head), 1))]
    for section in record.sections:
        if section.name or section.heading not in PREAMBLES:
            text = escape_section(section.text.strip("\n"))  # no rank above its own, no fence left open
            pieces.append((f"### {format_heading(section, record.kind, language)}\n", _shift_headings(text, 1)))
    if record.user.strip():
        pieces.append((f"### {USER_HEADING}\n", _shift_headings(escape_block(record.user.strip("\n")), 3)))
    return str(form.get("before") or "") + _join_sections(pieces, form, is_last=is_last and not after) + after


def _join_sections(pieces: Sequence[tuple[str, str]], form: Mapping[str, Any], *, is_last: bool) -> str:
    """Return headings with their texts, the line ends around these as the file had them."""
    found: list[str] = []
    kept = form.get("gaps")
    kept = kept if isinstance(kept, list) and 0 <= 2 * len(pieces) - len(kept) <= 1 else []
    for number, (heading, text) in enumerate(pieces):
        usual = _compute_usual_gaps(number, len(pieces), text, form, is_last=is_last)
        # The last number may have been left out as the usual one.
        gaps = (kept if len(kept) == 2 * len(pieces) else [*kept, usual[1]])[2 * number : 2 * number + 2]
        # Behind a text that has gone since nothing may stay; between two texts a line end must.
        is_fit = len(gaps) == 2 and all(type(n) is int and 0 <= n <= _MAX_BLANK_LINES for n in gaps)
        is_fit = is_fit and (gaps[1] == 0 if not text else gaps[1] > 0 or usual[1] < 2)
        before, behind = gaps if is_fit else usual
        found += [heading, "\n" * before, text, "\n" * behind]
    if rule := form.get("rule"):
        is_fit = isinstance(rule, str) and (is_last or rule.endswith("\n"))
        found.append(rule if is_fit else _format_closing_rule(pieces[-1][1], is_last))
    return "".join(found)


def _render_head(record: Record, preamble: str, language: str, scope: str) -> str:
    """Return the canonical head of an anchor: its field lines, then the lines that are not fields."""
    fields = "\n".join(_format_field_line(name, record, language) for name in _list_needed_fields(record, scope))
    return f"{fields}\n\n{preamble}" if preamble else fields


def _list_needed_fields(record: Record, scope: str) -> list[str]:
    """Return the names of the fields that a head must have, so that reading it gives the record again."""
    derived = parse_impact_paths(record.section("impact"))
    return [name for name in HEAD if _is_field_needed(name, record, scope, derived)]


def _render_kept_head(record: Record, form: Mapping[str, Any], preamble: str, language: str, scope: str) -> str:
    """Return the head as the file had it, with the lines of changed fields renewed; else the canonical one."""
    kept = str(form.get("head") or "")
    values, rest = _parse_head(kept)
    if "head" not in form or rest != preamble:
        return _render_head(record, preamble, language, scope)
    rows: list[str] = []
    last = 0
    seen: set[str] = set()
    for row in split_lines(kept):
        read = _parse_field_line(row)
        name = read[0] if read and read[0] not in seen else ""
        if read and name:
            seen.add(name)
            if read[1] != _get_written_value(name, record):
                row = _format_field_line(name, record, language) + "\n"
            last = len(rows) + 1
        rows.append(row)
    unsaid = {"status"} if record.status == Record("", "", "").status else set()
    missing = [name for name in _list_needed_fields(record, scope) if name not in values and name not in unsaid]
    added = [_format_field_line(name, record, language) + "\n" for name in missing]
    if added and last and not rows[last - 1].endswith("\n"):
        rows[last - 1] += "\n"
    return "".join([*rows[:last], *added, *rows[last:]]).strip("\n")


# -- headings inside a section --------------------------------------------------------------------


def _promote_headings(rows: list[str], first: int, code: set[int]) -> str:
    """Return *rows*, which begin at the line *first* of their region, with headings from #### one rank up."""
    found = []
    for number, row in enumerate(rows, first):
        match = _HASHES.match(row) if number not in code else None
        found.append(match[1] + match[2][1:] + row[match.end() :] if match and len(match[2]) > 3 else row)
    return "".join(found)


def _shift_headings(text: str, by: int) -> str:
    """Return *text* with its headings outside code *by* ranks lower; by 1 from ### on, by 3 (a user's notes) all."""
    if "#" not in text:
        return text
    code = find_code_lines(text)
    least = {1: 3, 3: 1, -2: 3}[by]  # the highest rank that moves: a user may write # and ##, a record begins at ###

    def shift_match(match: re.Match[str]) -> str:
        ranks = len(match[2])
        return match[1] + "#" * (ranks + by if ranks >= least else ranks)

    return "".join(
        _HASHES.sub(shift_match, row, count=1) if n not in code and _HASHES.match(row) else row
        for n, row in enumerate(split_lines(text))
    )


# -- the field lines of an anchor: `**状态**: ✅ 生效`, `**Date**: 2024-01-15` -----------------------

HEAD: Mapping[str, Sequence[str]] = {
    "id": ("ID", "ID", "编号"),
    "date": ("日期", "Date", "创建时间", "创建日期", "created"),
    "status": ("状态", "Status"),
    "kind": ("类型", "Kind", "type"),
    "scope": ("范围", "Scope"),
    "tags": ("标签", "Tags"),
    "impact": ("影响路径", "Impact paths"),
    "supersedes": ("取代", "Supersedes"),
    "amends": ("修订", "Amends"),
    "coexists_with": ("并存", "Coexists with"),
    "claims": ("声明", "Claims"),
    "occurrences": ("出现次数", "Occurrences"),
    "sources": ("来源", "Sources"),
    "confirmed": ("确认日期", "Confirmed"),
    "extra": ("其他字段", "Other fields"),
}
"""The fields in the order in which a head shows them: in Chinese, in English, and other words that are read."""

STATUS_LABELS: Mapping[str, Sequence[str]] = {
    Status.ACCEPTED: ("✅ 生效", "✅ Accepted"),
    Status.PROPOSED: ("⚠️ 待验证", "⚠️ Proposed"),
    Status.DEPRECATED: ("❌ 已废弃", "❌ Deprecated"),
    Status.REJECTED: ("❌ 已拒绝", "❌ Rejected"),
    Status.SUPERSEDED: ("❌ 已被取代", "❌ Superseded"),
}
_SIGNS = {"✅": Status.ACCEPTED, "⚠️": Status.PROPOSED, "⚠": Status.PROPOSED, "❌": Status.DEPRECATED}
_LINE = re.compile(
    r"(?:[-*+][ \t]+)?\*\*([^*:：\n]{1,30})(?:\*\*[ \t]*[:：]|[:：]\*\*)[ \t]*+((?:.*[^ \t\n])?)[ \t]*+$"
)
_NAMES = {word.lower(): name for name, words in HEAD.items() for word in words}
_LISTS = frozenset({"tags", "impact", "supersedes", "amends", "sources"})
_MAPS = frozenset({"coexists_with", "claims", "extra"})


def _parse_field_line(row: str) -> tuple[str, Any] | None:
    """Return the field and the value of a head line, or None for a line that is not a field or is not understood."""
    match = _LINE.match(row.rstrip("\n"))
    name = _NAMES.get(match[1].strip().lower(), "") if match else ""
    if not match or not name or not match[2]:
        return None
    value = _parse_value(name, match[2])
    return None if value is None else (name, value)


def _parse_value(name: str, text: str) -> Any:
    """Return the value that *text* has as the field *name*, or None where it is not understood."""
    if name in _LISTS or name in _MAPS:
        wanted = list if name in _LISTS else dict
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, wanted):
            return tuple(map(str, value)) if wanted is list else value
        words = [word.strip().strip("[]`") for word in re.split(r"[,，、]", text) if word.strip()]
        return tuple(words) or None if wanted is list else None
    if name == "date":
        return parse_date(text).date or None
    if name == "status":
        read = parse_status(text)
        return read.status if read.certain else _SIGNS.get(text.strip())
    if name == "kind":
        kind = find_kind(text)
        return kind.name if kind else None
    if name == "scope":
        return text if re.fullmatch(r"global|(?:project|agent)/\S+", text) else None
    if name == "occurrences":
        return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 10**9 else None
    return text


def _is_field_needed(name: str, record: Record, scope: str, derived: tuple[str, ...]) -> bool:
    """Return whether a head needs the field; *derived* are the paths that the impact section gives by itself."""
    kind = BY_PREFIX.get(record.id.rstrip("0123456789"))
    implied = {"kind": kind.name if kind else "", "scope": scope, "impact": derived, "occurrences": 1}
    if name in implied:
        return bool(getattr(record, name) != implied[name])
    return name == "status" or (name != "id" and bool(_get_written_value(name, record)))


def _get_written_value(name: str, record: Record) -> Any:
    """Return the value of a field as it is written; what remembers a file's form is no field."""
    value = getattr(record, name)
    return {key: item for key, item in value.items() if key != FORM} if name == "extra" else value


def _format_field_line(name: str, record: Record, language: str) -> str:
    """Return the field *name* of *record* as a line of a head."""
    value, column = _get_written_value(name, record), 0 if language == "zh" else 1
    if name == "status":
        text = STATUS_LABELS[value][column] if value in STATUS_LABELS else str(value)
    elif name == "kind":
        text = kind_label(value, language)
    elif name in _MAPS:
        text = json.dumps(value, ensure_ascii=False, default=str)
    elif name in _LISTS:
        is_simple = all(word.strip("[]` \t") == word and re.fullmatch(r"[^,，、\n]+", word) for word in value)
        text = ", ".join(value) if value and is_simple else json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    return f"**{HEAD[name][column]}**: {text}"
