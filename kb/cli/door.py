"""What the commands share of options and of opening a knowledge base."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import click

from kb.cli.prints import spoken
from kb.i18n import Message, msg
from kb.records.model import SCOPE, Status
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase

_SCOPE = regex(SCOPE)


def _scope(context: click.Context, option: click.Parameter, scope: str) -> str:
    return proper_scope(scope)


def proper_scope(scope: str) -> str:
    """Return *scope* where it is "" or has the form of one; say elsewhere what a scope looks like."""
    if scope and not _SCOPE.fullmatch(scope):
        raise usage(msg("there is no scope {scope}: it is global or project/<name>", scope=scope))
    return scope


json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")
status_option = click.option(
    "--status", type=click.Choice([str(status) for status in Status]), help="Only this status."
)
scope_option = click.option("--scope", default="", callback=_scope, help="global or project/<name>.")


def with_kb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a command as its first argument."""

    @click.pass_context
    @functools.wraps(function)
    def called(ctx: click.Context, /, *args: Any, **kwargs: Any) -> Any:
        with opened(ctx) as kb:
            return function(kb, *args, **kwargs)

    return called


def opened(ctx: click.Context) -> KnowledgeBase:
    """Open the knowledge base that the command line names, or the one around the current folder."""
    from kb.knowledge_base import KnowledgeBase

    place = ctx.find_root().obj
    return KnowledgeBase.at(place, folder=os.getcwd()) if place else KnowledgeBase.open()


def language_in_use(context: click.Context | None = None) -> str:
    """Return the language of the knowledge base that the command line names, or of the one around."""
    context = context or click.get_current_context(silent=True)
    return spoken((context.find_root().obj or "") if context else "")


def refuse_stranger(avatar: str) -> None:
    """Raise UsageError where *avatar* is none that gets, or knowingly gets no, hints."""
    from kb.context.give_hints import AVATARS, is_avatar

    if not is_avatar(avatar):
        raise usage(msg("there is no avatar {name}; there are: {names}", name=avatar or "–", names=", ".join(AVATARS)))


def percent_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option --percent: a number from 0 to 1000; nan, which is no number, is refused."""

    def checked(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
        if value is not None and value != value:  # nan is in every range
            raise usage(msg("{name} must be a number from {least} to {most}", name="--percent", least=0, most=1000))
        return value

    kind = click.FloatRange(0, 1000)
    return click.option("--percent", type=kind, callback=checked, help=help_text)


def usage(said: Message) -> click.UsageError:
    """Return the error for a command line that asks for what cannot be."""
    return click.UsageError(said.translate(language_in_use()))


def scope_wanted(kb: KnowledgeBase, scope: str, project: str) -> str:
    """Return the scope that the options --scope and --project name; without them, that of the current folder."""
    if scope and project and scope != f"project/{project}":
        raise usage(msg("give --scope or --project, not both"))
    return scope or (proper_scope(f"project/{project}") if project else kb.project(os.getcwd()))


def kind_wanted(word: str) -> tuple[str, ...]:
    """Return the kind that *word* (its name, prefix or Chinese label) names, for a filter; none for ""."""
    from kb.records.kinds import KINDS, kind_named

    row = kind_named(word)
    if word and row is None:
        raise usage(
            msg("there is no kind {kind}; there are: {kinds}", kind=word, kinds=", ".join(k.name for k in KINDS))
        )
    return one(row.name if row else "")


def one(word: str | None) -> tuple[str, ...]:
    """Return *word* for a filter; none for ""."""
    return (word,) if word else ()
