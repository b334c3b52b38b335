"""Data files of the wiki: all records as JSON, decisions as Atom feeds, and data for the scripts of the pages.

docs/wiki.md describes the JSON and the feeds. The data for the scripts comes in pieces, a card for each link and rows
for the lists: scripts that call `kbData(name, value)`, which pages opened from the disk can load as well.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from kb.i18n import msg
from kb.records.model import LIVE, Record, Status, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.library import sanitise_path_part
from kb.wiki.page_parts import STATUSES, format_title
from kb.wiki.render import encode_json
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
        "authors": [*dict.fromkeys(version.author for version in reversed(versions))],
        "file": record.path,
        "url": url(library.uris[position]),
        "permalink": f"r/{sanitise_path_part(record.uid)}/" if record.uid else "",
        "short": render_short_form(record, wiki.config.language),
    }


# -- feeds ----------------------------------------------------------------------------------------

FEED = "feed.xml"
MAX_FEED_ENTRIES = 50
"""Entries of one feed, at most."""
_NEVER = "1970-01-01T00:00:00Z"


def list_feeds(wiki: Wiki) -> dict[str, str]:
    """Return each feed's file with its scope; "" is the feed of all."""
    own = {f"feeds/{listing.stem.rpartition('/')[2]}.xml": scope for scope, listing in wiki.scopes.items()}
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


# -- data for the scripts of the pages ------------------------------------------------------------

ROWS = 1_000
"""Records in one piece of the lists."""
CARDS = 100
"""Cards in one piece, about."""
MAX_SENTENCE_CHARACTERS = 240
"""Characters of a decision that a card shows."""


def iter_chunks(fingerprints: PageFingerprints, url: Callable[[str], str]) -> Iterator[SiteFile]:
    """Yield every piece; *url* returns the address of a page, relative to the wiki's top."""
    wiki = fingerprints.wiki
    count = len(wiki.library.records)
    row_pieces, card_pieces = (max(1, -(-count // size)) for size in (ROWS, CARDS))

    def build_piece(name: str, fingerprint: str, build: Callable[[], object]) -> SiteFile:
        return SiteFile(f"data/{name}.js", fingerprint, lambda: f"kbData({json.dumps(name)},{encode_json(build())});\n")

    yield build_piece("lists", "", partial(_build_start, wiki, row_pieces, card_pieces))
    for number in range(row_pieces):
        here = range(count)[number * ROWS : (number + 1) * ROWS]
        fingerprint = hash_parts([fingerprints.record_hashes[n] for n in here])
        yield build_piece(f"rows-{number}", fingerprint, partial(_build_rows, wiki, here, url))
    pieces: list[dict[str, int]] = [{} for _ in range(card_pieces)]
    for position in range(count):
        name = unquote(url(wiki.library.uris[position]))
        pieces[hash_to_piece(name, card_pieces)][name] = position
    for number, cards in enumerate(pieces):
        fingerprint = hash_parts([fingerprints.page_hashes[n] for n in cards.values()])
        yield build_piece(f"cards-{number}", fingerprint, partial(_build_cards, wiki, cards))


def hash_to_piece(name: str, pieces: int) -> int:
    """Return which of *pieces* has the card of the page *name*: kb.js counts in the same way."""
    number = 0
    for sign in name:
        number = (number * 31 + ord(sign)) % 65_521
    return number % pieces


def _build_start(wiki: Wiki, row_pieces: int, card_pieces: int) -> dict[str, Any]:
    """Return the names of the other pieces, and what the fields above a list offer."""
    words = {
        "text": msg("Filter"),
        "kind": msg("Kind"),
        "scope": msg("Scope"),
        "status": msg("Status"),
        "tag": msg("Tag"),
        "month": msg("Month"),
        "path": msg("Governs a path, such as src/auth"),
        "all": msg("all"),
        "clear": msg("Clear"),
        "more": msg("Show more"),
        "found": msg("{found} of {all} records", found="{found}", all="{all}"),
        "heads": msg("Status|Record|Scope|Date|Tags"),
    }
    statuses = (*STATUSES, *sorted({record.status for record in wiki.library.records} - {*STATUSES}))
    return {
        "records": len(wiki.library.records),
        "rows": row_pieces,
        "cards": card_pieces,
        "kind": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "scope": {scope: wiki.label_scope(scope) for scope in wiki.scopes},
        "status": {status: wiki.label_status_with_sign(status) for status in statuses},
        "tag": [*wiki.tags.uris],
        "month": [month for month in wiki.months.uris if month[:1].isdigit()],
        "words": {name: wiki.translate(word) for name, word in words.items()},
    }


def _build_rows(wiki: Wiki, positions: range, url: Callable[[str], str]) -> list[list[object]]:
    """Return what the lists show of the records at *positions*."""
    rows: list[list[object]] = []
    for position in positions:
        record = wiki.library.records[position]
        address = url(wiki.library.uris[position])
        rows.append([*_list_common_fields(record), address, list(record.tags), list(record.impact)])
    return rows


def _build_cards(wiki: Wiki, positions: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the cards of the records at *positions*, by the addresses of their pages."""
    cards, library = {}, wiki.library
    for address, position in positions.items():
        record = library.records[position]
        after = () if record.status in LIVE else library.superseded_by.get(position, ())
        newer = ", ".join(format_title(library.records[n]) for n in after)
        superseded_notice = f"{wiki.translate(msg('No longer accepted. Read instead:'))} {newer}" if newer else ""
        sentence = first_sentence(record.section("decision"), MAX_SENTENCE_CHARACTERS)
        cards[address] = [*_list_common_fields(record), sentence, superseded_notice]
    return cards


def _list_common_fields(record: Record) -> list[str]:
    name, day = (one_line(record.id), one_line(record.title)), one_line(record.date[:10])
    return [*name, record.kind, record.scope, record.status, day]
