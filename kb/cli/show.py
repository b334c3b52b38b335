"""kb show."""

from typing import TYPE_CHECKING

import click

from kb.cli.door import json_option, print_json, scope_option, with_kb

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Print a record.")
@click.argument("name", metavar="ID")
@click.option("--short", is_flag=True, help="Only title, why, impact and rollback.")
@click.option("--strict", is_flag=True, help="With --short: all six ADR fields.")
@scope_option
@json_option
@with_kb
def command(kb: "KnowledgeBase", name: str, short: bool, strict: bool, scope: str, as_json: bool) -> None:
    """Print the file of a record, or its short form."""
    record = kb.record(name, scope=scope)
    if as_json:
        print_json(record)
    elif short or strict:
        from kb import short as forms

        click.echo(forms.short(record, kb.config.language, strict=strict))
    else:
        click.echo(kb.text(record), nl=False)
