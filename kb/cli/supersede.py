"""kb supersede."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import has_decided, json_option, scope_option, with_kb, yes_option
from kb.cli.prints import print_verdicts_and_exit

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Replace a record by a newer one.")
@click.argument("old")
@click.option("--by", "new", required=True, help="The id of the record that replaces it.")
@click.option("--in-part", is_flag=True, help="Only in part: the old one stays in force for the rest.")
@scope_option
@yes_option
@json_option
@with_kb
def command(kb: KnowledgeBase, old: str, new: str, in_part: bool, scope: str, yes: bool, as_json: bool) -> None:
    """Replace a record by a newer one; both ends are written in one commit.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    decided = has_decided(kb, yes=yes)
    print_verdicts_and_exit(
        kb, [kb.supersede(old, by=new, in_part=in_part, scope=scope, decided=decided)], as_json=as_json
    )
