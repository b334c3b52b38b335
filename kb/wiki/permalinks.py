"""Addresses that stay: by uid, by id, and by the ids that records had before they were renumbered."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

from kb.i18n import msg
from kb.records.model import list_aliases
from kb.wiki.html import Html, element
from kb.wiki.labels import format_title, get_status_sign, label_scope, label_status
from kb.wiki.library import get_scope_folder, sanitise_path_part
from kb.wiki.wiki_model import Wiki


def map_permalinks(wiki: Wiki) -> dict[str, tuple[int, ...]]:
    """Return each lasting address, a page relative to the wiki's top, with the records it may mean.

    `r/<uid>/` means one record. `<ID>/` means every record that has the id in its scope, or had it; and the page a
    record had under a former id leads on, where no other record has it now.
    """
    found: dict[str, list[int]] = {}
    for place, record in enumerate(wiki.library.records):
        if record.uid:
            found.setdefault(f"r/{sanitise_path_part(record.uid)}/index.html", []).append(place)
        for name in dict.fromkeys([record.id, *list_aliases(record.extra)]):
            found.setdefault(f"{sanitise_path_part(name)}/index.html", []).append(place)
    taken = set(wiki.library.uris.values())
    for (scope, alias), place in wiki.library.by_alias.items():
        stem = f"{get_scope_folder(scope)}/{sanitise_path_part(alias)}"
        if f"{stem}.md" not in taken:
            found[f"{stem}/index.html"] = found[f"{stem}.html"] = [place]
    return {address: tuple(places) for address, places in found.items()}


def render_redirect(wiki: Wiki, address: str, places: Sequence[int], target: Callable[[int], str]) -> str:
    """Return a page that leads from *address* to the one of *places*, or lets the visitor choose; it needs no script.

    *target* answers the place of a record with its address, relative to this page.
    """
    rows = (_render_choice(wiki, place, target(place)) for place in places)
    refresh = f'<meta http-equiv="refresh" content="0; url={Html(target(places[0]))}">' if len(places) == 1 else ""
    title = element("title", posixpath.basename(posixpath.dirname(address)))
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">{refresh}'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        '<link rel="icon" href="data:,">'
        f"{title}</head><body>{element('p', wiki.translate_message(msg('This leads to:')))}"
        f"{element('ul', *rows)}</body></html>\n"
    )


def _render_choice(wiki: Wiki, place: int, address: str) -> Html:
    record = wiki.library.records[place]
    words = f"{get_status_sign(record.status)} {format_title(record)} · {label_scope(wiki, record.scope)}"
    return element("li", element("a", words, href=address), f" ({label_status(wiki, record.status)})")
