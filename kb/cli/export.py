"""kb export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.door import one, scope_option, with_kb
from kb.cli.prints import name_broken, warn_of_orders

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(short_help="Write records in another tool's form.")
def command() -> None:
    """Write records in the form of another tool."""


@command.command("wukong", short_help="Write an anchors.md.")
@scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="Where to (default: stdout).")
@with_kb
def wukong(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal."""
    from kb.importers.wukong import render
    from kb.knowledge_base import Filter
    from kb.writing.plain_files import write_export

    records = sorted(kb.records(Filter(scopes=one(scope))), key=lambda record: record.uid or "~")
    name_broken(kb)
    text = render(records, "zh", scope or "global")  # the form is Chinese, whoever reads it
    if out == "-":
        warn_of_orders(kb, records)
        click.echo(text, nl=False)
        return
    write_export(kb, out, text.encode())
    click.echo(out)
