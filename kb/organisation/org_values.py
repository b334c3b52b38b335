"""The values in which everything about many knowledge bases is asked and answered."""

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
    """A record, and all of it that questions ask for: analysed once for as long as a process keeps it."""

    record: Record
    columns: tuple[str, ...]
    """Those of `extract_words`, with one space before, after and between their terms."""
    length: int
    """The terms in all columns."""
    said: RecordText
    heading: str
    """Its `kb.search.rank.fold_titles`."""
    size: int
    """Bytes that it takes, about."""


class OrgHit(NamedTuple):
    """A record that answers a question to the organisation."""

    repo: str
    record: Record
    score: float
    """The higher the better; comparable within one answer only."""
    snippet: str
    """The words around the first match, each match between « and »."""
    whole: bool = False
    """Whether the record holds every term of the question."""
    told: bool = False
    """Whether it holds for the project that asks: its own, or that of a group it is in, whichever team keeps it."""

    @property
    def name(self) -> str:
        """The name by which other repositories cite it: `payments:D014`."""
        return OrgRecord(self.repo, self.record).name


class OrgAnswer(NamedTuple):
    """What the readable repositories have to say to a question."""

    hits: tuple[OrgHit, ...]
    """The best first; of equal ones by repository, then by id."""
    total: int
    """How many candidates were weighed, at most `org_search.CANDIDATES`; not how many records match in all."""
    scopes: Mapping[str, int]
    """How many of *hits* each repository has."""
    terms: tuple[tuple[str, int], ...] = ()
    """The terms that were looked for, each with the number of readable records it is in, the most telling first."""
    is_exact: bool = True
    """Whether the candidates are proven to be the best; False where reading stopped at its limit."""


class RecordPage(NamedTuple):
    """Some of the records of the readable repositories, in the order of repository and path."""

    records: tuple[OrgRecord, ...]
    next: str
    """What to give as *after* for those that follow; "" after the last."""


class BrokenFile(NamedTuple):
    """A file among the records that is none, or that is not taken."""

    path: str
    problem: Message
    line: int = 0
    """1-based; 0 where no line is to blame."""


class SyncReport(NamedTuple):
    """What became of one repository when it was synchronised."""

    name: str
    before: str
    """The indexed commit before; "" for none."""
    after: str
    """The indexed commit now: the same where nothing came or something failed."""
    updated: int = 0
    """Records that were indexed, new or changed."""
    removed: int = 0
    broken: tuple[BrokenFile, ...] = ()
    """The files of this round that could not be read as records."""
    seconds: float = 0.0
    error: Message | str = ""
    """Why the repository stays as it was; "" where nothing failed."""


class RepositoryStatus(NamedTuple):
    """What the hub knows of one repository."""

    name: str
    commit: str
    """The commit of the mirror; "" before the first fetch."""
    indexed: str
    """The commit that the index shows."""
    records: int
    broken: tuple[BrokenFile, ...] = ()
    last_fetch: str = ""
    """ISO 8601, UTC; "" for never."""
    last_error: str = ""
    """Why the last fetch or indexing failed; "" where it did not."""


class AcrossPair(NamedTuple):
    """Two accepted records of different repositories that do not go together, or that say the same."""

    one: OrgRecord
    other: OrgRecord
    reason: Message | str
    """Of a contradiction: in what they differ."""
    score: float = 0.0
    """Of a duplicate: the similarity, 0.0–1.0."""


class AcrossLink(NamedTuple):
    """A record that names one of another repository: it supersedes or amends `repo:D014`."""

    record: OrgRecord
    relation: str
    """"supersedes" or "amends"."""
    target: str
    """As it is written, `payments:D014`."""
    found: OrgRecord | None
    """What it names; None where no readable repository has it."""


class AcrossReport(NamedTuple):
    """What the readable repositories say against or after each other. Nobody but their teams decides on it."""

    contradictions: tuple[AcrossPair, ...]
    duplicates: tuple[AcrossPair, ...]
    links: tuple[AcrossLink, ...]
    compared: int
    """Records that were compared."""
