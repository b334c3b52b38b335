"""The pages of the wiki: records in, markdown out. Nothing here knows mkdocs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from kb.config import Config
from kb.kinds import BY_NAME, section_label
from kb.record import GLOBAL, Record, Reference, Section, Status
from kb.text import first_sentence
from kb.values import NamedTuple
from kb.wiki.library import Library, kind_order, library, project_of, segment
from kb.wiki.markup import anchors, cited, code, distinct, link, plain, reference, table
from kb.words import Said, say

NEWEST = 10
"""How many of the newest records the home page names."""
OPEN = 20
"""How many of the records that wait for a person the home page names."""

STATUSES: Mapping[str, tuple[str, Said]] = {
    Status.PROPOSED: ("⚠️", say("to be verified")),
    Status.ACCEPTED: ("✅", say("in force")),
    Status.REJECTED: ("❌", say("rejected")),
    Status.DEPRECATED: ("❌", say("out of force")),
    Status.SUPERSEDED: ("❌", say("superseded")),
}


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


class Page(NamedTuple):
    """One page, made and not yet rendered."""

    uri: str
    """Where it stands, relative to the wiki's top, with forward slashes."""
    text: str
    """Markdown; its first line is the title."""
    listing: bool = False
    """True for a page that only lists others: it stands in the navigation and search leaves it out."""
    name: str = ""
    """What the navigation calls it; "": by its title."""
    unsearched: str = ""
    """The heading of the section that search leaves out, because it repeats what stands on other pages."""


class Wiki(NamedTuple):
    """Everything the pages are made from, and where they stand."""

    library: Library
    sessions: Sequence[tuple[Session, str]]
    """Each session, newest first, with its compact form."""
    config: Config
    kind_uris: Mapping[str, str]
    scope_uris: Mapping[str, str]
    tag_anchors: Mapping[str, str]
    session_uris: Sequence[str]

    def word(self, said: Said) -> str:
        """Return *said* in the language of the wiki."""
        return said.in_language(self.config.language)


class Chapter(NamedTuple):
    """One entry of the navigation: a page, or a titled list of pages."""

    title: str
    uris: tuple[str, ...]


def wiki(records: Iterable[Record], sessions: Iterable[tuple[Session, str]], config: Config) -> Wiki:
    """Return the wiki of *records* and of *sessions*, each with its compact form."""
    shelf = library(records)
    kinds = sorted({record.kind for record in shelf.records}, key=kind_order)
    scopes = list(dict.fromkeys(record.scope for record in shelf.records))
    tags = sorted({tag for record in shelf.records for tag in record.tags})
    newest = sorted(sessions, key=lambda pair: (pair[0].time, pair[0].name), reverse=True)
    return Wiki(
        shelf,
        newest,
        config,
        dict(zip(kinds, _numbered("kinds", kinds), strict=True)),
        dict(zip(scopes, _numbered("scopes", map(_scope_name, scopes)), strict=True)),
        dict(zip(tags, anchors([_tags_title(config.language), *tags])[1:], strict=True)),
        _numbered("sessions", (session.name for session, _ in newest)),
    )


def _scope_name(scope: str) -> str:
    return GLOBAL if scope == GLOBAL else f"project-{project_of(scope)}"


def _numbered(folder: str, names: Iterable[str]) -> list[str]:
    """Return a page in *folder* for each name; `index` is kept free."""
    return [f"{folder}/{name}.md" for name in distinct(["index", *map(segment, names)], "-")[1:]]


def pages(wiki: Wiki) -> list[Page]:
    """Return every page of the wiki, the home page first."""
    shelf = wiki.library
    kinds = [kind_page(wiki, kind) for kind in wiki.kind_uris]
    scopes = [scope_page(wiki, scope) for scope in wiki.scope_uris]
    records = [record_page(wiki, place) for place in range(len(shelf.records))]
    sessions = [session_page(wiki, place) for place in range(len(wiki.sessions))]
    lists = [tags_page(wiki), timeline_page(wiki), sessions_page(wiki)]
    return [home_page(wiki), *kinds, *scopes, *lists, *records, *sessions]


