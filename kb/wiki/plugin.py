"""The mkdocs plugin: it hands mkdocs the pages of a knowledge base, made in memory."""

from __future__ import annotations

import logging
import os
import posixpath
import re
from collections.abc import Callable
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

from kb.digest import sha256
from kb.patterns import regex
from kb.values import TYPE_CHECKING, NamedTuple
from kb.wiki.files import files as files_of
from kb.wiki.gather import gathered
from kb.wiki.markup import bare
from kb.wiki.pages import located, navigation, pages
from kb.wiki.render import Heading, rendered
from kb.wiki.searching import Doc, docs_in, docs_of, engine, index_files
from kb.wiki.whole import Page, Wiki
from kb.words import say

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase

_WORKER = regex(r"assets/javascripts/workers/search\.\w+\.min\.js")
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
_INLINE = regex(r"(?s)<script>(.*?)</script>")
_LOG = logging.getLogger("mkdocs.plugins.kb")


class Settings(Config):  # type: ignore[no-untyped-call]
    """What stands under the plugin's name in mkdocs.yml."""

    root = config_options.Type(str, default="")
    """The knowledge base; relative to mkdocs.yml, and by default beside it."""
    folder = config_options.Type(str, default="kb")
    """Where the pages stand in a site that has pages of its own; without any they are the whole site."""


class KbPage(MkDocsPage):
    """A page that renders itself, safely, instead of by the site's Markdown extensions."""

    def __init__(self, page: Page, file: File, config: MkDocsConfig, shown: Shown) -> None:
        """Put *page* in the place of *file*."""
        super().__init__(None, file, config)
        self.made = page
        self.shown = shown

    def read_source(self, config: MkDocsConfig) -> None:
        """Take the text from memory; what looks like a template in it is text."""
        self.markdown = self.made.text
        self.meta = {"render_macros": False, "search": {"exclude": True}}

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Turn the markdown into HTML, and warn of what leads nowhere."""
        page = self.made

        def target(href: str) -> str:
            return self.shown.address(page, href, self.file, files)

        done = rendered(page.parts, target, self.shown.up(self.file), page.searched)
        self.content = done.html
        self.toc = get_toc(contents(done.headings))
        self.present_anchor_ids = {heading.anchor for heading in done.headings}
        self.title = bare(page.name or done.headings[0].text)
        for words in page.broken:
            _LOG.warning("%s: %s", page.source or page.uri, say("{words}: no such record", words=words))


class Shown(NamedTuple):
    """A wiki, and where the site has put it."""

    wiki: Wiki
    folder: str
    """"", or the folder of the wiki within the site, with a slash."""
    root: str
    """The knowledge base on disk."""
    urls: dict[str, str]
    """Page of the wiki → its address, relative to the wiki's top."""

    def up(self, file: File) -> Callable[[str], str]:
        """Return what answers a page or a file of the wiki with its address as *file* sees it."""
        top = "../" * file.url.count("/") + self.folder
        return lambda uri: top + self.urls.get(uri, uri)

    def address(self, page: Page, href: str, file: File, files: Files) -> str:
        """Return the address of what *href* means on *page*, which is *file*; warn, and return "", for nothing."""
        path, mark, anchor = href.partition("#")
        if not path:
            return href
        own = located(self.wiki, page, href)
        path, mark, anchor = own.partition("#") if own else (self._beside(page, path), mark, anchor)
        found = files.get_file_from_path(self.folder + path)
        if found:
            return found.url_relative_to(file) + mark + anchor
        if page.source and not os.path.exists(os.path.join(self.root, os.path.dirname(page.source), unquote(href))):
            _LOG.warning("%s: %s", page.source, say("the link {target} leads nowhere", target=href))
        return ""

    def _beside(self, page: Page, path: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(page.uri), unquote(path)))


def contents(headings: tuple[Heading, ...]) -> list[Any]:
    """Return *headings* as the tree of which mkdocs makes the table of contents."""
    top: list[Any] = []
    path: list[Any] = []
    for heading in headings:
        token = {"level": heading.level, "id": heading.anchor, "name": bare(heading.text), "children": []}
        while path and path[-1]["level"] >= heading.level:
            path.pop()
        (path[-1]["children"] if path else top).append(token)
        path.append(token)
    return top


