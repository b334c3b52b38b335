"""Collect what the wiki shows and list all its files; preview the changes of a branch. Independent of mkdocs.

A preview is a report with both sides and only the pages that change: it needs no script, so a pull request has it in
seconds, whatever the size of the knowledge base.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from kb.checks.run_checks import compare_with_revision, recheck_records
from kb.errors import BadInput
from kb.files import write_file
from kb.git.objects import is_unsafe_path
from kb.history.timeline import Timeline, build_timeline
from kb.i18n import msg
from kb.organisation.hub_client import ACROSS, load_comparison
from kb.records.kinds import REJECTED, find_kind
from kb.records.model import AGENT, GLOBAL, LIVE, Record, list_aliases
from kb.search.rank import collect_word_lists, load_synonyms
from kb.sessions.session_archive import read_session_file
from kb.text.segment import normalise
from kb.wiki.build_cache import PageFingerprints, build_draft, hash_parts
from kb.wiki.library import get_scope_folder, sanitise_path_part
from kb.wiki.list_pages import (
    ALL_RECORDS,
    DATA,
    GRAPH,
    build_graph_page,
    build_home_page,
    build_views_page,
    iter_list_drafts,
    render_graph_data,
)
from kb.wiki.page_parts import format_facet_uri
from kb.wiki.record_pages import (
    FORMS,
    HEALTH,
    INBOX,
    REVIEWS,
    build_health_page,
    build_inbox_page,
    build_record_page,
    build_reviews_page,
    iter_session_pages,
    render_both_sides,
)
from kb.wiki.render import Html, escape_markdown, escape_title, render_page
from kb.wiki.site_data import (
    LLMS,
    LLMS_FULL,
    RECORDS,
    iter_chunks,
    list_feeds,
    render_feed,
    render_llms_list,
    render_llms_texts,
    render_records_json,
)
from kb.wiki.wiki_model import (
    PageDraft,
    SessionForms,
    SiteFile,
    Wiki,
    WikiPage,
    WikiSources,
    build_list_page,
    build_wiki,
)
from kb.writing.reviews import list_reviews, name_review

if TYPE_CHECKING:
    from typing import Any

    from kb.checks.check_context import Finding
    from kb.checks.record_diff import RecordChange
    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Record


class WikiExclusions(NamedTuple):
    """What the wiki leaves out, wherever it would show."""

    scopes: frozenset[str]
    kinds: frozenset[str]
    tags: frozenset[str]

    def is_excluded(self, scope: str, kind: str, tags: Iterable[str]) -> bool:
        """Return whether what holds in *scope*, is of *kind* and has *tags* is left out; an agent's own is."""
        is_tagged = not self.tags.isdisjoint(map(normalise, tags))
        return scope in self.scopes or scope.startswith(AGENT) or kind in self.kinds or is_tagged

    def is_record_excluded(self, record: Record) -> bool:
        """Return whether *record* is left out."""
        return self.is_excluded(record.scope, record.kind, record.tags)


def parse_exclusions(words: Sequence[str]) -> WikiExclusions:
    """Return what *words* leave out: `#tag`, a kind, `global`, or a project with or without `project/`."""
    tags = frozenset(normalise(word) for word in words if word.startswith("#"))
    others = [word for word in words if not word.startswith("#")]
    kinds = frozenset(kind.name for word in others if (kind := find_kind(word)))
    scopes = (word if word == GLOBAL or word.startswith("project/") else f"project/{word}" for word in others)
    return WikiExclusions(frozenset(scopes), kinds, tags)


def is_revealing(text: str, records: Collection[Record]) -> bool:
    """Return whether *text* gives away one of *records*: its title, its file or its uid."""
    words = normalise(text) if records else ""
    return any(
        normalise(one.title) in words or (one.path and one.path in text) or (one.uid and one.uid in text)
        for one in records
    )


def collect_wiki(kb: KnowledgeBase) -> Wiki:
    """Return the wiki of *kb*, without what its settings leave out."""
    kb.sync_index().set_reader(None)  # what is an agent's own is left out below, also where others speak of it
    records = kb.records()
    without = parse_exclusions(kb.config.wiki_without)
    private = [record for record in records if without.is_record_excluded(record)]
    reviews = [kb.sides(review.branch) for review in kb.reviews()]
    every_review = [sides.review for sides in reviews]
    sources = WikiSources(
        sessions=list(_collect_sessions(kb, without, private)) if kb.config.wiki_sessions == "show" else (),
        timeline=_hide_private_subjects(build_timeline(kb), private),
        reviews=[
            sides
            for sides in reviews
            if not any(map(without.is_record_excluded, (sides.review.record, *sides.old)))
            and not is_revealing(sides.reasons, private)
        ],
        review_names={review.branch: name_review(kb, review, every_review) for review in every_review},
        rejected=[
            review
            for review in reversed(list_reviews(kb, REJECTED))
            if not without.is_record_excluded(review.record)
            and not is_revealing("\n".join((review.record.title, *(s.text for s in review.record.sections))), private)
        ],
        held=[
            held
            for held in kb.held()
            if not without.is_excluded(held.candidate.scope or GLOBAL, held.candidate.kind, held.candidate.tags)
            and not is_revealing("\n".join((held.candidate.title, *held.reasons)), private)
        ],
        findings=list(_collect_findings(kb, records, private)),
        across=_load_across(kb),
        hidden=private,
        today=kb.today(),
        # The team's own synonyms may be words of a private record, so the search of such a wiki has none.
        word_lists=collect_word_lists(() if private else load_synonyms(kb)),
    )
    return build_wiki((record for record in records if not without.is_record_excluded(record)), sources, kb.config)


