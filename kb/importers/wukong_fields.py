"""The field lines of an anchor in the single-file form: `**状态**: ✅ 生效`, `**Date**: 2024-01-15`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.importers.adr_fields import parse_date, parse_status
from kb.records.kinds import BY_PREFIX, find_kind, kind_label
from kb.records.model import Record, Status

if TYPE_CHECKING:
    from typing import Any

FORM = "anchors_md"
"""The key in `Record.extra` that remembers how a file departs from the canonical form."""


class FieldLabel(NamedTuple):
    """What a field is called."""

    zh: str
    en: str
    aliases: tuple[str, ...] = ()

    def translate(self, language: str) -> str:
        """Return the label in *language*."""
        return self.zh if language == "zh" else self.en


HEAD: Mapping[str, FieldLabel] = {
    "id": FieldLabel("ID", "ID", ("编号",)),
    "date": FieldLabel("日期", "Date", ("创建时间", "创建日期", "created")),
    "status": FieldLabel("状态", "Status"),
    "kind": FieldLabel("类型", "Kind", ("type",)),
    "scope": FieldLabel("范围", "Scope"),
    "tags": FieldLabel("标签", "Tags"),
    "impact": FieldLabel("影响路径", "Impact paths"),
    "supersedes": FieldLabel("取代", "Supersedes"),
    "amends": FieldLabel("修订", "Amends"),
    "coexists_with": FieldLabel("并存", "Coexists with"),
    "claims": FieldLabel("声明", "Claims"),
    "occurrences": FieldLabel("出现次数", "Occurrences"),
    "sources": FieldLabel("来源", "Sources"),
    "confirmed": FieldLabel("确认日期", "Confirmed"),
    "extra": FieldLabel("其他字段", "Other fields"),
}
"""In the order in which a head shows them."""

STATUS_LABELS: Mapping[str, FieldLabel] = {
    Status.ACCEPTED: FieldLabel("✅ 生效", "✅ Accepted"),
    Status.PROPOSED: FieldLabel("⚠️ 待验证", "⚠️ Proposed"),
    Status.DEPRECATED: FieldLabel("❌ 已废弃", "❌ Deprecated"),
    Status.REJECTED: FieldLabel("❌ 已拒绝", "❌ Rejected"),
    Status.SUPERSEDED: FieldLabel("❌ 已被取代", "❌ Superseded"),
}
_SIGNS = {"✅": Status.ACCEPTED, "⚠️": Status.PROPOSED, "⚠": Status.PROPOSED, "❌": Status.DEPRECATED}
_LINE = re.compile(
    r"(?:[-*+][ \t]+)?\*\*([^*:：\n]{1,30})(?:\*\*[ \t]*[:：]|[:：]\*\*)[ \t]*+((?:.*[^ \t\n])?)[ \t]*+$"
)
_NAMES = {word.lower(): name for name, label in HEAD.items() for word in (label.zh, label.en, *label.aliases)}
_LISTS = frozenset({"tags", "impact", "supersedes", "amends", "sources"})
_MAPS = frozenset({"coexists_with", "claims", "extra"})


def parse_field_line(row: str) -> tuple[str, Any] | None:
    """Return the field and the value of a head line, or None for a line that is no field or is not understood."""
    match = _LINE.match(row.rstrip("\n"))
    name = _NAMES.get(match[1].strip().lower(), "") if match else ""
    if not match or not name or not match[2]:
        return None
    value = _parse_value(name, match[2])
    return None if value is None else (name, value)


def _parse_value(name: str, text: str) -> Any:
    """Return the value that *text* has as the field *name*, or None where it is not understood."""
    if name in _LISTS:
        return _parse_list(text)
    if name in _MAPS:
        return _parse_json(text, dict)
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


def _parse_list(text: str) -> tuple[str, ...] | None:
    items = _parse_json(text, list)
    if items is not None:
        return tuple(str(item) for item in items)
    return tuple(word.strip().strip("[]`") for word in re.split(r"[,，、]", text) if word.strip()) or None


def _parse_json(text: str, wanted_type: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, wanted_type) else None


def is_field_needed(name: str, record: Record, scope: str, derived: tuple[str, ...]) -> bool:
    """Return whether a head needs the field; *derived* are the paths that the impact section gives by itself."""
    kind = BY_PREFIX.get(record.id.rstrip("0123456789"))
    implied = {"kind": kind.name if kind else "", "scope": scope, "impact": derived, "occurrences": 1}
    if name in implied:
        return bool(getattr(record, name) != implied[name])
    return name == "status" or (name != "id" and bool(get_written_value(name, record)))


def get_written_value(name: str, record: Record) -> Any:
    """Return the value of a field as it is written; what remembers a file's form is no field."""
    value = getattr(record, name)
    return {key: item for key, item in value.items() if key != FORM} if name == "extra" else value


def format_field_line(name: str, record: Record, language: str) -> str:
    """Return the field *name* of *record* as a line of a head."""
    value = get_written_value(name, record)
    if name == "status":
        text = STATUS_LABELS[value].translate(language) if value in STATUS_LABELS else str(value)
    elif name == "kind":
        text = kind_label(value, language)
    elif name in _MAPS:
        text = json.dumps(value, ensure_ascii=False, default=str)
    elif name in _LISTS:
        is_simple = all(word.strip("[]` \t") == word and re.fullmatch(r"[^,，、\n]+", word) for word in value)
        text = ", ".join(value) if value and is_simple else json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    return f"**{HEAD[name].translate(language)}**: {text}"