def navigation(wiki: Wiki) -> list[Chapter]:
    """Return what the navigation shows: pages that list others only, so that a large wiki stays quick to build."""
    return [
        Chapter("", ("index.md",)),
        Chapter(wiki.word(say("Kinds")), tuple(wiki.kind_uris.values())),
        Chapter(wiki.word(say("Scopes")), tuple(wiki.scope_uris.values())),
        Chapter("", ("tags.md",)),
        Chapter("", ("timeline.md",)),
        Chapter("", ("sessions/index.md",)),
    ]


# -- words ----------------------------------------------------------------------------------------


def kind_label(kind: str, language: str) -> str:
    """Return what *kind* is called; a kind the table does not have keeps its own name."""
    row = BY_NAME.get(kind)
    return kind if row is None else row.zh if language == "zh" else row.en


def badge(status: str, language: str) -> str:
    """Return the mark and the word of *status*, fit for a table cell."""
    mark, said = STATUSES.get(status, ("❓", None))
    return f"{mark} {said.in_language(language) if said else plain(status)}"


def _tags_title(language: str) -> str:
    return say("Tags").in_language(language)


def _scope_label(wiki: Wiki, scope: str) -> str:
    return project_of(scope) or wiki.word(say("Global"))


# -- a record -------------------------------------------------------------------------------------


def record_page(wiki: Wiki, place: int) -> Page:
    """Return the page of the record at *place* of the library."""
    record = wiki.library.records[place]
    uri = wiki.library.uris[place]
    parts = [
        f"# [{plain(record.id)}] {plain(record.title)}".replace("[", "\\[", 1).replace("]", "\\]", 1),
        _facts(wiki, place, uri),
        *(_section(wiki, section, record.scope, uri) for section in record.sections),
    ]
    if record.user.strip():
        parts.append(f"## {wiki.word(say('Notes by people'))}\n\n{_body(wiki, record.user, record.scope, uri)}")
    if wiki.library.cited_by.get(place):
        parts.append(f"## {wiki.word(say('Cited by'))}\n\n{_list(wiki, wiki.library.cited_by[place], uri)}")
    return Page(uri, "\n\n".join(parts) + "\n", unsearched=wiki.word(say("Cited by")))


def _section(wiki: Wiki, section: Section, scope: str, uri: str) -> str:
    heading = section_label(section.name, wiki.config.language) if section.name else section.heading
    return f"## {plain(heading)}\n\n{_body(wiki, section.text, scope, uri)}"


def _body(wiki: Wiki, text: str, scope: str, uri: str) -> str:
    return cited(text.strip("\n"), lambda what: _citation(wiki, what, scope, uri))


def _citation(wiki: Wiki, what: Reference, scope: str, uri: str) -> str:
    said = f"{plain(what.project)}:{what.id}" if what.project else what.id
    target = wiki.library.find(what, scope)
    if target is None:
        return f"\\[{said} ⚠️ {plain(wiki.word(say('no such record')))}\\]"
    return link(f"\\[{said}\\]", wiki.library.uris[target], uri)


def _facts(wiki: Wiki, place: int, uri: str) -> str:
    """Return the table of what the frontmatter says and of what other records say about this one."""
    record = wiki.library.records[place]
    shelf = wiki.library

    def named(words: Iterable[str]) -> str:
        return ", ".join(_named(wiki, reference(word), record.scope, uri) for word in words)

    def others(places: Iterable[int]) -> str:
        return ", ".join(_record_link(wiki, other, uri) for other in places)

    rows = [
        (say("Kind"), link(plain(kind_label(record.kind, wiki.config.language)), wiki.kind_uris[record.kind], uri)),
        (say("Scope"), link(plain(_scope_label(wiki, record.scope)), wiki.scope_uris[record.scope], uri)),
        (say("Date"), plain(record.date)),
        (say("Confirmed"), plain(record.confirmed)),
        (say("Tags"), _tag_links(wiki, record, uri)),
        (say("Impact paths"), ", ".join(code(path) for path in record.impact)),
        (say("Superseded by"), others(shelf.superseded_by.get(place, ()))),
        (say("Supersedes"), named(record.supersedes)),
        (say("Amended by"), others(shelf.amended_by.get(place, ()))),
        (say("Amends"), named(record.amends)),
        (say("Claims"), ", ".join(code(f"{key}: {value}") for key, value in record.claims.items())),
        (say("Occurrences"), str(record.occurrences) if record.occurrences > 1 else ""),
        (say("Sources"), ", ".join(plain(source) for source in record.sources)),
        (say("File"), code(record.path)),
    ]
    filled = [(plain(wiki.word(label)), value) for label, value in rows if value]
    return table((wiki.word(say("Status")), badge(record.status, wiki.config.language)), filled)


