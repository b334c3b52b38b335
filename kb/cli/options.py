"""Shared parts of the commands: options, opening a knowledge base, printing, detecting a person at a terminal."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from kb.cli.prints import detect_language, print_json, print_verdict, print_verdicts
from kb.errors import KbError
from kb.i18n import Message, msg
from kb.records.kinds import KINDS, find_kind, status_name
from kb.records.model import SCOPE, Status, Verdict
from kb.state.project import is_agent_shell

if TYPE_CHECKING:
    from typing import Any

    from click.shell_completion import CompletionItem

    from kb.knowledge_base import KnowledgeBase

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


json_option = click.option("--json", "as_json", is_flag=True, help="Print what the library returns, as JSON.")


# -- an answer and its printer -----------------------------------------------------------------------


class Answer(NamedTuple):
    """What a command has to say: as values, and in words for a reader."""

    data: object
    """What --json prints."""
    lines: Iterable[Message | str] = ()
    """What is on stdout without --json."""
    notes: Iterable[Message | str] = ()
    """What is on stderr below it."""
    text: str = ""
    """A page with line ends of its own, above the lines."""
    verdicts: Sequence[Verdict] = ()
    """What became of records, above the lines."""
    is_dry_run: bool = False
    """Whether that is only what would become of them."""
    code: int = 0
    has_notes_with_json: bool = False
    """Whether the notes are said with --json, too."""


def print_answer(
    kb: KnowledgeBase, answer: Answer | list[Verdict] | int | None, *, as_json: bool = False
) -> int | None:
    """Print *answer* as JSON or in the language of *kb* and return its exit code; a number is one, and printed."""
    if isinstance(answer, list):
        return print_verdicts(kb, answer, as_json=as_json)
    if not isinstance(answer, Answer):
        return answer
    if as_json:
        print_json(answer.data)
        sys.stdout.flush()
    else:
        for verdict in answer.verdicts:
            print_verdict(kb, verdict, is_dry_run=answer.is_dry_run)
        click.echo(answer.text, nl=False)
        for line in answer.lines:
            click.echo(kb.localise(line))
    if not as_json or answer.has_notes_with_json:
        for note in answer.notes:
            click.echo(kb.localise(note), err=True)
    return answer.code


def with_kb(function: Callable[..., Any]) -> Callable[..., Any]:
    """Hand the knowledge base in use to a command as its first argument, and print the answer that it returns.

    A group is called only where no command of it is named.
    """

    @click.pass_context
    @functools.wraps(function)
    def call_with_kb(ctx: click.Context, /, *args: Any, **kwargs: Any) -> int | None:
        if ctx.invoked_subcommand is not None:
            return None
        with open_base(ctx) as kb:
            return print_answer(kb, function(kb, *args, **kwargs))

    return call_with_kb


def with_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option --json besides: it answers with values, and need not know how they are printed."""

    @json_option
    @with_kb
    @functools.wraps(function)
    def print_as_wished(kb: KnowledgeBase, /, *args: Any, as_json: bool, **kwargs: Any) -> int | None:
        return print_answer(kb, function(kb, *args, **kwargs), as_json=as_json)

    return print_as_wished


def add_options(*options: Decorator) -> Decorator:
    """Return a decorator that gives a command all of *options*, in this order in its help."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


# -- options -----------------------------------------------------------------------------------------


def validate_scope(scope: str) -> str:
    """Return *scope* where it is "" or has the form of one; raise UsageError elsewhere."""
    # "Global" and "team/x" are mistakes that would find nothing and say nothing
    if scope and not re.fullmatch(SCOPE, scope):
        raise usage_error(msg("there is no scope {scope}: it is global or project/<name>", scope=scope))
    return scope


def percent_option(help_text: str) -> Decorator:
    """Return the option --percent, a number from 0 to 1000, as *percent*; -1 where it is not given."""

    def reject_nan(context: click.Context, option: click.Parameter, value: float | None) -> float:
        if value is not None and value != value:  # nan is in every range
            problem = msg("{name} must be a number from {least} to {most}", name="--percent", least=0, most=1000)
            raise usage_error(problem)
        return -1.0 if value is None else value

    return click.option("--percent", type=click.FloatRange(0, 1000), callback=reject_nan, help=help_text)


def complete_id(context: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the ids of records that begin with what is *typed*, each with its title, for a shell."""
    from click.shell_completion import CompletionItem

    from kb.index.record_ids import qualify_record_ids

    try:
        with open_base(context) as kb:
            records = qualify_record_ids(kb.sync_index(), kb.records(), kb.caller_scope)
    except KbError:
        return []  # no base here: there is nothing to complete, and nobody to tell
    return [CompletionItem(one.id, help=one.title) for one in records if one.id.lower().startswith(typed.lower())]


id_argument = click.argument("name", metavar="ID", shell_complete=complete_id)
path_argument = click.argument("transcript", required=False, type=click.Path())


