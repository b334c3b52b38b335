"""What a branch would change in the wiki: a report with both sides, and nothing but the pages that change.

It needs no mkdocs and no script, so a pull request has it in seconds, whatever the size of the knowledge base.
"""

from __future__ import annotations

import html
import os
import posixpath
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from typing import TYPE_CHECKING

from kb.checks.compare import compare
from kb.errors import BadInput
from kb.i18n import msg
from kb.wiki.collect import gathered
from kb.wiki.html import Html, element, inside, to
from kb.wiki.labels import badge, items, title_of
from kb.wiki.markup import plain
from kb.wiki.pages import located
from kb.wiki.pending_page import both
from kb.wiki.record_page import record_page
from kb.wiki.render import rendered
from kb.wiki.visibility import hidden, speaks_of
from kb.wiki.wiki_model import Page, Wiki

if TYPE_CHECKING:
    from kb.checks.record_diff import Change, Comparison, Part
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Record

FIRST, ELSEWHERE, STYLES = "index.md", "elsewhere.md", ("kb.css", "preview.css")
_MARK = "preview.css"
"""What every preview has, and no other folder."""
_POLICY = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
_STEPS = {
    "new": msg("New"),
    "changed": msg("Changed"),
    "superseded": msg("Superseded"),
    "amended": msg("Amended"),
    "removed": msg("Removed"),
}


def preview(kb: KnowledgeBase, revision: str, out: str, published: str = "") -> tuple[str, int]:
    """Write into the folder *out* what merging the checkout into *revision* changes in the wiki of *kb*.

    Return the path of the report and how many records change. *published* is the address of the whole wiki, to which
    links lead that leave the preview. Raise BadInput where *out* holds anything but an earlier preview.
    """
    target = os.path.abspath(out)
    if os.path.isdir(target) and os.listdir(target) and not os.path.isfile(os.path.join(target, _MARK)):
        raise BadInput(
            msg("the folder holds something else than a preview"),
            path=target,
            hint=msg("name an empty or a new folder"),
        )
    made, compared = gathered(kb), compare(kb, revision)
    changes, private = _parted(kb, compared)
    meaning = [one.translate(kb.config.language) for one in compared.meaning]
    told = [one for one in meaning if not speaks_of(one, [*made.told.hidden, *private])]
    places = {place for change in changes if (place := made.library.by_path.get(change.record.path)) is not None}
    pages = [report(made, revision, told, changes), _elsewhere(made)]
    pages += [record_page(made, place) for place in sorted(places)]
    if os.path.isdir(target):
        shutil.rmtree(target)
    for page, text in _written(made, pages, published):
        _write(os.path.join(target, page), text)
    for name in STYLES:
        _write(os.path.join(target, name), resources.files("kb.wiki").joinpath("assets", name).read_text("utf-8"))
    return os.path.join(target, _address(FIRST)), len(changes)


def _parted(kb: KnowledgeBase, compared: Comparison) -> tuple[list[Change], list[Record]]:
    """Return the changes of records that the wiki shows, and the records of those that it does not."""
    without = hidden(kb.config.wiki_without)
    shown: list[Change] = []
    private: list[Record] = []
    for change in compared.changes:
        records = [record for record in (change.record, change.before) if record]
        if any(map(without.record, records)):
            private += records
        else:
            shown.append(change)
    return shown, private


def report(wiki: Wiki, revision: str, meaning: list[str], changes: list[Change]) -> Page:
    """Return the page that says what merging into *revision* means, with both sides of what is not new."""
    title = wiki.word(msg("What merging into {revision} changes", revision=revision))
    parts: list[str] = [f"# {plain(title)}", *([items(map(inside, meaning))] if meaning else [])]
    parts += [] if changes else [plain(wiki.word(msg("No record that the wiki shows changes.")))]
    for change in changes:
        parts += _change(wiki, change)
    return Page(FIRST, tuple(parts), listing=True)


def _elsewhere(wiki: Wiki) -> Page:
    """Return the page to which links lead that leave the preview."""
    said = msg("Pages that stay as they are, are not part of this preview.")
    back = element("a", wiki.word(msg("back to the report")), href=to(FIRST))
    return Page(ELSEWHERE, (f"# {plain(wiki.word(msg('Not here')))}", plain(wiki.word(said)), element("p", back)))


def _change(wiki: Wiki, change: Change) -> Iterator[str]:
    yield f"## {plain(wiki.word(_STEPS[change.step]))}: {plain(title_of(change.record))}"
    place = wiki.library.by_path.get(change.record.path)
    page = (
        element("a", wiki.word(msg("its page")), href=to(wiki.library.uris[place])) if place is not None else Html("")
    )
    yield element("p", badge(wiki, change.record.status), " ", page, class_="kb-plate")
    rows = (element("tr", *_front(part)) for part in change.parts if not part.is_section)
    yield from [element("table", element("tbody", *rows))] if any(not part.is_section for part in change.parts) else []
    if change.before is not None and any(part.is_section for part in change.parts):
        yield both(wiki, change.before, change.record, changed_only=True)


def _front(part: Part) -> Iterator[Html]:
    """Yield the cells that tell what became of a key of the front, or of what people wrote."""
    yield element("th", part.name)
    yield element("td", element("del", part.before) if part.before else "")
    yield element("td", element("ins", part.after) if part.after else "")


def _written(wiki: Wiki, pages: list[Page], published: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    known = {page.uri for page in pages}
    for page in pages:
        leads = _leading(known, published, posixpath.dirname(page.uri) or ".")
        done = rendered(page.parts, _targets(wiki, page, leads), leads)
        top = posixpath.relpath(".", posixpath.dirname(page.uri) or ".")
        yield _address(page.uri), _shell(wiki, done.headings[0].text, done.html, top)


def _leading(known: set[str], published: str, here: str) -> Callable[[str], str]:
    """Return what answers a page of the wiki with where it is seen from the folder *here*.

    That is in the preview, or else in the whole wiki; where nobody says where that is, a page that says so.
    """

    def leads(uri: str) -> str:
        if uri in known:
            return posixpath.relpath(_address(uri), here)
        whole = f"{published.rstrip('/')}/{_address(uri)}"
        return whole if published else posixpath.relpath(_address(ELSEWHERE), here)

    return leads


def _targets(wiki: Wiki, page: Page, leads: Callable[[str], str]) -> Callable[[str], str]:
    """Return what answers a link in the text of *page* with its address, "" for none."""
    uris = frozenset(wiki.library.uris.values())

    def target(href: str) -> str:
        if href.startswith("#"):
            return href
        own = located(wiki, page, href) or posixpath.normpath(posixpath.join(posixpath.dirname(page.uri), href))
        return leads(own) if own in uris else ""

    return target


def _shell(wiki: Wiki, title: str, body: str, top: str) -> str:
    styles = "".join(f'<link rel="stylesheet" href="{top}/{name}">' for name in STYLES)
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,">{styles}</head>'
        f'<body data-md-color-scheme="default"><main class="md-typeset">{body}</main></body></html>\n'
    )


def _address(uri: str) -> str:
    return uri.removesuffix(".md") + ".html" if uri.endswith(".md") else uri


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