def _tag_links(wiki: Wiki, record: Record, uri: str) -> str:
    return " · ".join(link(plain(tag), f"tags.md#{wiki.tag_anchors[tag]}", uri) for tag in record.tags)


def _named(wiki: Wiki, what: Reference, scope: str, uri: str) -> str:
    target = wiki.library.find(what, scope)
    return plain(what.id) + " ⚠️" if target is None else _record_link(wiki, target, uri)


def _record_link(wiki: Wiki, place: int, uri: str) -> str:
    record = wiki.library.records[place]
    return link(plain(f"{record.id} {record.title}"), wiki.library.uris[place], uri)


def _list(wiki: Wiki, places: Iterable[int], uri: str) -> str:
    lines = []
    for place in places:
        record = wiki.library.records[place]
        mark = badge(record.status, wiki.config.language).split()[0]
        scope = "" if record.scope == GLOBAL else f" · {plain(project_of(record.scope))}"
        lines.append(f"- {mark} {_record_link(wiki, place, uri)}{scope}")
    return "\n".join(lines)


# -- pages that list others -----------------------------------------------------------------------


def home_page(wiki: Wiki) -> Page:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    uri, records = "index.md", wiki.library.records
    count = say("Records: {records} · Sessions: {sessions}", records=len(records), sessions=len(wiki.sessions))
    search = say("Press / to search: every word must occur; quotes keep a phrase together; a word with - is left out.")
    newest = sorted(range(len(records)), key=lambda place: records[place].date, reverse=True)[:NEWEST]
    waiting = [place for place, record in enumerate(records) if record.status == Status.PROPOSED]
    rest = say("… and {number} more.", number=len(waiting) - OPEN)
    parts = [
        f"# {plain(wiki.config.name)}",
        plain(wiki.word(count)),
        plain(wiki.word(search)),
        _counts(wiki, uri) if records else plain(wiki.word(say("Nothing has been written yet."))),
        *_titled(wiki, say("Open questions"), _list(wiki, waiting[:OPEN], uri)),
        *([plain(wiki.word(rest))] if len(waiting) > OPEN else []),
        *_titled(wiki, say("Newest"), _list(wiki, newest, uri)),
    ]
    return Page(uri, "\n\n".join(parts) + "\n", listing=True, name=wiki.word(say("Home")))


def _titled(wiki: Wiki, title: Said, text: str) -> list[str]:
    return [f"## {plain(wiki.word(title))}", text] if text else []


def _counts(wiki: Wiki, uri: str) -> str:
    records, language = wiki.library.records, wiki.config.language
    found = Counter((record.kind, record.status) for record in records)
    statuses = [status for status in STATUSES if any(record.status == status for record in records)]
    rows = [
        [
            link(plain(kind_label(kind, language)), kind_uri, uri),
            *(str(found[kind, status] or "") for status in statuses),
            str(sum(number for (counted, _), number in found.items() if counted == kind)),
        ]
        for kind, kind_uri in wiki.kind_uris.items()
    ]
    head = [wiki.word(say("Kind")), *(badge(status, language) for status in statuses), wiki.word(say("All"))]
    return table(head, rows)


