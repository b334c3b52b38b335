"""kb hooks."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, resolve_language, usage_error
from kb.cli.prints import print_json
from kb.cli.settings import resolve_project, show_and_apply
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

    from kb.hooks.settings_file import SettingsEdit


@click.group(short_help="Connect an agent host.")
def command() -> None:
    """Write kb's hooks into the settings of an agent host, take them out, or show them."""


def _location_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take a host and one of its settings files."""
    for option in (
        click.option("--orchestrator", "orchestrators", default="", metavar="NAMES",
                     help="For opencode: the prompts of these agents instead of the hooks (sisyphus,atlas)."),
        click.option("--dry-run", is_flag=True, help="Show what would change and change nothing."),
        click.option("--project", "is_project", is_flag=True, help="In the settings of the project around."),
        click.option("--user", "is_user", is_flag=True, help="In the settings of the user (the default)."),
        click.argument("host"),
    ):  # fmt: skip
        function = option(function)
    return function


@command.command("install", short_help="Write the hooks.")
@click.option("--events", default="", metavar="EVENTS", help="Only these events, separated by commas.")
@_location_options
def install_hooks(host: str, is_user: bool, is_project: bool, dry_run: bool, orchestrators: str, events: str) -> None:
    """Write kb's hooks into the settings of HOST and show what that changes; again, it changes nothing.

    HOST is claude, codex, gemini, copilot, cursor or opencode.
    """
    from kb.hooks import install, orchestrator
    from kb.hosts import resolve_settings_path

    found, folder = install.get_host(host), resolve_project(is_user, is_project)
    if orchestrators:
        path = _resolve_orchestrator_path(host, folder)
        names = orchestrator.parse_names(orchestrators)
        change = orchestrator.plan_installation(path, names, resolve_language(), os.environ)
    else:
        path = resolve_settings_path(found.hooks, folder, os.environ)
        words = [event.strip() for event in events.split(",") if event.strip()]
        change = install.plan_installation(found, path, install.find_hook_program(), os.environ, words)
    show_and_apply(
        change,
        dry_run=dry_run,
        nothing=msg("the hooks stand in {path} already", path=path),
        done=msg("hooks written to {path}", path=path),
    )
    if not (dry_run or orchestrators):
        _warn_of_trust(host, path)


def _warn_of_trust(host: str, path: str) -> None:
    """Say that Codex runs no hook before the person has trusted it, unless it is trusted already."""
    from kb.hooks import codex

    if host == "codex" and codex.find_untrusted_events(path, os.environ):
        said = msg("codex runs them only after you have trusted them: start codex and answer “Hooks need review”; "
                   "until then, and in codex exec, it runs none and says nothing")  # fmt: skip
        click.echo(said.translate(resolve_language()), err=True)


@command.command("uninstall", short_help="Take the hooks out.")
@_location_options
def uninstall_hooks(host: str, is_user: bool, is_project: bool, dry_run: bool, orchestrators: str) -> None:
    """Take kb's hooks out of the settings of HOST; what was there before and besides stays as it was.

    Folders that kb has made go as well when they are empty; for opencode, so do the additions to prompts.
    """
    from kb.hooks import install, orchestrator
    from kb.hosts import resolve_settings_path

    found, folder = install.get_host(host), resolve_project(is_user, is_project)
    if orchestrators:
        path = _resolve_orchestrator_path(host, folder)
        change = orchestrator.plan_removal(path, os.environ)
    else:
        path = resolve_settings_path(found.hooks, folder, os.environ)
        change = install.plan_removal(found, path, os.environ)
    _remove_hooks(change, dry_run)
    if (
        host == "opencode"
        and not orchestrators
        and orchestrator.list_amended(agents := _resolve_orchestrator_path(host, folder))
    ):
        _remove_hooks(orchestrator.plan_removal(agents, os.environ), dry_run)


def _remove_hooks(change: SettingsEdit, dry_run: bool) -> None:
    show_and_apply(
        change,
        dry_run=dry_run,
        nothing=msg("no hooks of kb stand in {path}", path=change.path),
        done=msg("hooks taken out of {path}", path=change.path),
    )


def _resolve_orchestrator_path(host: str, folder: str) -> str:
    from kb.hooks import orchestrator

    if host != "opencode":
        raise usage_error(msg("--orchestrator is for opencode"))
    return orchestrator.resolve_settings_path(folder, os.environ)


@command.command("status", short_help="Show the hooks.")
@json_option
def show_status(as_json: bool) -> None:
    """Show which hooks of kb stand in the settings of the user and of the project around, for every host."""
    from kb.hooks import install
    from kb.hosts import HOSTS

    rows = [
        {"host": host, "path": path, **hook._asdict()}
        for host in HOSTS
        for path in install.list_settings_paths(host, os.getcwd(), os.environ)
        for hook in install.read_hooks(HOSTS[host], path)
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['host']}  {row['event']:16}  {row['timeout']:>3} s  {row['command']}  ({row['path']})")
    if not rows:
        click.echo(msg("no hooks are installed; see: kb hooks install claude").translate(resolve_language()), err=True)


@command.command("plugin", short_help="Write a Claude Code plugin.")
@click.option("--out", "folder", required=True, type=click.Path(file_okay=False), help="The folder to write.")
@click.option("--program", default="kb-hook", show_default=True, help="How the plugin calls kb-hook.")
@click.option("--mcp", is_flag=True, help="Offer kb's MCP server as well.")
def write_plugin(folder: str, program: str, mcp: bool) -> None:
    """Write a folder that is a marketplace of Claude Code with one plugin: kb's hooks for everybody who adds it."""
    from kb.hooks import install, plugin

    changed = plugin.write_folder(folder, plugin.render_claude_plugin(program, install.WORDS, mcp=mcp))
    for path in changed:
        click.echo(os.path.join(folder, path))
    said = msg("add it in Claude Code: /plugin marketplace add {path}", path=os.path.abspath(folder))
    click.echo(said.translate(resolve_language()), err=True)
