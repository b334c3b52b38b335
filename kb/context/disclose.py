"""Hand records to an agent that asks for them: quoted, in the language of the knowledge base, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kb.context.hint_text import choose_phrases
from kb.i18n import Message
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import Filter
from kb.records.kinds import KINDS, REVIEWS, list_own_fields
from kb.records.model import LIVE, Record
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, QuotedRecord, quote_record, quote_text, sanitise_text
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MAX_LISTED_VALUES = 50  # tags, paths and ids of one record that are handed over


class RecordRow(NamedTuple):
    """A record in a list."""

    id: str
    scope: str
    kind: str
    status: str
    title: str
    date: str
    path: str
    withheld: Message | None = None  # why its text is not handed on


class RecordPart(NamedTuple):
    """A section of a record."""

    name: str  # "decision", "why", …, or its heading where no kind knows it; "user": what is in the USER block
    text: str


class RecordView(NamedTuple):
    """A record, as much of it as fits."""

    row: RecordRow
    uid: str
    tags: tuple[str, ...]
    impact: tuple[str, ...]
    supersedes: tuple[str, ...]
    parts: tuple[RecordPart, ...]
    left_out: tuple[str, ...] = ()  # the names of the parts that do not fit


class BaseOverview(NamedTuple):
    """What a knowledge base holds, in numbers."""

    name: str
    scope: str  # that holds where the agent works
    scopes: dict[str, int]  # scope → number of live records
    kinds: dict[str, int]  # kind → number of live records in all scopes
    reviews: int  # that are open


def render_quote_notice(kb: Workspace) -> str:
    """Return the line that says whose words follow, and that they are data."""
    return choose_phrases(kb.config.language)["prompt"]


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


def build_record_row(kb: Workspace, record: Record) -> RecordRow:
    """Return *record* for a list."""
    return _build_row(_quote(kb, qualify_record_ids(kb.index, (record,), kb.caller_scope)[0]))


def iter_withheld(kb: Workspace, records: Iterable[Record], *, titles: bool = False) -> Iterator[RecordRow]:
    """Yield a row for each of *records* whose text, or with *titles* whose title alone, is not handed on."""
    for record in records:
        shown = Record(record.id, record.kind, record.title, record.scope) if titles else record
        if (row := _build_row(_quote(kb, shown))).withheld:
            yield row


def build_record_view(kb: Workspace, record: Record, *, budget: int, only: str = "") -> RecordView:
    """Return *record* with those of its parts that together cost at most *budget* estimated tokens, in their order.

    *only*: one part by its name; one that is too long by itself is cut at the end of a line.
    """
    one = _quote(kb, qualify_record_ids(kb.index, (record,), kb.caller_scope)[0])
    texts = [(section.name or section.heading, section.text.strip()) for section in one.record.sections]
    parts = [RecordPart(quote_text(name, TITLE_LIMIT), sanitise_text(text)) for name, text in texts if text]
    own = list_own_fields(record.kind, record.extra)
    parts += [RecordPart(name, sanitise_text("\n".join(texts))) for name, texts in own]
    parts += [RecordPart("user", sanitise_text(one.record.user.strip()))] if one.record.user.strip() else []
    parts = [part for part in parts if only in ("", part.name)]
    kept: list[RecordPart] = []
    left_out: list[str] = []
    for part in parts:
        cost = estimate_tokens(part.text)
        if cost <= budget:
            budget -= cost
            kept.append(part)
        else:
            kept += [part._replace(text=_truncate_lines(part.text, budget))] if len(parts) == 1 else []
            left_out.append(part.name)
    words = one.record.tags, one.record.impact, one.original.supersedes
    tags, impact, supersedes = (
        tuple(quote_text(word, PATH_LIMIT) for word in each[:_MAX_LISTED_VALUES]) for each in words
    )
    uid = quote_text(one.original.uid, NAME_LIMIT)
    return RecordView(_build_row(one), uid, tags, impact, supersedes, tuple(kept), tuple(left_out))


def _quote(kb: Workspace, record: Record) -> QuotedRecord:
    return quote_record(record, choose_phrases(kb.config.language)["untitled"])


def _build_row(one: QuotedRecord) -> RecordRow:
    record = one.original
    return RecordRow(
        quote_text(record.id, NAME_LIMIT),
        quote_text(record.scope, PATH_LIMIT),
        quote_text(record.kind, NAME_LIMIT),
        quote_text(record.status, NAME_LIMIT),
        quote_text(one.record.title, 2 * TITLE_LIMIT),
        quote_text(record.date, NAME_LIMIT),
        quote_text(record.path, 2 * PATH_LIMIT),
        one.warning,
    )


def _truncate_lines(text: str, budget: int) -> str:
    """Return whole lines from the beginning of *text* that cost at most *budget*; of one long line, its beginning."""
    kept: list[str] = []
    for line in text.split("\n"):
        if estimate_tokens("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return "\n".join(kept) or text[:budget]
