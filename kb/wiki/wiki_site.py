"""List all files of the wiki: its pages, and its files other than pages. Independent of mkdocs."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kb.records.model import list_aliases
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.data_files import RECORDS, iter_chunks, list_feeds, render_feed, render_records_json
from kb.wiki.library import get_scope_folder, sanitise_path_part
from kb.wiki.list_pages import (
    ALL_RECORDS,
    DATA,
    GRAPH,
    KINDS,
    SCOPES,
    VIEWS,
    build_graph_page,
    build_home_page,
    build_views_page,
    iter_list_drafts,
    render_graph_data,
)
from kb.wiki.pending_pages import HEALTH, INBOX, REVIEWS, build_health_page, build_inbox_page, build_reviews_page
from kb.wiki.record_pages import SESSIONS, build_record_page, iter_session_pages
from kb.wiki.wiki_model import PageDraft, SiteFile, Wiki, WikiPage

if TYPE_CHECKING:
    from typing import Any


# -- pages ----------------------------------------------------------------------------------------


def iter_drafts(fingerprints: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page of the wiki, the home page first; those of which there may be many are not made yet."""
    wiki = fingerprints.wiki
    few = (build_home_page, build_reviews_page, build_inbox_page, build_health_page, build_graph_page, build_views_page)
    yield from (build_draft(build(wiki)) for build in few)
    yield from iter_list_drafts(fingerprints)
    yield from map(build_draft, iter_session_pages(wiki))
    for position, uri in wiki.library.uris.items():
        yield PageDraft(uri, fingerprints.page_hashes[position], partial(build_record_page, wiki, position))


def list_navigation(wiki: Wiki) -> list[str]:
    """Return the pages that the navigation shows: few, and the same for any size, so that a large wiki builds fast."""
    lists = (listing.uri for listing in (wiki.statuses, wiki.tags, wiki.paths, wiki.months))
    sessions = [SESSIONS] if wiki.sessions else []
    return ["index.md", REVIEWS, INBOX, HEALTH, GRAPH, ALL_RECORDS, VIEWS, KINDS, SCOPES, *lists, *sessions]


def resolve_record_href(wiki: Wiki, page: WikiPage, href: str) -> str:
    """Return the page of the wiki that *href*, a link to a record file on *page*, means, with its anchor; or ""."""
    path, mark, anchor = href.partition("#")
    if not page.source or not path:
        return ""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), unquote(path)))
    position = wiki.library.by_path.get(file)
    return "" if position is None else wiki.library.uris[position] + mark + anchor


# -- files that are no pages ----------------------------------------------------------------------


def iter_site_files(
    fingerprints: PageFingerprints, urls: Mapping[str, str], published: str = "", known: Mapping[str, Any] | None = None
) -> Iterator[SiteFile]:
    """Yield every file of the wiki that is no page; *known* as for `render_records_json`.

    *urls* has the address of each page relative to the wiki's top; *published* is where that top is to be found on
    the web, "" where nobody says so.
    """
    wiki = fingerprints.wiki
    for path, positions in map_permalinks(wiki).items():
        here = posixpath.dirname(path)
        fingerprint = hash_parts([fingerprints.record_hashes[n] for n in positions])
        address = partial(_find_address, urls, here, "")
        yield SiteFile(path, fingerprint, partial(render_redirect, wiki, path, positions, address))
    yield SiteFile(RECORDS, "", lambda: render_records_json(wiki, urls.__getitem__, known))
    yield SiteFile(DATA, "", lambda: render_graph_data(wiki, urls.__getitem__))
    yield from iter_chunks(fingerprints, urls.__getitem__)
    for name, scope in list_feeds(wiki).items():
        address = partial(_find_address, urls, posixpath.dirname(name), published)
        yield SiteFile(name, "", partial(render_feed, wiki, scope, name, address))


def _find_address(urls: Mapping[str, str], here: str, published: str, uri: str) -> str:
    """Return where the page or file *uri* is: on the web, or else as it is seen from the folder *here*."""
    top = published or "../" * (here.count("/") + 1 if here else 0)
    return top + urls.get(uri, uri)


def map_permalinks(wiki: Wiki) -> dict[str, tuple[int, ...]]:
    """Return each lasting address, a page relative to the wiki's top, with the records it may mean.

    `r/<uid>/` means one record. `<ID>/` means every record that has the id in its scope, or had it; and the page a
    record had under a former id leads on, where no other record has it now.
    """
    found: dict[str, list[int]] = {}
    for position, record in enumerate(wiki.library.records):
        if record.uid:
            found.setdefault(f"r/{sanitise_path_part(record.uid)}/index.html", []).append(position)
        for name in dict.fromkeys([record.id, *list_aliases(record.extra)]):
            found.setdefault(f"{sanitise_path_part(name)}/index.html", []).append(position)
    taken = set(wiki.library.uris.values())
    for (scope, alias), position in wiki.library.by_alias.items():
        stem = f"{get_scope_folder(scope)}/{sanitise_path_part(alias)}"
        if f"{stem}.md" not in taken:
            found[f"{stem}/index.html"] = found[f"{stem}.html"] = [position]
    return {address: tuple(positions) for address, positions in found.items()}


def render_redirect(wiki: Wiki, path: str, positions: Sequence[int], address: Callable[[str], str]) -> str:
    """Return the page *path*, which leads to the one of *positions*, or lets the visitor choose; it needs no script.

    *address* returns the address of a page of the wiki, relative to this one.
    """
    rows = [(position, address(wiki.library.uris[position])) for position in positions]
    return wiki.render("redirect.page", posixpath.basename(posixpath.dirname(path)), rows)
