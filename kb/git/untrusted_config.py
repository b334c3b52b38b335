"""Keep git from running programs that only the configuration of a repository names.

`SETTINGS` switches most of them off. A filter or signer cannot be switched off, only replaced by the user's own. If the
repository's settings name one, or may, they are read before git is called, and overridden: by the user's configuration,
else by git's default. A setting cannot be unset from outside. A filter that only the repository defines is not run, and
nothing that should pass it is stored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from kb.errors import GitFailed
from kb.files import read_if_exists, read_stamp
from kb.git.git_process import SETTINGS, add_git_settings, build_git_error, find_command_index, run
from kb.i18n import msg

_TELLING = b"[filter [include [credential sshcommand askpass uploadpack alternaterefscommand".split()
"""Lower-case text in settings that names a program any command may run, or includes other settings."""
_PERSONAL = ("merge-tree", "push")
"""Interactive commands that run programs others never do: merge drivers, and signers without being asked to sign."""
_LISTED_FOR = 1.0
"""Seconds for which listed settings are considered current: a file they include may change."""


class ConfigGuard:
    """Git's environment for commands in one repository."""

    def __init__(self, top: str, git_dir: str, shared: str, environment: Mapping[str, str]) -> None:
        """Guard the repository at *top*; *environment* is git's environment otherwise."""
        self._top = top
        self._paths = (os.path.join(shared, "config"), os.path.join(git_dir, "config.worktree"))
        self._environment = environment
        self._stamps: list[str] = []
        self._settings = b""
        self._listed = (-_LISTED_FOR, b"")

    def read_settings(self) -> bytes:
        """Return the repository's own settings in lower case, without included files."""
        stamps = [read_stamp(path) for path in self._paths]
        if stamps != self._stamps:
            self._settings = b"\n".join(read_if_exists(path) or b"" for path in self._paths).lower()
            self._stamps, self._listed = stamps, (-_LISTED_FOR, b"")
        return self._settings

    def build_environment(self, arguments: Sequence[str], *, is_sure: bool = True) -> Mapping[str, str]:
        """Return the environment for a git command.

        Raise GitFailed if the settings cannot be listed, unless git *is_sure* to fail for the same reason.
        """
        settings = self.read_settings()
        command = arguments[find_command_index(arguments)]
        if not (command in _PERSONAL or "-S" in arguments or any(word in settings for word in _TELLING)):
            return self._environment

        return override_repository_config(self._environment, self._list_settings(is_sure=is_sure), command)

    def _list_settings(self, *, is_sure: bool) -> bytes:
        since, listed = self._listed
        if time.monotonic() - since < _LISTED_FOR:
            return listed
        count = int(self._environment["GIT_CONFIG_COUNT"]) - len(SETTINGS)
        outer = {**self._environment, "GIT_CONFIG_COUNT": str(count)}
        for words in (["rev-parse", "--git-dir"], ["config", "--list", "--show-scope", "-z"]):
            output = run(["git", "-C", self._top, *words], outer)  # git lists nothing of a repository it does not trust
            if output.code and is_sure:
                return b""
            if output.code:
                raise build_git_error(words, output)
        self._listed = (time.monotonic(), output.out)
        return output.out


_THEIRS = ("local", "worktree")
"""Git's names for the scopes of a repository's settings, including the files that they include."""
_LINES = "git merge-file -q -L ours -L base -L theirs --marker-size=%L %A %O %B"
"""A merge driver equal to git's default."""
_REMOTE = ("fetch", "push")
"""Commands with an option for the program to start at the remote."""
_WITHOUT = {
    **dict.fromkeys(("filter.clean", "filter.smudge", "filter.process", "credential.helper", "core.askpass"), ""),
    "filter.required": "false",
    "merge.driver": _LINES,
    "core.sshcommand": "ssh",
    "core.alternaterefscommand": "true",
    "gpg.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.defaultkeycommand": "false",
}
"""The settings that name programs, each with the value that gives git's default behaviour."""


def _drop_name(key: str) -> str:
    """Return the setting *key* without the name of its driver or remote: "filter.lfs.clean" → "filter.clean"."""
    return f"{key.partition('.')[0]}.{key.rpartition('.')[2]}"


def override_repository_config(environment: Mapping[str, str], listed: bytes, command: str) -> Mapping[str, str]:
    """Return *environment* such that the git *command* runs only programs that the user has configured.

    *listed* is the output of `git config --list --show-scope -z`. Raise GitFailed if files to be checked out need a
    filter that only the repository defines.
    """
    words = iter(os.fsdecode(listed).split("\0")[:-1])
    theirs: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for scope, setting in zip(words, words, strict=True):
        key, equals, value = setting.partition("\n")
        (theirs if scope in _THEIRS else others).append((key, value if equals else "true"))
    named = [key for key, _ in theirs if _drop_name(key) in _WITHOUT]
    sections = {key.partition(".")[0] for key in named}
    own = [(key, value) for key, value in others if key.partition(".")[0] in sections and _drop_name(key) in _WITHOUT]
    own += [(key, value) for key, value in others if key == "core.hookspath" and command == "push"]
    # git uses the last of several values, so the user's configuration follows git's defaults
    settings = [*((key, _get_default(key, environment)) for key in named), *own]
    if command == "hash-object":  # do not store a file without the filter it should pass
        settings += [(f"{driver}.required", "true") for driver in _find_missing_filters("clean", named, own)]
    if command == "read-tree" and (lost := _find_missing_filters("smudge", named, own)):
        raise GitFailed(
            msg("only the settings of this repository define {filter}, which its files need", filter=lost[0]),
            hint=msg("kb runs filters of your own: git config --global filter.NAME.clean COMMAND"),
        )
    fetched_by = {key for key, _ in theirs if _drop_name(key) == "remote.uploadpack"} - {key for key, _ in others}
    if fetched_by and command not in _REMOTE:  # git uses the first of several: fetch no missing objects at all
        environment = {**environment, "GIT_ALLOW_PROTOCOL": "none"}
    return add_git_settings(environment, settings)


def _get_default(key: str, environment: Mapping[str, str]) -> str:
    """Return the value that gives git's behaviour without the setting *key*."""
    if key == "core.sshcommand" and (program := environment.get("GIT_SSH")):
        from shlex import quote

        return quote(program)
    if key == "core.askpass":
        return environment.get("SSH_ASKPASS", "")
    return _WITHOUT.get(key) or _WITHOUT[_drop_name(key)]


def _find_missing_filters(way: str, named: Sequence[str], own: Sequence[tuple[str, str]]) -> list[str]:
    """Return the repository's filters for one *way* (clean or smudge) that the user has not defined."""
    mine = {key for key, _ in own}
    missing = []
    for driver in sorted({key.rpartition(".")[0] for key in named if key.startswith("filter.")}):
        step, process = f"{driver}.{way}", f"{driver}.process"
        is_replaced = process in mine or (process not in named and step in mine)  # git prefers a process
        if (step in named or process in named) and not is_replaced:
            missing.append(driver)
    return missing
