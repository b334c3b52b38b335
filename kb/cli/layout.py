"""kb layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, print_verdict
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(short_help="Change between the two layouts of the context.")
def command() -> None:
    """Change between the layout of a user (content/ alone) and that of one project (.wukong/context/ beside it)."""


@command.command("migrate", short_help="Change to a layout.")
@click.argument("layout", type=click.Choice(["user", "project"]))
@click.option("--dry-run", is_flag=True, help="Only tell which files.")
@json_option
@with_kb
def migrate(kb: KnowledgeBase, layout: str, dry_run: bool, as_json: bool) -> None:
    """Change to LAYOUT in one commit; nothing is lost either way.

    `project` writes .wukong/context/ (anchors.md, dcp-config.yaml, templates/ and sessions/), `user` removes it. Both
    take back first what only that tree has; an anchor that was edited there stops them.
    """
    from kb.importers.project_layout import migrate_layout as migrated

    done = migrated(kb, layout, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    for verdict in done.brought:
        print_verdict(kb, verdict)
    for path in done.files:
        click.echo(path)
    if not done.commit:
        click.echo(kb.localise(msg("the layout is {layout} already", layout=layout)), err=True)
