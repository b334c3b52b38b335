"""Pages that lead to records: the first page, the views in the words of a memory, and the lists.

There is a list for each kind, scope, status, tag, month and impact folder.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kb.i18n import Message, msg
from kb.records.kinds import BY_NAME, kind_label
from kb.records.model import GLOBAL, Status, recency_key
from kb.text.segment import first_sentence, one_line
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.data_files import FEED, RECORDS, list_feeds
from kb.wiki.graph import render_chart
from kb.wiki.page_parts import (
    STATUSES,
    label_scope,
    label_status,
    render_badge,
    render_entry,
    render_message,
    render_record_link,
    render_tag_links,
    render_titled_part,
)
from kb.wiki.pending_pages import HEALTH, INBOX, REVIEWS
from kb.wiki.record_pages import SESSIONS
from kb.wiki.render import (
    Html,
    close_tag,
    element,
    escape_markdown,
    join_html,
    join_with,
    link_to,
    open_tag,
    render_list,
    render_row,
    render_table,
)
from kb.wiki.wiki_model import Listing, PageDraft, Wiki, WikiPage, build_list_page

NEWEST = 10
"""How many of the newest records the home page names."""
CHANGED = 12
"""How many of the records that changed last week the home page names."""
WEEK = 7
MONTHS = 12
"""Months of the timeline that the home page shows."""


def build_home_page(wiki: Wiki) -> WikiPage:
    """Return the first page: what there is, what is new, what waits for a person, how to find the rest."""
    search = msg(
        "Press / to search: what has every word comes first; quotes keep a phrase together; a word with - is left out."
    )
    newest = _sort_by_recency(wiki, range(len(wiki.library.records)))[:NEWEST]
    parts = [
        f"# {escape_markdown(wiki.config.name)}",
        *_render_summary(wiki),
        render_message(wiki, search),
        *render_titled_part(wiki, msg("For a person to decide"), render_list(_iter_pending(wiki), class_="kb-waiting")),
        *render_titled_part(wiki, msg("Records"), _render_counts(wiki)),
        *render_titled_part(wiki, msg("How decisions replaced each other"), render_chart(wiki)),
        *render_titled_part(wiki, msg("Changed last week"), _render_recent_changes(wiki)),
        *render_titled_part(wiki, msg("Newest"), render_list(render_entry(wiki, n) for n in newest)),
        *render_titled_part(wiki, msg("By month"), _render_months(wiki)),
        *render_titled_part(wiki, msg("For other programs"), _render_feed_links(wiki)),
    ]
    return WikiPage("index.md", tuple(parts), listing=True, name=wiki.translate(msg("Home")))


def _sort_by_recency(wiki: Wiki, positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda n: recency_key(wiki.library.records[n]), reverse=True)


def _render_summary(wiki: Wiki) -> list[str]:
    """Return what this knowledge base is: a sentence and a line of numbers."""
    records = wiki.library.records
    if not records:
        return [render_message(wiki, msg("Nothing has been written yet."))]
    projects = ", ".join(label_scope(wiki, scope) for scope in wiki.scopes if scope != GLOBAL)
    counts = [msg("Records: {records}", records=len(records))]
    counts += [msg("Projects: {projects}", projects=projects)] if projects else []
    counts += [msg("Sessions: {sessions}", sessions=len(wiki.sessions))] if wiki.sessions else []
    intro = msg("What was decided, what must hold and what went wrong, as people and agents wrote it down.")
    return [render_message(wiki, intro), escape_markdown(" · ".join(map(wiki.translate, counts)))]


def _iter_pending(wiki: Wiki) -> Iterator[Html]:
    """Yield what needs a person, each with how many there are, where there are any."""
    sources = wiki.sources
    proposed = sum(record.status == Status.PROPOSED for record in wiki.library.records)
    errors = sum(finding.severity == "error" for finding in sources.findings)
    pending: tuple[tuple[int, Message, str], ...] = (
        (len(sources.reviews), msg("open reviews"), REVIEWS),
        (proposed, msg("records to be verified"), wiki.statuses.uris.get(label_status(wiki, Status.PROPOSED), "")),
        (len(sources.held), msg("candidates in the inbox"), INBOX),
        (errors, msg("errors that kb check finds"), HEALTH),
    )
    for number, words, uri in pending:
        if number:
            yield join_html(element("strong", str(number)), " ", link_to(uri, wiki.translate(words)))


def _render_counts(wiki: Wiki) -> Html:
    """Return how many records there are, by kind and status."""
    records = wiki.library.records
    if not records:
        return Html("")
    counts = Counter((record.kind, record.status) for record in records)
    statuses = [status for status in STATUSES if any(record.status == status for record in records)]
    uris = wiki.statuses.uris
    heads = [link_to(uris[label_status(wiki, status)], render_badge(wiki, status)) for status in statuses]
    rows = []
    for kind, listing in wiki.kinds.items():
        numbers = (str(counts[kind, status] or "") for status in statuses)
        name = link_to(listing.uri, kind_label(kind, wiki.config.language))
        rows.append(render_row((name, *numbers, str(listing.counts[""]))))
    return render_table((wiki.translate(msg("Kind")), *heads, wiki.translate(msg("All"))), rows)


def _render_recent_changes(wiki: Wiki) -> Html:
    """Return the records that changed in the last days, the latest first, each with its latest change."""
    if not wiki.sources.today:
        return Html("")
    since = (datetime.date.fromisoformat(wiki.sources.today) - datetime.timedelta(days=WEEK)).isoformat()
    latest = [(versions[0], n) for n, one in enumerate(wiki.library.records) if (versions := wiki.list_versions(one))]
    recent = sorted((pair for pair in latest if pair[0].time[:10] > since), key=lambda pair: pair[0].time, reverse=True)
    rows = [join_html(render_entry(wiki, n), f" – {version.time[:10]}, {version.author}") for version, n in recent]
    more = wiki.translate(msg("… and {number} more.", number=len(rows) - CHANGED))
    return render_list([*rows[:CHANGED], more] if len(rows) > CHANGED else rows)


def _render_months(wiki: Wiki) -> Html:
    """Return how many records each of the last months has, as a bar and a number."""
    counts = [(month, number) for month, number in wiki.months.counts.items() if month[:1].isdigit()][:MONTHS]
    most = str(max((number for _, number in counts), default=0))
    rows = []
    for month, number in counts:
        bar = element("meter", value=str(number), max=most, aria_label=month)
        rows.append(join_html(link_to(wiki.months.uris[month], month), " ", bar, f" {number}"))
    return render_list(rows, class_="kb-months")


def _render_feed_links(wiki: Wiki) -> Html:
    own = (link_to(name, label_scope(wiki, scope)) for name, scope in list_feeds(wiki).items() if scope)
    feeds = join_with(" · ", [link_to(FEED, wiki.translate(msg("all decisions"))), *own])
    return render_list((join_html("Atom: ", feeds), link_to(RECORDS, RECORDS)))


# -- the same records, seen in other ways ---------------------------------------------------------

VIEWS = "views.md"
NEWEST_OF_PART = 8
"""Records of one part that are named, at most; its lists have them all."""
_KNOWLEDGE = ("adr", "domain-note")
_EXPERIENCE = ("pattern", "anti-pattern", "checklist")


def build_views_page(wiki: Wiki) -> WikiPage:
    """Return the page with the views of `kb alaya`: seeds, karma, preferences; then what was learnt, and sessions."""
    seeds = render_list(_render_kind_count(wiki, kind) for kind in wiki.kinds)
    parts = [
        render_message(wiki, msg("The same records, seen in other ways; nothing here is a copy.")),
        *render_titled_part(wiki, msg("Seeds (种子库): by kind"), seeds),
        *render_titled_part(wiki, msg("Karma (业力库): by label"), _render_karma(wiki)),
        *render_titled_part(wiki, msg("Preferences (偏好库)"), _render_newest(wiki, ("preference",))),
        *render_titled_part(wiki, msg("Knowledge"), _render_newest(wiki, _KNOWLEDGE)),
        *render_titled_part(wiki, msg("Experience"), _render_newest(wiki, _EXPERIENCE)),
        *render_titled_part(wiki, msg("Sessions"), _render_sessions(wiki)),
    ]
    return build_list_page(VIEWS, wiki.translate(msg("Views")), *parts)


def _render_count(label: str, uri: str, number: int) -> Html:
    return join_html(link_to(uri, label), f" ({number})")


def _render_kind_count(wiki: Wiki, kind: str) -> Html:
    listing = wiki.kinds[kind]
    return _render_count(kind_label(kind, wiki.config.language), listing.uri, listing.counts[""])


def _render_karma(wiki: Wiki) -> Html:
    labels: dict[str, list[Html]] = {}
    for kind in wiki.kinds:
        labels.setdefault(BY_NAME[kind].karma if kind in BY_NAME else "–", []).append(_render_kind_count(wiki, kind))
    return render_list(
        join_html(element("strong", label), ": ", join_with(" · ", counts)) for label, counts in labels.items()
    )


def _render_newest(wiki: Wiki, categories: Iterable[str]) -> Html:
    """Return the newest records of *categories*, each with the first sentence of what it says."""
    records = wiki.library.records
    kinds = {kind.name for kind in BY_NAME.values() if kind.category in categories}
    newest = _sort_by_recency(wiki, [n for n, record in enumerate(records) if record.kind in kinds])[:NEWEST_OF_PART]
    rows = [join_html(render_entry(wiki, n), " – ", first_sentence(records[n].section("decision"))) for n in newest]
    every = join_with(" · ", (_render_kind_count(wiki, kind) for kind in wiki.kinds if kind in kinds))
    return render_list([*rows, join_html(wiki.translate(msg("All")), ": ", every)]) if rows else Html("")


def _render_sessions(wiki: Wiki) -> Html:
    rows = []
    for (session, _), uri in list(zip(wiki.sessions, wiki.session_uris, strict=True))[:NEWEST_OF_PART]:
        rows.append(join_html(link_to(uri, session.name), " – ", first_sentence(session.task)))
    every = _render_count(wiki.translate(msg("All")), SESSIONS, len(wiki.sessions))
    return render_list([*rows, every]) if rows else Html("")


ALL_RECORDS, KINDS, SCOPES = "records.md", "kinds/index.md", "scopes/index.md"


def iter_list_drafts(fingerprints: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page that lists records."""
    wiki = fingerprints.wiki
    by_kind = render_list(_render_kind_count(wiki, kind) for kind in wiki.kinds)
    by_scope = render_list(
        _render_count(label_scope(wiki, scope), listing.uri, listing.counts[""])
        for scope, listing in wiki.scopes.items()
    )
    yield build_draft(_build_records_page(wiki))
    yield build_draft(build_list_page(KINDS, wiki.translate(msg("Kinds")), by_kind))
    yield build_draft(build_list_page(SCOPES, wiki.translate(msg("Scopes")), by_scope))
    for kind, listing in wiki.kinds.items():
        yield from _iter_sheet_drafts(fingerprints, listing, kind_label(kind, wiki.config.language), kind=kind)
    for scope, listing in wiki.scopes.items():
        yield from _iter_sheet_drafts(fingerprints, listing, label_scope(wiki, scope), scope=scope)
    yield from _iter_sheet_drafts(fingerprints, wiki.statuses, wiki.translate(msg("By status")))
    yield from _iter_sheet_drafts(fingerprints, wiki.tags, wiki.translate(msg("Tags")))
    yield from _iter_sheet_drafts(fingerprints, wiki.months, wiki.translate(msg("Timeline")), render_chart(wiki))
    yield from _iter_sheet_drafts(fingerprints, wiki.paths, wiki.translate(msg("Impact paths")))


