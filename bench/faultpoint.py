"""Run kb in a child process in which one numbered call to the system fails, or is the last one it makes.

kb knows nothing of this: what is counted are the functions of `os`, `open` for writing, and the transactions of SQLite,
which are replaced in the child before kb's own entry point is called. A write counts twice, before it and when half of
it is done, so that a torn file is one of the states that are met.
"""

import atexit
import builtins
import errno
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

KILL, ORPHAN, SLOW = "kill", "orphan", "slow"
"""The process ends before the call; it ends right after it has started git, which lives on; every fsync is slow."""
ERRORS = {"ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EROFS": errno.EROFS, "EIO": errno.EIO}
MODES = (KILL, ORPHAN, *ERRORS)
ALWAYS = -1
"""Every call fails from the first on, as on a disk that is full or read-only."""

_PATHS = ("rename", "replace", "link", "unlink", "mkdir", "rmdir", "chmod")
_FILES = ("fsync", "write")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_SLOWNESS = 0.02


class Ended(NamedTuple):
    """How a child ended and what it did."""

    code: int
    """Negative: the signal."""
    out: bytes
    error: str
    boundaries: list[str]


class Fault:
    """The counting of boundaries in a child, and what happens at the one that is meant."""

    def __init__(self, at: int | str, mode: str, log: int) -> None:
        """Fail in the way *mode* at the boundary *at*, counted from 1; 0 only counts. *log* takes their names.

        *at* may be a name as well: then it is every boundary of that name, of which the first kills.
        """
        self.at = at
        self.mode = mode
        self.count = 0
        self.log = log
        self.memory: set[int] = set()
        self.write = os.write

    def passed(self, name: str, path: object = "") -> bool:
        """Count one boundary; end the process or raise where it is the one; tell whether it is an orphan's."""
        self.count += 1
        named = f"{name} {os.path.basename(os.fsdecode(path)) if path else ''}"
        self.write(self.log, f"{named}\n".encode())
        if self.mode == SLOW:
            if name in ("fsync", "rename", "replace", "COMMIT"):
                time.sleep(_SLOWNESS)
            return False
        if self.at not in (self.count, ALWAYS, named.rstrip()):
            return False
        if self.mode == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def fails(self, name: str, path: object = "") -> None:
        """Count a boundary at which the system reports an error to Python."""
        if self.passed(name, path) and self.mode in ERRORS:
            raise OSError(ERRORS[self.mode], os.strerror(ERRORS[self.mode]), path or None)

    def install(self) -> None:
        """Replace what kb reaches the system by."""
        for name in _PATHS:
            setattr(os, name, self._on_path(name, getattr(os, name)))
        for name in _FILES:
            setattr(os, name, self._on_file(name, getattr(os, name)))
        os.open = self._opening(os.open)  # type: ignore[assignment]
        builtins.open = self._opening_files(builtins.open)  # type: ignore[assignment]
        os.memfd_create = self._remembering(os.memfd_create)
        os.posix_spawnp = self._spawning(os.posix_spawnp)
        self._wrap_transactions()

    def _on_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            self.fails(name, path)
            return real(path, *rest, **more)

        return call

    def _on_file(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: int, *rest: Any) -> Any:
            if file not in self.memory:
                self.passed(name) if name == "write" else self.fails(name)
            return real(file, *rest)

        return call

    def _remembering(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(*given: Any) -> int:
            file = real(*given)
            self.memory.add(file)
            return file

        return call

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if flags & _WRITING:
                self.fails("open", path)
            return real(path, flags, *rest, **more)

        return call

    def _opening_files(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if not set(mode) & set("wax+") or isinstance(path, int):
                return real(path, mode, *rest, **more)
            self.fails("open", path)
            return Torn(real(path, mode, *rest, **more), self, path)

        return call

    def _spawning(self, real: Callable[..., int]) -> Callable[..., int]:
        from kb.git.git_process import find_command_index

        def call(program: str, words: Sequence[str], environment: Mapping[str, str], **more: Any) -> int:
            if self.passed(f"git {words[find_command_index(words, 1)]}") and self.mode in ERRORS:
                said = f"fatal: unable to write: {os.strerror(ERRORS[self.mode])}"
                return real("sh", ["sh", "-c", f"echo '{said}' >&2; exit 128"], environment, **more)
            pid = real(program, words, environment, **more)
            if self.mode == ORPHAN and self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            return pid

        return call

    def _wrap_transactions(self) -> None:
        from kb.index import schema

        real = schema.Cursor.execute
        fault = self

        def execute(cursor: Any, sql: str, values: Any = (), /) -> Any:
            word = sql.split(" ", 1)[0]
            if word in ("BEGIN", "COMMIT") and fault.passed(word) and fault.mode in ERRORS:
                text = "database or disk is full" if fault.mode == "ENOSPC" else "disk I/O error"
                raise schema._convert_error(sqlite3.OperationalError(text), cursor.connection)
            return real(cursor, sql, values)

        schema.Cursor.execute = execute  # type: ignore[method-assign, assignment]


class Torn:
    """A file open for writing whose writes can stop in the middle."""

    def __init__(self, file: Any, fault: Fault, path: object) -> None:
        """Write to *file*."""
        self._file, self._fault, self._path = file, fault, path

    def write(self, data: Any) -> int:
        """Write *data* in two halves."""
        self._fault.fails("write", self._path)
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._fault.fails("write half", self._path)
        self._file.write(data[half:])
        return len(data)

    def __enter__(self) -> "Torn":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def run(
    words: Sequence[str], place: str, stdin: bytes, environment: Mapping[str, str], at: int | str = 0, mode: str = KILL
) -> Ended:
    """Run `kb …` or `kb-hook …` (*words*) in *place* in a child with a fault, and return how it ended."""
    files = [os.memfd_create(name) for name in ("in", "out", "err", "log")]
    os.write(files[0], stdin)
    os.lseek(files[0], 0, os.SEEK_SET)
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        _become(words, place, environment, files, Fault(at, mode, files[3]))
    _, status = os.waitpid(pid, 0)
    out, error, log = (_content(file) for file in files[1:])
    for file in files:
        os.close(file)
    names = log.decode("utf-8", "replace").splitlines()
    return Ended(os.waitstatus_to_exitcode(status), out, error.decode("utf-8", "replace"), names)


def _become(words: Sequence[str], place: str, environment: Mapping[str, str], files: list[int], fault: Fault) -> None:
    """Be kb in this child, and never return."""
    try:
        atexit._clear()  # what the parent has to tidy up is not the child's to take away
        os.setpgid(0, 0)
        for number in range(3):
            os.dup2(files[number], number)
        for number, mode in ((0, "r"), (1, "w"), (2, "w")):
            stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = list(words)
        fault.memory.update((0, 1, 2))
        fault.install()
        _entry(words[0])
    except SystemExit as end:
        _leave(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
        _leave(70)
    finally:
        os._exit(71)


def _leave(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _entry(program: str) -> None:
    if program == "kb-hook":
        from kb.hooks import main
    else:
        from kb.cli import main
    main()


def _content(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(os.dup(file), "rb") as opened:
        return opened.read()


def main() -> None:
    """Run one call by hand: `python -m bench.faultpoint AT MODE -- kb-hook write < candidates.json`."""
    at, mode, _, *words = sys.argv[1:]
    ended = run(words, os.getcwd(), sys.stdin.buffer.read(), dict(os.environ), int(at), mode)
    sys.stdout.write(ended.out.decode("utf-8", "replace"))
    print(json.dumps({"code": ended.code, "error": ended.error, "boundaries": ended.boundaries}, indent=1))


if __name__ == "__main__":
    main()
