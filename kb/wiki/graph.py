"""The map of all records: how they replace, amend and cite each other, and which speak of the same files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL
from kb.text.segment import one_line
from kb.wiki.html import Html, build_href, element
from kb.wiki.labels import get_status_sign, label_scope, label_status
from kb.wiki.library import parse_project
from kb.wiki.markup import escape_markdown, parse_reference
from kb.wiki.wiki_model import Wiki, WikiPage

GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
SHARED = 8
"""A path of more records than this joins none of them: it would join everything."""
Edge = tuple[int, int, str]
RELATIONS = ("supersedes", "amends", "cites", "path")


def build_graph_page(wiki: Wiki) -> WikiPage:
    """Return the page with the map; its script draws what the file DATA holds."""
    title = wiki.translate_message(msg("Map"))
    said = msg("A point is a record, hollow where out of force. Drag to move, turn the wheel to zoom, click to read.")
    box = element(
        "div",
        element(
            "a", wiki.translate_message(msg("The data of this map")), href=build_href(DATA), class_="kb-graph-data"
        ),
        class_="kb-graph",
        id="time",
    )
    return WikiPage(
        GRAPH,
        (f"# {title}", escape_markdown(wiki.translate_message(said)), box, _render_counts(wiki)),
        listing=True,
        name=title,
    )


def _render_counts(wiki: Wiki) -> Html:
    """Return how many relations of each sort there are, for those who cannot see the map."""
    found = [name for _, _, name in iter_edges(wiki)]
    rows = (element("li", f"{_translate_relations(wiki)[name]}: {found.count(name)}") for name in RELATIONS)
    return element("ul", *rows)


def _translate_relations(wiki: Wiki) -> dict[str, str]:
    words = (msg("supersedes"), msg("amends"), msg("cites"), msg("speaks of the same file"))
    return {name: wiki.translate_message(said) for name, said in zip(RELATIONS, words, strict=True)}


def iter_edges(wiki: Wiki) -> Iterator[Edge]:
    """Yield each relation of two records: from, to, and what it is."""
    shelf = wiki.library
    for place, record in enumerate(shelf.records):
        yield from ((place, old, "supersedes") for old in shelf.list_superseded(place))
        amended = (shelf.find(parse_reference(words), record.scope) for words in record.amends)
        yield from ((place, old, "amends") for old in amended if old is not None and old != place)
        yield from ((citing, place, "cites") for citing in shelf.cited_by.get(place, ()))
    yield from _iter_path_edges(wiki)


def _iter_path_edges(wiki: Wiki) -> Iterator[Edge]:
    having: dict[tuple[str, str], list[int]] = {}
    for place, record in enumerate(wiki.library.records):
        for path in dict.fromkeys(record.impact):
            having.setdefault((record.scope, path), []).append(place)
    pairs = ((one, other) for places in having.values() if len(places) <= SHARED for one, other in pairwise(places))
    yield from ((one, other, "path") for one, other in dict.fromkeys(pairs))


def render_graph_data(wiki: Wiki, url: Callable[[str], str]) -> str:
    """Return nodes and edges as a script, which pages opened from the disk can load; *url* is relative to it."""
    language = wiki.config.language
    nodes = [
        [
            one_line(record.id),
            one_line(record.title),
            record.kind,
            parse_project(record.scope) if record.scope != GLOBAL else label_scope(wiki, GLOBAL),
            record.status,
            f"{get_status_sign(record.status)} {label_status(wiki, record.status)}",
            record.date[:10],
            url(wiki.library.uris[place]),
        ]
        for place, record in enumerate(wiki.library.records)
    ]
    words = {
        "kinds": {kind: kind_label(kind, language) for kind in wiki.kinds},
        "relations": _translate_relations(wiki),
        "all": wiki.translate_message(msg("all scopes")),
        "map": wiki.translate_message(msg("Map")),
        "time": wiki.translate_message(msg("Timeline")),
        "find": wiki.translate_message(msg("find in the map")),
        "alone": wiki.translate_message(msg("records without relations")),
    }
    told = {"words": words, "nodes": nodes, "edges": list(iter_edges(wiki))}
    return f"window.kbGraph={json.dumps(told, ensure_ascii=False, separators=(',', ':'))};\n"
