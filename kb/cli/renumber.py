"""kb renumber."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Give records new numbers.")
@click.argument("name", metavar="[ID]", default="")
@scope_option
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Renumber the younger of every two records that have one number, or the record that ID means.

    One commit: the file, its front and title, and every citation that means the record. The old number stays an alias.
    A citation of which history does not say which of the two it means stays as it is and is named.
    """
    from kb.sync.renumber import renumber_records

    done = renumber_records(kb, name, scope=scope, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    for one in done.renumbered:
        said = msg("[{old}] is [{new}] now: {title}", old=one.old, new=one.new, title=one.title)
        click.echo(f"{kb.localise(said)}  {one.path}")
    if not done.renumbered:
        click.echo(kb.localise(msg("no number is given out twice")))
    sys.stdout.flush()
    for path in done.followed:
        warn(kb, msg("its citations follow: {path}", path=path))
    for path, old in done.unclear:
        warn(kb, msg("{path} cites [{id}], and it is not clear which of the two is meant: look at it",
                     path=path, id=old))  # fmt: skip
