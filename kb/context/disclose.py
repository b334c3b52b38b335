"""Hand records to an agent that asks for them: quoted, in the language of the knowledge base, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kb.context import record_view
from kb.context.give_hints import remember
from kb.context.record_view import Part, Row, Whole
from kb.index.lookup import named_for
from kb.index.schema import Filter
from kb.records.kinds import KINDS
from kb.records.model import LIVE, Record
from kb.records.record_paths import REVIEWS
from kb.safety.quoting import PATH_LIMIT, TITLE_LIMIT, quoted
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.workspace import Workspace

__all__ = ["Home", "Part", "Row", "Whole", "frame", "home", "passage", "remember", "row", "whole", "withheld"]

passage = record_view.passage


class Home(NamedTuple):
    """What a knowledge base holds, in numbers."""

    name: str
    scope: str
    """The scope that holds where the agent works."""
    scopes: dict[str, int]
    """Scope → number of live records."""
    kinds: dict[str, int]
    """Kind → number of live records in all scopes."""
    reviews: int
    """Open reviews."""


def frame(kb: Workspace) -> str:
    """Return the line that says whose words follow, and that they are data."""
    return record_view.frame(kb.config)


def row(kb: Workspace, record: Record) -> Row:
    """Return *record* for a list."""
    return record_view.row(named_for(kb.index, (record,), kb.here)[0], kb.config)


def whole(kb: Workspace, record: Record, *, budget: int, only: str = "") -> Whole:
    """Return *record*, or its part *only*, with whole parts that cost at most *budget* estimated tokens."""
    return record_view.whole(named_for(kb.index, (record,), kb.here)[0], kb.config, budget=budget, only=only)


def withheld(kb: Workspace, records: Iterable[Record], *, titles: bool = False) -> Iterator[Row]:
    """Yield a row for each of *records* whose text, or with *titles* whose title alone, is not handed on."""
    for record in records:
        shown = Record(record.id, record.kind, record.title, record.scope) if titles else record
        if (found := record_view.row(shown, kb.config)).withheld:
            yield found


def base_name(kb: Workspace) -> str:
    """Return the name of the knowledge base on one line; what hides in it is shown."""
    return quoted(kb.config.name, TITLE_LIMIT)


def home(kb: Workspace, folder: str) -> Home:
    """Return what the knowledge base holds, for an agent that works in *folder*."""
    records = kb.records(Filter(statuses=tuple(LIVE)))
    scopes, kinds = Counter(record.scope for record in records), Counter(record.kind for record in records)
    return Home(
        base_name(kb),
        quoted(kb.project(folder), PATH_LIMIT),
        {quoted(scope, PATH_LIMIT): number for scope, number in sorted(scopes.items())},
        {kind.name: kinds[kind.name] for kind in KINDS},
        len(kb.repository.refs(REVIEWS.rstrip("/"))),
    )
