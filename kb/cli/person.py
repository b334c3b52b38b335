"""Return whether a person asks: what only a person decides, a command asks here."""

from __future__ import annotations

import sys

import click

from kb.errors import NeedsPerson
from kb.i18n import msg
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.project import is_agent_shell

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase

yes_option = click.option("--yes", is_flag=True, help="A person has decided it (for scripts, without a terminal).")


def is_at_terminal() -> bool:
    """Return whether somebody types the command and reads what it prints."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def has_decided(kb: KnowledgeBase, *, yes: bool = False) -> bool:
    """Return whether a person asks: by *yes*, or at a terminal that is no agent's shell."""
    return yes or (is_at_terminal() and not is_agent_shell(kb.environment))


def require_person(kb: KnowledgeBase, *, yes: bool = False) -> None:
    """Raise NeedsPerson unless a person asks."""
    if not has_decided(kb, yes=yes):
        raise NeedsPerson(
            msg("only a person decides a review"),
            hint=msg("at a terminal, or in a script of your own with --yes"),
        )
