"""What each page is made of, as a stamp: a page whose stamp is the same as when it was built need not be made again.

A stamp covers whole records, not the fields a page shows of them: the page's own record, every record it may name,
and where the lists it leads to begin. What holds for all pages, such as the settings, is the stamp of the whole.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from urllib.parse import unquote

from kb.wiki.html import Html
from kb.wiki.markup import parse_reference
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage, get_path_folder

_NAMED = re.compile(r"\[\[\s*([^\[\]|]{1,200})")
_LINKED = re.compile(r"\]\(\s*<?([^)\s>#]+)|(?m:^ {0,3}\[[^\[\]]+\]:[ \t]*(\S+))")


def hash_parts(*parts: object) -> str:
    """Return a short text that differs where any of *parts* does."""
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def build_draft(page: WikiPage) -> PageDraft:
    """Return *page* as a draft: it had to be made to know what it is made of."""
    return PageDraft(page.uri, hash_parts(page), lambda: page)


class PageFingerprints:
    """The stamps of one wiki."""

    def __init__(self, wiki: Wiki) -> None:
        """Reckon none yet."""
        self.wiki = wiki
        self._rows: dict[int, Html] = {}

    def render_row(self, place: int, make: Callable[[Wiki, int], Html]) -> Html:
        """Return the row of the record at *place*, which is the same in every list: it is made once."""
        if place not in self._rows:
            self._rows[place] = make(self.wiki, place)
        return self._rows[place]

    @cached_property
    def record_hashes(self) -> Sequence[str]:
        """The stamp of every record by itself: its words, its page and its versions in git."""
        shelf = self.wiki.library
        return [
            hash_parts(record, shelf.uris[place], [version.commit for version in self.wiki.list_versions(record)])
            for place, record in enumerate(shelf.records)
        ]

    @cached_property
    def page_hashes(self) -> Sequence[str]:
        """The stamp of every record's page."""
        return [self._hash_page(place) for place in range(len(self.wiki.library.records))]

    def hash_rows(self, places: Iterable[int]) -> str:
        """Return the stamp of a list of the records at *places*."""
        tags, wiki = self.wiki.tags.uris, self.wiki
        return hash_parts(
            [(self.record_hashes[place], [tags[tag] for tag in wiki.library.records[place].tags]) for place in places]
        )

    def _hash_page(self, place: int) -> str:
        wiki = self.wiki
        record = wiki.library.records[place]
        lists = [wiki.kinds[record.kind].uri, wiki.scopes[record.scope].uri]
        lists += [wiki.tags.uris[tag] for tag in record.tags]
        lists += [wiki.paths.uris[get_path_folder(path)] for path in record.impact]
        sessions = [wiki.find_session_uri(source) for source in record.sources] if wiki.sessions else ()
        around = [None if other is None else self.record_hashes[other] for other in self.iter_neighbours(place)]
        said = [*wiki.library.cited_by.get(place, {}).values()]
        return hash_parts(self.record_hashes[place], around, said, lists, sessions)

    def iter_neighbours(self, place: int) -> Iterator[int | None]:
        """Yield the places of the records that the page of the one at *place* may name; None for what is not there."""
        shelf = self.wiki.library
        record = shelf.records[place]
        yield from self.wiki.similar[place]
        yield from shelf.cited_by.get(place, ())
        yield from self._cited_places.get(place, ())
        yield from shelf.list_chain(place)
        yield from shelf.superseded_by.get(place, ())
        yield from shelf.amended_by.get(place, ())
        for words in (*record.supersedes, *record.amends, *record.coexists_with):
            yield shelf.find(parse_reference(words), record.scope)
        texts = [section.text for section in record.sections if "[[" in section.text or "](" in section.text]
        texts += [record.user] if record.user else []
        for text in texts:
            yield from (shelf.find_link_target(words.strip(), record.scope) for words in _NAMED.findall(text))
            yield from (self._find_linked_file(record.path, a or b) for a, b in _LINKED.findall(text))

    def _find_linked_file(self, source: str, href: str) -> int | None:
        aimed = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(href)))
        return self.wiki.library.by_path.get(aimed)

    @cached_property
    def _cited_places(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for target, citing in self.wiki.library.cited_by.items():
            for place in citing:
                found.setdefault(place, []).append(target)
        return found
