"""kb search."""

import os
from typing import TYPE_CHECKING

import click

from kb.cli.door import json_option, kind_wanted, name_broken, one, print_json, scope_option, status_option, with_kb

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="Find records.")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", default="", help="Only this kind.")
@status_option
@scope_option
@click.option("--tag", default="", help="Only with this tag.")
@click.option("--since", default="", help="Only from this day on (2026-11-21), or today, yesterday, week.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many.")
@json_option
@with_kb
def command(
    kb: "KnowledgeBase",
    words: tuple[str, ...],
    kind: str,
    status: str | None,
    scope: str,
    tag: str,
    since: str,
    limit: int,
    as_json: bool,
) -> None:
    """Find records whose title, tags or text hold all the words, Chinese or English, best first."""
    from kb.knowledge import Filter

    since = kb.day_named(since) if since else ""
    wanted = Filter(kind_wanted(kind), one(status), one(scope), tag, since)
    answers = kb.recall(" ".join(words), wanted=wanted, project=kb.project(os.getcwd()), limit=limit)
    name_broken(kb)
    if as_json:
        print_json([{**a.record._asdict(), "score": a.score, "snippet": a.snippet} for a in answers])
        return
    for answer in answers:
        click.echo(f"{answer.record.id:6} {answer.record.title}  ({answer.record.scope})")
        if answer.snippet:
            click.echo(f"       {answer.snippet}")
