"""Run git: list arguments, bytes, a scrubbed environment, no shell, and no program named by a repository.

A repository can name programs in many places: hooks, monitors, filters, drivers, signers. git runs those of the user's
own configuration as usual. `SETTINGS` and `COMMANDS` disable the others; `kb.git.untrusted_config` replaces those for
which only the user's configuration has an alternative.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kb.errors import Busy, GitFailed
from kb.files import STALE
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

_SCRUBBED = """
    GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX GIT_DIFF_OPTS
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CEILING_DIRECTORIES GIT_CONFIG_PARAMETERS GIT_GLOB_PATHSPECS
    GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_QUARANTINE_PATH GIT_EXTERNAL_DIFF
""".split()
_SETTINGS = f"""
    core.hooksPath={os.devnull} core.fsmonitor=false log.showSignature=false protocol.ext.allow=never
    safe.bareRepository=explicit gc.auto=0 maintenance.auto=false core.safecrlf=false i18n.logOutputEncoding=UTF-8
    log.showRoot=true log.follow=false grep.patternType=basic trailer.separators=: index.sparse=false
"""
SETTINGS = tuple((key, value) for key, _, value in (word.partition("=") for word in _SETTINGS.split()))
"""Settings that override any configuration: first those that keep git from running programs, then those on output.

`index.sparse`: in a sparse index, `update-index` leaves the names of trees that it has not stored.
"""
_PLAIN = """
    cat-file check-attr commit-tree config diff-files diff-index diff-tree for-each-ref hash-object init ls-files
    ls-tree merge-base merge-file merge-tree read-tree rev-parse symbolic-ref update-index update-ref var
"""
_SHOWING = ("--no-ext-diff", "--no-textconv", "--submodule=short")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "diff": _SHOWING,
    "log": _SHOWING,
    "grep": ("--no-textconv",),
    "fetch": ("--upload-pack=git-upload-pack",),
    "push": ("--receive-pack=git-receive-pack", "--recurse-submodules=no"),
    **dict.fromkeys(_PLAIN.split(), ()),
}
"""Every git command that kb runs, with the options that keep it from running programs; see docs/git.md."""
_WRITTEN_OUT = ("-c", "core.fsync=objects", "-c", "core.fsyncMethod=writeout-only")
HARDENED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("hash-object", "commit-tree", "merge-tree"), _WRITTEN_OUT),
    "fetch": ("-c", "core.fsync=objects"),
    "update-ref": ("-c", "core.fsync=reference", "-c", "core.fsyncMethod=fsync"),
}
"""Settings that let a write survive a power failure: objects are written out, and the one fsync of the ref that names
them flushes them all, as in git's own `batch` mode."""
_TRANSIENT_ERRORS = regex(
    r"No space left|Disk quota exceeded|File too large|Read-only file system|Permission denied|index\.lock"
    "|Unable to create"
)
"""Messages of git for temporary failures."""
_LOCK = regex(r"Unable to create '([^'\n]+\.lock)': File exists")
"""Message of git for a lock that is taken."""
_ERROR_HINTS = {
    "dubious ownership": msg("git config --global --add safe.directory PATH, if you trust its owner"),
    "not a git repository": msg("make sure git status works there"),
    "cannot use bare repository": msg("make sure git status works there"),
    "clean filter": msg("kb runs filters of your own: git config --global filter.NAME.clean COMMAND"),
    "unknown repository extension": msg("install a newer git: the repository was made by one"),
    "transport 'ext' not": msg("kb refuses a remote address that runs a command: git remote set-url origin URL"),
    "from promisor remote": msg("fetch what the clone lacks: git fetch --refetch --no-filter"),
    "transport '": msg("fetch what the clone lacks: git fetch --refetch --no-filter"),
    "Could not read from remote": msg("see whether this works: git fetch"),
    "remote rejected": msg("ask who runs the remote, or push to one that takes it: kb review push --remote NAME"),
    "failed to sign": msg("kb signs as your own settings say: git config --global gpg.program COMMAND"),
}
"""Messages of git for permanent failures, each with its remedy."""
_PROCESSES = "/proc"
_WATCH_SECONDS = 0.02
"""Seconds between two checks of a command that may have to be stopped."""
_REWRITING = frozenset({"merge", "rebase", "stash", "am", "cherry-pick", "revert"})
"""Without `commit` and `pull`: they may wait for an editor or the network, and `pull` runs one of these."""


