"""Hub: the knowledge bases of an organisation within one process. The doors call nothing else of this room.

Every question names the repositories that the caller may read (`readable`), and nothing else of any repository takes
part in the answer: no record, no count, no frequency of a word. Methods may be called from several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kb.index.schema import ALL, Filter
from kb.organisation.hub_config import HubConfig
from kb.organisation.org_values import (
    AcrossReport,
    OrgAnswer,
    OrgRecord,
    RecordPage,
    RepositoryStatus,
    SyncReport,
)


class Hub:
    """The mirrors and the index of the repositories that a `hub.toml` names."""

    config: HubConfig

    @classmethod
    def open(cls, config_path: str, environment: Mapping[str, str]) -> Hub:
        """Open the hub of *config_path*; raise BadInput with file and line for what is wrong in it.

        *environment* has KB_HUB_DSN and the tokens that the file names.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close files and connections."""
        raise NotImplementedError

    def sync(self, names: Iterable[str] | None = None) -> list[SyncReport]:
        """Fetch the repositories *names*, all by default, and index what is new; one that fails stays as it was.

        Raise BadInput for a name that hub.toml has not.
        """
        raise NotImplementedError

    def status(self) -> list[RepositoryStatus]:
        """Return what is known of every repository, in the order of hub.toml."""
        raise NotImplementedError

    def search(self, text: str, readable: frozenset[str], wanted: Filter = ALL, limit: int = 10) -> OrgAnswer:
        """Return the *limit* records of the *readable* repositories that answer *text* best."""
        raise NotImplementedError

    def load(self, repo: str, record_id: str, readable: frozenset[str]) -> OrgRecord | None:
        """Return the record with this id or uid; None where there is none, or *repo* is not *readable*.

        Of several with one id (in several scopes) the global one, then the first by scope.
        """
        raise NotImplementedError

    def list_records(
        self, readable: frozenset[str], wanted: Filter = ALL, limit: int = 100, after: str = ""
    ) -> RecordPage:
        """Return at most *limit* records *wanted* behind the page that gave *after*; raise BadInput for another."""
        raise NotImplementedError

    def count(self, readable: frozenset[str]) -> dict[str, int]:
        """Return how many records each of the *readable* repositories has."""
        raise NotImplementedError

    def version(self, readable: frozenset[str]) -> str:
        """Return a text that changes with whatever the *readable* repositories hold: an ETag."""
        raise NotImplementedError

    def compare_bases(self, readable: frozenset[str]) -> AcrossReport:
        """Return what the *readable* repositories say against each other, twice, or of each other."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Return whether the index answers: for readiness probes."""
        raise NotImplementedError
