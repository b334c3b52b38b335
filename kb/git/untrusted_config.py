"""Keep git from running programs that only the configuration of a repository names.

Most of them `SETTINGS` switch off. A filter or a signer cannot be switched off, it must be the user's own: where the
repository's settings name one, or may, they are read before git is called, and overruled: by what the user has
configured, else by what git does where nothing is. A setting cannot be unset from outside. Of a filter that only the
repository defines nothing is run, and nothing is stored that should pass it.
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
"""What is in settings, in lower case, that name a program any command may come to run, or that include others."""
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
        self._stamps: list[str] = []
        self._settings = b""
        self._listed = (-_LISTED_FOR, b"")

    def read_settings(self) -> bytes:
        """Return the repository's own settings in lower case, without what they include."""
        stamps = [read_stamp(path) for path in self._paths]
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


_THEIRS = ("local", "worktree")
"""What git calls the settings of a repository, and of the files that they include."""
_LINES = "git merge-file -q -L ours -L base -L theirs --marker-size=%L %A %O %B"
"""A merge driver that merges as git does without one."""
_REMOTE = ("fetch", "push")
"""Commands that are told by an option what to start at the other side."""
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
"""The settings that name programs, each with the value that makes git do what it does without one."""


def _drop_name(key: str) -> str:
    """Return the setting *key*, whatever driver or remote it is about: "filter.lfs.clean" is "filter.clean"."""
    return f"{key.partition('.')[0]}.{key.rpartition('.')[2]}"


def override_repository_config(environment: Mapping[str, str], listed: bytes, command: str) -> Mapping[str, str]:
    """Return *environment* so that the git *command* runs what the user has configured, and nothing else.

    *listed* is what `git config --list --show-scope -z` prints. Raise GitFailed where files would be checked out that
    need what only the repository names.
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
    # of several values git takes the last: what the user has configured goes behind what git does without one
    settings = [*((key, _get_default(key, environment)) for key in named), *own]
    if command == "hash-object":  # what should pass a filter is not stored without it
        settings += [(f"{driver}.required", "true") for driver in _find_missing_filters("clean", named, own)]
    if command == "read-tree" and (lost := _find_missing_filters("smudge", named, own)):
        raise GitFailed(
            msg("only the settings of this repository define {filter}, which its files need", filter=lost[0]),
            hint=msg("kb runs filters of your own: git config --global filter.NAME.clean COMMAND"),
        )
    fetched_by = {key for key, _ in theirs if _drop_name(key) == "remote.uploadpack"} - {key for key, _ in others}
    if fetched_by and command not in _REMOTE:  # of several git takes the first: what is missing is not fetched at all
        environment = {**environment, "GIT_ALLOW_PROTOCOL": "none"}
    return add_git_settings(environment, settings)


def _get_default(key: str, environment: Mapping[str, str]) -> str:
    """Return the value with which git does what it does where the setting *key* is missing."""
    if key == "core.sshcommand" and (program := environment.get("GIT_SSH")):
        from shlex import quote

        return quote(program)
    if key == "core.askpass":
        return environment.get("SSH_ASKPASS", "")
    return _WITHOUT.get(key) or _WITHOUT[_drop_name(key)]


def _find_missing_filters(way: str, named: Sequence[str], own: Sequence[tuple[str, str]]) -> list[str]:
    """Return the filters for one *way* of the repository's in whose place the user has none that git would run."""
    mine = {key for key, _ in own}
    missing = []
    for driver in sorted({key.rpartition(".")[0] for key in named if key.startswith("filter.")}):
        step, process = f"{driver}.{way}", f"{driver}.process"
        is_replaced = process in mine or (process not in named and step in mine)  # git prefers a process
        if (step in named or process in named) and not is_replaced:
            missing.append(driver)
    return missing
