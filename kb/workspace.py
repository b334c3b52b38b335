"""Workspace: one knowledge base as a process works on it. What every feature takes, and no verb of any feature."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping

from kb import config as settings
from kb.errors import BadRecord, KbError
from kb.git.repository import Repository
from kb.i18n import Message
from kb.index.database import Index
from kb.index.lookup import for_reader, one_named, root_around, root_at, unreadable, write_for_caller
from kb.index.schema import ALL, Filter
from kb.records.kinds import KINDS
from kb.records.model import Record
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.state_folder import State

if TYPE_CHECKING:
    from typing import Self

    from kb.index.index_sync import Looking


Clock = Callable[[], float]


class Workspace:
    """One knowledge base on disk; to be closed, or used in a `with`. One object is for one thread."""

    def __init__(self, root: str, environment: Mapping[str, str], now: Clock = time.time, *, folder: str = "") -> None:
        """Open the knowledge base at *root* for work in *folder* ("": not known); *now*: seconds since 1970."""
        self.root = os.path.realpath(root)
        self.folder = folder
        self.environment = environment
        self.now = now
        self.state = State(self.root, environment)
        self.state.refuse_links()
        self.config = settings.load(self.root, self.state.path("config.json"))
        self._repository: Repository | None = None
        self._index: Index | None = None
        self._looking: Looking | None = None

    @classmethod
    def open(cls, start: str = "", environment: Mapping[str, str] | None = None, now: Clock = time.time) -> Self:
        """Open the knowledge base that holds for the folder *start* (default: the current one).

        In this order: `$KB_HOME`; the nearest folder with a `kb.toml` that nobody else has laid there; `~/.kb`. Raise
        NoKnowledgeBase if there is none.
        """
        environment = os.environ if environment is None else environment
        folder = start or os.getcwd()
        return cls(root_around(folder, environment), environment, now, folder=folder)

    @classmethod
    def at(cls, root: str, environment: Mapping[str, str] | None = None, *, folder: str = "") -> Self:
        """Open the knowledge base whose root is *root* for work in *folder*; raise NoKnowledgeBase if it is none."""
        return cls(root_at(root), os.environ if environment is None else environment, folder=folder)

    def close(self) -> None:
        """Close what is open."""
        if self._looking:
            self._looking.given_up()
            self._looking = None
        if self._index:
            self._index.close()
            self._index = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, KbError):
            write_for_caller(self, error)
        self.close()

    @property
    def repository(self) -> Repository:
        """The git repository around the knowledge base."""
        if self._repository is None:
            self._repository = Repository(self.root, self.environment)
        return self._repository

    @property
    def index(self) -> Index:
        """The index, as it was last brought up to date."""
        if self._index is None:
            with contextlib.suppress(OSError):  # the index needs none then
                self.state.made()
            folders = sorted({f"{CONTENT}/{kind.folder}" for kind in KINDS})
            self._index = Index(self.state.path("index.db"), self.root, folders)
            if self._index.is_new:
                from kb.index import id_allocator

                id_allocator.remember(self)
        return self._index

    def fresh(self, *, thorough: bool = True) -> Index:
        """Return the index, brought up to the files first; not *thorough*: a file edited in place may be missed."""
        if thorough:
            from kb.index import index_sync as fresh

            fresh.refresh(self, self._looking)
            self._looking = None
        else:
            self.index.refresh(edited=())
        return self.index

    def look(self) -> None:
        """Let git look for edited files while the caller prepares a question; the next `fresh` uses what it finds."""
        from kb.index import index_sync as fresh

        self._looking = None if fresh.looked_lately(self) else fresh.look(self)

    def look_ahead(self) -> None:
        """Let git look for edited files while the caller loads what a write needs; `fresh` uses what it finds."""
        from kb.index.index_sync import look_ahead

        self._looking = self._looking or look_ahead(self)

    def words(self, said: Message | str) -> str:
        """Return *said* in the language of this knowledge base, its ids as the caller finds their records."""
        return said if isinstance(said, str) else for_reader(self, said).translate(self.config.language)

    def today(self) -> str:
        """Return the day as ISO date, in local time."""
        return time.strftime("%Y-%m-%d", time.localtime(self.now()))

    def project(self, folder: str) -> str:
        """Return the scope that holds for work in *folder*: "project/<name>", or "global" inside the knowledge base."""
        from kb.state.project import scope_for

        return scope_for(self, folder)

    @functools.cached_property
    def here(self) -> str:
        """The scope from which the caller names records: that of the folder he works in, or "" where none is known."""
        return self.project(self.folder or self.root) if self.folder or self.config.project else ""

    def records(self, wanted: Filter = ALL) -> list[Record]:
        """Return the records *wanted*, by scope and id."""
        return self.fresh().records(wanted)

    def record(self, name: str, *, scope: str = "") -> Record:
        """Return the record that *name* names: an id (`D001`), a citation (`shop:D001`) or a uid.

        An id is looked for in *scope* (default: the caller's), then globally. Raise UnknownId.
        """
        scope = scope or self.here
        record = one_named(self.fresh(thorough=False), name, scope)
        return record if self.index.is_current(record.path) else one_named(self.fresh(), name, scope)

    def broken(self) -> list[BadRecord]:
        """Return why each file that should hold a record cannot be read, as of the last answer."""
        return unreadable(self.index)

    def text(self, record: Record) -> str:
        """Return the file of *record* as it stands in the checkout."""
        from kb.files import within
        from kb.records.front_matter import decode

        with open(within(self.root, record.path), "rb") as file:
            return decode(file.read(), record.path)
