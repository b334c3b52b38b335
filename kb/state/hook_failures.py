"""Record the last failures of hooks, each until a call of the same event has gone well."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping

from kb.errors import KbError
from kb.files import read_if_exists, remove_file, write_atomic
from kb.startup.namedtuple import NamedTuple
from kb.state.state_folder import FOLDER, StateFolder

FILE = "log"
"""The file in the state folder: a JSON object a line."""
_MAX_FAILURES = 50


class HookFailure(NamedTuple):
    """One event that could not be answered as it should be."""

    time: str
    """ISO time."""
    event: str
    error: str
    over: str = ""
    """ISO time at which the same event went well again; "" while it has not."""
    by_host: bool = False
    """The host gave nothing to work on; kb did what it could."""


def redact_message(text: str) -> str:
    """Return a message for people without secrets: it may name what was handed in."""
    from kb.safety.redaction import redact_text

    return redact_text(text)[0]


def save_failure(root: str, environment: Mapping[str, str], failure: HookFailure) -> None:
    """Keep *failure* for `kb doctor`; where nothing can be kept, nothing is."""
    state = StateFolder(root, environment)
    failure = failure._replace(error=redact_message(failure.error))
    with contextlib.suppress(OSError, KbError), state.hold_lock(FILE):
        _write_failures(state, [*list_failures(root)[1 - _MAX_FAILURES :], failure])


def mark_recovered(root: str, environment: Mapping[str, str], event: str, now: float) -> None:
    """Note that *event* has gone well at the time *now*: what failed before is over."""
    state = StateFolder(root, environment)
    if not any(row.event == event and not row.over for row in list_failures(root)):
        return
    with contextlib.suppress(OSError, KbError), state.hold_lock(FILE):
        over, rows = format_time(now), list_failures(root)
        _write_failures(state, [r._replace(over=r.over or over) if r.event == event else r for r in rows])


def list_failures(root: str) -> list[HookFailure]:
    """Return the failures that are kept, oldest first; a damaged line is passed over."""
    found = []
    with contextlib.suppress(OSError):
        for line in (read_if_exists(_log_path(root)) or b"").decode("utf-8", "replace").splitlines():
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                kept = json.loads(line)
                when, event, error, over = (str(kept.get(key, "")) for key in ("time", "event", "error", "over"))
                found.append(HookFailure(when, event, error, over, kept.get("by_host") is True))
    return found


def delete_failures(root: str) -> None:
    """Keep no failure any longer."""
    remove_file(_log_path(root))


def read_log_stamp(root: str) -> tuple[int, int]:
    """Return what changes whenever a failure is kept; (0, 0) where none is."""
    try:
        about = os.stat(_log_path(root))
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_ino


def format_time(now: float) -> str:
    """Return the time *now* (seconds since 1970) as it is kept."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(now))


def _write_failures(state: StateFolder, rows: list[HookFailure]) -> None:
    text = "".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
    write_atomic(state.path(FILE), text.encode("utf-8", "replace"))


def _log_path(root: str) -> str:
    return os.path.join(root, FOLDER, FILE)
