"""How records relate: the map of all of them, and the latest decisions drawn along a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from kb.i18n import msg
from kb.text.segment import one_line
from kb.wiki.render import Html, encode_json
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page

GRAPH, DATA = "graph.md", "graph-data.js"
ALONG_TIME = f"{GRAPH}#time"
"""The map with its records along the time: the script knows it by the anchor."""
SHARED = 8
"""A path of more records than this joins none of them: it would join everything."""
RELATIONS = {
    "supersedes": msg("supersedes"),
    "amends": msg("amends"),
    "cites": msg("cites"),
    "path": msg("refers to the same file"),
}
Edge = tuple[int, int, str]
"""The positions of two records, and the relation of the first to the second, one of RELATIONS."""


# -- the map --------------------------------------------------------------------------------------


def build_graph_page(wiki: Wiki) -> WikiPage:
    """Return the page with the map; its script draws what the file DATA holds."""
    intro = msg(
        "Each point is a record, hollow if it is no longer accepted. Drag to move, scroll to zoom, click to read."
    )
    found = Counter(name for _, _, name in iter_edges(wiki))
    counts = [(label, found[name]) for name, label in RELATIONS.items()]
    parts = (wiki.format_message(intro), wiki.render("lists.map", DATA), wiki.render("lists.relations", counts))
    return build_list_page(GRAPH, wiki.translate(msg("Map")), *parts)


def iter_edges(wiki: Wiki) -> Iterator[Edge]:
    """Yield each relation of two records: from, to, and what it is."""
    library = wiki.library
    by_path: dict[tuple[str, str], list[int]] = {}
    for position, record in enumerate(library.records):
        yield from ((position, old, "supersedes") for old in library.list_targets(position, "supersedes"))
        yield from ((position, old, "amends") for old in library.list_targets(position, "amends"))
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
            wiki.label_scope(record.scope),
            record.status,
            wiki.label_status_with_sign(record.status),
            record.date[:10],
            url(wiki.library.uris[position]),
        ]
        for position, record in enumerate(wiki.library.records)
    ]
    words = {
        "kinds": {kind: wiki.label_kind(kind) for kind in wiki.kinds},
        "relations": {name: wiki.translate(label) for name, label in RELATIONS.items()},
        "all": wiki.translate(msg("all scopes")),
        "map": wiki.translate(msg("Map")),
        "time": wiki.translate(msg("Timeline")),
        "find": wiki.translate(msg("find in the map")),
        "alone": wiki.translate(msg("records without relations")),
    }
    data = {"words": words, "nodes": nodes, "edges": list(iter_edges(wiki))}
    return f"window.kbGraph={encode_json(data)};\n"


# -- the chart: each decision joined by an arc to what it replaced; it needs no script ------------

MOST_IN_CHART = 36
"""Decisions on the line, at most: those that replaced another one or were replaced, then the newest."""
STEP, HEIGHT, LINE = 26, 190, 140
"""Units from one point to the next; height of the drawing; where the line runs."""


def render_chart(wiki: Wiki) -> Html:
    """Return the drawing; "" without a decision that has a date."""
    library, records = wiki.library, wiki.library.records
    dated = [n for n, record in enumerate(records) if record.kind == "decision" and record.date[:4].isdigit()]
    dated.sort(key=lambda n: records[n].date, reverse=True)
    linked = [n for n in dated if library.superseded_by.get(n) or library.list_targets(n, "supersedes")]
    chosen = [*dict.fromkeys([*linked, *dated])][:MOST_IN_CHART]
    chosen.sort(key=lambda n: (records[n].date, records[n].id))
    at = {position: STEP * (n + 1) for n, position in enumerate(chosen)}
    arcs, months = [], []
    last, free = "", 0
    for position, x in at.items():
        for begin in (at[old] for old in library.list_targets(position, "supersedes") if old in at):
            high = max(10, LINE - 14 - abs(x - begin) // 3)
            arcs.append(f"M{begin} {LINE} C{begin} {high} {x} {high} {x} {LINE}")
        # Each month is named once, where it begins, unless the last name is too near.
        month = records[position].date[:7]
        if month != last and x >= free:
            months.append((x - 6, month))
            free = x + 3 * STEP
        last = month
    width = STEP * (len(chosen) + 1)
    return wiki.render("lists.chart", at, arcs, months, width, HEIGHT, LINE, STEP, ALONG_TIME)