class StatusChoice(click.Choice[str]):
    """A status: by its name, or as either language shows it, with its mark or without (`✅ 生效`)."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the status that *value* means."""
        said = re.sub(r"^\W+", "", value).strip().lower()
        named = {str(status_name(one)): one for one in self.choices}
        named |= {msg("{name}", name=status_name(one)).translate("zh"): one for one in self.choices}
        return str(super().convert(named.get(said, value), param, ctx))


status_choice = StatusChoice([str(status) for status in Status])
status_option = click.option("--status", type=status_choice, help="Only this status.")
scope_option = click.option(
    "--scope",
    default="",
    callback=lambda _context, _option, scope: validate_scope(scope),
    help="global or project/<name>.",
)
yes_option = click.option(
    "--yes", is_flag=True, help="Confirm that a person has decided it (for scripts without a terminal)."
)
record_options = add_options(id_argument, scope_option, with_json)
"""For a command about one record: it takes kb, name and scope."""
decision_options = add_options(scope_option, yes_option, with_json)
"""For a command by which a person takes a record out of force: it takes kb, scope and yes."""


# -- the knowledge base ------------------------------------------------------------------------------


def open_base(ctx: click.Context) -> KnowledgeBase:
    """Open the knowledge base that the command line names, or the one around the current folder."""
    from kb.knowledge_base import KnowledgeBase

    path = ctx.find_root().obj
    return KnowledgeBase.at(path, folder=os.getcwd()) if path else KnowledgeBase.open()


def find_asking_project(ctx: click.Context) -> str:
    """Return the project of the current folder, whose groups the hub is to follow; "" for none."""
    try:
        with open_base(ctx) as kb:
            scope = kb.caller_scope
    except KbError:
        return ""
    return scope.removeprefix("project/") if scope.startswith("project/") else ""


def resolve_language(context: click.Context | None = None) -> str:
    """Return the language of the knowledge base that the command line names, or of the one around."""
    context = context or click.get_current_context(silent=True)
    return detect_language((context.find_root().obj or "") if context else "")


def print_note(said: Message) -> None:
    """Say something on stderr, in the language of the knowledge base that may be there."""
    click.echo(said.translate(resolve_language()), err=True)


# -- values ------------------------------------------------------------------------------------------


class HintedUsageError(click.UsageError):
    """A command line that asks for what cannot be, and what may have been meant."""

    hint: Message | None = None


def usage_error(said: Message, hint: Message | None = None) -> click.UsageError:
    """Return the error for a command line that asks for what cannot be; *hint*: what to type instead."""
    error = HintedUsageError(said.translate(resolve_language()))
    error.hint = hint
    return error


def resolve_scope(kb: KnowledgeBase, scope: str, project: str) -> str:
    """Return the scope that the options --scope and --project name; without them, that of the current folder."""
    if scope and project and scope != f"project/{project}":
        raise usage_error(msg("give --scope or --project, not both"))
    return scope or (validate_scope(f"project/{project}") if project else kb.project(os.getcwd()))


def resolve_kind(name: str) -> tuple[str, ...]:
    """Return the kind that *name* (its name, prefix or Chinese label) means, for a filter; none for ""."""
    row = find_kind(name)
    if name and row is None:
        known = [kind.name for kind in KINDS]
        raise usage_error(msg("there is no kind {kind}; there are: {kinds}", kind=name, kinds=known))
    return as_filter_values(row.name if row else "")


def as_filter_values(value: str | None) -> tuple[str, ...]:
    """Return *value* for a filter; none for ""."""
    return (value,) if value else ()


# -- what only a person decides ----------------------------------------------------------------------


def is_at_terminal() -> bool:
    """Return whether somebody types the command and reads what it prints."""
    # both: in `yes | kb proposal confirm` nobody has typed anything, and what goes into a file nobody has read
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def has_decided(kb: KnowledgeBase, *, yes: bool = False) -> bool:
    """Return whether a person asks: by *yes*, or at a terminal that is not an agent's shell."""
    # an agent can open a terminal for its commands; its shell has a variable that says whose it is
    return yes or (is_at_terminal() and not is_agent_shell(kb.environment))


def ask_for_reason(kb: KnowledgeBase) -> str:
    """Return the reason that a person at a terminal gives; "" where nobody is asked, or nothing is given."""
    if not is_at_terminal():
        return ""
    question = kb.localise(msg("Why? Whoever reads it later will ask (Enter: no reason)"))
    return str(click.prompt(question, default="", show_default=False, err=True))


def name_in_repository(path: str) -> str:
    """Return *path*, which somebody typed, as records name it: from the top of its repository."""
    from kb.git.git_process import find_git_dir

    around = find_git_dir(os.getcwd())
    absolute = os.path.realpath(path)
    if around is None or os.path.commonpath((around[0], absolute)) != around[0]:
        return path
    named = os.path.relpath(absolute, around[0]).replace(os.sep, "/")
    # From a folder of the repository somebody may still name a file from its top
    return named if os.path.exists(path) else os.path.normpath(path).replace(os.sep, "/")
