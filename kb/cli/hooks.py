"""kb hooks."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable

import click

from kb.cli.door import json_option, language_in_use, usage
from kb.cli.prints import print_json
from kb.values import TYPE_CHECKING
from kb.words import Said, say

if TYPE_CHECKING:
    from typing import Any

    from kb.settingsfile import Change


@click.group(short_help="Connect an agent host.")
def command() -> None:
    """Write kb's hooks into the settings of an agent host, take them out, or show them."""


def _where(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take a host and one of its settings files."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would change and change nothing."),
        click.option("--project", "is_project", is_flag=True, help="In .claude/settings.json of the project around."),
        click.option("--user", "is_user", is_flag=True, help="In ~/.claude/settings.json (the default)."),
        click.argument("host"),
    ):
        function = option(function)
    return function


@command.command("install", short_help="Write the hooks.")
@_where
def install_(host: str, is_user: bool, is_project: bool, dry_run: bool) -> None:
    """Write kb's hooks into the settings of HOST (claude) and show what that changes; again, it changes nothing."""
    from kb.hosts import install

    found = install.host_named(host)
    path = found.settings_file(_project(is_user, is_project), os.environ)
    change = install.installation(found, path, install.agent_command(), os.environ)
    _carry_out(
        change,
        dry_run=dry_run,
        nothing=say("the hooks stand in {path} already", path=path),
        done=say("hooks written to {path}", path=path),
    )


@command.command("uninstall", short_help="Take the hooks out.")
@_where
def uninstall(host: str, is_user: bool, is_project: bool, dry_run: bool) -> None:
    """Take kb's hooks out of the settings of HOST; what was there before and besides stays as it was."""
    from kb.hosts import install

    path = install.host_named(host).settings_file(_project(is_user, is_project), os.environ)
    change = install.removal(path, os.environ)
    _carry_out(
        change,
        dry_run=dry_run,
        nothing=say("no hooks of kb stand in {path}", path=path),
        done=say("hooks taken out of {path}", path=path),
    )


@command.command("show", short_help="Show the hooks.")
@json_option
def show(as_json: bool) -> None:
    """Show which hooks of kb stand in the settings of the user and of the project around."""
    from kb.hosts import install

    rows = [
        {"host": host, "path": path, **hook._asdict()}
        for host in install.HOSTS
        for path in install.settings_files(host, os.getcwd(), os.environ)
        for hook in install.hooks_in(path)
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['host']}  {row['event']:16}  {row['timeout']:>3} s  {row['command']}  ({row['path']})")
    if not rows:
        click.echo(say("no hooks are installed; see: kb hooks install claude").in_language(language_in_use()), err=True)


def _project(is_user: bool, is_project: bool) -> str:
    from kb.settingsfile import project_around

    if is_user and is_project:
        raise usage(say("give --user or --project, not both"))
    return project_around(os.getcwd()) if is_project else ""


def _carry_out(change: Change, *, dry_run: bool, nothing: Said, done: Said) -> None:
    from kb.settingsfile import apply

    if not change.is_one:
        click.echo(nothing.in_language(language_in_use()), err=True)
        return
    _show_difference(change)
    if not dry_run:
        apply(change, os.environ)
        click.echo(done.in_language(language_in_use()), err=True)


def _show_difference(change: Change) -> None:
    """Print what changes, as a unified diff."""
    sides = [[] if data is None else data.decode("utf-8-sig").splitlines() for data in (change.before, change.after)]
    names = ["/dev/null" if data is None else change.path for data in (change.before, change.after)]
    for line in difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""):
        click.echo(line)
