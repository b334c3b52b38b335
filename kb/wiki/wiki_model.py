"""Wiki and SiteFile: the data all pages are made from, and the values that describe a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.history.timeline import Timeline
from kb.i18n import Message, msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, Record, Reference, parse_scope_name, recency_key
from kb.text.segment import normalise, one_line
from kb.wiki.library import (
    Key,
    Library,
    build_library,
    find_related_records,
    get_kind_sort_key,
    get_path_folder,
    sanitise_path_part,
)
from kb.wiki.page_parts import get_status_sign, load_macros, translate_status
from kb.wiki.render import Html, escape_markdown, number_duplicates, slugify_headings

if TYPE_CHECKING:
    from typing import Any

    from kb.checks.check_context import Finding
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


class Listing(NamedTuple):
    """A list of records, cut into pages of bearable length."""

    stem: str
    """The page without its ending: `tags` is `tags.md`, then `tags/page-2.md`."""
    sheets: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]
    """For each page its groups: a label ("": the only group of the list, without a heading) and positions."""
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
    sheets: list[list[tuple[str, tuple[int, ...]]]] = [[]]
    room = ROWS_PER_PAGE
    for label, records in groups.items():
        for start in range(0, len(records), ROWS_PER_PAGE):
            # A group that would not fit begins on a page of its own, so that only a group longer than a page is cut.
            if start or (len(records) > room and room < ROWS_PER_PAGE):
                sheets.append([])
                room = ROWS_PER_PAGE
            rows = tuple(records[start : start + ROWS_PER_PAGE])
            sheets[-1].append((label, rows))
            room -= len(rows)
    listing = Listing(stem, tuple(map(tuple, sheets)), {label: len(found) for label, found in groups.items()}, {})
    uris: dict[str, str] = {}
    for number, sheet in enumerate(sheets):
        uri = listing.get_sheet_uri(number)
        labels = [label for label, _ in sheet]
        for label, slug in zip(labels, slugify_headings(["", *labels])[1:], strict=True):
            uris.setdefault(label, f"{uri}#{slug}" if label else uri)
    return listing._replace(uris=uris)


# -- the whole ------------------------------------------------------------------------------------


class SessionForms(NamedTuple):
    """An archived session with the forms of it that are shown."""

    session: SessionArchive
    forms: Mapping[str, str]
    """Name of a form → its markdown, the shortest first."""


class WikiSources(NamedTuple):
    """what a knowledge base holds besides its records."""

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


@dataclass(frozen=True, eq=False)
class Wiki:
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

    # -- in the language of the wiki

    def translate(self, message: Message) -> str:
        """Return *message* in the language of the wiki."""
        return message.translate(self.config.language)

    def format_message(self, message: Message) -> str:
        """Return *message* as a paragraph of markdown."""
        return escape_markdown(self.translate(message))

    def label_kind(self, kind: str) -> str:
        """Return what *kind* is called."""
        return kind_label(kind, self.config.language)

    def label_scope(self, scope: str) -> str:
        """Return what *scope* is called."""
        return scope.removeprefix("project/") if scope != GLOBAL else self.translate(msg("Global"))

    def label_status(self, status: str) -> str:
        """Return the word for *status*."""
        return translate_status(status, self.config.language)

    def label_status_with_sign(self, status: str) -> str:
        """Return sign and word of *status*, as text."""
        return f"{get_status_sign(status)} {self.label_status(status)}"

    @cached_property
    def _macros(self) -> Callable[[str], Any]:
        return load_macros(self)

    def render(self, macro: str, *arguments: object) -> Html:
        """Return the HTML that a *macro* ("record.chain") of the folder templates/ makes of *arguments*."""
        name, _, part = macro.partition(".")
        return Html(getattr(self._macros(name), part)(*arguments))

    def render_part(self, title: Message, macro: str, *arguments: object) -> list[str]:
        """Return what *macro* makes of *arguments* under *title*, as parts of a page; nothing where it is empty."""
        text = self.render(macro, *arguments)
        return [f"## {self.format_message(title)}", text] if text else []

    # -- what is where

    def list_versions(self, record: Record) -> Sequence[RecordVersion]:
        """Return the versions of *record*, newest first."""
        return self.sources.timeline.versions.get(record.path, ())

    def is_hidden(self, reference: Reference, scope: str) -> bool:
        """Return whether *reference*, written in *scope*, means a record that is left out of the wiki."""
        named = parse_scope_name(reference.project)
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
    sessions = sorted(sources.sessions, key=lambda one: (one.session.time, one.session.name), reverse=True)
    return Wiki(
        library,
        sources,
        config,
        similar=find_related_records(library.records),
        kinds=list_each("kinds", kinds, kinds),
        scopes=list_each("scopes", scopes, (scope.replace("/", "-") for scope in scopes)),
        statuses=build_listing("statuses", group_by(lambda one: [translate_status(one.status, config.language)])),
        tags=build_listing("tags", dict(sorted(group_by(lambda record: record.tags).items()))),
        months=build_listing("timeline", group_by(lambda record: [one_line(record.date[:7]) or undated], newest)),
        paths=build_listing("paths", dict(sorted(group_by(lambda one: map(get_path_folder, one.impact)).items()))),
        sessions=sessions,
        session_uris=[f"{stem}.md" for stem in _assign_stems("sessions", (one.session.name for one in sessions))],
        hidden=frozenset((record.scope, record.id) for record in sources.hidden),
        hidden_titles=frozenset(normalise(record.title) for record in sources.hidden),
    )


def _assign_stems(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder*, without its ending, for each name; `index` is kept free."""
    return [f"{folder}/{name}" for name in number_duplicates(["index", *map(sanitise_path_part, names)], "-")[1:]]
