"""The latest decisions along a line, each joined by an arc to what it replaced: a drawing that needs no script."""

from __future__ import annotations

from collections.abc import Iterator

from kb.i18n import msg
from kb.records.model import LIVE
from kb.wiki.graph import ALONG_TIME
from kb.wiki.html import Html, build_href, element, join_html
from kb.wiki.labels import STATUSES, format_title, get_status_sign, label_status
from kb.wiki.wiki_model import Wiki

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
