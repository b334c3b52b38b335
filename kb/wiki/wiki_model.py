"""Wiki and SiteFile: the data all pages are made from, and the values that describe a page."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kb.config import Config
from kb.history.timeline import Timeline
from kb.i18n import Message, msg
from kb.records.citations import find_named_paths
from kb.records.kinds import kind_label, section_label
from kb.records.model import GLOBAL, LIVE, Record, Reference, parse_scope_name, recency_key
from kb.text.segment import normalise, one_line
from kb.wiki.library import (
    Key,
    Library,
    build_library,
    count_by_folder,
    find_related_records,
    get_kind_sort_key,
    sanitise_path_part,
)
from kb.wiki.page_parts import STATUSES, get_status_sign, load_macros, translate_status
from kb.wiki.render import Html, escape_markdown, number_duplicates, parse_reference

if TYPE_CHECKING:
    from typing import Any

    from kb.checks.check_context import Finding
    from kb.history.timeline import RecordVersion
    from kb.sessions.session_archive import SessionArchive
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import Review, ReviewSides

ROWS_PER_PAGE = 100
"""Rows on one page of a list, at most."""
NEARBY = 3
"""Records before and after one that its page names beside the text."""


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
    """The page without its ending: `records` is `records.md`, then `records/page-2.md`."""
    sheets: tuple[tuple[int, ...], ...]
    """The positions on each page."""

    @property
    def total(self) -> int:
        """How many records it has."""
        return sum(map(len, self.sheets))

    def get_sheet_uri(self, sheet: int) -> str:
        """Return the page of the *sheet*, counted from 0."""
        return f"{self.stem}/page-{sheet + 1}.md" if sheet else f"{self.stem}.md"


def build_listing(stem: str, positions: Sequence[int]) -> Listing:
    """Return the records at *positions* as a list below *stem*."""
    starts = range(0, max(len(positions), 1), ROWS_PER_PAGE)
    return Listing(stem, tuple(tuple(positions[start : start + ROWS_PER_PAGE]) for start in starts))


# -- the whole ------------------------------------------------------------------------------------


class SessionForms(NamedTuple):
    """An archived session with the forms of it that are shown."""

    session: SessionArchive
    forms: Mapping[str, str]
    """Name of a form → its markdown, the shortest first."""


class WikiSources(NamedTuple):
    """What a knowledge base holds besides its records."""

    sessions: Sequence[SessionForms] = ()
    timeline: Timeline = Timeline()
    reviews: Sequence[ReviewSides] = ()
    review_names: Mapping[str, str] = {}
    """Branch of a review → the name by which commands find it."""
    rejected: Sequence[Review] = ()
    """Reviews that a person rejected, newest first."""
    held: Sequence[HeldCandidate] = ()
    findings: Sequence[Finding] = ()
    hidden: Sequence[Record] = ()
    """Records that are shown nowhere, not even by their titles."""
    across: Mapping[str, Any] = {}
    """What other teams decided against this one, alike, or of its records, as the hub of the organisation says it."""
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
    all: Listing
    """All records, the newest first."""
    kinds: Mapping[str, int]
    """Kind → how many records are of it, in the order of the table; so do the next ones count."""
    scopes: Mapping[str, int]
    statuses: Mapping[str, int]
    tags: Mapping[str, Sequence[int]]
    """Tag → the records that have it, in their order; the tag that most have comes first."""
    months: Mapping[str, int]
    """Newest first."""
    folders: Mapping[str, int]
    """Folder that records name paths in → how many live ones its page lists; the one with most comes first."""
    named_paths: Sequence[tuple[str, ...]]
    """For each record the files that its text names and its front matter does not."""
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

    @property
    def colon(self) -> str:
        """What stands between a name and its value."""
        return "：" if self.config.language == "zh" else ": "

    def format_message(self, message: Message) -> str:
        """Return *message* as a paragraph of markdown."""
        return escape_markdown(self.translate(message))

    def label_kind(self, kind: str) -> str:
        """Return what *kind* is called."""
        return kind_label(kind, self.config.language)

    def label_section(self, name: str, kind: str) -> str:
        """Return what the section *name* of a record of *kind* is called."""
        return section_label(name, self.config.language, kind)

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

    @cached_property
    def _runs(self) -> Mapping[tuple[str, str], range]:
        """Scope and kind → the positions of their records, which follow each other."""
        keys = [(record.scope, record.kind) for record in self.library.records]
        counts = Counter(keys)
        return {key: range(keys.index(key), keys.index(key) + count) for key, count in counts.items()}

    def find_steps(self, position: int) -> tuple[int | None, int | None]:
        """Return the records before and after the one at *position* by number, in its scope and of its kind."""
        record = self.library.records[position]
        run = self._runs[record.scope, record.kind]
        before, after = position - 1, position + 1
        return before if before in run else None, after if after in run else None

    def list_nearby(self, position: int) -> tuple[Sequence[int], str, Sequence[int]]:
        """Return the records around the one at *position* by number, a tag of it, and those with the tag around it.

        The tag is the rarest that another record has as well; "" for none. What is around changes with few records,
        so a new one changes few pages.
        """
        record = self.library.records[position]
        run = self._runs[record.scope, record.kind]
        around = range(max(run.start, position - NEARBY), min(run.stop, position + NEARBY + 1))
        shared = [tag for tag in dict.fromkeys(record.tags) if len(self.tags[tag]) > 1]
        tag = min(shared, key=lambda one: (len(self.tags[one]), one), default="")
        if not tag:
            return around, "", ()
        with_tag = self.tags[tag]
        at = bisect_left(with_tag, position)
        first = max(0, min(at - NEARBY // 2, len(with_tag) - NEARBY - 1))
        return around, tag, [n for n in with_tag[first : first + NEARBY + 1] if n != position]

    @cached_property
    def open_reviews(self) -> Mapping[int, Sequence[Review]]:
        """The open reviews that would replace or change a record, by its position."""
        found: dict[int, list[Review]] = {}
        for sides in self.sources.reviews:
            keys = [(old.scope, old.id) for old in sides.old]
            for position in dict.fromkeys(self.library.by_key[key] for key in keys if key in self.library.by_key):
                found.setdefault(position, []).append(sides.review)
        return found

    @cached_property
    def contradictions(self) -> Mapping[int, Sequence[Message]]:
        """What `kb check` says of two accepted records that contradict each other, by the position of either."""
        found: dict[int, list[Message]] = {}
        for finding in self.sources.findings:
            if finding.rule == "contradiction":
                names = (str(finding.fix.values.get(side, "")) for side in ("old", "new"))
                sides = [
                    self.library.by_path.get(finding.path),
                    *(self.library.find(parse_reference(n), "") for n in names),
                ]
                for position in dict.fromkeys(sides):
                    if position is not None:
                        found.setdefault(position, []).append(finding.message)
        return found

    def name_review(self, review: Review) -> str:
        """Return the name by which commands find *review*."""
        return self.sources.review_names.get(review.branch, review.record.id)

    def list_unknown(self, record: Record, names: Iterable[str]) -> list[str]:
        """Return those of *names*, by which *record* means others, that no record of the wiki has."""
        return [name for name in names if self.library.find(parse_reference(name), record.scope) is None]

    def list_unrelated(self, position: int, others: Iterable[int]) -> list[int]:
        """Return those of *others* that neither replace nor amend the record at *position*, nor the other way round.

        Its page names those already: a replacement is a citation too, and would be read twice.
        """
        library = self.library
        related = {*library.list_chain(position), *library.list_targets(position, "amends")}
        related.update(library.amended_by.get(position, ()))
        return [other for other in others if other not in related]

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
    kinds, scopes, statuses, months = (Counter[str]() for _ in range(4))
    tags: dict[str, list[int]] = {}
    for position, record in enumerate(library.records):
        kinds[record.kind] += 1
        scopes[record.scope] += 1
        statuses[record.status] += 1
        months[one_line(record.date[:7]) or undated] += 1
        for tag in dict.fromkeys(record.tags):
            tags.setdefault(tag, []).append(position)
    known = [status for status in STATUSES if status in statuses]
    named_paths = [find_named_paths(record) for record in library.records]
    live = (n for n, record in enumerate(library.records) if record.status in LIVE)
    folders = count_by_folder((n, (*library.records[n].impact, *named_paths[n])) for n in live)
    sessions = sorted(sources.sessions, key=lambda one: (one.session.time, one.session.name), reverse=True)
    return Wiki(
        library,
        sources,
        config,
        similar=find_related_records(library.records),
        all=build_listing("records", newest),
        kinds={kind: kinds[kind] for kind in sorted(kinds, key=get_kind_sort_key)},
        scopes=scopes,
        statuses={status: statuses[status] for status in [*known, *sorted(statuses.keys() - {*known})]},
        tags=dict(sorted(tags.items(), key=lambda pair: (-len(pair[1]), pair[0]))),
        months=dict(sorted(months.items(), key=lambda pair: (pair[0] != undated, pair[0]), reverse=True)),
        folders=dict(sorted(folders.items(), key=lambda pair: (-pair[1], pair[0]))),
        named_paths=named_paths,
        sessions=sessions,
        session_uris=[f"{stem}.md" for stem in _assign_stems("sessions", (one.session.name for one in sessions))],
        hidden=frozenset((record.scope, record.id) for record in sources.hidden),
        hidden_titles=frozenset(normalise(record.title) for record in sources.hidden),
    )


def _assign_stems(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder*, without its ending, for each name; `index` is kept free."""
    return [f"{folder}/{name}" for name in number_duplicates(["index", *map(sanitise_path_part, names)], "-")[1:]]
