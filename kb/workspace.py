"""Workspace: an open knowledge base within one process. Every feature takes it; it has no features of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping

from kb import config
from kb.adr.adopted import RecordFiles, list_record_files
from kb.errors import BadRecord, KbError
from kb.i18n import Message
from kb.index.database import Index
from kb.index.record_ids import (
    find_base_root,
    find_record,
    list_unreadable,
    qualify_error_ids,
    qualify_message_ids,
    require_base_root,
)
from kb.index.schema import ADOPTED, ALL, SINCE, Filter
from kb.records.kinds import CONTENT, KINDS
from kb.records.model import AGENT, GLOBAL, Record, list_groups
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.state_folder import StateFolder
from kb.text.segment import slugify

if TYPE_CHECKING:
    from typing import Self

    from kb.git.repository import Repository
    from kb.index.index_sync import PendingScan


Clock = Callable[[], float]


class Workspace:
    """One knowledge base on disk; close it, or use it in a `with`. Use one object per thread."""

    session_observers: tuple[Callable[..., None], ...] = ()
    """Functions called for each saved session, by features in higher layers."""

    def __init__(self, root: str, environment: Mapping[str, str], now: Clock = time.time, *, folder: str = "") -> None:
        """Open the knowledge base at *root* for work in *folder* ("": not known); *now*: seconds since 1970."""
        self.root = os.path.realpath(root)
        self.folder = folder
        self.environment = environment
        self.now = now
        self.state = StateFolder(self.root, environment)
        # before writing anything: a clone may contain .kb/ as a link to any folder
        self.state.refuse_links()
        self.config = config.load(self.root, self.state.path("config.json"))
        self._repository: Repository | None = None
        self._index: Index | None = None
        self._looking: PendingScan | None = None

    @classmethod
    def open(cls, start: str = "", environment: Mapping[str, str] | None = None, now: Clock = time.time) -> Self:
        """Open the knowledge base for the folder *start* (default: the current one).

        Tried in order: `$KB_HOME`; the nearest folder with a trusted `kb.toml`; `~/.kb`. Raise NoKnowledgeBase if there
        is none.
        """
        environment = os.environ if environment is None else environment
        folder = start or os.getcwd()
        return cls(find_base_root(folder, environment), environment, now, folder=folder)

    @classmethod
    def at(cls, root: str, environment: Mapping[str, str] | None = None, *, folder: str = "") -> Self:
        """Open the knowledge base at *root* for work in *folder*; raise NoKnowledgeBase if it is not one."""
        return cls(require_base_root(root), os.environ if environment is None else environment, folder=folder)

    def close(self) -> None:
        """Close everything that is open."""
        if self._looking:
            self._looking.abandon()
            self._looking = None
        if self._index:
            self._index.close()
            self._index = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        # messages are built without knowing the reader: `D001` becomes `shop:D001` if this reader needs it
        if isinstance(error, KbError):
            qualify_error_ids(self, error)
        self.close()

    @property
    def repository(self) -> Repository:
        """The git repository around the knowledge base."""
        if self._repository is None:  # most hints do not need one
            from kb.git.repository import Repository

            self._repository = Repository(self.root, self.environment)
        return self._repository

    @functools.cached_property
    def files(self) -> RecordFiles:
        """The folders of the records, and the parser of each file."""
        return list_record_files(self.config)

    @property
    def record_tops(self) -> list[str]:
        """The folders of records by their git paths: kb's own, and adopted ones."""
        return [self.repository.to_git_path(top) for top in (CONTENT, *self.files.list_tops())]

    @property
    def index(self) -> Index:
        """The index as of its last update."""
        if self._index is None:
            with contextlib.suppress(OSError):  # without the folder the index needs no file
                self.state.ensure_folder()
            folders = sorted({f"{CONTENT}/{kind.folder}" for kind in KINDS})
            self._index = Index(self.state.path("index.db"), self.root, folders, self.files)
            self._index.set_reader(lambda: self.reader)
            if self.files.adopted:
                from kb.index.adopted_records import complete_adopted

                self._index.complete = lambda paths: complete_adopted(self, paths)
            if self._index.is_new:
                from kb.index import record_ids

                record_ids.reserve_ids_from_history(self)
                self._index.set_note(SINCE, self.today())
            # the settings also affect adopted records: another scope makes a file another record
            adopted = "\n".join(f"{one.path}: {one.scope}" for one in self.files.adopted)
            if self._index.get_note(ADOPTED) != adopted:
                with self._index.batch_changes():
                    self._index.reload_files([record.path for record in self._index.list_adopted()])
                    self._index.set_note(ADOPTED, adopted)
        return self._index

    def sync_index(self, *, thorough: bool = True) -> Index:
        """Return the index after updating it from the files; not *thorough*: an in-place edit may be missed."""
        if thorough:
            from kb.index import index_sync

            index_sync.refresh(self, self._looking)
            self._looking = None
        else:
            # unreadable files are checked each time, so that a restored one counts at once
            self.index.refresh(edited=[path for path, *_ in self.index.list_broken()])
        return self.index

    def start_scan(self) -> None:
        """Let git look for edited files while the caller prepares a question; `sync_index` uses the result."""
        from kb.index import index_sync

        self._looking = None if index_sync.is_recently_scanned(self) else index_sync.start_scan(self)

    def start_scan_ahead(self) -> None:
        """Let git look for edited files while the caller prepares a write; `sync_index` uses the result."""
        from kb.index.index_sync import start_scan_if_stale

        self._looking = self._looking or start_scan_if_stale(self)

    def localise(self, said: Message | str) -> str:
        """Return *said* in the language of this knowledge base, its ids as the caller finds their records."""
        return said if isinstance(said, str) else qualify_message_ids(self, said).translate(self.config.language)

    def today(self, ago: int = 0) -> str:
        """Return today's ISO date in local time, or that of *ago* days earlier."""
        return time.strftime("%Y-%m-%d", time.localtime(self.now() - ago * 86_400))

    def project(self, folder: str) -> str:
        """Return the scope for work in *folder*: "project/<name>", or "global" inside the knowledge base."""
        from kb.state.project import resolve_scope

        return resolve_scope(self, folder)

    @functools.cached_property
    def caller_scope(self) -> str:
        """The scope from which the caller names records: that of the working folder, or "" if unknown."""
        return self.project(self.folder or self.root) if self.folder or self.config.project else ""

    @functools.cached_property
    def reader(self) -> str:
        """The calling agent: `$KB_AGENT`, else the host program in whose shell kb runs; "" for a person."""
        if name := self.environment.get("KB_AGENT", ""):
            return slugify(name)
        from kb.hosts import HOSTS

        return next((host.name for host in HOSTS.values() if self.environment.get(host.shell_variable)), "")

    def can_see(self, scope: str) -> bool:
        """Return whether hints for the caller may include *scope*; another agent's own scope is excluded."""
        return not scope.startswith(AGENT) or scope == AGENT + self.reader

    def own_scopes(self, project: str) -> tuple[str, ...]:
        """Return the scopes that apply to *project*: its own, its groups', the calling agent's, the global one."""
        groups = list_groups(self.config.groups, project)
        mine = [AGENT + self.reader] if self.reader else []
        return tuple(dict.fromkeys((project, *groups, *mine, GLOBAL)))

    def records(self, wanted: Filter = ALL) -> list[Record]:
        """Return the records *wanted*, by scope and id."""
        return self.sync_index().records(wanted)

    def record(self, name: str, *, scope: str = "") -> Record:
        """Return the record with the *name*: an id (`D001`), a citation (`shop:D001`) or a uid.

        An id is looked up in *scope* (default: the caller's), then globally. Raise UnknownId.
        """
        scope = scope or self.caller_scope
        record = find_record(self.sync_index(thorough=False), name, scope)
        # check one file instead of all; scan the rest only if it has changed or is gone
        return record if self.index.is_current(record.path) else find_record(self.sync_index(), name, scope)

    def list_unreadable(self) -> list[BadRecord]:
        """Return the error of each unreadable record file, as of the last update."""
        return list_unreadable(self.index)

    def text(self, record: Record) -> str:
        """Return the file of *record* as it is in the checkout."""
        from kb.files import resolve_within
        from kb.records.front_matter import decode_record

        with open(resolve_within(self.root, record.path), "rb") as file:
            return decode_record(file.read(), record.path)
