"""What the commands share: options, opening a knowledge base, and whether a person asks."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable

import click

from kb.cli.prints import detect_language
from kb.errors import NeedsPerson
from kb.i18n import Message, msg
from kb.records.model import SCOPE, Status
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.project import is_agent_shell

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_SCOPE = regex(SCOPE)


def validate_scope(scope: str) -> str:
    """Return *scope* where it is "" or has the form of one; raise UsageError elsewhere."""
    if scope and not _SCOPE.fullmatch(scope):
        raise usage_error(msg("there is no scope {scope}: it is global or project/<name>", scope=scope))
    return scope


json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")
status_option = click.option(
    "--status", type=click.Choice([str(status) for status in Status]), help="Only this status."
)
scope_option = click.option(
    "--scope",
    default="",
    callback=lambda _context, _option, scope: validate_scope(scope),
    help="global or project/<name>.",
)
yes_option = click.option("--yes", is_flag=True, help="A person has decided it (for scripts, without a terminal).")


def percent_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --percent: a number from 0 to 1000; nan, which is no number, is refused."""

    def reject_nan(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
        if value is not None and value != value:  # nan is in every range
            raise usage_error(
                msg("{name} must be a number from {least} to {most}", name="--percent", least=0, most=1000)
            )
        return value

    return click.option("--percent", type=click.FloatRange(0, 1000), callback=reject_nan, help=help_text)


def add_options(*options: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a decorator that gives a command all of *options*, in this order in its help."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


# -- the knowledge base ------------------------------------------------------------------------------


def with_kb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a command as its first argument."""

    @click.pass_context
    @functools.wraps(function)
    def call_with_kb(ctx: click.Context, /, *args: Any, **kwargs: Any) -> Any:
        with open_base(ctx) as kb:
            return function(kb, *args, **kwargs)

    return call_with_kb


record_options = add_options(click.argument("name", metavar="ID"), scope_option, json_option, with_kb)
"""For a command about one record: it takes kb, name, scope and as_json."""


def open_base(ctx: click.Context) -> KnowledgeBase:
    """Open the knowledge base that the command line names, or the one around the current folder."""
    from kb.knowledge_base import KnowledgeBase

    path = ctx.find_root().obj
    return KnowledgeBase.at(path, folder=os.getcwd()) if path else KnowledgeBase.open()


def resolve_language(context: click.Context | None = None) -> str:
    """Return the language of the knowledge base that the command line names, or of the one around."""
    context = context or click.get_current_context(silent=True)
    return detect_language((context.find_root().obj or "") if context else "")


def print_note(said: Message) -> None:
    """Say something on stderr, in the language of the knowledge base that may be there."""
    click.echo(said.translate(resolve_language()), err=True)


# -- values ------------------------------------------------------------------------------------------


def usage_error(said: Message) -> click.UsageError:
    """Return the error for a command line that asks for what cannot be."""
    return click.UsageError(said.translate(resolve_language()))


def resolve_scope(kb: KnowledgeBase, scope: str, project: str) -> str:
    """Return the scope that the options --scope and --project name; without them, that of the current folder."""
    if scope and project and scope != f"project/{project}":
        raise usage_error(msg("give --scope or --project, not both"))
    return scope or (validate_scope(f"project/{project}") if project else kb.project(os.getcwd()))


def resolve_kind(name: str) -> tuple[str, ...]:
    """Return the kind that *name* (its name, prefix or Chinese label) means, for a filter; none for ""."""
    from kb.records.kinds import KINDS, find_kind

    row = find_kind(name)
    if name and row is None:
        known = ", ".join(kind.name for kind in KINDS)
        raise usage_error(msg("there is no kind {kind}; there are: {kinds}", kind=name, kinds=known))
    return as_filter_values(row.name if row else "")


def as_filter_values(value: str | None) -> tuple[str, ...]:
    """Return *value* for a filter; none for ""."""
    return (value,) if value else ()


# -- what only a person decides ----------------------------------------------------------------------


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
            msg("only a person decides a review"), hint=msg("at a terminal, or in a script of your own with --yes")
        )
