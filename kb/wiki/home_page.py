"""The first page: what there is, what waits for a person, what has changed, how to find the rest."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator

from kb.i18n import Message, msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, Status, recency_key
from kb.wiki.feeds import FEED, RECORDS, list_feeds
from kb.wiki.health_page import HEALTH
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.labels import (
    STATUSES,
    join_parts,
    label_scope,
    label_status,
    render_badge,
    render_entry,
    render_list,
    render_titled_part,
)
from kb.wiki.markup import escape_markdown
from kb.wiki.pending_page import INBOX, REVIEWS
from kb.wiki.supersession_chart import render_chart
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
