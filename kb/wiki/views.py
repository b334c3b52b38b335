"""The same records in the words of a memory: seeds, karma and preferences, then knowledge, experience and sessions."""

from __future__ import annotations

from collections.abc import Iterable

from kb.i18n import msg
from kb.records.kinds import BY_NAME, kind_label
from kb.records.model import recency
from kb.text.segment import first_sentence
from kb.wiki.html import Html, element, inside, to
from kb.wiki.labels import entry, items, joined, titled
from kb.wiki.markup import plain
from kb.wiki.session_pages import SESSIONS
from kb.wiki.wiki_model import Page, Wiki

VIEWS = "views.md"
NEWEST = 8
"""Records of one part that are named, at most; its lists have them all."""
_KNOWLEDGE = ("adr", "domain-note")
_EXPERIENCE = ("pattern", "anti-pattern", "checklist")


def views_page(wiki: Wiki) -> Page:
    """Return the page with the views of `kb alaya`, and what was learnt with a sentence of each."""
    title = wiki.word(msg("Views"))
    said = msg("The same records, seen in other ways; nothing here is a copy.")
    parts = [
        f"# {title}",
        plain(wiki.word(said)),
        *titled(wiki, msg("Seeds (种子库): by kind"), items(_count(wiki, kind) for kind in wiki.kinds)),
        *titled(wiki, msg("Karma (业力库): by label"), _karma(wiki)),
        *titled(wiki, msg("Preferences (偏好库)"), _told(wiki, ("preference",))),
        *titled(wiki, msg("Knowledge"), _told(wiki, _KNOWLEDGE)),
        *titled(wiki, msg("Experience"), _told(wiki, _EXPERIENCE)),
        *titled(wiki, msg("Sessions"), _sessions(wiki)),
    ]
    return Page(VIEWS, tuple(parts), listing=True, name=title)


def _count(wiki: Wiki, kind: str) -> Html:
    listed = wiki.kinds[kind]
    return inside(element("a", kind_label(kind, wiki.config.language), href=to(listed.uri)), f" ({listed.counts['']})")


def _karma(wiki: Wiki) -> Html:
    labels: dict[str, list[str]] = {}
    for kind in wiki.kinds:
        labels.setdefault(BY_NAME[kind].karma if kind in BY_NAME else "–", []).append(kind)
    rows = (
        inside(element("strong", label), ": ", joined(" · ", (_count(wiki, kind) for kind in kinds)))
        for label, kinds in labels.items()
    )
    return items(rows)


def _told(wiki: Wiki, categories: Iterable[str]) -> Html:
    """Return the newest records of *categories*, each with the first sentence of what it says."""
    records = wiki.library.records
    kinds = {kind.name for kind in BY_NAME.values() if kind.category in categories}
    places = [n for n, record in enumerate(records) if record.kind in kinds]
    newest = sorted(places, key=lambda n: recency(records[n]), reverse=True)[:NEWEST]
    rows = [inside(entry(wiki, n), " – ", first_sentence(records[n].section("decision"))) for n in newest]
    every = joined(" · ", (_count(wiki, kind) for kind in wiki.kinds if kind in kinds))
    return items([*rows, inside(wiki.word(msg("All")), ": ", every)]) if rows else Html("")


def _sessions(wiki: Wiki) -> Html:
    pairs = list(zip(wiki.sessions, wiki.session_uris, strict=True))[:NEWEST]
    rows = [
        inside(element("a", session.name, href=to(uri)), " – ", first_sentence(session.task))
        for (session, _), uri in pairs
    ]
    every = element("a", wiki.word(msg("All")), href=to(SESSIONS))
    return items([*rows, inside(every, f" ({len(wiki.sessions)})")]) if rows else Html("")
