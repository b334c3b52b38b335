"""Let the user's own configuration say what is run where the repository's names a program.

A setting cannot be unset from outside, only overruled: by what the user has configured, else by what git does where
nothing is. Of a filter that only the repository defines nothing is run, and nothing is stored that should pass it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kb.errors import GitFailed
from kb.git.git_process import add_git_settings
from kb.i18n import msg

_THEIRS = ("local", "worktree")
"""What git calls the settings of a repository, and of the files that they include."""
_LINES = "git merge-file -q -L ours -L base -L theirs --marker-size=%L %A %O %B"
"""A merge driver that merges as git does without one."""
REMOTE = ("fetch", "push")
"""Commands that are told by an option what to start at the other side."""
_WITHOUT = {
    "filter.clean": "", "filter.smudge": "", "filter.process": "", "filter.required": "false",
    "merge.driver": _LINES, "credential.helper": "",
    "core.askpass": "", "core.sshcommand": "ssh", "core.alternaterefscommand": "true",
    "gpg.program": "gpg", "gpg.x509.program": "gpgsm", "gpg.ssh.program": "ssh-keygen",
    "gpg.defaultkeycommand": "false",
}  # fmt: skip
"""The settings that name programs, each with the value that makes git do what it does without one."""


class _ConfigEntry(NamedTuple):
    """One setting as git lists it."""

    scope: str
    key: str
    value: str

    @property
    def generic_key(self) -> str:
        """The setting, whatever driver or remote it is about."""
        return f"{self.section}.{self.key.rpartition('.')[2]}"

    @property
    def section(self) -> str:
        """What the setting is about."""
        return self.key.partition(".")[0]

    @property
    def driver(self) -> str:
        """The section with the name of the driver."""
        return self.key.rpartition(".")[0]


def override_repository_config(environment: Mapping[str, str], listed: bytes, command: str) -> Mapping[str, str]:
    """Return *environment* so that the git *command* runs what the user has configured, and nothing else.

    *listed* is what `git config --list --show-scope -z` prints. Raise GitFailed where files would be checked out that
    need what only the repository names.
    """
    rows = list(_parse_config_list(listed))
    theirs = [row for row in rows if row.scope in _THEIRS]
    others = [row for row in rows if row.scope not in _THEIRS]
    named = [row for row in theirs if row.generic_key in _WITHOUT]
    sections = {row.section for row in named}
    own = [row for row in others if row.section in sections and row.generic_key in _WITHOUT]
    own += [row for row in others if row.key == "core.hookspath" and command == "push"]
    settings = [pair for row in named for pair in _iter_default_settings(row, environment)] + [
        (row.key, row.value) for row in own
    ]
    if command == "hash-object":  # what should pass a filter is not stored without it
        settings += [(f"{driver}.required", "true") for driver in _find_missing_filters("clean", named, own)]
    if command == "read-tree" and (lost := _find_missing_filters("smudge", named, own)):
        raise GitFailed(
            msg("only the settings of this repository define {filter}, which its files need", filter=lost[0]),
            hint=msg("kb runs filters of your own: git config --global filter.NAME.clean COMMAND"),
        )
    fetched_by = {row.key for row in theirs if row.generic_key == "remote.uploadpack"} - {row.key for row in others}
    if fetched_by and command not in REMOTE:  # of several git takes the first: what is missing is not fetched at all
        environment = {**environment, "GIT_ALLOW_PROTOCOL": "none"}
    return add_git_settings(environment, settings)


def _parse_config_list(listed: bytes) -> Iterator[_ConfigEntry]:
    words = iter(os.fsdecode(listed).split("\0")[:-1])
    for scope, setting in zip(words, words, strict=True):
        key, equals, value = setting.partition("\n")
        yield _ConfigEntry(scope, key, value if equals else "true")


def _iter_default_settings(row: _ConfigEntry, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what makes git do what it does where *row* is missing."""
    if row.key == "core.sshcommand" and (program := environment.get("GIT_SSH")):
        yield row.key, shlex.quote(program)
    elif row.key == "core.askpass":
        yield row.key, environment.get("SSH_ASKPASS", "")
    else:
        yield row.key, _WITHOUT.get(row.key) or _WITHOUT[row.generic_key]


def _find_missing_filters(way: str, named: Sequence[_ConfigEntry], own: Sequence[_ConfigEntry]) -> list[str]:
    """Return the filters for one *way* of the repository's in whose place the user has none that git would run."""
    theirs, mine = ({row.key for row in rows} for rows in (named, own))
    drivers = sorted({row.driver for row in named if row.section == "filter"})
    return [
        driver
        for driver in drivers
        if theirs & {f"{driver}.{way}", f"{driver}.process"}
        and f"{driver}.process" not in mine
        and (f"{driver}.process" in theirs or f"{driver}.{way}" not in mine)
    ]
