"""Failed commands: which a running session repeats in vain, which errors have a known cure, which were never overcome.

A hook asks the first two at every call of a tool, before anything of kb is loaded: this module asks the disk alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.state.state_folder import StateFolder

_LOG = "failed.log"
_CHANGED, _WARNED = "-", "!"
"""Rows of the log: something was changed; a warning was given on a command (its hash follows)."""
_ENOUGH = 2
"""Failures of one command, with nothing changed between, from which on a warning is due."""
_MAX_LOG_BYTES = 100_000
_TABLE = "known-errors.json"
_UNSOLVED = "failures.json"
_MAX_UNSOLVED = 1000
"""Maximum number of failures to keep, the newest."""
_LOOKING = regex(
    r"\s*(?:cd \S+ && )?(?:ls|cat|head|tail|grep|rg|find|pwd|wc|which|echo|test|true|sleep|sed -n"
    r"|git (?:-C \S+ )?(?:status|diff|log|show|branch|blame))\b[^|;&>]*(?:2>&1\s*)?"
    r"(?:\|\s*(?:head|tail|grep|wc)\b[^|;&>]*)*$"
)
"""A command that only looks: after it, everything is as it was."""
_WORD_ENDS = regex(r"[^\w.-]+|0")


def note_call(root: str, session: str, command: str, *, failed: bool) -> None:
    """Note that *command* of *session* has *failed*, or has succeeded and may have changed something."""
    if (not failed and not os.path.exists(_log_path(root, session))) or _LOOKING.match(command):
        return
    if failed:
        _append_row(root, session, _hash_command(command), create=True)
    else:
        note_change(root, session)


def note_change(root: str, session: str) -> None:
    """Note a change after which failed commands may succeed; do nothing if none has failed."""
    _append_row(root, session, _CHANGED, create=False)


def is_repeated_in_vain(root: str, session: str, command: str) -> bool:
    """Return whether *command* failed twice in *session* without a change in between and without a warning yet."""
    rows = _read_rows(root, session)
    if not rows:
        return False
    since = rows[len(rows) - rows[::-1].index(_CHANGED) :] if _CHANGED in rows else rows
    mark = _hash_command(command)
    return since.count(mark) >= _ENOUGH and _WARNED + mark not in since


def mark_warned(root: str, session: str, command: str) -> None:
    """Note that *session* was warned of *command*."""
    _append_row(root, session, _WARNED + _hash_command(command), create=True)


def has_failed(root: str, session: str, command: str) -> bool:
    """Return whether *command* failed in *session*."""
    return _hash_command(command) in _read_rows(root, session)


def _hash_command(command: str) -> str:
    from zlib import crc32  # only where something has failed

    return f"{crc32(' '.join(command.split()).encode('utf-8', 'replace')):08x}"


def _log_path(root: str, session: str) -> str:
    is_plain = session.isascii() and session.replace("-", "").replace("_", "").isalnum() and len(session) <= 64
    return os.path.join(root, ".kb", "active", session, _LOG) if is_plain else ""


def _read_rows(root: str, session: str) -> list[str]:
    try:
        with open(_log_path(root, session), encoding="ascii") as file:
            return file.read(_MAX_LOG_BYTES).split("\n")
    except (OSError, ValueError):
        return []


def _append_row(root: str, session: str, row: str, *, create: bool) -> None:
    path = _log_path(root, session)
    if not path:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if create else 0)
    try:
        if create:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, flags, 0o666)
        try:
            os.write(file, f"{row}\n".encode())
        finally:
            os.close(file)
    except OSError:
        return


# -- which errors have a known cure -------------------------------------------------------------------


def save_known_errors(state: StateFolder, lines: Iterable[str]) -> None:
    """Keep by which words the error *lines* that have a cure are recognised in an output, the longest word first."""
    split = ({word for word in _WORD_ENDS.split(line) if word} for line in lines)
    words = sorted(sorted(row, key=lambda word: (-len(word), word)) for row in split if row)
    if (state.load(_TABLE) or {}).get("lines", []) != words:
        state.save({"lines": words}, _TABLE)


def may_be_known(root: str, output: str) -> bool:
    """Return whether *output* may have an error line with a known cure: it has all words of one."""
    try:
        with open(os.path.join(root, ".kb", _TABLE), encoding="utf-8") as file:
            lines = json.load(file)["lines"]
        plain = output.casefold()
        return any(all(word in plain for word in words) for words in lines)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


# -- what was never overcome --------------------------------------------------------------------------


def save_unsolved(
    state: StateFolder, session: str, signatures: Iterable[Sequence[str]], *, day: str, project: str
) -> None:
    """Save the *signatures* of unsolved failures of *session*, in place of its earlier ones."""
    before = load_unsolved(state)
    rows = [row for row in before if row.get("session") != session]
    rows += [{"signature": list(one), "session": session, "day": day, "project": project} for one in signatures]
    if rows != before:
        state.save({"failures": rows[-_MAX_UNSOLVED:]}, _UNSOLVED)


def load_unsolved(state: StateFolder) -> list[dict[str, Any]]:
    """Return the failures that no session has overcome: signature, session, day and project of each."""
    rows = (state.load(_UNSOLVED) or {}).get("failures")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def count_signatures(lines: Collection[str], signatures: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return line → number of different *signatures* with it."""
    different = {tuple(signature) for signature in signatures}
    return {line: sum(line in signature[1:] for signature in different) for line in lines}
