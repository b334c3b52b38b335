"""Run the commands in a record's Verification section: only when a person says so, and only here.

What a record says is text of strangers. So the commands are shown as they will run, nothing that cannot be seen is run,
and they get neither kb's settings nor those of an outer git.
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
"""Seconds after which a command is killed, with all it has started."""

_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession"})
_TRANSCRIPTS = frozenset({"console", "shell-session", "shellsession"})
"""Languages of blocks that show what was typed and what was answered."""
# the fence of a block, also inside a list item or a quotation
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})[ \t]*([\w-]*)")
# "$ make test", "- `$ make test`", "> $ make test"; possessive, so that long rows of spaces cost no time
_PROMPT = re.compile(r"[ \t]*+(?:(?:[-*+>]|\d{1,9}[.)])[ \t]++)*+(`?)\$ ++(\S(?:.*\S)?)[ \t]*$")
_MAX_OUTPUT_BYTES = 200_000
"""Bytes of a command's output that are looked at: the last ones."""
_MAX_SHOWN_LINES = 40
"""Lines of a command's output that are shown: the last ones."""
_MAX_LINE_CHARACTERS = 400
"""Characters of such a line."""


class CommandResult(NamedTuple):
    """How a command ended."""

    command: str
    code: int
    """Its exit code; minus the number of the signal that ended it."""
    seconds: float
    output: str
    """The last lines of what it printed, without secrets."""
    timed_out: bool = False

    @property
    def has_passed(self) -> bool:
        """Return whether it ended well and in time."""
        return self.code == 0 and not self.timed_out


# -- what there is to run -------------------------------------------------------------------------


def parse_commands(text: str) -> list[str]:
    """Return the commands in a Verification section: shell blocks, and lines that begin with "$ "; prose is none.

    A block is one command, or where it shows prompts one for each of them.
    """
    found: list[str] = []
    rows = iter([row.rstrip("\r\n") for row in split_lines(text)])
    for row in rows:
        if fence := _FENCE.match(row):
            found += _parse_block(list(takewhile(partial(_is_inside, fence[1]), rows)), fence[2].lower())
        elif prompt := _PROMPT.match(row):
            found.append(prompt[2].removesuffix("`") if prompt[1] else prompt[2])
    return [command for command in found if command]


def _is_inside(marks: str, row: str) -> bool:
    """Return whether *row* is no fence that closes the block of *marks*."""
    inside = row.strip(" \t>")
    return not inside.startswith(marks) or bool(inside.strip(marks[0]))


def _parse_block(rows: Sequence[str], language: str) -> Iterator[str]:
    if language not in _SHELLS:
        return
    if language in _TRANSCRIPTS or any(row.lstrip().startswith("$ ") for row in rows):
        left = iter(rows)
        for row in left:
            if row.lstrip().startswith("$ "):
                command = row.lstrip()[2:].strip()
                # a backslash at the end of "$ make \\" goes on in the next row, "> test"
                while command.endswith("\\") and (more := next(left, None)) is not None:
                    command = f"{command}\n{more.lstrip().removeprefix('> ')}"
                yield command
    elif any(row.strip() and not row.lstrip().startswith("#") for row in rows):
        yield dedent("\n".join(rows)).strip("\n")


def refuse_hidden(found: Sequence[str], path: str = "") -> None:
    """Raise KbError where a command would run as something else than it shows."""
    for command in found:
        shown = reveal_hidden(command)
        if shown != command or any(threat.kind == HIDDEN for threat in find_threats(command)):
            message = msg("a command hides characters: {command}", command=shown)
            raise KbError(message, path=path, hint=msg("see: kb check"))


# -- running it -----------------------------------------------------------------------------------


def run_command(kb: Workspace, command: str, folder: str, timeout: float = TIMEOUT) -> CommandResult:
    """Run *command* with `sh` in *folder*; after *timeout* seconds it is killed with all it has started.

    A line that fails ends it. It has no input, and its environment nothing of kb's and of an outer git's.
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
        if process:  # also after an interrupt: nothing that the command started is left behind
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()
    seconds = time.monotonic() - began
    return CommandResult(command, process.returncode, seconds, _format_output(kb, output), not has_ended)


@contextlib.contextmanager
def _defer_interrupts() -> Iterator[None]:
    """Let an interrupt wait until the block has ended.

    In the middle of `Popen` it would leave a process behind that nobody knows, in a session of its own, where Ctrl-C
    does not reach it.
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
    """Return the last of what *process* prints, and whether it has ended or closed its output before *deadline*.

    A process it has started that keeps its output open is not waited for.
    """
    assert process.stdout is not None
    kept = bytearray()
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], min(deadline - time.monotonic(), 0.1))
        chunk = os.read(process.stdout.fileno(), 65_536) if ready else b""
        kept += chunk
        del kept[:-_MAX_OUTPUT_BYTES]
        if not chunk and (ready or process.poll() is not None):
            return bytes(kept), True
    return bytes(kept), False


def _format_output(kb: Workspace, output: bytes) -> str:
    """Return the last lines of *output* as they can be shown: without secrets, and nothing drives a terminal."""
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
    """Note in the front of *record* that its commands were run today; one that passed is confirmed by that too."""
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
