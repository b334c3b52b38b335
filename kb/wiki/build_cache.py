"""Cache of the last wiki build: fingerprints of its pages, so that the next build makes only what changed.

A page is known by a fingerprint of what it is made of. It covers whole records, not the fields a page shows of them:
the page's own record, every record it may name, and where the lists it leads to begin. What all pages have in common,
such as the settings, has a fingerprint of its own.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import kb
from kb.wiki.render import Html, iter_numbers, parse_reference
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

FORM = 1
"""The version of the form in which a build is remembered."""

_WIKI_LINK = re.compile(r"\[\[\s*([^\[\]|]{1,200})")
_MARKDOWN_LINK = re.compile(r"\]\(\s*<?([^)\s>#]+)|(?m:^ {0,3}\[[^\[\]]+\]:[ \t]*(\S+))")


# -- fingerprints ---------------------------------------------------------------------------------


def hash_parts(*parts: object) -> str:
    """Return a short text that differs where any of *parts* does."""
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def build_draft(page: WikiPage) -> PageDraft:
    """Return *page* as a draft: it had to be made to know what it is made of."""
    return PageDraft(page.uri, hash_parts(page), lambda: page)


class PageFingerprints:
    """The fingerprints of one wiki."""

    def __init__(self, wiki: Wiki) -> None:
        """Compute none yet."""
        self.wiki = wiki
        self._rows: dict[int, Html] = {}

    def render_row(self, position: int) -> Html:
        """Return the row of the record at *position*, which is the same in every list: it is made once."""
        if position not in self._rows:
            self._rows[position] = self.wiki.render("parts.row", position)
        return self._rows[position]

    @cached_property
    def record_hashes(self) -> Sequence[str]:
        """The fingerprint of every record by itself: its words, its page and its versions in git."""
        library, versions = self.wiki.library, self.wiki.list_versions
        return [
            hash_parts(record, library.uris[position], [one.commit for one in versions(record)])
            for position, record in enumerate(library.records)
        ]

    @cached_property
    def page_hashes(self) -> Sequence[str]:
        """The fingerprint of every record's page."""
        return [self._hash_page(position) for position in range(len(self.wiki.library.records))]

    def hash_rows(self, positions: Iterable[int]) -> str:
        """Return the fingerprint of a list of the records at *positions*."""
        return hash_parts([self.record_hashes[n] for n in positions])

    def _hash_page(self, position: int) -> str:
        wiki = self.wiki
        record = wiki.library.records[position]
        sessions = [wiki.find_session_uri(source) for source in record.sources] if wiki.sessions else ()
        around = [None if other is None else self.record_hashes[other] for other in self.iter_neighbours(position)]
        quotes = [*wiki.library.cited_by.get(position, {}).values()]
        reviews = [(one.branch, one.tip) for one in wiki.open_reviews.get(position, ())]
        opposed = (reviews, [reason.values for reason in wiki.contradictions.get(position, ())])
        tag = wiki.list_nearby(position)[1]
        return hash_parts(self.record_hashes[position], around, quotes, tag, sessions, opposed)

    def iter_neighbours(self, position: int) -> Iterator[int | None]:
        """Yield the records that the page of the one at *position* may name; None for what is not there."""
        library = self.wiki.library
        record = library.records[position]
        yield from self.wiki.similar[position]
        yield from library.cited_by.get(position, ())
        yield from library.cites.get(position, ())
        around, _, with_tag = self.wiki.list_nearby(position)
        yield from (*around, *with_tag)
        yield from library.list_chain(position)
        yield from library.superseded_by.get(position, ())
        yield from library.amended_by.get(position, ())
        for name in (*record.supersedes, *record.amends, *record.coexists_with):
            yield library.find(parse_reference(name), record.scope)
        for text in (*(section.text for section in record.sections), record.user):
            yield from (library.find_link_target(words.strip(), record.scope) for words in _WIKI_LINK.findall(text))
            numbers = iter_numbers(text) if library.by_number else ()
            yield from (library.by_number.get((record.scope, number)) for number, _, _ in numbers)
            for inline, defined in _MARKDOWN_LINK.findall(text):
                href = posixpath.join(posixpath.dirname(record.path), unquote(inline or defined))
                yield library.by_path.get(posixpath.normpath(href))


def hash_common_parts(wiki: Wiki, site: object) -> str:
    """Return the fingerprint of what all pages have in common: programs, settings, what is no single record's."""
    timeline, top = wiki.sources.timeline, os.path.dirname(kb.__file__)
    # Of kb itself the times of its files count: they change while it is being worked on.
    files = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name[-4:] != ".pyc")
    return hash_parts(
        [version(name) for name in ("mkdocs", "mkdocs-material", "markdown-it-py", "pygments", "jinja2")],
        sorted((path, os.stat(path).st_mtime_ns) for path in files),
        site,
        wiki.config,
        (timeline.edit, timeline.request, timeline.code),
        (sorted(wiki.hidden), sorted(wiki.hidden_titles)),
        [session.session.name for session in wiki.sessions],
        ([*wiki.kinds], [*wiki.scopes]),
    )


# -- the site as it was built ---------------------------------------------------------------------


class BuiltPage(NamedTuple):
    """A page as it was built."""

    fingerprint: str
    file: str
    """Its path, relative to the site's top."""
    problems: tuple[str, ...]
    """What was wrong with it."""


@dataclass
class BuiltSite:
    """A site as it was built, or as far as it is."""

    frame: str = ""
    """The fingerprint of what all pages have in common."""
    pages: dict[str, BuiltPage] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """File that is no page, relative to the site's top → its fingerprint; "": it is made every time."""
    docs: dict[str, str] = field(default_factory=dict)
    """What the search finds, in the order of its numbers: address → fingerprint."""


def locate_state(target: str) -> tuple[str, str]:
    """Return the folder of the state in which is kept what belongs to the site at *target*."""
    return "wiki", sha256(os.path.realpath(target).encode()).hexdigest()[:16]


def load_built_site(kb: KnowledgeBase, target: str) -> BuiltSite:
    """Return what the site at *target* was built of; of none, or one that is not there any more, nothing."""
    saved = kb.state.load(*locate_state(target), "built.json")
    if not saved or saved.get("form") != FORM:
        return BuiltSite()
    pages = {uri: BuiltPage(mark, file, tuple(problems)) for uri, (mark, file, *problems) in saved["pages"].items()}
    return BuiltSite(saved["frame"], pages, saved["files"], saved["docs"])


def save_built_site(kb: KnowledgeBase, target: str, built: BuiltSite | None) -> None:
    """Keep what the site at *target* was built of; None: it is about to change."""
    value: dict[str, object] = {}
    if built:
        pages = {uri: [page.fingerprint, page.file, *page.problems] for uri, page in built.pages.items()}
        value = {"form": FORM, "frame": built.frame, "pages": pages, "files": built.files, "docs": built.docs}
    with contextlib.suppress(OSError):  # where nothing can be kept, all is built again
        kb.state.save(value, *locate_state(target), "built.json")


def remove_stale_files(site: str, before: BuiltSite, now: BuiltSite) -> None:
    """Delete from *site* the files that were there *before* and are not *now*, and the folders left empty."""
    was, left = ({*built.files, *(page.file for page in built.pages.values())} for built in (before, now))
    for name in was - left:
        path = os.path.join(site, name)
        if os.path.isfile(path):
            os.unlink(path)
            folder = os.path.dirname(path)
            while folder != site and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)
