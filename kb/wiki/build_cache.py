"""What the last build of a wiki has left: which page was made of what, so that the next build makes the others only."""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import kb
from kb.wiki.markup import parse_reference
from kb.wiki.render import Html
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage, get_path_folder

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


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


FORM = 1
"""The version of the form in which a build is remembered."""


class BuiltPage(NamedTuple):
    """A page as it was built."""

    stamp: str
    file: str
    """Where it stands, relative to the site's top."""
    wrong: tuple[str, ...]
    """What was wrong with it."""


class BuiltSite:
    """A site as it was built, or as far as it is."""

    def __init__(self, frame: str = "") -> None:
        """Begin with nothing but the stamp of what all pages have in common."""
        self.frame = frame
        self.pages: dict[str, BuiltPage] = {}
        self.files: dict[str, str] = {}
        """File that is no page, relative to the site's top → its stamp; "": it is made every time."""
        self.docs: dict[str, str] = {}
        """What the search finds, in the order of its numbers: address → stamp."""


def load_built_site(kb: KnowledgeBase, target: str) -> BuiltSite:
    """Return what the site at *target* was built of; of none, or one that is not there any more, nothing."""
    told = kb.state.load(*locate_state(target), "built.json")
    if not told or told.get("form") != FORM:
        return BuiltSite()
    built = BuiltSite(told["frame"])
    built.pages.update(
        (uri, BuiltPage(made_of, file, tuple(wrong))) for uri, (made_of, file, *wrong) in told["pages"].items()
    )
    built.files.update(told["files"])
    built.docs.update(told["docs"])
    return built


def save_built_site(kb: KnowledgeBase, target: str, built: BuiltSite) -> None:
    """Keep what the site at *target* was built of."""
    pages = {uri: [page.stamp, page.file, *page.wrong] for uri, page in built.pages.items()}
    told = {"form": FORM, "frame": built.frame, "pages": pages, "files": built.files, "docs": built.docs}
    with contextlib.suppress(OSError):  # where nothing can be kept, all is built anew
        kb.state.save(told, *locate_state(target), "built.json")


def clear_built_site(kb: KnowledgeBase, target: str) -> None:
    """Remember nothing of the site at *target*: it is about to change."""
    with contextlib.suppress(OSError):
        kb.state.save({}, *locate_state(target), "built.json")


def locate_state(target: str) -> tuple[str, str]:
    """Return the folder of the state in which is kept what belongs to the site at *target*."""
    return "wiki", sha256(os.path.realpath(target).encode()).hexdigest()[:16]


def hash_common_parts(wiki: Wiki, site: object) -> str:
    """Return the stamp of what all pages have in common: programs, settings, what of *wiki* is no single record's."""
    story = wiki.told.story
    hosts = story and (story.edit, story.request, story.code)
    hidden = sorted(wiki.hidden), sorted(wiki.hidden_titles)
    sessions = [session.session.name for session in wiki.sessions]
    return hash_parts(
        _list_program_versions(), site, wiki.config, hosts, hidden, sessions, [*wiki.kinds], [*wiki.scopes]
    )


def _list_program_versions() -> list[object]:
    """Return the versions of what makes pages; of kb itself the times of its files: they change while it is written."""
    top = os.path.dirname(kb.__file__)
    files = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name[-4:] != ".pyc")
    versions = [version(name) for name in ("mkdocs", "mkdocs-material", "markdown-it-py", "pygments", "jinja2")]
    return [versions, sorted((path, os.stat(path).st_mtime_ns) for path in files)]


def remove_stale_files(folder: str, before: BuiltSite, now: BuiltSite) -> None:
    """Delete below *folder* the files that were there *before* and are not *now*, and the folders left empty."""
    was, left = ({*built.files, *(page.file for page in built.pages.values())} for built in (before, now))
    for name in was - left:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            os.unlink(path)
            place = os.path.dirname(path)
            while place != folder and not os.listdir(place):
                os.rmdir(place)
                place = os.path.dirname(place)
