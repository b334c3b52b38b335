"""The files of the wiki that are no pages: addresses that stay, feeds, data."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kb.wiki.feeds import RECORDS, list_feeds, render_feed, render_records_json
from kb.wiki.graph import DATA, render_graph_data
from kb.wiki.page_data import iter_chunks, list_chunk_files
from kb.wiki.page_fingerprints import PageFingerprints, hash_parts
from kb.wiki.permalinks import map_permalinks, render_redirect
from kb.wiki.wiki_model import SiteFile, Wiki

if TYPE_CHECKING:
    from typing import Any


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
