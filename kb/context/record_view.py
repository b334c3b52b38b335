"""What an agent is handed when it asks for records: all of it quoted data, within a budget, whole sections only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.config import Config
from kb.context.hint_phrases import EN, ZH, Words
from kb.i18n import Message
from kb.records.model import Record
from kb.safety.quoting import NAME_LIMIT, PATH_LIMIT, TITLE_LIMIT, Told, no_tags, quoted, told
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import tokens

_LISTED = 50
"""Tags, paths and ids of one record that are handed over."""


class Row(NamedTuple):
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


class Part(NamedTuple):
    """A section of a record."""

    name: str
    """"decision", "why", …, or its heading where no kind knows it; "user": what stands in the USER block."""
    text: str


class Whole(NamedTuple):
    """A record, as much of it as fits."""

    row: Row
    uid: str
    tags: tuple[str, ...]
    impact: tuple[str, ...]
    supersedes: tuple[str, ...]
    parts: tuple[Part, ...]
    left_out: tuple[str, ...] = ()
    """The names of the parts that do not fit."""


def frame(config: Config) -> str:
    """Return the line that says whose words follow, and that they are data."""
    return _words(config).prompt


def passage(text: str) -> str:
    """Return untrusted *text* of several lines: what hides in it is shown, and nothing passes for a tag of the host."""
    from kb.safety.injection import visible

    return no_tags(visible(text))


def row(record: Record, config: Config) -> Row:
    """Return *record* for a list."""
    return _row(told(record, _words(config).untitled))


def whole(record: Record, config: Config, *, budget: int, only: str = "") -> Whole:
    """Return *record* with those of its parts that together cost at most *budget* estimated tokens, in their order.

    *only*: one part by its name; one that is too long by itself is cut at the end of a line.
    """
    one = told(record, _words(config).untitled)
    parts = [part for part in _parts(one.record) if only in ("", part.name)]
    if len(parts) == 1 and tokens(parts[0].text) > budget:
        kept, left = [parts[0]._replace(text=_cut(parts[0].text, budget))], [parts[0].name]
    else:
        kept, left = _fitting(parts, budget)
    return Whole(
        _row(one),
        quoted(record.uid, NAME_LIMIT),
        _short(one.record.tags),
        _short(one.record.impact),
        _short(record.supersedes),
        tuple(kept),
        tuple(left),
    )


def _row(one: Told) -> Row:
    record = one.original
    return Row(
        quoted(record.id, NAME_LIMIT),
        quoted(record.scope, PATH_LIMIT),
        quoted(record.kind, NAME_LIMIT),
        quoted(record.status, NAME_LIMIT),
        quoted(one.record.title, 2 * TITLE_LIMIT),
        quoted(record.date, NAME_LIMIT),
        quoted(record.path, 2 * PATH_LIMIT),
        one.warning,
    )


def _parts(record: Record) -> Iterator[Part]:
    for section in record.sections:
        if section.text.strip():
            yield Part(quoted(section.name or section.heading, TITLE_LIMIT), passage(section.text.strip()))
    if record.user.strip():
        yield Part("user", passage(record.user.strip()))


def _fitting(parts: Sequence[Part], budget: int) -> tuple[list[Part], list[str]]:
    kept: list[Part] = []
    left: list[str] = []
    for part in parts:
        cost = tokens(part.text)
        if cost <= budget:
            budget -= cost
            kept.append(part)
        else:
            left.append(part.name)
    return kept, left


def _cut(text: str, budget: int) -> str:
    """Return whole lines from the beginning of *text* that cost at most *budget*; of one long line, its beginning."""
    kept: list[str] = []
    for line in text.split("\n"):
        if tokens("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return "\n".join(kept) or text[:budget]


def _short(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(quoted(word, PATH_LIMIT) for word in words[:_LISTED])


def _words(config: Config) -> Words:
    return ZH if config.language == "zh" else EN
