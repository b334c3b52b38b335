"""kb alaya."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import format_record_line, print_json, warn_of_broken_files
from kb.records.kinds import KINDS

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Look at seeds, karma and preferences.")
@click.argument("view", type=click.Choice(["seeds", "karma", "prefs"]))
@json_option
@with_kb
def command(kb: KnowledgeBase, view: str, as_json: bool) -> None:
    """Look at the records in one of three views: 种子库 seeds by kind, 业力库 karma by label, 偏好库 preferences."""
    records = kb.records()
    label = {kind.name: kind.karma if view == "karma" else f"{kind.prefix} {kind.zh}" for kind in KINDS}
    if view == "prefs":
        records = [record for record in records if record.kind == "preference"]
    groups = {name: [r for r in records if label.get(r.kind) == name] for name in dict.fromkeys(label.values())}
    warn_of_broken_files(kb)
    if as_json:
        print_json(
            {name: [{**r._asdict(), "karma": label[r.kind]} for r in group] for name, group in groups.items() if group}
        )
        return
    for name, group in groups.items():
        if group:
            click.echo(f"{name} ({len(group)})")
        for record in group:
            click.echo(f"  {format_record_line(kb, record)}")
