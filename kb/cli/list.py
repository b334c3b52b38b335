"""kb list."""

from typing import TYPE_CHECKING

import click

from kb.cli.door import json_option, print_json, record_line, scope_option, with_kb
from kb.kinds import KINDS, kind_named

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase


@click.command(short_help="List records.")
@click.option("--kind", default="", help="Only this kind (name, prefix or 决策…).")
@click.option("--category", default="", help=f"Only this category: {', '.join(sorted({k.category for k in KINDS}))}.")
@click.option("--status", default="", help="Only this status.")
@scope_option
@click.option("--tag", default="", help="Only with this tag.")
@click.option("--since", default="", help="Only from this day on (2026-11-21).")
@click.option("--table", is_flag=True, help="As a markdown table: decision, date, reason.")
@json_option
@with_kb
def command(
    kb: "KnowledgeBase",
    kind: str,
    category: str,
    status: str,
    scope: str,
    tag: str,
    since: str,
    table: bool,
    as_json: bool,
) -> None:
    """List records by scope and id, all or those that the options name."""
    from kb.knowledge import Filter

    row = kind_named(kind) if kind else None
    if kind and row is None:
        raise click.UsageError(f"there is no kind {kind}; there are: {', '.join(k.name for k in KINDS)}")
    records = kb.records(
        Filter((row.name,) if row else (), (status,) if status else (), (scope,) if scope else (), tag, since)
    )
    if category:
        names = {k.name for k in KINDS if k.category == category}
        records = [record for record in records if record.kind in names]
    if as_json:
        print_json(records)
    elif table:
        from kb.short import table as as_table

        click.echo(as_table(records, kb.config.language))
    else:
        for record in records:
            click.echo(record_line(record))
