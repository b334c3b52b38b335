"""kb load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import usage_error, with_kb
from kb.cli.session import print_session
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
    from kb.sessions.session_archive import find_sessions

    named = find_sessions(kb, name)
    if len(named) > 1:
        choices = ", ".join(session.name for session in named[-10:])
        raise usage_error(msg("{id} names several sessions: {choices}", id=name, choices=choices))
    print_session(kb, name)
