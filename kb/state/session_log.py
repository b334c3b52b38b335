"""Log one session for the guard. The files are append-only, so that concurrent hooks need no lock."""

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
"""State that `kb.hooks.fast_path` reads before kb is loaded; every prompt deletes it."""
HANDOVER = "handover.txt"
"""Questions for the agent about what its session decided; kept beside the log until the next prompt delivers them."""
DEFERRED = "deferred.json"
"""Text for the agent after a tool call, for hosts that discard text sent before one."""
_MAX_READ_BYTES = 400_000
"""Bytes read from the end of the log, at most."""
PROMPT, READ, NOTICED, MOMENT, SAID = "prompt", "read", "noticed", "moment", "said"
TASK, STARTED = "task", "started"
"""The task of a sub-agent, and the call that started one."""
GOES_ON = "goes-on"
"""The name of a prompt that no person wrote: the same turn continues under it."""
OWED = "owed"
"""Text for the agent with the next prompt, found when it could not be delivered."""
RANKED = "ranked"
"""The uids of the top search results for the prompt of a turn, each with its score: `uid=-0.52`."""
USED = "used"
"""A rejected option that the project already uses, so that no edit of the session can introduce it."""
TOLD = "told"
"""The folder of the keys shown to each session and to each of its sub-agents. A line has a key and the time in seconds
since 1970. The folder is kept after a session ends, because the session may be resumed."""
EDIT = "edit:"
"""Prefix of the key of a record that was shown before an edit of a file it governs."""
UNNAMED = "unnamed"
"""The session name for hints shown outside of any session, such as by `kb hint`."""
_FORGOTTEN = "-"
"""Marker line: only the keys after the last one are still in the context of the session."""


class SessionLog:
    """The events of one session that the guard needs, and the keys shown to it or to its sub-agent *agent*."""

    def __init__(self, kb: Workspace, session: str, agent: str = "") -> None:
        """Read nothing yet; an unreadable log counts as empty."""
        self._kb = kb
        self.session = session
        name = sanitise_session_id(session)
        self._folder = ("active", name)
        # a sub-agent starts without the context of its parent, so it has a file of its own
        self._told = (TOLD, f"{name}.{sanitise_session_id(agent)}" if agent else name)
        self._rows: list[tuple[str, str]] | None = None

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The rows of the log, read on first use; the keys shown are in another file."""
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
        """Return the rows added since the last prompt."""
        last = max((n for n, (word, _) in enumerate(self.rows) if word == PROMPT), default=-1)
        return self.rows[last + 1 :]

    @property
    def prompt(self) -> str:
        """The name that the host gave the last prompt, or ""."""
        return next((value for word, value in reversed(self.rows) if word == PROMPT), "")

    def list_turn_values(self, word: str) -> list[str]:
        """Return the values of *word* since the last prompt."""
        return [value for name, value in self._list_turn_rows() if name == word]

    def list_session_values(self, word: str) -> list[str]:
        """Return the values of *word* in this session."""
        return [value for name, value in self.rows if name == word]

    def is_current_prompt(self, name: str) -> bool:
        """Return whether *name* is a name of the current turn; True if the host gave the turn no name."""
        return not self.prompt or name in (self.prompt, *self.list_turn_values(GOES_ON))

    def begin_prompt(self, prompt: str = "") -> None:
        """Begin a prompt: reads made for the previous one no longer count."""
        self.add(PROMPT, prompt)
        with contextlib.suppress(OSError):
            os.unlink(self._kb.state.path(*self._folder, QUIET))

    def add(self, word: str, value: str = "") -> bool:
        """Append a row and return whether the log has it; False for a session without a name or an unwritable log."""
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

    # keys shown

    def list_told(self) -> set[str]:
        """Return the keys shown to the session that are still in its context."""
        lines = self._read_lines(*self._told) if self.session else []
        if _FORGOTTEN in lines:
            lines = lines[len(lines) - lines[::-1].index(_FORGOTTEN) :]
        return {line.partition("\t")[0] for line in lines} - {""}

    def list_tellings(self) -> list[tuple[str, float]]:
        """Return every key ever shown to the session with its time in seconds since 1970; 0 if unknown."""
        rows = (line.partition("\t") for line in (self._read_lines(*self._told) if self.session else ()))
        return [(key, float(time) if time.isdecimal() else 0.0) for key, _, time in rows if key not in ("", _FORGOTTEN)]

    def delete_tellings(self) -> None:
        """Delete the keys shown to the session, once they have been counted."""
        with contextlib.suppress(OSError):
            os.unlink(self._kb.state.path(*self._told))

    def mark_told(self, *keys: str) -> None:
        """Note that the session was shown *keys*: uids of records, or names such as `cure:P001`."""
        if self.session and keys:
            now = int(self._kb.now())
            self._append_lines([f"{one_line(key)[:4000]}\t{now}" for key in keys], *self._told)

    def forget_told(self) -> None:
        """Note that a compaction removed every key shown so far from the context of the session."""
        if self.session and self.list_told():
            self._append_lines([_FORGOTTEN], *self._told)

    def load_quiet(self) -> dict[str, Any]:
        """Return the state saved for the fast path since the last prompt, or {}."""
        return (self.session and self._kb.state.load(*self._folder, QUIET)) or {}

    def save_quiet(self, state: dict[str, object]) -> None:
        """Save for the fast path, until the next prompt, when a hook has nothing to say."""
        if self.session:
            with contextlib.suppress(OSError, KbError):
                self._kb.state.save(state, *self._folder, QUIET)

    def defer_text(self, text: str) -> None:
        """Save *text* for the end of the next tool call."""
        if self.session:
            with contextlib.suppress(OSError, KbError):
                self._kb.state.save({"text": text}, *self._folder, DEFERRED)

    def take_deferred_text(self) -> str:
        """Return the text saved for the end of the call and delete it, or return ""."""
        deferred = (self.session and self._kb.state.load(*self._folder, DEFERRED)) or {}
        if deferred:
            with contextlib.suppress(OSError):
                os.unlink(self._kb.state.path(*self._folder, DEFERRED))
        return str(deferred.get("text", ""))
