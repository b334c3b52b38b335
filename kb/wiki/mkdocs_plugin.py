"""The mkdocs plugin: give mkdocs the pages of a knowledge base, made in memory, and make the styles of the site light.

What the pages of the wiki never show needs no rules, and no page waits for it.
"""

from __future__ import annotations

import json
import logging
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from mkdocs.config import config_options
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page as MkDocsPage
from mkdocs.structure.toc import get_toc
from mkdocs.utils import nest_paths

from kb.files import write_file
from kb.i18n import msg
from kb.records.model import is_imported
from kb.wiki.build_cache import BuiltPage, BuiltSite, PageFingerprints, hash_common_parts
from kb.wiki.page_parts import get_compiled_templates
from kb.wiki.render import render_page, sanitise_title
from kb.wiki.search_index import (
    FOLDER,
    SearchDoc,
    TermCache,
    build_changed_files,
    build_engine_script,
    iter_index_files,
    iter_page_docs,
    iter_wiki_docs,
)
from kb.wiki.site_data import RECORDS
from kb.wiki.wiki_model import PageDraft, Wiki, WikiPage
from kb.wiki.wiki_site import NAVIGATION, collect_wiki, iter_drafts, iter_site_files, resolve_record_href

if TYPE_CHECKING:
    from typing import Any

    from jinja2 import Environment

    from kb.knowledge_base import KnowledgeBase


_WORKER = re.compile(r"assets/javascripts/workers/search\.\w+\.min\.js")
"""The search worker of the material theme."""
SEARCH = "assets/kb-search.js"
"""Loaded before the theme's own script, which starts the search."""
ENGINE = "assets/kb-search-engine.js"
FILTERS = "assets/kb-find.js"
STYLE = "assets/kb.css"
SITE_STYLE = "assets/kb-site.css"
SCRIPT = "assets/kb.js"
LATER = (
    "assets/kb-graph.js",
    "assets/kb-lists.js",
    "assets/kb-palette.js",
    "assets/kb-language.js",
    "assets/kb-words.js",
    "assets/kb-plain.css",
    SITE_STYLE,
)
"""Loaded by the script above, where a page needs them; and the styles of pages without a theme, and of a whole site."""
INLINE = "assets/inline"
_THEME_STYLE = re.compile(r"assets/stylesheets/(?:main|palette)\.\w+\.min\.css")
_NOT_FOUND = re.compile(r"<h1>404[^<]*</h1>")
_HREF = re.compile(r'href="kb:([^"?#]*)')
_INLINE = re.compile(r"(?s)<script>((?:[^<]|<(?!/?script>))*+)</script>")
_LOG = logging.getLogger("mkdocs.plugins.kb")


class PluginSettings(Config):  # type: ignore[no-untyped-call]
    """What is under the plugin's name in mkdocs.yml."""

    root = config_options.Type(str, default="")
    """The knowledge base; relative to mkdocs.yml, and by default next to it."""
    folder = config_options.Type(str, default="kb")
    """Where the pages are in a site that has pages of its own; without any they are the whole site."""


class PublishedWiki(NamedTuple):
    """A wiki, and where the site has put it."""

    wiki: Wiki
    folder: str
    """"", or the folder of the wiki within the site, with a slash."""
    root: str
    """The knowledge base on disk."""
    urls: dict[str, str]
    """Page of the wiki → its address, relative to the wiki's top."""


class KbFile(File):
    """The file of a page, which a build over an earlier one may find there as it would be made."""

    is_kept = False

    def is_modified(self) -> bool:
        """Return whether the page has to be made."""
        return not self.is_kept


