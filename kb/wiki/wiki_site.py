"""Everything the wiki consists of: its pages, and its files that are no pages. Nothing here knows mkdocs."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kb.i18n import msg
from kb.records.model import list_aliases
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.data_files import RECORDS, iter_chunks, list_chunk_files, list_feeds, render_feed, render_records_json
from kb.wiki.graph import DATA, GRAPH, build_graph_page, render_graph_data
from kb.wiki.home_page import VIEWS, build_home_page, build_views_page
from kb.wiki.library import get_scope_folder, sanitise_path_part
from kb.wiki.list_pages import ALL_RECORDS, KINDS, SCOPES, iter_list_drafts
from kb.wiki.page_parts import format_title, get_status_sign, label_scope, label_status
from kb.wiki.pending_pages import HEALTH, INBOX, REVIEWS, build_health_page, build_inbox_page, build_reviews_page
from kb.wiki.record_pages import SESSIONS, build_record_page, iter_session_pages
from kb.wiki.render import Html, element
from kb.wiki.wiki_model import PageDraft, SiteFile, Wiki, WikiPage

if TYPE_CHECKING:
    from typing import Any


def build_pages(wiki: Wiki) -> list[WikiPage]:
    """Return every page of the wiki, the home page first."""
    return [draft.make() for draft in iter_drafts(wiki, PageFingerprints(wiki))]


def iter_drafts(wiki: Wiki, stamps: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page of the wiki, the home page first; those of which there may be many are not made yet."""
    few = (build_home_page, build_reviews_page, build_inbox_page, build_health_page, build_graph_page, build_views_page)
    yield from (build_draft(page(wiki)) for page in few)
    yield from iter_list_drafts(wiki, stamps)
    yield from map(build_draft, iter_session_pages(wiki))
    for place, uri in wiki.library.uris.items():
        yield PageDraft(uri, stamps.page_hashes[place], partial(build_record_page, wiki, place))


def list_navigation(wiki: Wiki) -> list[str]:
    """Return the pages that the navigation shows: few, and the same for any size, so that a large wiki builds fast."""
    lists = (listed.uri for listed in (wiki.statuses, wiki.tags, wiki.paths, wiki.months))
    sessions = [SESSIONS] if wiki.sessions else []
    return ["index.md", REVIEWS, INBOX, HEALTH, GRAPH, ALL_RECORDS, VIEWS, KINDS, SCOPES, *lists, *sessions]


def resolve_record_href(wiki: Wiki, page: WikiPage, href: str) -> str:
    """Return the page of the wiki that *href*, a link to a record file on *page*, means, with its anchor; or ""."""
    path, mark, anchor = href.partition("#")
    if not page.source or not path:
        return ""
    aimed = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), unquote(path)))
    place = wiki.library.by_path.get(aimed)
    return "" if place is None else wiki.library.uris[place] + mark + anchor


def map_permalinks(wiki: Wiki) -> dict[str, tuple[int, ...]]:
    """Return each lasting address, a page relative to the wiki's top, with the records it may mean.

    `r/<uid>/` means one record. `<ID>/` means every record that has the id in its scope, or had it; and the page a
    record had under a former id leads on, where no other record has it now.
    """
    found: dict[str, list[int]] = {}
    for place, record in enumerate(wiki.library.records):
        if record.uid:
            found.setdefault(f"r/{sanitise_path_part(record.uid)}/index.html", []).append(place)
        for name in dict.fromkeys([record.id, *list_aliases(record.extra)]):
            found.setdefault(f"{sanitise_path_part(name)}/index.html", []).append(place)
    taken = set(wiki.library.uris.values())
    for (scope, alias), place in wiki.library.by_alias.items():
        stem = f"{get_scope_folder(scope)}/{sanitise_path_part(alias)}"
        if f"{stem}.md" not in taken:
            found[f"{stem}/index.html"] = found[f"{stem}.html"] = [place]
    return {address: tuple(places) for address, places in found.items()}


def render_redirect(wiki: Wiki, address: str, places: Sequence[int], target: Callable[[int], str]) -> str:
    """Return a page that leads from *address* to the one of *places*, or lets the visitor choose; it needs no script.

    *target* answers the place of a record with its address, relative to this page.
    """
    rows = (_render_choice(wiki, place, target(place)) for place in places)
    refresh = f'<meta http-equiv="refresh" content="0; url={Html(target(places[0]))}">' if len(places) == 1 else ""
    title = element("title", posixpath.basename(posixpath.dirname(address)))
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">{refresh}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        '<link rel="icon" href="data:,">'
        f"{title}</head><body>{element('p', wiki.translate_message(msg('This leads to:')))}"
        f"{element('ul', *rows)}</body></html>\n"
    )


def _render_choice(wiki: Wiki, place: int, address: str) -> Html:
    record = wiki.library.records[place]
    words = f"{get_status_sign(record.status)} {format_title(record)} · {label_scope(wiki, record.scope)}"
    return element("li", element("a", words, href=address), f" ({label_status(wiki, record.status)})")


def list_file_names(wiki: Wiki) -> set[str]:
    """Return every file that `iter_site_files` makes, relative to the wiki's top."""
    return {*map_permalinks(wiki), RECORDS, DATA, *list_chunk_files(wiki), *list_feeds(wiki)}


def iter_site_files(
    wiki: Wiki,
    stamps: PageFingerprints,
    urls: Mapping[str, str],
    published: str = "",
    known: Mapping[str, Any] | None = None,
) -> Iterator[SiteFile]:
    """Yield every file of *wiki* that is no page; *known* as for `records_json`.

    *urls* has the address of each page relative to the wiki's top; *published* is where that top is to be found on
    the web, "" where nobody says so.
    """
    for path, places in map_permalinks(wiki).items():
        yield SiteFile(
            path,
            hash_parts([stamps.record_hashes[n] for n in places]),
            partial(_render_redirect_file, wiki, urls, path, places),
        )
    yield SiteFile(RECORDS, "", lambda: render_records_json(wiki, lambda uri: urls[uri], known))
    yield SiteFile(DATA, "", lambda: render_graph_data(wiki, lambda uri: urls[uri]))
    yield from iter_chunks(stamps, lambda uri: urls[uri])
    for name, scope in list_feeds(wiki).items():
        address = _build_address_resolver(urls, posixpath.dirname(name), published)
        yield SiteFile(name, "", partial(render_feed, wiki, scope, name, address))


def _render_redirect_file(wiki: Wiki, urls: Mapping[str, str], path: str, places: Sequence[int]) -> str:
    here = posixpath.dirname(path)
    return render_redirect(wiki, path, places, lambda place: _relativise_url(urls[wiki.library.uris[place]], here))


def _build_address_resolver(urls: Mapping[str, str], here: str, published: str) -> Callable[[str], str]:
    def resolve_address(uri: str) -> str:
        url = urls.get(uri, uri)
        return f"{published}{url}" if published else _relativise_url(url, here)

    return resolve_address


def _relativise_url(url: str, here: str) -> str:
    """Return *url*, relative to the wiki's top, as it is seen from the folder *here*."""
    return "../" * (here.count("/") + 1 if here else 0) + url
