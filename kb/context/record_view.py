"""What an agent is handed when it asks for records: all of it quoted data, within a budget, whole sections only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.config import Config
from kb.context.hint_phrases import EN, ZH, HintPhrases
from kb.i18n import Message
from kb.records.model import Record
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, QuotedRecord, escape_tags, quote_record, quote_text
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import estimate_tokens

_LISTED = 50
"""Tags, paths and ids of one record that are handed over."""


class RecordRow(NamedTuple):
    """A record in a list."""

    id: str
    scope: str
    kind: str
    status: str
    title: str
    date: str
    path: str
    withheld: Message | None = None
    """Why its text is not handed on."""


class RecordPart(NamedTuple):
    """A section of a record."""

    name: str
    """"decision", "why", …, or its heading where no kind knows it; "user": what stands in the USER block."""
    text: str


class RecordView(NamedTuple):
    """A record, as much of it as fits."""

    row: RecordRow
    uid: str
    tags: tuple[str, ...]
    impact: tuple[str, ...]
    supersedes: tuple[str, ...]
    parts: tuple[RecordPart, ...]
    left_out: tuple[str, ...] = ()
    """The names of the parts that do not fit."""


def render_quote_notice(config: Config) -> str:
    """Return the line that says whose words follow, and that they are data."""
    return _choose_phrases(config).prompt


def sanitise_text(text: str) -> str:
    """Return untrusted *text* of several lines: what hides in it is shown, and nothing passes for a tag of the host."""
    from kb.safety.injection import reveal_hidden

    return escape_tags(reveal_hidden(text))


def build_record_row(record: Record, config: Config) -> RecordRow:
    """Return *record* for a list."""
    return _build_row(quote_record(record, _choose_phrases(config).untitled))


def build_record_view(record: Record, config: Config, *, budget: int, only: str = "") -> RecordView:
    """Return *record* with those of its parts that together cost at most *budget* estimated tokens, in their order.

    *only*: one part by its name; one that is too long by itself is cut at the end of a line.
    """
    one = quote_record(record, _choose_phrases(config).untitled)
    parts = [part for part in _iter_parts(one.record) if only in ("", part.name)]
    if len(parts) == 1 and estimate_tokens(parts[0].text) > budget:
        kept, left = [parts[0]._replace(text=_truncate_lines(parts[0].text, budget))], [parts[0].name]
    else:
        kept, left = _select_fitting(parts, budget)
    return RecordView(
        _build_row(one),
        quote_text(record.uid, NAME_LIMIT),
        _quote_words(one.record.tags),
        _quote_words(one.record.impact),
        _quote_words(record.supersedes),
        tuple(kept),
        tuple(left),
    )


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


def _iter_parts(record: Record) -> Iterator[RecordPart]:
    for section in record.sections:
        if section.text.strip():
            yield RecordPart(
                quote_text(section.name or section.heading, TITLE_LIMIT), sanitise_text(section.text.strip())
            )
    if record.user.strip():
        yield RecordPart("user", sanitise_text(record.user.strip()))


def _select_fitting(parts: Sequence[RecordPart], budget: int) -> tuple[list[RecordPart], list[str]]:
    kept: list[RecordPart] = []
    left: list[str] = []
    for part in parts:
        cost = estimate_tokens(part.text)
        if cost <= budget:
            budget -= cost
            kept.append(part)
        else:
            left.append(part.name)
    return kept, left


def _truncate_lines(text: str, budget: int) -> str:
    """Return whole lines from the beginning of *text* that cost at most *budget*; of one long line, its beginning."""
    kept: list[str] = []
    for line in text.split("\n"):
        if estimate_tokens("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return "\n".join(kept) or text[:budget]


def _quote_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(quote_text(word, PATH_LIMIT) for word in words[:_LISTED])


def _choose_phrases(config: Config) -> HintPhrases:
    return ZH if config.language == "zh" else EN
