"""What the wiki is made of: everything its pages are made from, and what a page is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kb.config import Config
from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Reference, recency_key
from kb.text.segment import normalise, one_line
from kb.wiki.library import Key, Library, build_library, find_related_records, get_kind_sort_key, sanitise_path_part
from kb.wiki.markup import number_duplicates, slugify_headings
from kb.wiki.page_parts import translate_status

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.history.timeline import RecordVersion, Timeline
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import ReviewSides


ROWS = 250
"""Rows on one page, at most."""


class ListingGroup(NamedTuple):
    """Some rows of one group on one page."""

    label: str
    """What the group is called; "": the only one of its list, which needs no heading."""
    places: tuple[int, ...]


class Listing(NamedTuple):
    """A list of records that is cut into pages."""

    stem: str
    """The page without its ending: `tags` is `tags.md`, then `tags/page-2.md`."""
    sheets: tuple[tuple[ListingGroup, ...], ...]
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
    """Return *groups*, each a label with its records, as a list below *stem*."""
    sheets: list[list[ListingGroup]] = [[]]
    room = ROWS
    for label, places in groups.items():
        if len(places) > room and room < ROWS:
            sheets.append([])
            room = ROWS
        for start in range(0, len(places), ROWS):
            part = tuple(places[start : start + ROWS])
            if start:
                sheets.append([])
            sheets[-1].append(ListingGroup(label, part))
            room = ROWS - sum(len(group.places) for group in sheets[-1])
    made = Listing(stem, tuple(map(tuple, sheets)), {label: len(places) for label, places in groups.items()}, {})
    uris: dict[str, str] = {}
    for number, sheet in enumerate(sheets):
        slugs = slugify_headings(["", *(group.label for group in sheet)])[1:]
        for group, slug in zip(sheet, slugs, strict=True):
            uris.setdefault(
                group.label, f"{made.get_sheet_uri(number)}#{slug}" if group.label else made.get_sheet_uri(number)
            )
    return made._replace(uris=uris)


class ArchivedSession(Protocol):
    """What the wiki shows of an archived session."""

    @property
    def name(self) -> str:
        """The folder under `content/sessions/`."""

    @property
    def project(self) -> str:
        """The project it worked on."""

    @property
    def time(self) -> str:
        """When it was archived."""

    @property
    def task(self) -> str:
        """What it was about."""

    @property
    def session(self) -> str:
        """What its host calls it."""


class SessionForms(NamedTuple):
    """An archived session with the forms of it that are shown."""

    session: ArchivedSession
    forms: Mapping[str, str]
    """Name of a form → its markdown, the shortest first."""


class WikiSources(NamedTuple):
    """What a knowledge base has to tell beside its records."""

    sessions: Sequence[SessionForms] = ()
    story: Timeline | None = None
    reviews: Sequence[ReviewSides] = ()
    held: Sequence[HeldCandidate] = ()
    findings: Sequence[Finding] = ()
    hidden: Sequence[Record] = ()
    """Records that are shown nowhere, not even by their titles."""
    today: str = ""
    wording: Mapping[str, object] = {}
    """How a question is cut into words."""


class WikiPage(NamedTuple):
    """One page, made and not yet rendered."""

    uri: str
    """Where it stands, relative to the wiki's top, with forward slashes."""
    parts: tuple[str, ...]
    """Markdown, and Html of the wiki's own; the first line is the title."""
    listing: bool = False
    """True for a page that only lists others."""
    name: str = ""
    """What the navigation calls it; "": by its title."""
    source: str = ""
    """The file that its relative links are seen from; "": the page itself."""
    broken: tuple[str, ...] = ()
    """What it cites that is not there."""

    @property
    def text(self) -> str:
        """The whole page, as it was written."""
        return "\n\n".join(self.parts) + "\n"


class PageDraft(NamedTuple):
    """A page that is made when it is asked for."""

    uri: str
    stamp: str
    """What it is made of: with the same stamp it is the same page."""
    make: Callable[[], WikiPage]


