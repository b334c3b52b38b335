"""The help of a command in Chinese, paragraph by paragraph; what has no Chinese half is shown in English."""

from __future__ import annotations

import copy
from inspect import cleandoc

import click

from kb.cli.help_zh import HELP_ZH

_AS_IT_STANDS = "\b"
"""What click begins a paragraph with that it must not wrap."""


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; not what is to be shown as it stands."""
    return [_on_one_line(part) for part in cleandoc(text).split("\n\n") if not part.startswith(_AS_IT_STANDS)]


def _on_one_line(part: str) -> str:
    return " ".join(part.split())


def in_chinese(text: str | None) -> str | None:
    """Return the help *text* with every paragraph in Chinese that has a Chinese half."""
    return "\n\n".join(HELP_ZH.get(_on_one_line(part), part) for part in cleandoc(text).split("\n\n")) if text else text


def translated(command: click.Command) -> click.Command:
    """Return a copy of *command* that explains itself in Chinese, with the commands below it."""
    made = copy.copy(command)
    made.help, made.short_help = in_chinese(command.help), in_chinese(command.short_help)
    made.params = [copy.copy(param) for param in command.params]
    for param in made.params:
        if isinstance(param, click.Option):
            param.help = in_chinese(param.help)
    if isinstance(made, click.Group):
        made.commands = {name: translated(one) for name, one in made.commands.items()}
    return made
