"""The first page: what there is, what waits for a person, what has changed, how to find the rest."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator

from kb.i18n import Message, msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, Status, recency
from kb.wiki.feeds import FEED, RECORDS, feed_names
from kb.wiki.health_page import HEALTH
from kb.wiki.html import Html, element, inside, to
from kb.wiki.labels import STATUSES, badge, entry, items, joined, scope_label, status_word, titled
from kb.wiki.markup import plain
from kb.wiki.pending_page import INBOX, REVIEWS
from kb.wiki.supersession_chart import arcs
from kb.wiki.wiki_model import Page, Wiki

NEWEST = 10
"""How many of the newest records the home page names."""
CHANGED = 12
"""How many of the records that changed last week the home page names."""
WEEK = 7
MONTHS = 12
"""Months of the timeline that the home page shows."""


def home_page(wiki: Wiki) -> Page:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    records = wiki.library.records
    search = msg(
        "Press / to search: what has every word comes first; quotes keep a phrase together; a word with - is left out."
    )
    newest = sorted(range(len(records)), key=lambda place: recency(records[place]), reverse=True)[:NEWEST]
    parts = [
        f"# {plain(wiki.config.name)}",
        *_about(wiki),
        plain(wiki.word(search)),
        *titled(wiki, msg("For a person to decide"), items(_waiting(wiki), class_="kb-waiting")),
        *titled(wiki, msg("Records"), _counts(wiki)),
        *titled(wiki, msg("How decisions replaced each other"), arcs(wiki)),
        *titled(wiki, msg("Changed last week"), _changed(wiki)),
        *titled(wiki, msg("Newest"), items(entry(wiki, place) for place in newest)),
        *titled(wiki, msg("By month"), _timeline(wiki)),
        *titled(wiki, msg("For other programs"), _feeds(wiki)),
    ]
    return Page("index.md", tuple(parts), listing=True, name=wiki.word(msg("Home")))


def _about(wiki: Wiki) -> list[str]:
    """Return what this knowledge base is: a sentence and a line of numbers."""
    records = wiki.library.records
    if not records:
        return [plain(wiki.word(msg("Nothing has been written yet.")))]
    projects = ", ".join(scope_label(wiki, scope) for scope in wiki.scopes if scope != GLOBAL)
    counts = [
        msg("Records: {records}", records=len(records)),
        *([msg("Projects: {projects}", projects=projects)] if projects else []),
        *([msg("Sessions: {sessions}", sessions=len(wiki.sessions))] if wiki.sessions else []),
    ]
    told = msg("What was decided, what must hold and what went wrong, as people and agents wrote it down.")
    return [plain(wiki.word(told)), plain(" · ".join(map(wiki.word, counts)))]


def _waiting(wiki: Wiki) -> Iterator[Html]:
    """Yield what needs a person, each with how many there are, where anything is."""
    told = wiki.told
    proposed = sum(record.status == Status.PROPOSED for record in wiki.library.records)
    errors = sum(finding.severity == "error" for finding in told.findings)
    kinds: tuple[tuple[int, Message, str], ...] = (
        (len(told.reviews), msg("open reviews"), REVIEWS),
        (proposed, msg("records to be verified"), wiki.statuses.uris.get(status_word(wiki, Status.PROPOSED), "")),
        (len(told.held), msg("candidates in the inbox"), INBOX),
        (errors, msg("errors that kb check finds"), HEALTH),
    )
    for number, words, uri in kinds:
        if number:
            yield inside(element("strong", str(number)), " ", element("a", wiki.word(words), href=to(uri)))


def _changed(wiki: Wiki) -> Html:
    """Return the records that changed in the last days, the latest first, each with its latest change."""
    if not wiki.told.today:
        return Html("")
    since = (datetime.date.fromisoformat(wiki.told.today) - datetime.timedelta(days=WEEK)).isoformat()
    newest = [(versions[0], n) for n, one in enumerate(wiki.library.records) if (versions := wiki.versions(one))]
    recent = sorted((pair for pair in newest if pair[0].time[:10] > since), key=lambda pair: pair[0].time, reverse=True)
    rows = [inside(entry(wiki, place), f" – {version.time[:10]}, {version.author}") for version, place in recent]
    more = msg("… and {number} more.", number=len(rows) - CHANGED)
    return items([*rows[:CHANGED], *([inside(wiki.word(more))] if len(rows) > CHANGED else [])])


def _timeline(wiki: Wiki) -> Html:
    """Return how many records each of the last months has, as a bar and a number."""
    counts = [(month, number) for month, number in wiki.months.counts.items() if month[:1].isdigit()][:MONTHS]
    most = str(max((number for _, number in counts), default=0))
    rows = (
        inside(
            element("a", month, href=to(wiki.months.uris[month])),
            " ",
            element("meter", value=str(number), max=most, aria_label=month),
            f" {number}",
        )
        for month, number in counts
    )
    return items(rows, class_="kb-months")


def _feeds(wiki: Wiki) -> Html:
    own = (element("a", scope_label(wiki, scope), href=to(name)) for name, scope in feed_names(wiki).items() if scope)
    everything = element("a", wiki.word(msg("all decisions")), href=to(FEED))
    rows = (inside("Atom: ", joined(" · ", [everything, *own])), element("a", RECORDS, href=to(RECORDS)))
    return items(rows)


def _counts(wiki: Wiki) -> Html:
    if not wiki.library.records:
        return Html("")
    records, language = wiki.library.records, wiki.config.language
    found = Counter((record.kind, record.status) for record in records)
    statuses = [status for status in STATUSES if any(record.status == status for record in records)]
    uris = wiki.statuses.uris
    heads = (element("a", badge(wiki, status), href=to(uris[status_word(wiki, status)])) for status in statuses)
    head = [inside(wiki.word(msg("Kind"))), *heads, inside(wiki.word(msg("All")))]
    rows = [
        [
            element("a", kind_label(kind, language), href=to(listed.uri)),
            *(inside(str(found[kind, status] or "")) for status in statuses),
            inside(str(listed.counts[""])),
        ]
        for kind, listed in wiki.kinds.items()
    ]
    body = element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in rows))
    return element("table", element("thead", element("tr", *(element("th", word) for word in head))), body)
