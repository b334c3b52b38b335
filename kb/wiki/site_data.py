"""Generate the wiki files that are not pages: records.json, Atom feeds, llms.txt and the data for the scripts.

docs/wiki.md describes those that other programs read. The data of the scripts comes in pieces, a card for each link and
rows for the lists: scripts that call `kbData(name, value)`, which pages opened from the disk can load as well.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from kb.i18n import msg
from kb.records.model import LIVE, Record, Status, list_aliases, recency_key
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.library import sanitise_path_part
from kb.wiki.page_parts import STATUSES, format_title, list_authors
from kb.wiki.record_pages import list_said_findings
from kb.wiki.render import encode_json, number_duplicates, strip_markup
from kb.wiki.wiki_model import SiteFile, Wiki

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
        "short": render_short_form(record, wiki.config.language, with_decision=True),
    }


# -- feeds ----------------------------------------------------------------------------------------

FEED = "feed.xml"
MAX_FEED_ENTRIES = 50
"""Entries of one feed, at most."""
_NEVER = "1970-01-01T00:00:00Z"


def list_feeds(wiki: Wiki) -> dict[str, str]:
    """Map each feed's file name to its scope; "" stands for all scopes."""
    names = number_duplicates((sanitise_path_part(scope.replace("/", "-")) for scope in wiki.scopes), "-")
    own = {f"feeds/{name}.xml": scope for name, scope in zip(names, wiki.scopes, strict=True)}
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


# -- for language models --------------------------------------------------------------------------

LLMS, LLMS_FULL = "llms.txt", "llms-full.txt"
"""The accepted records as a list and in full, in the form of https://llmstxt.org."""


def render_llms_list(wiki: Wiki, address: Callable[[str], str]) -> str:
    """Return a line for each accepted record by scope, newest first; *address* returns the address of a page."""
    intro = msg("What was decided, what must hold and what went wrong, as people and agents wrote it down.")
    rows = [f"# {one_line(wiki.config.name)}", "", f"> {wiki.translate(intro)}"]
    for scope, positions in _group_live(wiki).items():
        rows += ["", f"## {one_line(wiki.label_scope(scope))}", ""]
        for n in positions:
            record = wiki.library.records[n]
            said = first_sentence(strip_markup(record.section("decision")), MAX_SENTENCE_CHARACTERS)
            title = format_title(record).translate(_NO_BRACKETS)
            label = f" ({wiki.label_status(record.status)})" if record.status != Status.ACCEPTED else ""
            rows.append(f"- [{title}]({address(wiki.library.uris[n])}){label}{': ' if said else ''}{said}")
    rows += [
        "",
        "## Optional",
        "",
        f"- [{LLMS_FULL}]({address(LLMS_FULL)}): {wiki.translate(msg('the same, in full'))}",
    ]
    return "\n".join(rows) + "\n"


def render_llms_texts(wiki: Wiki) -> str:
    """Return the text of every accepted record as markdown."""
    rows = [f"# {one_line(wiki.config.name)}"]
    for positions in _group_live(wiki).values():
        for record in (wiki.library.records[n] for n in positions):
            facts = [wiki.label_status(record.status), wiki.label_kind(record.kind), record.date[:10], *record.impact]
            name = wiki.library.name_of(record)
            rows += ["", f"## [{name}] {one_line(record.title)}", "", " · ".join(map(one_line, filter(None, facts)))]
            for section in record.sections:
                heading = section.heading or (wiki.label_section(section.name, record.kind) if section.name else "")
                rows += ["", f"### {one_line(heading)}", "", section.text.strip("\n")]
    return "\n".join(rows) + "\n"


def _group_live(wiki: Wiki) -> dict[str, list[int]]:
    records = wiki.library.records
    live = sorted((n for n, one in enumerate(records) if one.status in LIVE), key=lambda n: recency_key(records[n]))
    groups: dict[str, list[int]] = {scope: [] for scope in wiki.scopes}
    for n in reversed(live):
        groups[records[n].scope].append(n)
    return {scope: positions for scope, positions in groups.items() if positions}


_NO_BRACKETS = str.maketrans({"[": "(", "]": ")"})


# -- data for the scripts of the pages ------------------------------------------------------------

ROWS_PER_CHUNK = 1_000
CARDS_PER_CHUNK = 100
"""On average: a card goes to a chunk by the hash of its page."""
MAX_SENTENCE_CHARACTERS = 240
"""Characters of a decision that a card shows."""


