"""Run kb as a person does, but in this process where that shows the same: one for each command would take minutes."""

import io
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from kb.cli import main


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    error: str


def run(place: Path, *arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
    """Run kb in the folder *place*; an exception that would show a traceback comes out of here."""
    out, error = io.BytesIO(), io.BytesIO()
    code: object = 0
    with (
        _within(place, environment),
        _input(stdin),
        redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)),
        redirect_stderr(io.TextIOWrapper(error, "utf-8", write_through=True)),
    ):
        try:
            main(list(arguments))
        except SystemExit as leave:
            code = leave.code or 0
        return Ran(int(str(code)), out.getvalue().decode("utf-8"), error.getvalue().decode("utf-8"))


def run_at_terminal(place: Path, *arguments: str, typed: bytes = b"", **environment: str) -> Ran:
    """Run kb in the folder *place* with a terminal at which a person types *typed*; both outputs are its screen."""
    here, there = pty.openpty()
    code = "from kb.cli import main\nmain()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=place, env={**os.environ, **environment},
        stdin=there, stdout=there, stderr=there,
    ) as process:  # fmt: skip
        os.close(there)
        os.write(here, typed)
        shown = bytearray()
        # what kb starts in the background may keep the terminal open: the end is that of the process
        while process.poll() is None or select.select([here], [], [], 0)[0]:
            if select.select([here], [], [], 0.05)[0]:
                try:
                    shown += os.read(here, 65536)
                except OSError:  # Linux says so of a terminal that nobody has open any more
                    break
        ended = process.wait(60)
    os.close(here)
    return Ran(ended, shown.decode("utf-8", "replace").replace("\r\n", "\n"), "")


@contextmanager
def _within(place: Path, environment: dict[str, str]) -> Iterator[None]:
    """Work in the folder *place* with more in the *environment*."""
    folder, before = os.getcwd(), dict(os.environ)
    os.chdir(place)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.chdir(folder)


@contextmanager
def _input(data: bytes) -> Iterator[None]:
    """Let *data* come from stdin."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data), "utf-8")
    try:
        yield
    finally:
        sys.stdin = before
