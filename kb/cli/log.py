"""kb log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import pad_text, print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Print the commits of a record.")
@click.argument("name", metavar="ID")
@click.option("-p", "--patch", is_flag=True, help="With what each commit changed.")
@scope_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, patch: bool, scope: str, as_json: bool) -> None:
    """Print who changed a record, when and with which operation, newest first."""
    if patch:
        click.echo(kb.patches(name, scope=scope))
        return
    changes = kb.log(name, scope=scope)
    if as_json:
        print_json(changes)
        return
    for change in changes:
        operation = pad_text(change.operation or kb.localise(msg("by hand")), 10)
        click.echo(f"{change.commit[:10]} {change.time[:16]} {operation} {change.subject}  ({change.author})")
