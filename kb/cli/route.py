"""kb route."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Tell what to read before a piece of work.")
@click.argument("words", nargs=-1, required=True)
@json_option
@with_kb
def command(kb: KnowledgeBase, words: tuple[str, ...], as_json: bool) -> None:
    """Tell what to read before a piece of work, by what somebody wants to do; none for small talk and other things.

    The same words always lead to the same files: records about them, the conventions when unsure and in five situations
    (choosing a technology, creating a module, architecture, shared code, refactoring), and the kinds that help.
    """
    from kb.context import build_routes

    found = build_routes.route(kb, " ".join(words), project=kb.project(os.getcwd()))
    if as_json:
        print_json(found)
        return
    for read in found.reads:
        click.echo(f"{read.path}  ({read.why})")
    if not found.reads:
        click.echo(build_routes.NONE)
    elif not os.path.exists(os.path.join(kb.root, build_routes.CONVENTIONS)):
        warn(kb, msg("{path} is not written yet: kb memory", path=build_routes.CONVENTIONS))
