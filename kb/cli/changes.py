"""kb changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.page_style import MARKDOWN
from kb.cli.past import iter_change_lines
from kb.cli.past import serialise_changes as as_values
from kb.cli.prints import print_json
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Tell what became of the records between two commits.")
@click.argument("span", metavar="A..B")
@json_option
@with_kb
def command(kb: KnowledgeBase, span: str, as_json: bool) -> None:
    """Tell what was decided, superseded, deprecated, rejected or edited between two commits, tags or branches.

    The release notes of decisions, as markdown. A alone means A..HEAD.
    """
    from kb.history import revision_spec
    from kb.history.changes import build_change_log
    from kb.index.record_ids import qualify_name

    happened = build_change_log(kb, *revision_spec.resolve_range(kb, span))
    if as_json:
        print_json(as_values(happened))
        return
    title = msg("Records from {older} to {newer}", older=happened.older[:10], newer=happened.newer[:10])
    click.echo(f"{MARKDOWN.heading}{kb.localise(title)}\n")
    lines = list(iter_change_lines(happened, kb.config.language, MARKDOWN, partial(qualify_name, kb)))
    click.echo("\n".join(lines[:-1] or [kb.localise(msg("no record changes"))]))
