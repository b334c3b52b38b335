"""Pages that list records: by kind, scope, status, tag, month and impact folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.text.segment import one_line
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.graph import render_chart
from kb.wiki.markup import escape_markdown
from kb.wiki.page_parts import join_parts, label_scope, render_badge, render_list, render_record_link, render_tag_links
from kb.wiki.render import Html, build_href, close_tag, element, join_html, open_tag
from kb.wiki.wiki_model import Listing, ListingGroup, PageDraft, Wiki, WikiPage

ALL_RECORDS, KINDS, SCOPES = "records.md", "kinds/index.md", "scopes/index.md"


def iter_list_drafts(wiki: Wiki, stamps: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page that lists records."""
    language = wiki.config.language
    kinds = ((kind_label(kind, language), listed) for kind, listed in wiki.kinds.items())
    scopes = ((label_scope(wiki, scope), listed) for scope, listed in wiki.scopes.items())
    overviews = (
        _build_records_page(wiki),
        _build_overview(KINDS, wiki.translate_message(msg("Kinds")), kinds),
        _build_overview(SCOPES, wiki.translate_message(msg("Scopes")), scopes),
    )
    yield from map(build_draft, overviews)
    for kind, listed in wiki.kinds.items():
        yield from _iter_sheet_drafts(stamps, listed, kind_label(kind, language), kind=kind)
    for scope, listed in wiki.scopes.items():
        yield from _iter_sheet_drafts(stamps, listed, label_scope(wiki, scope), scope=scope)
    yield from _iter_sheet_drafts(stamps, wiki.statuses, wiki.translate_message(msg("By status")))
    yield from _iter_sheet_drafts(stamps, wiki.tags, wiki.translate_message(msg("Tags")))
    yield from _iter_sheet_drafts(stamps, wiki.months, wiki.translate_message(msg("Timeline")), render_chart(wiki))
    yield from _iter_sheet_drafts(stamps, wiki.paths, wiki.translate_message(msg("Impact paths")))


def _build_overview(uri: str, title: str, lists: Iterable[tuple[str, Listing]]) -> WikiPage:
    """Return the page *uri* that names *lists*, each with how many records it has."""
    rows = (
        join_html(element("a", label, href=build_href(listed.uri)), f" ({listed.counts['']})")
        for label, listed in lists
    )
    return WikiPage(uri, (f"# {escape_markdown(title)}", render_list(rows)), listing=True, name=title)


def _build_records_page(wiki: Wiki) -> WikiPage:
    """Return the page on which a script lists all records by what the visitor asks for."""
    title = wiki.translate_message(msg("All records"))
    said = msg("Choose what to see: every field narrows the list.")
    lists = (
        (msg("Kinds"), KINDS),
        (msg("Scopes"), SCOPES),
        (msg("By status"), wiki.statuses.uri),
        (msg("Tags"), wiki.tags.uri),
        (msg("Timeline"), wiki.months.uri),
        (msg("Impact paths"), wiki.paths.uri),
    )
    links = render_list(element("a", wiki.translate_message(word), href=build_href(uri)) for word, uri in lists)
    parts = (
        f"# {escape_markdown(title)}",
        escape_markdown(wiki.translate_message(said)),
        render_explorer({}, links, is_open=True),
    )
    return WikiPage(ALL_RECORDS, parts, listing=True, name=title)


def render_explorer(preset: Mapping[str, str], *shown: str, is_open: bool = False) -> Html:
    """Return *shown*, in the place of which a script lists what the visitor asks for; *preset* holds for all of it."""
    return element(
        "div",
        element("div", *shown, class_="kb-static"),
        class_="kb-explore",
        data_preset=json.dumps(preset, ensure_ascii=False),
        data_open="yes" if is_open else "",
    )


def _iter_sheet_drafts(
    stamps: PageFingerprints, listed: Listing, title: str, before: Html | None = None, **preset: str
) -> Iterator[PageDraft]:
    """Yield the pages of one list, *before* which something may stand; *preset* says what its records share."""
    for number, groups in enumerate(listed.sheets):
        rows = [(group.label, stamps.hash_rows(group.places)) for group in groups]
        first = None if number else before
        contents = () if number else (listed.counts, listed.uris)
        made_of = hash_parts(title, len(listed.sheets), contents, rows, first)
        yield PageDraft(
            listed.get_sheet_uri(number), made_of, partial(_build_sheet, stamps, listed, title, number, first, preset)
        )


def _build_sheet(
    stamps: PageFingerprints, listed: Listing, title: str, number: int, before: Html | None, preset: Mapping[str, str]
) -> WikiPage:
    last = len(listed.sheets)
    heading = f"{title} ({number + 1}/{last})" if last > 1 else title
    parts: list[str] = [
        f"# {escape_markdown(heading)}",
        *([before] if before else []),
        open_tag("div", class_="kb-explore", data_preset=json.dumps(preset, ensure_ascii=False)),
        open_tag("div", class_="kb-static"),
    ]
    if not number and len(listed.counts) > 1:
        parts.append(_render_contents(listed))
    for group in listed.sheets[number]:
        parts += [f"## {escape_markdown(group.label)}"] if group.label else []
        parts.append(_render_table(stamps, group))
    parts += [_render_pager(stamps.wiki, listed, number)] if last > 1 else []
    parts += [close_tag("div"), close_tag("div")]
    return WikiPage(listed.get_sheet_uri(number), tuple(parts), listing=True, name="" if number else title)


def _render_contents(listed: Listing) -> Html:
    links = (
        join_html(element("a", one_line(label), href=build_href(listed.uris[label])), f" ({number})")
        for label, number in listed.counts.items()
    )
    return element("p", join_parts(" · ", links), class_="kb-contents")


def _render_table(stamps: PageFingerprints, group: ListingGroup) -> Html:
    wiki = stamps.wiki
    words = (msg("Status"), msg("Record"), msg("Scope"), msg("Date"), msg("Tags"))
    head = element("tr", *(element("th", wiki.translate_message(word)) for word in words))
    body = element("tbody", *(stamps.render_row(place, _render_row) for place in group.places))
    return element("table", element("thead", head), body, data_kb_list="1")


def _render_row(wiki: Wiki, place: int) -> Html:
    record = wiki.library.records[place]
    cells = (
        render_badge(wiki, record.status),
        render_record_link(wiki, place),
        join_html(label_scope(wiki, record.scope)),
        join_html(record.date[:10]),
        render_tag_links(wiki, record),
    )
    return element("tr", *(element("td", cell) for cell in cells))


def _render_pager(wiki: Wiki, listed: Listing, number: int) -> Html:
    links = [
        element("strong", str(n + 1))
        if n == number
        else element("a", str(n + 1), href=build_href(listed.get_sheet_uri(n)))
        for n in range(len(listed.sheets))
    ]
    return element(
        "p", join_html(wiki.translate_message(msg("Pages")), ": "), join_parts(" ", links), class_="kb-pager"
    )
