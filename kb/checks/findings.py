"""What `kb check` looks at and what it finds: values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from kb.i18n import Message
from kb.records.model import Record

Severity = Literal["error", "warning"]
Key = tuple[str, str]
"""A scope and an id: what names a record within one knowledge base."""


Secrets = Callable[[str], Iterable[tuple[int, str]]]
"""Finds secrets in a text: the 1-based line and the name of the rule, for each."""

Vague = Callable[[str], bool]
"""Tells whether a title could stand over any record."""


class RecordSource(NamedTuple):
    """One record file as it stands in the checkout."""

    path: str
    """Relative to the knowledge base, with forward slashes."""
    data: bytes
    record: Record | None = None
    """What the file says, where that is known without reading it."""


class CheckedText(NamedTuple):
    """A text that may cite records, seen from a scope: a record, an archived session, a page."""

    path: str
    text: str
    scope: str
    is_record: bool = False


class MergeVersions(NamedTuple):
    """What a merge has put together: one file as it was on both sides and where they parted."""

    base: Record | None
    ours: Record
    theirs: Record


class CheckSurroundings(NamedTuple):
    """What is known of the world around the records; what is left out is not checked."""

    today: str = ""
    """The day of the check, YYYY-MM-DD."""
    files: frozenset[str] | None = None
    """Every file of the knowledge base, relative to it; None: not known."""
    trees: Mapping[str, frozenset[str]] = {}
    """Project name → the files of its tree, relative to its root; a project that is not known here is left out."""
    changes: Mapping[str, Mapping[str, float | None]] = {}
    """Path of a record → its impact paths, as it writes them → share of lines changed since it was confirmed.

    1.0: as many as the file has; None: the path has vanished since."""
    fixes: Mapping[str, bool] = {}
    """Path of a record that names the commit which fixed it → whether the project's repository has that commit."""
    branches: Mapping[str, Mapping[Key, str]] = {}
    """Other branch → the records on it with their uids."""
    trunk: str = ""
    """Which of *branches* the others are merged into; what stands there keeps its id."""
    was: Mapping[str, str] = {}
    """Uid → status before the change that is checked (on the trunk)."""
    texts: tuple[CheckedText, ...] = ()
    """Further texts whose citations, links and secrets are looked at."""
    merges: Mapping[str, MergeVersions] = {}
    """Path of a record that both sides of the last merge have changed → what they made of it."""
    clean: frozenset[str] = frozenset()
    """`digest_of` texts in which the rules that look at one text alone have found nothing before."""
    clashes: Mapping[tuple[str, str], Message] = {}
    """Paths of two records, of which the first has just changed → why, by their words, they cannot both hold."""


class Finding(NamedTuple):
    """One thing that is wrong, where it stands, and the one next step."""

    rule: str
    severity: Severity
    path: str
    line: int
    """1-based."""
    message: Message
    fix: Message
    change: Mapping[str, Any] = {}
    """The frontmatter keys whose new values settle it safely; empty where only a person can."""

    @property
    def is_fixable(self) -> bool:
        """Whether `fixes` settles it."""
        return bool(self.change)
