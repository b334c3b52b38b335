"""What became of the records: between two commits, lately, and what depends on one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, record_options, with_kb
from kb.cli.page_style import MARKDOWN, PLAIN, PageStyle
from kb.cli.prints import format_record_line, pad_text, print_json, warn_empty_result
from kb.context.disclose import quote_base_name
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.records.kinds import SECTIONS, section_label
from kb.records.short_form import summarise_section
from kb.safety.quoting import sanitise_text
from kb.text.segment import clip

if TYPE_CHECKING:
    from kb.history.changes import ChangeLog, ChangeLogEntry, Digest
    from kb.knowledge_base import KnowledgeBase
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
_QUOTED = PLAIN._replace(text=lambda words: sanitise_text(PLAIN.text(words)))
"""For a reader who may be an agent: titles and folder names that pass for a tag of the host are quoted."""
_SHOWN = 10
"""Records of one part of a digest that are named; the others are counted."""
_RELATIONS = {
    "superseded by": msg("superseded by"),
    "amended by": msg("amended by"),
    "cited by": msg("cited by"),
    "supersedes": msg("supersedes"),
    "amends": msg("amends"),
    "same claim": msg("same claim"),
    "same files": msg("same files"),
}
_PLACES = {"code": msg("cited in"), "file": msg("is about"), "session": msg("session")}
_LINE = 80
"""Characters of a line of code that are shown."""


# -- changes -----------------------------------------------------------------------------------------


@click.command(short_help="Tell what became of the records between two commits.")
@click.argument("span", metavar="A..B")
@json_option
@with_kb
def show_changes(kb: KnowledgeBase, span: str, as_json: bool) -> None:
    """Tell what was decided, superseded, deprecated, rejected or edited between two commits, tags or branches.

    The release notes of decisions, as markdown. A alone means A..HEAD.
    """
    from kb.history.changes import build_change_log
    from kb.history.snapshot import resolve_range

    happened = build_change_log(kb, *resolve_range(kb, span))
    if as_json:
        print_json(_serialise_changes(happened))
        return
    title = msg("Records from {older} to {newer}", older=happened.older[:10], newer=happened.newer[:10])
    click.echo(f"{MARKDOWN.heading}{kb.localise(title)}\n")
    lines = list(_iter_change_lines(happened, kb.config.language, MARKDOWN, partial(qualify_name, kb)))
    click.echo("\n".join(lines[:-1] or [kb.localise(msg("no record changes"))]))


def _iter_change_lines(
    happened: ChangeLog, language: str, style: PageStyle, qualify: Callable[[Record], str]
) -> Iterator[str]:
    """Yield the lines that tell what became of the records, by what it was; *qualify* says how one is found."""
    for what, heading in _HEADINGS.items():
        entries = [entry for entry in happened.entries if entry.what == what]
        if entries:
            yield style.strong(style.text(f"{heading.translate(language)} ({len(entries)})"))
            yield ""
            yield from (f"- {_format_entry(entry, language, style, qualify)}" for entry in entries)
            yield ""


def _format_entry(entry: ChangeLogEntry, language: str, style: PageStyle, qualify: Callable[[Record], str]) -> str:
    record = entry.record
    colon, comma = ("：", "、") if language == "zh" else (": ", ", ")
    line = style.text(f"[{qualify(record)}] {record.title} ({record.scope})")
    if entry.by:
        line += " → " + style.text(comma.join(f"[{qualify(one)}] {one.title}" for one in entry.by))
    elif entry.what == "edited":
        names = [section_label(part, language) if part in _LABELS else part for part in entry.parts]
        line += colon + style.text(comma.join(names)) if names else ""
    elif why := summarise_section(record.section("why")):
        line += " — " + style.text(why)
    return line


def _serialise_changes(happened: ChangeLog) -> dict[str, object]:
    fields = ("id", "uid", "scope", "kind", "title", "status", "path")
    changes = [
        {
            "what": entry.what,
            **{field: getattr(entry.record, field) for field in fields},
            "by": [one.id for one in entry.by],
            "parts": list(entry.parts),
        }
        for entry in happened.entries
    ]
    return {"older": happened.older, "newer": happened.newer, "changes": changes}


# -- digest ------------------------------------------------------------------------------------------


@click.command(short_help="Tell what happened lately, and what waits.")
@click.option("--since", default="7d", show_default=True, metavar="DAY", help="From this day on: 7d, 2026-11-21, week.")
@json_option
@with_kb
def show_digest(kb: KnowledgeBase, since: str, as_json: bool) -> None:
    """Tell what became of the records since a day, which reviews are open, what is stale and what nobody used.

    What was used is what this clone has handed to agents; other clones count for themselves.
    """
    from kb.history.changes import build_digest

    found = build_digest(kb, kb.day_named(since))
    if as_json:
        print_json(_serialise_digest(kb, found))
        return
    title = msg("{name} since {day}", name=quote_base_name(kb), day=found.since)
    click.echo("\n".join([kb.localise(title), "", *iter_digest_lines(kb, found)]).rstrip("\n"))


def iter_digest_lines(kb: KnowledgeBase, found: Digest) -> Iterator[str]:
    """Yield what a person reads of a digest."""
    changes = list(_iter_change_lines(found.changes, kb.config.language, _QUOTED, partial(qualify_name, kb)))
    yield from changes or [kb.localise(msg("no record changes")), ""]
    reviews = [f"{one.branch}: [{qualify_name(kb, one.record)}] {one.record.title}" for one in found.reviews]
    yield from _iter_part(kb, msg("Open reviews"), reviews, msg("decide them: kb review"))
    waiting = [f"{one.path}: {kb.localise(one.message)}" for one in found.waiting]
    yield from _iter_part(kb, msg("To be read again"), waiting, msg("if one still holds: kb confirm ID"))
    refused = [f"{one.title}: {'; '.join(one.reasons)} ({one.session})" for one in found.refused]
    again = msg("to write one anyway: kb write, with what its reason asks for")
    yield from _iter_part(kb, msg("Refused in sessions"), refused, again)
    unused = [f"[{qualify_name(kb, record)}] {record.title} ({record.scope})" for record in found.unused]
    counted = msg("not handed to an agent of this clone since {day}", day=found.counted_from)
    yield from _iter_part(kb, msg("Unused"), unused, counted)


def _iter_part(kb: KnowledgeBase, heading: Message, rows: list[str], remark: Message) -> Iterator[str]:
    if rows:
        yield f"{kb.localise(heading)} ({len(rows)})"
        yield ""
        yield from (f"- {_QUOTED.text(row)}" for row in rows[:_SHOWN])
        if len(rows) > _SHOWN:
            yield f"- {kb.localise(msg('… and {count} more', count=len(rows) - _SHOWN))}"
        yield f"  → {kb.localise(remark)}"
        yield ""


def _serialise_digest(kb: KnowledgeBase, found: Digest) -> dict[str, object]:
    return {
        "since": found.since,
        **_serialise_changes(found.changes),
        "reviews": [{"branch": one.branch, "id": one.record.id, "title": one.record.title} for one in found.reviews],
        "waiting": [{"path": one.path, "rule": one.rule, "message": kb.localise(one.message)} for one in found.waiting],
        "unused": [{"id": one.id, "uid": one.uid, "scope": one.scope, "title": one.title} for one in found.unused],
        "counted_from": found.counted_from,
        "refused": [one._asdict() for one in found.refused],
    }


# -- impact ------------------------------------------------------------------------------------------


@click.command(short_help="Tell what depends on a record.")
@record_options
def show_impact(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> None:
    """Tell what would need a look if a record changed: records, code that cites it, files it is about, sessions.

    Code cites a record as `[D001]` or `kb:D001`; it is looked for in the projects on this machine.
    """
    from kb.history.dependents import find_dependents

    found = find_dependents(kb, name, scope=scope)
    if as_json:
        print_json(found)
        return
    for one in found.records:
        relation = pad_text(kb.localise(_RELATIONS[one.relation]), 14)
        detail = f"  {one.detail}" if one.relation.startswith("same") else ""
        click.echo(f"{relation} {format_record_line(kb, one.record)}{detail}")
    for place in found.places:
        path = os.path.relpath(place.path) if os.path.isabs(place.path) else place.path
        line = f"{path}:{place.line}: {clip(place.text, _LINE)}" if place.line else path
        click.echo(f"{pad_text(kb.localise(_PLACES[place.kind]), 14)} {line}")
    if not found.records and not found.places:
        warn_empty_result(kb, msg("nothing depends on it"))
