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


def run(arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b"") -> Output:
    """Run a command found on PATH and return how it ended.

    `posix_spawn` on files in memory where the system has both: no pipes to dead-lock on, and a hook saves the
    5 ms that importing `subprocess` costs.
    """
    if not hasattr(os, "memfd_create"):
        return _run_with_pipes(arguments, environment, stdin)
    files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("in", "out", "err")]
    try:
        if stdin:
            view = memoryview(stdin)
            while view:
                view = view[os.write(files[0], view) :]
            os.lseek(files[0], 0, os.SEEK_SET)
        actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(files)]
        try:
            pid = os.posix_spawnp(arguments[0], list(arguments), dict(environment), file_actions=actions)
        except FileNotFoundError:
            raise GitFailed(say("git is not installed"), hint=say("install git and try again")) from None
        _, status = os.waitpid(pid, 0)
        return Output(
            os.waitstatus_to_exitcode(status), _content(files[1]), _content(files[2]).decode("utf-8", "replace")
        )
    finally:
        for file in files:
            os.close(file)


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
