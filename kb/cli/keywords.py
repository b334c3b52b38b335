"""kb keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(invoke_without_command=True, short_help="Load the words of a trade.")
@json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the groups of words that mean the same here, or load more; search, contexts and packs find by them."""
    if ctx.invoked_subcommand is None:
        with_kb(_list_keywords)(as_json)


def _list_keywords(kb: KnowledgeBase, as_json: bool) -> None:
    from kb.writing.file_changes import list_groups

    groups = list_groups(kb)
    if as_json:
        print_json([list(group.words) for group in groups])
        return
    for group in groups:
        click.echo(", ".join(group.words))
    if not groups:
        warn(kb, msg("no words of your own yet; to load some: kb keywords load FILE"))


@command.command("load", short_help="Add groups of words.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@with_kb
def load_keywords(kb: KnowledgeBase, file: str) -> None:
    """Add the groups in FILE, one on a line like `- [退款, refund, chargeback]`, to content/synonyms.yaml."""
    from kb.search.synonyms import MAX_SYNONYMS
    from kb.writing.file_changes import add_groups as loaded

    with open(file, encoding="utf-8", errors="replace") as opened:
        added = loaded(kb, opened.read(MAX_SYNONYMS), file)
    for group in added:
        click.echo(", ".join(group.words))
    warn(kb, msg("groups added: {n}", n=len(added)))
