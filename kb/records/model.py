"""Records and what they are made of: frozen values.

Values are `NamedTuple`s: immutable, typed and ready ten times faster than frozen dataclasses, which a hook that runs
at every prompt can feel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Status(StrEnum):
    """Where a record is in its life."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


TRANSITIONS: Mapping[str, frozenset[str]] = {
    Status.PROPOSED: frozenset({Status.ACCEPTED, Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED}),
    Status.ACCEPTED: frozenset({Status.PROPOSED, Status.DEPRECATED, Status.SUPERSEDED}),
    Status.REJECTED: frozenset({Status.PROPOSED}),
    Status.DEPRECATED: frozenset({Status.ACCEPTED, Status.SUPERSEDED}),
    Status.SUPERSEDED: frozenset({Status.ACCEPTED, Status.DEPRECATED}),
}
"""Which status may follow which; reopening (`accepted` after `superseded`) is a person undoing a step."""

LIVE = frozenset({Status.PROPOSED, Status.ACCEPTED})
"""The statuses of records that still speak: they are hinted, compared and cited without a warning."""

GLOBAL = "global"
"""The scope of what holds in every project; others: `project/<name>`, `group/<name>` (of some), `agent/<name>`."""

OWN = "me:"
"""What precedes the id of a record of the person's own base (`~/.kb`), which is read beside a team's."""

GROUP = "group/"
"""What a scope begins with whose records hold for some projects, wherever the work of these is kept."""

AGENT = "agent/"
"""What a scope begins with whose records hold for one agent alone; nobody else is told them."""

SCOPE = r"global|(?:project|group|agent)/(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z))[^\W_](?:[\w.-]{0,98}\w)?"
"""What a scope looks like, as a regular expression; a name begins and ends with a letter or digit of any script.

It is the name of a folder: names that Windows keeps for itself are none.
"""


SCOPE_FOLDERS = {"project": "projects", "group": "groups", "agent": "agents"}
"""The folder of each sort of scope that has a name."""


def parse_scope_name(name: str) -> str:
    """Return the scope that *name* means before the colon of a citation: shop is project/shop, group/pay is itself."""
    sort = name.partition("/")[0]
    return name if name == GLOBAL or (sort in SCOPE_FOLDERS and "/" in name) else f"project/{name}"


def list_groups(groups: Iterable[str], scope: str) -> list[str]:
    """Return the groups of the setting *groups* ("pay: shop, loan") to which the project of *scope* belongs."""
    found = []
    for row in groups:
        name, _, members = row.partition(":")
        if scope.removeprefix("project/") in [member.strip() for member in members.split(",")]:
            found.append(f"group/{name.strip()}")
    return found


class Section(NamedTuple):
    """A heading and what follows it."""

    name: str
    """The canonical name ("decision", "why", …), or "" for a heading no kind knows."""
    heading: str
    """The heading as it is written, without its hashes."""
    text: str


class ScopedId(str):
    """An id in a message, with the scope of its record: `KnowledgeBase.words` writes it for the reader."""

    scope: str

    def __new__(cls, record_id: str, scope: str) -> ScopedId:
        """Return *record_id* as the id of a record of *scope*."""
        made = super().__new__(cls, record_id)
        made.scope = scope
        return made


