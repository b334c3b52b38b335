"""What the commands share that change another program's settings: whose they are, and showing what changes."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

import click

from kb.cli.door import language_in_use, usage
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.hooks.settings_file import Change


def project_wanted(is_user: bool, is_project: bool) -> str:
    """Return the top of the project around where its settings are meant, "" for the user's own."""
    from kb.hooks.settings_file import project_around

    if is_user and is_project:
        raise usage(msg("give --user or --project, not both"))
    return project_around(os.getcwd()) if is_project else ""


def carry_out(change: Change, *, dry_run: bool, nothing: Message, done: Message) -> None:
    """Show what *change* changes and do it; say *nothing* where that is so, *done* afterwards."""
    from kb.hooks.settings_file import apply

    if not change.is_one:
        click.echo(nothing.translate(language_in_use()), err=True)
        return
    _show_difference(change)
    if not dry_run:
        apply(change, os.environ)
        click.echo(done.translate(language_in_use()), err=True)


def _show_difference(change: Change) -> None:
    """Print what changes, as a unified diff."""
    sides = [[] if data is None else data.decode("utf-8-sig").splitlines() for data in (change.before, change.after)]
    names = ["/dev/null" if data is None else change.path for data in (change.before, change.after)]
    for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""):
        click.echo(line)
