"""The command line: dispatch a call to click, or the plainest calls straight to the library."""

from __future__ import annotations

import io
import os
import sys

from kb.startup.namedtuple import TYPE_CHECKING
from kb.startup.process import delay_gc, exit_process

if TYPE_CHECKING:
    from kb.cli.terminal import PagedOutput


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from kb.cli import prints, without_click

    words = sys.argv[1:] if arguments is None else arguments
    pager = _prepare_terminal(words) if arguments is None and sys.stdout else None
    # what a record says may hold escape sequences, and a file name a lone surrogate: both are shown, not obeyed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if stream is sys.stdout or not stream.isatty():  # a progress bar drives the terminal on purpose
                prints.sanitise_stream(stream)
    if arguments is None:
        delay_gc()  # where a program calls this, the process and its garbage collector are not ours
    # a record of the person's own base (`me:U001`) is in another base than the one around
    code = None if any(word.startswith("me:") for word in words) else without_click.run_without_click(words)
    if code is None:
        from kb.cli import group

        code = group.run_command_line(words)
    if pager:
        pager.finish()
        sys.stdout = sys.__stdout__
    if arguments is None:
        exit_process(code)
    sys.exit(code)


def _prepare_terminal(words: list[str]) -> PagedOutput | None:
    """Turn on colours, and a pager where *words* call for one; not in the shell of an agent, which would wait in it."""
    is_terminal = sys.stdout.isatty()
    if not (is_terminal or os.environ.get("FORCE_COLOR")):
        return None
    from kb.cli import prints, terminal
    from kb.state.project import is_agent_shell

    if is_agent_shell(os.environ):
        return None
    if terminal.wants_colours(os.environ, is_terminal=is_terminal):
        prints.start_colours()
    return terminal.start_pager(words) if is_terminal else None
