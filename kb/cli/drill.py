"""kb drill."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Tell how to find an answer: read, or have a pack made.")
@click.argument("words", nargs=-1, required=True)
@json_option
@with_kb
def command(kb: KnowledgeBase, words: tuple[str, ...], as_json: bool) -> None:
    """Tell how to find an answer: which one to three files to read directly, or that they are too many or too long.

    More than 3 files or 300 lines are for the reader: `kb pack`. An answer cites what it was read from.
    """
    from kb.context import build_routes

    plan = build_routes.drill(kb, " ".join(words), project=kb.project(os.getcwd()))
    if as_json:
        print_json(plan)
        return
    if plan.mode == "none":
        click.echo(kb.localise(msg("nothing recorded is about this")))
        click.echo(kb.localise(msg("what is missing, and where to look: {command}", command=plan.escalate)))
        return
    for file in plan.files:
        lines = kb.localise(msg("lines: {n}", n=file.lines))
        click.echo(f"{file.path}  [{file.id}] {file.title}  ({lines})")
    said = (
        msg("if they do not answer: {command}", command=plan.escalate)
        if plan.mode == "direct"
        else msg("{n} more files are about this; have a pack made: {command}", n=plan.further, command=plan.escalate)
    )
    click.echo(kb.localise(said))
    cite = ", ".join(f"[{file.id}]" for file in plan.files) or "[ID]"
    click.echo(kb.localise(msg("cite what you answer from: {ids}", ids=cite)))
