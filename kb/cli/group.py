"""The command line as click has it: commands loaded one by one, and the one place where their errors are shown."""

from __future__ import annotations

from typing import cast

import click

from kb import __version__
from kb.cli.command_table import ALIASES, COMMANDS, load_command
from kb.cli.prints import report_error
from kb.errors import KbError
from kb.i18n import load_translations, msg


def _should_show_help(command: click.Command, rest: list[str]) -> bool:
    """Return whether *command* explains itself when it is called with *rest*, as a group does without a command."""
    return bool({"-h", "--help"} & {*rest}) or (
        isinstance(command, click.Group) and command.no_args_is_help and not rest
    )


class Commands(click.Group):
    """A group that imports a command when it is called and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return [*COMMANDS]  # `list` is a module in here

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, imported now."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first of *args* names; raise UsageError for none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from kb.cli.options import usage_error

            raise usage_error(msg("there is no command {name}", name=args[0]))
        name, command, rest = super().resolve_command(ctx, args)
        if command and _should_show_help(command, rest):
            from kb.cli.click_texts import translate_command
            from kb.cli.options import resolve_language

            command = translate_command(command, ctx, resolve_language(ctx))
        return name, command, rest

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of `kb` itself, in the language of the knowledge base."""
        from kb.cli.click_texts import translate_command
        from kb.cli.options import resolve_language

        translated = translate_command(self, ctx, resolve_language(ctx))
        click.Group.format_help(cast("click.Group", translated), ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing any."""
        from kb.cli.options import resolve_language

        translate = load_translations(resolve_language(ctx)).gettext
        with formatter.section(translate("Commands")):
            formatter.write_dl([(name, translate(line)) for name, (_, line) in COMMANDS.items()])
        with formatter.section(translate("Other names")):
            formatter.write_dl([(name, f"kb {command}") for name, command in ALIASES.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a command's real name in the place of an alias."""
        for number, word in enumerate(args):
            if word in ALIASES:
                args = [*args[:number], *ALIASES[word].split(), *args[number + 1 :]]
            if word in ALIASES or word in COMMANDS:
                break  # what follows are its words: in `kb search 存档` that is what is looked for
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; this is the one place where its errors are shown."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (KbError, OSError) as error:
            return report_error(error, ctx.obj or "")


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--kb", "base", metavar="PATH", help="The knowledge base (default: the one around the current folder, else ~/.kb)."
)
@click.version_option(__version__, prog_name="kb")
@click.pass_context
def command(ctx: click.Context, base: str | None) -> None:
    """A git-backed markdown knowledge base for engineering teams and their coding agents.

    Data goes to stdout, words to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 refused or held by the gate, 4 a
    review was opened, 5 a person is needed.
    """
    ctx.obj = base


def run_command_line(arguments: list[str]) -> int:
    """Run the command line *arguments* and return its exit code."""
    try:
        code = command.main(arguments, prog_name="kb", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except click.ClickException as error:
        from kb.cli.click_texts import print_usage_error

        print_usage_error(error)
        return error.exit_code
    except click.Abort:
        report_error(KbError(msg("stopped")))
        return 130
