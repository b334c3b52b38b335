"""The folder `.kb/`: uncommitted state of one clone (spool, cursors, active sessions, caches).

Its log has the last failures of hooks, each until a call of the same event succeeds.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping

from kb.errors import Busy, KbError
from kb.files import (
    STALE,
    json_bytes,
    list_half_written,
    open_nonblocking,
    read_clone_mark,
    read_if_exists,
    remove_file,
    remove_folder,
    remove_half_written,
    sync_folders,
    try_lock,
    write_atomic,
)
from kb.i18n import msg
from kb.paths import state_home
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

FOLDER = ".kb"
CLONE = "clone"
"""The file in the folder, and the key in its JSON files, that show whether this clone wrote them."""
UNREADABLE = ".unreadable"
"""What the name of a spooled file ends with once it has been set aside."""
CURSORS = "cursors"
"""The folder with the state of each session: how far it is extracted, and its candidates."""
_LOCKS = 256
"""How many lock files there are at most: a name has one of them, and none needs to be taken away."""


class StateFolder:
    """The state folder of the knowledge base at *root*; made when something is first written."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Name the folder, and the one to use when it cannot be written."""
        self.folder = os.path.join(root, FOLDER)
        mark = f"{zlib.crc32(os.fsencode(root)):08x}"
        self._elsewhere = os.path.join(state_home(environment), f"{os.path.basename(root)[-60:]}-{mark}")

    def path(self, *parts: str) -> str:
        """Return a path inside the folder."""
        return os.path.join(self.folder, *parts)

    def ensure_folder(self) -> str:
        """Return the folder, made so that git ignores it; raise KbError where a link would lead out of it."""
        self.refuse_links()
        if not self.clone_mark:
            os.makedirs(self.folder, exist_ok=True)
            if not os.path.exists(self.path(".gitignore")):
                write_atomic(self.path(".gitignore"), b"*\n")
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path(CLONE), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        return self.folder

    @property
    def clone_mark(self) -> str:
        """The mark that identifies this clone among others and copies; "" before something is first written."""
        return read_clone_mark(self.folder)

    def refuse_links(self) -> None:
        """Raise KbError where the folder, or something in it, is a link or a pipe: an archive can bring any."""
        found = self.folder if os.path.islink(self.folder) else ""
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                is_one = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
                if not is_one and os.path.lexists(entry.path):  # not gone meanwhile
                    found = found or entry.path
        if found:
            raise KbError(
                msg("{path} is a link or a pipe; kb stores nothing there", path=found),
                hint=msg("look at it, then delete it: rm {path}", path=found),
            )

    def remove_half_written(self) -> None:
        """Delete files left half written by processes that died."""
        for folder in (self.folder, self.path("spool"), self.path("queue"), os.path.join(self._elsewhere, "spool")):
            remove_half_written(folder)

    def list_half_written(self, age: float = STALE) -> list[str]:
        """Return everything that writers have left half written *age* seconds ago or more, oldest name first."""
        places = (folder for top in (self.folder, self._elsewhere) for folder, _, _ in os.walk(top))
        return [path for folder in places for path in list_half_written(folder, age)]

    # JSON files

    def load(self, *parts: str) -> Any:
        """Return the mapping in a JSON file, or None if it is missing, damaged, or of another clone."""
        try:
            with open(self.path(*parts), encoding="utf-8", opener=open_nonblocking) as file:
                return self.verify_signed(json.load(file))
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, value: Mapping[str, object], *parts: str, synced: bool = False) -> None:
        """Keep *value* as JSON, whole or not at all; *synced*: on the disk."""
        self.ensure_folder()
        write_atomic(self.path(*parts), json_bytes(self.sign_value(value), indent=1), synced=synced)

    def sign_value(self, value: Mapping[str, object]) -> dict[str, object]:
        """Return *value* with the mark of this clone, by which `verify_signed` knows it again."""
        return {**value, CLONE: self.clone_mark}

    def verify_signed(self, value: Any) -> dict[str, Any] | None:
        """Return the mapping signed by this clone, without its mark, or None if another clone wrote it."""
        # files of a folder that was copied or unpacked here are another clone's
        if not isinstance(value, dict) or not self.clone_mark or value.pop(CLONE, "") != self.clone_mark:
            return None
        return value

    # the spool

    def spool_job(self, now: float, value: Mapping[str, object], name: str = "") -> str:
        """Spool *value* until it can be written, and return the file; raise OSError if it cannot be spooled.

        The file's *name* is that of the job in the queue, or a new one that sorts by *now*, seconds since 1970; nobody
        else uses it. A folder that cannot be written is passed over for the user's state folder.
        """
        name = name or f"{int(now * 1000):014d}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}.json"
        try:
            self.ensure_folder()
            path = self.path("spool", name)
            write_atomic(path, json_bytes(self.sign_value(value)), synced=True)
        except (OSError, KbError):
            path = os.path.join(self._elsewhere, "spool", name)
            write_atomic(path, json_bytes(value), synced=True)
        sync_folders([os.path.dirname(path)])
        return path

    def list_spooled(self, ending: str = ".json") -> list[str]:
        """Return the spooled files, oldest first, or those with another *ending*."""
        found: list[str] = []
        inside = [] if os.path.islink(self.folder) or os.path.islink(self.path("spool")) else [self.path("spool")]
        for folder in (*inside, os.path.join(self._elsewhere, "spool")):
            with contextlib.suppress(OSError):
                found += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending)]
        return sorted(found, key=os.path.basename)

    def has_pending_work(self) -> bool:
        """Return whether earlier calls have spooled or put off anything."""
        pending = self.path("pending")
        return bool(self.list_spooled()) or (os.path.isdir(pending) and bool(os.listdir(pending)))

    def unwrap_job(self, path: str, value: Any) -> dict[str, Any] | None:
        """Return the job *value* of the spool file *path*, or None if another clone spooled it.

        What waits in the user's state folder is the user's.
        """
        if os.path.dirname(path) == self.path("spool"):
            return self.verify_signed(value)
        return value if isinstance(value, dict) else None

    def list_quarantined(self) -> list[str]:
        """Return the spooled files that were set aside, oldest first."""
        return self.list_spooled(UNREADABLE)

    def quarantine_job(self, path: str) -> str:
        """Take a spooled file that cannot be read out of the spool and return its new name."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, path + UNREADABLE)
        return path + UNREADABLE

    def restore_job(self, path: str) -> None:
        """Put the file *path*, which was set aside, back into the spool."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, path.removesuffix(UNREADABLE))

    # one at a time

    @contextlib.contextmanager
    def hold_lock(self, name: str, patience: float = 0) -> Iterator[None]:
        """Hold the lock *name*, for one process at a time; never nest these, because names may share a lock.

        Where no lock can be made nothing else can be written either, and nobody is kept out. With *patience*, raise
        Busy after so many seconds of waiting.
        """
        import fcntl

        try:
            self.ensure_folder()
            os.makedirs(self.path("locks"), exist_ok=True)
            slot = f"{zlib.crc32(name.encode('utf-8', 'replace')) % _LOCKS:02x}"
            file = os.open(self.path("locks", slot), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError:
            yield
            return
        try:
            end = time.monotonic() + patience
            # an endless wait is for short work only; a push can hang on a password
            while patience and not try_lock(file):
                if time.monotonic() > end:
                    said = msg("another kb is already working on {path}", path=os.path.dirname(self.folder))
                    raise Busy(said, hint=msg("if it waits for a password, answer or end it"))
                time.sleep(0.05)
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    @contextlib.contextmanager
    def open_stage(self) -> Iterator[str]:
        """Yield an empty temporary folder to the holder of the repository lock."""
        folder = os.path.join(self.ensure_folder(), "stage")
        remove_folder(folder)
        os.makedirs(folder)
        try:
            yield folder
        finally:
            remove_folder(folder)


def is_process_running(process: int) -> bool:
    """Return whether a process with that id is running, of any user."""
    if process <= 0:  # to `kill` these are groups of processes
        return False
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True


# -- failures of hooks ----------------------------------------------------------------------------

FILE = "log"
"""The file in the state folder: a JSON object a line."""
_MAX_FAILURES = 50


class HookFailure(NamedTuple):
    """One event that could not be answered as it should be."""

    time: str
    """ISO time."""
    event: str
    error: str
    over: str = ""
    """ISO time at which the same event went well again; "" while it has not."""
    by_host: bool = False
    """Whether the host passed unusable input, so that kb is not to blame."""


def redact_message(text: str) -> str:
    """Return a message without secrets, because it may quote input."""
    from kb.safety.redaction import redact_text

    return redact_text(text)[0]


def save_failure(root: str, environment: Mapping[str, str], failure: HookFailure) -> None:
    """Save *failure* for `kb doctor`; ignore a file that cannot be written."""
    state = StateFolder(root, environment)
    failure = failure._replace(error=redact_message(failure.error))
    with contextlib.suppress(OSError, KbError), state.hold_lock(FILE):
        _write_failures(state, [*list_failures(root)[1 - _MAX_FAILURES :], failure])


def mark_recovered(root: str, environment: Mapping[str, str], event: str, now: float) -> None:
    """Note that *event* succeeded at the time *now*, which ends its earlier failures."""
    state = StateFolder(root, environment)
    if not any(row.event == event and not row.over for row in list_failures(root)):
        return
    with contextlib.suppress(OSError, KbError), state.hold_lock(FILE):
        over, rows = format_time(now), list_failures(root)
        _write_failures(state, [r._replace(over=r.over or over) if r.event == event else r for r in rows])


def list_failures(root: str) -> list[HookFailure]:
    """Return the saved failures, oldest first; skip damaged lines."""
    found = []
    with contextlib.suppress(OSError):
        for line in (read_if_exists(_log_path(root)) or b"").decode("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                kept = json.loads(line)
                when, event, error, over = (str(kept.get(key, "")) for key in ("time", "event", "error", "over"))
                found.append(HookFailure(when, event, error, over, kept.get("by_host") is True))
    return found


def delete_failures(root: str) -> None:
    """Keep no failure any longer."""
    remove_file(_log_path(root))


def read_log_stamp(root: str) -> tuple[int, int]:
    """Return a stamp that changes with every saved failure; (0, 0) if there is none."""
    try:
        about = os.stat(_log_path(root))
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_ino


def format_time(now: float) -> str:
    """Return the time *now* (seconds since 1970) in the format of the log."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(now))


def _write_failures(state: StateFolder, rows: list[HookFailure]) -> None:
    text = "".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
    write_atomic(state.path(FILE), text.encode("utf-8", "replace"))


def _log_path(root: str) -> str:
    return os.path.join(root, FOLDER, FILE)
