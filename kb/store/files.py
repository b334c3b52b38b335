"""Files on disk: read what may not be there, write whole or not at all."""

import contextlib
import os


def content(path: str) -> bytes | None:
    """Return the bytes of a file, or None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def write(path: str, data: bytes) -> None:
    """Write a file and the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def write_whole(path: str, data: bytes, *, synced: bool = False) -> None:
    """Write a file so that a reader sees the old or the new one, never a part; permissions are kept.

    *synced*: it survives a loss of power once this returns.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = os.path.join(os.path.dirname(path), f".kb-{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except BaseException:
        remove(beside)
        raise


def remove(path: str) -> None:
    """Remove a file that may be there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def remove_folder(folder: str) -> None:
    """Remove a folder that may be there, with all that is in it."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            os.unlink(os.path.join(place, name))
        for name in folders:
            os.rmdir(os.path.join(place, name))
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(folder)
