"""What a person at a terminal gets besides the text: colours, and a pager for what is longer than the screen.

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
from collections.abc import Mapping, Sequence
from contextlib import suppress

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


class PagedOutput(io.TextIOWrapper):
    """Standard output that a pager shows; it is a terminal to whoever asks, since a person reads it."""

    def __init__(self, pager: Sequence[str]) -> None:
        """Start *pager*; raise OSError where it cannot be started."""
        # F: a text that fits the screen is printed and the pager ends; R: colours; X: the text stays on the screen
        settings = {"LESS": "FRX", "LESSCHARSET": "utf-8"}
        self._process = subprocess.Popen(pager, stdin=subprocess.PIPE, env={**settings, **os.environ})
        assert self._process.stdin
        super().__init__(self._process.stdin, "utf-8", "backslashreplace")

    def isatty(self) -> bool:
        """Return True."""
        return True

    def finish(self) -> None:
        """Hand over the rest and wait until the person has closed the pager."""
        with suppress(BrokenPipeError):  # the pager was closed before its end
            self.close()
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                pass  # Ctrl-C is the pager's, which ends a search by it


def start_pager(words: Sequence[str]) -> PagedOutput | None:
    """Send standard output through a pager where a person wants that for the command line *words*."""
    pager = choose_pager(words, os.environ)
    if not (pager and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        sys.stdout = PagedOutput(pager)
    except OSError:
        return None
    return sys.stdout
