"""What waits for a person: the open reviews with both sides, and the inbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from kb.i18n import msg
from kb.records.kinds import SECTIONS, kind_label, section_label
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.labels import format_title, join_parts, label_scope, render_badge, render_list, render_status_sign
from kb.wiki.markup import escape_markdown
from kb.wiki.wiki_model import Wiki, WikiPage
from kb.wiki.word_diff import render_side_by_side
from kb.writing.reviews import format_age

if TYPE_CHECKING:
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
