"""kb wiki."""

from __future__ import annotations

import click

from kb.cli.door import with_kb
from kb.cli.prints import name_broken
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.group(short_help="Build or serve the wiki.")
def command() -> None:
    """Build or serve the wiki: a page for every record, session, kind and tag, with links and a search."""


@command.command("build", short_help="Build the wiki.")
@click.option("-o", "--output", "out", default="site", show_default=True, metavar="FOLDER", help="Where to.")
@click.option("--strict/--no-strict", default=False, help="Fail where a citation or a link leads nowhere.")
@with_kb
def build(kb: KnowledgeBase, out: str, strict: bool) -> None:
    """Build the wiki as files that a browser opens, and print the path of the first page."""
    from kb.wiki.build import build as built

    kb.records()
    name_broken(kb)
    click.echo(built(kb, out, strict, lambda words: click.echo(words, err=True)))


@command.command("serve", short_help="Serve the wiki.")
@click.option("--address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="Where it listens.")
@with_kb
def serve(kb: KnowledgeBase, address: str) -> None:
    """Show the wiki in a browser until you stop it; it follows the records as they change."""
    from kb.wiki.build import serve as served

    kb.records()
    name_broken(kb)
    served(kb, address)