class CommandOutput(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: bytes
    error: str


def scrub_environment(environment: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return *environment* without variables of an outer git command, with `SETTINGS`, *more* and English messages."""
    clean = {key: value for key, value in environment.items() if key not in _SCRUBBED}
    own = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
    own["GIT_PROXY_COMMAND"] = clean.get("GIT_PROXY_COMMAND", "")
    return add_git_settings({**clean, **own, **more}, SETTINGS)


def add_git_settings(environment: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return *environment* with *settings* for git, which take precedence over all configured or earlier ones."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    at = int(count) if count.isdecimal() else 0  # appended, because git uses the last of several values
    more = dict(environment)
    for key, value in settings:
        more[f"GIT_CONFIG_KEY_{at}"], more[f"GIT_CONFIG_VALUE_{at}"] = key, value
        at += 1
    more["GIT_CONFIG_COUNT"] = str(at)
    return more


def find_command_index(arguments: Sequence[str], start: int = 0) -> int:
    """Return the index of the command in a git call, after git's own options from *start* on."""
    while start < len(arguments) and arguments[start].startswith("-"):
        start += 2 if arguments[start] in ("-C", "-c") else 1
    return start


class BackgroundCommand:
    """A command that runs in the background.

    It uses `posix_spawn` with files, in memory where the system supports that. There are no pipes to deadlock on, and a
    hook saves the 5 ms of importing `subprocess`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stdin: bytes | None = b"",
        *,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Start a command found on PATH; with *stdin* None it waits for `send_input` or `wait_for_output`.

        With *should_stop* the command is a process group of its own: while waiting for it, poll *should_stop*, and kill
        the group once it returns true.
        """
        at = find_command_index(arguments, 1)
        if arguments[0] == "git" and at < len(arguments):
            command = arguments[at]
            hardened, safe = HARDENED.get(command, ()), COMMANDS.get(command, ())
            arguments = [*arguments[:at], *hardened, command, *safe, *arguments[at + 1 :]]
        self._files: list[int] = []
        self._pipe = -1
        self._output: CommandOutput | None = None
        self._should_stop = should_stop
        try:
            if stdin is None:
                given, self._pipe = os.pipe()
                self._files.append(given)
            else:
                self._files.append(_create_file("in"))
                _write_all(self._files[0], stdin)
                os.lseek(self._files[0], 0, os.SEEK_SET)
            self._files += [_create_file(name) for name in ("out", "err")]
            actions = [(os.POSIX_SPAWN_DUP2, file, number) for number, file in enumerate(self._files)]
            words, variables = list(arguments), dict(environment)
            if should_stop:
                self._pid = os.posix_spawnp(words[0], words, variables, file_actions=actions, setpgroup=0)
            else:
                self._pid = os.posix_spawnp(words[0], words, variables, file_actions=actions)
        except BaseException as error:
            self._close()
            if isinstance(error, FileNotFoundError):
                raise GitFailed(msg("git is not installed"), hint=msg("install git and try again")) from None
            raise

    def send_input(self, stdin: bytes) -> CommandOutput:
        """Send a waiting command its input and return its output."""
        with contextlib.suppress(BrokenPipeError):  # it has already ended; its exit code says why
            _write_all(self._pipe, stdin)
        return self.wait_for_output()

    def wait_for_output(self) -> CommandOutput:
        """Wait for the command and return its output."""
        if self._output is None:
            self._close_pipe()  # end of input for the command
            try:
                _, status = self._wait_watching() if self._should_stop else os.waitpid(self._pid, 0)
                error = _read_descriptor(self._files[2]).decode("utf-8", "replace")
                self._output = CommandOutput(os.waitstatus_to_exitcode(status), _read_descriptor(self._files[1]), error)
            finally:
                self._close()
        return self._output

    def _wait_watching(self) -> tuple[int, int]:
        try:
            while not (ended := os.waitpid(self._pid, os.WNOHANG))[0]:
                if self._should_stop and self._should_stop():
                    break
                time.sleep(_WATCH_SECONDS)
            else:
                return ended
        except BaseException:  # after an interrupt too, leave no process behind
            self._kill_group()
            raise
        return self._kill_group()

    def _kill_group(self) -> tuple[int, int]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, 9)
        return os.waitpid(self._pid, 0)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _close(self) -> None:
        self._close_pipe()
        while self._files:
            os.close(self._files.pop())


def run(arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b"") -> CommandOutput:
    """Run a command found on PATH and return its output."""
    return BackgroundCommand(arguments, environment, stdin).wait_for_output()


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _read_descriptor(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, max(1, os.fstat(file).st_size)):  # a single read returns at most 2 GiB
        parts.append(part)
    return b"".join(parts)


def _create_file(name: str) -> int:
    """Return an open file without a path, in memory where the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def parse_batch(out: bytes) -> Iterator[tuple[str, str, bytes | None]]:
    """Yield name, kind and content for each answer of `git cat-file --batch`; content None for a missing object."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        words = os.fsdecode(out[at:end]).split(" ")  # "<oid> blob 12", or "<question> missing"
        at = end + 1
        if not words[-1].isdecimal():
            yield words[0], words[-1], None
            continue
        size = int(words[-1])
        yield words[0], words[-2], out[at : at + size]
        at += size + 1


def is_inconclusive(output: CommandOutput) -> bool:
    """Return whether a command whose exit code 0 or 1 is its answer failed to give one.

    git also exits with 1, or with 0 and no result, if it could not read an object on the way; then it prints an error.
    """
    if output.code not in (0, 1):
        return True
    is_no = output.code == 1 or not output.out
    return is_no and any(line.startswith(("error: ", "fatal: ")) for line in output.error.splitlines())


def build_git_error(arguments: Sequence[str], output: CommandOutput) -> GitFailed | Busy:
    """Return the error for a failed command: Busy if a retry may help, else GitFailed with git's message."""
    if lock := _LOCK.search(output.error):
        return build_lock_error(lock[1])
    lines = [line for line in output.error.splitlines() if line.strip()] or [f"exit {output.code}"]
    words = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
    theirs = (line.removeprefix("remote:").strip() for line in lines if line.startswith(("remote: ", " ! [")))
    text = "; ".join([words.removeprefix("fatal: ").removeprefix("error: "), *filter(None, theirs)])
    said = msg("git {command} failed: {problem}", command=arguments[0], problem=text)
    if _TRANSIENT_ERRORS.search(output.error):
        return Busy(said)
    return GitFailed(said, hint=next((hint for sign, hint in _ERROR_HINTS.items() if sign in output.error), ""))


def build_lock_error(path: str) -> Busy:
    """Return the error for the existing lock *path*, with the next step.

    git writes no process number into its locks. A lock older than a minute is assumed to be that of a dead process;
    `kb doctor --fix` first makes sure that no git process works there.
    """
    try:
        age = abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        age = 0.0
    if age < STALE:
        return Busy(
            msg("another git process has locked {path}", path=path),
            hint=msg("try again; if its process has died, after a minute: kb doctor --fix"),
        )
    problem = msg("a dead git process left {path}: it has been locked for {n} minutes", path=path, n=int(age // 60))
    return Busy(problem, hint=msg("remove it: kb doctor --fix"))


# -- which git processes are at work --------------------------------------------------------------


def can_git_be_running(*folders: str) -> bool:
    """Return whether a git process works in *folders*, or might if the system does not list processes."""
    if not os.path.exists(f"{_PROCESSES}/self/comm"):
        return True
    try:
        return any(True for _ in _iter_git_processes(*folders))
    except OSError:
        return True


def list_rewriting_commands(*folders: str) -> list[str]:
    """Return the running git commands in *folders* that temporarily remove a person's uncommitted work.

    Between their steps they hold no lock, and a step that meets one fails. Empty if the system does not list processes.
    """
    found = []
    with contextlib.suppress(OSError):
        for pid in _iter_git_processes(*folders):
            with contextlib.suppress(OSError), open(f"{_PROCESSES}/{pid}/cmdline", "rb") as file:
                words = file.read().decode("utf-8", "replace").split("\0")
                at = find_command_index(words, 1)
                found += [word for word in words[at : at + 1] if word in _REWRITING]
    return found


def _iter_git_processes(*folders: str) -> Iterator[str]:
    """Yield the numbers of the git processes that work in *folders*; raise OSError if the folder of one is unknown."""
    tops = tuple(os.path.realpath(folder) for folder in folders)
    for pid in filter(str.isdigit, os.listdir(_PROCESSES)):
        try:
            # "git", "git-remote-https", …; the name is cut at 15 letters, but a command line could be anything
            if not _read_first_bytes(f"{_PROCESSES}/{pid}/comm").startswith(b"git"):
                continue
            at = os.readlink(f"{_PROCESSES}/{pid}/cwd")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if any(at == folder or at.startswith(folder + os.sep) for folder in tops):
            yield pid


def _read_first_bytes(path: str) -> bytes:
    """Return the first bytes of a file; a file object would take three times as long, and there are hundreds."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 16)
    finally:
        os.close(file)


# -- where git keeps its things: read from the files that gitrepository-layout describes -----------
#
# Links are followed as git does: otherwise the settings would be read from another file than git's.


def find_git_dir(folder: str) -> tuple[str, str] | None:
    """Return the work tree and git directory around *folder*, or None."""
    while True:
        mark = os.path.join(folder, ".git")
        if os.path.isdir(mark):
            return folder, mark
        pointer = read_first_line(mark)
        if pointer.startswith("gitdir: "):
            return folder, os.path.realpath(os.path.join(folder, pointer[8:]))
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def find_common_dir(git_dir: str) -> str:
    """Return the directory shared by all worktrees of *git_dir*."""
    shared = read_first_line(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, shared)) if shared else git_dir


def read_first_line(path: str) -> str:
    """Return the first line of a file, or "" if it does not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\r\n")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
