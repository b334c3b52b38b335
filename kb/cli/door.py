"""What the commands share of options and of opening a knowledge base."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import click

from kb.cli.prints import detect_language
from kb.i18n import Message, msg
from kb.records.model import SCOPE, Status
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_SCOPE = regex(SCOPE)


def _validate_scope_option(context: click.Context, option: click.Parameter, scope: str) -> str:
    return validate_scope(scope)


def validate_scope(scope: str) -> str:
    """Return *scope* where it is "" or has the form of one; say elsewhere what a scope looks like."""
    if scope and not _SCOPE.fullmatch(scope):
        raise usage_error(msg("there is no scope {scope}: it is global or project/<name>", scope=scope))
    return scope


json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")
status_option = click.option(
    "--status", type=click.Choice([str(status) for status in Status]), help="Only this status."
)
scope_option = click.option("--scope", default="", callback=_validate_scope_option, help="global or project/<name>.")


def with_kb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a command as its first argument."""

    @click.pass_context
    @functools.wraps(function)
    def call_with_kb(ctx: click.Context, /, *args: Any, **kwargs: Any) -> Any:
        with open_base(ctx) as kb:
            return function(kb, *args, **kwargs)

    return call_with_kb


def open_base(ctx: click.Context) -> KnowledgeBase:
    """Open the knowledge base that the command line names, or the one around the current folder."""
    from kb.knowledge_base import KnowledgeBase

    place = ctx.find_root().obj
    return KnowledgeBase.at(place, folder=os.getcwd()) if place else KnowledgeBase.open()


def resolve_language(context: click.Context | None = None) -> str:
    """Return the language of the knowledge base that the command line names, or of the one around."""
    context = context or click.get_current_context(silent=True)
    return detect_language((context.find_root().obj or "") if context else "")


def require_known_avatar(avatar: str) -> None:
    """Raise UsageError where *avatar* is none that gets, or knowingly gets no, hints."""
    from kb.context.give_hints import AVATARS, is_avatar

    if not is_avatar(avatar):
        raise usage_error(
            msg("there is no avatar {name}; there are: {names}", name=avatar or "–", names=", ".join(AVATARS))
        )


def percent_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --percent: a number from 0 to 1000; nan, which is no number, is refused."""

    def reject_nan(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
        if value is not None and value != value:  # nan is in every range
            raise usage_error(
                msg("{name} must be a number from {least} to {most}", name="--percent", least=0, most=1000)
            )
        return value

    kind = click.FloatRange(0, 1000)
    return click.option("--percent", type=kind, callback=reject_nan, help=help_text)


def usage_error(said: Message) -> click.UsageError:
    """Return the error for a command line that asks for what cannot be."""
    return click.UsageError(said.translate(resolve_language()))


def resolve_scope(kb: KnowledgeBase, scope: str, project: str) -> str:
    """Return the scope that the options --scope and --project name; without them, that of the current folder."""
    if scope and project and scope != f"project/{project}":
        raise usage_error(msg("give --scope or --project, not both"))
    return scope or (validate_scope(f"project/{project}") if project else kb.project(os.getcwd()))


def resolve_kind(word: str) -> tuple[str, ...]:
    """Return the kind that *word* (its name, prefix or Chinese label) names, for a filter; none for ""."""
    from kb.records.kinds import KINDS, find_kind

    row = find_kind(word)
    if word and row is None:
        raise usage_error(
            msg("there is no kind {kind}; there are: {kinds}", kind=word, kinds=", ".join(k.name for k in KINDS))
        )
    return as_filter_values(row.name if row else "")


def as_filter_values(word: str | None) -> tuple[str, ...]:
    """Return *word* for a filter; none for ""."""
    return (word,) if word else ()
