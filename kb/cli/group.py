"""The click group: the commands and what older systems call them, help in two languages, errors in one place."""

from __future__ import annotations

import copy
import gettext
import os
import re
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from itertools import takewhile
from typing import NamedTuple

import click

from kb import __version__
from kb.cli.options import resolve_language, usage_error
from kb.cli.prints import report_error
from kb.cli.terminal import render_first_screen
from kb.errors import KbError
from kb.i18n import DOMAIN, LOCALE, Message, load_translations, msg
from kb.paths import user_home
from kb.records.model import OWN
from kb.state.state_folder import redact_message


class OldName(NamedTuple):
    """What a command of an older system is called here."""

    system: str
    command: str
    """The words that do the same behind `kb`; "" where nothing does."""
    note: Message | None = None
    """What differs, or why there is none."""


_MADE_WHEN_READ = msg("levels 0 and 1 are made from the text when they are read; no model writes them")
_IN_SETTINGS = msg("the embedder is a setting in kb.toml")


def _count_unnamed(number: int) -> Message:
    return msg("the source counts {n} commands and does not name them", n=number)


OLD_NAMES: dict[str, OldName] = {
    "memory_store": OldName("zclaw", "write"),
    "memory_get": OldName("zclaw", "show"),
    "memory_search": OldName("zclaw", "search"),
    "memory_delete": OldName("zclaw", "rm", msg("the record leaves force and stays in git")),
    "memory_delete_all": OldName("zclaw", "rm", msg("with an address, agent://<who>: every record in effect there")),
    "memory_stats": OldName("zclaw", "list --count"),
    "memory_export": OldName("zclaw", "export json"),
    "memory_import": OldName("zclaw", "import json"),
    "memory_build_context": OldName("zclaw", "context build"),
    "memory_db_path": OldName("zclaw", "", msg("the index is .kb/index.db, a cache that nobody opens; see: kb doctor")),
    "memory_init": OldName("zclaw", "init", msg("a second time changes nothing")),
    "viking_add": OldName("zclaw", "write --at"),
    "viking_add_with_metadata": OldName("zclaw", "write --at"),
    "viking_find": OldName("zclaw", "search"),
    "viking_grep": OldName("zclaw", "search --regex"),
    "viking_ls": OldName("zclaw", "list"),
    "viking_tree": OldName("zclaw", "list --tree"),
    "viking_read": OldName("zclaw", "show"),
    "viking_remove": OldName("zclaw", "rm", msg("the record leaves force and stays in git")),
    "viking_inject_prompt": OldName("zclaw", "context build"),
    "viking_configure_embedding": OldName("zclaw", "config", _IN_SETTINGS),
    "viking_configure_summary_driver": OldName("zclaw", "", _MADE_WHEN_READ),
    "viking_store_with_summaries": OldName("zclaw", "write", _MADE_WHEN_READ),
    "viking_status": OldName("zclaw", "doctor"),
    "viking_load_industry_keywords": OldName("zclaw", "keywords load"),
    "extract_session_memories": OldName("zclaw", "learn", msg("for Python: kb.memories.extract_session_memories")),
    "extract_and_store_memories": OldName("zclaw", "archive"),
    "estimate_content_tokens": OldName("zclaw", "context tokens"),
    "embedding_create": OldName("zclaw", "vectors embed"),
    "embedding_providers": OldName("zclaw", "vectors status"),
    "identity": OldName("zclaw", "list --kind preference", _count_unnamed(13)),
    "heartbeat": OldName("zclaw", "digest", _count_unnamed(11)),
    "pain_aggregator": OldName("zclaw", "list --kind pitfall", _count_unnamed(5)),
    "reflection": OldName("zclaw", "check", _count_unnamed(6)),
    "compactor": OldName("zclaw", "compact", _count_unnamed(4)),
    "health_snapshot": OldName("zclaw", "doctor --json"),
    "saveLearningRecord": OldName("sman", "write --kind learning"),
    "searchLearningRecords": OldName("sman", "context load"),
    "getLearningRecordsByDomain": OldName("sman", "list", msg("with the address agent://<project>/learning/<domain>/")),
    "getRecentLearningRecords": OldName("sman", "search --kind learning", msg("without words, the newest first")),
    "getProjectMemory": OldName("sman", "memory tree"),
    "updateProjectMemory": OldName("sman", "edit", msg("one record at a time: the memory is what they say together")),
    "getDomainKnowledge": OldName("sman", "list --kind domain-note"),
    "recordFailure": OldName("sman", "write --kind pitfall"),
    "hasFailedBefore": OldName("sman", "learn failed", msg("the hooks ask it at every command that fails")),
    "getFailureRecord": OldName("sman", "show"),
    "updateFailureStatus": OldName("sman", "edit", msg("its status follows from the solution and from fixed_by")),
    "getGlobalMemory": OldName("sman", "list --scope global"),
    "addBestPractice": OldName("sman", "write --kind pattern --scope global"),
}
"""The commands of the systems whose ideas are in here, by their names there; `kb commands --map` prints them."""


COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("setup_commands:init_base", "Create a knowledge base."),
    "new": ("edit_commands:new_record", "Write a record yourself, in your editor."),
    "write": ("edit_commands:write", "Submit candidates to the gate."),
    "list": ("record_commands:list_records", "List records; with a path, what governs it."),
    "show": ("record_commands:show_record", "Print a record."),
    "search": ("record_commands:search_records", "Find records."),
    "pack": ("context_commands:make_pack", "Answer a question with evidence."),
    "route": ("context_commands:route_work", "Show what to read before a piece of work."),
    "drill": ("context_commands:drill_down", "Suggest how to find an answer: read files, or make a pack."),
    "memory": ("context_commands:write_memory", "Rewrite MEMORY.md and the conventions."),
    "vectors": ("setup_commands:vectors", "Build the vectors for semantic search."),
    "hint": ("context_commands:print_hint", "Print what an agent is told at a moment of its work."),
    "keywords": ("setup_commands:keywords", "Load synonyms for a domain."),
    "log": ("history_commands:show_log", "Print the commits of a record."),
    "history": ("history_commands:show_history", "Show the life of a record."),
    "changes": ("history_commands:show_changes", "Show what changed in the records between two commits."),
    "digest": ("history_commands:show_digest", "Summarise recent changes and pending work."),
    "impact": ("history_commands:show_impact", "Show what depends on a record."),
    "refs": ("record_commands:show_links", "Show what a record cites and what cites it."),
    "edit": ("edit_commands:edit_record", "Edit a record in your editor."),
    "status": ("edit_commands:change_status", "Change the status of a record."),
    "supersede": ("edit_commands:supersede_record", "Replace a record by a newer one."),
    "confirm": ("edit_commands:confirm_record", "Confirm that a record still applies."),
    "verify": ("check_commands:verify_record", "Show how a record is verified, and run it."),
    "rm": ("edit_commands:deprecate_records", "Deprecate records that no longer apply."),
    "review": ("review_commands:review", "List and decide open reviews."),
    "sync": ("sync_commands:sync", "Synchronise this clone with a remote."),
    "hub": ("hub_commands:hub", "Search the knowledge bases of many teams."),
    "renumber": ("sync_commands:renumber", "Give records new numbers."),
    "repair": ("sync_commands:repair", "Restore what a merge lost."),
    "inbox": ("review_commands:inbox", "List what the gate held back."),
    "guard": ("host_commands:show_guard", "Show how the guard would rule."),
    "learn": ("learning_commands:learn", "List and answer what sessions left unrecorded."),
    "gaps": ("learning_commands:list_gaps", "List questions that no record answers."),
    "grow": ("learning_commands:grow", "List promotions that are due, and propose them."),
    "challenge": ("learning_commands:challenge", "Question whether a record should still apply."),
    "profile": ("learning_commands:show_profile", "Show what kb knows about you."),
    "skill": ("learning_commands:skill", "Publish patterns as agent skills."),
    "proposal": ("review_commands:proposal", "List and decide proposals."),
    "session": ("session_commands:session", "Save, list and load sessions."),
    "archive": ("session_commands:archive", "Archive a session."),
    "load": ("session_commands:load", "Print an archived session to resume from."),
    "compact": ("session_commands:show_compact", "Show the running session in its compact form."),
    "expand": ("session_commands:show_expanded", "Show the running session in its expanded form."),
    "form": ("session_commands:show_form", "Print a session in one of its three forms."),
    "context": ("context_commands:context", "Build an agent's context, or show how full it is."),
    "prune": ("session_commands:prune", "Prune a session's transcript."),
    "check": ("check_commands:check", "Check the records."),
    "purge-secret": ("check_commands:purge_secret", "Prepare to remove a secret from the history."),
    "import": ("note_commands:import_group", "Import records from other tools."),
    "layout": ("sync_commands:layout", "Switch between the two layouts of the context."),
    "export": ("note_commands:export", "Export records to other formats."),
    "wiki": ("setup_commands:wiki", "Build or serve the wiki."),
    "hooks": ("host_commands:hooks", "Connect an agent host."),
    "mcp": ("host_commands:mcp", "Serve agents over MCP."),
    "lsp": ("host_commands:serve_editor", "Serve editors over the Language Server Protocol."),
    "agents": ("host_commands:agents", "Write the files that show agents how to use kb."),
    "spawn": ("context_commands:spawn", "Print the context for a sub-agent."),
    "alaya": ("record_commands:show_alaya", "Show seeds, karma and preferences."),
    "config": ("setup_commands:show_config", "Explain the settings."),
    "commands": ("setup_commands:list_commands", "List the commands, or what older names are called here."),
    "doctor": ("setup_commands:doctor", "Check that everything works."),
    "help": ("help_commands:explain_topic", "Explain a command or a topic."),
    "completion": ("help_commands:print_completion", "Print a script that lets your shell complete kb's commands."),
    "merge-driver": ("sync_commands:merge", "Merge a record, for git."),
}
"""Command → (where it is, as module:attribute, and one line of help)."""

