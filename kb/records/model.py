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
    """The stages in the life of a record."""

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
"""Status → the statuses that may follow; `accepted` after `superseded` is a person undoing a step."""

LIVE = frozenset({Status.PROPOSED, Status.ACCEPTED})
"""The statuses of records that are hinted, compared and cited without a warning."""

GLOBAL = "global"
"""The scope of records for every project; others: `project/<name>`, `group/<name>` (of some), `agent/<name>`."""

OWN = "me:"
"""Prefix of the ids of records in the person's own base (`~/.kb`), which is read beside a team's."""

GROUP = "group/"
"""Prefix of scopes whose records apply to a group of projects, wherever their work is stored."""

AGENT = "agent/"
"""Prefix of scopes whose records are shown to one agent only."""

SCOPE = r"global|(?:project|group|agent)/(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z))[^\W_](?:[\w.-]{0,98}\w)?"
"""Regular expression for a scope; a name begins and ends with a letter or digit of any script.

The name becomes a folder, so names reserved by Windows are excluded.
"""


SCOPE_FOLDERS = {"project": "projects", "group": "groups", "agent": "agents"}
"""The folder of each type of named scope."""


def parse_scope_name(name: str) -> str:
    """Return the scope for the *name* before the colon of a citation: shop → project/shop, group/pay → group/pay."""
    sort = name.partition("/")[0]
    return name if name == GLOBAL or (sort in SCOPE_FOLDERS and "/" in name) else f"project/{name}"


def list_groups(groups: Iterable[str], scope: str) -> list[str]:
    """Return the groups in the setting *groups* ("pay: shop, loan") that include the project of *scope*."""
    groups_of_project = []
    for row in groups:
        name, _, members = row.partition(":")
        if scope.removeprefix("project/") in [member.strip() for member in members.split(",")]:
            groups_of_project.append(f"group/{name.strip()}")
    return groups_of_project


class Section(NamedTuple):
    """A heading and its text."""

    name: str
    """The canonical name ("decision", "why", …), or "" for an unknown heading."""
    heading: str
    """The heading as written, without its hashes."""
    text: str


class ScopedId(str):
    """An id in a message, with the scope of its record: `KnowledgeBase.words` formats it for the reader."""

    scope: str

    def __new__(cls, record_id: str, scope: str) -> ScopedId:
        """Return *record_id* as the id of a record of *scope*."""
        made = super().__new__(cls, record_id)
        made.scope = scope
        return made


class Record(NamedTuple):
    """One Markdown file of the store."""

    id: str
    kind: str
    title: str
    scope: str = GLOBAL
    status: str = Status.PROPOSED
    uid: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    impact: tuple[str, ...] = ()
    """Paths, relative to the project's root, that the record is about."""
    supersedes: tuple[str, ...] = ()
    amends: tuple[str, ...] = ()
    """Ids this record replaces in part: they stay accepted for the rest."""
    coexists_with: Mapping[str, str] = {}
    """Ids this record seems to contradict but does not, each with the reason."""
    claims: Mapping[str, str] = {}
    """Checkable facts, "backend.framework" → "FastAPI"; one value per key among a scope's accepted records."""
    occurrences: int = 1
    sources: tuple[str, ...] = ()
    confirmed: str = ""
    """The day a person or tool last confirmed the record; empty: the day it was written."""
    extra: Mapping[str, Any] = {}
    """Front matter keys that kb does not know, kept unchanged."""
    sections: tuple[Section, ...] = ()
    user: str = ""
    """The text of the USER block."""
    path: str = ""
    """The path of the file, relative to the knowledge base, with forward slashes."""

    @property
    def key(self) -> tuple[str, str]:
        """Its scope and id, unique within one knowledge base."""
        return self.scope, self.id

    @property
    def identity(self) -> str:
        """The key that identifies the record even after it is renumbered or renamed."""
        return self.uid or self.path

    @property
    def scoped_id(self) -> ScopedId:
        """The id for use in messages."""
        return ScopedId(self.id, self.scope)

    def section(self, name: str) -> str:
        """Return the text under the canonical section *name*, or ""."""
        return next((s.text for s in self.sections if s.name == name), "")


def recency_key(record: Record) -> tuple[str, str, int, str]:
    """Return a sort key for the time of writing: the day, then the time in the uid, then the number.

    The uid orders records of one day: a ULID begins with its milliseconds, ten letters and digits.
    """
    return record.date, record.uid[:10], len(record.id), record.id


class Reference(NamedTuple):
    """A citation: `[D001]`, or `[shop:D001]` across scopes."""

    project: str
    """The project named before the colon, "global", or "" for the citing record's own scope."""
    id: str


class Evidence(NamedTuple):
    """The source of a candidate: a quote."""

    quote: str
    source: str = ""
    line: int = 0
    """1-based line in *source*; 0 if not known."""
    time: str = ""


PROVEN, SAID, TYPED, WEIGHED = "proven", "said", "typed", "weighed"
"""How well the source of a candidate is known. PROVEN: all quotes are in its session. SAID: one of them is a person's.
TYPED: a person wrote it for kb, in a terminal or editor. WEIGHED: the quotes are there but settle nothing."""