def _load_across(kb: KnowledgeBase) -> Mapping[str, Any]:
    """Return what other teams decided, from the file that the settings name, a hub that builds this, or a hub."""
    named = kb.config.wiki_across
    path = os.path.join(kb.root, *named.split("/")) if named and not is_unsafe_path(named) else ""
    own = kb.state.path(ACROSS)
    path = path or (own if os.path.isfile(own) else "")
    return load_comparison(path, kb.config.hub_repository, kb.environment, kb.config.language) or {}


def _collect_sessions(kb: KnowledgeBase, without: WikiExclusions, private: Sequence[Record]) -> Iterator[SessionForms]:
    for session in kb.sessions():
        scope = GLOBAL if session.project in ("", GLOBAL) else f"project/{session.project}"
        forms = {}
        for name in FORMS:
            with contextlib.suppress(FileNotFoundError):  # an archive may have lost some
                forms[name] = read_session_file(kb, session, f"{name}.md")
        if scope not in without.scopes and not is_revealing("\n".join((session.task, *forms.values())), private):
            yield SessionForms(session, forms)


def _hide_private_subjects(timeline: Timeline, private: Sequence[Record]) -> Timeline:
    """Return *timeline* without the subjects of commits that give away what is private."""
    if not private:
        return timeline
    shown = {
        path: tuple(one._replace(subject="") if is_revealing(one.subject, private) else one for one in versions)
        for path, versions in timeline.versions.items()
    }
    return timeline._replace(versions=shown)


def _collect_findings(kb: KnowledgeBase, records: Sequence[Record], private: Sequence[Record]) -> Iterator[Finding]:
    paths, language = {record.path for record in private}, kb.config.language
    for finding in recheck_records(kb, records):
        text = f"{finding.message.translate(language)} {finding.fix.translate(language)}"
        if finding.path not in paths and not is_revealing(text, private):
            yield finding


# -- pages ----------------------------------------------------------------------------------------


def iter_drafts(fingerprints: PageFingerprints) -> Iterator[PageDraft]:
    """Yield every page of the wiki, the home page first; those of which there may be many are not made yet."""
    wiki = fingerprints.wiki
    few = [build_home_page, build_reviews_page, build_inbox_page, build_health_page, build_graph_page]
    few += [build_views_page] if wiki.config.wiki_views == "show" else []
    yield from (build_draft(build(wiki)) for build in few)
    yield from iter_list_drafts(fingerprints)
    yield from map(build_draft, iter_session_pages(wiki))
    for position, uri in wiki.library.uris.items():
        yield PageDraft(uri, fingerprints.page_hashes[position], partial(build_record_page, wiki, position))


NAVIGATION = ("index.md", ALL_RECORDS, GRAPH, REVIEWS, INBOX, HEALTH)
"""The pages that the navigation shows: few, and the same for any size, so that a large wiki builds fast."""


def resolve_record_href(wiki: Wiki, page: WikiPage, href: str) -> str:
    """Return the page of the wiki that *href*, a link to a record file on *page*, means, with its anchor; or ""."""
    path, mark, anchor = href.partition("#")
    if not page.source or not path:
        return ""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), unquote(path)))
    position = wiki.library.by_path.get(file)
    return "" if position is None else wiki.library.uris[position] + mark + anchor


# -- files that are no pages ----------------------------------------------------------------------


def iter_site_files(
    fingerprints: PageFingerprints, urls: Mapping[str, str], published: str = "", known: Mapping[str, Any] | None = None
) -> Iterator[SiteFile]:
    """Yield every file of the wiki that is no page; *known* as for `render_records_json`.

    *urls* has the address of each page relative to the wiki's top; *published* is where that top is to be found on
    the web, "" where nobody says so.
    """
    wiki = fingerprints.wiki
    for path, positions in map_permalinks(wiki).items():
        here = posixpath.dirname(path)
        fingerprint = hash_parts([fingerprints.record_hashes[n] for n in positions])
        address = partial(_find_address, urls, here, "")
        yield SiteFile(path, fingerprint, partial(render_redirect, wiki, path, positions, address))
    for path, uri in map_former_lists(wiki).items():
        moved = _find_address(urls, posixpath.dirname(path), "", uri)
        yield SiteFile(path, moved, partial(wiki.render, "redirect.moved", moved))
    listed = partial(_find_address, urls, "", published)
    yield SiteFile(LLMS, "", lambda: render_llms_list(wiki, listed))
    yield SiteFile(LLMS_FULL, "", lambda: render_llms_texts(wiki))
    yield SiteFile(RECORDS, "", lambda: render_records_json(wiki, urls.__getitem__, known))
    yield SiteFile(DATA, "", lambda: render_graph_data(wiki, urls.__getitem__))
    yield from iter_chunks(fingerprints, urls.__getitem__)
    for name, scope in list_feeds(wiki).items():
        address = partial(_find_address, urls, posixpath.dirname(name), published)
        yield SiteFile(name, "", partial(render_feed, wiki, scope, name, address))


