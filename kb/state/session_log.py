"""Append-only log of a session for the guard, so that hooks side by side need no lock."""

from __future__ import annotations

import contextlib
import os

from kb.errors import KbError
from kb.files import open_nonblocking
from kb.records.kinds import sanitise_session_id
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

FILE = "guard.log"
QUIET = "guard.json"
"""What `kb.hooks.fast_path` asks before kb is loaded; it goes with every prompt."""
HANDOVER = "handover.txt"
"""What the agent is asked about what its session has settled; beside the log, until a prompt takes it along."""
DEFERRED = "deferred.json"
"""What the agent is told after the call: its host discards what is said before one."""
_MAX_READ_BYTES = 400_000
"""Bytes at the end of the log that are read."""
PROMPT, READ, NOTICED, MOMENT, SAID = "prompt", "read", "noticed", "moment", "said"
TASK, STARTED = "task", "started"
"""What a sub-agent is asked for, and the call of one that has started."""
GOES_ON = "goes-on"
"""The name of a prompt that no person wrote, under which the turn goes on."""
OWED = "owed"
"""What the agent is told with the next prompt: it was found out when nothing could be told to it."""
RANKED = "ranked"
"""The uids of the records that search ranks first for the prompt of a turn, each with its score: `uid=-0.52`."""
USED = "used"
"""A rejected option that the project uses already: no edit of the session takes it up."""
TOLD = "told"
"""The folder of what each session, and each of its sub-agents, has been told; it outlives the end of a session, which
may be resumed. A line has a key and the time, in seconds since 1970."""
EDIT = "edit:"
"""With this a key begins that says of a record that it was told because a file it governs was about to be edited."""
UNNAMED = "unnamed"
"""The session under which is kept what was told outside of any: to who ran `kb hint`."""
_FORGOTTEN = "-"
"""The line after which begins what the session still has in its context."""


class SessionLog:
    """What happened in one session, as far as the guard must know, and what it or its sub-agent *agent* was told."""

    def __init__(self, kb: Workspace, session: str, agent: str = "") -> None:
        """Read nothing yet; a log that cannot be read is an empty one."""
        self._kb = kb
        self.session = session
        name = sanitise_session_id(session)
        self._folder = ("active", name)
        # a sub-agent begins without what its parent has heard, so it has a file of its own
        self._told = (TOLD, f"{name}.{sanitise_session_id(agent)}" if agent else name)
        self._rows: list[tuple[str, str]] | None = None

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is in the log, read when it is first asked for: what was told is in a file of its own."""
        if self._rows is None:
            lines = self._read_lines(*self._folder, FILE) if self.session else []
            parts = (line.partition("\t") for line in lines)
            self._rows = [(word, value) for word, tab, value in parts if tab]
        return self._rows

    def _read_lines(self, *parts: str) -> list[str]:
        try:
            with open(self._kb.state.path(*parts), "rb", opener=open_nonblocking) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_READ_BYTES))
                return file.read(_MAX_READ_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:
            return []

    def _list_turn_rows(self) -> list[tuple[str, str]]:
        """Return what was added since the last prompt."""
        last = max((n for n, (word, _) in enumerate(self.rows) if word == PROMPT), default=-1)
        return self.rows[last + 1 :]

    @property
    def prompt(self) -> str:
        """The name that the host gave the last prompt; "" where it gave none."""
        return next((value for word, value in reversed(self.rows) if word == PROMPT), "")

    def list_turn_values(self, word: str) -> list[str]:
        """Return the values of *word* since the last prompt."""
        return [value for name, value in self._list_turn_rows() if name == word]

    def list_session_values(self, word: str) -> list[str]:
        """Return the values of *word* in this session."""
        return [value for name, value in self.rows if name == word]

    def is_current_prompt(self, name: str) -> bool:
        """Return whether *name* is what the host calls the turn that goes on, or where it named none."""
        return not self.prompt or name in (self.prompt, *self.list_turn_values(GOES_ON))

    def begin_prompt(self, prompt: str = "") -> None:
        """Begin a prompt: what was read for the one before does not count."""
        self.add(PROMPT, prompt)
        with contextlib.suppress(OSError):
            os.unlink(self._kb.state.path(*self._folder, QUIET))

    def add(self, word: str, value: str = "") -> bool:
        """Remember *word* and return whether it is kept: where nothing can be written nothing is."""
        row = (word, one_line(value)[:4000])
        if not self.session:
            return False
        if row in self._list_turn_rows() and word != PROMPT:
            return True
        self.rows.append(row)
        return self._append_lines([f"{row[0]}\t{row[1]}"], *self._folder, FILE)

    def _append_lines(self, lines: list[str], *parts: str) -> bool:
        with contextlib.suppress(OSError, KbError):
            path = self._kb.state.path(*parts)
            self._kb.state.ensure_folder()
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
            try:
                os.write(file, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
            finally:
                os.close(file)
            return True
        return False

    # what was told

    def list_told(self) -> set[str]:
        """Return the keys of what the session was told and still has in its context."""
        lines = self._read_lines(*self._told) if self.session else []
        if _FORGOTTEN in lines:
            lines = lines[len(lines) - lines[::-1].index(_FORGOTTEN) :]
        return {line.partition("\t")[0] for line in lines} - {""}

    def list_tellings(self) -> list[tuple[str, float]]:
        """Return the keys that the session was ever told, each with the time of the telling; 0 where unknown."""
        rows = (line.partition("\t") for line in (self._read_lines(*self._told) if self.session else ()))
        return [(key, float(time) if time.isdecimal() else 0.0) for key, _, time in rows if key not in ("", _FORGOTTEN)]

    def delete_tellings(self) -> None:
        """Forget that anything was ever told: it has been counted."""
        with contextlib.suppress(OSError):
            os.unlink(self._kb.state.path(*self._told))

    def mark_told(self, *keys: str) -> None:
        """Remember that the session was told *keys*: uids of records, or names such as `cure:P001`."""
        if self.session and keys:
            now = int(self._kb.now())
            self._append_lines([f"{one_line(key)[:4000]}\t{now}" for key in keys], *self._told)

    def forget_told(self) -> None:
        """Forget what the session was told: a compaction took it out of its context."""
        if self.session and self.list_told():
            self._append_lines([_FORGOTTEN], *self._told)

    def load_quiet(self) -> dict[str, Any]:
        """Return what was said for the hooks to come since the last prompt; {} for nothing."""
        return (self.session and self._kb.state.load(*self._folder, QUIET)) or {}

    def save_quiet(self, about: dict[str, object]) -> None:
        """Say for the hooks to come until the next prompt when nothing is to be said."""
        if self.session:
            with contextlib.suppress(OSError, KbError):
                self._kb.state.save(about, *self._folder, QUIET)

    def defer_text(self, text: str) -> None:
        """Keep *text* for the end of the call that is about to be made."""
        if self.session:
            with contextlib.suppress(OSError, KbError):
                self._kb.state.save({"text": text}, *self._folder, DEFERRED)

    def take_deferred_text(self) -> str:
        """Return what was kept for the end of the call, and forget it; "" for nothing."""
        kept = (self.session and self._kb.state.load(*self._folder, DEFERRED)) or {}
        if kept:
            with contextlib.suppress(OSError):
                os.unlink(self._kb.state.path(*self._folder, DEFERRED))
        return str(kept.get("text", ""))