class KbPage(MkDocsPage):
    """A page that renders itself, safely, instead of by the site's Markdown extensions."""

    def __init__(self, draft: PageDraft, file: File, config: MkDocsConfig, published: PublishedWiki) -> None:
        """Put the page that *draft* makes in place of *file*."""
        super().__init__(None, file, config)
        self.draft = draft
        self.published = published
        self.problems: list[str] = []
        """The broken links and citations."""

    def read_source(self, config: MkDocsConfig) -> None:
        """Take the text from memory; what looks like a template in it is text."""
        self.markdown = ""
        self.meta = {"render_macros": False, "search": {"exclude": True}}

    def render(self, config: MkDocsConfig, files: Files) -> None:
        """Turn the markdown into HTML, and warn of broken links and citations."""
        page, urls = self.draft.make(), self.published.urls
        top = "../" * self.file.url.count("/") + self.published.folder
        done = render_page(
            page.parts, lambda href: self._resolve_href(page, href, files), lambda uri: top + urls.get(uri, uri)
        )
        self.content = done.html
        toc: list[Any] = []
        path: list[Any] = []
        for level, anchor, text in done.headings:
            token = {"level": level, "id": anchor, "name": sanitise_title(text), "children": []}
            while path and path[-1]["level"] >= level:
                path.pop()
            (path[-1]["children"] if path else toc).append(token)
            path.append(token)
        self.toc = get_toc(toc)
        self.present_anchor_ids = {heading.anchor for heading in done.headings}
        self.title = sanitise_title(page.name or done.headings[0].text)
        for words in page.broken:
            self.problems.append(f"{page.source or page.uri}: {msg('there is no record {words}', words=words)}")
        for problem in self.problems:
            _LOG.warning("%s", problem)

    def _resolve_href(self, page: WikiPage, href: str, files: Files) -> str:
        """Return the address that *href* means on *page*; "" for nothing, which is a problem."""
        if href.startswith("#") or not href:
            return href
        wiki, folder, root, _ = self.published
        own = resolve_record_href(wiki, page, href)
        path, mark, anchor = (own or href).partition("#")
        path = path if own else posixpath.normpath(posixpath.join(posixpath.dirname(page.uri), unquote(path)))
        if found := files.get_file_from_path(folder + path):
            return found.url_relative_to(self.file) + mark + anchor
        if page.source and not os.path.exists(os.path.join(root, os.path.dirname(page.source), unquote(href))):
            # What came from another repository links to files that nobody has here.
            position = wiki.library.by_path.get(page.source)
            if position is None or not is_imported(wiki.library.records[position].extra):
                self.problems.append(f"{page.source}: {msg('the link {target} is broken', target=href)}")
        return ""


