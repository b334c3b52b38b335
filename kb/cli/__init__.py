"""The command line: the table of commands, loaded one by one, and the one place where errors are shown."""

import io
import sys
from importlib import import_module

import click

from kb import __version__
from kb.errors import KbError
from kb.words import say

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Make a knowledge base."),
    "write": ("write", "Hand candidates to the gate."),
    "list": ("list", "List records."),
    "show": ("show", "Print a record."),
    "search": ("search", "Find records."),
    "hint": ("hint", "Print the hint for a moment of work."),
    "log": ("log", "Print the commits of a record."),
    "history": ("history", "Tell the life of a record."),
    "refs": ("refs", "Tell what a record cites and what cites it."),
    "edit": ("edit", "Edit a record in your editor."),
    "status": ("status", "Give a record another status."),
    "supersede": ("supersede", "Replace a record by a newer one."),
    "confirm": ("confirm", "Say that a record still holds."),
    "rm": ("rm", "Take a record out of force."),
    "review": ("review", "List and decide open reviews."),
    "inbox": ("inbox", "See what the gate keeps back."),
    "session": ("session", "Save, list and load sessions."),
    "check": ("check", "Check the records."),
    "import": ("import_", "Take over records of other tools."),
    "export": ("export", "Write records in another tool's form."),
    "wiki": ("wiki", "Build or serve the wiki."),
    "hooks": ("hooks", "Connect an agent host."),
    "spawn": ("spawn", "Print the context for a sub-agent."),
    "alaya": ("alaya", "Look at seeds, karma and preferences."),
    "config": ("config", "Explain the settings."),
    "doctor": ("doctor", "Check that everything works."),
}
"""Command → (module, one line of help). A new command is a module and a line here."""

ALIASES = {"锚点": "list", "存档": "session save", "加载": "session load", "anchors": "list"}
"""Other names by which a person or an older protocol calls a command."""


class Commands(click.Group):
    """A group that imports a command when it is called and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return [*COMMANDS]  # `list` is a module in here

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kb.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first of *args* names; raise UsageError for none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from kb.cli.door import usage

            raise usage(say("there is no command {name}", name=args[0]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a command's real name in the place of an alias."""
        for number, word in enumerate(args):
            if word in ALIASES:
                args = [*args[:number], *ALIASES[word].split(), *args[number + 1 :]]
                break
            if word in COMMANDS:
                break
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; this is the one place where its errors are shown."""
        try:
            return super().invoke(ctx)
        except KbError as error:
            show_error(error)
            sys.exit(error.exit_code)
        except BrokenPipeError:
            raise
        except OSError as error:
            show_error(KbError(error.strerror or str(error), path=str(error.filename or "")))
            sys.exit(KbError.exit_code)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--kb", "place", metavar="PATH", help="The knowledge base (default: the one around the current folder, else ~/.kb)."
)
@click.version_option(__version__, prog_name="kb")
@click.pass_context
def command(ctx: click.Context, place: str | None) -> None:
    """A git-backed markdown knowledge base for engineering teams and their coding agents.

    Data goes to stdout, words to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 refused by the gate, 4 a review was
    opened, 5 a person is needed.
    """
    ctx.obj = place


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = command.main(arguments, prog_name="kb", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        from kb.cli.usage import show_usage

        show_usage(error)
        sys.exit(error.exit_code)
    except click.Abort:
        show_error(KbError(say("stopped")))
        sys.exit(130)


def show_error(error: KbError) -> None:
    """Print what went wrong and the one next step."""
    from kb.cli.door import spoken

    language = spoken()
    click.echo(f"kb: {error.in_language(language)}", err=True)
    if hint := error.hint.in_language(language):
        click.echo(f"    → {hint}", err=True)
