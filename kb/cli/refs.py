"""kb refs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import pad_text, print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

_RELATIONS = {"cites": msg("cites"), "supersedes": msg("supersedes"), "amends": msg("amends")}


@click.command(short_help="Tell what a record cites and what cites it.")
@click.argument("name", metavar="ID")
@scope_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> None:
    """Tell what a record cites, supersedes and amends, and what does so to it; dangling citations are marked."""
    links = kb.refs(name, scope=scope)
    if as_json:
        print_json(links)
        return
    for link in dict.fromkeys(link._replace(line=0) for link in links):  # once, on however many lines
        relation = pad_text(kb.localise(_RELATIONS[link.relation]), 11)
        title = link.title or kb.localise(msg("not found"))
        click.echo(f"{'→' if link.outward else '←'} {relation} [{link.name}] {title}")