def kind_page(wiki: Wiki, kind: str) -> Page:
    """Return the page that lists the records of *kind*."""
    uri = wiki.kind_uris[kind]
    title = plain(kind_label(kind, wiki.config.language))
    return Page(uri, f"# {title}\n\n{_overview(wiki, uri, lambda record: record.kind == kind)}", listing=True)


def scope_page(wiki: Wiki, scope: str) -> Page:
    """Return the page that lists the records that hold in *scope*."""
    uri = wiki.scope_uris[scope]
    overview = _overview(wiki, uri, lambda record: record.scope == scope)
    return Page(uri, f"# {plain(_scope_label(wiki, scope))}\n\n{overview}", listing=True)


def _overview(wiki: Wiki, uri: str, wanted: Callable[[Record], bool]) -> str:
    words = (say("Status"), say("Record"), say("Scope"), say("Date"), say("Tags"))
    rows = [
        [
            badge(record.status, wiki.config.language),
            _record_link(wiki, place, uri),
            plain(_scope_label(wiki, record.scope)),
            plain(record.date[:10]),
            _tag_links(wiki, record, uri),
        ]
        for place, record in enumerate(wiki.library.records)
        if wanted(record)
    ]
    return table([wiki.word(word) for word in words], rows)


def tags_page(wiki: Wiki) -> Page:
    """Return the page with one section for each tag."""
    uri = "tags.md"
    tagged: dict[str, list[int]] = {tag: [] for tag in wiki.tag_anchors}
    for place, record in enumerate(wiki.library.records):
        for tag in dict.fromkeys(record.tags):
            tagged[tag].append(place)
    parts = [f"# {_tags_title(wiki.config.language)}"]
    parts.append(
        " · ".join(f"{link(plain(tag), '#' + wiki.tag_anchors[tag], uri)} ({len(tagged[tag])})" for tag in tagged)
    )
    parts += [f"## {plain(tag)}\n\n{_list(wiki, places, uri)}" for tag, places in tagged.items()]
    return Page(uri, "\n\n".join(parts) + "\n", listing=True)


def timeline_page(wiki: Wiki) -> Page:
    """Return the page that lists the records by month, the newest first."""
    uri, records = "timeline.md", wiki.library.records
    months: dict[str, list[int]] = {}
    for place in sorted(range(len(records)), key=lambda place: records[place].date, reverse=True):
        months.setdefault(records[place].date[:7] or wiki.word(say("Undated")), []).append(place)
    parts = [f"# {wiki.word(say('Timeline'))}"]
    parts += [f"## {plain(month)}\n\n{_list(wiki, places, uri)}" for month, places in months.items()]
    return Page(uri, "\n\n".join(parts) + "\n", listing=True)


def sessions_page(wiki: Wiki) -> Page:
    """Return the page that lists the archived sessions, the newest first."""
    uri = "sessions/index.md"
    words = (say("Session"), say("Project"), say("Time"), say("Task"))
    rows = [
        [
            link(plain(session.name), own, uri),
            plain(session.project),
            plain(session.time),
            plain(first_sentence(session.task)),
        ]
        for (session, _), own in zip(wiki.sessions, wiki.session_uris, strict=True)
    ]
    text = table([wiki.word(word) for word in words], rows) if rows else wiki.word(say("No session is archived yet."))
    return Page(uri, f"# {wiki.word(say('Sessions'))}\n\n{text}", listing=True)


def session_page(wiki: Wiki, place: int) -> Page:
    """Return the page of the session at *place*: its facts and its compact form."""
    session, compact = wiki.sessions[place]
    uri = wiki.session_uris[place]
    facts = [(say("Time"), session.time), (say("Task"), session.task)]
    rows = [(wiki.word(label), plain(value)) for label, value in facts if value]
    head = (wiki.word(say("Project")), plain(session.project))
    scope = f"project/{session.project}" if session.project else GLOBAL
    body = _body(wiki, compact, scope, uri)
    return Page(uri, f"# {plain(session.name)}\n\n{table(head, rows)}\n{body}\n")
