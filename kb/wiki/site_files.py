"""The files of the wiki that are no pages: addresses that stay, feeds, data."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kb.wiki.feeds import RECORDS, feed, feed_names, records_json
from kb.wiki.graph import DATA, graph_data
from kb.wiki.page_data import chunk_names, chunks
from kb.wiki.page_fingerprints import Stamps, stamp
from kb.wiki.permalinks import forwarding, permalinks
from kb.wiki.wiki_model import Made, Wiki

if TYPE_CHECKING:
    from typing import Any


def file_names(wiki: Wiki) -> set[str]:
    """Return every file that `files` makes, relative to the wiki's top."""
    return {*permalinks(wiki), RECORDS, DATA, *chunk_names(wiki), *feed_names(wiki)}


def files(
    wiki: Wiki, stamps: Stamps, urls: Mapping[str, str], published: str = "", known: Mapping[str, Any] | None = None
) -> Iterator[Made]:
    """Yield every file of *wiki* that is no page; *known* as for `records_json`.

    *urls* has the address of each page relative to the wiki's top; *published* is where that top is to be found on
    the web, "" where nobody says so.
    """
    for path, places in permalinks(wiki).items():
        yield Made(path, stamp([stamps.own[n] for n in places]), partial(_forwarding, wiki, urls, path, places))
    yield Made(RECORDS, "", lambda: records_json(wiki, lambda uri: urls[uri], known))
    yield Made(DATA, "", lambda: graph_data(wiki, lambda uri: urls[uri]))
    yield from chunks(stamps, lambda uri: urls[uri])
    for name, scope in feed_names(wiki).items():
        address = _address(urls, posixpath.dirname(name), published)
        yield Made(name, "", partial(feed, wiki, scope, name, address))


def _forwarding(wiki: Wiki, urls: Mapping[str, str], path: str, places: Sequence[int]) -> str:
    here = posixpath.dirname(path)
    return forwarding(wiki, path, places, lambda place: _seen(urls[wiki.library.uris[place]], here))


def _address(urls: Mapping[str, str], here: str, published: str) -> Callable[[str], str]:
    def address(uri: str) -> str:
        url = urls.get(uri, uri)
        return f"{published}{url}" if published else _seen(url, here)

    return address


def _seen(url: str, here: str) -> str:
    """Return *url*, relative to the wiki's top, as it is seen from the folder *here*."""
    return "../" * (here.count("/") + 1 if here else 0) + url
