"""Talk to a command of the user's own: a line goes in, a line comes out, and nothing of it outlives the talk."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import time

from kb.errors import KbError
from kb.i18n import msg

MAX_LINE = 64_000_000
"""Longest answer in bytes."""


class JsonProcess:
    """A command that runs, without a shell, in a process group of its own."""

    def __init__(self, variable: str, command: str) -> None:
        """Start the shell words in *command*, which stand in *variable*; raise KbError."""
        self._variable = variable
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            raise KbError(msg("{variable} cannot be run: {problem}", variable=variable, problem=error)) from None
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)

    def exchange_line(self, line: str, until: float) -> bytes:
        """Return the line that the command answers to *line* before the moment *until*; raise KbError."""
        rest = memoryview(line.encode("utf-8", "replace") + b"\n")
        answer = bytearray()
        while not answer.endswith(b"\n"):
            readable, writable, _ = select.select(
                [self._out], [self._in] if rest else [], [], max(until - time.monotonic(), 0)
            )
            if not readable and not writable:
                raise KbError(msg("{variable} took too long", variable=self._variable))
            try:
                if writable:
                    rest = rest[os.write(self._in, rest[:65536]) :]
                if readable:
                    answer += self._read_chunk(len(answer))
            except OSError as error:
                raise self._build_exit_error(error.strerror) from None
        return bytes(answer)

    def _read_chunk(self, known: int) -> bytes:
        chunk = os.read(self._out, 1 << 20)
        if not chunk:
            raise self._build_exit_error("")
        if known + len(chunk) > MAX_LINE:
            raise KbError(msg("{variable} printed more than {limit} bytes", variable=self._variable, limit=MAX_LINE))
        return chunk

    def _build_exit_error(self, problem: str | None) -> KbError:
        return KbError(
            msg("{variable} ended without an answer {problem}", variable=self._variable, problem=problem or "")
        )

    def stop_process(self) -> None:
        """End the command and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe else None
        self._process.wait()
