"""Preview the wiki changes of a branch: a report with both sides, and only the pages that change.

It needs no mkdocs and no script, so a pull request has it in seconds, whatever the size of the knowledge base.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from importlib import resources
from typing import TYPE_CHECKING

from kb.checks.compare import compare_with_revision
from kb.errors import BadInput
from kb.files import write_file
from kb.i18n import msg
from kb.wiki.collect import collect_wiki, is_revealing, parse_exclusions
from kb.wiki.page_parts import format_title
from kb.wiki.pending_pages import render_both_sides
from kb.wiki.record_pages import build_record_page
from kb.wiki.render import Html, escape_markdown, render_page
from kb.wiki.wiki_model import Wiki, WikiPage, build_list_page
from kb.wiki.wiki_site import resolve_record_href

if TYPE_CHECKING:
    from kb.checks.record_diff import RecordChange
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Record

FIRST, ELSEWHERE, STYLES = "index.md", "elsewhere.md", ("kb.css", "preview.css")
_MARK = "preview.css"
"""What every preview has, and no other folder."""
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
    without = parse_exclusions(kb.config.wiki_without)
    changes: list[RecordChange] = []
    private: list[Record] = [*wiki.sources.hidden]
    for change in compared.changes:
        records = [record for record in (change.record, change.before) if record]
        if any(map(without.is_record_excluded, records)):
            private += records
        else:
            changes.append(change)
    sentences = [one.translate(kb.config.language) for one in compared.meaning]
    shown = [one for one in sentences if not is_revealing(one, private)]
    positions = (wiki.library.by_path.get(change.record.path) for change in changes)
    pages = [_build_report_page(wiki, revision, shown, changes), _build_elsewhere_page(wiki)]
    pages += [build_record_page(wiki, n) for n in sorted({n for n in positions if n is not None})]
    if os.path.isdir(target):
        shutil.rmtree(target)
    uris = frozenset(page.uri for page in pages)
    for page in pages:
        text = _render_file(wiki, page, uris, published)
        write_file(os.path.join(target, _to_html_path(page.uri)), text.encode())
    for name in STYLES:
        write_file(os.path.join(target, name), resources.files("kb.wiki").joinpath("assets", name).read_bytes())
    return os.path.join(target, _to_html_path(FIRST)), len(changes)


def _build_report_page(wiki: Wiki, revision: str, sentences: list[str], changes: list[RecordChange]) -> WikiPage:
    """Return the page that says what merging into *revision* means, with both sides of what is not new."""
    parts: list[str] = [wiki.render("preview.sentences", sentences)] if sentences else []
    parts += [] if changes else [wiki.format_message(msg("No record shown in the wiki changes."))]
    for change in changes:
        record = change.record
        parts.append(f"## {wiki.format_message(_STEPS[change.step])}: {escape_markdown(format_title(record))}")
        parts.append(wiki.render("preview.change", wiki.library.by_path.get(record.path), record.status))
        fields = [part for part in change.parts if not part.is_section]
        parts += [wiki.render("preview.fields", fields)] if fields else []
        if change.before is not None and len(fields) < len(change.parts):
            parts.append(render_both_sides(wiki, change.before, record, changed_only=True))
    title = wiki.translate(msg("What merging into {revision} changes", revision=revision))
    return build_list_page(FIRST, title, *parts)


def _build_elsewhere_page(wiki: Wiki) -> WikiPage:
    """Return the page to which links lead that leave the preview."""
    words = wiki.format_message(msg("Pages that stay as they are, are not part of this preview."))
    return build_list_page(ELSEWHERE, wiki.translate(msg("Not here")), words, wiki.render("preview.back", FIRST))


def _render_file(wiki: Wiki, page: WikiPage, in_preview: frozenset[str], published: str) -> str:
    """Return *page* as a file; its links lead into the preview, else to the *published* wiki, else to "not here"."""
    here = posixpath.dirname(page.uri) or "."

    def resolve_page(uri: str) -> str:
        if uri not in in_preview and published:
            return f"{published.rstrip('/')}/{_to_html_path(uri)}"
        return posixpath.relpath(_to_html_path(uri if uri in in_preview else ELSEWHERE), here)

    def resolve_target(href: str) -> str:
        if href.startswith("#"):
            return href
        own = resolve_record_href(wiki, page, href) or posixpath.normpath(posixpath.join(here, href))
        return resolve_page(own) if own in records else ""

    records = frozenset(wiki.library.uris.values())
    done = render_page(page.parts, resolve_target, resolve_page)
    top = posixpath.relpath(".", here)
    return wiki.render("preview.page", done.headings[0].text, Html(done.html), top, STYLES)


def _to_html_path(uri: str) -> str:
    return uri.removesuffix(".md") + ".html" if uri.endswith(".md") else uri
