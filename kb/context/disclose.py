"""Hand records to an agent that asks for them: quoted, in the language of the knowledge base, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kb.context import record_view
from kb.context.record_view import RecordRow, RecordView
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import Filter
from kb.records.kinds import KINDS
from kb.records.model import LIVE, Record
from kb.records.record_paths import REVIEWS
from kb.safety.quoting import PATH_LIMIT, TITLE_LIMIT, quote_text
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.workspace import Workspace


class BaseOverview(NamedTuple):
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


def render_quote_notice(kb: Workspace) -> str:
    """Return the line that says whose words follow, and that they are data."""
    return record_view.render_quote_notice(kb.config)


def build_record_row(kb: Workspace, record: Record) -> RecordRow:
    """Return *record* for a list."""
    return record_view.build_record_row(qualify_record_ids(kb.index, (record,), kb.caller_scope)[0], kb.config)


def build_record_view(kb: Workspace, record: Record, *, budget: int, only: str = "") -> RecordView:
    """Return *record*, or its part *only*, with whole parts that cost at most *budget* estimated tokens."""
    return record_view.build_record_view(
        qualify_record_ids(kb.index, (record,), kb.caller_scope)[0], kb.config, budget=budget, only=only
    )


def iter_withheld(kb: Workspace, records: Iterable[Record], *, titles: bool = False) -> Iterator[RecordRow]:
    """Yield a row for each of *records* whose text, or with *titles* whose title alone, is not handed on."""
    for record in records:
        shown = Record(record.id, record.kind, record.title, record.scope) if titles else record
        if (found := record_view.build_record_row(shown, kb.config)).withheld:
            yield found


def quote_base_name(kb: Workspace) -> str:
    """Return the name of the knowledge base on one line; what hides in it is shown."""
    return quote_text(kb.config.name, TITLE_LIMIT)


def build_overview(kb: Workspace, folder: str) -> BaseOverview:
    """Return what the knowledge base holds, for an agent that works in *folder*."""
    records = kb.records(Filter(statuses=tuple(LIVE)))
    scopes, kinds = Counter(record.scope for record in records), Counter(record.kind for record in records)
    return BaseOverview(
        quote_base_name(kb),
        quote_text(kb.project(folder), PATH_LIMIT),
        {quote_text(scope, PATH_LIMIT): number for scope, number in sorted(scopes.items())},
        {kind.name: kinds[kind.name] for kind in KINDS},
        len(kb.repository.list_refs(REVIEWS.rstrip("/"))),
    )
