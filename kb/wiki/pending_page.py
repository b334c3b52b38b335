"""What waits for a person: the open reviews with both sides, and the inbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from kb.i18n import msg
from kb.records.kinds import SECTIONS, kind_label, section_label
from kb.records.model import GLOBAL, Record, Status
from kb.text.segment import one_line
from kb.wiki.html import Html, element, inside, to
from kb.wiki.labels import badge, items, joined, scope_label, sign, title_of
from kb.wiki.markup import plain
from kb.wiki.wiki_model import Page, Wiki
from kb.wiki.word_diff import beside
from kb.writing.reviews import age

if TYPE_CHECKING:
    from kb.writing.inbox import Held
    from kb.writing.reviews import Sides

REVIEWS, INBOX = "reviews.md", "inbox.md"


def reviews_page(wiki: Wiki) -> Page:
    """Return the page with every open review, the oldest first."""
    title = wiki.word(msg("Reviews"))
    parts = [part for sides in wiki.told.reviews for part in _review(wiki, sides)]
    said = msg("Each is a branch that contradicts what holds: merging it accepts it, closing it rejects it.")
    nothing = msg("No review is open.")
    return Page(REVIEWS, (f"# {title}", plain(wiki.word(said if parts else nothing)), *parts), listing=True, name=title)


def _review(wiki: Wiki, sides: Sides) -> Iterator[str]:
    review = sides.review
    yield f"## {plain(title_of(review.record))}"
    open_for = age(review, wiki.told.today).translate(wiki.config.language)
    facts = [
        inside(wiki.word(msg("open: {age}", age=open_for))),
        inside(scope_label(wiki, review.record.scope)),
        element("code", review.branch),
        *([inside(one_line(review.host))] if review.host else []),
    ]
    yield element("p", joined(" · ", facts), class_="kb-plate")
    reasons = _reasons(sides.reasons)
    yield from [element("p", element("strong", wiki.word(msg("Why it was opened"))))] if reasons else []
    yield from [element("blockquote", *(element("p", row) for row in reasons))] if reasons else []
    for old in sides.old or (Record(review.record.id, review.record.kind, "–", scope=review.record.scope),):
        yield both(wiki, old, review.record)
    yield _steps(wiki, sides)


def _reasons(text: str) -> list[str]:
    """Return what the commit says, without its trailers."""
    return [row for row in text.splitlines() if row.strip() and not row.startswith("Kb-")]


def both(wiki: Wiki, old: Record, new: Record, *, changed_only: bool = False) -> Html:
    """Return two records beside each other, part by part, with every word marked that differs."""
    names = [section.name for section in SECTIONS if old.section(section.name) or new.section(section.name)]
    names = [name for name in names if not changed_only or old.section(name) != new.section(name)]
    own = wiki.library.by_key.get((old.scope, old.id))
    heads = [
        inside(badge(wiki, old.status), " ", wiki.word(msg("now")), ": ", _linked(wiki, old, own)),
        inside(sign(wiki, Status.PROPOSED), " ", wiki.word(msg("proposed")), ": ", element("span", title_of(new))),
    ]
    rows = [("", *beside(one_line(old.title), one_line(new.title)))] if old.title != new.title else []
    rows += [
        (section_label(name, wiki.config.language), *beside(old.section(name), new.section(name))) for name in names
    ]
    body = (
        element("tr", element("td", element("strong", label), left), element("td", element("strong", label), right))
        for label, left, right in rows
    )
    head = element("thead", element("tr", *(element("th", cell) for cell in heads)))
    return element("div", element("table", head, element("tbody", *body)), class_="kb-sides")


def _linked(wiki: Wiki, record: Record, place: int | None) -> Html:
    title = title_of(record)
    return inside(title) if place is None else element("a", title, href=to(wiki.library.uris[place]))


def _steps(wiki: Wiki, sides: Sides) -> Html:
    """Return how the review is decided."""
    name = sides.review.branch.removeprefix("kb/review/")
    request = wiki.told.story.request if wiki.told.story else ""
    link = element("a", wiki.word(msg("open a pull request")), href=request + quote(sides.review.branch, safe=""))
    commands = (element("code", f"kb review {verb} {name}") for verb in ("show", "accept", "reject"))
    return element("p", joined(" · ", [*commands, *([link] if request else [])]), class_="kb-actions")


def inbox_page(wiki: Wiki) -> Page:
    """Return the page with what the gate keeps back."""
    title = wiki.word(msg("Inbox"))
    held = wiki.told.held
    said = msg("The gate keeps these back until a second session says the same, or a person lets them through.")
    words = plain(wiki.word(said if held else msg("Nothing waits below the gate.")))
    parts = [part for one in held for part in _held(wiki, one)]
    return Page(INBOX, (f"# {title}", words, *parts), listing=True, name=title)


def _held(wiki: Wiki, held: Held) -> Iterator[str]:
    candidate = held.candidate
    yield f"## {plain(candidate.title)}"
    seen = msg("seen in sessions: {n}", n=len(held.sightings))
    facts = (
        kind_label(candidate.kind, wiki.config.language),
        scope_label(wiki, candidate.scope or GLOBAL),
        wiki.word(seen),
        *dict.fromkeys(sighting.get("day", "") for sighting in held.sightings[-1:]),
    )
    yield element("p", joined(" · ", map(inside, facts)), class_="kb-plate")
    yield from (element("p", text, class_="kb-said") for text in (candidate.decision, candidate.why) if text.strip())
    yield from (element("blockquote", element("p", evidence.quote)) for evidence in candidate.evidence)
    yield items(inside(reason) for reason in held.reasons)
    commands = (element("code", f"kb inbox {verb} {held.name}") for verb in ("promote", "drop"))
    yield element("p", joined(" · ", commands), class_="kb-actions")
