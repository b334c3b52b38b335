"""The folder `.kb/`: what belongs to one clone and is never committed (spool, cursors, active sessions, caches)."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping

from kb.home import state_home
from kb.store.files import STALE, half_written, harden, remove_folder, sweep
from kb.store.files import write_whole as write_whole
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

FOLDER = ".kb"
UNREADABLE = ".unreadable"
"""What the name of a spooled file ends with once it has been set aside."""
_LOCKS = 256
"""How many lock files there are at most: a name has one of them, and none needs to be taken away."""


class State:
    """The state folder of the knowledge base at *root*; made when something is first written."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Name the folder and the place to go when it cannot be written."""
        self.folder = os.path.join(root, FOLDER)
        mark = f"{zlib.crc32(os.fsencode(root)):08x}"
        self._elsewhere = os.path.join(state_home(environment), f"{os.path.basename(root)[-60:]}-{mark}")

    def path(self, *parts: str) -> str:
        """Return a path inside the folder."""
        return os.path.join(self.folder, *parts)

    def made(self) -> str:
        """Return the folder, made so that git ignores it."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            write_whole(self.path(".gitignore"), b"*\n")
        return self.folder

    def sweep(self) -> None:
        """Take away what writers that died have left half written where every call writes."""
        for folder in (self.folder, self.path("spool"), self.path("queue"), os.path.join(self._elsewhere, "spool")):
            sweep(folder)

    def half_written(self, age: float = STALE) -> list[str]:
        """Return everything that writers have left half written *age* seconds ago or more, oldest name first."""
        places = (folder for top in (self.folder, self._elsewhere) for folder, _, _ in os.walk(top))
        return [path for folder in places for path in half_written(folder, age)]

    # JSON files

    def load(self, *parts: str) -> Any:
        """Return what a JSON file holds; None where there is none or it is damaged."""
        try:
            with open(self.path(*parts), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def save(self, value: object, *parts: str, synced: bool = False) -> None:
        """Keep *value* as JSON, whole or not at all; *synced*: on the disk."""
        self.made()
        write_whole(self.path(*parts), json.dumps(value, ensure_ascii=False, indent=1).encode(), synced=synced)

    # the spool

    def spool(self, now: float, value: object) -> str:
        """Keep *value* until it can be written, and return the file; raise OSError when no place takes it.

        The file's name sorts by *now*, seconds since 1970, and nobody else uses it. A folder that cannot be written
        is passed over for the user's state folder.
        """
        name = f"{int(now * 1000):014d}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}"
        data = json.dumps(value, ensure_ascii=False).encode()
        try:
            self.made()
            path = self.path("spool", name + ".json")
            write_whole(path, data, synced=True)
        except OSError:
            path = os.path.join(self._elsewhere, "spool", name + ".json")
            write_whole(path, data, synced=True)
        harden([os.path.dirname(path)])
        return path

    def spooled(self) -> list[str]:
        """Return the spooled files, oldest first."""
        return self._in_spools(".json")

    def unreadable(self) -> list[str]:
        """Return the spooled files that were set aside, oldest first."""
        return self._in_spools(UNREADABLE)

    def _in_spools(self, ending: str) -> list[str]:
        found: list[str] = []
        for folder in (self.path("spool"), os.path.join(self._elsewhere, "spool")):
            with contextlib.suppress(OSError):
                found += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending)]
        return sorted(found, key=os.path.basename)

    def set_aside(self, path: str) -> str:
        """Take a spooled file that cannot be read out of the spool and return its new name."""
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, path + UNREADABLE)
        return path + UNREADABLE

    # one at a time

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Let one process at a time do what *name* says; never to be nested, as names may share a lock.

        Where no lock can be made nothing else can be written either, and nobody is kept out.
        """
        import fcntl

        try:
            self.made()
            os.makedirs(self.path("locks"), exist_ok=True)
            slot = f"{zlib.crc32(name.encode('utf-8', 'replace')) % _LOCKS:02x}"
            file = os.open(self.path("locks", slot), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    # the stage

    @contextlib.contextmanager
    def stage(self) -> Iterator[str]:
        """Lend an empty folder to the one who holds the lock of the repository; it is gone afterwards."""
        folder = os.path.join(self.made(), "stage")
        remove_folder(folder)
        os.makedirs(folder)
        try:
            yield folder
        finally:
            remove_folder(folder)
