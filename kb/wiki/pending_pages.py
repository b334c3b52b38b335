"""What waits for a person: the open reviews with both sides, the inbox, and what kb check finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, kind_label, section_label
from kb.records.model import GLOBAL, LIVE, Record, Status
from kb.text.segment import one_line
from kb.wiki.graph import iter_edges
from kb.wiki.page_parts import (
    format_title,
    label_scope,
    render_badge,
    render_entry,
    render_message,
    render_record_link,
    render_side_by_side,
    render_status_sign,
)
from kb.wiki.render import (
    Html,
    element,
    escape_markdown,
    join_html,
    join_with,
    link_to,
    render_list,
    render_row,
    render_table,
)
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import ReviewSides

REVIEWS, INBOX, HEALTH = "reviews.md", "inbox.md", "health.md"


# -- reviews --------------------------------------------------------------------------------------


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first."""
    parts = [part for sides in wiki.sources.reviews for part in _render_review(wiki, sides)]
    intro = msg("Each is a branch that contradicts an accepted record: merging it accepts it, closing it rejects it.")
    first = render_message(wiki, intro if parts else msg("No review is open."))
    return build_list_page(REVIEWS, wiki.translate(msg("Reviews")), first, *parts)


def _render_review(wiki: Wiki, sides: ReviewSides) -> Iterator[str]:
    review = sides.review
    yield f"## {escape_markdown(format_title(review.record))}"
    age = wiki.translate(format_age(review, wiki.sources.today))
    facts = [
        wiki.translate(msg("open: {age}", age=age)),
        label_scope(wiki, review.record.scope),
        element("code", review.branch),
        one_line(review.host) if review.host else "",
    ]
    yield element("p", join_with(" · ", filter(None, facts)), class_="kb-plate")
    # The commit gives the reasons; its trailers ("Kb-Host: …") are no part of them.
    reasons = [row for row in sides.reasons.splitlines() if row.strip() and not row.startswith("Kb-")]
    if reasons:
        yield element("p", element("strong", wiki.translate(msg("Why it was opened"))))
        yield element("blockquote", *(element("p", row) for row in reasons))
    for old in sides.old or (Record(review.record.id, review.record.kind, "–", scope=review.record.scope),):
        yield render_both_sides(wiki, old, review.record)
    name, request = review.branch.removeprefix("kb/review/"), wiki.sources.timeline.request
    decided = [element("code", f"kb review {verb} {name}") for verb in ("show", "accept", "reject")]
    if request:
        href = request + quote(review.branch, safe="")
        decided.append(element("a", wiki.translate(msg("open a pull request")), href=href))
    yield element("p", join_with(" · ", decided), class_="kb-actions")


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records beside each other, part by part, with every word marked that differs."""
    names = [section.name for section in SECTIONS if old.section(section.name) or new.section(section.name)]
    names = [name for name in names if not changed_only or old.section(name) != new.section(name)]
    position, title = wiki.library.by_key.get((old.scope, old.id)), format_title(old)
    shown = title if position is None else link_to(wiki.library.uris[position], title)
    sign = render_status_sign(wiki, Status.PROPOSED)
    heads = (
        join_html(render_badge(wiki, old.status), " ", wiki.translate(msg("now")), ": ", shown),
        join_html(sign, " ", wiki.translate(msg("proposed")), ": ", element("span", format_title(new))),
    )
    pairs = [("", one_line(old.title), one_line(new.title))] if old.title != new.title else []
    pairs += [(section_label(name, wiki.config.language), old.section(name), new.section(name)) for name in names]
    rows = []
    for label, before, after in pairs:
        bold = element("strong", label)
        rows.append(render_row(join_html(bold, side) for side in render_side_by_side(before, after)))
    return element("div", render_table(heads, rows), class_="kb-sides")


# -- the inbox ------------------------------------------------------------------------------------


def build_inbox_page(wiki: Wiki) -> WikiPage:
    """Return the page with what the gate keeps back."""
    held = wiki.sources.held
    intro = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    first = render_message(wiki, intro if held else msg("Nothing waits below the gate."))
    parts = [part for one in held for part in _render_held(wiki, one)]
    return build_list_page(INBOX, wiki.translate(msg("Inbox")), first, *parts)


def _render_held(wiki: Wiki, held: HeldCandidate) -> Iterator[str]:
    candidate = held.candidate
    yield f"## {escape_markdown(candidate.title)}"
    facts = (
        kind_label(candidate.kind, wiki.config.language),
        label_scope(wiki, candidate.scope or GLOBAL),
        wiki.translate(msg("seen in sessions: {n}", n=len(held.sightings))),
        *(sighting.get("day", "") for sighting in held.sightings[-1:]),
    )
    yield element("p", join_with(" · ", facts), class_="kb-plate")
    yield from (element("p", text, class_="kb-said") for text in (candidate.decision, candidate.why) if text.strip())
    yield from (element("blockquote", element("p", evidence.quote)) for evidence in candidate.evidence)
    yield render_list(held.reasons)
    commands = (element("code", f"kb inbox {verb} {held.name}") for verb in ("promote", "drop"))
    yield element("p", join_with(" · ", commands), class_="kb-actions")


# -- health ---------------------------------------------------------------------------------------

MOST_SHOWN = 100
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
    sorts = (
        (msg("Errors"), found.get("error", [])),
        (msg("Dangling paths"), found.get("path", [])),
        (msg("Stale records"), found.get("stale", [])),
        (msg("Warnings"), found.get("warning", [])),
    )
    parts: list[str] = []
    for heading, findings in sorts:
        parts += _render_part(wiki, heading, len(findings), _render_findings(wiki, findings[:MOST_SHOWN]))
    alone = msg("No other record cites these, they cite none, and they name no path: only search leads to them.")
    forgotten = msg("Half a year old, cited by nothing, never confirmed and never repeated.")
    unneeded = ((msg("Orphans"), find_orphans(wiki), alone), (msg("Never used"), find_unused(wiki), forgotten))
    for heading, positions, note in unneeded:
        entries = render_list(render_entry(wiki, n) for n in positions[:MOST_SHOWN])
        parts += _render_part(wiki, heading, len(positions), entries, note)
    nothing = render_message(wiki, msg("No problems found."))
    return build_list_page(HEALTH, wiki.translate(msg("Health")), *(parts or [nothing]))


def _render_part(wiki: Wiki, heading: Message, number: int, shown: Html, note: Message | None = None) -> Iterator[str]:
    """Yield what is *shown* of so many findings under its *heading*; nothing for none."""
    if not number:
        return
    yield f"## {wiki.translate(heading)} ({number})"
    yield from [render_message(wiki, note)] if note else []
    yield shown
    if number > MOST_SHOWN:
        yield render_message(wiki, msg("… and {number} more.", number=number - MOST_SHOWN))


def _render_findings(wiki: Wiki, findings: Sequence[Finding]) -> Html:
    heads = (msg("Record"), msg("Finding"), msg("Next step"), msg("Rule"))
    rows = []
    for finding in findings:
        position = wiki.library.by_path.get(finding.path)
        if position is None:
            record = element("code", one_line(f"{finding.path}:{finding.line}"))
        else:
            record = render_record_link(wiki, position, wiki.library.records[position].id)
        texts = (one_line(wiki.translate(text)) for text in (finding.message, finding.fix))
        rows.append(render_row((record, *texts, element("code", finding.rule))))
    return render_table(map(wiki.translate, heads), rows, data_kb_list="1")


def find_orphans(wiki: Wiki) -> list[int]:
    """Return the live records that no relation joins to another one, and that name no path."""
    joined = {position for edge in iter_edges(wiki) for position in edge[:2]}
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
