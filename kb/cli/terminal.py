"""What a person at a terminal gets: colours, a pager for what is longer than the screen, an editor, a first screen.

A pipe, a file and an agent's shell get neither. NO_COLOR and TERM=dumb turn the colours off, FORCE_COLOR turns them on;
KB_PAGER or PAGER names the pager, and an empty one, `cat` or --no-pager turns it off.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO

if TYPE_CHECKING:
    import click

    from kb.errors import KbError
    from kb.i18n import Message
    from kb.knowledge_base import KnowledgeBase

PAGED = frozenset("changes commands config digest find help history impact list log ls refs search show".split())
"""Commands that print at length and ask nothing; a pager would stand between a person and a question."""


def wants_colours(environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return whether output is to be coloured (https://no-color.org, https://force-color.org)."""
    if environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or (is_terminal and environment.get("TERM", "dumb") != "dumb")


def choose_pager(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command of the pager for the command line *words*; [] where none is wanted."""
    rest = iter(words)
    for word in rest:
        if word == "--kb":
            next(rest, "")
        elif not word.startswith("-"):
            break
    else:
        return []
    if word not in PAGED or "--json" in words or "--no-pager" in words:
        return []
    named = next((environment[name] for name in ("KB_PAGER", "PAGER") if name in environment), "less")
    try:
        pager = shlex.split(named)
    except ValueError:  # an unclosed quote
        return []
    is_usable = pager and pager != ["cat"] and shutil.which(pager[0]) and environment.get("TERM", "dumb") != "dumb"
    return pager if is_usable else []


class _PagerInput(io.RawIOBase):
    """What a pager reads; it is started with the first byte, so that a command that fails shows no empty page."""

    def __init__(self, pager: Sequence[str], plain: BinaryIO) -> None:
        """Start *pager* when there is something to read; where it cannot be started, write to *plain*."""
        self._pager = pager
        self._reader: IO[bytes] = plain
        self._is_begun = False
        self.process: subprocess.Popen[bytes] | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Hand *data* to the pager."""
        if not self._is_begun:
            self._is_begun = True
            # F: a text that fits the screen is printed and the pager ends; R: colours; X: the text stays on the screen
            settings = {"LESS": "FRX", "LESSCHARSET": "utf-8"}
            with suppress(OSError):
                self.process = subprocess.Popen(self._pager, stdin=subprocess.PIPE, env={**settings, **os.environ})
                self._reader = self.process.stdin or self._reader
        self._reader.write(data)
        self._reader.flush()
        return len(memoryview(data))


class PagedOutput(io.TextIOWrapper):
    """Standard output that a pager shows; it claims to be a terminal, since a person reads it.

    What is said on stderr meanwhile would be in the middle of the page: it is printed when the pager is closed.
    """

    def __init__(self, pager: Sequence[str], errors: TextIO) -> None:
        """Show what is written in *pager*, and what is said on *errors* below it."""
        self._input = _PagerInput(pager, sys.stdout.buffer)
        super().__init__(io.BufferedWriter(self._input), "utf-8", "backslashreplace")
        self._held: list[str] = []
        self._has_text = False
        self._say = errors.write
        errors.write = self._say_below  # type: ignore[method-assign]

    def isatty(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str, /) -> int:
        """Write *text* to the page."""
        self._has_text = self._has_text or bool(text)
        return super().write(text)

    def finish(self) -> None:
        """Hand over the rest, wait until the person has closed the pager, and say what was said meanwhile."""
        with suppress(BrokenPipeError):  # the pager was closed before its end
            self.flush()
        while process := self._input.process:
            with suppress(KeyboardInterrupt, BrokenPipeError):  # Ctrl-C is the pager's, which ends a search by it
                process.communicate()
                break
        for text in self._held:
            self._say(text)

    def _say_below(self, text: str) -> int:
        if not self._has_text:
            return self._say(text)
        self._held.append(text)
        return len(text)


def start_pager(words: Sequence[str]) -> PagedOutput | None:
    """Send standard output through a pager where a person wants that for the command line *words*."""
    pager = choose_pager(words, os.environ)
    if not (pager and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    sys.stdout = paged = PagedOutput(pager, sys.stderr)
    return paged


def find_editor(environment: Mapping[str, str]) -> str:
    """Return the command of the person's editor, as click looks for it; "" where they have named none."""
    return environment.get("VISUAL") or environment.get("EDITOR") or ""


def open_editor(path: str, editor: str, command: str) -> None:
    """Let the person edit the file *path*; raise KbError where no editor starts, or it ends with a failure.

    *command* is how they called kb, and can again.
    """
    import click

    from kb.errors import KbError
    from kb.i18n import msg

    try:
        click.edit(filename=path)
    except click.ClickException as error:
        # click wraps both: an editor that is not there, and one that ended with an exit code
        if not isinstance(error.__cause__, OSError):
            message = msg("the editor {editor} ended with a failure: nothing was committed", editor=editor)
            raise KbError(message, hint=msg("edit again: {command}", command=command)) from None
        message = msg(
            "the editor {editor} cannot be started: {problem}", editor=editor, problem=error.__cause__.strerror
        )
        hint = msg("name one that is installed: EDITOR=nano {command}", command=command)
        raise KbError(message, hint=hint) from None


def ask_to_edit_again(kb: KnowledgeBase, error: KbError, path: str) -> None:
    """Show *error* and ask whether to open the editor of the file *path* again; raise it where not."""
    import click

    from kb.cli.prints import warn
    from kb.i18n import msg

    warn(kb, f"kb: {error.translate(kb.config.language)}")
    if hint := kb.localise(error.hint):
        warn(kb, f"    → {hint}")
    if not click.confirm(kb.localise(msg("edit again?")), default=True, err=True):
        error.hint = msg("what you wrote is kept in {path}", path=path)
        raise error


# -- the first screen ------------------------------------------------------------------------------


def render_first_screen(context: click.Context, heading: Message, everyday: Mapping[str, Message]) -> Iterator[str]:
    """Yield what `kb` alone prints: the first steps where there is no record yet, else the commands of *everyday*."""
    from kb.cli.options import resolve_language
    from kb.i18n import msg

    first_steps = {
        "kb new": msg("write a decision in your editor"),
        "kb init --adopt DIR": msg("go on with the decision records in DIR"),
        "kb list": msg("list what is decided; with a file, what governs it"),
        "kb wiki serve --open": msg("read it all in a browser"),
    }
    language = resolve_language(context)

    def translate(said: Message) -> str:
        return said.translate(language)

    yield translate(msg("kb keeps decisions, and what agents learn, as markdown files in git."))
    yield ""
    has_base, has_records = _inspect_base(context)
    if has_records:
        rows = {f"kb {name}": translate(text) for name, text in everyday.items()}
    else:
        heading = msg("First steps")
        begin = {} if has_base else {"kb init --here": msg("make a knowledge base in this repository")}
        rows = {name: translate(text) for name, text in {**begin, **first_steps}.items()}
    yield f"{translate(heading)}:"
    width = max(map(len, rows))
    yield from (f"  {name:<{width}}  {text}" for name, text in rows.items())
    yield ""
    yield translate(msg("All commands: kb help. One of them: kb help new. What a word means: kb help words."))


def _inspect_base(context: click.Context) -> tuple[bool, bool]:
    """Return whether there is a knowledge base here, and whether it has a record."""
    from kb.cli.options import open_base
    from kb.errors import KbError, NoKnowledgeBase

    try:
        with open_base(context) as kb:
            return True, bool(kb.records())
    except NoKnowledgeBase:
        return False, False
    except (KbError, OSError):  # a base with a fault has what it has: kb doctor says what is wrong
        return True, True
