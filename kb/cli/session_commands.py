"""Save, list, load and retire the sessions of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, usage_error, with_kb
from kb.cli.prints import print_json, print_verdict, warn, warn_empty_result
from kb.i18n import msg
from kb.records.model import choose_exit_code

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

full_option = click.option("--full", is_flag=True, help="With the normal and the expanded form as well.")
session_option = click.option("--session", default="", help="The session's id (default: the one in the file).")
cwd_option = click.option("--cwd", default="", help="The folder the session worked in (default: the one in the file).")


@click.group(short_help="Save, list and load sessions.")
def session() -> None:
    """Save, list and load the sessions of agents."""


@session.command("save", short_help="Archive a session.")
@click.option("--transcript", required=True, type=click.Path(), help="The session's JSONL file.")
@session_option
@cwd_option
@full_option
@json_option
@with_kb
def save_session(kb: KnowledgeBase, transcript: str, session: str, cwd: str, full: bool, as_json: bool) -> int:
    """Put what a session decided through the gate and archive it under content/sessions/."""
    return _archive_session(kb, transcript, session, cwd, full=full, as_json=as_json)


@click.command(short_help="Archive a session.")
@click.argument("transcript", required=False, type=click.Path())
@click.option("--transcript", "given", default="", type=click.Path(), help="The same, as an option.")
@full_option
@session_option
@cwd_option
@json_option
@with_kb
def archive(
    kb: KnowledgeBase, /, transcript: str | None, given: str, full: bool, session: str, cwd: str, as_json: bool
) -> int:
    """Archive the session of TRANSCRIPT, a JSONL file, under content/sessions/; 存档 is the same.

    What it decided goes through the gate. Without TRANSCRIPT, the last session of this project. An expanded form of
    more than 200,000 bytes stays in this clone.
    """
    from kb.sessions.known_sessions import find_latest_transcript

    if transcript and given:
        raise usage_error(msg("give the transcript once"))
    path = transcript or given or find_latest_transcript(kb)
    return _archive_session(kb, path, session, cwd, full=full, as_json=as_json)


def _archive_session(kb: KnowledgeBase, path: str, session: str, cwd: str, *, full: bool, as_json: bool) -> int:
    """Archive the session whose transcript is *path*, print what became of it and return the exit code."""
    saved = kb.save_session(path, session=session, folder=cwd, host="cli", full=full)
    if as_json:
        print_json(saved)
    else:
        for verdict in saved.verdicts:
            print_verdict(kb, verdict)
        for note in saved.notes:
            click.echo(note, err=True)
        if saved.archive:
            click.echo(f"content/sessions/{saved.archive}")
    return choose_exit_code([one for one in saved.verdicts if one.verdict != "held"])  # it is archived all the same


@session.command("list", short_help="List archived sessions.")
@click.option("--project", default="", help="Of this project (default: the one you are in).")
@click.option("--all", "is_all", is_flag=True, help="Of all projects.")
@click.option("--since", default="", help="today, yesterday, week, or a day (2026-11-21).")
@json_option
@with_kb
def list_sessions(kb: KnowledgeBase, project: str, is_all: bool, since: str, as_json: bool) -> None:
    """List the archived sessions of a project, oldest first; in the knowledge base itself, those of all."""
    from kb.sessions.session_archive import YESTERDAY, filter_own_project

    day = kb.day_named(since) if since else ""
    known = kb.sessions()
    own = known if project or is_all else filter_own_project(kb, known)
    rows = [s for s in own if (not project or s.project == project) and s.time[:10] >= day]
    if since in YESTERDAY:
        rows = [s for s in rows if s.time[:10] == day]
    if not rows:
        name = project or kb.caller_scope.removeprefix("project/")
        elsewhere = msg("no session of {project} is archived; those of all: kb session list --all", project=name)
        warn_empty_result(kb, elsewhere if known and not since and not is_all else msg("no session is archived"))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row.time[:16]}  {row.name}  +{row.anchors}  {row.task}")


@session.command("load", short_help="Print an archived session to go on from.")
@click.argument("name")
@with_kb
def load_session(kb: KnowledgeBase, name: str) -> None:
    """Print the compact form of an archived session, with pointers to the rest; a unique part of its name will do."""
    _print_session(kb, name)


@click.command(short_help="Print an archived session to go on from.")
@click.argument("name")
@with_kb
def load(kb: KnowledgeBase, name: str) -> None:
    """Print the compact form of the archived session NAME, with pointers to the rest; 加载 is the same.

    NAME is a unique part of the archive's name, or words of its task.
    """
    from kb.sessions.session_archive import find_sessions

    named = find_sessions(kb, name)
    if len(named) > 1:
        choices = ", ".join(session.name for session in named[-10:])
        raise usage_error(msg("{id} names several sessions: {choices}", id=name, choices=choices))
    _print_session(kb, name)


def _print_session(kb: KnowledgeBase, name: str) -> None:
    from kb.sessions.session_archive import list_archive_files

    session = kb.session_named(name)
    click.echo(kb.session_file(session.name))
    for path in list_archive_files(kb, session):
        click.echo(f"→ {path}", err=True)


@session.command("prune", short_help="Retire old archives.")
@click.option("--older", default="180d", show_default=True, metavar="AGE", help="How old: 180d, 26w, 6m or 1y.")
@click.option("--dry-run", is_flag=True, help="Only tell which.")
@json_option
@with_kb
def prune_archives(kb: KnowledgeBase, older: str, dry_run: bool, as_json: bool) -> None:
    """Take archives that are older than an age out of the checkout, in one commit; those that a record cites stay.

    History keeps them. An expanded form that was too large for git was only in this clone, and goes for good.
    """
    from kb.sessions.session_archive import parse_days, retire_archives

    done = retire_archives(kb, parse_days(older), dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    for session in done.gone:
        click.echo(f"{session.time[:16]}  {session.name}  {session.task}")
    for session, record in done.kept:
        warn(kb, msg("{name} stays: [{id}] cites it", name=session.name, id=record))
    if not done.gone:
        warn(kb, msg("no archive is older than {age} and cited by no record", age=older))
    elif dry_run:
        warn(kb, msg("nothing is removed; without --dry-run these would be"))


@session.command("status", short_help="Tell how a running session stands.")
@click.argument("session", default="")
@json_option
@with_kb
def show_session_status(kb: KnowledgeBase, session: str, as_json: bool) -> None:
    """Tell how full the context of a running SESSION is and in which form it is shown.

    SESSION is its id or the beginning of it; without it, the last session of this project.
    """
    from kb.capture.form_choice import get_form_status

    now = get_form_status(kb, session)
    if as_json:
        shown = {"session": now.session, "transcript": now.transcript, "form": now.form, "forced": now.forced}
        use = {"percent": now.usage.percent, "tokens": now.usage.tokens, "window": now.usage.window}
        print_json({**shown, **use, "band": now.band.name, "light": now.band.light})
        return
    click.echo(f"{now.session}  {now.usage.percent:.1f}%  {now.form}")