GROUPS: tuple[tuple[Message, str], ...] = (
    (msg("Every day"), "new search show list edit check review inbox wiki sync"),
    (msg("Write and decide"), "write status supersede confirm verify rm challenge proposal"),
    (msg("Learn and grow"), "learn gaps grow skill profile"),
    (msg("Look back"), "log history changes digest impact refs alaya"),
    (msg("Serve agents"), "hint pack route drill context spawn memory agents hooks mcp lsp guard"),
    (msg("Sessions"), "session archive load compact expand form prune"),
    (msg("Import and export"), "import export layout"),
    (
        msg("Set up and repair"),
        "init hub config doctor help completion commands keywords vectors renumber repair purge-secret merge-driver",
    ),
)
"""The commands as `kb --help` lists them: the ten a person needs every day first."""

ALIASES = {
    "ls": "list",
    "add": "new",
    "find": "search",
    "存档": "archive",
    "加载": "load",
    "锚点": "list --here",
    "anchors": "list --here",
    "sessions": "session",
    "压缩": "compact",
    "展开": "expand",
    "修剪": "prune",
    "修剪报告": "prune report",
}
"""Other names by which a person or an older protocol calls a command."""


def load_command(name: str) -> click.Command:
    """Import and return the command *name* of the table."""
    place, line = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command: click.Command = getattr(import_module(f"kb.cli.{module}"), attribute)
    command.short_help = line
    return command


