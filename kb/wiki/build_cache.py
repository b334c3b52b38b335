"""Cache of the last wiki build: fingerprints of its pages, so that the next build makes only what changed.

A page is known by a fingerprint of what it is made of. It covers whole records, not the fields a page shows of them:
the page's own record, every record it may name, and where the lists it leads to begin. What all pages have in common,
such as the settings, has a fingerprint of its own.

The data files are all records as JSON, decisions as Atom feeds (docs/wiki.md describes both), and data for the scripts
of the pages, in pieces: a card for each link and rows for the lists, scripts that call `kbData(name, value)`, which
pages opened from the disk can load as well.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import kb
from kb.i18n import msg
from kb.records.model import LIVE, Record, Status, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, one_line
from kb.wiki.library import get_path_folder, sanitise_path_part
from kb.wiki.page_parts import STATUSES, format_title, list_authors
from kb.wiki.render import Html, encode_json, parse_reference
from kb.wiki.wiki_model import PageDraft, SiteFile, Wiki, WikiPage

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
            self._rows[position] = self.wiki.render("lists.row", position)
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
        tags, records = self.wiki.tags.uris, self.wiki.library.records
        return hash_parts([(self.record_hashes[n], [tags[tag] for tag in records[n].tags]) for n in positions])

    def _hash_page(self, position: int) -> str:
        wiki = self.wiki
        record = wiki.library.records[position]
        lists = [wiki.kinds[record.kind].uri, wiki.scopes[record.scope].uri]
        lists += [wiki.tags.uris[tag] for tag in record.tags]
        lists += [wiki.paths.uris[get_path_folder(path)] for path in record.impact]
        sessions = [wiki.find_session_uri(source) for source in record.sources] if wiki.sessions else ()
        around = [None if other is None else self.record_hashes[other] for other in self.iter_neighbours(position)]
        quotes = [*wiki.library.cited_by.get(position, {}).values()]
        return hash_parts(self.record_hashes[position], around, quotes, lists, sessions)

    def iter_neighbours(self, position: int) -> Iterator[int | None]:
        """Yield the records that the page of the one at *position* may name; None for what is not there."""
        library = self.wiki.library
        record = library.records[position]
        yield from self.wiki.similar[position]
        yield from library.cited_by.get(position, ())
        yield from self._cited_records.get(position, ())
        yield from library.list_chain(position)
        yield from library.superseded_by.get(position, ())
        yield from library.amended_by.get(position, ())
        for name in (*record.supersedes, *record.amends, *record.coexists_with):
            yield library.find(parse_reference(name), record.scope)
        texts = [section.text for section in record.sections if "[[" in section.text or "](" in section.text]
        for text in [*texts, record.user]:
            yield from (library.find_link_target(words.strip(), record.scope) for words in _WIKI_LINK.findall(text))
            for inline, defined in _MARKDOWN_LINK.findall(text):
                href = posixpath.join(posixpath.dirname(record.path), unquote(inline or defined))
                yield library.by_path.get(posixpath.normpath(href))

    @cached_property
    def _cited_records(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for target, citing in self.wiki.library.cited_by.items():
            for position in citing:
                found.setdefault(position, []).append(target)
        return found


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
    with contextlib.suppress(OSError):  # where nothing can be kept, all is built anew
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


# -- data files -----------------------------------------------------------------------------------

# -- all records as JSON --------------------------------------------------------------------------

RECORDS = "records.json"
VERSION = 1
"""The version of the form of `records.json`."""


def render_records_json(wiki: Wiki, url: Callable[[str], str], known: Mapping[str, Any] | None = None) -> str:
    """Return every record as JSON; *url* returns the address of a page, relative to the file.

    *known* are the unchanged rows from the last build, by their pages.
    """
    uris, unchanged = wiki.library.uris, known or {}
    rows = [unchanged.get(uris[n]) or _build_record(wiki, n, url) for n in range(len(wiki.library.records))]
    value = {"version": VERSION, "name": wiki.config.name, "language": wiki.config.language, "records": rows}
    return encode_json(value) + "\n"


def _build_record(wiki: Wiki, position: int, url: Callable[[str], str]) -> dict[str, Any]:
    record, library = wiki.library.records[position], wiki.library
    versions = wiki.list_versions(record)

    def name_of(other: int) -> str:
        return f"{library.records[other].scope.removeprefix('project/')}:{library.records[other].id}"

    return {
        **{key: getattr(record, key) for key in ("id", "uid", "kind", "title", "scope", "status", "date", "confirmed")},
        **{key: list(getattr(record, key)) for key in ("tags", "impact", "supersedes", "amends")},
        "claims": dict(record.claims),
        "former_ids": list_aliases(record.extra),
        "superseded_by": [*map(name_of, library.superseded_by.get(position, ()))],
        "cited_by": [*map(name_of, library.cited_by.get(position, ()))],
        "updated": versions[0].time if versions else "",
        "authors": list_authors(record, (version.author for version in reversed(versions))),
        "file": record.path,
        "url": url(library.uris[position]),
        "permalink": f"r/{sanitise_path_part(record.uid)}/" if record.uid else "",
        "short": render_short_form(record, wiki.config.language),
    }


# -- feeds ----------------------------------------------------------------------------------------

FEED = "feed.xml"
MAX_FEED_ENTRIES = 50
"""Entries of one feed, at most."""
_NEVER = "1970-01-01T00:00:00Z"


def list_feeds(wiki: Wiki) -> dict[str, str]:
    """Return each feed's file with its scope; "" is the feed of all."""
    own = {f"feeds/{listing.stem.rpartition('/')[2]}.xml": scope for scope, listing in wiki.scopes.items()}
    return {FEED: "", **own}