def iter_chunks(fingerprints: PageFingerprints, url: Callable[[str], str]) -> Iterator[SiteFile]:
    """Yield every piece; *url* returns the address of a page, relative to the wiki's top."""
    wiki = fingerprints.wiki
    count = len(wiki.library.records)
    row_chunks, card_chunks = (max(1, -(-count // size)) for size in (ROWS_PER_CHUNK, CARDS_PER_CHUNK))

    def build_chunk(name: str, fingerprint: str, build: Callable[[], object]) -> SiteFile:
        return SiteFile(f"data/{name}.js", fingerprint, lambda: f"kbData({json.dumps(name)},{encode_json(build())});\n")

    yield build_chunk("badges", "", partial(_build_badges, wiki))
    yield build_chunk("other", "", partial(list_said_findings, wiki))
    yield build_chunk("lists", "", partial(_build_filter_options, wiki, row_chunks, card_chunks))
    for number in range(row_chunks):
        here = range(count)[number * ROWS_PER_CHUNK : (number + 1) * ROWS_PER_CHUNK]
        fingerprint = hash_parts([fingerprints.record_hashes[n] for n in here])
        yield build_chunk(f"rows-{number}", fingerprint, partial(_build_rows, wiki, here, url))
    pieces: list[dict[str, int]] = [{} for _ in range(card_chunks)]
    for position in range(count):
        name = unquote(url(wiki.library.uris[position]))
        pieces[hash_to_chunk(name, card_chunks)][name] = position
    for number, cards in enumerate(pieces):
        fingerprint = hash_parts([fingerprints.page_hashes[n] for n in cards.values()])
        yield build_chunk(f"cards-{number}", fingerprint, partial(_build_cards, wiki, cards))


def hash_to_chunk(name: str, chunks: int) -> int:
    """Return the number of the chunk that holds the card of page *name*. Must match the hash in kb.js."""
    number = 0
    for character in name:
        number = (number * 31 + ord(character)) % 65_521
    return number % chunks


def _build_badges(wiki: Wiki) -> dict[str, int]:
    """Return the counts for the badges in the navigation; kept out of the pages so that a new count rebuilds none."""
    sources = wiki.sources
    return {"reviews": len(sources.reviews), "inbox": len(sources.held), "health": len(sources.findings)}


def _build_filter_options(wiki: Wiki, row_chunks: int, card_chunks: int) -> dict[str, Any]:
    """Return the number of chunks, and the values and labels of the filters above a list."""
    words = {
        "text": msg("Filter by words"),
        "kind": msg("Kind"),
        "scope": msg("Scope"),
        "status": msg("Status"),
        "tag": msg("Tag"),
        "month": msg("Month"),
        "path": msg("Path, such as src/auth"),
        "filters": msg("Filters"),
        "all": msg("all"),
        "clear": msg("Clear all"),
        "more": msg("Show more"),
        "fewer": msg("Show fewer"),
        "remove": msg("Remove the filter"),
        "found": msg("{found} of {all} records", found="{found}", all="{all}"),
        "foundOne": msg("{found} of 1 record", found="{found}"),
        "none": msg("Nothing matches all of that. Remove a filter, or search the full text:"),
        "sort": msg("Order"),
        "sorts": msg("Newest first|Oldest first|By number|By title|Most cited"),
        "governed": msg("Records that govern {path}: {number}", path="{path}", number="{number}"),
        "named": msg("Named in the text: {number}", number="{number}"),
        "ended": msg("No longer accepted: {number}", number="{number}"),
        "ungoverned": msg("No record governs {path}.", path="{path}"),
        "palette": msg("Go to a record, a page or a tag, or do something"),
        "pages": msg("Pages"),
        "records": msg("Records"),
        "tags": msg("Tags"),
        "actions": msg("Actions"),
        "home": msg("Home"),
        "map": msg("Map"),
        "reviews": msg("Reviews"),
        "inbox": msg("Inbox"),
        "health": msg("Health"),
        "governs": msg("What governs this file?"),
        "dark": msg("Light or dark"),
        "language": msg("Change the language of the wiki"),
        "copy": msg("Copy this page for an agent"),
        "nothing": msg("Nothing found"),
        "near": msg("Near by:"),
    }
    statuses = (*STATUSES, *sorted({record.status for record in wiki.library.records} - {*STATUSES}))
    return {
        "records": len(wiki.library.records),
        "rows": row_chunks,
        "cards": card_chunks,
        "kind": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "scope": {scope: wiki.label_scope(scope) for scope in wiki.scopes},
        "status": {status: wiki.label_status_with_sign(status) for status in statuses},
        "tag": [*wiki.tags],
        "month": [month for month in wiki.months if month[:1].isdigit()],
        "words": {name: wiki.translate(word) for name, word in words.items()},
    }


def _build_rows(wiki: Wiki, positions: range, url: Callable[[str], str]) -> list[list[object]]:
    """Return what the lists show of the records at *positions*."""
    rows: list[list[object]] = []
    for position in positions:
        record = wiki.library.records[position]
        address = url(wiki.library.uris[position])
        cited = len(wiki.library.cited_by.get(position, ()))
        named = list(wiki.named_paths[position])
        rows.append([*_list_common_fields(record), address, list(record.tags), list(record.impact), cited, named])
    return rows


def _build_cards(wiki: Wiki, positions: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the cards of the records at *positions*, by the addresses of their pages."""
    cards, library = {}, wiki.library
    for address, position in positions.items():
        record = library.records[position]
        after = () if record.status in LIVE else library.superseded_by.get(position, ())
        newer = ", ".join(format_title(library.records[n]) for n in after)
        superseded_notice = f"{wiki.translate(msg('No longer accepted. Read instead:'))} {newer}" if newer else ""
        sentence = first_sentence(strip_markup(record.section("decision")), MAX_SENTENCE_CHARACTERS)
        cards[address] = [*_list_common_fields(record), sentence, superseded_notice]
    return cards


def _list_common_fields(record: Record) -> list[str]:
    name, day = (one_line(record.id), one_line(record.title)), one_line(record.date[:10])
    return [*name, record.kind, record.scope, record.status, day]
