"""The files of the wiki that are no pages: addresses that stay, feeds, data."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping

from kb.wiki.chunks import chunk_names, chunks
from kb.wiki.feeds import RECORDS, feed, feed_names, records_json
from kb.wiki.graph import DATA, graph_data
from kb.wiki.permalinks import forwarding, permalinks
from kb.wiki.whole import Wiki


def file_names(wiki: Wiki) -> set[str]:
    """Return every file that `files` makes, relative to the wiki's top."""
    return {*permalinks(wiki), RECORDS, DATA, *chunk_names(wiki), *feed_names(wiki)}


def files(wiki: Wiki, urls: Mapping[str, str], published: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and content of every file of *wiki* that is no page.

    *urls* has the address of each page relative to the wiki's top; *published* is where that top is to be found on
    the web, "" where nobody says so.
    """
    for path, places in permalinks(wiki).items():

        def target(place: int, here: str = posixpath.dirname(path)) -> str:
            return _seen(urls[wiki.library.uris[place]], here)

        yield path, forwarding(wiki, path, places, target)
    yield RECORDS, records_json(wiki, lambda uri: urls[uri])
    yield DATA, graph_data(wiki, lambda uri: urls[uri])
    yield from chunks(wiki, lambda uri: urls[uri])
    for name, scope in feed_names(wiki).items():
        yield name, feed(wiki, scope, name, _address(urls, posixpath.dirname(name), published))


def _address(urls: Mapping[str, str], here: str, published: str) -> Callable[[str], str]:
    def address(uri: str) -> str:
        url = urls.get(uri, uri)
        return f"{published}{url}" if published else _seen(url, here)

    return address


def _seen(url: str, here: str) -> str:
    """Return *url*, relative to the wiki's top, as it is seen from the folder *here*."""
    return posixpath.relpath(url, here or ".") + ("/" if url.endswith("/") else "")
