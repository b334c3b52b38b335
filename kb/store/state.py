"""The folder `.kb/`: what belongs to one clone and is never committed (spool, cursors, active sessions, caches)."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

FOLDER = ".kb"


class State:
    """The state folder of the knowledge base at *root*; made when something is first written."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Name the folder and the place to go when it cannot be written."""
        self.folder = os.path.join(root, FOLDER)
        base = environment.get("XDG_STATE_HOME") or os.path.join(
            environment.get("HOME", os.path.expanduser("~")), ".local", "state"
        )
        self._elsewhere = os.path.join(base, "kb", root.strip(os.sep).replace(os.sep, "-")[-120:])

    def path(self, *parts: str) -> str:
        """Return a path inside the folder."""
        return os.path.join(self.folder, *parts)

    def made(self) -> str:
        """Return the folder, made so that git ignores it."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            write_whole(self.path(".gitignore"), b"*\n")
        return self.folder

    # JSON files

    def load(self, *parts: str) -> Any:
        """Return what a JSON file holds; None where there is none or it is damaged."""
        try:
            with open(self.path(*parts), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def save(self, value: object, *parts: str) -> None:
        """Keep *value* as JSON, whole or not at all."""
        self.made()
        write_whole(self.path(*parts), json.dumps(value, ensure_ascii=False, indent=1).encode())

    # the spool

    def spool(self, name: str, value: object) -> str:
        """Keep *value* until it can be written, and return the file; raise OSError when no place takes it.

        *name* must sort by time. A folder that cannot be written is passed over for the user's state folder.
        """
        data = json.dumps(value, ensure_ascii=False).encode()
        try:
            self.made()
            path = self.path("spool", name + ".json")
            write_whole(path, data)
        except OSError:
            path = os.path.join(self._elsewhere, "spool", name + ".json")
            write_whole(path, data)
        return path

    def spooled(self) -> list[str]:
        """Return the spooled files, oldest first."""
        found: list[str] = []
        for folder in (self.path("spool"), os.path.join(self._elsewhere, "spool")):
            with contextlib.suppress(OSError):
                found += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json")]
        return sorted(found, key=os.path.basename)

    # the stage

    @contextlib.contextmanager
    def stage(self) -> Iterator[str]:
        """Lend an empty folder; it is gone afterwards."""
        folder = os.path.join(self.made(), f"stage-{os.getpid()}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that a reader sees the old or the new one, never a part; it is on disk when this returns."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.{os.getpid()}"
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    except BaseException:
        os.close(file)
        os.unlink(beside)
        raise
    os.close(file)
    os.replace(beside, path)
