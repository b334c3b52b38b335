"""kb confirm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import print_verdicts_and_exit

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Say that a record still holds.")
@click.argument("name", metavar="ID")
@scope_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> None:
    """Stamp a record as found true today; `kb check` counts its age from there."""
    print_verdicts_and_exit(kb, [kb.confirm(name, scope=scope)], as_json=as_json)
