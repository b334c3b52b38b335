"""kb expand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import with_kb

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Show the running session in its expanded form.")
@click.argument("session", default="")
@with_kb
def command(kb: KnowledgeBase, session: str) -> None:
    """Show a running SESSION in its expanded form until the use of its context calls for another; 展开 is the same.

    SESSION is its id or the beginning of it; without it, the last session of this project.
    """
    from kb.capture.form_choice import describe_forced_form, force_session_form

    made = force_session_form(kb, "expanded", session)
    click.echo(made.text, nl=False)
    for row in (*made.notes, describe_forced_form(kb, "expanded")):
        click.echo(row, err=True)
