"""kb wiki."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import click

from kb.cli.options import with_kb
from kb.cli.prints import warn_of_broken_files
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

PAUSE = 2.0
"""Seconds between two words of how far a build is."""

own_option = click.option(
    "--own-config", is_flag=True,
    help="Use the mkdocs.yml of the knowledge base; it runs the plugins, hooks and templates that it names.",
)  # fmt: skip


@click.group(short_help="Build or serve the wiki.")
def command() -> None:
    """Build or serve the wiki: a page for every record, session, kind and tag, with links and a search."""


@command.command("build", short_help="Build the wiki.")
@click.option("-o", "--output", "out", default="site", show_default=True, metavar="FOLDER", help="Where to.")
@click.option("--strict/--no-strict", default=False, help="Fail where a citation or a link leads nowhere.")
@own_option
@with_kb
def build_wiki(kb: KnowledgeBase, out: str, strict: bool, own_config: bool) -> None:
    """Build the wiki as files that a browser opens, and print the path of the first page."""
    from kb.wiki.build import build as built

    _warn_before_build(kb, own_config)
    tell = lambda words: click.echo(words, err=True)  # noqa: E731
    click.echo(built(kb, out, strict, tell, own_config=own_config, progress=_BuildProgress(kb)))


class _BuildProgress:
    """Says from time to time how far a long build is."""

    def __init__(self, kb: KnowledgeBase) -> None:
        """Begin to count the time."""
        self.kb = kb
        self.said = monotonic()

    def __call__(self, made: int, pages: int) -> None:
        """Say that so many of the *pages* are *made*, if nothing was said for a while."""
        if monotonic() - self.said > PAUSE:
            self.said = monotonic()
            click.echo(self.kb.localise(msg("pages made: {made} of {pages}", made=made, pages=pages)), err=True)


@command.command("serve", short_help="Serve the wiki.")
@click.option("--address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="Where it listens.")
@own_option
@with_kb
def serve_wiki(kb: KnowledgeBase, address: str, own_config: bool) -> None:
    """Show the wiki in a browser until you stop it; it follows the records as they change."""
    from kb.wiki.build import serve as served

    _warn_before_build(kb, own_config)
    served(kb, address, own_config=own_config)


@command.command("preview", short_help="Show what a branch changes.")
@click.option("--against", "revision", required=True, metavar="REVISION", help="What it is to be merged into.")
@click.option("-o", "--output", "out", default="preview", show_default=True, metavar="FOLDER", help="Where to.")
@click.option("--site", "published", default="", metavar="URL", help="Where the whole wiki is, for links that leave.")
@with_kb
def preview_changes(kb: KnowledgeBase, revision: str, out: str, published: str) -> None:
    """Write a report of what merging changes, with both sides, and the pages of the changed records alone."""
    from kb.wiki.preview import write_preview as previewed

    first, number = previewed(kb, revision, out, published)
    click.echo(kb.localise(msg("records that change: {number}", number=number)), err=True)
    click.echo(first)


def _warn_before_build(kb: KnowledgeBase, own_config: bool) -> None:
    """Name what the wiki will do without: broken records, and settings that nobody has said yes to."""
    from kb.wiki.build import has_own_config

    kb.records()
    warn_of_broken_files(kb)
    if has_own_config(kb) and not own_config:
        said = msg("mkdocs.yml is left alone: it can name programs to run; if you trust it: --own-config")
        click.echo(f"kb: {kb.localise(said)}", err=True)
