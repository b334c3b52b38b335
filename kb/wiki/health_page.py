"""What `kb check` finds, by what it is about, and the records that nobody needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeVar

from kb.i18n import Message, msg
from kb.records.model import LIVE, Status
from kb.text.segment import one_line
from kb.wiki.graph import iter_edges
from kb.wiki.html import Html, element, join_html
from kb.wiki.labels import render_entry, render_list, render_record_link
from kb.wiki.markup import escape_markdown
from kb.wiki.wiki_model import Wiki, WikiPage

if TYPE_CHECKING:
    from kb.checks.findings import Finding

HEALTH = "health.md"
SHOWN = 100
"""Findings or records of one sort that are shown, at most."""
UNUSED_DAYS = 180
"""So old is a record that should have been used by now."""


def build_health_page(wiki: Wiki) -> WikiPage:
    """Return the page with what is wrong and the one next step for each, and with what nobody needs."""
    title = wiki.translate_message(msg("Health"))
    found: dict[str, list[Finding]] = {}
    for finding in wiki.told.findings:
        found.setdefault(_ABOUT.get(finding.rule, finding.severity), []).append(finding)
    alone = msg("No other record cites these, they cite none, and they name no path: only search leads to them.")
    forgotten = msg("Half a year old, cited by nobody, never confirmed and never heard again.")
    parts = [
        *_render_part(wiki, msg("Errors"), found.get("error", []), _render_table),
        *_render_part(wiki, msg("Dangling paths"), found.get("path", []), _render_table),
        *_render_part(wiki, msg("Stale records"), found.get("stale", []), _render_table),
        *_render_part(wiki, msg("Warnings"), found.get("warning", []), _render_table),
        *_render_part(wiki, msg("Orphans"), find_orphans(wiki), _render_entries, alone),
        *_render_part(wiki, msg("Never used"), find_unused(wiki), _render_entries, forgotten),
    ]
    nothing = [escape_markdown(wiki.translate_message(msg("Nothing to complain of.")))]
    return WikiPage(HEALTH, (f"# {title}", *(parts or nothing)), listing=True, name=title)


_ABOUT = {"impact": "path", "stale": "stale", "unsettled": "stale"}
"""Rules whose findings have a part of their own; others are told by their severity."""
_T = TypeVar("_T")


def _render_part(
    wiki: Wiki, heading: Message, found: list[_T], shown: Callable[[Wiki, list[_T]], Html], note: Message | None = None
) -> Iterator[str]:
    """Yield what is *found* under its *heading*; nothing for nothing."""
    if not found:
        return
    yield f"## {wiki.translate_message(heading)} ({len(found)})"
    yield from [escape_markdown(wiki.translate_message(note))] if note else []
    yield shown(wiki, found[:SHOWN])
    if len(found) > SHOWN:
        yield escape_markdown(wiki.translate_message(msg("… and {number} more.", number=len(found) - SHOWN)))


def find_orphans(wiki: Wiki) -> list[int]:
    """Return the live records that no relation joins to another one, and that name no path."""
    joined = {place for edge in iter_edges(wiki) for place in edge[:2]}
    records = enumerate(wiki.library.records)
    return [n for n, record in records if record.status in LIVE and n not in joined and not record.impact]


def find_unused(wiki: Wiki) -> list[int]:
    """Return the records in force that nothing has referred to since they were written long ago."""
    if not wiki.told.today:
        return []
    before = (date.fromisoformat(wiki.told.today) - timedelta(days=UNUSED_DAYS)).isoformat()
    return [
        n
        for n, record in enumerate(wiki.library.records)
        if record.status == Status.ACCEPTED
        and "" < record.date[:10] < before
        and not record.confirmed
        and record.occurrences < 2
        and not wiki.library.cited_by.get(n)
        and len(wiki.list_versions(record)) < 2
    ]


def _render_entries(wiki: Wiki, places: list[int]) -> Html:
    return render_list(render_entry(wiki, n) for n in places)


def _render_table(wiki: Wiki, found: list[Finding]) -> Html:
    words = (msg("Record"), msg("Finding"), msg("Next step"), msg("Rule"))
    head = element("tr", *(element("th", wiki.translate_message(word)) for word in words))
    body = element("tbody", *(_render_row(wiki, finding) for finding in found))
    return element("table", element("thead", head), body, data_kb_list="1")


def _render_row(wiki: Wiki, finding: Finding) -> Html:
    place = wiki.library.by_path.get(finding.path)
    file = element("code", one_line(f"{finding.path}:{finding.line}"))
    cells = (
        file if place is None else render_record_link(wiki, place, wiki.library.records[place].id),
        join_html(one_line(finding.message.translate(wiki.config.language))),
        join_html(one_line(finding.fix.translate(wiki.config.language))),
        element("code", finding.rule),
    )
    return element("tr", *(element("td", cell) for cell in cells))
