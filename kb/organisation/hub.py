"""Hub: the knowledge bases of an organisation within one process. The doors use only this class of the room.

Every query names the repositories that the caller may read (`readable`). Nothing of other repositories affects the
answer: no record, no count, no word frequency. Methods may be called from several threads at once.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256

from kb.errors import BadInput, Busy, IndexFailed, KbError, describe_os_error
from kb.files import try_lock
from kb.i18n import Message, msg
from kb.index.schema import ALL, Filter
from kb.installation import build_extra_error
from kb.organisation.across_bases import compare_repositories
from kb.organisation.hub_config import HubConfig, RepositoryConfig, load_hub_config
from kb.organisation.hub_engine import SCHEMA, SETTINGS, Engine, Reader
from kb.organisation.hub_records import BaseSettings, RepositoryChange, decode_settings, read_change
from kb.organisation.mirrors import Mirror
from kb.organisation.org_records import find_repository_record, list_repository_records
from kb.organisation.org_search import find_told_scopes, search_repositories
from kb.organisation.org_values import (
    AcrossReport,
    OrgAnswer,
    OrgRecord,
    RecordPage,
    RepositoryStatus,
    SyncReport,
)
from kb.organisation.sqlite_engine import SqliteEngine

_AT_ONCE = 4
"""Repositories to synchronise concurrently; most of the time is spent waiting for the network."""
_TRIES = 3
"""Attempts to write a change when another hub on the same database is faster."""
_KEPT_REPORTS = 16
"""Comparisons to cache, each until its records change: a comparison reads every accepted record."""
_PATIENCE = 10.0
"""Seconds that a proposal waits for a repository that is being fetched."""
_POLL = 0.05
"""Seconds between two attempts to get the lock of a repository."""


class Hub:
    """The mirrors and the index of the repositories that a `hub.toml` names."""

    def __init__(self, config: HubConfig, engine: Engine, environment: Mapping[str, str]) -> None:
        """Create a hub with these settings; `Hub.open` creates one from a file."""
        self.config = config
        self.engine = engine
        self._environment = environment
        self._compared: dict[str, Future[AcrossReport]] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, config_path: str, environment: Mapping[str, str]) -> Hub:
        """Open the hub of *config_path*; raise BadInput with file and line for a mistake in it.

        *environment*: has KB_HUB_DSN and the tokens that the file names.
        """
        config = load_hub_config(config_path, environment)
        try:
            os.makedirs(os.path.join(config.data, "locks"), exist_ok=True)
        except OSError as error:
            problem = describe_os_error(error)
            raise KbError(msg("{path} cannot be written: {problem}", path=config.data, problem=problem)) from None
        return cls(config, _open_engine(config), environment)

    def close(self) -> None:
        """Close files and connections."""
        self.engine.close()

    # -- keeping up ------------------------------------------------------------------------------------

    def sync(self, names: Iterable[str] | None = None) -> list[SyncReport]:
        """Fetch the repositories *names*, by default all, and index new commits; a failed one keeps its last state.

        Raise BadInput for a name that is not in hub.toml.
        """
        known = {one.name: one for one in self.config.repositories}
        wanted = list(known) if names is None else list(dict.fromkeys(names))
        for name in wanted:
            if name not in known:
                raise BadInput(msg("there is no repository {name} in {path}", name=name, path=self.config.path))
        if names is None:
            self.engine.keep_repositories(list(known))
        if not wanted:
            return []
        with ThreadPoolExecutor(min(_AT_ONCE, len(wanted))) as pool:
            reports = list(pool.map(lambda name: self._sync_one(known[name]), wanted))
        if any(report.updated or report.removed for report in reports):
            self.engine.optimise()
        return reports

    def _sync_one(self, repository: RepositoryConfig) -> SyncReport:
        began, name = time.monotonic(), repository.name
        before = after = ""
        change: RepositoryChange | None = None
        counts = (0, 0)
        error: Message | str = ""
        try:
            before = after = self.engine.read_state(name).commit
            with self._hold_lock(name, self.config.fetch_seconds):
                mirror = Mirror(self.config, repository, self._environment)
                fetched = ""
                try:
                    commit = mirror.fetch()
                    fetched = datetime.now(UTC).isoformat(timespec="seconds")
                except KbError as failure:  # a commit fetched earlier may not be indexed yet
                    error, commit = failure.message, mirror.find_commit()
                if commit and commit != before:
                    change, counts = self._index_commit(mirror, repository, commit)
                    after = commit
                self.engine.note_fetch(name, fetched, str(error))
        except KbError as failure:
            error = failure.message
        except OSError as failure:
            error = msg(
                "{path} cannot be written: {problem}", path=self.config.data, problem=describe_os_error(failure)
            )
        if error and after == before:
            with contextlib.suppress(IndexFailed):  # the report has the error
                self.engine.note_fetch(name, "", str(error))
        broken = change.broken if change else ()
        return SyncReport(name, before, after, *counts, broken, round(time.monotonic() - began, 3), error)

    def _index_commit(
        self, mirror: Mirror, repository: RepositoryConfig, commit: str
    ) -> tuple[RepositoryChange, tuple[int, int]]:
        """Bring the index to *commit*; return the change, and how many records were written and removed."""
        for _ in range(_TRIES):
            state = self.engine.read_state(repository.name)
            change = read_change(mirror, repository.folder, state.commit, commit)
            if (counts := self.engine.apply_change(repository.name, change)) is not None:
                return change, counts
        raise Busy(msg("another hub is indexing {name}", name=repository.name))

    @contextlib.contextmanager
    def _hold_lock(self, name: str, patience: float) -> Iterator[None]:
        """Hold the lock of a repository, waiting *patience* seconds for it: one process at a time fetches it."""
        path = os.path.join(self.config.data, "locks", name)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + patience
            while not try_lock(file):
                if time.monotonic() > end:
                    raise Busy(msg("another process is synchronising {name}", name=name))
                time.sleep(_POLL)
            yield
        finally:
            os.close(file)

    def fetch_proposals(self, name: str) -> None:
        """Fetch the proposal branches of the repository *name*; raise KbError.

        This is done when somebody proposes a record; otherwise a mirror has only one branch.
        """
        (one,) = (one for one in self.config.repositories if one.name == name)
        with self._hold_lock(name, _PATIENCE):
            Mirror(self.config, one, self._environment).fetch_proposals()

    def status(self) -> list[RepositoryStatus]:
        """Return the status of every repository, in the order of hub.toml."""
        statuses = []
        for one in self.config.repositories:
            state = self.engine.read_state(one.name)
            commit = Mirror(self.config, one, self._environment).find_commit()
            statuses.append(
                RepositoryStatus(
                    one.name, commit, state.commit, state.records, state.broken, state.fetched, state.error
                )
            )
        return statuses

    # -- questions -------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        readable: frozenset[str],
        wanted: Filter = ALL,
        limit: int = 10,
        project: str = "",
        known: frozenset[str] = frozenset(),
    ) -> OrgAnswer:
        """Return the *limit* records of the *readable* repositories that answer *text* best.

        Records that apply to *project*, if given, come first. Its groups are also read from the settings of the *known*
        repositories: all that the caller may read, if *readable* is a part of them.
        """
        scopes: Mapping[str, frozenset[str]] = {}
        if project:
            scopes = find_told_scopes(project, self.load_settings(readable | known), self.config.project_groups)
        with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
            return search_repositories(reader, text, wanted, limit, scopes)

    def load_settings(self, readable: frozenset[str]) -> dict[str, BaseSettings]:
        """Return the settings of each of the *readable* repositories."""
        with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
            cached = reader.cache.settings
            bases = cached.find([reader.version]).get(reader.version)
            if bases is None:
                notes = reader.read_notes(SETTINGS)
                bases = {name: decode_settings(notes.get(at, b"")) for at, name in enumerate(reader.names)}
                cached.keep({reader.version: bases})
            return bases

    def load(self, repo: str, record_id: str, readable: frozenset[str]) -> OrgRecord | None:
        """Return the record with this id or uid, or None if there is none or *repo* is not *readable*.

        Of several with one id (in several scopes) return the global one, or else the first by scope.
        """
        with self.engine.open_reader(self._restrict_to_config(readable) & {repo}) as reader:
            return find_repository_record(reader, repo, record_id)

    def list_records(
        self, readable: frozenset[str], wanted: Filter = ALL, limit: int = 100, after: str = ""
    ) -> RecordPage:
        """Return at most *limit* records *wanted* after the page that ended at *after*; raise BadInput."""
        with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
            return list_repository_records(reader, wanted, limit, after)

    def count(self, readable: frozenset[str]) -> dict[str, int]:
        """Return the number of records in each of the *readable* repositories."""
        with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
            return {name: records for name, (_, records) in sorted(reader.states.items())}

    def version(self, readable: frozenset[str]) -> str:
        """Return an ETag: a text that changes with every change of the *readable* repositories."""
        with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
            return _compute_version(reader, self.config)

    def compare_bases(self, readable: frozenset[str]) -> AcrossReport:
        """Return contradictions, duplicates and links between the *readable* repositories."""
        version = self.version(readable)
        with self._lock:
            report = self._compared.get(version)
            is_first = report is None
            if report is None:
                report = self._compared[version] = Future()
                while len(self._compared) > _KEPT_REPORTS:
                    del self._compared[next(iter(self._compared))]
        if is_first:
            self._compare(version, readable, report)
        return report.result()  # one caller compares, others wait

    def _compare(self, version: str, readable: frozenset[str], report: Future[AcrossReport]) -> None:
        is_kept = False
        try:
            with self.engine.open_reader(self._restrict_to_config(readable)) as reader:
                is_kept = (
                    _compute_version(reader, self.config) == version
                )  # otherwise a new commit was indexed meanwhile
                report.set_result(compare_repositories(reader))
        except BaseException as error:
            is_kept = False
            report.set_exception(error)
        finally:
            if not is_kept:
                with self._lock:
                    self._compared.pop(version, None)

    def is_ready(self) -> bool:
        """Return whether the index answers, for readiness probes."""
        try:
            with self.engine.open_reader(frozenset()):
                return True
        except IndexFailed:
            return False

    def _restrict_to_config(self, readable: frozenset[str]) -> frozenset[str]:
        """Return those of *readable* that are still in hub.toml."""
        return readable & {one.name for one in self.config.repositories}


def _compute_version(reader: Reader, config: HubConfig) -> str:
    groups = [f"{name} {' '.join(members)}" for name, members in sorted(config.project_groups.items())]
    rows = [f"{name} {commit}" for name, (commit, _) in sorted(reader.states.items())]
    return sha256("\n".join((str(SCHEMA), *groups, *rows)).encode()).hexdigest()[:32]


def _open_engine(config: HubConfig) -> Engine:
    if not config.dsn:
        return SqliteEngine(os.path.join(config.data, "index"))
    try:
        from kb.organisation.postgres_engine import PostgresEngine
    except ImportError:
        raise build_extra_error("hub", "KB_HUB_DSN") from None
    return PostgresEngine(config.dsn)
