"""What the script of the pages reads of all records: a card for each link, and rows for the lists, piece by piece.

The pieces are scripts that call `kbData(name, value)`, which pages opened from the disk can load as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import LIVE, Record
from kb.text.segment import first_sentence, one_line
from kb.wiki.labels import STATUSES, format_title, get_status_sign, label_scope, label_status
from kb.wiki.page_fingerprints import PageFingerprints, hash_parts
from kb.wiki.wiki_model import SiteFile, Wiki

START = "data/lists.js"
"""What the other pieces are called, and what the fields above a list offer."""
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
