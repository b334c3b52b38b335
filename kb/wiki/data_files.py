"""What programs read: all records as JSON, decisions as Atom feeds, and data for the scripts of the pages."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape, quoteattr

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import LIVE, Record, Status, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import first_sentence, one_line
from kb.wiki.build_cache import PageFingerprints, hash_parts
from kb.wiki.library import sanitise_path_part
from kb.wiki.page_parts import STATUSES, format_title, get_status_sign, label_scope, label_status
from kb.wiki.render import START
from kb.wiki.wiki_model import SiteFile, Wiki

RECORDS = "records.json"
FEED = "feed.xml"
VERSION = 1
"""The version of the form of `records.json`."""
ENTRIES = 50
"""Entries of one feed, at most."""

_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))
"""Characters that no XML may hold and that `one_line` lets through."""
_NEVER = "1970-01-01T00:00:00Z"


def render_records_json(wiki: Wiki, url: Callable[[str], str], known: Mapping[str, Any] | None = None) -> str:
    """Return every record as JSON; *url* answers a page with its address, relative to the file.

    *known* are the rows that are as they were before, by their pages.
    """
    uris, rows_before = wiki.library.uris, known or {}
    rows = [rows_before.get(uris[place]) or _build_row(wiki, place, url) for place in range(len(wiki.library.records))]
    told = {"version": VERSION, "name": wiki.config.name, "language": wiki.config.language, "records": rows}
    return json.dumps(told, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n"


def _build_row(wiki: Wiki, place: int, url: Callable[[str], str]) -> dict[str, Any]:
    record, shelf = wiki.library.records[place], wiki.library
    versions = wiki.list_versions(record)
    return {
        **{key: getattr(record, key) for key in ("id", "uid", "kind", "title", "scope", "status", "date", "confirmed")},
        **{key: list(getattr(record, key)) for key in ("tags", "impact", "supersedes", "amends")},
        "claims": dict(record.claims),
        "former_ids": list_aliases(record.extra),
        "superseded_by": [_format_key(shelf.records[n]) for n in shelf.superseded_by.get(place, ())],
        "cited_by": [_format_key(shelf.records[n]) for n in shelf.cited_by.get(place, ())],
        "updated": versions[0].time if versions else "",
        "authors": [*dict.fromkeys(version.author for version in reversed(versions))],
        "file": record.path,
        "url": url(shelf.uris[place]),
        "permalink": f"r/{sanitise_path_part(record.uid)}/" if record.uid else "",
        "short": render_short_form(record, wiki.config.language),
    }


def _format_key(record: Record) -> str:
    return f"{record.scope.removeprefix('project/')}:{record.id}"


def list_feeds(wiki: Wiki) -> dict[str, str]:
    """Return each feed's file with its scope; "" is the feed of all."""
    return {FEED: "", **{f"feeds/{listed.stem.rpartition('/')[2]}.xml": scope for scope, listed in wiki.scopes.items()}}


def render_feed(wiki: Wiki, scope: str, name: str, address: Callable[[str], str]) -> str:
    """Return the Atom feed *name* of the decisions in force in *scope* ("": in all), the latest first.

    *address* answers a page, or a file of the wiki, with what a feed reader can open: absolute where the site says
    where it is published, else relative to the feed.
    """
    title = f"{wiki.config.name} · {label_scope(wiki, scope) if scope else wiki.translate_message(msg('decisions'))}"
    found = [place for place in _list_decisions(wiki) if scope in ("", wiki.library.records[place].scope)][:ENTRIES]
    entries = "".join(_render_entry(wiki, place, address) for place in found)
    updated = _format_update_time(wiki, found[0]) if found else _NEVER
    own = address(name)
    identity = own if "://" in own else f"urn:kb:{sanitise_path_part(wiki.config.name)}:{name}"
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_escape_text(title)}</title>\n<id>{_escape_text(identity)}</id>\n"
        f'<updated>{updated}</updated>\n<link rel="self" href={quoteattr(own)}/>\n{entries}</feed>\n'
    )


def _list_decisions(wiki: Wiki) -> list[int]:
    records = wiki.library.records
    accepted = (n for n, one in enumerate(records) if one.kind == "decision" and one.status == Status.ACCEPTED)
    return sorted(accepted, key=lambda n: (_format_update_time(wiki, n), records[n].id), reverse=True)


def _format_update_time(wiki: Wiki, place: int) -> str:
    """Return when the record at *place* last changed, in a form that Atom takes and that sorts."""
    record = wiki.library.records[place]
    versions = wiki.list_versions(record)
    try:
        moment = datetime.datetime.fromisoformat(versions[0].time if versions else record.date)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return _NEVER


