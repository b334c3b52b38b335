"""kb edit."""

from typing import TYPE_CHECKING

import click

from kb.cli.door import scope_option, show_verdicts, with_kb
from kb.errors import KbError
from kb.record import Record, Verdict
from kb.words import say

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Edit a record in your editor.")
@click.argument("name", metavar="ID")
@scope_option
@with_kb
def command(kb: "KnowledgeBase", name: str, scope: str) -> None:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error."""
    record = kb.record(name, scope=scope)
    text = opened = kb.text(record)
    while True:
        edited = click.edit(text, extension=".md", require_save=True)
        if edited is None:
            show_verdicts(kb, [unchanged(record)], as_json=False)
        try:
            show_verdicts(kb, [kb.replace_text(record, edited, opened=opened)], as_json=False)
        except KbError as error:
            click.echo(f"kb: {error.in_language(kb.config.language)}", err=True)
            if not click.confirm(kb.words(say("edit again?")), default=True, err=True):
                raise
            text = edited


def unchanged(record: Record) -> Verdict:
    """Return the verdict on a record whose editor was left without saving."""
    return Verdict(
        "unchanged", record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status)
    )
