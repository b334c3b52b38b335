"""kb history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import pad_text, print_json

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Tell the life of a record.")
@click.argument("name", metavar="ID")
@scope_option
@json_option
@with_kb
def command(kb: KnowledgeBase, name: str, scope: str, as_json: bool) -> None:
    """Tell the life of a record from git.

    播种 seeded, 休眠 dormant, 成熟 matured, 果报 fruited, 更新 updated, 废弃 obsolete.
    """
    from kb.history.record_life import STAGES

    moments = kb.history(name, scope=scope)
    if as_json:
        print_json(moments)
        return
    for moment in moments:
        stage = pad_text(STAGES[moment.stage] if kb.config.language == "zh" else moment.stage, 8)
        click.echo(
            f"{moment.time[:16]}  {stage}  {moment.cause}" + (f"  {moment.commit[:10]}" if moment.commit else "")
        )