class KbPlugin(BasePlugin[PluginSettings]):  # type: ignore[no-untyped-call]
    """Adds the pages of a knowledge base to a mkdocs site."""

    knowledge: KnowledgeBase | None = None
    opened = False
    """Whether the plugin opened it and has to close it."""
    site: object = None
    """What the driver of a build over an earlier one knows of the site: it is part of what all pages have in common."""
    before: BuiltSite = BuiltSite()
    """What the site holds already; nothing, where it is built again."""
    progress: Callable[[int, int], object] | None = None
    """Is told how many pages are made, and of how many."""
    made = stale = 0
    memory: TermCache | None = None
    """Of which terms the index before was made."""
    known: BuiltSite
    """The site before, as far as it is made in the way in which it would be made now."""
    built: BuiltSite
    published: PublishedWiki
    pages: list[KbPage]
    others: list[SearchDoc]
    """What can be found in pages of the site that are none of the wiki."""
    fingerprints: PageFingerprints
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
        """Add the pages, and the search that knows Chinese in place of the theme's."""
        assert self.knowledge is not None
        try:
            wiki = collect_wiki(self.knowledge)
        finally:
            if self.opened:
                self.knowledge.close()
        # A site without pages in its navigation counts as one without pages: the wiki is the whole of it.
        own = [file.src_uri for file in files.documentation_pages() if file.inclusion.is_in_nav()]  # type: ignore[no-untyped-call]
        folder = self.config.folder.strip("/") + "/" if own else ""
        self.published = PublishedWiki(wiki, folder, self.knowledge.root, {})
        self._add_pages(files, config)
        # The pages of the wiki join the navigation, unless the site's own already names one of them.
        ours = [folder + uri for uri in NAVIGATION]
        nav = config.nav if config.nav is not None else nest_paths(own)  # type: ignore[no-untyped-call]
        if folder and f"'{folder}" in repr(nav):
            config.nav = nav
        else:
            config.nav = [*nav, {sanitise_title(self.knowledge.config.name): ours}] if folder else ours
        script = shrink_script(build_engine_script())
        for worker in [file for file in files if _WORKER.fullmatch(file.src_uri)]:
            files.remove(worker)
            files.append(File.generated(config, worker.src_uri, content=script))
        files.append(File.generated(config, ENGINE, content=script))
        if SITE_STYLE in config.extra_css:  # the wiki is the whole site, with our settings
            for style in [file for file in files if _THEME_STYLE.fullmatch(file.src_uri)]:
                files.remove(style)
                content = trim_theme_styles(style.content_string)
                files.append(File.generated(config, style.src_uri, content=content))
        for uri in (STYLE, SCRIPT, SEARCH, FILTERS, *LATER):
            with open(os.path.join(os.path.dirname(__file__), uri), encoding="utf-8") as asset:
                text = asset.read()
            shown = shrink_styles(text) if uri.endswith(".css") else shrink_script(text)
            files.append(File.generated(config, uri, content=shown))
        return files

    def _add_pages(self, files: Files, config: MkDocsConfig) -> None:
        wiki, folder, _, urls = self.published
        self.fingerprints = PageFingerprints(wiki)
        self.built = BuiltSite(hash_common_parts(wiki, self.site))
        self.known = self.before if self.before.frame == self.built.frame else BuiltSite()
        # mkdocs builds "dirty" over an earlier site; pages that are none of ours are made all the same.
        for other in files.documentation_pages():
            other.is_modified = lambda: True  # type: ignore[method-assign]
        for draft in iter_drafts(self.fingerprints):
            inclusion = InclusionLevel.INCLUDED if draft.uri in NAVIGATION else InclusionLevel.NOT_IN_NAV
            file = KbFile.generated(config, folder + draft.uri, content="", inclusion=inclusion)
            assert isinstance(file, KbFile)
            page = KbPage(draft, file, config, self.published)
            kept = self.known.pages.get(draft.uri)
            # The pages of the navigation are always made: mkdocs takes their titles from them.
            if kept and kept.fingerprint == draft.fingerprint and draft.uri not in NAVIGATION:
                file.is_kept = os.path.isfile(file.abs_dest_path)
                page.problems += kept.problems if file.is_kept else ()
            files.append(file)
            self.pages.append(page)
            self.stale += not file.is_kept
            urls[draft.uri] = file.url.removeprefix(folder) or "./"

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> Environment:
        """Compile the templates of the theme once, though a served wiki is built again and again."""
        env.bytecode_cache = get_compiled_templates()
        return env

    @event_priority(-100)
    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Take the other pages of the site into the search as well: the theme's own index stays empty."""
        if not isinstance(page, KbPage) and not (page.meta.get("search") or {}).get("exclude"):
            self.others += iter_page_docs(html, str(page.title or ""), page.url)
            page.meta["search"] = {"exclude": True}
        return html

    def on_post_template(self, output: str, *, template_name: str, config: MkDocsConfig) -> str:
        """Put on the page of what is not there a way on, in place of the two words of the theme."""
        if template_name != "404.html" or not _NOT_FOUND.search(output):
            return output
        wiki, folder, _, urls = self.published
        top = urlsplit(config.site_url or "/").path.rstrip("/") + "/" + folder
        missing = wiki.render("lists.missing", top)
        shown = _HREF.sub(lambda match: f'href="{top}{urls.get(match[1], match[1])}"', missing)
        return self._extract_scripts(_NOT_FOUND.sub(lambda _: shown, output, count=1), top.removesuffix(folder))

    @event_priority(-100)
    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Make a file of every script that the theme has put into the page, as a strict content policy wants it."""
        if self.progress and isinstance(page, KbPage):
            self.made += 1
            self.progress(self.made, self.stale)
        return self._extract_scripts(output, "../" * page.url.count("/"))

    def _extract_scripts(self, output: str, top: str) -> str:
        def extract_script(match: re.Match[str]) -> str:
            name = f"{INLINE}/{sha256(match[1].encode()).hexdigest()[:16]}.js"
            self.scripts[name] = match[1]
            return f'<script src="{top}{name}"></script>'

        return _INLINE.sub(extract_script, output)

    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Write what is no page, and leave the search index as a script where pages can be read without a server."""
        for page in self.pages:
            built = BuiltPage(page.draft.fingerprint, page.file.dest_uri, tuple(page.problems))
            self.built.pages[page.draft.uri] = built
        _, folder, _, urls = self.published
        top = config.site_url.rstrip("/") + "/" + folder if config.site_url else ""
        unchanged = self._load_unchanged_rows(os.path.join(config.site_dir, folder + RECORDS))
        for name, fingerprint, make in iter_site_files(self.fingerprints, urls, top, unchanged):
            path, mark = folder + name, self.known.files.get(folder + name)
            self.built.files[path] = fingerprint
            target = os.path.join(config.site_dir, path)
            if not fingerprint or mark != fingerprint or not os.path.isfile(target):
                write_file(target, make().encode())
        self._write_search(config)
        for name, text in self.scripts.items():
            write_file(os.path.join(config.site_dir, name), text.encode())
        path = os.path.join(config.site_dir, "search", "search_index.json")
        if not config.use_directory_urls and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                write_file(path.removesuffix("on"), f"var __index = {file.read()}".encode())

    def _load_unchanged_rows(self, path: str) -> dict[str, Any]:
        """Return what the file *path* of the site before says of the records that are as they were."""
        kept = [page.draft.uri for page in self.pages if not page.file.is_modified()]
        if not kept or not os.path.isfile(path):
            return {}
        with open(path, encoding="utf-8") as file:
            rows = {row["url"]: row for row in json.load(file)["records"]}
        return {uri: rows[url] for uri in kept if (url := self.published.urls[uri]) in rows}

    def _write_search(self, config: MkDocsConfig) -> None:
        """Write the index of the search: where few pages have changed, over the one that is there."""
        wiki, folder, _, urls = self.published
        found = [*iter_wiki_docs(self.fingerprints, lambda uri: folder + urls[uri].removeprefix("./")), *self.others]
        docs = sorted(found, key=lambda doc: doc.sort_key)
        self.built.docs.update((doc.url, doc.fingerprint) for doc in docs)
        language, words, memory = wiki.config.language, wiki.sources.word_lists, self.memory
        parts = {path for path in self.known.files if path.startswith(FOLDER)}
        files = None
        if memory and parts and all(os.path.isfile(os.path.join(config.site_dir, path)) for path in parts):
            files = build_changed_files(config.site_dir, self.known.docs, docs, memory, language, words)
        if files is not None:
            self.built.files.update(dict.fromkeys(parts, ""))
        keep = memory.add_terms if memory else None
        for path, text in files.items() if files is not None else iter_index_files(docs, language, words, keep):
            self.built.files[path] = ""
            write_file(os.path.join(config.site_dir, path), text.encode())
        if memory:
            memory.save()

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
        """Let `mkdocs serve` build again when a record changes."""
        assert self.knowledge is not None
        content = os.path.join(self.knowledge.root, "content")
        if os.path.isdir(content):
            server.watch(content)
        return server