def render_feed(wiki: Wiki, scope: str, name: str, address: Callable[[str], str]) -> str:
    """Return the Atom feed *name* of the decisions in force in *scope* ("": in all), the latest first.

    *address* returns for a page, or a file of the wiki, what a feed reader can open: an absolute address where the
    site says where it is published, else one relative to the feed.
    """
    title = f"{wiki.config.name} · {wiki.label_scope(scope) if scope else wiki.translate(msg('decisions'))}"
    decisions = [
        (_format_update_time(wiki, record), record.id, -n)
        for n, record in enumerate(wiki.library.records)
        if record.kind == "decision" and record.status == Status.ACCEPTED and scope in ("", record.scope)
    ]
    latest = sorted(decisions, reverse=True)[:MAX_FEED_ENTRIES]
    own = address(name)
    identity = own if "://" in own else f"urn:kb:{sanitise_path_part(wiki.config.name)}:{name}"
    rows = [(updated, -position) for updated, _, position in latest]
    return wiki.render("feed.page", title, identity, own, rows[0][0] if rows else _NEVER, rows, address)


def _format_update_time(wiki: Wiki, record: Record) -> str:
    """Return when *record* last changed, in a form that Atom takes and that sorts."""
    versions = wiki.list_versions(record)
    try:
        moment = datetime.datetime.fromisoformat(versions[0].time if versions else record.date)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return _NEVER


# -- data for the scripts of the pages ------------------------------------------------------------

ROWS = 1_000
"""Records in one piece of the lists."""
CARDS = 100
"""Cards in one piece, about."""
MAX_SENTENCE_CHARACTERS = 240
"""Characters of a decision that a card shows."""


