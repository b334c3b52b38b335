"""The first page: what there is, what is new, what waits for a person."""

from __future__ import annotations

from collections import Counter

from kb.record import Status
from kb.wiki.elements import Html, element, inside, to
from kb.wiki.labels import STATUSES, badge, entry, items, kind_label, titled
from kb.wiki.markup import plain
from kb.wiki.whole import Page, Wiki
from kb.words import say

NEWEST = 10
"""How many of the newest records the home page names."""
OPEN = 20
"""How many of the records that wait for a person the home page names."""


def home_page(wiki: Wiki) -> Page:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    records = wiki.library.records
    count = say("Records: {records} · Sessions: {sessions}", records=len(records), sessions=len(wiki.sessions))
    search = say("Press / to search: every word must occur; quotes keep a phrase together; a word with - is left out.")
    newest = sorted(range(len(records)), key=lambda place: records[place].date, reverse=True)[:NEWEST]
    waiting = [place for place, record in enumerate(records) if record.status == Status.PROPOSED]
    rest = say("… and {number} more.", number=len(waiting) - OPEN)
    parts = [
        f"# {plain(wiki.config.name)}",
        plain(wiki.word(count)),
        plain(wiki.word(search)),
        _counts(wiki) if records else plain(wiki.word(say("Nothing has been written yet."))),
        *titled(wiki, say("Open questions"), items(entry(wiki, place) for place in waiting[:OPEN])),
        *([plain(wiki.word(rest))] if len(waiting) > OPEN else []),
        *titled(wiki, say("Newest"), items(entry(wiki, place) for place in newest)),
    ]
    return Page("index.md", tuple(parts), listing=True, name=wiki.word(say("Home")))


def _counts(wiki: Wiki) -> Html:
    records, language = wiki.library.records, wiki.config.language
    found = Counter((record.kind, record.status) for record in records)
    statuses = [status for status in STATUSES if any(record.status == status for record in records)]
    head = [
        inside(wiki.word(say("Kind"))),
        *(badge(wiki, status) for status in statuses),
        inside(wiki.word(say("All"))),
    ]
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
