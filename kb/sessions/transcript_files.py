"""The files of transcripts: whether they are there, and their bytes."""

from __future__ import annotations

import os
import stat

from kb.errors import BadInput
from kb.files import open_nonblocking
from kb.i18n import msg

MAX_TRANSCRIPT = 256_000_000


def read_transcript(path: str, last: int = 0) -> bytes:
    """Return the bytes of a transcript, or its *last* ones; raise BadInput for no plain file or more than 256 MB."""
    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            about = os.stat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise BadInput(msg("the transcript is not a file"), path=path)
            if about.st_size > MAX_TRANSCRIPT and not last:
                raise BadInput(msg("the transcript is larger than {limit} bytes", limit=MAX_TRANSCRIPT), path=path)
            if last and about.st_size > last:
                file.seek(-last, os.SEEK_END)
            return file.read()
    except IsADirectoryError:
        raise BadInput(msg("the transcript is not a file"), path=path) from None
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(msg("the transcript cannot be read: {problem}", problem=problem), path=path) from None


def has_content(path: str) -> bool:
    """Return whether a transcript is there to be read: a plain file that is not empty."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(about.st_mode) and about.st_size > 0
