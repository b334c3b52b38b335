"""kb rm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import has_decided, json_option, scope_option, with_kb, yes_option
from kb.cli.prints import print_verdicts_and_exit

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Take a record out of force.")
@click.argument("name", metavar="ID")
@click.option("--why", default="", help="The reason.")
@scope_option
@yes_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, why: str, scope: str, yes: bool, as_json: bool) -> None:
    """Mark a record deprecated. The file stays: what was once decided can be looked up; its number is not reused.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    decided = has_decided(kb, yes=yes)
    print_verdicts_and_exit(
        kb, [kb.change_status(name, "deprecated", why=why, scope=scope, decided=decided)], as_json=as_json
    )