_OWN_ID = re.compile(rf"{OWN}([A-Z]{{1,2}}\d+)")


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
        """Return the command that the first of *args* names, translated where help is wanted; UsageError for none."""
        # said here and not by click, so that it comes in the language of the knowledge base
        if old := OLD_NAMES.get(args[0]) if args else None:
            if {"-h", "--help"} & {*args[1:]} and old.note:
                click.echo(old.note.translate(resolve_language(ctx)))
                ctx.exit(0)
            raise usage_error(msg("{name} has no command here: {why}", name=args[0], why=old.note))
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise usage_error(msg("there is no command {name}", name=args[0]), suggest_command(args[0]))
        name, command, rest = super().resolve_command(ctx, args)
        # a group explains itself where none of its commands is named; translating costs a copy of every command
        explains_itself = isinstance(command, click.Group) and command.no_args_is_help and not rest
        if command and (explains_itself or {"-h", "--help"} & {*rest}):
            command = translate_command(command, ctx, resolve_language(ctx))
        return name, command, rest

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of `kb` itself, in the language of the knowledge base."""
        translated = translate_command(self, ctx, resolve_language(ctx))
        click.Group.format_help(translated, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing any."""
        translate = load_translations(resolve_language(ctx)).gettext
        for heading, names in GROUPS:
            with formatter.section(translate(heading.template)):
                formatter.write_dl([(name, translate(COMMANDS[name][1])) for name in names.split()])
        # a reader of English cannot type the Chinese ones; they work all the same
        shown = {name: of for name, of in ALIASES.items() if name.isascii() or resolve_language(ctx) == "zh"}
        with formatter.section(translate("Other names")):
            formatter.write_dl([(name, f"kb {command}") for name, command in shown.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put a command's real name in place of an alias."""
        for number, word in enumerate(args):
            if command := ALIASES.get(word) or (OLD_NAMES[word].command if word in OLD_NAMES else ""):
                rest, words = args[number + 1 :], command.split()
                # an option that waits for a value would take --help for it: kb viking_grep --help
                if {"-h", "--help"} & {*rest}:
                    words = list(takewhile(lambda one: not one.startswith("-"), words))
                args = [*args[:number], *words, *rest]
            if command or word in COMMANDS:
                break  # what follows are its words: in `kb search 存档` that is what is looked for
        if any(map(_OWN_ID.fullmatch, args)):  # `kb show me:U001`: in the person's own base, wherever they stand
            args = ["--kb", user_home(os.environ), *(_OWN_ID.sub(r"\1", word) for word in args)]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; this is the one place where its errors are shown."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # an OSError, but nobody is left to read about it
        except (KbError, OSError) as error:
            return report_error(error, ctx.obj or "")


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--kb", "base", metavar="PATH", help="The knowledge base (default: the one around the current folder, else ~/.kb)."
)
@click.option("--no-pager", is_flag=True, help="Print everything at once, as to a file.")
@click.version_option(__version__, "-V", "--version", prog_name="kb")
@click.pass_context
def command(ctx: click.Context, base: str | None, no_pager: bool) -> None:
    """A git-backed markdown knowledge base for engineering teams and their coding agents.

    Data goes to stdout, messages to stderr. Exit codes: 0 done, 1 failed, 2 usage error, 3 refused or held by the gate,
    4 a review was opened, 5 a person is needed.
    """
    ctx.obj = base  # the pager is started before: see kb.cli.terminal


def run_command_line(arguments: list[str]) -> int:
    """Run the command line *arguments* and return its exit code."""
    try:
        code = command.main(arguments, prog_name="kb", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except click.ClickException as error:
        print_usage_error(error)
        return error.exit_code
    except click.Abort:
        report_error(KbError(msg("stopped")))
        return 130


# -- help --------------------------------------------------------------------------------------------


def split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; not those that keep their lines (click's backspace)."""
    return [" ".join(part.split()) for part in cleandoc(text).split("\n\n") if part and not part.startswith("\b")]


def translate_command(command: click.Command, context: click.Context, language: str) -> click.Command:
    """Return a copy of *command* that explains itself in *language*, with the commands below it.

    click's own words ("Usage:") follow for the rest of the process: to be called for help that is about to be printed.
    """
    os.environ["LANGUAGE"] = language
    gettext.bindtextdomain(DOMAIN, LOCALE)
    gettext.textdomain(DOMAIN)
    return _translate_copy(command, context.help_option_names, language)


def _translate_copy(command: click.Command, help_names: Sequence[str], language: str) -> click.Command:
    made = copy.copy(command)
    made.help, made.short_help = (_translate_help(text, language) for text in (command.help, command.short_help))
    # the commands are shared by all calls of a process, in either language
    made.params = [copy.copy(param) for param in command.params]
    click.help_option(*help_names, help="Show this message and exit.")(made)  # click keeps the first it made
    for param in made.params:
        if isinstance(param, click.Option):
            param.help = _translate_help(param.help, language)
    if isinstance(made, click.Group):
        made.commands = {name: _translate_copy(one, help_names, language) for name, one in made.commands.items()}
    return made


def _translate_help(text: str | None, language: str) -> str | None:
    """Return the help *text* in *language*, paragraph by paragraph; what has no translation stays English."""
    if not text:
        return text
    catalogue = load_translations(language)
    parts = [(part, " ".join(part.split())) for part in cleandoc(text).split("\n\n")]
    said = (part if catalogue.gettext(line) == line else catalogue.gettext(line) for part, line in parts)
    return name_hosts("\n\n".join(said))


def name_hosts(text: str) -> str:
    """Return a help *text* with the names of all hosts in place of “{hosts}”."""
    from kb.hosts import HOSTS

    return text.replace("{hosts}", ", ".join(HOSTS))


def suggest_command(word: str) -> Message | None:
    """Return what somebody may have meant who typed *word* as a command; None where nothing is near."""
    from difflib import get_close_matches

    if re.fullmatch(r"(?:[\w/-]+:)?[A-Za-z]{1,2}\d{3,}", word):
        return msg("to read a record: kb show {id}", id=word)
    if word.lower() in ("undo", "revert", "restore", "reset"):
        return msg("how to take something back: kb help undo")
    if word.lower() in ("blame", "govern", "governs", "owns", "why"):
        return msg("what governs a file: kb list PATH")
    # 0.7 finds lsit → list and serch → search, and nothing for words of another meaning; of three letters two tell
    cutoff = 0.66 if len(word) <= 3 else 0.7
    near = get_close_matches(word.lower(), [*COMMANDS, *ALIASES], n=1, cutoff=cutoff)
    return msg("did you mean: kb {command}", command=near[0]) if near else None


# -- usage errors ------------------------------------------------------------------------------------


def print_usage_error(error: click.ClickException) -> None:
    """Print on stderr what is wrong with a command line and which help to read."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        if error.ctx is None or error.ctx.parent:
            click.echo(error.format_message(), err=True)
            return
        everyday = {name: Message(COMMANDS[name][1], {}) for name in GROUPS[0][1].split()}
        click.echo("\n".join(render_first_screen(error.ctx, GROUPS[0][0], everyday)), err=True)
        return
    context = error.ctx if isinstance(error, click.UsageError) else None
    language = resolve_language(context)
    click.echo(redact_message(f"kb: {describe_error(error).translate(language)}"), err=True)
    path = context.command_path if context else "kb"
    hint = getattr(error, "hint", None) or suggest_option(error) or msg("see: {command} --help", command=path)
    click.echo(f"    → {hint.translate(language)}", err=True)


def suggest_option(error: click.ClickException) -> Message | None:
    """Return what option, or word of a choice, somebody may have meant; None where click knows none that is near."""
    near = sorted(error.possibilities or ()) if isinstance(error, click.NoSuchOption) else ()
    return msg("did you mean: {name}", name=near[0]) if near else None


def describe_error(error: click.ClickException) -> Message:
    """Return what click complains of, in words that have a translation where it is one of the common ones."""
    if isinstance(error, click.NoSuchOption):
        return msg("there is no option {name}", name=error.option_name)
    if isinstance(error, click.BadOptionUsage):
        return msg("{name} needs a value", name=error.option_name)
    if isinstance(error, click.BadParameter) and error.param:
        return _describe_bad_value(error, error.param)
    text = error.format_message()
    if match := re.match(r"Got unexpected extra arguments? \((.*)\)", text):
        return msg("too many words: {words}", words=match[1])
    if match := re.match(r"No such command '([^']*)'", text):
        return msg("there is no command {name}", name=match[1])
    return msg("{problem}", problem=text)


def _describe_bad_value(error: click.BadParameter, param: click.Parameter) -> Message:
    """Return what is wrong with the value of *param*: missing, none of the choices, out of its range, no number."""
    # what a person knows it by: its longest option, or its place in the usage line
    name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
    kind = param.type
    if isinstance(error, click.MissingParameter):
        return msg("{name} is missing", name=name)
    if isinstance(kind, click.Choice):
        if isinstance(param, click.Argument) and not param.metavar:
            # the usage line shows the choices themselves, and no name
            return msg("give one of: {choices}", choices=list(map(str, kind.choices)))
        return msg("{name} must be one of: {choices}", name=name, choices=list(map(str, kind.choices)))
    if isinstance(kind, click.IntRange | click.FloatRange):
        if kind.min is not None and kind.max is not None:
            return msg("{name} must be a number from {least} to {most}", name=name, least=kind.min, most=kind.max)
        return msg("{name} must be a number, at least {least}", name=name, least=kind.min)  # no range is open below
    if isinstance(kind, click.Path | click.File):
        return msg("{name}: there is no such file, or it cannot be read", name=name)
    return msg("{name}: {problem}", name=name, problem=error.message)