class KbPlugin(BasePlugin[Settings]):  # type: ignore[no-untyped-call]
    """Adds the pages of a knowledge base to a mkdocs site."""

    knowledge: KnowledgeBase | None = None
    opened = False
    """Whether the plugin opened it and has to close it."""
    shown: Shown
    others: list[Doc]
    """What can be found in pages of the site that are none of the wiki."""
    scripts: dict[str, str]
    """Files made of the scripts that stood in pages, relative to the site's top."""

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Open the knowledge base and announce what the pages need."""
        self.scripts, self.others = {}, []
        if self.knowledge is None:
            from kb.knowledge import KnowledgeBase

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
            made = gathered(self.knowledge)
        finally:
            if self.opened:
                self.knowledge.close()
        own = [file.src_uri for file in files.documentation_pages() if file.inclusion.is_in_nav()]  # type: ignore[no-untyped-call]
        folder = self.config.folder.strip("/") + "/" if own else ""
        self.shown = Shown(made, folder, self.knowledge.root, {})
        named = navigation(made)
        for page in pages(made):
            inclusion = InclusionLevel.INCLUDED if page.uri in named else InclusionLevel.NOT_IN_NAV
            file = File.generated(config, folder + page.uri, content=page.text, inclusion=inclusion)
            files.append(file)
            KbPage(page, file, config, self.shown)
            self.shown.urls[page.uri] = file.url.removeprefix(folder) or "./"
        self._set_nav(config, own, folder, [folder + uri for uri in named])
        self._set_search(files, config)
        return files

    def _set_nav(self, config: MkDocsConfig, own: list[str], folder: str, ours: list[str]) -> None:
        """Name *ours* in the navigation, unless the site's own navigation already names a page of the wiki."""
        assert self.knowledge is not None
        given = config.nav if config.nav is not None else nest_paths(own)  # type: ignore[no-untyped-call]
        if folder and f"'{folder}" in repr(given):
            config.nav = given
        else:
            config.nav = [*given, {bare(self.knowledge.config.name): ours}] if folder else ours

    def _set_search(self, files: Files, config: MkDocsConfig) -> None:
        script = engine()
        for worker in [file for file in files if _WORKER.fullmatch(file.src_uri)]:
            files.remove(worker)
            files.append(File.generated(config, worker.src_uri, content=script))
        files.append(File.generated(config, ENGINE, content=script))
        for uri in (STYLE, SCRIPT, SEARCH, FILTERS, *LATER):
            files.append(File.generated(config, uri, content=_asset(posixpath.basename(uri))))

    @event_priority(-100)
    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Take the other pages of the site into the search as well: the theme's own index stays empty."""
        if not isinstance(page, KbPage) and not (page.meta.get("search") or {}).get("exclude"):
            self.others += docs_in(html, str(page.title or ""), page.url)
            page.meta["search"] = {"exclude": True}
        return html

    @event_priority(-100)
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Make a file of every script that the theme has put into the page, as a strict content policy wants it."""
        top = "../" * page.url.count("/")

        def moved(match: re.Match[str]) -> str:
            name = f"{INLINE}/{sha256(match[1].encode()).hexdigest()[:16]}.js"
            self.scripts[name] = match[1]
            return f'<script src="{top}{name}"></script>'

        return _INLINE.sub(moved, output)

    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what is no page, and leave the search index as a script where pages can be read without a server."""
        self._write_files(config)
        self._write_search(config)
        for name, text in self.scripts.items():
            _write(os.path.join(config.site_dir, name), text)
        path = os.path.join(config.site_dir, "search", "search_index.json")
        if config.use_directory_urls or not os.path.isfile(path):
            return
        with open(path, encoding="utf-8") as file:
            index = file.read()
        with open(path.removesuffix("on"), "w", encoding="utf-8") as file:
            file.write(f"var __index = {index}")

    def _write_search(self, config: MkDocsConfig) -> None:
        wiki, folder, urls = self.shown.wiki, self.shown.folder, self.shown.urls
        docs = [*docs_of(wiki, lambda uri: folder + urls[uri].removeprefix("./")), *self.others]
        for path, text in index_files(docs, wiki.config.language, wiki.told.wording):
            _write(os.path.join(config.site_dir, path), text)

    def _write_files(self, config: MkDocsConfig) -> None:
        folder = self.shown.folder
        published = config.site_url.rstrip("/") + "/" + folder if config.site_url else ""
        for path, text in files_of(self.shown.wiki, self.shown.urls, published):
            _write(os.path.join(config.site_dir, folder + path), text)

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
        """Build again when a record changes."""
        assert self.knowledge is not None
        content = os.path.join(self.knowledge.root, "content")
        if os.path.isdir(content):
            server.watch(content)
        return server


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
