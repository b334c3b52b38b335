"""Wiki pages of pending work: the open reviews with both sides, the inbox, and the findings of kb check."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, section_label
from kb.records.model import LIVE, Record, Status
from kb.text.segment import one_line
from kb.wiki.page_parts import format_title, render_side_by_side
from kb.wiki.render import Html, escape_markdown
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.findings import Finding

REVIEWS, INBOX, HEALTH = "reviews.md", "inbox.md", "health.md"


# -- reviews and the inbox ------------------------------------------------------------------------


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first."""
    parts: list[str] = []
    for sides in wiki.sources.reviews:
        new = sides.review.record
        parts.append(f"## {escape_markdown(format_title(new))}")
        parts.append(wiki.render("pending.review", sides.review, format_age(sides.review, wiki.sources.today)))
        # The commit gives the reasons; its trailers ("Kb-Host: …") are no part of them.
        reasons = [row for row in sides.reasons.splitlines() if row.strip() and not row.startswith("Kb-")]
        if reasons:
            parts += [wiki.render("pending.why"), wiki.render("pending.reasons", reasons)]
        for old in sides.old or (Record(new.id, new.kind, "–", scope=new.scope),):
            parts.append(render_both_sides(wiki, old, new))
        parts.append(wiki.render("pending.review_actions", sides.review.branch))
    intro = msg("Each is a branch that contradicts an accepted record: merging it accepts it, closing it rejects it.")
    first = wiki.format_message(intro if parts else msg("No review is open."))
    return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), first, *parts)


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records next to each other, part by part, with every word marked that differs."""
    pairs = [("", one_line(old.title), one_line(new.title))] if old.title != new.title else []
    for section in SECTIONS:
        before, after = old.section(section.name), new.section(section.name)
        if (before or after) and not (changed_only and before == after):
            pairs.append((section_label(section.name, wiki.config.language, new.kind), before, after))
    rows = [(label, *render_side_by_side(before, after)) for label, before, after in pairs]
    return wiki.render("pending.both_sides", old, new, rows)


def build_inbox_page(wiki: Wiki) -> WikiPage:
    """Return the page with what the gate keeps back."""
    held = wiki.sources.held
    intro = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    parts = [wiki.format_message(intro if held else msg("Nothing waits below the gate."))]
    for one in held:
        parts += [f"## {escape_markdown(one.candidate.title)}", wiki.render("pending.held", one)]
    return build_list_page(INBOX, wiki.translate(msg("Inbox")), *parts)


# -- health ---------------------------------------------------------------------------------------

MAX_SHOWN = 100
"""Findings or records of one sort that are shown, at most."""
UNUSED_DAYS = 180
"""The age at which a record should have been used."""
_PARTS = {"impact": "path", "stale": "stale", "unsettled": "stale"}
"""Rules whose findings have a part of their own; others stand under their severity."""


def build_health_page(wiki: Wiki) -> WikiPage:
    """Return the page with what is wrong and the one next step for each, and with what nobody needs."""
    found: dict[str, list[Finding]] = {}
    for finding in wiki.sources.findings:
        found.setdefault(_PARTS.get(finding.rule, finding.severity), []).append(finding)
    parts: list[str] = []

    def add_part(heading: Message, number: int, shown: Html, note: Message | None = None) -> None:
        if number:
            parts.append(f"## {wiki.translate(heading)} ({number})")
            parts.extend([wiki.format_message(note)] if note else [])
            parts.append(shown)
        if number > MAX_SHOWN:
            parts.append(wiki.format_message(msg("… and {number} more.", number=number - MAX_SHOWN)))

    for heading, sort in (
        (msg("Errors"), "error"),
        (msg("Dangling paths"), "path"),
        (msg("Stale records"), "stale"),
        (msg("Warnings"), "warning"),
    ):
        findings = found.get(sort, [])
        add_part(heading, len(findings), wiki.render("pending.findings", findings[:MAX_SHOWN]))
    alone = msg("No other record cites these, they cite none, and they name no path: only search leads to them.")
    forgotten = msg("Half a year old, cited by nothing, never confirmed and never repeated.")
    unneeded = ((msg("Orphans"), find_orphans(wiki), alone), (msg("Never used"), find_unused(wiki), forgotten))
    for heading, positions, note in unneeded:
        add_part(heading, len(positions), wiki.render("lists.newest", positions[:MAX_SHOWN]), note)
    parts = parts or [wiki.format_message(msg("No problems found."))]
    return build_list_page(HEALTH, wiki.translate(msg("Health")), *parts)


def find_orphans(wiki: Wiki) -> list[int]:
    """Return the live records that no relation joins to another one, and that name no path."""
    joined = {position for edge in wiki.library.iter_edges() for position in edge[:2]}
    records = enumerate(wiki.library.records)
    return [n for n, record in records if record.status in LIVE and n not in joined and not record.impact]


def find_unused(wiki: Wiki) -> list[int]:
    """Return the records in force that nothing has referred to since they were written long ago."""
    if not wiki.sources.today:
        return []
    before = (date.fromisoformat(wiki.sources.today) - timedelta(days=UNUSED_DAYS)).isoformat()
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
