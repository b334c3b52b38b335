"""kb refs."""

from typing import TYPE_CHECKING

import click

from kb.cli.door import json_option, print_json, scope_option, with_kb

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Tell what a record cites and what cites it.")
@click.argument("name", metavar="ID")
@scope_option
@json_option
@with_kb
def command(kb: "KnowledgeBase", name: str, scope: str, as_json: bool) -> None:
    """Tell what a record cites, supersedes and amends, and what does so to it; dangling citations are marked."""
    links = kb.refs(name, scope=scope)
    if as_json:
        print_json(links)
        return
    for link in links:
        arrow = "→" if link.outward else "←"
        title = link.title or ("not found" if kb.config.language == "en" else "找不到")
        click.echo(f"{arrow} {link.relation:11} [{link.name}] {title}")
