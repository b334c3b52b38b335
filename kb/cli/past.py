"""What the commands share that look at the past: its options, and how what happened there is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kb.cli.page_style import PageStyle
from kb.i18n import msg
from kb.records.kinds import SECTIONS, section_label
from kb.records.short_form import summarise_section

if TYPE_CHECKING:
    from kb.history.changes import ChangeLog, ChangeLogEntry
    from kb.records.model import Record

_HEADINGS = {
    "decided": msg("Decided"),
    "superseded": msg("Superseded"),
    "deprecated": msg("Deprecated"),
    "rejected": msg("Rejected"),
    "reopened": msg("Reopened"),
    "proposed": msg("Proposed"),
    "amended": msg("Amended"),
    "edited": msg("Edited"),
    "removed": msg("Removed"),
}
_LABELS = {section.name for section in SECTIONS}


def iter_change_lines(
    happened: ChangeLog, language: str, ink: PageStyle, named: Callable[[Record], str]
) -> Iterator[str]:
    """Yield the lines that tell what became of the records, by what it was; *named* says how one is found."""
    for what, heading in _HEADINGS.items():
        entries = [entry for entry in happened.entries if entry.what == what]
        if entries:
            yield ink.strong(ink.text(f"{heading.translate(language)} ({len(entries)})"))
            yield ""
            yield from (f"- {_format_entry(entry, language, ink, named)}" for entry in entries)
            yield ""


def _format_entry(entry: ChangeLogEntry, language: str, ink: PageStyle, named: Callable[[Record], str]) -> str:
    record = entry.record
    colon, comma = ("：", "、") if language == "zh" else (": ", ", ")
    line = ink.text(f"[{named(record)}] {record.title} ({record.scope})")
    if entry.by:
        line += " → " + ink.text(comma.join(f"[{named(one)}] {one.title}" for one in entry.by))
    elif entry.what == "edited":
        names = [section_label(part, language) if part in _LABELS else part for part in entry.parts]
        line += colon + ink.text(comma.join(names)) if names else ""
    elif why := summarise_section(record.section("why")):
        line += " — " + ink.text(why)
    return line


def serialise_changes(happened: ChangeLog) -> dict[str, object]:
    """Return what happened as values for JSON."""
    return {
        "older": happened.older,
        "newer": happened.newer,
        "changes": [
            {
                "what": entry.what,
                "id": entry.record.id,
                "uid": entry.record.uid,
                "scope": entry.record.scope,
                "kind": entry.record.kind,
                "title": entry.record.title,
                "status": entry.record.status,
                "path": entry.record.path,
                "by": [one.id for one in entry.by],
                "parts": list(entry.parts),
            }
            for entry in happened.entries
        ],
    }
