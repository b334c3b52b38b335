"""The exceptions of kb, with messages in the user's words."""

from __future__ import annotations

import errno

from kb.i18n import Message, msg
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import ClassVar


class KbError(Exception):
    """Something kb was asked for and cannot do; *hint* names the one next step."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: Message | str, *, hint: Message | str = "", path: str = "", line: int = 0) -> None:
        """Say *message*; *path* and *line* (1-based) say where the cause is."""
        # a plain text is no template: its braces are text ("{x}" in a path or in what git says)
        self.message = (
            message if isinstance(message, Message) else Message(message.replace("{", "{{").replace("}", "}}"), {})
        )
        self.hint = hint if isinstance(hint, Message) else msg(hint)
        self.path = path
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        return self.translate("en")

    def translate(self, language: str) -> str:
        """Return path, line and message as one line in *language*."""
        where = f"{self.path}:{self.line}: " if self.line else f"{self.path}: " if self.path else ""
        return where + self.message.translate(language)


class NoKnowledgeBase(KbError):
    """There is no knowledge base where one was looked for."""


class BadInput(KbError):
    """What a caller handed in is not what the documented format says."""


class BadRecord(KbError):
    """A record file cannot be read or must not be written as it stands."""


class NoDecision(BadRecord):
    """A file among adopted decision records is none itself: an index, a template, a page about something else."""


class UnknownId(KbError):
    """No record, or more than one, answers to what was named."""


class GitFailed(KbError):
    """git said no."""


class IndexFailed(KbError):
    """The index cannot be read or kept: no space, a lock held too long, a damaged file."""


class Busy(KbError):
    """The repository cannot take a commit just now. A candidate is spooled; any other call is to be made again."""


class NeedsPerson(KbError):
    """Only a person may go on from here."""

    exit_code = 5


class ConcurrentEdit(NeedsPerson):
    """A text was changed by somebody else while a person had it open, and both changed the same lines."""

    def __init__(
        self,
        message: Message | str,
        *,
        hint: Message | str = "",
        path: str = "",
        marked: bytes = b"",
        seen: bytes = b"",
        committed: bytes | None = None,
    ) -> None:
        """Say *message*; *marked* has both versions between marks, and is an edit of *seen*, of which the tip had
        *committed*.
        """
        super().__init__(message, hint=hint, path=path)
        self.marked = marked
        self.seen = seen
        self.committed = committed


_OS_ERRORS = {
    errno.EACCES: msg("Permission denied"),
    errno.EADDRINUSE: msg("Address already in use"),
    errno.ECONNREFUSED: msg("Connection refused"),
    errno.EEXIST: msg("File exists"),
    errno.EISDIR: msg("Is a directory"),
    errno.ENOENT: msg("No such file or directory"),
    errno.ENOSPC: msg("No space left on device"),
    errno.ENOTDIR: msg("Not a directory"),
    errno.EPERM: msg("Operation not permitted"),
    errno.EROFS: msg("Read-only file system"),
}


def describe_os_error(error: OSError) -> Message | str:
    """Return what the operating system complains of: as a message where it is a common error, else in its own words."""
    return _OS_ERRORS.get(error.errno or 0) or error.strerror or str(error)
