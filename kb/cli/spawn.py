"""kb spawn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kb.cli.options import require_known_avatar, with_kb

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Print the context for a sub-agent.")
@click.option("--avatar", required=True, help="Its role: 眼 耳 鼻 舌 身 意, or an English alias.")
@click.option("--task", required=True, help="Its task.")
@click.option(
    "--session",
    default="",
    help="The session that calls it, by the beginning of its id (default: the last one of this project that runs).",
)
@click.option(
    "--style",
    type=click.Choice(["shi", "ruyi"]),
    default="shi",
    show_default=True,
    help="shi: hints by moment; ruyi: one list of anchors.",
)
@with_kb
def command(kb: KnowledgeBase, avatar: str, task: str, session: str, style: str) -> None:
    """Print compact form, hints, task and a pointer to more: what a sub-agent's prompt begins with."""
    require_known_avatar(avatar)
    from kb.sessions.active_sessions import find_running_session

    session = find_running_session(kb, session) if session else ""
    click.echo(kb.spawn(avatar, task, session=session, project=kb.project(os.getcwd()), style=style))
