"""Build and serve the wiki of a knowledge base."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from kb.errors import BadInput, KbError, describe_os_error
from kb.i18n import Message, msg
from kb.wiki.build_cache import (
    BuiltSite,
    load_built_site,
    locate_state,
    remove_stale_files,
    save_built_site,
)
from kb.wiki.render import sanitise_title
from kb.wiki.search_index import TermCache

if TYPE_CHECKING:
    from typing import Any

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer

    from kb.knowledge_base import KnowledgeBase
    from kb.wiki.mkdocs_plugin import KbPlugin

ADDRESS = "127.0.0.1:8000"
_LAST_PORT = 65535
POLL = 0.2
"""Seconds between two looks at the files that a served wiki is made of."""
OWN_CONFIG = "mkdocs.yml"
BUILDERS = ("mkdocs", "properdocs")
"""What can build the site: MkDocs, and what continues it and takes the same settings, plugins and themes."""
PLAIN = {"material/search", "search", "kb"}
"""Plugins beside which a page is made of nothing that we do not know."""
MAX_WARNINGS = 10
"""Warnings that a failed strict build prints."""
REFS = ("refs/heads", "refs/kb", "packed-refs")
_MARK = os.path.join("assets", "kb-search.js")
"""What every wiki we built has, and no other folder."""


# -- settings -------------------------------------------------------------------------------------


def has_own_config(kb: KnowledgeBase) -> bool:
    """Return whether the knowledge base brings a `mkdocs.yml`."""
    return os.path.isfile(os.path.join(kb.root, OWN_CONFIG))


@contextmanager
def prepare_config_file(kb: KnowledgeBase, own_config: bool) -> Iterator[str]:
    """Give the path of the mkdocs.yml to use; one of our own making lasts as long as the context."""
    if own_config and not has_own_config(kb):
        raise BadInput(msg("there is no {path} beside kb.toml", path=OWN_CONFIG), hint=msg("omit --own-config"))
    if own_config:
        yield os.path.join(kb.root, OWN_CONFIG)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="kb-wiki-") as folder:
        docs = os.path.join(folder, "docs")
        os.mkdir(docs)
        path = os.path.join(folder, OWN_CONFIG)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_build_mkdocs_settings(kb, docs), file)
        yield path


def _build_mkdocs_settings(kb: KnowledgeBase, docs: str) -> dict[str, Any]:
    """Return the mkdocs settings of a knowledge base that brings none; *docs* is an empty folder."""
    with open(os.path.join(os.path.dirname(__file__), "assets", "mkdocs.json"), encoding="utf-8") as file:
        settings: dict[str, Any] = json.load(file)
    settings["theme"]["language"] = kb.config.language
    # Each palette has a button that leads to the other one.
    names = ("深色", "浅色") if kb.config.language == "zh" else ("Dark", "Light")
    for palette, other in zip(settings["theme"]["palette"], names, strict=True):
        palette["toggle"]["name"] = other
    settings["plugins"]["kb"] = {"root": os.path.abspath(kb.root)}
    if kb.config.wiki_url:
        settings["site_url"] = kb.config.wiki_url.rstrip("/") + "/"
    return {"site_name": sanitise_title(kb.config.name), "docs_dir": docs, **settings}


# -- build ----------------------------------------------------------------------------------------


def build(
    kb: KnowledgeBase,
    out: str,
    strict: bool = True,
    tell: Callable[[str], object] = str,
    *,
    own_config: bool = False,
    builder: str = BUILDERS[0],
    progress: Callable[[int, int], object] | None = None,
) -> str:
    """Build the wiki of *kb* into the folder *out* and return the path of its first page.

    With *own_config* the `mkdocs.yml` of the knowledge base is used as it stands: it runs the plugins, hooks and
    templates that it names. *builder* is one of BUILDERS. With *strict* a warning, such as a citation that leads
    nowhere, is an error; without it *tell* gets each of them. *progress* is told how many pages are made, and of how
    many. Raise BadInput where *out* holds anything but an earlier wiki: what has not changed of that one stays, but for
    a *strict* build.
    """
    target, root = os.path.abspath(out), os.path.realpath(kb.root)
    if os.path.commonpath([os.path.realpath(target), root]) == os.path.realpath(target):
        raise BadInput(msg("the wiki cannot be built over the knowledge base itself"), path=target)
    if os.path.isdir(target) and os.listdir(target) and not os.path.isfile(os.path.join(target, _MARK)):
        raise BadInput(
            msg("the folder holds something else than a wiki, which building would delete"),
            path=target,
            hint=msg("name an empty or a new folder"),
        )
    _choose_builder(builder)
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    with prepare_config_file(kb, own_config) as config_file, _collect_warnings() as warnings:
        try:
            config = load_config(config_file=config_file, site_dir=target, strict=strict)
            problems = _build_site(config, kb, anew=strict, progress=progress)
        except MkDocsException as error:
            raise KbError(_format_build_failure(warnings or [error.format_message()])) from None
    for problem in dict.fromkeys([*warnings, *problems]):
        tell(problem)
    return os.path.join(target, "index.html")


def _choose_builder(builder: str) -> None:
    """Let *builder* answer to the name of mkdocs in this process, for the plugins and the theme as well."""
    if builder == BUILDERS[0]:
        return
    try:
        import_module(f"{builder}.replacement")
    except ImportError:
        raise KbError(msg("{builder} is not installed", builder=builder), hint=f"pip install {builder}") from None


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Collect what mkdocs warns of."""
    found: list[str] = []
    logger, collector = logging.getLogger("mkdocs"), logging.Handler(logging.WARNING)
    collector.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)