class Record(NamedTuple):
    """One markdown file the store keeps."""

    id: str
    kind: str
    title: str
    scope: str = GLOBAL
    status: str = Status.PROPOSED
    uid: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    impact: tuple[str, ...] = ()
    """Paths, relative to the project's root, of what the record is about."""
    supersedes: tuple[str, ...] = ()
    amends: tuple[str, ...] = ()
    """Ids this record replaces in part: they stay in force for the rest."""
    coexists_with: Mapping[str, str] = {}
    """Ids this record seems to contradict and does not, each with the reason."""
    claims: Mapping[str, str] = {}
    """Checkable facts, "backend.framework" → "FastAPI"; one value per key among a scope's accepted records."""
    occurrences: int = 1
    sources: tuple[str, ...] = ()
    confirmed: str = ""
    """The day a person or a tool last found the record still true; empty: the day it was written."""
    extra: Mapping[str, Any] = {}
    """Frontmatter keys kb does not know; they are kept as they are."""
    sections: tuple[Section, ...] = ()
    user: str = ""
    """The text of the USER block."""
    path: str = ""
    """Where the file stands, relative to the knowledge base, with forward slashes."""

    @property
    def key(self) -> tuple[str, str]:
        """Its scope and id: what names it within one knowledge base."""
        return self.scope, self.id

    @property
    def identity(self) -> str:
        """The key that identifies it, through new numbers and names."""
        return self.uid or self.path

    @property
    def scoped_id(self) -> ScopedId:
        """The id as a message names it."""
        return ScopedId(self.id, self.scope)

    def section(self, name: str) -> str:
        """Return the text under the canonical section *name*, or ""."""
        return next((s.text for s in self.sections if s.name == name), "")


def recency_key(record: Record) -> tuple[str, str, int, str]:
    """Return what sorts records by when they were written: the day, then the time in the uid, then the number.

    A day alone says nothing of the records of one day. A ULID begins with its milliseconds, ten letters and digits.
    """
    return record.date, record.uid[:10], len(record.id), record.id


class Reference(NamedTuple):
    """A citation: `[D001]`, or `[shop:D001]` across scopes."""

    project: str
    """The project named before the colon, "global", or "" for the citing record's own scope."""
    id: str


class Evidence(NamedTuple):
    """Where a candidate comes from: words in its source."""

    quote: str
    source: str = ""
    line: int = 0
    """1-based line in *source*; 0: not known."""
    time: str = ""


PROVEN, SAID, TYPED, WEIGHED = "proven", "said", "typed", "weighed"
"""What is known of where a candidate comes from: all its quotes are in its session, one of them as a person's word;
TYPED: a person wrote it for kb, at a terminal or in an editor; WEIGHED: its quotes are there and settle nothing."""


class Candidate(NamedTuple):
    """What a caller wants to have written. The fields are those of `kb write --schema`."""

    kind: str
    title: str
    decision: str = ""
    alternatives: str = ""
    why: str = ""
    impact: tuple[str, ...] = ()
    verification: str = ""
    rollback: str = ""
    sections: Mapping[str, str] = {}
    """The sections that its kind has beside those above, by canonical name; see `kb.records.kinds`."""
    fields: Mapping[str, Any] = {}
    """The keys of the front matter that its kind has of its own: a string, a number or a list of strings each."""
    tags: tuple[str, ...] = ()
    scope: str = ""
    """"global", "project/<name>", or "": the caller's project."""
    impact_areas: tuple[str, ...] = ()
    """Of architecture, security, performance, compliance, modules."""
    claims: Mapping[str, str] = {}
    coexists_with: Mapping[str, str] = {}
    reusable: bool | None = None
    affects_future: bool | None = None
    reference_value: bool | None = None
    prevents_repeat: bool | None = None
    confidence: float | None = None
    cost: int | None = None
    """Tool calls that it took to find out."""
    evidence: tuple[Evidence, ...] = ()
    supersedes: tuple[str, ...] = ()
    amends: tuple[str, ...] = ()
    updates: str = ""
    """The id of the record whose sections this candidate replaces, when the caller knows it."""
    session: str = ""
    host: str = ""


ALIASES = "aliases"
"""The key of the front that keeps the numbers a record has had."""

ASKED = "asked"
"""The key under which a record keeps the wordings in which people ask for it: it is found by them as by its title."""
VALID_UNTIL = "valid_until"
"""The key that names the last day on which a record is known to hold."""
READ_AT, READ_AT_FORM = "read_at", "%Y-%m-%dT%H:%M:%SZ"
"""The key under which an answer has the moment in which it was last found to agree with its sources, and its form."""
REVISIT_WHEN = "revisit_when"
"""The key that says, in words, on what event a record is to be looked at again."""

IMPORTED = "imported"
"""The key of the front matter that says in which style a foreign record was written: nygard, madr3 and so on."""


ORIGINAL_AUTHOR = "original_author"
"""The key of the front matter that names who wrote an imported record, by the history of its first repository."""


