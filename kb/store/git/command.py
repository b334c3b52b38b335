"""Run git: list arguments, bytes, a scrubbed environment, no shell."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.errors import Busy, GitFailed
from kb.words import say

_SCRUBBED = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_PARAMETERS",
    "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_QUARANTINE_PATH", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
)  # fmt: skip
_PASSING = (
    "No space left", "Disk quota exceeded", "File too large", "Read-only file system", "Permission denied",
    "index.lock", "Unable to create",
)  # fmt: skip
"""What git says about troubles that pass."""


class Output(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: bytes
    error: str


def scrubbed(environment: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return *environment* without what an outer git command set, plus *more*; messages come untranslated."""
    kept = {key: value for key, value in environment.items() if key not in _SCRUBBED}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1", **more}  # fmt: skip


class Started:
    """A command that runs while its caller does something else.

    `posix_spawn` on files in memory where the system has both: no pipes to dead-lock on, and a hook saves the
    5 ms that importing `subprocess` costs.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b"") -> None:
        """Start a command found on PATH."""
        self._files: list[int] = []
        self._output: Output | None = None
        if not hasattr(os, "memfd_create"):
            self._output = _run_with_pipes(arguments, environment, stdin)
            return
        self._files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("in", "out", "err")]
        try:
            view = memoryview(stdin)
            while view:
                view = view[os.write(self._files[0], view) :]
            os.lseek(self._files[0], 0, os.SEEK_SET)
            actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(self._files)]
            self._pid = os.posix_spawnp(arguments[0], list(arguments), dict(environment), file_actions=actions)
        except FileNotFoundError:
            self._close()
            raise GitFailed(say("git is not installed"), hint=say("install git and try again")) from None
        except BaseException:
            self._close()
            raise

    def ended(self) -> Output:
        """Wait for the command and return how it ended."""
        if self._output is None:
            try:
                _, status = os.waitpid(self._pid, 0)
                error = _content(self._files[2]).decode("utf-8", "replace")
                self._output = Output(os.waitstatus_to_exitcode(status), _content(self._files[1]), error)
            finally:
                self._close()
        return self._output

    def _close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


def run(arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b"") -> Output:
    """Run a command found on PATH and return how it ended."""
    return Started(arguments, environment, stdin).ended()


def _content(file: int) -> bytes:
    size = os.fstat(file).st_size
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while size > 0:
        part = os.read(file, size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _run_with_pipes(arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes) -> Output:
    import subprocess

    try:
        done = subprocess.run(list(arguments), env=dict(environment), input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise GitFailed(say("git is not installed"), hint=say("install git and try again")) from None
    return Output(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def failure(arguments: Sequence[str], output: Output) -> GitFailed | Busy:
    """Return what a failed command means: Busy where trying later may help, else GitFailed with git's own words."""
    lines = [line for line in output.error.splitlines() if line.strip()] or [f"exit {output.code}"]
    words = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    text = words.removeprefix("fatal: ").removeprefix("error: ")
    if any(sign in output.error for sign in _PASSING):
        return Busy(say("git {command} failed: {problem}", command=arguments[0], problem=text))
    hint = (
        say("git config --global --add safe.directory PATH, if you trust its owner")
        if "dubious ownership" in output.error
        else ""
    )
    return GitFailed(say("git {command} failed: {problem}", command=arguments[0], problem=text), hint=hint)