def _format_build_failure(problems: Sequence[str]) -> Message:
    """Return the message of a failed build: one problem alone, or their number and the first of them, one a line."""
    if len(problems) == 1:
        return msg("the wiki cannot be built: {problem}", problem=problems[0])
    lines = [f"\n    {problem}" for problem in problems[:MAX_WARNINGS]]
    lines += ["\n    …"] if len(problems) > MAX_WARNINGS else []
    return msg("the wiki cannot be built, {number} problems:{problems}", number=len(problems), problems="".join(lines))


def _build_site(
    config: MkDocsConfig, kb: KnowledgeBase, *, anew: bool, progress: Callable[[int, int], object] | None = None
) -> list[str]:
    """Build the site, over the existing one unless *again*, and return the broken links and citations."""
    from mkdocs.commands.build import build as mkdocs_build

    target = config.site_dir
    plugin: KbPlugin | None = config.plugins.get("kb")
    if plugin is None:
        hint = msg("add it there under plugins: - kb")
        raise BadInput(msg("the plugin kb is not enabled"), path=OWN_CONFIG, hint=hint)
    plugin.knowledge, plugin.progress = kb, progress
    plugin.site = _collect_site_state(config)
    # What another plugin or hook puts into a page has no fingerprint: beside one, every page is made each time.
    is_plain = set(config.plugins) <= PLAIN and not config.hooks and "INHERIT" not in str(plugin.site)
    if is_plain and not anew and os.path.isfile(os.path.join(target, _MARK)):
        plugin.before = load_built_site(kb, target)
    plugin.memory = TermCache(kb.state, *locate_state(target), "terms") if is_plain else None
    # A build that is interrupted leaves a site of which nothing is known: the next one makes all of it.
    save_built_site(kb, target, None)
    config.plugins.on_startup(command="build", dirty=False)
    with _prepare_process(plugin.before):
        mkdocs_build(config, dirty=bool(plugin.before.pages))
    config.plugins.on_shutdown()
    remove_stale_files(target, plugin.before, plugin.built)
    if is_plain:
        save_built_site(kb, target, plugin.built)
    return [problem for page in plugin.pages for problem in page.problems]


def _collect_site_state(config: MkDocsConfig) -> object:
    """Return what of the site's own settings and files all pages may show."""
    with open(config.config_file_path, encoding="utf-8") as file:
        settings = type(config).__module__ + file.read().replace(config.docs_dir, "")
    tops = [config.docs_dir, *filter(None, [config.theme.custom_dir])]
    files = (os.path.join(folder, name) for top in tops for folder, _, names in os.walk(top) for name in names)
    return settings, sorted((os.path.basename(path), os.stat(path).st_mtime_ns) for path in files)


