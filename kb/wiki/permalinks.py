"""Addresses that stay: by uid, by id, and by the ids that records had before they were renumbered."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

from kb.i18n import msg
from kb.records.model import aliases_of
from kb.wiki.html import Html, element
from kb.wiki.labels import mark, scope_label, status_word, title_of
from kb.wiki.library import folder_of, segment
from kb.wiki.wiki_model import Wiki


def permalinks(wiki: Wiki) -> dict[str, tuple[int, ...]]:
    """Return each lasting address, a page relative to the wiki's top, with the records it may mean.

    `r/<uid>/` means one record. `<ID>/` means every record that has the id in its scope, or had it; and the page a
    record had under a former id leads on, where no other record has it now.
    """
    found: dict[str, list[int]] = {}
    for place, record in enumerate(wiki.library.records):
        if record.uid:
            found.setdefault(f"r/{segment(record.uid)}/index.html", []).append(place)
        for name in dict.fromkeys([record.id, *aliases_of(record.extra)]):
            found.setdefault(f"{segment(name)}/index.html", []).append(place)
    taken = set(wiki.library.uris.values())
    for (scope, alias), place in wiki.library.by_alias.items():
        stem = f"{folder_of(scope)}/{segment(alias)}"
        if f"{stem}.md" not in taken:
            found[f"{stem}/index.html"] = found[f"{stem}.html"] = [place]
    return {address: tuple(places) for address, places in found.items()}


def forwarding(wiki: Wiki, address: str, places: Sequence[int], target: Callable[[int], str]) -> str:
    """Return a page that leads from *address* to the one of *places*, or lets the visitor choose; it needs no script.

    *target* answers the place of a record with its address, relative to this page.
    """
    rows = (_choice(wiki, place, target(place)) for place in places)
    refresh = f'<meta http-equiv="refresh" content="0; url={Html(target(places[0]))}">' if len(places) == 1 else ""
    title = element("title", posixpath.basename(posixpath.dirname(address)))
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">{refresh}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        '<link rel="icon" href="data:,">'
        f"{title}</head><body>{element('p', wiki.word(msg('This leads to:')))}{element('ul', *rows)}</body></html>\n"
    )


def _choice(wiki: Wiki, place: int, address: str) -> Html:
    record = wiki.library.records[place]
    words = f"{mark(record.status)} {title_of(record)} · {scope_label(wiki, record.scope)}"
    return element("li", element("a", words, href=address), f" ({status_word(wiki, record.status)})")
