"""kb compact."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import with_kb

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Show the running session in its compact form.")
@click.argument("session", default="")
@click.option("--budget", type=click.IntRange(min=1), help="Compress a transcript into so many tokens instead.")
@with_kb
def command(kb: KnowledgeBase, session: str, budget: int | None) -> None:
    """Show a running SESSION in its compact form until the use of its context calls for another; 压缩 is the same.

    SESSION is its id or the beginning of it; without it, the last session of this project.

    With --budget it may be a transcript: its richest form that fits is printed, with every anchor that it cites.
    """
    if budget is not None:
        from kb.capture.form_choice import compress_session
        from kb.sessions.active_sessions import find_latest_session

        path = session if os.path.isfile(session) else find_latest_session(kb, session).transcript
        click.echo(compress_session(kb, path, budget).text, nl=False)
        return
    from kb.capture.form_choice import describe_forced_form, force_session_form

    made = force_session_form(kb, "compact", session)
    click.echo(made.text, nl=False)
    for row in (*made.notes, describe_forced_form(kb, "compact")):
        click.echo(row, err=True)
