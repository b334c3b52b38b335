"""kb memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Write MEMORY.md and the conventions anew.")
@click.option("--check", is_flag=True, help="Write nothing; leave with 1 where a file is not up to date.")
@click.option("--force", is_flag=True, help="Also over a MACHINE block that somebody has edited.")
@json_option
@with_kb
def command(kb: KnowledgeBase, check: bool, force: bool, as_json: bool) -> None:
    """Write memory-bank/MEMORY.md and memory-bank/details/patterns.md anew, for agents that read files.

    MEMORY.md has routing rules, the drill-down protocol, write safety and at most 8 quick answers. What stands in the
    USER block stays; a second run changes nothing. content/templates/memory.md and patterns.md replace the templates.
    """
    from kb.context import memory_md

    pages = memory_md.build_pages(kb, force=force) if check else memory_md.write(kb, force=force)
    if as_json:
        print_json([{"path": page.path, "stale": page.is_stale} for page in pages])
    for page in pages:
        if not as_json:
            state = msg("not up to date") if check else msg("written")
            click.echo(f"{page.path}  {kb.localise(state if page.is_stale else msg('up to date'))}")
        for note in page.notes:
            warn(kb, note) if isinstance(note, Message) else click.echo(note, err=True)
    sys.exit(1 if check and any(page.is_stale for page in pages) else 0)
