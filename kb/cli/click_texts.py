"""What click says, in the language of the knowledge base: the help of the commands, and what is wrong with a call."""

from __future__ import annotations

import copy
import gettext
import os
import re
from collections.abc import Sequence
from inspect import cleandoc

import click

from kb.cli.options import resolve_language
from kb.i18n import DOMAIN, LOCALE, Message, load_translations, msg
from kb.state.hook_failures import redact_message

_VERBATIM = "\b"
"""What click begins a paragraph with that it must not wrap."""


# -- help --------------------------------------------------------------------------------------------


def split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; not those that keep their lines."""
    return [_join_lines(part) for part in cleandoc(text).split("\n\n") if part and not part.startswith(_VERBATIM)]


def _join_lines(paragraph: str) -> str:
    return " ".join(paragraph.split())


def translate_help(text: str | None, language: str) -> str | None:
    """Return the help *text* in *language*, paragraph by paragraph; what has no translation stays English."""
    if not text:
        return text
    catalogue = load_translations(language)
    parts = [(part, _join_lines(part)) for part in cleandoc(text).split("\n\n")]
    return "\n\n".join(part if catalogue.gettext(line) == line else catalogue.gettext(line) for part, line in parts)


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
    made.help, made.short_help = (translate_help(text, language) for text in (command.help, command.short_help))
    made.params = [copy.copy(param) for param in command.params]
    click.help_option(*help_names, help="Show this message and exit.")(made)  # click keeps the first it made
    for param in made.params:
        if isinstance(param, click.Option):
            param.help = translate_help(param.help, language)
    if isinstance(made, click.Group):
        made.commands = {name: _translate_copy(one, help_names, language) for name, one in made.commands.items()}
    return made


# -- usage errors ------------------------------------------------------------------------------------


def print_usage_error(error: click.ClickException) -> None:
    """Print on stderr what is wrong with a command line and which help to read."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    language = resolve_language(context)
    click.echo(redact_message(f"kb: {describe_error(error).translate(language)}"), err=True)
    path = context.command_path if context else "kb"
    click.echo(f"    → {msg('see: {command} --help', command=path).translate(language)}", err=True)


def describe_error(error: click.ClickException) -> Message:
    """Return what click complains of, in words that have a translation where it is one of the common ones."""
    if isinstance(error, click.NoSuchOption):
        return msg("there is no option {name}", name=error.option_name)
    if isinstance(error, click.BadOptionUsage):
        return msg("{name} needs a value", name=error.option_name)
    if isinstance(error, click.BadParameter) and error.param:
        # what a person knows it by: its longest option, or its place in the usage line
        param = error.param
        name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
        return _describe_bad_value(error, name, param.type)
    text = error.format_message()
    if match := re.match(r"Got unexpected extra arguments? \((.*)\)", text):
        return msg("too many words: {words}", words=match[1])
    if match := re.match(r"No such command '(.*)'", text):
        return msg("there is no command {name}", name=match[1])
    return msg("{problem}", problem=text)


def _describe_bad_value(error: click.BadParameter, name: str, kind: object) -> Message:
    """Return what is wrong with the value of *name*: missing, none of the choices, out of its range, no number."""
    if isinstance(error, click.MissingParameter):
        return msg("{name} is missing", name=name)
    if isinstance(kind, click.Choice):
        return msg("{name} must be one of: {choices}", name=name, choices=", ".join(map(str, kind.choices)))
    if isinstance(kind, click.IntRange | click.FloatRange):
        if kind.min is not None and kind.max is not None:
            return msg("{name} must be a number from {least} to {most}", name=name, least=kind.min, most=kind.max)
        if kind.min is not None:
            return msg("{name} must be a number, at least {least}", name=name, least=kind.min)
        return msg("{name} must be a number, at most {most}", name=name, most=kind.max)
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return msg("{name} must be a number", name=name)
    if isinstance(kind, click.Path | click.File):
        return msg("{name}: there is no such file, or it cannot be read", name=name)
    return msg("{name}: {problem}", name=name, problem=error.message)