class SiteFile(NamedTuple):
    """A file that is made when it is asked for."""

    path: str
    stamp: str
    """What it is made of; "": it has to be made to know."""
    make: Callable[[], str]


class Wiki(NamedTuple):
    """Everything the pages are made from, and where they stand."""

    library: Library
    told: WikiSources
    config: Config
    similar: Sequence[tuple[int, ...]]
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

    def translate_message(self, said: Message) -> str:
        """Return *said* in the language of the wiki."""
        return said.translate(self.config.language)

    def list_versions(self, record: Record) -> Sequence[RecordVersion]:
        """Return the versions of *record*, newest first."""
        return self.told.story.versions.get(record.path, ()) if self.told.story else ()

    def is_hidden(self, what: Reference, scope: str) -> bool:
        """Return whether *what*, said in *scope*, is left out of the wiki."""
        there = GLOBAL if what.project == GLOBAL else f"project/{what.project}"
        return any((one, what.id) in self.hidden for one in ([there] if what.project else [scope, GLOBAL]))

    def find_session_uri(self, source: str) -> str:
        """Return the page of the session that a record names as its *source* ("host/session"), or ""."""
        name = source.rpartition("/")[2]
        pairs = zip(self.sessions, self.session_uris, strict=True)
        return next((uri for archive, uri in pairs if name and archive.session.session == name), "")


def build_wiki(records: Iterable[Record], told: WikiSources, config: Config) -> Wiki:
    """Return the wiki of *records* and of what else is *told*."""
    shelf = build_library(records)
    sessions = sorted(told.sessions, key=lambda one: (one.session.time, one.session.name), reverse=True)
    kinds = sorted({record.kind for record in shelf.records}, key=get_kind_sort_key)
    scopes = dict.fromkeys(record.scope for record in shelf.records)
    undated = msg("Undated").translate(config.language)
    newest = sorted(range(len(shelf.records)), key=lambda n: recency_key(shelf.records[n]), reverse=True)
    return Wiki(
        shelf,
        told,
        config,
        find_related_records(shelf.records),
        _build_listings(shelf, "kind", "kinds", dict(zip(kinds, kinds, strict=True))),
        _build_listings(shelf, "scope", "scopes", {scope: scope.replace("/", "-") for scope in scopes}),
        build_listing(
            "statuses", _group_places(shelf, lambda record: [translate_status(record.status, config.language)])
        ),
        build_listing("tags", dict(sorted(_group_places(shelf, lambda record: record.tags).items()))),
        build_listing("timeline", _group_places(shelf, lambda record: [one_line(record.date[:7]) or undated], newest)),
        build_listing(
            "paths", dict(sorted(_group_places(shelf, lambda record: map(get_path_folder, record.impact)).items()))
        ),
        sessions,
        [f"{stem}.md" for stem in _assign_stems("sessions", (archive.session.name for archive in sessions))],
        frozenset((record.scope, record.id) for record in told.hidden),
        frozenset(normalise(record.title) for record in told.hidden),
    )


def _group_places(
    shelf: Library, labels: Callable[[Record], Iterable[str]], places: Iterable[int] | None = None
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place in range(len(shelf.records)) if places is None else places:
        for label in dict.fromkeys(labels(shelf.records[place])):
            found.setdefault(label, []).append(place)
    return found


def _build_listings(shelf: Library, field: str, folder: str, names: Mapping[str, str]) -> dict[str, Listing]:
    """Return a list for each value of the *field* of the records that *names* names."""
    found = _group_places(shelf, lambda record: [getattr(record, field)])
    stems = _assign_stems(folder, names.values())
    return {value: build_listing(stem, {"": found[value]}) for value, stem in zip(names, stems, strict=True)}


def _assign_stems(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder*, without its ending, for each name; `index` is kept free."""
    return [f"{folder}/{name}" for name in number_duplicates(["index", *map(sanitise_path_part, names)], "-")[1:]]


def get_path_folder(path: str) -> str:
    """Return the folder in which an impact *path* stands, with a slash; a path at the top is its own."""
    path = path.rstrip("/")
    return f"{path.rpartition('/')[0]}/" if "/" in path else path
