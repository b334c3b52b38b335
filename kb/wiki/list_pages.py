"""List pages of the wiki: home, all records, what governs a path, the views of a memory, the map and the chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME
from kb.records.model import Status, is_imported, recency_key
from kb.text.segment import one_line
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.page_parts import format_facet_uri, list_authors
from kb.wiki.record_pages import HEALTH, INBOX, REVIEWS, SESSIONS, group_findings
from kb.wiki.render import Html, encode_json, escape_markdown, format_plain_title, render_title
from kb.wiki.site_data import FEED, RECORDS, list_feeds
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage, build_list_page

MAX_RECENT = 10
"""How many of the records that changed last the home page names."""
MAX_WAITING = 3
"""How many titles the home page names of each sort of work that waits."""
GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
VIEWS, ALL_RECORDS, GOVERNS = "views.md", "records.md", "governs/index.md"
NEW_BASE = (
    ("kb new", msg("writes the first decision in your editor")),
    ("kb import adr docs/adr", msg("brings the decision records you have")),
    ("kb hooks install claude", msg("lets your coding agent read and write here")),
)
"""What fills an empty knowledge base: commands, and what each does."""


# -- the first page -------------------------------------------------------------------------------


class WaitingWork(NamedTuple):
    """One sort of work that waits for a person."""

    label: Message
    number: int
    uri: str
    """The page that has all of it."""
    titles: list[tuple[Html, str]]
    """The first of it, each with its page."""


def build_home_page(wiki: Wiki) -> WikiPage:
    """Return the first page: the search, what waits for a person, what is new, how decisions replaced each other."""
    name = f"# {escape_markdown(wiki.config.name)}"
    home = partial(WikiPage, "index.md", listing=True, name=wiki.translate(msg("Home")))
    if not wiki.library.records:
        empty = wiki.render("lists.empty", msg("Nothing has been written yet. Three ways to begin:"), NEW_BASE)
        return home((name, empty, *_write_waiting(wiki)))
    chart = render_chart(wiki)
    recent = _list_recent(wiki)
    parts = [
        name,
        wiki.render("lists.search", len(wiki.library.records)),
        *_write_waiting(wiki),
        f"## {wiki.format_message(msg('Recently'))}",
        wiki.render("lists.recent", recent[:MAX_RECENT], len(recent) - MAX_RECENT),
        *([f"## {wiki.format_message(msg('How decisions replaced each other'))}", chart] if chart else ()),
        f"## {wiki.format_message(msg('Contents'))}",
        wiki.render("lists.overview"),
        wiki.render("lists.programs", list_feeds(wiki), FEED, RECORDS),
    ]
    return home(tuple(parts))


def _write_waiting(wiki: Wiki) -> list[str]:
    """Return what needs a person, with the titles of the first of it; nothing where nothing does."""
    sources, records = wiki.sources, wiki.library.records
    proposed = _sort_by_recency(wiki, (n for n, one in enumerate(records) if one.status == Status.PROPOSED))
    errors = [group for group in group_findings(wiki) if group[2]]
    waiting = (
        WaitingWork(
            msg("Reviews to decide"),
            len(sources.reviews),
            REVIEWS,
            [(render_title(one.review.record.title), REVIEWS) for one in sources.reviews[:MAX_WAITING]],
        ),
        WaitingWork(
            msg("Records to verify"),
            len(proposed),
            format_facet_uri(status=Status.PROPOSED),
            [(render_title(records[n].title), wiki.library.uris[n]) for n in proposed[:MAX_WAITING]],
        ),
        WaitingWork(
            msg("Candidates in the inbox"),
            len(sources.held),
            INBOX,
            [(render_title(held.candidate.title), INBOX) for held in sources.held[:MAX_WAITING]],
        ),
        WaitingWork(
            msg("Errors to settle"),
            sum(one.severity == "error" for one in sources.findings),
            HEALTH,
            [(_label_rule(wiki, label), f"{HEALTH}#{rule}") for rule, label, _, _ in errors[:MAX_WAITING]],
        ),
    )
    return wiki.render_part(msg("Needs you"), "lists.waiting", [one for one in waiting if one.number])


def _label_rule(wiki: Wiki, label: object) -> Html:
    return render_title(wiki.translate(label) if isinstance(label, Message) else str(label))


def _sort_by_recency(wiki: Wiki, positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda n: recency_key(wiki.library.records[n]), reverse=True)


def _list_recent(wiki: Wiki) -> list[tuple[int, str, str]]:
    """Return all records, the one that changed last first, each with the day of that and who did it.

    That an old record was imported is no news: until it changes, it counts by its own date.
    """
    found = []
    for n, record in enumerate(wiki.library.records):
        versions = wiki.list_versions(record)
        is_own = not versions or (len(versions) == 1 and is_imported(record.extra) and record.date)
        time = record.date if is_own else versions[0].time
        authors = list_authors(record, (version.author for version in reversed(versions)))
        author = (authors[0] if authors else "") if is_own else versions[0].author
        found.append(((time[:10], recency_key(record)), n, author))
    found.sort(key=lambda row: row[0], reverse=True)
    return [(n, key[0], author) for key, n, author in found]


# -- the same records, seen in other ways ---------------------------------------------------------

MAX_NEWEST_OF_PART = 8
"""Records of one part that are named, at most; the list of all has the others."""


def build_views_page(wiki: Wiki) -> WikiPage:
    """Return the page with the views of `kb alaya`: seeds, karma, preferences; then what was learnt, and sessions."""
    karma: dict[str, list[str]] = {}
    for kind in wiki.kinds:
        karma.setdefault(BY_NAME[kind].karma if kind in BY_NAME else "–", []).append(kind)
    parts = [
        wiki.format_message(msg("The same records, seen in other ways; nothing here is a copy.")),
        *wiki.render_part(msg("Seeds (种子库): by kind"), "lists.kinds"),
        *wiki.render_part(msg("Karma (业力库): by label"), "lists.karma", karma),
    ]
    for title, categories in (
        (msg("Preferences (偏好库)"), ("preference",)),
        (msg("Knowledge"), ("adr", "domain-note")),
        (msg("Experience"), ("pattern", "anti-pattern", "checklist")),
    ):
        kinds = [kind for kind in wiki.kinds if kind in BY_NAME and BY_NAME[kind].category in categories]
        found = [n for n, record in enumerate(wiki.library.records) if record.kind in kinds]
        parts += wiki.render_part(title, "lists.sentences", _sort_by_recency(wiki, found)[:MAX_NEWEST_OF_PART], kinds)
    rows = [(one.session, uri) for one, uri in zip(wiki.sessions, wiki.session_uris, strict=True)][:MAX_NEWEST_OF_PART]
    parts += wiki.render_part(msg("Sessions"), "lists.sessions", rows, SESSIONS, len(wiki.sessions))
    return build_list_page(VIEWS, wiki.translate(msg("Views")), *parts)


# -- the lists ------------------------------------------------------------------------------------


def iter_list_drafts(fingerprints: PageFingerprints) -> Iterator[PageDraft]:
    """Yield the pages with all records, the newest first, and the one that asks what governs a path."""
    wiki, listing = fingerprints.wiki, fingerprints.wiki.all
    for number, records in enumerate(listing.sheets):
        rows, last = fingerprints.hash_rows(records), len(listing.sheets)
        facets = (wiki.kinds, wiki.scopes, wiki.statuses, wiki.tags, wiki.months) if not number else ()
        fingerprint = hash_parts("records", last, listing.total, rows, facets)
        yield PageDraft(listing.get_sheet_uri(number), fingerprint, partial(_build_sheet, fingerprints, number))
    folders = [(folder, count) for folder, count in wiki.folders.items()][:MAX_FOLDERS]
    governs = wiki.render("lists.governs", folders)
    yield build_draft(build_list_page(GOVERNS, wiki.translate(msg("What governs this file?")), governs))


MAX_FOLDERS = 60
"""Folders from which to choose on the page of paths."""


def _build_sheet(fingerprints: PageFingerprints, number: int) -> WikiPage:
    """Return one page of all records; a script puts what the visitor asks for in place of its static part."""
    wiki, listing = fingerprints.wiki, fingerprints.wiki.all
    title = wiki.translate(msg("Records"))
    if not listing.total:
        return build_list_page(
            ALL_RECORDS, title, wiki.render("lists.empty", msg("There are no records yet."), NEW_BASE)
        )
    rows = [*map(fingerprints.render_row, listing.sheets[number])]
    parts = [
        f"# {escape_markdown(title)}",
        wiki.render(
            "lists.explorer", rows, listing, number, VIEWS if wiki.config.wiki_views == "show" else "", SESSIONS
        ),
    ]
    return WikiPage(listing.get_sheet_uri(number), tuple(parts), listing=True, name="" if number else title)


# -- the map of all records -----------------------------------------------------------------------

RELATIONS = {
    "supersedes": msg("supersedes"),
    "amends": msg("amends"),
    "cites": msg("cites"),
    "path": msg("refers to the same file"),
}


INVERSE = {
    "supersedes": msg("superseded by"),
    "amends": msg("amended by"),
    "cites": msg("cited by"),
    "path": msg("refers to the same file"),
}


def build_graph_page(wiki: Wiki) -> WikiPage:
    """Return the page with the map; its script draws what the file DATA holds."""
    if not wiki.library.records:
        empty = wiki.render("lists.empty", msg("A map needs records that speak of each other."), NEW_BASE)
        return build_list_page(GRAPH, wiki.translate(msg("Map")), empty)
    found = Counter(name for _, _, name in wiki.library.iter_edges())
    counts = [(name, label, found[name]) for name, label in RELATIONS.items()]
    parts = (wiki.render("lists.map", DATA), wiki.render("lists.relations", counts))
    return build_list_page(GRAPH, wiki.translate(msg("Map")), *parts)


def render_graph_data(wiki: Wiki, url: Callable[[str], str]) -> str:
    """Return nodes and edges as a script, which pages opened from the disk can load; *url* is relative to it."""
    nodes = [
        [
            one_line(record.id),
            format_plain_title(record.title),
            record.kind,
            record.scope,
            record.status,
            record.date[:10],
            url(wiki.library.uris[position]),
        ]
        for position, record in enumerate(wiki.library.records)
    ]
    words = {
        "relations": {name: wiki.translate(label) for name, label in RELATIONS.items()},
        "inverse": {name: wiki.translate(label) for name, label in INVERSE.items()},
        "map": wiki.translate(msg("Map")),
        "time": wiki.translate(msg("Timeline")),
        "find": wiki.translate(msg("Begin at a record: number or title")),
        "hubs": wiki.translate(msg("Most cited")),
        "all": wiki.translate(msg("Show everything")),
        "every": wiki.translate(msg("all scopes")),
        "more": wiki.translate(msg("Options")),
        "steps": wiki.translate(msg("Steps away")),
        "center": wiki.translate(msg("Show its neighbourhood")),
        "close": wiki.translate(msg("Close")),
        "alone": wiki.translate(msg("records without relations")),
        "hint": wiki.translate(msg("Drag to move, pinch or turn the wheel to zoom. Hollow: no longer accepted.")),
        "of": wiki.translate(msg("Around a record")),
    }
    data = {
        "words": words,
        "kinds": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "scopes": {scope: wiki.label_scope(scope) for scope in wiki.scopes},
        "statuses": {status: wiki.label_status_with_sign(status) for status in wiki.statuses},
        "nodes": nodes,
        "edges": list(wiki.library.iter_edges()),
    }
    return f"window.kbGraph={encode_json(data)};\n"


# -- the chart: each decision joined by an arc to what it replaced; it needs no script ------------

MAX_CHART_POINTS = 28
"""Decisions on the line, at most: those that replaced another one or were replaced, then the newest."""
STEP, HEIGHT, LINE = 32, 190, 140
"""Units from one point to the next; height of the drawing; where the line runs."""


def render_chart(wiki: Wiki) -> Html:
    """Return the drawing; "" where no decision replaced another one."""
    library, records = wiki.library, wiki.library.records
    dated = [n for n, record in enumerate(records) if record.kind == "decision" and record.date[:4].isdigit()]
    dated.sort(key=lambda n: records[n].date, reverse=True)
    linked = [n for n in dated if library.superseded_by.get(n) or library.list_targets(n, "supersedes")]
    chosen = [*dict.fromkeys([*linked, *dated])][:MAX_CHART_POINTS] if linked else []
    chosen.sort(key=lambda n: (records[n].date, records[n].id))
    at = {position: STEP * (n + 1) for n, position in enumerate(chosen)}
    arcs, months = [], []
    top, last, free = LINE, "", 0
    for position, x in at.items():
        for begin in (at[old] for old in library.list_targets(position, "supersedes") if old in at):
            high = max(10, LINE - 14 - abs(x - begin) // 3)
            arcs.append(f"M{begin} {LINE} C{begin} {high} {x} {high} {x} {LINE}")
            top = min(
                top, LINE - (LINE - high) * 3 // 4 - 10
            )  # a curve reaches three quarters of the way to its handles
        # Each month is named once, where it begins, unless the last name is too near.
        month = records[position].date[:7]
        if month != last and x >= free:
            months.append((x - 6, month))
            free = x + 3 * STEP
        last = month
    if not arcs:
        return Html("")
    box = (STEP * (len(chosen) + 1), max(top, 0), HEIGHT)
    return wiki.render("lists.chart", at, arcs, months, box, LINE, STEP, ALONG_TIME)
