"""Pages that list records: by kind, scope, status, tag, month and impact folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.text.segment import one_line
from kb.wiki.html import Html, closed, element, inside, opened, to
from kb.wiki.labels import badge, items, joined, record_link, scope_label, tag_links
from kb.wiki.listing import Group, Listing
from kb.wiki.markup import plain
from kb.wiki.page_fingerprints import Stamps, ready, stamp
from kb.wiki.supersession_chart import arcs
from kb.wiki.wiki_model import Draft, Page, Wiki

RECORDS, KINDS, SCOPES = "records.md", "kinds/index.md", "scopes/index.md"


def list_drafts(wiki: Wiki, stamps: Stamps) -> Iterator[Draft]:
    """Yield every page that lists records."""
    language = wiki.config.language
    kinds = ((kind_label(kind, language), listed) for kind, listed in wiki.kinds.items())
    scopes = ((scope_label(wiki, scope), listed) for scope, listed in wiki.scopes.items())
    overviews = (
        _everything(wiki),
        _overview(KINDS, wiki.word(msg("Kinds")), kinds),
        _overview(SCOPES, wiki.word(msg("Scopes")), scopes),
    )
    yield from map(ready, overviews)
    for kind, listed in wiki.kinds.items():
        yield from _sheets(stamps, listed, kind_label(kind, language), kind=kind)
    for scope, listed in wiki.scopes.items():
        yield from _sheets(stamps, listed, scope_label(wiki, scope), scope=scope)
    yield from _sheets(stamps, wiki.statuses, wiki.word(msg("By status")))
    yield from _sheets(stamps, wiki.tags, wiki.word(msg("Tags")))
    yield from _sheets(stamps, wiki.months, wiki.word(msg("Timeline")), arcs(wiki))
    yield from _sheets(stamps, wiki.paths, wiki.word(msg("Impact paths")))


def _overview(uri: str, title: str, lists: Iterable[tuple[str, Listing]]) -> Page:
    """Return the page *uri* that names *lists*, each with how many records it has."""
    rows = (inside(element("a", label, href=to(listed.uri)), f" ({listed.counts['']})") for label, listed in lists)
    return Page(uri, (f"# {plain(title)}", items(rows)), listing=True, name=title)


def _everything(wiki: Wiki) -> Page:
    """Return the page on which a script lists all records by what the visitor asks for."""
    title = wiki.word(msg("All records"))
    said = msg("Choose what to see: every field narrows the list.")
    lists = (
        (msg("Kinds"), KINDS),
        (msg("Scopes"), SCOPES),
        (msg("By status"), wiki.statuses.uri),
        (msg("Tags"), wiki.tags.uri),
        (msg("Timeline"), wiki.months.uri),
        (msg("Impact paths"), wiki.paths.uri),
    )
    links = items(element("a", wiki.word(word), href=to(uri)) for word, uri in lists)
    parts = (f"# {plain(title)}", plain(wiki.word(said)), explored({}, links, is_open=True))
    return Page(RECORDS, parts, listing=True, name=title)


def explored(preset: Mapping[str, str], *shown: str, is_open: bool = False) -> Html:
    """Return *shown*, in the place of which a script lists what the visitor asks for; *preset* holds for all of it."""
    return element(
        "div",
        element("div", *shown, class_="kb-static"),
        class_="kb-explore",
        data_preset=json.dumps(preset, ensure_ascii=False),
        data_open="yes" if is_open else "",
    )


def _sheets(stamps: Stamps, listed: Listing, title: str, before: Html | None = None, **preset: str) -> Iterator[Draft]:
    """Yield the pages of one list, *before* which something may stand; *preset* says what its records share."""
    for number, groups in enumerate(listed.sheets):
        rows = [(group.label, stamps.rows(group.places)) for group in groups]
        first = None if number else before
        contents = () if number else (listed.counts, listed.uris)
        made_of = stamp(title, len(listed.sheets), contents, rows, first)
        yield Draft(listed.uri_of(number), made_of, partial(_sheet, stamps, listed, title, number, first, preset))


def _sheet(
    stamps: Stamps, listed: Listing, title: str, number: int, before: Html | None, preset: Mapping[str, str]
) -> Page:
    last = len(listed.sheets)
    heading = f"{title} ({number + 1}/{last})" if last > 1 else title
    parts: list[str] = [
        f"# {plain(heading)}",
        *([before] if before else []),
        opened("div", class_="kb-explore", data_preset=json.dumps(preset, ensure_ascii=False)),
        opened("div", class_="kb-static"),
    ]
    if not number and len(listed.counts) > 1:
        parts.append(_contents(listed))
    for group in listed.sheets[number]:
        parts += [f"## {plain(group.label)}"] if group.label else []
        parts.append(_table(stamps, group))
    parts += [_pager(stamps.wiki, listed, number)] if last > 1 else []
    parts += [closed("div"), closed("div")]
    return Page(listed.uri_of(number), tuple(parts), listing=True, name="" if number else title)


def _contents(listed: Listing) -> Html:
    links = (
        inside(element("a", one_line(label), href=to(listed.uris[label])), f" ({number})")
        for label, number in listed.counts.items()
    )
    return element("p", joined(" · ", links), class_="kb-contents")


def _table(stamps: Stamps, group: Group) -> Html:
    wiki = stamps.wiki
    words = (msg("Status"), msg("Record"), msg("Scope"), msg("Date"), msg("Tags"))
    head = element("tr", *(element("th", wiki.word(word)) for word in words))
    body = element("tbody", *(stamps.row(place, _row) for place in group.places))
    return element("table", element("thead", head), body, data_kb_list="1")


def _row(wiki: Wiki, place: int) -> Html:
    record = wiki.library.records[place]
    cells = (
        badge(wiki, record.status),
        record_link(wiki, place),
        inside(scope_label(wiki, record.scope)),
        inside(record.date[:10]),
        tag_links(wiki, record),
    )
    return element("tr", *(element("td", cell) for cell in cells))


def _pager(wiki: Wiki, listed: Listing, number: int) -> Html:
    links = [
        element("strong", str(n + 1)) if n == number else element("a", str(n + 1), href=to(listed.uri_of(n)))
        for n in range(len(listed.sheets))
    ]
    return element("p", inside(wiki.word(msg("Pages")), ": "), joined(" ", links), class_="kb-pager")
