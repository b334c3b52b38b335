"""kb session."""

from __future__ import annotations

import os

import click

from kb.cli.door import json_option, with_kb
from kb.cli.prints import leave_with, print_json, show_verdict
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.group(short_help="Save, list and load sessions.")
def command() -> None:
    """Save, list and load the sessions of agents."""


@command.command("save", short_help="Archive a session.")
@click.option("--transcript", required=True, type=click.Path(), help="The session's JSONL file.")
@click.option("--session", default="", help="The session's id (default: the one in the file).")
@click.option("--cwd", default="", help="The folder the session worked in (default: the one in the file).")
@json_option
@with_kb
def save(kb: KnowledgeBase, transcript: str, session: str, cwd: str, as_json: bool) -> None:
    """Put what a session decided through the gate and archive it under content/sessions/."""
    saved = kb.save_session(transcript, session=session, folder=cwd, host="cli")
    if as_json:
        print_json(saved)
        leave_with(saved.verdicts)
    for verdict in saved.verdicts:
        show_verdict(kb, verdict)
    for note in saved.notes:
        click.echo(note, err=True)
    if saved.archive:
        click.echo(f"content/sessions/{saved.archive}")
    leave_with(saved.verdicts)


@command.command("list", short_help="List archived sessions.")
@click.option("--project", default="", help="Only of this project.")
@click.option("--since", default="", help="today, yesterday, week, or a day (2026-11-21).")
@json_option
@with_kb
def list_(kb: KnowledgeBase, project: str, since: str, as_json: bool) -> None:
    """List the archived sessions, oldest first."""
    from kb.knowledge.archive import YESTERDAY

    day = kb.day_named(since) if since else ""
    rows = [s for s in kb.sessions() if (not project or s.project == project) and s.time[:10] >= day]
    if since in YESTERDAY:
        rows = [s for s in rows if s.time[:10] == day]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row.time[:16]}  {row.name}  +{row.anchors}  {row.task}")


@command.command("load", short_help="Print an archived session to go on from.")
@click.argument("name")
@with_kb
def load(kb: KnowledgeBase, name: str) -> None:
    """Print the compact form of an archived session, with pointers to the rest; a unique part of its name will do."""
    session = kb.session_named(name)
    click.echo(kb.session_file(session.name))
    for file in ("hui-output.json", "shi-result.json"):
        click.echo(f"→ {os.path.join(kb.root, session.path, file)}", err=True)
