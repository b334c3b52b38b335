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
from kb.wiki.page_parts import label_scope, render_badge, render_message, render_record_link, render_tag_links
from kb.wiki.render import (
    Html,
    close_tag,
    element,
    join_html,
    join_with,
    link_to,
    open_tag,
    render_list,
    render_row,
    render_table,
)
from kb.wiki.wiki_model import Listing, PageDraft, Wiki, WikiPage, build_list_page

ALL_RECORDS, KINDS, SCOPES = "records.md", "kinds/index.md", "scopes/index.md"


def iter_list_drafts(fingerprints: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page that lists records."""
    wiki = fingerprints.wiki
    kinds = {kind: kind_label(kind, wiki.config.language) for kind in wiki.kinds}
    scopes = {scope: label_scope(wiki, scope) for scope in wiki.scopes}
    by_kind = [(label, wiki.kinds[kind]) for kind, label in kinds.items()]
    by_scope = [(label, wiki.scopes[scope]) for scope, label in scopes.items()]
    yield build_draft(_build_records_page(wiki))
    yield build_draft(_build_overview(KINDS, wiki.translate(msg("Kinds")), by_kind))
    yield build_draft(_build_overview(SCOPES, wiki.translate(msg("Scopes")), by_scope))
    for kind, label in kinds.items():
        yield from _iter_sheet_drafts(fingerprints, wiki.kinds[kind], label, kind=kind)
    for scope, label in scopes.items():
        yield from _iter_sheet_drafts(fingerprints, wiki.scopes[scope], label, scope=scope)
    yield from _iter_sheet_drafts(fingerprints, wiki.statuses, wiki.translate(msg("By status")))
    yield from _iter_sheet_drafts(fingerprints, wiki.tags, wiki.translate(msg("Tags")))
    yield from _iter_sheet_drafts(fingerprints, wiki.months, wiki.translate(msg("Timeline")), render_chart(wiki))
    yield from _iter_sheet_drafts(fingerprints, wiki.paths, wiki.translate(msg("Impact paths")))


def _build_overview(uri: str, title: str, listings: Iterable[tuple[str, Listing]]) -> WikiPage:
    """Return the page *uri* that names *listings*, each with how many records it has."""
    rows = (join_html(link_to(listing.uri, label), f" ({listing.counts['']})") for label, listing in listings)
    return build_list_page(uri, title, render_list(rows))


def _build_records_page(wiki: Wiki) -> WikiPage:
    """Return the page on which a script lists all records by what the visitor asks for."""
    lists = (
        (msg("Kinds"), KINDS),
        (msg("Scopes"), SCOPES),
        (msg("By status"), wiki.statuses.uri),
        (msg("Tags"), wiki.tags.uri),
        (msg("Timeline"), wiki.months.uri),
        (msg("Impact paths"), wiki.paths.uri),
    )
    links = render_list(link_to(uri, wiki.translate(word)) for word, uri in lists)
    static = element("div", links, class_="kb-static")
    explorer = element("div", static, class_="kb-explore", data_preset="{}", data_open="yes")
    intro = render_message(wiki, msg("Choose what to see: every field narrows the list."))
    return build_list_page(ALL_RECORDS, wiki.translate(msg("All records")), intro, explorer)


# -- the sheets of a list -------------------------------------------------------------------------


def _iter_sheet_drafts(
    fingerprints: PageFingerprints, listing: Listing, title: str, before: str = "", **preset: str
) -> Iterator[PageDraft]:
    """Yield the pages of one list, *before* which something may stand; *preset* says what its records share."""
    for number, groups in enumerate(listing.sheets):
        rows = [(group.label, fingerprints.hash_rows(group.records)) for group in groups]
        contents = () if number else (listing.counts, listing.uris, before)
        fingerprint = hash_parts(title, len(listing.sheets), rows, contents)
        make = partial(_build_sheet, fingerprints, listing, title, number, before, preset)
        yield PageDraft(listing.get_sheet_uri(number), fingerprint, make)


def _build_sheet(
    fingerprints: PageFingerprints, listing: Listing, title: str, number: int, before: str, preset: Mapping[str, str]
) -> WikiPage:
    """Return one page of a list; a script puts what the visitor asks for in the place of its static part."""
    wiki, last = fingerprints.wiki, len(listing.sheets)
    heads = [wiki.translate(word) for word in (msg("Status"), msg("Record"), msg("Scope"), msg("Date"), msg("Tags"))]
    parts = [f"# {escape_markdown(f'{title} ({number + 1}/{last})' if last > 1 else title)}"]
    parts += [before] if before and not number else []
    parts.append(open_tag("div", class_="kb-explore", data_preset=json.dumps(preset, ensure_ascii=False)))
    parts.append(open_tag("div", class_="kb-static"))
    if not number and len(listing.counts) > 1:
        links = (
            join_html(link_to(listing.uris[label], one_line(label)), f" ({count})")
            for label, count in listing.counts.items()
        )
        parts.append(element("p", join_with(" · ", links), class_="kb-contents"))
    for group in listing.sheets[number]:
        parts += [f"## {escape_markdown(group.label)}"] if group.label else []
        rows = (fingerprints.render_row(position, _render_record_row) for position in group.records)
        parts.append(render_table(heads, rows, data_kb_list="1"))
    if last > 1:
        pages = (
            element("strong", str(n + 1)) if n == number else link_to(listing.get_sheet_uri(n), str(n + 1))
            for n in range(last)
        )
        parts.append(element("p", wiki.translate(msg("Pages")), ": ", join_with(" ", pages), class_="kb-pager"))
    parts += [close_tag("div"), close_tag("div")]
    return WikiPage(listing.get_sheet_uri(number), tuple(parts), listing=True, name="" if number else title)


def _render_record_row(wiki: Wiki, position: int) -> Html:
    record = wiki.library.records[position]
    return render_row(
        (
            render_badge(wiki, record.status),
            render_record_link(wiki, position),
            label_scope(wiki, record.scope),
            record.date[:10],
            render_tag_links(wiki, record),
        )
    )
