"""kb agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, resolve_language
from kb.cli.prints import print_json
from kb.cli.settings import resolve_project, show_and_apply
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from typing import Any

_STATES = {
    "current": msg("up to date"),
    "stale": msg("of another version"),
    "edited": msg("edited by somebody"),
    "absent": msg("not there"),
}


@click.group(short_help="Tell agents by files how to use kb.")
def command() -> None:
    """Tell agents by files how to use kb: a protocol block in AGENTS.md or CLAUDE.md, and a skill."""


def _location_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take the place of the files."""
    for option in (
        click.option("--skills", default="", help="The folder of skills (default: .claude/skills)."),
        click.option(
            "--file", "names", multiple=True, help="The file for the block (repeatable; default: those there)."
        ),
        click.option(
            "--user", "is_user", is_flag=True, help="For the user, in ~/.claude, instead of the project around."
        ),
    ):
        function = option(function)
    return function


_dry_run = click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")


@command.command("install", short_help="Write the block and the skill.")
@_dry_run
@_location_options
def install_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Write the protocol block and the skill, and show what that changes; again, it changes nothing.

    The block goes into AGENTS.md, CLAUDE.md and GEMINI.md where they are, else into a new AGENTS.md. What stands around
    it stays byte for byte. A file of the skill that somebody has edited is left alone.
    """
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    language = resolve_language()
    changes, kept = agent_files.plan_skill_install(folder, language)
    for change in (*(agent_files.plan_block_install(path, language) for path in files), *changes):
        show_and_apply(change, dry_run=dry_run, nothing=msg("{path} is up to date", path=change.path),
                  done=msg("written: {path}", path=change.path))  # fmt: skip
    _print_kept(kept)


@command.command("uninstall", short_help="Take the block and the skill out.")
@_dry_run
@_location_options
def uninstall_files(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Take the protocol block and the skill out; what stands around the block stays byte for byte."""
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    changes, kept = agent_files.plan_skill_removal(folder)
    for change in (*map(agent_files.plan_block_removal, files), *changes):
        show_and_apply(change, dry_run=dry_run, nothing=msg("nothing of kb stands in {path}", path=change.path),
                  done=msg("taken out: {path}", path=change.path))  # fmt: skip
    if not dry_run:
        agent_files.remove_empty_folders(folder)
    _print_kept(kept)


@command.command("status", short_help="Show what stands where.")
@_location_options
@json_option
def show_status(is_user: bool, names: tuple[str, ...], skills: str, as_json: bool) -> None:
    """Show where block and skill stand and whether they are up to date; leave with 1 where they drift apart.

    Drift is a block and a skill that speak of different versions of the protocol; then the block holds.
    """
    from kb.hooks import agent_files

    files, folder = _resolve_targets(is_user, names, skills)
    found = agent_files.inspect_files(files, folder, resolve_language())
    drift = agent_files.find_version_drift(found)
    if as_json:
        print_json({"files": found, "drift": [_translate(each) for each in drift]})
    else:
        for one in found:
            click.echo(f"{one.part:8}  {_translate(_STATES[one.state])}  {one.version or '–'}  {one.path}")
        for each in drift:
            click.echo(_translate(each), err=True)
    sys.exit(1 if drift else 0)


def _resolve_targets(is_user: bool, names: tuple[str, ...], skills: str) -> tuple[list[str], str]:
    """Return the files for the block and the folder of the skill."""
    from kb.hooks import agent_files

    top = resolve_project(is_user, not is_user)
    return agent_files.find_protocol_files(top, os.environ, names), agent_files.resolve_skill_folder(
        top, os.environ, skills
    )


def _print_kept(kept: list[str]) -> None:
    for path in kept:
        click.echo(_translate(msg("left as it is, somebody has edited it: {path}", path=path)), err=True)


def _translate(said: Message) -> str:
    return said.translate(resolve_language())