UNUSED = (
    "admonition annotate author banner consent critic feedback footnote giscus grid highlighttable keys lightbox"
    " linenos mermaid pagination post profile select social source tabbed tabs tag task-list"
    " tooltip tooltip2 twemoji version"
).split()
"""Parts of Material for MkDocs that are no part of a wiki: classes .md-<name>, .md-<name>__… and .<name>…; nor are the
colours other than that of assets/mkdocs.json."""

_NAMES = "|".join(UNUSED)
_UNUSED_CLASS = re.compile(rf"\.(?:md-)?(?:{_NAMES})(?=[_:.>+~ \[-]|\d*\Z)|\.(?:tabbed|admonition|task-list|footnote)-")
_OTHER_COLOUR = re.compile(r"\[data-md-color-(?:primary|accent)=(?!teal\])")
_UNUSED_VALUE = re.compile(rf"--md-(?:{_NAMES}|tasklist|footnotes)[\w-]*:(?:[^;\"']|\"[^\"]*\"|'[^']*')*;?")
_INSIDE = re.compile(r"\([^()]*\)")
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*\*/")
_COMMENT_LINE = re.compile(r"(?m)^[ \t]*+(?:/\*(?:[^*]|\*(?!/))*\*/[ \t]*|//[^\n]*)$")
_SPACE = re.compile(r"\s+")


def trim_theme_styles(text: str) -> str:
    """Return the styles *text* of the theme without the rules for what a wiki never shows."""
    return "".join(_iter_rules(text))


def shrink_styles(text: str) -> str:
    """Return the styles *text* without comments and line ends."""
    return _SPACE.sub(" ", _COMMENT.sub("", text)).strip() + "\n"


def shrink_script(text: str) -> str:
    """Return the script *text* without indentation and without comments that begin a line."""
    return "\n".join(filter(None, map(str.strip, _COMMENT_LINE.sub("", text).splitlines()))) + "\n"


def _iter_rules(text: str) -> Iterator[str]:
    for head, body in _split_blocks(text):
        if not body:
            yield head
        elif head.lstrip().startswith("@"):
            is_group = head.lstrip().startswith(("@media", "@supports"))
            inner = "".join(_iter_rules(body)) if is_group else body
            if inner:
                yield f"{head}{{{inner}}}"
        else:
            kept = [selector for selector in _split_selectors(head) if not _is_unused(selector)]
            rules = _UNUSED_VALUE.sub("", body)
            if kept and rules:
                yield f"{','.join(kept)}{{{rules}}}"


def _split_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each block as what precedes its brace and what is between; a statement without has no body."""
    depth, start, opened, quote = 0, 0, 0, ""
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[at - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "{":
            opened = opened if depth else at
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                yield text[start:opened], text[opened + 1 : at]
                start = at + 1
        elif sign == ";" and not depth:
            yield text[start : at + 1], ""
            start = at + 1


def _split_selectors(head: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, sign in enumerate(head):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            yield head[start:at]
            start = at + 1
    yield head[start:]


def _is_unused(selector: str) -> bool:
    """Return whether *selector* needs a part that no page has; what is in brackets is one choice of several."""
    before = ""
    while before != selector:
        before, selector = selector, _INSIDE.sub("", selector)
    return _UNUSED_CLASS.search(selector) is not None or _OTHER_COLOUR.search(selector) is not None
