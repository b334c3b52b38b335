"""What other programs read: all records as JSON, and what was decided as Atom feeds. docs/wiki.md describes both."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from kb.i18n import msg
from kb.records.model import Record, Status, list_aliases
from kb.records.short_form import render_short_form
from kb.text.segment import one_line
from kb.wiki.labels import label_scope
from kb.wiki.library import sanitise_path_part
from kb.wiki.wiki_model import Wiki

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
