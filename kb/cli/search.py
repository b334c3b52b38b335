"""kb search."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli import plain
from kb.cli.options import (
    as_filter_values,
    json_option,
    resolve_kind,
    scope_option,
    status_option,
    usage_error,
    with_kb,
)
from kb.cli.past import past_options, resolve_commit
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Find records.")
@click.argument("words", nargs=-1)
@click.option("--kind", default="", help="Only this kind.")
@status_option
@scope_option
@click.option("--tag", default="", help="Only with this tag.")
@click.option("--since", default="", help="Only from this day on (2026-11-21), or today, yesterday, week.")
@click.option("--until", default="", help="Only up to this day.")
@click.option("--path", default="", help="Only what governs this file: records that name it or a folder it is in.")
@click.option(
    "--agent", default="", metavar="NAME", help="Only what this agent, or this author of a commit, wrote or changed."
)
@past_options
@click.option("--explain", is_flag=True, help="Tell how the words were understood and what each score is made of.")
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
    until: str,
    path: str,
    agent: str,
    as_of: str,
    revision: str,
    explain: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Find records by words of their title, tags or text, Chinese or English, best first.

    What holds all the words stands first; where that is no answer yet, what holds some of them follows. Without words,
    all that a filter wants, the newest first.

    With --as-of or --at, the records as they stood then, from git's history.
    """
    from kb.knowledge_base import Filter

    since, until = (kb.day_named(day) if day else "" for day in (since, until))
    path = os.path.normpath(path).replace(os.sep, "/") if path else ""
    wanted = Filter(resolve_kind(kind), as_filter_values(status), as_filter_values(scope), tag, since, until, path)
    if not words and wanted == Filter() and not agent:
        raise usage_error(msg("give words to look for, or a filter"))
    plain.print_search_results(
        kb, words, wanted=wanted, limit=limit, explain=explain, as_json=as_json,
        commit=resolve_commit(kb, as_of, revision), agent=agent,
    )  # fmt: skip
