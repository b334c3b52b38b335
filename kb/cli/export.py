"""kb export."""

from __future__ import annotations

import click

from kb.cli.door import one, scope_option, with_kb
from kb.cli.prints import name_broken
from kb.errors import BadInput
from kb.values import TYPE_CHECKING
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.group(short_help="Write records in another tool's form.")
def command() -> None:
    """Write records in the form of another tool."""


@command.command("wukong", short_help="Write an anchors.md.")
@scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="Where to (default: stdout).")
@with_kb
def wukong(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal."""
    from kb.exchange.wukong import render
    from kb.knowledge import Filter

    records = sorted(kb.records(Filter(scopes=one(scope))), key=lambda record: record.uid or "~")
    name_broken(kb)
    text = render(records, "zh", scope or "global")  # the form is Chinese, whoever reads it
    if out == "-":
        click.echo(text, nl=False)
        return
    try:
        with open(out, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(say("cannot be written: {problem}", problem=error.strerror), path=out) from None
    click.echo(out)
