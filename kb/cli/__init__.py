"""The command line: dispatch a call to click, or the plainest calls straight to the library."""

from __future__ import annotations

import io
import sys

from kb.startup.process import delay_gc, exit_process


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from kb.cli import plain, prints

    # what a record says may hold escape sequences, and a file name half a character: both are shown, not obeyed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if stream is sys.stdout or not stream.isatty():  # a progress bar drives the terminal on purpose
                prints.sanitise_stream(stream)
    if arguments is None:
        delay_gc()  # where a program calls this, the process and its garbage collector are not ours
    words = sys.argv[1:] if arguments is None else arguments
    # a record of the person's own base (`me:U001`) is in another base than the one around
    code = None if any(word.startswith("me:") for word in words) else plain.run_if_plain(words)
    if code is None:
        from kb.cli import group

        code = group.run_command_line(words)
    if arguments is None:
        exit_process(code)
    sys.exit(code)
