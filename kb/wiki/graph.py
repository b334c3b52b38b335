"""The map of all records: how they replace, amend and cite each other, and which speak of the same files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL
from kb.text.segment import one_line
from kb.wiki.html import Html, element, to
from kb.wiki.labels import mark, scope_label, status_word
from kb.wiki.library import project_of
from kb.wiki.markup import plain, reference
from kb.wiki.wiki_model import Page, Wiki

GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
SHARED = 8
"""A path of more records than this joins none of them: it would join everything."""
Edge = tuple[int, int, str]
RELATIONS = ("supersedes", "amends", "cites", "path")


def graph_page(wiki: Wiki) -> Page:
    """Return the page with the map; its script draws what the file DATA holds."""
    title = wiki.word(msg("Map"))
    said = msg("A point is a record, hollow where out of force. Drag to move, turn the wheel to zoom, click to read.")
    box = element(
        "div",
        element("a", wiki.word(msg("The data of this map")), href=to(DATA), class_="kb-graph-data"),
        class_="kb-graph",
        id="time",
    )
    return Page(GRAPH, (f"# {title}", plain(wiki.word(said)), box, _counts(wiki)), listing=True, name=title)


def _counts(wiki: Wiki) -> Html:
    """Return how many relations of each sort there are, for those who cannot see the map."""
    found = [name for _, _, name in edges(wiki)]
    rows = (element("li", f"{_relations(wiki)[name]}: {found.count(name)}") for name in RELATIONS)
    return element("ul", *rows)


def _relations(wiki: Wiki) -> dict[str, str]:
    words = (msg("supersedes"), msg("amends"), msg("cites"), msg("speaks of the same file"))
    return {name: wiki.word(said) for name, said in zip(RELATIONS, words, strict=True)}


def edges(wiki: Wiki) -> Iterator[Edge]:
    """Yield each relation of two records: from, to, and what it is."""
    shelf = wiki.library
    for place, record in enumerate(shelf.records):
        yield from ((place, old, "supersedes") for old in shelf.superseded(place))
        amended = (shelf.find(reference(words), record.scope) for words in record.amends)
        yield from ((place, old, "amends") for old in amended if old is not None and old != place)
        yield from ((citing, place, "cites") for citing in shelf.cited_by.get(place, ()))
    yield from _of_one_file(wiki)


def _of_one_file(wiki: Wiki) -> Iterator[Edge]:
    having: dict[tuple[str, str], list[int]] = {}
    for place, record in enumerate(wiki.library.records):
        for path in dict.fromkeys(record.impact):
            having.setdefault((record.scope, path), []).append(place)
    pairs = ((one, other) for places in having.values() if len(places) <= SHARED for one, other in pairwise(places))
    yield from ((one, other, "path") for one, other in dict.fromkeys(pairs))


def graph_data(wiki: Wiki, url: Callable[[str], str]) -> str:
    """Return nodes and edges as a script, which pages opened from the disk can load; *url* is relative to it."""
    language = wiki.config.language
    nodes = [
        [
            one_line(record.id),
            one_line(record.title),
            record.kind,
            project_of(record.scope) if record.scope != GLOBAL else scope_label(wiki, GLOBAL),
            record.status,
            f"{mark(record.status)} {status_word(wiki, record.status)}",
            record.date[:10],
            url(wiki.library.uris[place]),
        ]
        for place, record in enumerate(wiki.library.records)
    ]
    words = {
        "kinds": {kind: kind_label(kind, language) for kind in wiki.kinds},
        "relations": _relations(wiki),
        "all": wiki.word(msg("all scopes")),
        "map": wiki.word(msg("Map")),
        "time": wiki.word(msg("Timeline")),
        "find": wiki.word(msg("find in the map")),
        "alone": wiki.word(msg("records without relations")),
    }
    told = {"words": words, "nodes": nodes, "edges": list(edges(wiki))}
    return f"window.kbGraph={json.dumps(told, ensure_ascii=False, separators=(',', ':'))};\n"
