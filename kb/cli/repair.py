"""kb repair."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.errors import NeedsPerson
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Mend what a merge lost.")
@click.argument("names", nargs=-1, metavar="[PATH|ID|COMMIT]...")
@click.option("--all", "every", is_flag=True, help="Look through all merges, not only those since the last time.")
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@json_option
@with_kb
def command(kb: KnowledgeBase, names: tuple[str, ...], every: bool, dry_run: bool, as_json: bool) -> None:
    """Merge records again that were merged without kb, as by the button of a code host, in one commit.

    A record is merged anew from the parents of the merge where it still stands as its lines were put together, or has
    conflict markers or a section twice. What both sides decided differently is named for you: exit 5.
    """
    from kb.sync.repair import repair_merges

    done = repair_merges(kb, names, every=every, dry_run=dry_run)
    if as_json:
        print_json(done)
    else:
        for path in done.mended:
            click.echo(kb.localise(msg("mended: {path}", path=path)))
        if not done.mended:
            click.echo(kb.localise(msg("nothing to mend in {n} merges", n=done.merges)))
    sys.stdout.flush()
    for one in done.undecided:
        for reason in one.reasons:
            warn(kb, msg("{path}: {problem}", path=one.path, problem=reason))
        warn(kb, msg("    → see what was merged: {command}", command=f"git show -m {one.merge[:12]} -- {one.path}"))
    sys.exit(NeedsPerson.exit_code if done.undecided else 0)
