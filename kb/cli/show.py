"""kb show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli import plain
from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.past import past_options, resolve_commit

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Print a record.")
@click.argument("name", metavar="ID")
@click.option("--short", is_flag=True, help="Only title, why, impact and rollback.")
@click.option("--strict", is_flag=True, help="With --short: all six ADR fields.")
@past_options
@scope_option
@json_option
@with_kb
def command(
    kb: KnowledgeBase, name: str, short: bool, strict: bool, as_of: str, revision: str, scope: str, as_json: bool
) -> None:
    """Print the file of a record, or its short form.

    With --as-of or --at, the records as they stood then, from git's history.
    """
    commit = resolve_commit(kb, as_of, revision)
    plain.print_record(kb, name, short=short, strict=strict, scope=scope, as_json=as_json, commit=commit)