def _build_records_page(wiki: Wiki) -> WikiPage:
    """Return the page on which a script lists all records by what the visitor asks for."""
    lists = (
        (msg("Kinds"), KINDS),
        (msg("Scopes"), SCOPES),
        (msg("By status"), wiki.statuses.uri),
        (msg("Tags"), wiki.tags.uri),
        (msg("Timeline"), wiki.months.uri),
        (msg("Impact paths"), wiki.paths.uri),
    )
    links = render_list(link_to(uri, wiki.translate(word)) for word, uri in lists)
    static = element("div", links, class_="kb-static")
    explorer = element("div", static, class_="kb-explore", data_preset="{}", data_open="yes")
    intro = render_message(wiki, msg("Choose what to see: every field narrows the list."))
    return build_list_page(ALL_RECORDS, wiki.translate(msg("All records")), intro, explorer)


# -- the sheets of a list -------------------------------------------------------------------------


def _iter_sheet_drafts(
    fingerprints: PageFingerprints, listing: Listing, title: str, before: str = "", **preset: str
) -> Iterator[PageDraft]:
    """Yield the pages of one list, *before* which something may stand; *preset* says what its records share."""
    for number, groups in enumerate(listing.sheets):
        rows = [(group.label, fingerprints.hash_rows(group.records)) for group in groups]
        contents = () if number else (listing.counts, listing.uris, before)
        fingerprint = hash_parts(title, len(listing.sheets), rows, contents)
        make = partial(_build_sheet, fingerprints, listing, title, number, before, preset)
        yield PageDraft(listing.get_sheet_uri(number), fingerprint, make)


