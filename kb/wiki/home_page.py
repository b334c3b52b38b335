"""The first page of the wiki, and the same records in the words of a memory."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator

from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, kind_label
from kb.records.model import GLOBAL, Status, recency_key
from kb.text.segment import first_sentence
from kb.wiki.data_files import FEED, RECORDS, list_feeds
from kb.wiki.graph import render_chart
from kb.wiki.markup import escape_markdown
from kb.wiki.page_parts import (
    STATUSES,
    join_parts,
    label_scope,
    label_status,
    render_badge,
    render_entry,
    render_list,
    render_titled_part,
)
from kb.wiki.pending_pages import HEALTH, INBOX, REVIEWS
from kb.wiki.record_pages import SESSIONS
from kb.wiki.render import Html, build_href, element, join_html
from kb.wiki.wiki_model import Wiki, WikiPage

NEWEST = 10
"""How many of the newest records the home page names."""
CHANGED = 12
"""How many of the records that changed last week the home page names."""
WEEK = 7
MONTHS = 12
"""Months of the timeline that the home page shows."""


def build_home_page(wiki: Wiki) -> WikiPage:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    records = wiki.library.records
    search = msg(
        "Press / to search: what has every word comes first; quotes keep a phrase together; a word with - is left out."
    )
    newest = sorted(range(len(records)), key=lambda place: recency_key(records[place]), reverse=True)[:NEWEST]
    parts = [
        f"# {escape_markdown(wiki.config.name)}",
        *_render_summary(wiki),
        escape_markdown(wiki.translate_message(search)),
        *render_titled_part(wiki, msg("For a person to decide"), render_list(_iter_pending(wiki), class_="kb-waiting")),
        *render_titled_part(wiki, msg("Records"), _render_counts(wiki)),
        *render_titled_part(wiki, msg("How decisions replaced each other"), render_chart(wiki)),
        *render_titled_part(wiki, msg("Changed last week"), _render_recent_changes(wiki)),
        *render_titled_part(wiki, msg("Newest"), render_list(render_entry(wiki, place) for place in newest)),
        *render_titled_part(wiki, msg("By month"), _render_timeline(wiki)),
        *render_titled_part(wiki, msg("For other programs"), _render_feed_links(wiki)),
    ]
    return WikiPage("index.md", tuple(parts), listing=True, name=wiki.translate_message(msg("Home")))


def _render_summary(wiki: Wiki) -> list[str]:
    """Return what this knowledge base is: a sentence and a line of numbers."""
    records = wiki.library.records
    if not records:
        return [escape_markdown(wiki.translate_message(msg("Nothing has been written yet.")))]
    projects = ", ".join(label_scope(wiki, scope) for scope in wiki.scopes if scope != GLOBAL)
    counts = [
        msg("Records: {records}", records=len(records)),
        *([msg("Projects: {projects}", projects=projects)] if projects else []),
        *([msg("Sessions: {sessions}", sessions=len(wiki.sessions))] if wiki.sessions else []),
    ]
    told = msg("What was decided, what must hold and what went wrong, as people and agents wrote it down.")
    return [
        escape_markdown(wiki.translate_message(told)),
        escape_markdown(" · ".join(map(wiki.translate_message, counts))),
    ]


def _iter_pending(wiki: Wiki) -> Iterator[Html]:
    """Yield what needs a person, each with how many there are, where anything is."""
    told = wiki.told
    proposed = sum(record.status == Status.PROPOSED for record in wiki.library.records)
    errors = sum(finding.severity == "error" for finding in told.findings)
    kinds: tuple[tuple[int, Message, str], ...] = (
        (len(told.reviews), msg("open reviews"), REVIEWS),
        (proposed, msg("records to be verified"), wiki.statuses.uris.get(label_status(wiki, Status.PROPOSED), "")),
        (len(told.held), msg("candidates in the inbox"), INBOX),
        (errors, msg("errors that kb check finds"), HEALTH),
    )
    for number, words, uri in kinds:
        if number:
            yield join_html(
                element("strong", str(number)), " ", element("a", wiki.translate_message(words), href=build_href(uri))
            )


def _render_recent_changes(wiki: Wiki) -> Html:
    """Return the records that changed in the last days, the latest first, each with its latest change."""
    if not wiki.told.today:
        return Html("")
    since = (datetime.date.fromisoformat(wiki.told.today) - datetime.timedelta(days=WEEK)).isoformat()
    newest = [(versions[0], n) for n, one in enumerate(wiki.library.records) if (versions := wiki.list_versions(one))]
    recent = sorted((pair for pair in newest if pair[0].time[:10] > since), key=lambda pair: pair[0].time, reverse=True)
    rows = [
        join_html(render_entry(wiki, place), f" – {version.time[:10]}, {version.author}") for version, place in recent
    ]
    more = msg("… and {number} more.", number=len(rows) - CHANGED)
    return render_list([*rows[:CHANGED], *([join_html(wiki.translate_message(more))] if len(rows) > CHANGED else [])])


def _render_timeline(wiki: Wiki) -> Html:
    """Return how many records each of the last months has, as a bar and a number."""
    counts = [(month, number) for month, number in wiki.months.counts.items() if month[:1].isdigit()][:MONTHS]
    most = str(max((number for _, number in counts), default=0))
    rows = (
        join_html(
            element("a", month, href=build_href(wiki.months.uris[month])),
            " ",
            element("meter", value=str(number), max=most, aria_label=month),
            f" {number}",
        )
        for month, number in counts
    )
    return render_list(rows, class_="kb-months")


def _render_feed_links(wiki: Wiki) -> Html:
    own = (
        element("a", label_scope(wiki, scope), href=build_href(name))
        for name, scope in list_feeds(wiki).items()
        if scope
    )
    everything = element("a", wiki.translate_message(msg("all decisions")), href=build_href(FEED))
    rows = (join_html("Atom: ", join_parts(" · ", [everything, *own])), element("a", RECORDS, href=build_href(RECORDS)))
    return render_list(rows)


def _render_counts(wiki: Wiki) -> Html:
    if not wiki.library.records:
        return Html("")
    records, language = wiki.library.records, wiki.config.language
    found = Counter((record.kind, record.status) for record in records)
    statuses = [status for status in STATUSES if any(record.status == status for record in records)]
    uris = wiki.statuses.uris
    heads = (
        element("a", render_badge(wiki, status), href=build_href(uris[label_status(wiki, status)]))
        for status in statuses
    )
    head = [join_html(wiki.translate_message(msg("Kind"))), *heads, join_html(wiki.translate_message(msg("All")))]
    rows = [
        [
            element("a", kind_label(kind, language), href=build_href(listed.uri)),
            *(join_html(str(found[kind, status] or "")) for status in statuses),
            join_html(str(listed.counts[""])),
        ]
        for kind, listed in wiki.kinds.items()
    ]
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("table", element("thead", element("tr", *(element("th", word) for word in head))), body)


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
