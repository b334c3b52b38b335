"""The mkdocs plugin: it hands mkdocs the pages of a knowledge base, made in memory."""

from __future__ import annotations

import json
import logging
import os
import posixpath
import re
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from mkdocs.config import config_options
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page as MkDocsPage
from mkdocs.structure.toc import get_toc
from mkdocs.utils import nest_paths

from kb.i18n import msg
from kb.records.model import is_imported
from kb.wiki.build_cache import BuiltPage, BuiltSite, PageFingerprints, hash_common_parts
from kb.wiki.collect import collect_wiki
from kb.wiki.data_files import RECORDS
from kb.wiki.markup import sanitise_title
from kb.wiki.render import PageHeading, render_page
from kb.wiki.search_index import (
    FOLDER,
    SearchDoc,
    build_engine_script,
    iter_index_files,
    iter_page_docs,
    iter_wiki_docs,
)
from kb.wiki.search_index_update import TermCache, build_changed_files, compare_index
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage
from kb.wiki.wiki_site import iter_drafts, list_navigation, resolve_record_href
from kb.wiki.wiki_site import iter_site_files as files_of

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_WORKER = re.compile(r"assets/javascripts/workers/search\.\w+\.min\.js")
"""The search worker of the material theme."""
SEARCH = "assets/kb-search.js"
"""Loaded before the theme's own script, which starts the search."""
ENGINE = "assets/kb-search-engine.js"
FILTERS = "assets/kb-find.js"
STYLE = "assets/kb.css"
SCRIPT = "assets/kb.js"
LATER = ("assets/kb-graph.js", "assets/kb-lists.js", "assets/kb-language.js", "assets/kb-words.js")
"""Loaded by the script above, where a page needs them."""
INLINE = "assets/inline"
_INLINE = re.compile(r"(?s)<script>((?:[^<]|<(?!/?script>))*+)</script>")
_LOG = logging.getLogger("mkdocs.plugins.kb")


class PluginSettings(Config):  # type: ignore[no-untyped-call]
    """What stands under the plugin's name in mkdocs.yml."""

    root = config_options.Type(str, default="")
    """The knowledge base; relative to mkdocs.yml, and by default beside it."""
    folder = config_options.Type(str, default="kb")
    """Where the pages stand in a site that has pages of its own; without any they are the whole site."""


class KbFile(File):
    """The file of a page, which a build over an earlier one may find there as it would be made."""

    is_kept = False

    def is_modified(self) -> bool:
        """Return whether the page has to be made."""
        return not self.is_kept


