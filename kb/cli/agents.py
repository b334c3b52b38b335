"""kb agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kb.cli.door import json_option, language_in_use
from kb.cli.prints import print_json
from kb.cli.settings import carry_out, project_wanted
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


def _where(function: Callable[..., Any]) -> Callable[..., Any]:
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
@_where
def install(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Write the protocol block and the skill, and show what that changes; again, it changes nothing.

    The block goes into AGENTS.md, CLAUDE.md and GEMINI.md where they are, else into a new AGENTS.md. What stands around
    it stays byte for byte. A file of the skill that somebody has edited is left alone.
    """
    from kb.hooks import agent_files

    files, folder = _places(is_user, names, skills)
    language = language_in_use()
    changes, kept = agent_files.with_skill(folder, language)
    for change in (*(agent_files.with_block(path, language) for path in files), *changes):
        carry_out(change, dry_run=dry_run, nothing=msg("{path} is up to date", path=change.path),
                  done=msg("written: {path}", path=change.path))  # fmt: skip
    _name(kept)


@command.command("uninstall", short_help="Take the block and the skill out.")
@_dry_run
@_where
def uninstall(is_user: bool, names: tuple[str, ...], skills: str, dry_run: bool) -> None:
    """Take the protocol block and the skill out; what stands around the block stays byte for byte."""
    from kb.hooks import agent_files

    files, folder = _places(is_user, names, skills)
    changes, kept = agent_files.without_skill(folder)
    for change in (*map(agent_files.without_block, files), *changes):
        carry_out(change, dry_run=dry_run, nothing=msg("nothing of kb stands in {path}", path=change.path),
                  done=msg("taken out: {path}", path=change.path))  # fmt: skip
    if not dry_run:
        agent_files.sweep(folder)
    _name(kept)


@command.command("status", short_help="Show what stands where.")
@_where
@json_option
def status(is_user: bool, names: tuple[str, ...], skills: str, as_json: bool) -> None:
    """Show where block and skill stand and whether they are up to date; leave with 1 where they drift apart.

    Drift is a block and a skill that speak of different versions of the protocol; then the block holds.
    """
    from kb.hooks import agent_files

    files, folder = _places(is_user, names, skills)
    found = agent_files.standings(files, folder, language_in_use())
    drift = agent_files.drift(found)
    if as_json:
        print_json({"files": found, "drift": [_words(each) for each in drift]})
    else:
        for one in found:
            click.echo(f"{one.part:8}  {_words(_STATES[one.state])}  {one.version or '–'}  {one.path}")
        for each in drift:
            click.echo(_words(each), err=True)
    sys.exit(1 if drift else 0)


def _places(is_user: bool, names: tuple[str, ...], skills: str) -> tuple[list[str], str]:
    """Return the files for the block and the folder of the skill."""
    from kb.hooks import agent_files

    top = project_wanted(is_user, not is_user)
    return agent_files.protocol_files(top, os.environ, names), agent_files.skill_folder(top, os.environ, skills)


def _name(kept: list[str]) -> None:
    for path in kept:
        click.echo(_words(msg("left as it is, somebody has edited it: {path}", path=path)), err=True)


def _words(said: Message) -> str:
    return said.translate(language_in_use())