def _build_sheet(
    fingerprints: PageFingerprints, listing: Listing, title: str, number: int, before: str, preset: Mapping[str, str]
) -> WikiPage:
    """Return one page of a list; a script puts what the visitor asks for in the place of its static part."""
    wiki, last = fingerprints.wiki, len(listing.sheets)
    heads = [wiki.translate(word) for word in (msg("Status"), msg("Record"), msg("Scope"), msg("Date"), msg("Tags"))]
    parts = [f"# {escape_markdown(f'{title} ({number + 1}/{last})' if last > 1 else title)}"]
    parts += [before] if before and not number else []
    parts.append(open_tag("div", class_="kb-explore", data_preset=json.dumps(preset, ensure_ascii=False)))
    parts.append(open_tag("div", class_="kb-static"))
    if not number and len(listing.counts) > 1:
        counts = (_render_count(one_line(label), listing.uris[label], n) for label, n in listing.counts.items())
        parts.append(element("p", join_with(" · ", counts), class_="kb-contents"))
    for group in listing.sheets[number]:
        parts += [f"## {escape_markdown(group.label)}"] if group.label else []
        rows = (fingerprints.render_row(position, _render_record_row) for position in group.records)
        parts.append(render_table(heads, rows, data_kb_list="1"))
    if last > 1:
        pages = (
            element("strong", str(n + 1)) if n == number else link_to(listing.get_sheet_uri(n), str(n + 1))
            for n in range(last)
        )
        parts.append(element("p", wiki.translate(msg("Pages")), ": ", join_with(" ", pages), class_="kb-pager"))
    parts += [close_tag("div"), close_tag("div")]
    return WikiPage(listing.get_sheet_uri(number), tuple(parts), listing=True, name="" if number else title)


def _render_record_row(wiki: Wiki, position: int) -> Html:
    record = wiki.library.records[position]
    return render_row(
        (
            render_badge(wiki, record.status),
            render_record_link(wiki, position),
            label_scope(wiki, record.scope),
            record.date[:10],
            render_tag_links(wiki, record),
        )
    )
