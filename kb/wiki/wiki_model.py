"""What the wiki is made of: everything its pages are made from, and what a page is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kb.config import Config
from kb.i18n import Message, msg
from kb.records.model import GLOBAL, Record, Reference, recency
from kb.text.segment import normalise, one_line
from kb.wiki.labels import status_name
from kb.wiki.library import Key, Library, kind_order, library, segment
from kb.wiki.listing import Listing, listing
from kb.wiki.markup import distinct
from kb.wiki.related import similar

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.history.timeline import Story, Version
    from kb.writing.inbox import Held
    from kb.writing.reviews import Sides


class Session(Protocol):
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


class Archive(NamedTuple):
    """An archived session with the forms of it that are shown."""

    session: Session
    forms: Mapping[str, str]
    """Name of a form → its markdown, the shortest first."""


class Told(NamedTuple):
    """What a knowledge base has to tell beside its records."""

    sessions: Sequence[Archive] = ()
    story: Story | None = None
    reviews: Sequence[Sides] = ()
    held: Sequence[Held] = ()
    findings: Sequence[Finding] = ()
    hidden: Sequence[Record] = ()
    """Records that are shown nowhere, not even by their titles."""
    today: str = ""
    wording: Mapping[str, object] = {}
    """How a question is cut into words."""


class Page(NamedTuple):
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


class Draft(NamedTuple):
    """A page that is made when it is asked for."""

    uri: str
    stamp: str
    """What it is made of: with the same stamp it is the same page."""
    make: Callable[[], Page]


class Made(NamedTuple):
    """A file that is made when it is asked for."""

    path: str
    stamp: str
    """What it is made of; "": it has to be made to know."""
    make: Callable[[], str]


class Wiki(NamedTuple):
    """Everything the pages are made from, and where they stand."""

    library: Library
    told: Told
    config: Config
    similar: Sequence[tuple[int, ...]]
    kinds: Mapping[str, Listing]
    scopes: Mapping[str, Listing]
    statuses: Listing
    tags: Listing
    months: Listing
    paths: Listing
    sessions: Sequence[Archive]
    """Newest first."""
    session_uris: Sequence[str]
    hidden: frozenset[Key]
    """Scope and id of what is left out."""
    hidden_titles: frozenset[str]

    def word(self, said: Message) -> str:
        """Return *said* in the language of the wiki."""
        return said.translate(self.config.language)

    def versions(self, record: Record) -> Sequence[Version]:
        """Return the versions of *record*, newest first."""
        return self.told.story.versions.get(record.path, ()) if self.told.story else ()

    def is_hidden(self, what: Reference, scope: str) -> bool:
        """Return whether *what*, said in *scope*, is left out of the wiki."""
        there = GLOBAL if what.project == GLOBAL else f"project/{what.project}"
        return any((one, what.id) in self.hidden for one in ([there] if what.project else [scope, GLOBAL]))

    def session_uri(self, source: str) -> str:
        """Return the page of the session that a record names as its *source* ("host/session"), or ""."""
        name = source.rpartition("/")[2]
        pairs = zip(self.sessions, self.session_uris, strict=True)
        return next((uri for archive, uri in pairs if name and archive.session.session == name), "")


def wiki(records: Iterable[Record], told: Told, config: Config) -> Wiki:
    """Return the wiki of *records* and of what else is *told*."""
    shelf = library(records)
    sessions = sorted(told.sessions, key=lambda one: (one.session.time, one.session.name), reverse=True)
    kinds = sorted({record.kind for record in shelf.records}, key=kind_order)
    scopes = dict.fromkeys(record.scope for record in shelf.records)
    undated = msg("Undated").translate(config.language)
    newest = sorted(range(len(shelf.records)), key=lambda n: recency(shelf.records[n]), reverse=True)
    return Wiki(
        shelf,
        told,
        config,
        similar(shelf.records),
        _by(shelf, "kind", "kinds", dict(zip(kinds, kinds, strict=True))),
        _by(shelf, "scope", "scopes", {scope: scope.replace("/", "-") for scope in scopes}),
        listing("statuses", _grouped(shelf, lambda record: [status_name(record.status, config.language)])),
        listing("tags", dict(sorted(_grouped(shelf, lambda record: record.tags).items()))),
        listing("timeline", _grouped(shelf, lambda record: [one_line(record.date[:7]) or undated], newest)),
        listing("paths", dict(sorted(_grouped(shelf, lambda record: map(folder_of_path, record.impact)).items()))),
        sessions,
        [f"{stem}.md" for stem in _numbered("sessions", (archive.session.name for archive in sessions))],
        frozenset((record.scope, record.id) for record in told.hidden),
        frozenset(normalise(record.title) for record in told.hidden),
    )


def _grouped(
    shelf: Library, labels: Callable[[Record], Iterable[str]], places: Iterable[int] | None = None
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place in range(len(shelf.records)) if places is None else places:
        for label in dict.fromkeys(labels(shelf.records[place])):
            found.setdefault(label, []).append(place)
    return found


def _by(shelf: Library, field: str, folder: str, names: Mapping[str, str]) -> dict[str, Listing]:
    """Return a list for each value of the *field* of the records that *names* names."""
    found = _grouped(shelf, lambda record: [getattr(record, field)])
    stems = _numbered(folder, names.values())
    return {value: listing(stem, {"": found[value]}) for value, stem in zip(names, stems, strict=True)}


def _numbered(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder*, without its ending, for each name; `index` is kept free."""
    return [f"{folder}/{name}" for name in distinct(["index", *map(segment, names)], "-")[1:]]


def folder_of_path(path: str) -> str:
    """Return the folder in which an impact *path* stands, with a slash; a path at the top is its own."""
    path = path.rstrip("/")
    return f"{path.rpartition('/')[0]}/" if "/" in path else path
