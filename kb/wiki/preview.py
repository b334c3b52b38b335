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

from kb.checks.compare import compare_with_revision
from kb.errors import BadInput
from kb.i18n import msg
from kb.wiki.collect import collect_wiki, is_revealing, parse_exclusions
from kb.wiki.markup import escape_markdown
from kb.wiki.page_parts import format_title, render_badge, render_list
from kb.wiki.pending_pages import render_both_sides
from kb.wiki.record_pages import build_record_page
from kb.wiki.render import Html, build_href, element, join_html, render_page
from kb.wiki.wiki_model import Wiki, WikiPage
from kb.wiki.wiki_site import resolve_record_href

if TYPE_CHECKING:
    from kb.checks.record_diff import Comparison, PartChange, RecordChange
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


def write_preview(kb: KnowledgeBase, revision: str, out: str, published: str = "") -> tuple[str, int]:
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
    made, compared = collect_wiki(kb), compare_with_revision(kb, revision)
    changes, private = _split_private_changes(kb, compared)
    meaning = [one.translate(kb.config.language) for one in compared.meaning]
    told = [one for one in meaning if not is_revealing(one, [*made.told.hidden, *private])]
    places = {place for change in changes if (place := made.library.by_path.get(change.record.path)) is not None}
    pages = [build_report_page(made, revision, told, changes), _build_elsewhere_page(made)]
    pages += [build_record_page(made, place) for place in sorted(places)]
    if os.path.isdir(target):
        shutil.rmtree(target)
    for page, text in _render_pages(made, pages, published):
        _write_file(os.path.join(target, page), text)
    for name in STYLES:
        _write_file(os.path.join(target, name), resources.files("kb.wiki").joinpath("assets", name).read_text("utf-8"))
    return os.path.join(target, _convert_to_html_path(FIRST)), len(changes)


def _split_private_changes(kb: KnowledgeBase, compared: Comparison) -> tuple[list[RecordChange], list[Record]]:
    """Return the changes of records that the wiki shows, and the records of those that it does not."""
    without = parse_exclusions(kb.config.wiki_without)
    shown: list[RecordChange] = []
    private: list[Record] = []
    for change in compared.changes:
        records = [record for record in (change.record, change.before) if record]
        if any(map(without.is_record_excluded, records)):
            private += records
        else:
            shown.append(change)
    return shown, private


def build_report_page(wiki: Wiki, revision: str, meaning: list[str], changes: list[RecordChange]) -> WikiPage:
    """Return the page that says what merging into *revision* means, with both sides of what is not new."""
    title = wiki.translate_message(msg("What merging into {revision} changes", revision=revision))
    parts: list[str] = [f"# {escape_markdown(title)}", *([render_list(map(join_html, meaning))] if meaning else [])]
    parts += [] if changes else [escape_markdown(wiki.translate_message(msg("No record that the wiki shows changes.")))]
    for change in changes:
        parts += _render_change(wiki, change)
    return WikiPage(FIRST, tuple(parts), listing=True)


def _build_elsewhere_page(wiki: Wiki) -> WikiPage:
    """Return the page to which links lead that leave the preview."""
    said = msg("Pages that stay as they are, are not part of this preview.")
    back = element("a", wiki.translate_message(msg("back to the report")), href=build_href(FIRST))
    return WikiPage(
        ELSEWHERE,
        (
            f"# {escape_markdown(wiki.translate_message(msg('Not here')))}",
            escape_markdown(wiki.translate_message(said)),
            element("p", back),
        ),
    )


def _render_change(wiki: Wiki, change: RecordChange) -> Iterator[str]:
    step = escape_markdown(wiki.translate_message(_STEPS[change.step]))
    yield f"## {step}: {escape_markdown(format_title(change.record))}"
    place = wiki.library.by_path.get(change.record.path)
    page = (
        element("a", wiki.translate_message(msg("its page")), href=build_href(wiki.library.uris[place]))
        if place is not None
        else Html("")
    )
    yield element("p", render_badge(wiki, change.record.status), " ", page, class_="kb-plate")
    rows = (element("tr", *_render_field_cells(part)) for part in change.parts if not part.is_section)
    yield from [element("table", element("tbody", *rows))] if any(not part.is_section for part in change.parts) else []
    if change.before is not None and any(part.is_section for part in change.parts):
        yield render_both_sides(wiki, change.before, change.record, changed_only=True)


def _render_field_cells(part: PartChange) -> Iterator[Html]:
    """Yield the cells that tell what became of a key of the front, or of what people wrote."""
    yield element("th", part.name)
    yield element("td", element("del", part.before) if part.before else "")
    yield element("td", element("ins", part.after) if part.after else "")


def _render_pages(wiki: Wiki, pages: list[WikiPage], published: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    known = {page.uri for page in pages}
    for page in pages:
        leads = _build_page_resolver(known, published, posixpath.dirname(page.uri) or ".")
        done = render_page(page.parts, _build_link_resolver(wiki, page, leads), leads)
        top = posixpath.relpath(".", posixpath.dirname(page.uri) or ".")
        yield _convert_to_html_path(page.uri), _wrap_html_page(wiki, done.headings[0].text, done.html, top)


def _build_page_resolver(known: set[str], published: str, here: str) -> Callable[[str], str]:
    """Return what answers a page of the wiki with where it is seen from the folder *here*.

    That is in the preview, or else in the whole wiki; where nobody says where that is, a page that says so.
    """

    def resolve_page(uri: str) -> str:
        if uri in known:
            return posixpath.relpath(_convert_to_html_path(uri), here)
        whole = f"{published.rstrip('/')}/{_convert_to_html_path(uri)}"
        return whole if published else posixpath.relpath(_convert_to_html_path(ELSEWHERE), here)

    return resolve_page


def _build_link_resolver(wiki: Wiki, page: WikiPage, leads: Callable[[str], str]) -> Callable[[str], str]:
    """Return what answers a link in the text of *page* with its address, "" for none."""
    uris = frozenset(wiki.library.uris.values())

    def resolve_target(href: str) -> str:
        if href.startswith("#"):
            return href
        own = resolve_record_href(wiki, page, href) or posixpath.normpath(
            posixpath.join(posixpath.dirname(page.uri), href)
        )
        return leads(own) if own in uris else ""

    return resolve_target


def _wrap_html_page(wiki: Wiki, title: str, body: str, top: str) -> str:
    styles = "".join(f'<link rel="stylesheet" href="{top}/{name}">' for name in STYLES)
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,">{styles}</head>'
        f'<body data-md-color-scheme="default"><main class="md-typeset">{body}</main></body></html>\n'
    )


def _convert_to_html_path(uri: str) -> str:
    return uri.removesuffix(".md") + ".html" if uri.endswith(".md") else uri


def _write_file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
