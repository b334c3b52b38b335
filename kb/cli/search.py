"""kb search."""

from __future__ import annotations

import click

from kb.cli import answers
from kb.cli.door import json_option, kind_wanted, one, scope_option, status_option, with_kb
from kb.values import TYPE_CHECKING

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
    kb: KnowledgeBase,
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
    answers.search(kb, words, wanted=wanted, limit=limit, as_json=as_json)
