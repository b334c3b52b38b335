"""kb status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import has_decided, json_option, scope_option, with_kb, yes_option
from kb.cli.prints import print_verdicts_and_exit
from kb.records.model import Status

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Give a record another status.")
@click.argument("name", metavar="ID")
@click.argument("status", type=click.Choice([str(status) for status in Status]))
@click.option("--why", default="", help="The reason; it goes into the record and the commit.")
@scope_option
@yes_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, status: str, why: str, scope: str, yes: bool, as_json: bool) -> None:
    """Give a record another status, where the table of transitions allows it.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    decided = has_decided(kb, yes=yes)
    print_verdicts_and_exit(
        kb, [kb.change_status(name, status, why=why, scope=scope, decided=decided)], as_json=as_json
    )