def _find_address(urls: Mapping[str, str], here: str, published: str, uri: str) -> str:
    """Return where the page or file *uri* is: on the web, or else as it is seen from the folder *here*."""
    top = published or "../" * (here.count("/") + 1 if here else 0)
    path, mark, query = uri.partition("?")
    return top + urls.get(path, path) + mark + query


def map_former_lists(wiki: Wiki) -> dict[str, str]:
    """Return each page that an earlier wiki had for a list, with the one that has its records now."""
    found = {"views": ALL_RECORDS, "statuses": ALL_RECORDS, "tags": ALL_RECORDS, "timeline": ALL_RECORDS}
    found |= {"paths": "governs/index.md", "kinds/index": ALL_RECORDS, "scopes/index": ALL_RECORDS}
    if wiki.config.wiki_views == "show":
        del found["views"]
    for kind in wiki.kinds:
        found[f"kinds/{sanitise_path_part(kind)}"] = format_facet_uri(kind=kind)
    for scope in wiki.scopes:
        found[f"scopes/{sanitise_path_part(scope.replace('/', '-'))}"] = format_facet_uri(scope=scope)
    return {f"{stem}.html": uri for stem, uri in found.items()}


def map_permalinks(wiki: Wiki) -> dict[str, tuple[int, ...]]:
    """Return each lasting address, a page relative to the wiki's top, with the records it may mean.

    `r/<uid>/` means one record, and so does `<scope>/<ID>/`. `<ID>/` means every record that has the id in its scope,
    or had it; those that hold come first. The page a record had under a former id leads on, where no other record has
    it now.
    """
    found: dict[str, list[int]] = {}
    for position, record in enumerate(wiki.library.records):
        if record.uid:
            found.setdefault(f"r/{sanitise_path_part(record.uid)}/index.html", []).append(position)
        for name in dict.fromkeys([record.id, *list_aliases(record.extra)]):
            found.setdefault(f"{sanitise_path_part(name)}/index.html", []).append(position)
        scope = sanitise_path_part(record.scope.removeprefix("project/"))
        found.setdefault(f"{scope}/{sanitise_path_part(record.id)}/index.html", []).append(position)
    taken = set(wiki.library.uris.values())
    for (scope, alias), position in wiki.library.by_alias.items():
        stem = f"{get_scope_folder(scope)}/{sanitise_path_part(alias)}"
        if f"{stem}.md" not in taken:
            found[f"{stem}/index.html"] = found[f"{stem}.html"] = [position]
    records = wiki.library.records
    return {
        address: tuple(sorted(positions, key=lambda n: (records[n].status not in LIVE, n)))
        for address, positions in found.items()
    }


def render_redirect(wiki: Wiki, path: str, positions: Sequence[int], address: Callable[[str], str]) -> str:
    """Return the page *path*, which leads to the one of *positions*, or lets the visitor choose; it needs no script.

    *address* returns the address of a page of the wiki, relative to this one.
    """
    rows = [(position, address(wiki.library.uris[position])) for position in positions]
    if len(rows) == 1:
        return wiki.render("redirect.moved", rows[0][1])
    name = posixpath.basename(posixpath.dirname(path))
    return wiki.render("redirect.page", name, rows, "../" * path.count("/"), address("index.md"))


# -- preview of a branch --------------------------------------------------------------------------

FIRST, ELSEWHERE, STYLES = "index.md", "elsewhere.md", ("kb.css", "kb-plain.css")
_MARK = "kb-plain.css"
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
        step = wiki.format_message(_STEPS[change.step])
        parts.append(f"## {step}{wiki.colon}{escape_markdown(record.id)} {escape_title(record.title)}")
        parts.append(wiki.render("preview.change", wiki.library.by_path.get(record.path), record.status))
        fields = [part for part in change.parts if not part.is_section]
        parts += [wiki.render("preview.fields", fields)] if fields else []
        if change.before is not None and len(fields) < len(change.parts):
            parts.append(render_both_sides(wiki, change.before, record, changed_only=True))
    title = wiki.translate(msg("What merging into {revision} changes", revision=revision))
    return build_list_page(FIRST, title, *parts)


def _build_elsewhere_page(wiki: Wiki) -> WikiPage:
    """Return the page to which links lead that leave the preview."""
    words = wiki.format_message(msg("Unchanged pages are not part of this preview."))
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
