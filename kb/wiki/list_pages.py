"""List pages of the wiki: the first page, the views in the words of a memory, the lists, the map and the chart.

There is a list for each kind, scope, status, tag, month and impact folder.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kb.i18n import msg
from kb.records.kinds import BY_NAME
from kb.records.model import GLOBAL, Status, recency_key
from kb.text.segment import one_line
from kb.wiki.build_cache import FEED, RECORDS, PageFingerprints, build_draft, hash_parts, list_feeds
from kb.wiki.page_parts import STATUSES
from kb.wiki.record_pages import HEALTH, INBOX, REVIEWS, SESSIONS
from kb.wiki.render import Html, encode_json, escape_markdown
from kb.wiki.wiki_model import Listing, PageDraft, Wiki, WikiPage, build_list_page

if TYPE_CHECKING:
    from kb.history.timeline import RecordVersion

MAX_NEWEST = 10
"""How many of the newest records the home page names."""
MAX_CHANGED = 12
"""How many of the records that changed last week the home page names."""
WEEK = 7
MONTHS = 12
"""Months of the timeline that the home page shows."""
GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
VIEWS, ALL_RECORDS, KINDS, SCOPES = "views.md", "records.md", "kinds/index.md", "scopes/index.md"


# -- the first page -------------------------------------------------------------------------------


def build_home_page(wiki: Wiki) -> WikiPage:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    records, sources = wiki.library.records, wiki.sources
    search = msg(
        "Press / to search: what has every word comes first; quotes keep a phrase together; a word with - is left out."
    )
    counts = Counter((record.kind, record.status) for record in records)
    # In the order of the table; a status that it does not have is counted in the last column only.
    used = [status for status in STATUSES if any(status == found for _, found in counts)]
    proposed = sum(record.status == Status.PROPOSED for record in records)
    pending = (
        (len(sources.reviews), msg("open reviews"), REVIEWS),
        (proposed, msg("records to be verified"), wiki.statuses.uris.get(wiki.label_status(Status.PROPOSED), "")),
        (len(sources.held), msg("candidates in the inbox"), INBOX),
        (sum(one.severity == "error" for one in sources.findings), msg("errors that kb check finds"), HEALTH),
    )
    changed = _find_recent_changes(wiki)
    months = [(month, number) for month, number in wiki.months.counts.items() if month[:1].isdigit()][:MONTHS]
    chart = render_chart(wiki)
    parts = [
        f"# {escape_markdown(wiki.config.name)}",
        *_write_summary(wiki),
        wiki.format_message(search),
        *wiki.render_part(msg("For a person to decide"), "lists.pending", pending),
        *wiki.render_part(msg("Records"), "lists.counts", counts, used),
        *([f"## {wiki.format_message(msg('How decisions replaced each other'))}", chart] if chart else ()),
        *wiki.render_part(msg("Changed last week"), "lists.changes", changed[:MAX_CHANGED], len(changed) - MAX_CHANGED),
        *wiki.render_part(msg("Newest"), "lists.newest", _sort_by_recency(wiki, range(len(records)))[:MAX_NEWEST]),
        *wiki.render_part(msg("By month"), "lists.months", months, max((number for _, number in months), default=0)),
        *wiki.render_part(msg("For other programs"), "lists.programs", list_feeds(wiki), FEED, RECORDS),
    ]
    return WikiPage("index.md", tuple(parts), listing=True, name=wiki.translate(msg("Home")))


def _sort_by_recency(wiki: Wiki, positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda n: recency_key(wiki.library.records[n]), reverse=True)


def _write_summary(wiki: Wiki) -> list[str]:
    """Return what this knowledge base is: a sentence and a line of numbers."""
    if not wiki.library.records:
        return [wiki.format_message(msg("Nothing has been written yet."))]
    projects = ", ".join(wiki.label_scope(scope) for scope in wiki.scopes if scope != GLOBAL)
    counts = [msg("Records: {records}", records=len(wiki.library.records))]
    counts += [msg("Projects: {projects}", projects=projects)] if projects else []
    counts += [msg("Sessions: {sessions}", sessions=len(wiki.sessions))] if wiki.sessions else []
    intro = msg("What was decided, what must hold and what went wrong, as people and agents wrote it down.")
    return [wiki.format_message(intro), escape_markdown(" · ".join(map(wiki.translate, counts)))]


def _find_recent_changes(wiki: Wiki) -> list[tuple[int, RecordVersion]]:
    """Return the records that changed in the last days, the latest first, each with its latest version."""
    if not wiki.sources.today:
        return []
    since = (datetime.date.fromisoformat(wiki.sources.today) - datetime.timedelta(days=WEEK)).isoformat()
    latest = ((n, wiki.list_versions(record)[:1]) for n, record in enumerate(wiki.library.records))
    recent = [(n, version) for n, versions in latest for version in versions if version.time[:10] > since]
    return sorted(recent, key=lambda pair: pair[1].time, reverse=True)


# -- the same records, seen in other ways ---------------------------------------------------------

MAX_NEWEST_OF_PART = 8
"""Records of one part that are named, at most; its lists have them all."""


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
    """Yield every page that lists records."""
    wiki = fingerprints.wiki
    single = (
        (wiki.statuses, msg("By status"), ""),
        (wiki.tags, msg("Tags"), ""),
        (wiki.months, msg("Timeline"), render_chart(wiki)),
        (wiki.paths, msg("Impact paths"), ""),
    )
    links = [(msg("Kinds"), KINDS), (msg("Scopes"), SCOPES), *((title, listing.uri) for listing, title, _ in single)]
    intro = wiki.format_message(msg("Choose what to see: every field narrows the list."))
    everything = build_list_page(
        ALL_RECORDS, wiki.translate(msg("All records")), intro, wiki.render("lists.explorer", links)
    )
    yield build_draft(everything)
    yield build_draft(build_list_page(KINDS, wiki.translate(msg("Kinds")), wiki.render("lists.kinds")))
    yield build_draft(build_list_page(SCOPES, wiki.translate(msg("Scopes")), wiki.render("lists.scopes")))
    for kind, listing in wiki.kinds.items():
        yield from _iter_sheet_drafts(fingerprints, listing, wiki.label_kind(kind), kind=kind)
    for scope, listing in wiki.scopes.items():
        yield from _iter_sheet_drafts(fingerprints, listing, wiki.label_scope(scope), scope=scope)
    for listing, title, before in single:
        yield from _iter_sheet_drafts(fingerprints, listing, wiki.translate(title), before)


def _iter_sheet_drafts(
    fingerprints: PageFingerprints, listing: Listing, title: str, before: str = "", **preset: str
) -> Iterator[PageDraft]:
    """Yield the pages of one list, *before* which something may stand; *preset* says what its records share."""
    for number, groups in enumerate(listing.sheets):
        rows = [(label, fingerprints.hash_rows(records)) for label, records in groups]
        contents = () if number else (listing.counts, listing.uris, before)
        fingerprint = hash_parts(title, len(listing.sheets), rows, contents)
        make = partial(_build_sheet, fingerprints, listing, title, number, before, preset)
        yield PageDraft(listing.get_sheet_uri(number), fingerprint, make)


def _build_sheet(
    fingerprints: PageFingerprints, listing: Listing, title: str, number: int, before: str, preset: Mapping[str, str]
) -> WikiPage:
    """Return one page of a list; a script puts what the visitor asks for in the place of its static part."""
    wiki, last = fingerprints.wiki, len(listing.sheets)
    parts = [f"# {escape_markdown(f'{title} ({number + 1}/{last})' if last > 1 else title)}"]
    parts += [before] if before and not number else []
    parts.append(wiki.render("lists.begin", json.dumps(preset, ensure_ascii=False)))
    parts.append(Html('<div class="kb-static">'))
    if not number and len(listing.counts) > 1:
        parts.append(wiki.render("lists.contents", listing))
    for label, records in listing.sheets[number]:
        parts += [f"## {escape_markdown(label)}"] if label else []
        parts.append(wiki.render("lists.rows", map(fingerprints.render_row, records)))
    if last > 1:
        parts.append(wiki.render("lists.pager", listing, number))
    parts += [Html("</div>"), Html("</div>")]
    return WikiPage(listing.get_sheet_uri(number), tuple(parts), listing=True, name="" if number else title)


# -- the map of all records -----------------------------------------------------------------------

RELATIONS = {
    "supersedes": msg("supersedes"),
    "amends": msg("amends"),
    "cites": msg("cites"),
    "path": msg("refers to the same file"),
}


def build_graph_page(wiki: Wiki) -> WikiPage:
    """Return the page with the map; its script draws what the file DATA holds."""
    intro = msg(
        "Each point is a record, hollow if it is no longer accepted. Drag to move, scroll to zoom, click to read."
    )
    found = Counter(name for _, _, name in wiki.library.iter_edges())
    counts = [(label, found[name]) for name, label in RELATIONS.items()]
    parts = (wiki.format_message(intro), wiki.render("lists.map", DATA), wiki.render("lists.relations", counts))
    return build_list_page(GRAPH, wiki.translate(msg("Map")), *parts)


def render_graph_data(wiki: Wiki, url: Callable[[str], str]) -> str:
    """Return nodes and edges as a script, which pages opened from the disk can load; *url* is relative to it."""
    nodes = [
        [
            one_line(record.id),
            one_line(record.title),
            record.kind,
            wiki.label_scope(record.scope),
            record.status,
            wiki.label_status_with_sign(record.status),
            record.date[:10],
            url(wiki.library.uris[position]),
        ]
        for position, record in enumerate(wiki.library.records)
    ]
    words = {
        "kinds": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "relations": {name: wiki.translate(label) for name, label in RELATIONS.items()},
        "all": wiki.translate(msg("all scopes")),
        "map": wiki.translate(msg("Map")),
        "time": wiki.translate(msg("Timeline")),
        "find": wiki.translate(msg("find in the map")),
        "alone": wiki.translate(msg("records without relations")),
    }
    data = {"words": words, "nodes": nodes, "edges": list(wiki.library.iter_edges())}
    return f"window.kbGraph={encode_json(data)};\n"


# -- the chart: each decision joined by an arc to what it replaced; it needs no script ------------

MAX_CHART_POINTS = 36
"""Decisions on the line, at most: those that replaced another one or were replaced, then the newest."""
STEP, HEIGHT, LINE = 26, 190, 140
"""Units from one point to the next; height of the drawing; where the line runs."""


def render_chart(wiki: Wiki) -> Html:
    """Return the drawing; "" without a decision that has a date."""
    library, records = wiki.library, wiki.library.records
    dated = [n for n, record in enumerate(records) if record.kind == "decision" and record.date[:4].isdigit()]
    dated.sort(key=lambda n: records[n].date, reverse=True)
    linked = [n for n in dated if library.superseded_by.get(n) or library.list_targets(n, "supersedes")]
    chosen = [*dict.fromkeys([*linked, *dated])][:MAX_CHART_POINTS]
    chosen.sort(key=lambda n: (records[n].date, records[n].id))
    at = {position: STEP * (n + 1) for n, position in enumerate(chosen)}
    arcs, months = [], []
    last, free = "", 0
    for position, x in at.items():
        for begin in (at[old] for old in library.list_targets(position, "supersedes") if old in at):
            high = max(10, LINE - 14 - abs(x - begin) // 3)
            arcs.append(f"M{begin} {LINE} C{begin} {high} {x} {high} {x} {LINE}")
        # Each month is named once, where it begins, unless the last name is too near.
        month = records[position].date[:7]
        if month != last and x >= free:
            months.append((x - 6, month))
            free = x + 3 * STEP
        last = month
    width = STEP * (len(chosen) + 1)
    return wiki.render("lists.chart", at, arcs, months, width, HEIGHT, LINE, STEP, ALONG_TIME)