def is_imported(extra: Mapping[str, Any]) -> bool:
    """Return whether the record whose unread front matter is *extra* was written with another tool.

    What its author was never asked for, such as a way back, is not missing in it. Records that were imported before
    the key existed have the number of their file.
    """
    return IMPORTED in extra or "adr" in extra


def imported_number(extra: Mapping[str, Any]) -> int | None:
    """Return the number that a record had in the tool it was written with, or None."""
    number = str(extra.get("adr", ""))
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None


def list_spoken_numbers(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words by which people ask for an imported record: "ADR 7", "0007" and "007" name number 7."""
    number = imported_number(extra)
    if number is None:
        return ()
    return tuple(
        dict.fromkeys(("ADR", f"{number}", f"{number:03d}", f"{number:04d}", f"ADR{number}", f"ADR{number:04d}"))
    )


def list_field(record: Record, key: str) -> list[str]:
    """Return what a record's front matter has under *key*, which may be one text or a list of them."""
    return _list_texts(record.extra.get(key))


def is_day(text: str) -> bool:
    """Return whether *text* is a day of the calendar in the form YYYY-MM-DD."""
    from datetime import date  # costs a hook that asks for no day nothing

    try:
        return date.fromisoformat(text).isoformat() == text  # Python reads 20260102 and 2026-W01-5 as well
    except ValueError:
        return False


def find_due_day(record: Record, today: str) -> str:
    """Return the ISO day until which *record* was to hold, where that is over; "" where it is not, or none is named.

    Who confirms it after that day has found that it holds for longer.
    """
    day = str(record.extra.get(VALID_UNTIL, "")) if record.status in LIVE else ""
    return day if day and record.confirmed <= day < today and is_day(day) else ""


def list_titles(record: Record) -> list[str]:
    """Return the title of *record* and the further wordings by which it is found."""
    return [record.title, *list_field(record, ASKED)]


def list_aliases(values: Mapping[str, Any]) -> list[str]:
    """Return the numbers that a record has had, from its front or what of it kb does not read."""
    return _list_texts(values.get(ALIASES))


def _list_texts(value: object) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item]


def qualify_id(reader: str, scope: str, record_id: str, *, is_taken: bool) -> str:
    """Return the name by which a reader who is in the scope *reader* finds the record *record_id* of *scope*.

    A bare id means the reader's own scope first, then the global one. *is_taken*: a record of another scope that a
    bare id could mean has the same number, so a global record is `global:D001` to be found. A reader of whom nothing is
    known (*reader* is "") gets every record of a project with its project.
    """
    if scope == reader or (scope == GLOBAL and not is_taken) or not scope:
        return record_id
    return f"{scope.removeprefix('project/')}:{record_id}"


class SimilarRecord(NamedTuple):
    """An existing record that a new one resembles."""

    id: str
    scope: str
    title: str
    score: float
    """0.0–1.0, the title similarity of `kb.similarity.duplicates`."""


class Verdict(NamedTuple):
    """What became of a candidate."""

    verdict: str
    """created, updated, appended, unchanged, conflict, held or refused."""
    title: str
    kind: str
    id: str = ""
    uid: str = ""
    scope: str = ""
    path: str = ""
    status: str = ""
    reasons: tuple[str, ...] = ()
    """Why, in the user's language."""
    next: str = ""
    """The one next step, or ""."""
    similar: tuple[SimilarRecord, ...] = ()
    branch: str = ""
    """The review branch, for a conflict."""
    commit: str = ""
    spooled: bool = False
    """True while the write waits in the spool for a repository that can take it."""


EXIT_REFUSED = 3
EXIT_REVIEW = 4


def choose_exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return the exit code that *verdicts* call for: 4 where a review was opened, 3 where one was not written.

    What is spooled counts as written: it lands by itself, and who retried it would write it twice.
    """
    words = {verdict.verdict for verdict in verdicts if not (verdict.verdict == "held" and verdict.spooled)}
    return EXIT_REVIEW if "conflict" in words else EXIT_REFUSED if words & {"refused", "held"} else 0
