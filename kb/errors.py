"""The exceptions of kb, with messages in the user's words."""

from __future__ import annotations

import errno

from kb.i18n import Message, msg
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import ClassVar


class KbError(Exception):
    """kb cannot do what it was asked to; *hint* names the one next step."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: Message | str, *, hint: Message | str = "", path: str = "", line: int = 0) -> None:
        """Set *message*; *path* and *line* (1-based) give the place of the cause."""
        # a plain string is not a template: its braces are text ("{x}" in a path or in git's output)
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
    """There is no knowledge base in the place searched."""


class BadInput(KbError):
    """The input does not follow the documented format."""


class BadRecord(KbError):
    """A record file cannot be read, or must not be written in this form."""


class NoDecision(BadRecord):
    """A file among adopted decision records is not a record: an index, a template, a page on another subject."""


class UnknownId(KbError):
    """A name matches no record, or more than one."""


class GitFailed(KbError):
    """A git command failed."""


class IndexFailed(KbError):
    """The index cannot be read or written: no space, a lock held too long, a damaged file."""


class Busy(KbError):
    """The repository cannot take a commit just now. A candidate is spooled; retry any other call."""


class NeedsPerson(KbError):
    """A person has to take the next step."""

    exit_code = 5


class ConcurrentEdit(NeedsPerson):
    """A text changed while a person had it open, and both changed the same lines."""

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
    """Return the reason of an operating system error: a message for common errors, else the system's own text."""
    return _OS_ERRORS.get(error.errno or 0) or error.strerror or str(error)
