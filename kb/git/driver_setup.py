"""The merge driver: how git in this clone learns to hand records to kb.

Which files are records is in `.gitattributes` and is committed; the command is in the configuration of each
clone. The command is a line for the shell that leaves nothing to luck: kb as it was when it was installed, else the
one on PATH, and where neither works git's own merge of lines, so that never one side alone is taken for the result.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping

from kb.files import read_if_exists, remove_folder, write_file
from kb.git.git_process import run, scrub_environment
from kb.git.repository import Repository
from kb.records.kinds import FOLDERS

NAME = "kb"
_DRIVER = f"merge.{NAME}.driver"
RULES = tuple(f"{folder}/**/*.md merge=kb" for folder in FOLDERS)
"""What `content/.gitattributes` says of records: one line for the folder of every kind."""
_PLACE = re.compile("%(.)")
_SAMPLE = f"content/{FOLDERS[0]}/global/D001-sample.md"
# where kb cannot be run any more, git's own merge of lines decides: git takes exit 0 with an untouched %A for a merge
_LINE = (
    '; [ -x "$kb" ] || kb=kb; "$kb" merge-driver %O %A %B %P && exit; code=$?; '
    "[ $code = 1 ] && grep -q '^<<<<<<< ' %A && exit 1; "
    "git merge-file -q -L ours -L base -L theirs %A %O %B; text=$?; "
    "[ $code = 126 ] || [ $code = 127 ] || exit 1; exit $text"
)
"""Conflicts of kb's have markers; exit 126 and 127 are the shell's for what cannot be run."""
_RECORD = """---
id: D001
kind: decision
title: Sample
tags: [{tags}]
---
<!-- MACHINE_BLOCK_START -->
<!-- MACHINE_BLOCK_END -->
<!-- USER_BLOCK_START -->
<!-- USER_BLOCK_END -->
"""


def install(repository: Repository) -> None:
    """Tell git in this clone how to merge records."""
    for key, value in ((f"merge.{NAME}.name", "records of kb"), (_DRIVER, build_own_command())):
        if _read_setting(repository, key) != value:
            repository.git("config", "--local", key, value)


def build_own_command() -> str:
    """Return the command that merges a file with the kb that belongs to the running Python, or the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), NAME)
    return build_driver_command(beside if os.path.exists(beside) else NAME)


def build_driver_command(program: str) -> str:
    """Return the command that merges a file with the kb at *program*."""
    # git replaces %O, %A, … in the whole line; a percent sign in the path of kb has to be doubled
    return f"kb={shlex.quote(program)}".replace("%", "%%") + _LINE


def is_installed(repository: Repository) -> bool:
    """Return whether this clone has the command, for this very kb."""
    return _read_setting(repository, _DRIVER) == build_own_command()


def _read_setting(repository: Repository, key: str) -> str:
    return repository.git("config", "--local", "--get", key, check=False).decode("utf-8", "replace").rstrip("\n")


def read_merge_attribute(repository: Repository, folder: str = FOLDERS[0]) -> str:
    """Return what the attribute `merge` of a record in *folder* is: "kb", another driver, or "unspecified"."""
    sample = _SAMPLE.replace(FOLDERS[0], folder)
    said = repository.git("check-attr", "-z", "merge", "--", repository.to_git_path(sample))
    return said.decode("utf-8", "replace").split("\0")[2]


def find_missing_rules(repository: Repository, attributes: bytes) -> list[str]:
    """Return the rules that *attributes* lacks and for whose folders nothing else is said."""
    return [
        rule
        for folder, rule in zip(FOLDERS, RULES, strict=True)
        if rule.encode() not in attributes and read_merge_attribute(repository, folder) == "unspecified"
    ]


def is_driver_working(repository: Repository, environment: Mapping[str, str]) -> bool:
    """Return whether the command merges as kb does: try it on two sides that git's own merge cannot join.

    What is tried is this kb's own command, and never one that somebody else has put into the configuration.
    """
    folder = os.path.join(repository.private, f"driver-{os.getpid()}")
    names = {mark: os.path.join(folder, mark) for mark in "OAB"}
    values = {**{mark: shlex.quote(path) for mark, path in names.items()}, "P": _SAMPLE, "%": "%"}
    try:
        for mark, tags in zip("OAB", ("a", "a, b", "a, c"), strict=True):
            write_file(names[mark], _RECORD.format(tags=tags).encode())
        command = _PLACE.sub(lambda match: values[match.group(1)], build_own_command())
        output = run(["sh", "-c", command], scrub_environment(environment))
        return output.code == 0 and read_if_exists(names["A"]) == _RECORD.format(tags="a, b, c").encode()
    finally:
        remove_folder(folder)
