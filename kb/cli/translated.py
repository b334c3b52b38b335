"""Help in the language of the knowledge base: click's own words and the texts of the commands, by paragraphs."""

from __future__ import annotations

import copy
import gettext
import os
from collections.abc import Sequence
from inspect import cleandoc

import click

from kb.i18n import DOMAIN, LOCALE, load_translations

_AS_IT_STANDS = "\b"
"""What click begins a paragraph with that it must not wrap."""


def split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; not what is to be shown as it stands."""
    return [_join_lines(part) for part in cleandoc(text).split("\n\n") if part and not part.startswith(_AS_IT_STANDS)]


def _join_lines(part: str) -> str:
    return " ".join(part.split())


def translate_help(text: str | None, language: str) -> str | None:
    """Return the help *text* in *language*, paragraph by paragraph; what has no translation stays English."""
    if not text:
        return text
    known = load_translations(language)
    parts = ((part, _join_lines(part)) for part in cleandoc(text).split("\n\n"))
    found = ((part, line, known.gettext(line)) for part, line in parts)
    return "\n\n".join(part if text == line else text for part, line, text in found)


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
