"""What the wiki is made of: everything its pages are made from, and what a page is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.history.timeline import Timeline
from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Reference, recency_key
from kb.text.segment import normalise, one_line
from kb.wiki.library import Key, Library, build_library, find_related_records, get_kind_sort_key, sanitise_path_part
from kb.wiki.page_parts import translate_status
from kb.wiki.render import escape_markdown, number_duplicates, slugify_headings

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.history.timeline import RecordVersion
    from kb.sessions.session_archive import SessionArchive
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import ReviewSides

ROWS_PER_PAGE = 250
"""Rows on one page of a list, at most."""


# -- pages and files ------------------------------------------------------------------------------


class WikiPage(NamedTuple):
    """One page, made and not yet rendered."""

    uri: str
    """Its path, relative to the wiki's top, with forward slashes."""
    parts: tuple[str, ...]
    """Markdown, and Html of the wiki's own; the first line is the title."""
    listing: bool = False
    """True for a page that only lists others."""
    name: str = ""
    """What the navigation calls it; "": by its title."""
    source: str = ""
    """The file to which its links are relative; "": the page itself."""
    broken: tuple[str, ...] = ()
    """What it cites that is not there."""

    @property
    def text(self) -> str:
        """The whole page, as it was written."""
        return "\n\n".join(self.parts) + "\n"


def build_list_page(uri: str, title: str, *parts: str) -> WikiPage:
    """Return the page *uri*, which only lists others, with *parts* under its *title*."""
    return WikiPage(uri, (f"# {escape_markdown(title)}", *parts), listing=True, name=title)


class PageDraft(NamedTuple):
    """A page that is made when it is asked for."""

    uri: str
    fingerprint: str
    """Two drafts with the same one are the same page."""
    make: Callable[[], WikiPage]


class SiteFile(NamedTuple):
    """A file that is made when it is asked for."""

    path: str
    fingerprint: str
    """As that of a page; "": it has to be made to know."""
    make: Callable[[], str]


# -- lists ----------------------------------------------------------------------------------------


class ListingGroup(NamedTuple):
    """Some rows of one group on one page."""

    label: str
    """What the group is called; "": the only one of its list, which needs no heading."""
    records: tuple[int, ...]
    """Positions in the library."""


class Listing(NamedTuple):
    """A list of records, cut into pages of bearable length."""

    stem: str
    """The page without its ending: `tags` is `tags.md`, then `tags/page-2.md`."""
    sheets: tuple[tuple[ListingGroup, ...], ...]
    """What stands on each page."""
    counts: Mapping[str, int]
    """Label → how many records the whole group has, in the order of the list."""
    uris: Mapping[str, str]
    """Label → page and anchor at which the group begins."""

    @property
    def uri(self) -> str:
        """The first page."""
        return self.get_sheet_uri(0)

    def get_sheet_uri(self, sheet: int) -> str:
        """Return the page of the *sheet*, counted from 0."""
        return f"{self.stem}/page-{sheet + 1}.md" if sheet else f"{self.stem}.md"


def build_listing(stem: str, groups: Mapping[str, Sequence[int]]) -> Listing:
    """Return *groups*, each a label with the positions of its records, as a list below *stem*."""
    sheets: list[list[ListingGroup]] = [[]]
    room = ROWS_PER_PAGE
    for label, records in groups.items():
        # A group that would not fit begins on a page of its own, so that only a group longer than a page is cut.
        if len(records) > room and room < ROWS_PER_PAGE:
            sheets.append([])
            room = ROWS_PER_PAGE
        for start in range(0, len(records), ROWS_PER_PAGE):
            if start:
                sheets.append([])
            sheets[-1].append(ListingGroup(label, tuple(records[start : start + ROWS_PER_PAGE])))
            room = ROWS_PER_PAGE - sum(len(group.records) for group in sheets[-1])
    counts = {label: len(records) for label, records in groups.items()}
    listing = Listing(stem, tuple(map(tuple, sheets)), counts, {})
    uris: dict[str, str] = {}
    for number, sheet in enumerate(sheets):
        uri = listing.get_sheet_uri(number)
        slugs = slugify_headings(["", *(group.label for group in sheet)])[1:]
        for group, slug in zip(sheet, slugs, strict=True):
            uris.setdefault(group.label, f"{uri}#{slug}" if group.label else uri)
    return listing._replace(uris=uris)


# -- the whole ------------------------------------------------------------------------------------


class SessionForms(NamedTuple):
    """An archived session with the forms of it that are shown."""

    session: SessionArchive
    forms: Mapping[str, str]
    """Name of a form → its markdown, the shortest first."""


