"""The mkdocs plugin: it hands mkdocs the pages of a knowledge base, made in memory."""

from __future__ import annotations

import os
import posixpath
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

from kb.patterns import regex
from kb.values import TYPE_CHECKING
from kb.wiki.markup import bare
from kb.wiki.pages import Chapter, Page, Wiki, navigation, pages, wiki
from kb.wiki.render import Heading, rendered

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge import KnowledgeBase

_WORKER = regex(r"assets/javascripts/workers/search\.\w+\.min\.js")
"""The search worker of the material theme."""
SEARCH = "assets/kb-search.js"
STYLE = "assets/kb.css"


class Settings(Config):  # type: ignore[no-untyped-call]
    """What stands under the plugin's name in mkdocs.yml."""

    root = config_options.Type(str, default="")
    """The knowledge base; relative to mkdocs.yml, and by default beside it."""
    folder = config_options.Type(str, default="kb")
    """Where the pages stand in a site that has pages of its own; without any they are the whole site."""


class KbPage(MkDocsPage):
    """A page that renders itself, safely, instead of by the site's Markdown extensions."""

    def __init__(self, page: Page, file: File, config: MkDocsConfig) -> None:
        """Put *page* in the place of *file*."""
        super().__init__(None, file, config)
        self.made = page

    def read_source(self, config: MkDocsConfig) -> None:
        """Take the text from memory; what looks like a template in it is text."""
        self.markdown = self.made.text
        self.meta = {"render_macros": False, **({"search": {"exclude": True}} if self.made.listing else {})}

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Turn the markdown into HTML."""
        assert self.markdown is not None
        page = rendered(self.markdown, lambda href: address(href, self.file, files), self.made.unsearched)
        self.content = page.html
        self.toc = get_toc(contents(page.headings))
        self.present_anchor_ids = {heading.anchor for heading in page.headings}
        self.title = bare(self.made.name or page.headings[0].text)


def address(href: str, file: File, files: Files) -> str:
    """Return the address of what *href* means on the page of *file*, or "" where the site has nothing there."""
    path, mark, anchor = href.partition("#")
    if not path:
        return href
    uri = posixpath.normpath(posixpath.join(posixpath.dirname(file.src_uri), unquote(path)))
    found = files.get_file_from_path(uri)
    return found.url_relative_to(file) + mark + anchor if found else ""


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

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Open the knowledge base and announce what the pages need."""
        if self.knowledge is None:
            from kb.knowledge import KnowledgeBase

            beside = os.path.dirname(config.config_file_path or "")
            self.knowledge = KnowledgeBase.at(os.path.join(beside, self.config.root))
            self.opened = True
        if STYLE not in config.extra_css:
            config.extra_css.append(STYLE)
        polyfills = config.extra.setdefault("polyfills", [])
        if SEARCH not in polyfills:
            polyfills.append(SEARCH)
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Add the pages, and the search that knows Chinese in the place of the theme's."""
        assert self.knowledge is not None
        try:
            made = _wiki(self.knowledge)
        finally:
            if self.opened:
                self.knowledge.close()
        own = [file.src_uri for file in files.documentation_pages() if file.inclusion.is_in_nav()]  # type: ignore[no-untyped-call]
        folder = self.config.folder.strip("/") + "/" if own else ""
        for page in pages(made):
            inclusion = InclusionLevel.INCLUDED if page.listing else InclusionLevel.NOT_IN_NAV
            file = File.generated(config, folder + page.uri, content=page.text, inclusion=inclusion)
            files.append(file)
            KbPage(page, file, config)
        self._set_nav(config, own, folder, navigation(made))
        self._set_search(files, config)
        return files

    def _set_nav(self, config: MkDocsConfig, own: list[str], folder: str, chapters: list[Chapter]) -> None:
        """Name the listing pages in the navigation, unless the site's own navigation already names one."""
        assert self.knowledge is not None
        ours: list[Any] = []
        for chapter in chapters:
            uris = [folder + uri for uri in chapter.uris]
            ours += [{chapter.title: uris}] if chapter.title and uris else uris
        given = config.nav if config.nav is not None else nest_paths(own)  # type: ignore[no-untyped-call]
        if folder and f"'{folder}" in repr(given):
            config.nav = given
        else:
            config.nav = [*given, {bare(self.knowledge.config.name): ours}] if folder else ours

    def _set_search(self, files: Files, config: MkDocsConfig) -> None:
        script = _asset("search.js")
        for worker in [file for file in files if _WORKER.fullmatch(file.src_uri)]:
            files.remove(worker)
            files.append(File.generated(config, worker.src_uri, content=script))
        files.append(File.generated(config, SEARCH, content=script))
        files.append(File.generated(config, STYLE, content=_asset("kb.css")))

    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Leave the search index as a script too where the pages can be read without a server."""
        path = os.path.join(config.site_dir, "search", "search_index.json")
        if config.use_directory_urls or not os.path.isfile(path):
            return
        with open(path, encoding="utf-8") as file:
            index = file.read()
        with open(path.removesuffix("on"), "w", encoding="utf-8") as file:
            file.write(f"var __index = {index}")

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
        """Build again when a record changes."""
        assert self.knowledge is not None
        content = os.path.join(self.knowledge.root, "content")
        if os.path.isdir(content):
            server.watch(content)
        return server


def _wiki(kb: KnowledgeBase) -> Wiki:
    return wiki(kb.records(), [(session, _compact(kb, session.name)) for session in kb.sessions()], kb.config)


def _compact(kb: KnowledgeBase, name: str) -> str:
    """Return the compact form of the session *name*, or "" for an archive that has lost it."""
    try:
        return kb.session_file(name, "compact.md")
    except FileNotFoundError:
        return ""


def _asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
