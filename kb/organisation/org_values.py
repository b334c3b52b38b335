"""The values that queries on many knowledge bases take and return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message
from kb.records.model import Record

if TYPE_CHECKING:
    from kb.search.retrieve import RecordText


class OrgRecord(NamedTuple):
    """A record, and the repository it is in."""

    repo: str
    """The name of the repository in hub.toml."""
    record: Record

    @property
    def name(self) -> str:
        """The name by which other repositories cite it: `payments:D014`."""
        return f"{self.repo}:{self.record.id}"


class KeptRecord(NamedTuple):
    """A cached record with all values that queries need, analysed once per process."""

    record: Record
    columns: tuple[str, ...]
    """The columns of `extract_words`, with one space before, after and between their terms."""
    length: int
    """The terms in all columns."""
    said: RecordText
    heading: str
    """Its `kb.search.rank.fold_titles`."""
    size: int
    """Estimated bytes."""


class OrgHit(NamedTuple):
    """A record that answers a query on the organisation."""

    repo: str
    record: Record
    score: float
    """The higher the better; comparable within one answer only."""
    snippet: str
    """The words around the first match, each match between « and »."""
    whole: bool = False
    """Whether the record contains every term of the question."""
    told: bool = False
    """Whether it applies to the project of the query: its own record, or one of its groups in any repository."""

    @property
    def name(self) -> str:
        """The name by which other repositories cite it: `payments:D014`."""
        return OrgRecord(self.repo, self.record).name


class OrgAnswer(NamedTuple):
    """The answer of the readable repositories to a query."""

    hits: tuple[OrgHit, ...]
    """The best first; of equal ones by repository, then by id."""
    total: int
    """The number of scored candidates, at most `org_search.CANDIDATES`; not the number of all matching records."""
    scopes: Mapping[str, int]
    """How many of *hits* each repository has."""
    terms: tuple[tuple[str, int], ...] = ()
    """The search terms, each with the number of readable records it is in, the most distinctive first."""
    is_exact: bool = True
    """Whether the candidates are certainly the best; False if reading stopped at its limit."""


class RecordPage(NamedTuple):
    """Some of the records of the readable repositories, in the order of repository and path."""

    records: tuple[OrgRecord, ...]
    next: str
    """The value of *after* for the next page; "" after the last page."""


class BrokenFile(NamedTuple):
    """A file in a record folder that is no record, or is not accepted as one."""

    path: str
    problem: Message
    line: int = 0
    """1-based, or 0 if no line is to blame."""


class SyncReport(NamedTuple):
    """The result of synchronising one repository."""

    name: str
    before: str
    """The indexed commit before; "" for none."""
    after: str
    """The indexed commit now: the same if nothing was new or something failed."""
    updated: int = 0
    """Number of new and changed records that were indexed."""
    removed: int = 0
    broken: tuple[BrokenFile, ...] = ()
    """The files of this synchronisation that could not be read as records."""
    seconds: float = 0.0
    error: Message | str = ""
    """Why the repository keeps its last state, or ""."""


class RepositoryStatus(NamedTuple):
    """The status of one repository."""

    name: str
    commit: str
    """The commit of the mirror; "" before the first fetch."""
    indexed: str
    """The commit of the index."""
    records: int
    broken: tuple[BrokenFile, ...] = ()
    last_fetch: str = ""
    """ISO 8601, UTC, or "" for never."""
    last_error: str = ""
    """Why the last fetch or indexing failed, or ""."""


class AcrossPair(NamedTuple):
    """Two accepted records of different repositories that contradict or duplicate each other."""

    one: OrgRecord
    other: OrgRecord
    reason: Message | str
    """Of a contradiction: the difference."""
    score: float = 0.0
    """Of a duplicate: the similarity, 0.0–1.0."""


class AcrossLink(NamedTuple):
    """A record that names one of another repository: it supersedes or amends `repo:D014`."""

    record: OrgRecord
    relation: str
    """"supersedes" or "amends"."""
    target: str
    """As written, `payments:D014`."""
    found: OrgRecord | None
    """The target record, or None if no readable repository has it."""


class AcrossReport(NamedTuple):
    """Contradictions, duplicates and links between the readable repositories; only their teams decide on them."""

    contradictions: tuple[AcrossPair, ...]
    duplicates: tuple[AcrossPair, ...]
    links: tuple[AcrossLink, ...]
    compared: int
    """Records that were compared."""
