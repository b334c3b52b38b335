"""Show what is wrong with a command line, in the language of the knowledge base."""

from __future__ import annotations

import re

import click

from kb.cli.door import resolve_language
from kb.i18n import Message, msg
from kb.state.hook_failures import redact_message


def print_usage_error(error: click.ClickException) -> None:
    """Print on stderr what is wrong and where the right use is told."""
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
    if isinstance(error, click.MissingParameter) and error.param:
        return msg("{name} is missing", name=_format_param_name(error.param))
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        choices = ", ".join(map(str, error.param.type.choices))
        return msg("{name} must be one of: {choices}", name=_format_param_name(error.param), choices=choices)
    if isinstance(error, click.BadOptionUsage):
        return msg("{name} needs a value", name=error.option_name)
    if isinstance(error, click.BadParameter) and error.param:
        return _describe_bad_value(error, error.param)
    text = error.format_message()
    if match := re.match(r"Got unexpected extra arguments? \((.*)\)", text):
        return msg("too many words: {words}", words=match[1])
    if match := re.match(r"No such command '(.*)'", text):
        return msg("there is no command {name}", name=match[1])
    return msg("{problem}", problem=text)


def _describe_bad_value(error: click.BadParameter, param: click.Parameter) -> Message:
    """Return what is wrong with the value of *param*: out of its range, no number, a file that is not there."""
    name, kind = _format_param_name(param), param.type
    if isinstance(kind, click.IntRange | click.FloatRange):
        return _describe_range(name, kind.min, kind.max)
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return msg("{name} must be a number", name=name)
    if isinstance(kind, click.Path | click.File):
        return msg("{name}: there is no such file, or it cannot be read", name=name)
    return msg("{name}: {problem}", name=name, problem=error.message)


def _describe_range(name: str, least: float | None, most: float | None) -> Message:
    """Return between what bounds the value of *name* must be, of those that there are."""
    if least is not None and most is not None:
        return msg("{name} must be a number from {least} to {most}", name=name, least=least, most=most)
    if least is not None:
        return msg("{name} must be a number, at least {least}", name=name, least=least)
    return msg("{name} must be a number, at most {most}", name=name, most=most)


def _format_param_name(param: click.Parameter) -> str:
    """Return what a person knows *param* by: its longest option, or its place in the usage line."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
