"""kb load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.door import usage, with_kb
from kb.cli.session import loaded
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Print an archived session to go on from.")
@click.argument("name")
@with_kb
def command(kb: KnowledgeBase, name: str) -> None:
    """Print the compact form of the archived session NAME, with pointers to the rest; 加载 is the same.

    NAME is a unique part of the archive's name, or words of its task.
    """
    from kb.sessions.session_archive import sessions_named

    named = sessions_named(kb, name)
    if len(named) > 1:
        choices = ", ".join(session.name for session in named[-10:])
        raise usage(msg("{id} names several sessions: {choices}", id=name, choices=choices))
    loaded(kb, name)