def _render_entry(wiki: Wiki, place: int, address: Callable[[str], str]) -> str:
    record = wiki.library.records[place]
    versions = wiki.list_versions(record)
    author = versions[-1].author if versions else wiki.config.name
    key = record.uid or f"{record.scope}:{record.id}"
    return (
        f"<entry>\n<title>{_escape_text(f'[{record.id}] {record.title}')}</title>\n"
        f"<id>urn:kb:{_escape_text(key)}</id>\n<updated>{_format_update_time(wiki, place)}</updated>\n"
        f"<author><name>{_escape_text(author)}</name></author>\n"
        f"<link href={quoteattr(address(wiki.library.uris[place]))}/>\n"
        f"{''.join(f'<category term={quoteattr(one_line(tag).translate(_NO_XML))}/>' for tag in record.tags)}"
        f"<summary>{escape(render_short_form(record, wiki.config.language).translate(_NO_XML))}</summary>\n</entry>\n"
    )


def _escape_text(text: str) -> str:
    return escape(one_line(text).translate(_NO_XML))


ROWS = 1_000
"""Records in one piece of the lists."""
CARDS = 100
"""Cards in one piece, about."""
SAID = 240
"""Characters of a decision that a card shows."""


def list_chunk_files(wiki: Wiki) -> set[str]:
    """Return every file that `iter_chunks` makes, relative to the wiki's top."""
    rows, cards = _count_pieces(wiki, ROWS), _count_pieces(wiki, CARDS)
    return {START, *(f"data/rows-{n}.js" for n in range(rows)), *(f"data/cards-{n}.js" for n in range(cards))}


def iter_chunks(stamps: PageFingerprints, url: Callable[[str], str]) -> Iterator[SiteFile]:
    """Yield every piece; *url* answers a page with its address, relative to the wiki's top."""
    wiki = stamps.wiki
    yield SiteFile(START, "", lambda: _render_script("lists", _build_start(wiki)))
    places = range(len(wiki.library.records))
    for number in range(_count_pieces(wiki, ROWS)):
        here = places[number * ROWS : (number + 1) * ROWS]
        make = partial(_render_rows, wiki, f"rows-{number}", here, url)
        yield SiteFile(f"data/rows-{number}.js", hash_parts([stamps.record_hashes[place] for place in here]), make)
    pieces: list[dict[str, int]] = [{} for _ in range(_count_pieces(wiki, CARDS))]
    for place in places:
        name = unquote(url(wiki.library.uris[place]))
        pieces[hash_to_piece(name, len(pieces))][name] = place
    for number, cards in enumerate(pieces):
        make = partial(_render_cards, wiki, f"cards-{number}", cards)
        yield SiteFile(
            f"data/cards-{number}.js", hash_parts([stamps.page_hashes[place] for place in cards.values()]), make
        )


def _render_rows(wiki: Wiki, name: str, places: Iterable[int], url: Callable[[str], str]) -> str:
    return _render_script(name, [_build_list_row(wiki, place, url) for place in places])


def _render_cards(wiki: Wiki, name: str, places: Mapping[str, int]) -> str:
    return _render_script(name, {uri: _build_card(wiki, place) for uri, place in places.items()})


def hash_to_piece(name: str, pieces: int) -> int:
    """Return which of *pieces* has the card of the page *name*: kb.js counts in the same way."""
    number = 0
    for sign in name:
        number = (number * 31 + ord(sign)) % 65_521
    return number % pieces


def _count_pieces(wiki: Wiki, size: int) -> int:
    return max(1, -(-len(wiki.library.records) // size))


def _render_script(name: str, value: object) -> str:
    return f"kbData({json.dumps(name)},{json.dumps(value, ensure_ascii=False, separators=(',', ':'))});\n"


def _build_start(wiki: Wiki) -> dict[str, Any]:
    language = wiki.config.language
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
    return {
        "records": len(wiki.library.records),
        "rows": _count_pieces(wiki, ROWS),
        "cards": _count_pieces(wiki, CARDS),
        "kind": {kind: kind_label(kind, language) for kind in wiki.kinds},
        "scope": {scope: label_scope(wiki, scope) for scope in wiki.scopes},
        "status": {
            status: f"{get_status_sign(status)} {label_status(wiki, status)}"
            for status in (*STATUSES, *sorted({record.status for record in wiki.library.records} - {*STATUSES}))
        },
        "tag": [*wiki.tags.uris],
        "month": [month for month in wiki.months.uris if month[:1].isdigit()],
        "words": {name: wiki.translate_message(said) for name, said in words.items()},
    }


def _build_list_row(wiki: Wiki, place: int, url: Callable[[str], str]) -> list[Any]:
    record = wiki.library.records[place]
    return [*_list_common_fields(record), url(wiki.library.uris[place]), list(record.tags), list(record.impact)]


def _build_card(wiki: Wiki, place: int) -> list[Any]:
    record, shelf = wiki.library.records[place], wiki.library
    after = () if record.status in LIVE else shelf.superseded_by.get(place, ())
    newer = ", ".join(format_title(shelf.records[n]) for n in after)
    over = f"{wiki.translate_message(msg('No longer in force. Read instead:'))} {newer}" if newer else ""
    return [*_list_common_fields(record), first_sentence(record.section("decision"), SAID), over]


def _list_common_fields(record: Record) -> list[str]:
    return [
        one_line(record.id),
        one_line(record.title),
        record.kind,
        record.scope,
        record.status,
        one_line(record.date[:10]),
    ]
