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
from kb.wiki.labels import STATUSES, mark, scope_label, status_word, title_of
from kb.wiki.page_fingerprints import Stamps, stamp
from kb.wiki.wiki_model import Made, Wiki

START = "data/lists.js"
"""What the other pieces are called, and what the fields above a list offer."""
ROWS = 1_000
"""Records in one piece of the lists."""
CARDS = 100
"""Cards in one piece, about."""
SAID = 240
"""Characters of a decision that a card shows."""


def chunk_names(wiki: Wiki) -> set[str]:
    """Return every file that `chunks` makes, relative to the wiki's top."""
    rows, cards = _pieces(wiki, ROWS), _pieces(wiki, CARDS)
    return {START, *(f"data/rows-{n}.js" for n in range(rows)), *(f"data/cards-{n}.js" for n in range(cards))}


def chunks(stamps: Stamps, url: Callable[[str], str]) -> Iterator[Made]:
    """Yield every piece; *url* answers a page with its address, relative to the wiki's top."""
    wiki = stamps.wiki
    yield Made(START, "", lambda: _script("lists", _start(wiki)))
    places = range(len(wiki.library.records))
    for number in range(_pieces(wiki, ROWS)):
        here = places[number * ROWS : (number + 1) * ROWS]
        make = partial(_rows, wiki, f"rows-{number}", here, url)
        yield Made(f"data/rows-{number}.js", stamp([stamps.own[place] for place in here]), make)
    pieces: list[dict[str, int]] = [{} for _ in range(_pieces(wiki, CARDS))]
    for place in places:
        name = unquote(url(wiki.library.uris[place]))
        pieces[piece_of(name, len(pieces))][name] = place
    for number, cards in enumerate(pieces):
        make = partial(_cards, wiki, f"cards-{number}", cards)
        yield Made(f"data/cards-{number}.js", stamp([stamps.pages[place] for place in cards.values()]), make)


def _rows(wiki: Wiki, name: str, places: Iterable[int], url: Callable[[str], str]) -> str:
    return _script(name, [_row(wiki, place, url) for place in places])


def _cards(wiki: Wiki, name: str, places: Mapping[str, int]) -> str:
    return _script(name, {uri: _card(wiki, place) for uri, place in places.items()})


def piece_of(name: str, pieces: int) -> int:
    """Return which of *pieces* has the card of the page *name*: kb.js counts in the same way."""
    number = 0
    for sign in name:
        number = (number * 31 + ord(sign)) % 65_521
    return number % pieces


def _pieces(wiki: Wiki, size: int) -> int:
    return max(1, -(-len(wiki.library.records) // size))


def _script(name: str, value: object) -> str:
    return f"kbData({json.dumps(name)},{json.dumps(value, ensure_ascii=False, separators=(',', ':'))});\n"


def _start(wiki: Wiki) -> dict[str, Any]:
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
        "rows": _pieces(wiki, ROWS),
        "cards": _pieces(wiki, CARDS),
        "kind": {kind: kind_label(kind, language) for kind in wiki.kinds},
        "scope": {scope: scope_label(wiki, scope) for scope in wiki.scopes},
        "status": {
            status: f"{mark(status)} {status_word(wiki, status)}"
            for status in (*STATUSES, *sorted({record.status for record in wiki.library.records} - {*STATUSES}))
        },
        "tag": [*wiki.tags.uris],
        "month": [month for month in wiki.months.uris if month[:1].isdigit()],
        "words": {name: wiki.word(said) for name, said in words.items()},
    }


def _row(wiki: Wiki, place: int, url: Callable[[str], str]) -> list[Any]:
    record = wiki.library.records[place]
    return [*_common(record), url(wiki.library.uris[place]), list(record.tags), list(record.impact)]


def _card(wiki: Wiki, place: int) -> list[Any]:
    record, shelf = wiki.library.records[place], wiki.library
    after = () if record.status in LIVE else shelf.superseded_by.get(place, ())
    newer = ", ".join(title_of(shelf.records[n]) for n in after)
    over = f"{wiki.word(msg('No longer in force. Read instead:'))} {newer}" if newer else ""
    return [*_common(record), first_sentence(record.section("decision"), SAID), over]


def _common(record: Record) -> list[str]:
    return [
        one_line(record.id),
        one_line(record.title),
        record.kind,
        record.scope,
        record.status,
        one_line(record.date[:10]),
    ]