def iter_chunks(fingerprints: PageFingerprints, url: Callable[[str], str]) -> Iterator[SiteFile]:
    """Yield every piece; *url* returns the address of a page, relative to the wiki's top."""
    wiki = fingerprints.wiki
    count = len(wiki.library.records)
    row_pieces, card_pieces = (max(1, -(-count // size)) for size in (ROWS, CARDS))

    def build_piece(name: str, fingerprint: str, build: Callable[[], object]) -> SiteFile:
        return SiteFile(f"data/{name}.js", fingerprint, lambda: f"kbData({json.dumps(name)},{encode_json(build())});\n")

    yield build_piece("lists", "", partial(_build_start, wiki, row_pieces, card_pieces))
    for number in range(row_pieces):
        here = range(count)[number * ROWS : (number + 1) * ROWS]
        fingerprint = hash_parts([fingerprints.record_hashes[n] for n in here])
        yield build_piece(f"rows-{number}", fingerprint, partial(_build_rows, wiki, here, url))
    pieces: list[dict[str, int]] = [{} for _ in range(card_pieces)]
    for position in range(count):
        name = unquote(url(wiki.library.uris[position]))
        pieces[hash_to_piece(name, card_pieces)][name] = position
    for number, cards in enumerate(pieces):
        fingerprint = hash_parts([fingerprints.page_hashes[n] for n in cards.values()])
        yield build_piece(f"cards-{number}", fingerprint, partial(_build_cards, wiki, cards))


def hash_to_piece(name: str, pieces: int) -> int:
    """Return which of *pieces* has the card of the page *name*: kb.js counts in the same way."""
    number = 0
    for sign in name:
        number = (number * 31 + ord(sign)) % 65_521
    return number % pieces


def _build_start(wiki: Wiki, row_pieces: int, card_pieces: int) -> dict[str, Any]:
    """Return the names of the other pieces, and what the fields above a list offer."""
    words = {
        "text": msg("Filter"),
        "kind": msg("Kind"),
        "scope": msg("Scope"),
        "status": msg("Status"),
        "tag": msg("Tag"),
        "month": msg("Month"),
        "path": msg("Governs a path, such as src/auth"),
        "all": msg("all"),
        "clear": msg("Clear"),
        "more": msg("Show more"),
        "found": msg("{found} of {all} records", found="{found}", all="{all}"),
        "heads": msg("Status|Record|Scope|Date|Tags"),
    }
    statuses = (*STATUSES, *sorted({record.status for record in wiki.library.records} - {*STATUSES}))
    return {
        "records": len(wiki.library.records),
        "rows": row_pieces,
        "cards": card_pieces,
        "kind": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "scope": {scope: wiki.label_scope(scope) for scope in wiki.scopes},
        "status": {status: wiki.label_status_with_sign(status) for status in statuses},
        "tag": [*wiki.tags.uris],
        "month": [month for month in wiki.months.uris if month[:1].isdigit()],
        "words": {name: wiki.translate(word) for name, word in words.items()},
    }


def _build_rows(wiki: Wiki, positions: range, url: Callable[[str], str]) -> list[list[object]]:
    """Return what the lists show of the records at *positions*."""
    rows: list[list[object]] = []
    for position in positions:
        record = wiki.library.records[position]
        address = url(wiki.library.uris[position])
        rows.append([*_list_common_fields(record), address, list(record.tags), list(record.impact)])
    return rows


def _build_cards(wiki: Wiki, positions: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the cards of the records at *positions*, by the addresses of their pages."""
    cards, library = {}, wiki.library
    for address, position in positions.items():
        record = library.records[position]
        after = () if record.status in LIVE else library.superseded_by.get(position, ())
        newer = ", ".join(format_title(library.records[n]) for n in after)
        superseded_notice = f"{wiki.translate(msg('No longer accepted. Read instead:'))} {newer}" if newer else ""
        sentence = first_sentence(record.section("decision"), MAX_SENTENCE_CHARACTERS)
        cards[address] = [*_list_common_fields(record), sentence, superseded_notice]
    return cards


def _list_common_fields(record: Record) -> list[str]:
    name, day = (one_line(record.id), one_line(record.title)), one_line(record.date[:10])
    return [*name, record.kind, record.scope, record.status, day]
