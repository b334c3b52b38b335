"""kb edit."""

from typing import TYPE_CHECKING

import click

from kb.cli.door import scope_option, show_verdicts, with_kb
from kb.errors import KbError

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Edit a record in your editor.")
@click.argument("name", metavar="ID")
@scope_option
@with_kb
def command(kb: "KnowledgeBase", name: str, scope: str) -> None:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error."""
    record = kb.record(name, scope=scope)
    text = kb.text(record)
    while True:
        edited = click.edit(text, extension=".md", require_save=True)
        if edited is None:
            click.echo("unchanged")
            return
        try:
            show_verdicts(kb, [kb.replace_text(record, edited)], as_json=False)
        except KbError as error:
            click.echo(f"kb: {error.in_language(kb.config.language)}", err=True)
            if not click.confirm("edit again?", default=True, err=True):
                raise
            text = edited
