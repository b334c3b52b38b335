"""kb export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import as_filter_values, scope_option, with_kb
from kb.cli.prints import warn_of_broken_files, warn_of_injection

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.group(short_help="Write records in another tool's form.")
def command() -> None:
    """Write records in the form of another tool."""


@command.command("wukong", short_help="Write an anchors.md.")
@scope_option
@click.option("-o", "--output", "out", default="-", metavar="FILE", help="Where to (default: stdout).")
@with_kb
def export_wukong(kb: KnowledgeBase, scope: str, out: str) -> None:
    """Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal."""
    from kb.importers.wukong import render_anchors
    from kb.knowledge_base import Filter
    from kb.writing.file_changes import write_export

    records = sorted(kb.records(Filter(scopes=as_filter_values(scope))), key=lambda record: record.uid or "~")
    warn_of_broken_files(kb)
    text = render_anchors(records, "zh", scope or "global")  # the form is Chinese, whoever reads it
    if out == "-":
        warn_of_injection(kb, records)
        click.echo(text, nl=False)
        return
    write_export(kb, out, text.encode())
    click.echo(out)
