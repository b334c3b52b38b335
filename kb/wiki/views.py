"""The same records in the words of a memory: seeds, karma and preferences, then knowledge, experience and sessions."""

from __future__ import annotations

from collections.abc import Iterable

from kb.i18n import msg
from kb.records.kinds import BY_NAME, kind_label
from kb.records.model import recency_key
from kb.text.segment import first_sentence
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.labels import join_parts, render_entry, render_list, render_titled_part
from kb.wiki.markup import escape_markdown
from kb.wiki.session_pages import SESSIONS
from kb.wiki.wiki_model import Wiki, WikiPage

VIEWS = "views.md"
NEWEST_OF_PART = 8
"""Records of one part that are named, at most; its lists have them all."""
_KNOWLEDGE = ("adr", "domain-note")
_EXPERIENCE = ("pattern", "anti-pattern", "checklist")


def build_views_page(wiki: Wiki) -> WikiPage:
    """Return the page with the views of `kb alaya`, and what was learnt with a sentence of each."""
    title = wiki.translate_message(msg("Views"))
    said = msg("The same records, seen in other ways; nothing here is a copy.")
    parts = [
        f"# {title}",
        escape_markdown(wiki.translate_message(said)),
        *render_titled_part(
            wiki, msg("Seeds (种子库): by kind"), render_list(_render_kind_count(wiki, kind) for kind in wiki.kinds)
        ),
        *render_titled_part(wiki, msg("Karma (业力库): by label"), _render_karma(wiki)),
        *render_titled_part(wiki, msg("Preferences (偏好库)"), _render_newest(wiki, ("preference",))),
        *render_titled_part(wiki, msg("Knowledge"), _render_newest(wiki, _KNOWLEDGE)),
        *render_titled_part(wiki, msg("Experience"), _render_newest(wiki, _EXPERIENCE)),
        *render_titled_part(wiki, msg("Sessions"), _render_sessions(wiki)),
    ]
    return WikiPage(VIEWS, tuple(parts), listing=True, name=title)


def _render_kind_count(wiki: Wiki, kind: str) -> Html:
    listed = wiki.kinds[kind]
    return join_html(
        element("a", kind_label(kind, wiki.config.language), href=build_href(listed.uri)), f" ({listed.counts['']})"
    )


def _render_karma(wiki: Wiki) -> Html:
    labels: dict[str, list[str]] = {}
    for kind in wiki.kinds:
        labels.setdefault(BY_NAME[kind].karma if kind in BY_NAME else "–", []).append(kind)
    rows = (
        join_html(element("strong", label), ": ", join_parts(" · ", (_render_kind_count(wiki, kind) for kind in kinds)))
        for label, kinds in labels.items()
    )
    return render_list(rows)


def _render_newest(wiki: Wiki, categories: Iterable[str]) -> Html:
    """Return the newest records of *categories*, each with the first sentence of what it says."""
    records = wiki.library.records
    kinds = {kind.name for kind in BY_NAME.values() if kind.category in categories}
    places = [n for n, record in enumerate(records) if record.kind in kinds]
    newest = sorted(places, key=lambda n: recency_key(records[n]), reverse=True)[:NEWEST_OF_PART]
    rows = [join_html(render_entry(wiki, n), " – ", first_sentence(records[n].section("decision"))) for n in newest]
    every = join_parts(" · ", (_render_kind_count(wiki, kind) for kind in wiki.kinds if kind in kinds))
    return render_list([*rows, join_html(wiki.translate_message(msg("All")), ": ", every)]) if rows else Html("")


def _render_sessions(wiki: Wiki) -> Html:
    pairs = list(zip(wiki.sessions, wiki.session_uris, strict=True))[:NEWEST_OF_PART]
    rows = [
        join_html(element("a", session.name, href=build_href(uri)), " – ", first_sentence(session.task))
        for (session, _), uri in pairs
    ]
    every = element("a", wiki.translate_message(msg("All")), href=build_href(SESSIONS))
    return render_list([*rows, join_html(every, f" ({len(wiki.sessions)})")]) if rows else Html("")
