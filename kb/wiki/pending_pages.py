"""What waits for a person: the open reviews with both sides, the inbox, and what kb check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from kb.i18n import Message, msg
from kb.records.kinds import SECTIONS, kind_label, section_label
from kb.records.model import GLOBAL, LIVE, Record, Status
from kb.text.segment import one_line
from kb.wiki.graph import iter_edges
from kb.wiki.markup import escape_markdown
from kb.wiki.page_parts import (
    format_title,
    join_parts,
    label_scope,
    render_badge,
    render_entry,
    render_list,
    render_record_link,
    render_side_by_side,
    render_status_sign,
)
from kb.wiki.render import Html, build_href, element, join_html
from kb.wiki.wiki_model import Wiki, WikiPage
from kb.writing.reviews import format_age

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import ReviewSides


REVIEWS, INBOX = "reviews.md", "inbox.md"


def build_reviews_page(wiki: Wiki) -> WikiPage:
    """Return the page with every open review, the oldest first."""
    title = wiki.translate_message(msg("Reviews"))
    parts = [part for sides in wiki.told.reviews for part in _render_review(wiki, sides)]
    said = msg("Each is a branch that contradicts what holds: merging it accepts it, closing it rejects it.")
    nothing = msg("No review is open.")
    return WikiPage(
        REVIEWS,
        (f"# {title}", escape_markdown(wiki.translate_message(said if parts else nothing)), *parts),
        listing=True,
        name=title,
    )


def _render_review(wiki: Wiki, sides: ReviewSides) -> Iterator[str]:
    review = sides.review
    yield f"## {escape_markdown(format_title(review.record))}"
    open_for = format_age(review, wiki.told.today).translate(wiki.config.language)
    facts = [
        join_html(wiki.translate_message(msg("open: {age}", age=open_for))),
        join_html(label_scope(wiki, review.record.scope)),
        element("code", review.branch),
        *([join_html(one_line(review.host))] if review.host else []),
    ]
    yield element("p", join_parts(" · ", facts), class_="kb-plate")
    reasons = _strip_trailers(sides.reasons)
    yield from [element("p", element("strong", wiki.translate_message(msg("Why it was opened"))))] if reasons else []
    yield from [element("blockquote", *(element("p", row) for row in reasons))] if reasons else []
    for old in sides.old or (Record(review.record.id, review.record.kind, "–", scope=review.record.scope),):
        yield render_both_sides(wiki, old, review.record)
    yield _render_commands(wiki, sides)


def _strip_trailers(text: str) -> list[str]:
    """Return what the commit says, without its trailers."""
    return [row for row in text.splitlines() if row.strip() and not row.startswith("Kb-")]


def render_both_sides(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records beside each other, part by part, with every word marked that differs."""
    names = [section.name for section in SECTIONS if old.section(section.name) or new.section(section.name)]
    names = [name for name in names if not changed_only or old.section(name) != new.section(name)]
    own = wiki.library.by_key.get((old.scope, old.id))
    heads = [
        join_html(
            render_badge(wiki, old.status),
            " ",
            wiki.translate_message(msg("now")),
            ": ",
            _render_title_link(wiki, old, own),
        ),
        join_html(
            render_status_sign(wiki, Status.PROPOSED),
            " ",
            wiki.translate_message(msg("proposed")),
            ": ",
            element("span", format_title(new)),
        ),
    ]
    rows = [("", *render_side_by_side(one_line(old.title), one_line(new.title)))] if old.title != new.title else []
    rows += [
        (section_label(name, wiki.config.language), *render_side_by_side(old.section(name), new.section(name)))
        for name in names
    ]
    body = (
        element("tr", element("td", element("strong", label), left), element("td", element("strong", label), right))
        for label, left, right in rows
    )
    head = element("thead", element("tr", *(element("th", cell) for cell in heads)))
    return element("div", element("table", head, element("tbody", *body)), class_="kb-sides")


def _render_title_link(wiki: Wiki, record: Record, place: int | None) -> Html:
    title = format_title(record)
    return join_html(title) if place is None else element("a", title, href=build_href(wiki.library.uris[place]))


def _render_commands(wiki: Wiki, sides: ReviewSides) -> Html:
    """Return how the review is decided."""
    name = sides.review.branch.removeprefix("kb/review/")
    request = wiki.told.story.request if wiki.told.story else ""
    link = element(
        "a", wiki.translate_message(msg("open a pull request")), href=request + quote(sides.review.branch, safe="")
    )
    commands = (element("code", f"kb review {verb} {name}") for verb in ("show", "accept", "reject"))
    return element("p", join_parts(" · ", [*commands, *([link] if request else [])]), class_="kb-actions")


def build_inbox_page(wiki: Wiki) -> WikiPage:
    """Return the page with what the gate keeps back."""
    title = wiki.translate_message(msg("Inbox"))
    held = wiki.told.held
    said = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    words = escape_markdown(wiki.translate_message(said if held else msg("Nothing waits below the gate.")))
    parts = [part for one in held for part in _render_held(wiki, one)]
    return WikiPage(INBOX, (f"# {title}", words, *parts), listing=True, name=title)


def _render_held(wiki: Wiki, held: HeldCandidate) -> Iterator[str]:
    candidate = held.candidate
    yield f"## {escape_markdown(candidate.title)}"
    seen = msg("seen in sessions: {n}", n=len(held.sightings))
    facts = (
        kind_label(candidate.kind, wiki.config.language),
        label_scope(wiki, candidate.scope or GLOBAL),
        wiki.translate_message(seen),
        *dict.fromkeys(sighting.get("day", "") for sighting in held.sightings[-1:]),
    )
    yield element("p", join_parts(" · ", map(join_html, facts)), class_="kb-plate")
    yield from (element("p", text, class_="kb-said") for text in (candidate.decision, candidate.why) if text.strip())
    yield from (element("blockquote", element("p", evidence.quote)) for evidence in candidate.evidence)
    yield render_list(join_html(reason) for reason in held.reasons)
    commands = (element("code", f"kb inbox {verb} {held.name}") for verb in ("promote", "drop"))
    yield element("p", join_parts(" · ", commands), class_="kb-actions")


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