class WikiSources(NamedTuple):
    """What a knowledge base holds beside its records."""

    sessions: Sequence[SessionForms] = ()
    timeline: Timeline = Timeline()
    reviews: Sequence[ReviewSides] = ()
    held: Sequence[HeldCandidate] = ()
    findings: Sequence[Finding] = ()
    hidden: Sequence[Record] = ()
    """Records that are shown nowhere, not even by their titles."""
    today: str = ""
    word_lists: Mapping[str, object] = {}
    """How the search cuts a question into words."""


class Wiki(NamedTuple):
    """Everything the pages are made from, and where they stand."""

    library: Library
    sources: WikiSources
    config: Config
    similar: Sequence[tuple[int, ...]]
    """For each record the positions of those most like it."""
    kinds: Mapping[str, Listing]
    scopes: Mapping[str, Listing]
    statuses: Listing
    tags: Listing
    months: Listing
    paths: Listing
    sessions: Sequence[SessionForms]
    """Newest first."""
    session_uris: Sequence[str]
    hidden: frozenset[Key]
    """Scope and id of what is left out."""
    hidden_titles: frozenset[str]

    def translate(self, message: Message) -> str:
        """Return *message* in the language of the wiki."""
        return message.translate(self.config.language)

    def list_versions(self, record: Record) -> Sequence[RecordVersion]:
        """Return the versions of *record*, newest first."""
        return self.sources.timeline.versions.get(record.path, ())

    def is_hidden(self, reference: Reference, scope: str) -> bool:
        """Return whether *reference*, written in *scope*, means a record that is left out of the wiki."""
        named = GLOBAL if reference.project == GLOBAL else f"project/{reference.project}"
        return any((one, reference.id) in self.hidden for one in ([named] if reference.project else [scope, GLOBAL]))

    def find_session_uri(self, source: str) -> str:
        """Return the page of the session that a record names as its *source* ("host/session"), or ""."""
        name = source.rpartition("/")[2]
        pairs = zip(self.sessions, self.session_uris, strict=True)
        return next((uri for archive, uri in pairs if name and archive.session.session == name), "")


def build_wiki(records: Iterable[Record], sources: WikiSources, config: Config) -> Wiki:
    """Return the wiki of *records* and of what else the knowledge base holds."""
    library = build_library(records)
    undated = msg("Undated").translate(config.language)
    newest = sorted(range(len(library.records)), key=lambda n: recency_key(library.records[n]), reverse=True)

    def group_by(labels: Callable[[Record], Iterable[str]], order: Iterable[int] | None = None) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position in range(len(library.records)) if order is None else order:
            for label in dict.fromkeys(labels(library.records[position])):
                found.setdefault(label, []).append(position)
        return found

    def list_each(folder: str, groups: Mapping[str, list[int]], names: Iterable[str]) -> dict[str, Listing]:
        stems = zip(groups, _assign_stems(folder, names), strict=True)
        return {value: build_listing(stem, {"": groups[value]}) for value, stem in stems}

    kinds, scopes = group_by(lambda record: [record.kind]), group_by(lambda record: [record.scope])
    kinds = {kind: kinds[kind] for kind in sorted(kinds, key=get_kind_sort_key)}
    statuses = group_by(lambda record: [translate_status(record.status, config.language)])
    tags = group_by(lambda record: record.tags)
    months = group_by(lambda record: [one_line(record.date[:7]) or undated], newest)
    paths = group_by(lambda record: map(get_path_folder, record.impact))
    sessions = sorted(sources.sessions, key=lambda one: (one.session.time, one.session.name), reverse=True)
    return Wiki(
        library,
        sources,
        config,
        find_related_records(library.records),
        list_each("kinds", kinds, kinds),
        list_each("scopes", scopes, (scope.replace("/", "-") for scope in scopes)),
        build_listing("statuses", statuses),
        build_listing("tags", dict(sorted(tags.items()))),
        build_listing("timeline", months),
        build_listing("paths", dict(sorted(paths.items()))),
        sessions,
        [f"{stem}.md" for stem in _assign_stems("sessions", (archive.session.name for archive in sessions))],
        frozenset((record.scope, record.id) for record in sources.hidden),
        frozenset(normalise(record.title) for record in sources.hidden),
    )


def _assign_stems(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder*, without its ending, for each name; `index` is kept free."""
    return [f"{folder}/{name}" for name in number_duplicates(["index", *map(sanitise_path_part, names)], "-")[1:]]


def get_path_folder(path: str) -> str:
    """Return the folder in which an impact *path* stands, with a slash; a path at the top is its own."""
    path = path.rstrip("/")
    return f"{path.rpartition('/')[0]}/" if "/" in path else path