class KbPage(MkDocsPage):
    """A page that renders itself, safely, instead of by the site's Markdown extensions."""

    def __init__(self, draft: PageDraft, file: File, config: MkDocsConfig, shown: PublishedWiki) -> None:
        """Put the page that *draft* makes in the place of *file*."""
        super().__init__(None, file, config)
        self.draft = draft
        self.shown = shown
        self.wrong: list[str] = []
        """What leads nowhere."""

    def read_source(self, config: MkDocsConfig) -> None:
        """Take the text from memory; what looks like a template in it is text."""
        self.markdown = ""
        self.meta = {"render_macros": False, "search": {"exclude": True}}

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Turn the markdown into HTML, and warn of what leads nowhere."""
        page = self.draft.make()

        def resolve_target(href: str) -> str:
            return self.shown.resolve_href(page, href, self.file, files, self.wrong)

        done = render_page(page.parts, resolve_target, self.shown.build_url_resolver(self.file))
        self.content = done.html
        self.toc = get_toc(build_toc(done.headings))
        self.present_anchor_ids = {heading.anchor for heading in done.headings}
        self.title = sanitise_title(page.name or done.headings[0].text)
        for words in page.broken:
            self.wrong.append(f"{page.source or page.uri}: {msg('{words}: no such record', words=words)}")
        for words in self.wrong:
            _LOG.warning("%s", words)


class PublishedWiki(NamedTuple):
    """A wiki, and where the site has put it."""

    wiki: Wiki
    folder: str
    """"", or the folder of the wiki within the site, with a slash."""
    root: str
    """The knowledge base on disk."""
    urls: dict[str, str]
    """Page of the wiki → its address, relative to the wiki's top."""

    def build_url_resolver(self, file: File) -> Callable[[str], str]:
        """Return what answers a page or a file of the wiki with its address as *file* sees it."""
        top = "../" * file.url.count("/") + self.folder
        return lambda uri: top + self.urls.get(uri, uri)

    def resolve_href(self, page: WikiPage, href: str, file: File, files: Files, wrong: list[str]) -> str:
        """Return the address of what *href* means on *page*, which is *file*; for nothing "" and a word in *wrong*."""
        path, mark, anchor = href.partition("#")
        if not path:
            return href
        own = resolve_record_href(self.wiki, page, href)
        path, mark, anchor = own.partition("#") if own else (self._join_page_path(page, path), mark, anchor)
        found = files.get_file_from_path(self.folder + path)
        if found:
            return found.url_relative_to(file) + mark + anchor
        here = os.path.join(self.root, os.path.dirname(page.source), unquote(href))
        if page.source and not self._is_imported(page.source) and not os.path.exists(here):
            wrong.append(f"{page.source}: {msg('the link {target} leads nowhere', target=href)}")
        return ""

    def _is_imported(self, source: str) -> bool:
        """Return whether the record at *source* came from another repository, whose other files nobody has here."""
        place = self.wiki.library.by_path.get(source)
        return place is not None and is_imported(self.wiki.library.records[place].extra)

    def _join_page_path(self, page: WikiPage, path: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(page.uri), unquote(path)))


def build_toc(headings: tuple[PageHeading, ...]) -> list[Any]:
    """Return *headings* as the tree of which mkdocs makes the table of contents."""
    top: list[Any] = []
    path: list[Any] = []
    for heading in headings:
        token = {"level": heading.level, "id": heading.anchor, "name": sanitise_title(heading.text), "children": []}
        while path and path[-1]["level"] >= heading.level:
            path.pop()
        (path[-1]["children"] if path else top).append(token)
        path.append(token)
    return top