@contextmanager
def _prepare_process(before: BuiltSite) -> Iterator[None]:
    """Let mkdocs build over the site *before* without its warning, and look for garbage seldom."""
    logger, thresholds = logging.getLogger("mkdocs.commands.build"), gc.get_threshold()
    quiet = lambda record: "dirty" not in record.msg  # noqa: E731
    if before.pages:  # what such a build leaves alone is as it would be
        logger.addFilter(quiet)
    gc.set_threshold(200_000, 20, 100)  # millions of values stay, and each look goes over all of them
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        logger.removeFilter(quiet)


# -- serve ----------------------------------------------------------------------------------------


def serve(
    kb: KnowledgeBase, address: str = ADDRESS, *, own_config: bool = False, show: Callable[[str], object] | None = None
) -> None:
    """Show the wiki of *kb* at *address* ("host:port") until interrupted, built again whenever a record changes.

    *own_config*: as for `build`; *show* is told the address of the first page once it is there. Raise BadInput where
    *address* is no host with a port, KbError where nothing can listen there.
    """
    from mkdocs.exceptions import MkDocsException

    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise BadInput(
            msg("{address} is not an address to listen on", address=address),
            hint=msg("give a host and a port up to {last}: {example}", last=_LAST_PORT, example=ADDRESS),
        )
    with prepare_config_file(kb, own_config) as config_file:
        try:
            # asked before the pages are made: with a thousand records that takes a minute
            socket.create_server((host.strip("[]"), int(port)), family=_choose_family(host)).close()
            server = create_server(kb, config_file, address)
            try:
                with contextlib.suppress(KeyboardInterrupt):
                    if show:
                        show(f"http://{address}/")
                    server.serve()  # type: ignore[no-untyped-call]
            finally:
                server.shutdown()
        except MkDocsException as error:
            raise KbError(msg("the wiki cannot be served: {problem}", problem=error.format_message())) from None
        except OSError as error:
            problem = msg("cannot listen on {address}: {problem}", address=address, problem=describe_os_error(error))
            other = f"{host}:{int(port) + 1 if int(port) < _LAST_PORT else _LAST_PORT - 1}"
            raise KbError(problem, hint=msg("try another port: kb wiki serve --address {other}", other=other)) from None


def _choose_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _read_error_page(site: str, code: int) -> bytes | None:
    with contextlib.suppress(OSError), open(os.path.join(site, f"{code}.html"), "rb") as file:
        return file.read()
    return None


def create_server(kb: KnowledgeBase, config_file: str, address: str) -> LiveReloadServer:
    """Return a server, not yet started, of the wiki of *kb*: built, and built over whenever what it watches changes."""
    from mkdocs.config import load_config
    from mkdocs.livereload import LiveReloadServer

    try:
        kb.state.ensure_folder()
        site = kb.state.path("wiki", f"served-{address.rpartition(':')[2]}")  # the same folder each time
    except OSError:
        from tempfile import mkdtemp

        site = mkdtemp(prefix="kb-wiki-")

    def load_server_config() -> MkDocsConfig:
        config = load_config(config_file=config_file, site_dir=site, dev_addr=address)
        config.site_url = f"http://{address}/"
        return config

    def rebuild_site() -> None:
        _build_site(load_server_config(), kb, anew=False)

    rebuild_site()
    config = load_server_config()
    host, port = config.dev_addr
    server = LiveReloadServer(rebuild_site, host, port, config.site_dir, polling_interval=POLL)
    server.error_handler = lambda code: _read_error_page(config.site_dir, code)
    # Where git keeps the refs of reviews and of the inbox: folders that are there for as long as the repository. One
    # below them, such as refs/kb/inbox, git deletes with its last ref and makes again with the next.
    heads, own, packed = (os.path.join(kb.repository.common_dir, *name.split("/")) for name in REFS)
    with contextlib.suppress(OSError):
        os.makedirs(own, exist_ok=True)
    paths = [config.docs_dir, config_file, os.path.join(kb.root, "content"), os.path.join(kb.root, "kb.toml")]
    paths += [heads, own, packed, *filter(None, [config.theme.custom_dir]), *config.watch]
    for path in filter(os.path.exists, paths):
        server.watch(path)
    return server
