"""The help of a command in Chinese, paragraph by paragraph; what has no Chinese half is shown in English."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import cleandoc

import click

from kb.cli.help_zh import HELP_ZH, ROOT_ZH

_SECTIONS = {"Options": "选项", "Commands": "命令", "Other names": "别名"}
_CLICKS_OWN = {
    "Show this message and exit.": "显示本帮助并退出。", "Show the version and exit.": "显示版本并退出。",
    "[default: ": "[默认：", "[required]": "[必填]",
}  # fmt: skip
"""What click itself writes into a help, and its Chinese half."""
_AS_IT_STANDS = "\b"
"""What click begins a paragraph with that it must not wrap."""


class ChineseFormatter(click.HelpFormatter):
    """Click's formatter with click's own words in Chinese."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line that shows how the command is called."""
        super().write_usage(prog, args, "用法：" if prefix is None else prefix)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a section under its heading."""
        with super().section(_SECTIONS.get(name, name)):
            yield

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of options or commands with what each does."""
        super().write_dl([(name, _with_halves(text)) for name, text in rows], col_max, col_spacing)


def _with_halves(text: str) -> str:
    for own, half in _CLICKS_OWN.items():
        text = text.replace(own, half)
    return text


class ChineseContext(click.Context):
    """The context of a command whose help is Chinese."""

    formatter_class = ChineseFormatter


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line; not what is to be shown as it stands."""
    return [_on_one_line(part) for part in cleandoc(text).split("\n\n") if not part.startswith(_AS_IT_STANDS)]


def _on_one_line(part: str) -> str:
    return " ".join(part.split())


def in_chinese(text: str | None) -> str | None:
    """Return the help *text* with every paragraph in Chinese that has a Chinese half."""
    return "\n\n".join(map(_half, cleandoc(text).split("\n\n"))) if text else text


def _half(part: str) -> str:
    line = _on_one_line(part)
    return HELP_ZH.get(line) or ROOT_ZH.get(line, part)


def translated(command: click.Command) -> click.Command:
    """Return a copy of *command* that explains itself in Chinese, with the commands below it."""
    made = copy.copy(command)
    made.help, made.short_help = in_chinese(command.help), in_chinese(command.short_help)
    made.context_class = ChineseContext
    made.params = [copy.copy(param) for param in command.params]
    for param in made.params:
        if isinstance(param, click.Option):
            param.help = in_chinese(param.help)
    if isinstance(made, click.Group):
        made.commands = {name: translated(one) for name, one in made.commands.items()}
    return made
