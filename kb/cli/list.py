"""kb list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import as_filter_values, json_option, resolve_kind, scope_option, status_option, with_kb
from kb.cli.prints import format_record_line, print_json, warn_empty_result, warn_of_broken_files, warn_of_injection
from kb.i18n import msg
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="List records.")
@click.option("--kind", default="", help="Only this kind (name, prefix or 决策…).")
@click.option("--category", type=click.Choice(sorted({k.category for k in KINDS})), help="Only this category.")
@status_option
@scope_option
@click.option(
    "--here",
    "is_here",
    is_flag=True,
    help="Only of this project, and the global ones; in the knowledge base itself, all.",
)
@click.option("--tag", default="", help="Only with this tag.")
@click.option("--since", default="", help="Only from this day on (2026-11-21), or today, yesterday, week.")
@click.option("--table", is_flag=True, help="As a markdown table: decision, date, reason.")
@json_option
@with_kb
def command(
    kb: KnowledgeBase,
    kind: str,
    category: str | None,
    status: str | None,
    scope: str,
    is_here: bool,
    tag: str,
    since: str,
    table: bool,
    as_json: bool,
) -> None:
    """List records by scope and id, all or those that the options name."""
    from kb.knowledge_base import Filter

    since = kb.day_named(since) if since else ""
    scopes = (
        (kb.caller_scope, GLOBAL) if is_here and not scope and kb.caller_scope != GLOBAL else as_filter_values(scope)
    )
    records = kb.records(Filter(resolve_kind(kind), as_filter_values(status), scopes, tag, since))
    warn_of_broken_files(kb)
    if category:
        names = {k.name for k in KINDS if k.category == category}
        records = [record for record in records if record.kind in names]
    if not records:
        warn_empty_result(kb, msg("no record"), scope)
    warn_of_injection(kb, records, titles=not (as_json or table))
    if as_json:
        print_json(records)
    elif table:
        from kb.records.short_form import render_table as as_table

        click.echo(as_table(records, kb.config.language))
    else:
        for record in records:
            click.echo(format_record_line(kb, record))