class Candidate(NamedTuple):
    """What a caller wants to have written; the fields are those of `kb write --schema`."""

    kind: str
    title: str
    decision: str = ""
    alternatives: str = ""
    why: str = ""
    impact: tuple[str, ...] = ()
    verification: str = ""
    rollback: str = ""
    sections: Mapping[str, str] = {}
    """Its kind-specific sections, by canonical name; see `kb.records.kinds`."""
    fields: Mapping[str, Any] = {}
    """Its kind-specific front matter keys: a string, a number or a list of strings each."""
    tags: tuple[str, ...] = ()
    scope: str = ""
    """"global", "project/<name>", or "": the caller's project."""
    impact_areas: tuple[str, ...] = ()
    """Any of architecture, security, performance, compliance, modules."""
    claims: Mapping[str, str] = {}
    coexists_with: Mapping[str, str] = {}
    reusable: bool | None = None
    affects_future: bool | None = None
    reference_value: bool | None = None
    prevents_repeat: bool | None = None
    confidence: float | None = None
    cost: int | None = None
    """Number of tool calls it took to find out."""
    evidence: tuple[Evidence, ...] = ()
    supersedes: tuple[str, ...] = ()
    amends: tuple[str, ...] = ()
    updates: str = ""
    """The id of the record whose sections this candidate replaces, if the caller knows it."""
    session: str = ""
    host: str = ""


ALIASES = "aliases"
"""Front matter key for the former numbers of a record."""

ASKED = "asked"
"""Front matter key for the wordings in which people ask for a record; they are searched like its title."""
VALID_UNTIL = "valid_until"
"""Front matter key for the last day on which a record is known to apply."""
READ_AT, READ_AT_FORM = "read_at", "%Y-%m-%dT%H:%M:%SZ"
"""Front matter key for when an answer was last found to agree with its sources, and the format of the time."""
REVISIT_WHEN = "revisit_when"
"""Front matter key for the event, in words, after which a record should be reviewed."""

IMPORTED = "imported"
"""Front matter key for the style of a foreign record: nygard, madr3 and so on."""


ORIGINAL_AUTHOR = "original_author"
"""Front matter key for the author of an imported record, from the history of its first repository."""


def is_imported(extra: Mapping[str, Any]) -> bool:
    """Return whether the record whose further front matter is *extra* was written with another tool.

    Sections that its tool does not ask for, such as a rollback, are not reported as missing. Records imported before
    the key existed have the number of their file.
    """
    return IMPORTED in extra or "adr" in extra


def imported_number(extra: Mapping[str, Any]) -> int | None:
    """Return the number of a record in the tool it was written with, or None."""
    number = str(extra.get("adr", ""))
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None


def list_spoken_numbers(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names by which people ask for an imported record: "ADR 7", "0007" and "007" for number 7."""
    number = imported_number(extra)
    if number is None:
        return ()
    return tuple(
        dict.fromkeys(("ADR", f"{number}", f"{number:03d}", f"{number:04d}", f"ADR{number}", f"ADR{number:04d}"))
    )


def list_field(record: Record, key: str) -> list[str]:
    """Return the text or texts under *key* in a record's front matter as a list."""
    return _list_texts(record.extra.get(key))


def is_day(text: str) -> bool:
    """Return whether *text* is a calendar day in the form YYYY-MM-DD."""
    from datetime import date  # imported here because most hooks need no dates

    try:
        return date.fromisoformat(text).isoformat() == text  # Python also reads 20260102 and 2026-W01-5
    except ValueError:
        return False


def find_due_day(record: Record, today: str) -> str:
    """Return the ISO day until which *record* was valid if that day is over, otherwise "".

    A confirmation after that day means that the record is valid for longer.
    """
    day = str(record.extra.get(VALID_UNTIL, "")) if record.status in LIVE else ""
    return day if day and record.confirmed <= day < today and is_day(day) else ""


def list_titles(record: Record) -> list[str]:
    """Return the title of *record* and the further wordings by which it is found."""
    return [record.title, *list_field(record, ASKED)]


def list_aliases(values: Mapping[str, Any]) -> list[str]:
    """Return the former numbers of a record from its front matter, or the part of it that kb does not know."""
    return _list_texts(values.get(ALIASES))


def _list_texts(value: object) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item]


def qualify_id(reader: str, scope: str, record_id: str, *, is_taken: bool) -> str:
    """Return the name by which a reader in the scope *reader* finds the record *record_id* of *scope*.

    A bare id means the reader's own scope first, then the global one. If *is_taken* (a record of another scope has
    the same number), a global record is written `global:D001`. For an unknown reader (""),
    every project record gets its project.
    """
    if scope == reader or (scope == GLOBAL and not is_taken) or not scope:
        return record_id
    return f"{scope.removeprefix('project/')}:{record_id}"


class SimilarRecord(NamedTuple):
    """An existing record that is similar to a new one."""

    id: str
    scope: str
    title: str
    score: float
    """0.0–1.0, the title similarity of `kb.similarity.duplicates`."""


class Verdict(NamedTuple):
    """The result for a candidate."""

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
    """The review branch of a conflict."""
    commit: str = ""
    spooled: bool = False
    """True while the write waits in the spool until the repository can take it."""


EXIT_REFUSED = 3
EXIT_REVIEW = 4


def choose_exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return the exit code for *verdicts*: 4 if a review was opened, 3 if one was not written.

    A spooled candidate counts as written: it will be, and a retry would write it twice.
    """
    words = {verdict.verdict for verdict in verdicts if not (verdict.verdict == "held" and verdict.spooled)}
    return EXIT_REVIEW if "conflict" in words else EXIT_REFUSED if words & {"refused", "held"} else 0
