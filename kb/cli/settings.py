"""What the commands share that change another program's settings: whose they are, and showing what changes."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import resolve_language, usage_error
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.hooks.settings_file import SettingsEdit


def resolve_project(is_user: bool, is_project: bool) -> str:
    """Return the top of the project around where its settings are meant, "" for the user's own."""
    from kb.hooks.settings_file import find_project_root

    if is_user and is_project:
        raise usage_error(msg("give --user or --project, not both"))
    return find_project_root(os.getcwd()) if is_project else ""


def show_and_apply(change: SettingsEdit, *, dry_run: bool, nothing: Message, done: Message) -> None:
    """Show what *change* changes and do it; say *nothing* where that is so, *done* afterwards."""
    from kb.hooks.settings_file import apply_edit

    if not change.has_changes:
        click.echo(nothing.translate(resolve_language()), err=True)
        return
    _print_diff(change)
    if not dry_run:
        apply_edit(change, os.environ)
        click.echo(done.translate(resolve_language()), err=True)


def _print_diff(change: SettingsEdit) -> None:
    """Print what changes, as a unified diff."""
    sides = [[] if data is None else data.decode("utf-8-sig").splitlines() for data in (change.before, change.after)]
    names = ["/dev/null" if data is None else change.path for data in (change.before, change.after)]
    for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""):
        click.echo(line)
