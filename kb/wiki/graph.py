"""How records relate: the map of all of them, and the latest decisions drawn along a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import GLOBAL, LIVE
from kb.text.segment import one_line
from kb.wiki.library import parse_project
from kb.wiki.markup import escape_markdown, parse_reference
from kb.wiki.page_parts import STATUSES, format_title, get_status_sign, label_scope, label_status
from kb.wiki.render import Html, build_href, element, join_html
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


SHOWN = 36
"""Decisions on the line, at most: those that replaced another one or were replaced, then the newest."""
STEP, HEIGHT, LINE = 26, 190, 140
"""Units from one point to the next; height of the drawing; where the line runs."""


def render_chart(wiki: Wiki) -> Html:
    """Return the drawing; "" without a decision that has a date."""
    places = _select_decisions(wiki)
    if not places:
        return Html("")
    at = {place: STEP * (n + 1) for n, place in enumerate(places)}
    width = STEP * (len(places) + 1)
    drawn = [
        element("line", x1="0", x2=str(width), y1=str(LINE), y2=str(LINE), class_="kb-line"),
        *_render_arcs(wiki, at),
        *_render_months(wiki, at),
        *(_render_point(wiki, place, x) for place, x in at.items()),
    ]
    label = wiki.translate_message(msg("The latest decisions, each joined to the one it replaced"))
    drawing = element("svg", *drawn, viewBox=f"0 0 {width} {HEIGHT}", role="group", aria_label=label)
    shown = element("div", drawing, class_="kb-arcs", tabindex="0", role="region", aria_label=label)
    return join_html(
        shown,
        element(
            "p", element("a", wiki.translate_message(msg("All of them, along the time")), href=build_href(ALONG_TIME))
        ),
    )


def _select_decisions(wiki: Wiki) -> list[int]:
    """Return the decisions to show, oldest first."""
    shelf = wiki.library
    dated = [n for n, record in enumerate(shelf.records) if record.kind == "decision" and record.date[:4].isdigit()]
    dated.sort(key=lambda n: shelf.records[n].date, reverse=True)
    linked = [n for n in dated if shelf.superseded_by.get(n) or shelf.list_superseded(n)]
    chosen = [*dict.fromkeys([*linked, *dated])][:SHOWN]
    return sorted(chosen, key=lambda n: (shelf.records[n].date, shelf.records[n].id))


def _render_arcs(wiki: Wiki, at: dict[int, int]) -> Iterator[Html]:
    for place, x in at.items():
        for old in wiki.library.list_superseded(place):
            if old in at:
                high = max(10, LINE - 14 - abs(x - at[old]) // 3)
                yield element("path", d=f"M{at[old]} {LINE} C{at[old]} {high} {x} {high} {x} {LINE}", class_="kb-bow")


def _render_months(wiki: Wiki, at: dict[int, int]) -> Iterator[Html]:
    """Yield each month's name once, where it begins, unless the last one is too near."""
    last, free = "", 0
    for place, x in at.items():
        month = wiki.library.records[place].date[:7]
        if month != last and x >= free:
            yield element("text", month, x=str(x - 6), y=str(HEIGHT - 8), class_="kb-month")
            free = x + 3 * STEP
        last = month


def _render_point(wiki: Wiki, place: int, x: int) -> Html:
    record = wiki.library.records[place]
    status = f"{get_status_sign(record.status)} {label_status(wiki, record.status)}"
    said = f"{status} · {format_title(record)} · {record.date[:10]}"
    name = record.status if record.status in STATUSES else "unknown"
    live = "kb-live" if record.status in LIVE else "kb-gone"
    dot = element("circle", cx=str(x), cy=str(LINE), r="6", class_=f"kb-{name} {live}")
    number = element("text", record.id, x=str(x), y=str(LINE + 22), class_="kb-id", text_anchor="middle")
    room = element("rect", x=str(x - STEP // 2), y=str(LINE - 12), width=str(STEP), height="40", class_="kb-room")
    return element(
        "a", element("title", said), room, dot, number, href=build_href(wiki.library.uris[place]), aria_label=said
    )
