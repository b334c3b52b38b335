"""Keep git from running programs that only the configuration of a repository names.

Most of them `SETTINGS` switch off. A filter or a signer cannot be switched off, it must be the user's own: where the
repository's settings name one, or may, they are read before git is called, and overruled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from kb.files import read_if_exists
from kb.git.git_process import SETTINGS, build_git_error, find_command_index, run

_TELLING = (
    b"[filter", b"[include", b"[credential", b"sshcommand", b"askpass", b"uploadpack", b"alternaterefscommand",
)  # fmt: skip
"""What stands in settings, in lower case, that name a program any command may come to run, or that include others."""
_PERSONAL = ("merge-tree", "push")
"""Commands that a person waits for and that run what others never do: merge drivers, and signers where not asked to."""
_LISTED_FOR = 1.0
"""Seconds for which settings are as they were listed: a file they include may change."""


class ConfigGuard:
    """What git is given for its commands in one repository."""

    def __init__(self, top: str, git_dir: str, shared: str, environment: Mapping[str, str]) -> None:
        """Guard the repository at *top*, where git is else given *environment*."""
        self._top = top
        self._paths = (os.path.join(shared, "config"), os.path.join(git_dir, "config.worktree"))
        self._environment = environment
        self._stamps: object = None
        self._settings = b""
        self._listed = (-_LISTED_FOR, b"")

    def read_settings(self) -> bytes:
        """Return the repository's own settings in lower case, without what they include."""
        stamps = [_read_stamp(path) for path in self._paths]
        if stamps != self._stamps:
            self._settings = b"\n".join(read_if_exists(path) or b"" for path in self._paths).lower()
            self._stamps, self._listed = stamps, (-_LISTED_FOR, b"")
        return self._settings

    def build_environment(self, arguments: Sequence[str], *, is_sure: bool = True) -> Mapping[str, str]:
        """Return the environment for a git command.

        Raise GitFailed where the settings cannot be listed, unless git *is_sure* to fail for the same reason.
        """
        settings = self.read_settings()
        command = arguments[find_command_index(arguments)]
        if not (command in _PERSONAL or "-S" in arguments or any(word in settings for word in _TELLING)):
            return self._environment
        from kb.git.config_override import override_repository_config

        return override_repository_config(self._environment, self._list_settings(is_sure=is_sure), command)

    def _list_settings(self, *, is_sure: bool) -> bytes:
        since, listed = self._listed
        if time.monotonic() - since < _LISTED_FOR:
            return listed
        count = int(self._environment["GIT_CONFIG_COUNT"]) - len(SETTINGS)
        outer = {**self._environment, "GIT_CONFIG_COUNT": str(count)}
        for words in (["rev-parse", "--git-dir"], ["config", "--list", "--show-scope", "-z"]):
            output = run(["git", "-C", self._top, *words], outer)  # of a repository it does not trust git lists nothing
            if output.code and is_sure:
                return b""
            if output.code:
                raise build_git_error(words, output)
        self._listed = (time.monotonic(), output.out)
        return output.out


def _read_stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