class KbPlugin(BasePlugin[PluginSettings]):  # type: ignore[no-untyped-call]
    """Adds the pages of a knowledge base to a mkdocs site."""

    knowledge: KnowledgeBase | None = None
    opened = False
    """Whether the plugin opened it and has to close it."""
    site: object = None
    """What the driver of a build over an earlier one knows of the site: it is part of what all pages have in common."""
    before: BuiltSite = BuiltSite()
    """What the site holds already; nothing, where it is built anew."""
    progress: Callable[[int, int], object] | None = None
    """Is told how many pages are made, and of how many."""
    made = stale = 0
    memory: TermCache | None = None
    """Of which terms the index before was made."""
    known: BuiltSite
    """The same, as far as it is made in the way in which it would be made now."""
    built: BuiltSite
    shown: PublishedWiki
    pages: list[KbPage]
    others: list[SearchDoc]
    """What can be found in pages of the site that are none of the wiki."""
    stamps: PageFingerprints
    scripts: dict[str, str]
    """Files made of the scripts that stood in pages, relative to the site's top."""

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Open the knowledge base and announce what the pages need."""
        self.scripts, self.others, self.pages = {}, [], []
        if self.knowledge is None:
            from kb.knowledge_base import KnowledgeBase

            beside = os.path.dirname(config.config_file_path or "")
            self.knowledge = KnowledgeBase.at(os.path.join(beside, self.config.root))
            self.opened = True
        if STYLE not in config.extra_css:
            config.extra_css.append(STYLE)
        config.extra_javascript += [uri for uri in (SCRIPT, FILTERS) if uri not in config.extra_javascript]
        polyfills = config.extra.setdefault("polyfills", [])
        if SEARCH not in polyfills:
            polyfills.append(SEARCH)
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Add the pages, and the search that knows Chinese in the place of the theme's."""
        assert self.knowledge is not None
        try:
            made = collect_wiki(self.knowledge)
        finally:
            if self.opened:
                self.knowledge.close()
        own = [file.src_uri for file in files.documentation_pages() if file.inclusion.is_in_nav()]  # type: ignore[no-untyped-call]
        folder = self.config.folder.strip("/") + "/" if own else ""
        self.shown = PublishedWiki(made, folder, self.knowledge.root, {})
        self._add_pages(files, config)
        self._set_nav(config, own, folder, [folder + uri for uri in list_navigation(made)])
        self._set_search(files, config)
        return files

    def _add_pages(self, files: Files, config: MkDocsConfig) -> None:
        wiki, folder, urls = self.shown.wiki, self.shown.folder, self.shown.urls
        self.stamps = PageFingerprints(wiki)
        self.built = BuiltSite(hash_common_parts(wiki, self.site))
        self.known = self.before if self.before.frame == self.built.frame else BuiltSite()
        for other in files.documentation_pages():
            other.is_modified = lambda: True  # type: ignore[method-assign]
        named = list_navigation(wiki)
        for draft in iter_drafts(wiki, self.stamps):
            inclusion = InclusionLevel.INCLUDED if draft.uri in named else InclusionLevel.NOT_IN_NAV
            file = KbFile.generated(config, folder + draft.uri, content="", inclusion=inclusion)
            assert isinstance(file, KbFile)
            kept = self.known.pages.get(draft.uri)
            is_same = kept is not None and kept.stamp == draft.stamp and draft.uri not in named
            file.is_kept = is_same and os.path.isfile(file.abs_dest_path)
            files.append(file)
            page = KbPage(draft, file, config, self.shown)
            page.wrong += kept.wrong if kept and file.is_kept else ()
            self.pages.append(page)
            self.stale += not file.is_kept
            urls[draft.uri] = file.url.removeprefix(folder) or "./"

    def _set_nav(self, config: MkDocsConfig, own: list[str], folder: str, ours: list[str]) -> None:
        """Name *ours* in the navigation, unless the site's own navigation already names a page of the wiki."""
        assert self.knowledge is not None
        given = config.nav if config.nav is not None else nest_paths(own)  # type: ignore[no-untyped-call]
        if folder and f"'{folder}" in repr(given):
            config.nav = given
        else:
            config.nav = [*given, {sanitise_title(self.knowledge.config.name): ours}] if folder else ours

    def _set_search(self, files: Files, config: MkDocsConfig) -> None:
        script = build_engine_script()
        for worker in [file for file in files if _WORKER.fullmatch(file.src_uri)]:
            files.remove(worker)
            files.append(File.generated(config, worker.src_uri, content=script))
        files.append(File.generated(config, ENGINE, content=script))
        for uri in (STYLE, SCRIPT, SEARCH, FILTERS, *LATER):
            files.append(File.generated(config, uri, content=_read_asset(posixpath.basename(uri))))

    @event_priority(-100)
    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Take the other pages of the site into the search as well: the theme's own index stays empty."""
        if not isinstance(page, KbPage) and not (page.meta.get("search") or {}).get("exclude"):
            self.others += iter_page_docs(html, str(page.title or ""), page.url)
            page.meta["search"] = {"exclude": True}
        return html

    @event_priority(-100)
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Make a file of every script that the theme has put into the page, as a strict content policy wants it."""
        if self.progress and isinstance(page, KbPage):
            self.made += 1
            self.progress(self.made, self.stale)
        top = "../" * page.url.count("/")

        def extract_script(match: re.Match[str]) -> str:
            name = f"{INLINE}/{sha256(match[1].encode()).hexdigest()[:16]}.js"
            self.scripts[name] = match[1]
            return f'<script src="{top}{name}"></script>'

        return _INLINE.sub(extract_script, output)

    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what is no page, and leave the search index as a script where pages can be read without a server."""
        for page in self.pages:
            self.built.pages[page.draft.uri] = BuiltPage(page.draft.stamp, page.file.dest_uri, tuple(page.wrong))
        self._write_files(config)
        self._write_search(config)
        for name, text in self.scripts.items():
            _write_text(os.path.join(config.site_dir, name), text)
        path = os.path.join(config.site_dir, "search", "search_index.json")
        if config.use_directory_urls or not os.path.isfile(path):
            return
        with open(path, encoding="utf-8") as file:
            index = file.read()
        _write_text(path.removesuffix("on"), f"var __index = {index}")

    def _write_search(self, config: MkDocsConfig) -> None:
        wiki, folder, urls = self.shown.wiki, self.shown.folder, self.shown.urls
        found = [*iter_wiki_docs(self.stamps, lambda uri: folder + urls[uri].removeprefix("./")), *self.others]
        docs = sorted(found, key=lambda doc: doc.sort_key)
        self.built.docs.update((doc.url, doc.stamp) for doc in docs)
        language, words = wiki.config.language, wiki.told.wording
        parts = {path for path in self.known.files if path.startswith(FOLDER)}
        told = compare_index(self.known.docs, docs) if parts and parts <= _list_files(config.site_dir, FOLDER) else None
        files = (
            build_changed_files(config.site_dir, told, self.memory, language, words) if told and self.memory else None
        )
        if files is not None:
            self.built.files.update((path, "") for path in (*parts, *files))
        keep = self.memory.add_terms if self.memory else None
        for path, text in files.items() if files is not None else iter_index_files(docs, language, words, keep):
            if text:
                self._write_if_changed(config, path, "", partial(str, text))
            else:
                del self.built.files[path]
        if self.memory:
            self.memory.save()

    def _write_files(self, config: MkDocsConfig) -> None:
        folder = self.shown.folder
        published = config.site_url.rstrip("/") + "/" + folder if config.site_url else ""
        known = self._load_known_rows(os.path.join(config.site_dir, folder + RECORDS))
        for path, made_of, make in files_of(self.shown.wiki, self.stamps, self.shown.urls, published, known):
            self._write_if_changed(config, folder + path, made_of, make)

    def _load_known_rows(self, path: str) -> dict[str, Any]:
        """Return what the file *path* of the site before says of the records that are as they were."""
        kept = {page.draft.uri: self.shown.urls[page.draft.uri] for page in self.pages if not page.file.is_modified()}
        if not kept or not os.path.isfile(path):
            return {}
        with open(path, encoding="utf-8") as file:
            rows = {row["url"]: row for row in json.load(file)["records"]}
        return {uri: rows[url] for uri, url in kept.items() if url in rows}

    def _write_if_changed(self, config: MkDocsConfig, path: str, made_of: str, make: Callable[[], str]) -> None:
        """Write the file *path*, unless one that is *made_of* the same stands there."""
        place = os.path.join(config.site_dir, path)
        self.built.files[path] = made_of
        if not made_of or self.known.files.get(path) != made_of or not os.path.isfile(place):
            _write_text(place, make())

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
        """Let `mkdocs serve` build again when a record changes."""
        assert self.knowledge is not None
        content = os.path.join(self.knowledge.root, "content")
        if os.path.isdir(content):
            server.watch(content)
        return server


def _list_files(site: str, folder: str) -> set[str]:
    """Return the files below the *folder* of the *site*, relative to the site, with forward slashes."""
    places = (os.path.join(place, name) for place, _, names in os.walk(os.path.join(site, folder)) for name in names)
    return {os.path.relpath(place, site).replace(os.sep, "/") for place in places}


def _write_text(path: str, text: str) -> None:
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _read_asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
