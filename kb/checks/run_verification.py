"""Run the commands in a record's Verification section, only at a person's request.

Record text is untrusted: commands are shown before they run, commands with hidden characters are refused, and KB_* and
GIT_* variables are removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.lifecycle_rules import VERIFICATION_FAILED, VERIFIED
from kb.errors import KbError
from kb.i18n import msg
from kb.records.model import Record, Verdict
from kb.safety import redaction
from kb.safety.injection import HIDDEN, find_threats, reveal_hidden
from kb.text.segment import split_lines
from kb.writing.edit import reload_record, stamp_confirmation
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from types import FrameType

    from kb.workspace import Workspace

PASSED = "passed"
TIMEOUT = 60.0
"""Seconds after which a command and all its child processes are killed."""

_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession"})
_TRANSCRIPTS = frozenset({"console", "shell-session", "shellsession"})
"""Languages of code blocks that show commands with their output."""
# the fence of a block, also inside a list item or quote
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})[ \t]*([\w-]*)")
# "$ make test", "- `$ make test`", "> $ make test"; possessive, so that long runs of spaces cost no time
_PROMPT = re.compile(r"[ \t]*+(?:(?:[-*+>]|\d{1,9}[.)])[ \t]++)*+(`?)\$ ++(\S(?:.*\S)?)[ \t]*$")
_MAX_OUTPUT_BYTES = 200_000
"""Bytes of output to read, from the end."""
_MAX_SHOWN_LINES = 40
"""Lines of output to show, from the end."""
_MAX_LINE_CHARACTERS = 400
"""Characters of an output line to show."""


class CommandResult(NamedTuple):
    """The result of a command."""

    command: str
    code: int
    """The exit code, or minus the number of the signal that ended it."""
    seconds: float
    output: str
    """The last lines of output, without secrets."""
    timed_out: bool = False

    @property
    def has_passed(self) -> bool:
        """Return whether it ended with exit code 0 and in time."""
        return self.code == 0 and not self.timed_out


# -- what there is to run -------------------------------------------------------------------------


def parse_commands(text: str) -> list[str]:
    """Return the commands in a Verification section: shell blocks, and lines that begin with "$ "; prose is ignored.

    A block is one command; a block with prompts is one command per prompt.
    """
    commands: list[str] = []
    rows = iter([row.rstrip("\r\n") for row in split_lines(text)])
    for row in rows:
        if fence := _FENCE.match(row):
            commands += _parse_block(list(takewhile(partial(_is_inside, fence[1]), rows)), fence[2].lower())
        elif prompt := _PROMPT.match(row):
            commands.append(prompt[2].removesuffix("`") if prompt[1] else prompt[2])
    return [command for command in commands if command]


def _is_inside(marks: str, row: str) -> bool:
    """Return whether *row* is still inside the block, i.e. not its closing fence *marks*."""
    inside = row.strip(" \t>")
    return not inside.startswith(marks) or bool(inside.strip(marks[0]))


def _parse_block(rows: Sequence[str], language: str) -> Iterator[str]:
    if language not in _SHELLS:
        return
    if language in _TRANSCRIPTS or any(row.lstrip().startswith("$ ") for row in rows):
        remaining_rows = iter(rows)
        for row in remaining_rows:
            if row.lstrip().startswith("$ "):
                command = row.lstrip()[2:].strip()
                # a backslash at the end of "$ make \\" continues in the next row, "> test"
                while command.endswith("\\") and (more := next(remaining_rows, None)) is not None:
                    command = f"{command}\n{more.lstrip().removeprefix('> ')}"
                yield command
    elif any(row.strip() and not row.lstrip().startswith("#") for row in rows):
        yield dedent("\n".join(rows)).strip("\n")


def refuse_hidden(commands: Sequence[str], path: str = "") -> None:
    """Raise KbError if a command contains hidden characters."""
    for command in commands:
        shown = reveal_hidden(command)
        if shown != command or any(threat.kind == HIDDEN for threat in find_threats(command)):
            message = msg("a command hides characters: {command}", command=shown)
            raise KbError(message, path=path, hint=msg("see: kb check"))


# -- running it -----------------------------------------------------------------------------------


def run_command(kb: Workspace, command: str, folder: str, timeout: float = TIMEOUT) -> CommandResult:
    """Run *command* with `sh` in *folder*; after *timeout* seconds kill it and its child processes.

    The first failing line ends it (`sh -e`). stdin is empty; KB_* and GIT_* variables are not passed on.
    """
    environment = {key: value for key, value in kb.environment.items() if not key.startswith(("GIT_", "KB_"))}
    began = time.monotonic()
    process = None
    try:
        with _defer_interrupts():
            process = subprocess.Popen(
                ["sh", "-e", "-c", command],
                cwd=folder,
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        output, has_ended = _read_output(process, began + timeout)
        if has_ended:
            try:
                process.wait(max(began + timeout - time.monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                has_ended = False
    finally:
        if process:  # also after an interrupt: leave no child process behind
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()
    seconds = time.monotonic() - began
    return CommandResult(command, process.returncode, seconds, _format_output(kb, output), not has_ended)


@contextlib.contextmanager
def _defer_interrupts() -> Iterator[None]:
    """Defer an interrupt until the block has ended.

    In the middle of `Popen` it would leave an orphaned process in its own session, where Ctrl-C does not reach it.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held_back: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held_back.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    for number, frame in held_back[:1]:
        before(number, frame)


def _read_output(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """Return the end of the output of *process*, and whether it ended or closed its output before *deadline*.

    Do not wait for a background child that keeps the pipe open.
    """
    assert process.stdout is not None
    output = bytearray()
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], min(deadline - time.monotonic(), 0.1))
        chunk = os.read(process.stdout.fileno(), 65_536) if ready else b""
        output += chunk
        del output[:-_MAX_OUTPUT_BYTES]
        if not chunk and (ready or process.poll() is not None):
            return bytes(output), True
    return bytes(output), False


def _format_output(kb: Workspace, output: bytes) -> str:
    """Return the last lines of *output*, without secrets and terminal control characters."""
    text, _ = redaction.redact_text(output.decode("utf-8", "replace"), kb.config.masking)
    rows = reveal_hidden(text).rstrip("\n").split("\n")
    more = ["…"] if len(rows) > _MAX_SHOWN_LINES else []
    return "\n".join(
        (
            *more,
            *(
                row if len(row) <= _MAX_LINE_CHARACTERS else row[: _MAX_LINE_CHARACTERS - 1] + "…"
                for row in rows[-_MAX_SHOWN_LINES:]
            ),
        )
    )


# -- what came of it ------------------------------------------------------------------------------


def save_result(kb: Workspace, record: Record, *, passed: bool) -> Verdict:
    """Record in the front matter of *record* that its commands ran today; a pass also confirms the record."""
    stamp = {"date": kb.today(), "result": PASSED if passed else VERIFICATION_FAILED}
    changes: dict[str, object] = {VERIFIED: stamp, **(stamp_confirmation(kb, record) if passed else {})}
    message = msg("its verification has passed") if passed else msg("its verification has failed")

    for transaction in transactions(kb):
        with transaction:
            now = reload_record(transaction, record)
            if now.extra.get(VERIFIED) == stamp and (not passed or now.confirmed == kb.today()):
                return transaction.build_verdict("unchanged", now, [message])
            changed = transaction.plan_front_edit(now, changes, VERIFIED)
            verdict = transaction.build_verdict("updated", changed, [message])
            transaction.commit(f"Verify [{record.id}]: {stamp['result']}", f"{VERIFIED} {stamp['result']}")
    return verdict
