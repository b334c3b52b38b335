"""What is built from the records: the wiki, the vectors of search, MEMORY.md and the conventions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn, warn_of_broken_files
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.search.embedding import VectorStatus

PAUSE = 2.0
"""Seconds between two lines on how far a build of the wiki is."""
_VECTOR_PAUSE = 10.0
"""Seconds between two lines on how many vectors are made, where there is no terminal."""


# -- wiki --------------------------------------------------------------------------------------------

own_option = click.option(
    "--own-config",
    is_flag=True,
    help="Use the mkdocs.yml of the knowledge base; it runs the plugins, hooks and templates that it names.",
)


@click.group(short_help="Build or serve the wiki.")
def wiki() -> None:
    """Build or serve the wiki: a page for every record, session, kind and tag, with links and a search."""


@wiki.command("build", short_help="Build the wiki.")
@click.option("-o", "--output", "out", default="site", show_default=True, metavar="FOLDER", help="Where to.")
@click.option("--strict/--no-strict", default=False, help="Fail where a citation or a link leads nowhere.")
@own_option
@with_kb
def build_wiki(kb: KnowledgeBase, out: str, strict: bool, own_config: bool) -> None:
    """Build the wiki as files that a browser opens, and print the path of the first page."""
    from kb.wiki.build import build

    _warn_before_build(kb, own_config)
    say = partial(click.echo, err=True)
    click.echo(build(kb, out, strict, say, own_config=own_config, progress=_report_pages(kb)))


def _report_pages(kb: KnowledgeBase) -> Callable[[int, int], None]:
    """Return what says from time to time how many pages are made."""
    last = monotonic()

    def report(made: int, pages: int) -> None:
        nonlocal last
        if monotonic() - last > PAUSE:
            last = monotonic()
            warn(kb, msg("pages made: {made} of {pages}", made=made, pages=pages))

    return report


@wiki.command("serve", short_help="Serve the wiki.")
@click.option("--address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="Where it listens.")
@own_option
@with_kb
def serve_wiki(kb: KnowledgeBase, address: str, own_config: bool) -> None:
    """Show the wiki in a browser until you stop it; it follows the records as they change."""
    from kb.wiki.build import serve

    _warn_before_build(kb, own_config)
    serve(kb, address, own_config=own_config)


@wiki.command("preview", short_help="Show what a branch changes.")
@click.option("--against", "revision", required=True, metavar="REVISION", help="What it is to be merged into.")
@click.option("-o", "--output", "out", default="preview", show_default=True, metavar="FOLDER", help="Where to.")
@click.option("--site", "published", default="", metavar="URL", help="Where the whole wiki is, for links that leave.")
@with_kb
def preview_wiki(kb: KnowledgeBase, revision: str, out: str, published: str) -> None:
    """Write a report of what merging changes, with both sides, and the pages of the changed records alone."""
    from kb.wiki.preview import write_preview

    first, number = write_preview(kb, revision, out, published)
    warn(kb, msg("records that change: {number}", number=number))
    click.echo(first)


def _warn_before_build(kb: KnowledgeBase, own_config: bool) -> None:
    """Name what the wiki will do without: broken records, and settings that nobody has said yes to."""
    from kb.wiki.build import has_own_config

    kb.records()
    warn_of_broken_files(kb)
    if has_own_config(kb) and not own_config:
        said = msg("mkdocs.yml is left alone: it can name programs to run; if you trust it: --own-config")
        click.echo(f"kb: {kb.localise(said)}", err=True)


# -- vectors -----------------------------------------------------------------------------------------


@click.group(short_help="Make the vectors for search by meaning.")
def vectors() -> None:
    """Make the vectors that let search match by meaning as well as by words; needs an embedder in the settings."""


@vectors.command("build", short_help="Give every record a vector that has none.")
@click.option("--anew", is_flag=True, help="Forget the vectors there are first.")
@json_option
@with_kb
def build_vectors(kb: KnowledgeBase, anew: bool, as_json: bool) -> None:
    """Give every record a vector that has none, in batches.

    If interrupted, the vectors made so far stay and the next call continues. Unchanged records are not embedded again.
    Other commands work meanwhile.
    """
    from kb.search import embedding

    embedding.build_vectors(kb, _report_vectors(kb), anew=anew)
    _print_vector_status(kb, embedding.get_vector_status(kb), as_json=as_json)


def _report_vectors(kb: KnowledgeBase) -> Callable[[int, int], None]:
    """Return what says on one line of the terminal, or else from time to time, how many vectors are made."""
    last = monotonic()

    def report(done: int, number: int) -> None:
        nonlocal last
        line = kb.localise(msg("vectors: {done} of {number}", done=done, number=number))
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if done == number else "", file=sys.stderr, flush=True)
        elif done == number or monotonic() - last > _VECTOR_PAUSE:
            last = monotonic()
            print(line, file=sys.stderr, flush=True)

    return report


@vectors.command("status", short_help="Tell how things stand with the vectors.")
@json_option
@with_kb
def show_vector_status(kb: KnowledgeBase, as_json: bool) -> None:
    """Tell which embedder is used, whether it can be, and how many records have a vector."""
    from kb.search.embedding import get_vector_status

    _print_vector_status(kb, get_vector_status(kb), as_json=as_json)


def _print_vector_status(kb: KnowledgeBase, status: VectorStatus, *, as_json: bool) -> None:
    if as_json:
        print_json({**status._asdict(), "problem": str(status.problem)})
        return
    print(kb.localise(msg("embedder: {name}", name=status.embedder)))
    if status.problem:
        print(kb.localise(msg("it cannot be used: {problem}", problem=status.problem)))
    file = {"size": f"{status.bytes / 1e6:.1f}", "file": ".kb/vectors.bin"}
    counted = msg(
        "records with a vector: {n}, without: {m}; {size} MB in {file}", n=status.vectors, m=status.waiting, **file
    )
    print(kb.localise(counted))


@vectors.command("embed", short_help="Print the vector of a text.")
@click.argument("text")
@click.option("--passage", is_flag=True, help="Treat the query as plain text to find instead of a question.")
@with_kb
def print_vector(kb: KnowledgeBase, text: str, passage: bool) -> None:
    """Print the vector of TEXT as JSON."""
    from kb.search.embedding import embed_text

    print_json(embed_text(kb, text, "passage" if passage else "query"))


@vectors.command("drop", short_help="Forget all vectors.")
@with_kb
def drop_vectors(kb: KnowledgeBase) -> None:
    """Forget all vectors; search goes on by words. `kb vectors build` makes them again."""
    from kb.search.embedding import delete_vectors

    delete_vectors(kb)
    warn(kb, msg("the vectors are gone; no record is"))


# -- memory ------------------------------------------------------------------------------------------


@click.command(short_help="Write MEMORY.md and the conventions anew.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file is not up to date.")
@click.option("--force", is_flag=True, help="Even over a MACHINE block that somebody has edited.")
@json_option
@with_kb
def write_memory(kb: KnowledgeBase, check: bool, force: bool, as_json: bool) -> int:
    """Write memory-bank/MEMORY.md and memory-bank/details/patterns.md anew, for agents that read files.

    MEMORY.md has routing rules, the drill-down protocol, write safety and at most 8 quick answers. What stands in the
    USER block stays; a second run changes nothing. content/templates/memory.md and patterns.md replace the templates.
    """
    from kb.context import memory_md

    pages = memory_md.build_pages(kb, force=force) if check else memory_md.write(kb, force=force)
    if as_json:
        print_json([{"path": page.path, "stale": page.is_stale} for page in pages])
    for page in pages:
        if not as_json:
            state = msg("not up to date") if check else msg("written")
            click.echo(f"{page.path}  {kb.localise(state if page.is_stale else msg('up to date'))}")
        for note in page.notes:
            click.echo(kb.localise(note) if isinstance(note, Message) else note, err=True)
    return 1 if check and any(page.is_stale for page in pages) else 0
