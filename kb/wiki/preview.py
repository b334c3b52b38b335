"""What a branch would change in the wiki: a report with both sides, and nothing but the pages that change.

It needs no mkdocs and no script, so a pull request has it in seconds, whatever the size of the knowledge base.
"""

from __future__ import annotations

import html
import os
import posixpath
import shutil
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.compare import compare_with_revision
from kb.errors import BadInput
from kb.files import write_file
from kb.i18n import msg
from kb.wiki.collect import collect_wiki, is_revealing, parse_exclusions
from kb.wiki.page_parts import format_title, render_badge, render_message
from kb.wiki.pending_pages import render_both_sides
from kb.wiki.record_pages import build_record_page
from kb.wiki.render import element, escape_markdown, link_to, render_list, render_page
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.wiki.wiki_site import resolve_record_href

if TYPE_CHECKING:
    from kb.checks.record_diff import Comparison, RecordChange
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
    wiki, compared = collect_wiki(kb), compare_with_revision(kb, revision)
    changes, private = _split_private_changes(kb, compared)
    sentences = [one.translate(kb.config.language) for one in compared.meaning]
    shown = [one for one in sentences if not is_revealing(one, [*wiki.sources.hidden, *private])]
    positions = (wiki.library.by_path.get(change.record.path) for change in changes)
    pages = [_build_report_page(wiki, revision, shown, changes), _build_elsewhere_page(wiki)]
    pages += [build_record_page(wiki, n) for n in sorted({n for n in positions if n is not None})]
    if os.path.isdir(target):
        shutil.rmtree(target)
    for name, text in _render_pages(wiki, pages, published):
        write_file(os.path.join(target, name), text.encode())
    for name in STYLES:
        write_file(os.path.join(target, name), resources.files("kb.wiki").joinpath("assets", name).read_bytes())
    return os.path.join(target, _to_html_path(FIRST)), len(changes)


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


def _build_report_page(wiki: Wiki, revision: str, sentences: list[str], changes: list[RecordChange]) -> WikiPage:
    """Return the page that says what merging into *revision* means, with both sides of what is not new."""
    parts: list[str] = [render_list(sentences)] if sentences else []
    parts += [] if changes else [render_message(wiki, msg("No record shown in the wiki changes."))]
    for change in changes:
        parts += _render_change(wiki, change)
    return build_list_page(
        FIRST, wiki.translate(msg("What merging into {revision} changes", revision=revision)), *parts
    )


def _build_elsewhere_page(wiki: Wiki) -> WikiPage:
    """Return the page to which links lead that leave the preview."""
    words = render_message(wiki, msg("Pages that stay as they are, are not part of this preview."))
    back = element("p", link_to(FIRST, wiki.translate(msg("back to the report"))))
    return build_list_page(ELSEWHERE, wiki.translate(msg("Not here")), words, back)


def _render_change(wiki: Wiki, change: RecordChange) -> Iterator[str]:
    yield f"## {render_message(wiki, _STEPS[change.step])}: {escape_markdown(format_title(change.record))}"
    position = wiki.library.by_path.get(change.record.path)
    page = link_to(wiki.library.uris[position], wiki.translate(msg("its page"))) if position is not None else ""
    yield element("p", render_badge(wiki, change.record.status), " ", page, class_="kb-plate")
    rows = []
    for part in change.parts:
        if not part.is_section:
            before = element("td", element("del", part.before) if part.before else "")
            after = element("td", element("ins", part.after) if part.after else "")
            rows.append(element("tr", element("th", part.name), before, after))
    if rows:
        yield element("table", element("tbody", *rows))
    if change.before is not None and any(part.is_section for part in change.parts):
        yield render_both_sides(wiki, change.before, change.record, changed_only=True)


def _render_pages(wiki: Wiki, pages: list[WikiPage], published: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    in_preview, records = frozenset(page.uri for page in pages), frozenset(wiki.library.uris.values())
    for page in pages:
        here = posixpath.dirname(page.uri) or "."
        links = _PreviewLinks(wiki, page, here, in_preview, records, published)
        done = render_page(page.parts, links.resolve_target, links.resolve_page)
        top = posixpath.relpath(".", here)
        yield _to_html_path(page.uri), _wrap_html_page(wiki, done.headings[0].text, done.html, top)


class _PreviewLinks(NamedTuple):
    """Where the links of one page of a preview lead."""

    wiki: Wiki
    page: WikiPage
    here: str
    """The folder of the page."""
    in_preview: frozenset[str]
    records: frozenset[str]
    """The pages of records in the whole wiki."""
    published: str
    """The address of the whole wiki, or ""."""

    def resolve_page(self, uri: str) -> str:
        """Return where the page *uri* is: in the preview, else in the whole wiki, else a page that says "not here"."""
        if uri not in self.in_preview and self.published:
            return f"{self.published.rstrip('/')}/{_to_html_path(uri)}"
        return posixpath.relpath(_to_html_path(uri if uri in self.in_preview else ELSEWHERE), self.here)

    def resolve_target(self, href: str) -> str:
        """Return the address of a link in the text of the page, "" for none."""
        if href.startswith("#"):
            return href
        own = resolve_record_href(self.wiki, self.page, href) or posixpath.normpath(posixpath.join(self.here, href))
        return self.resolve_page(own) if own in self.records else ""


def _wrap_html_page(wiki: Wiki, title: str, body: str, top: str) -> str:
    styles = "".join(f'<link rel="stylesheet" href="{top}/{name}">' for name in STYLES)
    return (
        f'<!doctype html>\n<html lang="{wiki.config.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,">{styles}</head>'
        f'<body data-md-color-scheme="default"><main class="md-typeset">{body}</main></body></html>\n'
    )


def _to_html_path(uri: str) -> str:
    return uri.removesuffix(".md") + ".html" if uri.endswith(".md") else uri
