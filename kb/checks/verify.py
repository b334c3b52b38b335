"""Run the commands in a record's Verification section: on a person's word, and nowhere else in kb.

What a record says is text of strangers. So the commands are shown as they will run, nothing that cannot be seen is run,
and they get neither kb's settings nor those of an outer git.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import KbError
from kb.i18n import msg
from kb.records.model import Record, Verdict
from kb.safety import redaction
from kb.safety.injection import HIDDEN, troubles, visible
from kb.text.line_ends import lines
from kb.writing.edit import alone, as_it_is

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

    from kb.workspace import Workspace
    from kb.writing.transaction import Writing

PASSED, FAILED = "passed", "failed"
KEY = "verified"
"""The key of the front that says when the commands were run and how that ended."""
TIMEOUT = 60.0
"""Seconds after which a command is killed, with all it has started."""

_SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "shellsession"})
_TRANSCRIPTS = frozenset({"console", "shell-session", "shellsession"})
"""Languages of blocks that show what was typed and what was answered."""
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})[ \t]*([\w-]*)")
_PROMPT = re.compile(r"[ \t]*+(?:(?:[-*+>]|\d{1,9}[.)])[ \t]++)*+(`?)\$ ++(\S(?:.*\S)?)[ \t]*$")
_KEPT = 200_000
"""Bytes of a command's output that are looked at: the last ones."""
_SHOWN = 40
"""Lines of a command's output that are shown: the last ones."""
_WIDEST = 400
"""Characters of such a line."""
_NOT_PASSED_ON = ("GIT_", "KB_")


class Ran(NamedTuple):
    """How a command ended."""

    command: str
    code: int
    """Its exit code; minus the number of the signal that ended it."""
    seconds: float
    output: str
    """The last lines of what it printed, without secrets."""
    timed_out: bool = False

    @property
    def passed(self) -> bool:
        """Return whether it ended well and in time."""
        return self.code == 0 and not self.timed_out


# -- what there is to run -------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """Return the commands in a Verification section: shell blocks, and lines that begin with "$ "; prose is none.

    A block is one command, or where it shows prompts one for each of them.
    """
    found: list[str] = []
    rows = iter([row.rstrip("\r\n") for row in lines(text)])
    for row in rows:
        fence = _FENCE.match(row)
        prompt = _PROMPT.match(row)
        if fence:
            found += _of_block(list(_until(rows, fence[1])), fence[2].lower())
        elif prompt:
            found.append(prompt[2].removesuffix("`") if prompt[1] else prompt[2])
    return [command for command in found if command]


def _until(rows: Iterator[str], marks: str) -> Iterator[str]:
    """Yield the rows of a block up to the fence of *marks* that closes it."""
    for row in rows:
        inside = row.strip(" \t>")
        if inside.startswith(marks) and not inside.strip(marks[0]):
            return
        yield row


def _of_block(rows: Sequence[str], language: str) -> Iterator[str]:
    if language not in _SHELLS:
        return
    if language in _TRANSCRIPTS or any(row.lstrip().startswith("$ ") for row in rows):
        yield from _typed(iter(rows))
    elif any(row.strip() and not row.lstrip().startswith("#") for row in rows):
        from textwrap import dedent

        yield dedent("\n".join(rows)).strip("\n")


def _typed(rows: Iterator[str]) -> Iterator[str]:
    """Yield what stands behind the prompts of a transcript; a backslash at the end goes on in the next row."""
    for row in rows:
        if row.lstrip().startswith("$ "):
            command = row.lstrip()[2:].strip()
            while command.endswith("\\") and (more := next(rows, None)) is not None:
                command = f"{command}\n{more.lstrip().removeprefix('> ')}"
            yield command


def refuse_hidden(found: Sequence[str], path: str = "") -> None:
    """Raise KbError where a command would run as something else than it shows."""
    for command in found:
        if visible(command) != command or any(trouble.kind == HIDDEN for trouble in troubles(command)):
            raise KbError(
                msg("a command is not what it shows: {command}", command=visible(command)),
                path=path,
                hint=msg("see: kb check"),
            )


# -- running it -----------------------------------------------------------------------------------


def run(kb: Workspace, command: str, folder: str, timeout: float = TIMEOUT) -> Ran:
    """Run *command* with `sh` in *folder*; after *timeout* seconds it is killed with all it has started.

    A line that fails ends it. It has no input, and its environment nothing of kb's and of an outer git's.
    """
    import subprocess
    import time

    began = time.monotonic()
    process = None
    try:
        with _interrupts_held_back():
            process = subprocess.Popen(
                ["sh", "-e", "-c", command], cwd=folder, env=_environment(kb.environment), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        output = _printed(process, began + timeout)
        process.wait(max(began + timeout - time.monotonic(), 0.01))
        timed_out = False
    except (subprocess.TimeoutExpired, _OutOfTime) as late:
        output = late.output or b""
        timed_out = True
    finally:
        if process:
            _end(process)
    assert process is not None
    return Ran(command, process.returncode, time.monotonic() - began, _told(kb, output), timed_out)


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let an interrupt wait until the block has ended.

    In the middle of `Popen` it would leave a process behind that nobody knows, in a session of its own, where Ctrl-C
    does not reach it.
    """
    import signal
    import threading

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


class _OutOfTime(Exception):
    """A command has printed *output* and not ended in time."""

    def __init__(self, output: bytes) -> None:
        super().__init__()
        self.output = output


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if not key.startswith(_NOT_PASSED_ON)}


def _printed(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """Return the last of what *process* prints until it ends; raise _OutOfTime at *deadline*.

    Whoever it has started and keeps its output open is not waited for.
    """
    import select
    import time

    assert process.stdout is not None
    kept = bytearray()
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], min(deadline - time.monotonic(), 0.1))
        chunk = os.read(process.stdout.fileno(), 65_536) if ready else b""
        kept += chunk
        del kept[:-_KEPT]
        if not chunk and (ready or process.poll() is not None):
            return bytes(kept)
    raise _OutOfTime(bytes(kept))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group of *process*."""
    import signal

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def _told(kb: Workspace, output: bytes) -> str:
    """Return the last lines of *output* as they can be shown: without secrets, and nothing drives a terminal."""
    text, _ = redaction.redact(output.decode("utf-8", "replace"), kb.config.masking)
    rows = visible(text).rstrip("\n").split("\n")
    more = ["…"] if len(rows) > _SHOWN else []
    shown = (row if len(row) <= _WIDEST else row[: _WIDEST - 1] + "…" for row in rows[-_SHOWN:])
    return "\n".join((*more, *shown))


# -- what came of it ------------------------------------------------------------------------------


def keep(kb: Workspace, record: Record, *, passed: bool) -> Verdict:
    """Note in the front of *record* that its commands were run today; one that passed is confirmed by that too."""
    stamp = {"date": kb.today(), "result": PASSED if passed else FAILED}
    changes: dict[str, object] = {KEY: stamp, **({"confirmed": kb.today()} if passed else {})}
    said = msg("its verification has passed") if passed else msg("its verification has failed")

    def step(writing: Writing) -> Verdict:
        now = as_it_is(writing, record)
        if now.extra.get(KEY) == stamp and (not passed or now.confirmed == kb.today()):
            return writing.verdict("unchanged", now, [said])
        return writing.verdict("updated", writing.edit(now, changes, KEY), [said])

    return alone(kb, step, f"Verify [{record.id}]: {stamp['result']}", f"{KEY} {stamp['result']}")
