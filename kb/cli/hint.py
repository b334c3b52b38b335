"""kb hint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, require_known_avatar, with_kb
from kb.cli.prints import print_json

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Print the hint for a moment of work.")
@click.argument("moment", type=click.Choice(["t1", "t2", "avatar"]))
@click.option(
    "-k", "--keyword", "keywords", multiple=True, help="Only records that hold this word, as a whole (repeatable)."
)
@click.option("--avatar", default="", help="For the moment avatar: 眼 耳 鼻 舌 身 意, or an English alias.")
@click.option("--task", default="", help="The task in words: records that are about it.")
@click.option("--cwd", default="", help="The folder whose project is meant (default: here).")
@json_option
@with_kb
def command(
    kb: KnowledgeBase, moment: str, keywords: tuple[str, ...], avatar: str, task: str, cwd: str, as_json: bool
) -> None:
    """Print the T1 hint (before work: pitfalls, constraints, patterns) or the T2 hint (after the plan: decisions)."""
    project = kb.project(cwd or os.getcwd())
    if moment == "avatar":
        require_known_avatar(avatar)
        text, hint = kb.hint_for_avatar(avatar, task, project=project), None
    else:
        hint = kb.hint(moment, keywords, task=task, project=project)
        text = hint.text
    warnings = [kb.localise(warning) for warning in hint.warnings] if hint else []
    if as_json:
        print_json({"text": text, "ids": list(hint.ids) if hint else [], "warnings": warnings})
        return
    if text:
        click.echo(text)
    for warning in warnings:
        click.echo(warning, err=True)
