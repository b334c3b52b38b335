"""How records relate: the map of all of them, and the latest decisions drawn along a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.i18n import msg
from kb.records.kinds import kind_label
from kb.records.model import LIVE
from kb.text.segment import one_line
from kb.wiki.page_parts import format_title, get_status_class, label_scope, label_status_with_sign, render_message
from kb.wiki.render import Html, element, join_html, link_to
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page

GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
SHARED = 8
"""A path of more records than this joins none of them: it would join everything."""
Edge = tuple[int, int, str]
"""The positions of two records, and the relation of the first to the second."""


# -- the map --------------------------------------------------------------------------------------


def build_graph_page(wiki: Wiki) -> WikiPage:
    """Return the page with the map; its script draws what the file DATA holds."""
    intro = msg(
        "Each point is a record, hollow if it is no longer accepted. Drag to move, scroll to zoom, click to read."
    )
    data = link_to(DATA, wiki.translate(msg("The data of this map")), class_="kb-graph-data")
    # Who cannot see the map reads how many relations of each sort there are.
    found = [name for _, _, name in iter_edges(wiki)]
    counts = (element("li", f"{label}: {found.count(name)}") for name, label in _label_relations(wiki).items())
    box = element("div", data, class_="kb-graph", id="time")
    parts = (render_message(wiki, intro), box, element("ul", *counts))
    return build_list_page(GRAPH, wiki.translate(msg("Map")), *parts)


def _label_relations(wiki: Wiki) -> dict[str, str]:
    labels = {
        "supersedes": msg("supersedes"),
        "amends": msg("amends"),
        "cites": msg("cites"),
        "path": msg("refers to the same file"),
    }
    return {name: wiki.translate(label) for name, label in labels.items()}


def iter_edges(wiki: Wiki) -> Iterator[Edge]:
    """Yield each relation of two records: from, to, and what it is."""
    library = wiki.library
    by_path: dict[tuple[str, str], list[int]] = {}
    for position, record in enumerate(library.records):
        yield from ((position, old, "supersedes") for old in library.list_superseded(position))
        yield from ((position, old, "amends") for old in library.list_amended(position))
        yield from ((citing, position, "cites") for citing in library.cited_by.get(position, ()))
        for path in dict.fromkeys(record.impact):
            by_path.setdefault((record.scope, path), []).append(position)
    pairs = (pair for positions in by_path.values() if len(positions) <= SHARED for pair in pairwise(positions))
    yield from ((one, other, "path") for one, other in dict.fromkeys(pairs))


def render_graph_data(wiki: Wiki, url: Callable[[str], str]) -> str:
    """Return nodes and edges as a script, which pages opened from the disk can load; *url* is relative to it."""
    nodes = [
        [
            one_line(record.id),
            one_line(record.title),
            record.kind,
            label_scope(wiki, record.scope),
            record.status,
            label_status_with_sign(wiki, record.status),
            record.date[:10],
            url(wiki.library.uris[position]),
        ]
        for position, record in enumerate(wiki.library.records)
    ]
    words = {
        "kinds": {kind: kind_label(kind, wiki.config.language) for kind in wiki.kinds},
        "relations": _label_relations(wiki),
        "all": wiki.translate(msg("all scopes")),
        "map": wiki.translate(msg("Map")),
        "time": wiki.translate(msg("Timeline")),
        "find": wiki.translate(msg("find in the map")),
        "alone": wiki.translate(msg("records without relations")),
    }
    data = {"words": words, "nodes": nodes, "edges": list(iter_edges(wiki))}
    return f"window.kbGraph={json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"


# -- the chart: each decision joined by an arc to what it replaced; it needs no script ------------

MOST_IN_CHART = 36
"""Decisions on the line, at most: those that replaced another one or were replaced, then the newest."""
STEP, HEIGHT, LINE = 26, 190, 140
"""Units from one point to the next; height of the drawing; where the line runs."""


def render_chart(wiki: Wiki) -> Html:
    """Return the drawing; "" without a decision that has a date."""
    chosen = _select_decisions(wiki)
    if not chosen:
        return Html("")
    at = {position: STEP * (n + 1) for n, position in enumerate(chosen)}
    width = STEP * (len(chosen) + 1)
    line = element("line", x1="0", x2=str(width), y1=str(LINE), y2=str(LINE), class_="kb-line")
    points = (_render_point(wiki, position, x) for position, x in at.items())
    label = wiki.translate(msg("The latest decisions, each joined to the one it replaced"))
    attributes = {"viewBox": f"0 0 {width} {HEIGHT}", "role": "group", "aria_label": label}
    drawing = element("svg", line, *_render_arcs(wiki, at), *_render_months(wiki, at), *points, **attributes)
    shown = element("div", drawing, class_="kb-arcs", tabindex="0", role="region", aria_label=label)
    return join_html(shown, element("p", link_to(ALONG_TIME, wiki.translate(msg("All of them, along the time")))))


def _select_decisions(wiki: Wiki) -> list[int]:
    """Return the decisions to show, oldest first."""
    library = wiki.library
    dated = [n for n, record in enumerate(library.records) if record.kind == "decision" and record.date[:4].isdigit()]
    dated.sort(key=lambda n: library.records[n].date, reverse=True)
    linked = [n for n in dated if library.superseded_by.get(n) or library.list_superseded(n)]
    chosen = [*dict.fromkeys([*linked, *dated])][:MOST_IN_CHART]
    return sorted(chosen, key=lambda n: (library.records[n].date, library.records[n].id))


def _render_arcs(wiki: Wiki, at: dict[int, int]) -> Iterator[Html]:
    for position, x in at.items():
        for old in wiki.library.list_superseded(position):
            if old in at:
                high = max(10, LINE - 14 - abs(x - at[old]) // 3)
                yield element("path", d=f"M{at[old]} {LINE} C{at[old]} {high} {x} {high} {x} {LINE}", class_="kb-bow")


def _render_months(wiki: Wiki, at: dict[int, int]) -> Iterator[Html]:
    """Yield each month's name once, where it begins, unless the last one is too near."""
    last, free = "", 0
    for position, x in at.items():
        month = wiki.library.records[position].date[:7]
        if month != last and x >= free:
            yield element("text", month, x=str(x - 6), y=str(HEIGHT - 8), class_="kb-month")
            free = x + 3 * STEP
        last = month


def _render_point(wiki: Wiki, position: int, x: int) -> Html:
    record = wiki.library.records[position]
    label = f"{label_status_with_sign(wiki, record.status)} · {format_title(record)} · {record.date[:10]}"
    classes = f"kb-{get_status_class(record.status)} {'kb-live' if record.status in LIVE else 'kb-gone'}"
    dot = element("circle", cx=str(x), cy=str(LINE), r="6", class_=classes)
    number = element("text", record.id, x=str(x), y=str(LINE + 22), class_="kb-id", text_anchor="middle")
    # The room around a point can be hit with a finger.
    room = element("rect", x=str(x - STEP // 2), y=str(LINE - 12), width=str(STEP), height="40", class_="kb-room")
    return link_to(wiki.library.uris[position], element("title", label), room, dot, number, aria_label=label)
