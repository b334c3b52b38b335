"""Mask secrets and personal data before anything is stored.

The rules are the table in `kb.safety.secret_rules`, the search for them is `kb.safety.secret_search`. Masking goes on
until a search finds nothing; what comes out is therefore a fixed point, and masking it again changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from kb.config import Masking
from kb.records.model import Candidate
from kb.safety.dense_secrets import crowded
from kb.safety.secret_rules import Rule
from kb.safety.secret_search import Area, Span, Task, find_secrets, prepare, private_pattern, rules_that_may_match
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Masked(NamedTuple):
    """One place that was masked."""

    rule: str
    line: int
    """1-based line in the text as it was handed in; in a candidate, in the text of the field."""
    field: str = ""
    """The candidate's field, or "" for a plain text."""


def redact(text: str, masking: Sequence[str] | Masking = ()) -> tuple[str, tuple[Masked, ...]]:
    """Return *text* with every secret as `[redacted:<rule>]`, and what was masked in the order of the text.

    *masking* is `Config.masking`, or further regular expressions alone; raise BadInput for one that is none.
    """
    return _redact(text, _task(masking))


def secrets(text: str, masking: Sequence[str] | Masking = ()) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the rule of every place that `redact` would mask, in the order of *text*."""
    for span, line in _with_lines(text, _spans(text, _task(masking))):
        yield line, span.rule


def redacted(candidate: Candidate, masking: Sequence[str] | Masking = ()) -> tuple[Candidate, tuple[Masked, ...]]:
    """Return *candidate* with every text in it masked, down to tags, claims and evidence, and what was masked."""
    found: list[Masked] = []
    values: dict[str, Any] = {}
    fields = candidate._asdict()
    texts = "\n".join(_texts(tuple(fields.values())))
    task = _task(masking)._replace(only=rules_that_may_match(prepare(texts)) or (-1,))
    for field, value in fields.items():
        places: list[Masked] = []
        values[field] = value if field == "kind" else _redacted(value, task, places)
        found += [masked._replace(field=field) for masked in places]
    return candidate._replace(**values), tuple(found)


def masked(value: object, masking: Sequence[str] | Masking = ()) -> Any:
    """Return a JSON *value* with every text in it masked, in an object as the assignment to its key."""
    return _redacted(value, _task(masking), [])


def _task(masking: Sequence[str] | Masking) -> Task:
    words, kept = masking if isinstance(masking, Masking) else (masking, ())
    return Task(tuple(Rule("private-word", (), private_pattern(word)) for word in words), kept)


def _redact(text: str, task: Task) -> tuple[str, tuple[Masked, ...]]:
    spans = _spans(text, task)
    if not spans:
        return text, ()
    return _apply(text, spans), tuple(Masked(span.rule, line) for span, line in _with_lines(text, spans))


def _texts(value: object) -> Iterator[str]:
    """Yield every text in *value*, and of a map the assignments it stands for."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (f"{key}: {value[key]}" for key in value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)


def _redacted(value: object, task: Task, found: list[Masked]) -> object:
    if isinstance(value, str):
        text, places = _redact(value, task)
        found += places
        return text
    if isinstance(value, Mapping):
        return {_redacted(key, task, found): _redacted_value(str(key), value[key], task, found) for key in value}
    if isinstance(value, tuple):
        items = [_redacted(item, task, found) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    return [_redacted(item, task, found) for item in value] if isinstance(value, list) else value


def _redacted_value(key: str, value: object, task: Task, found: list[Masked]) -> object:
    """Return *value* masked as an assignment to *key* would be: in a map, the key may be what gives a secret away."""
    if not isinstance(value, str):
        return _redacted(value, task, found)
    text, places = _redact(f"{key}: {value}", task)
    if not text.startswith(f"{key}: "):
        return _redacted(value, task, found)
    found += places
    return text[len(key) + 2 :]


# -- spans ----------------------------------------------------------------------------------------

_FREE = 100_000
"""Characters that are looked at again in any text; in a long one, twice its length more."""

_ROUND = 8
"""Looking again anywhere costs at least this part of the text: the masks are put into all of it."""

_REACH = 200
"""So near to a new mask it may let something else be seen as a secret."""


def _spans(text: str, task: Task) -> list[Span]:
    """Return the disjoint places of *text* to mask, in order.

    A mask may uncover another secret: of keys that follow each other without a gap only the first has nothing before
    it. So it is looked again round each new mask, and at last everywhere. What that may cost is bounded; where a text
    has used it up, what is still found takes its whole line with it, then four, sixteen, ... lines. A stretch that
    consists of thousands of secrets is one place from the beginning.
    """
    spans = _disjoint(crowded(text, task))
    now, left, lines, looks = _apply(text, spans), _FREE + 2 * len(text), 1, 0
    task = task._replace(only=()) if spans else task
    areas: list[Area] | None = None
    while True:
        found = _disjoint(list(find_secrets(now, task, areas)))
        if not found and areas is None:
            return spans
        if found and left < 0:
            found, lines = _disjoint(list(_with_lines_around(found, now, lines))), 4 * lines
        left -= len(now) if areas is None else sum(end - start for start, end in areas) + len(now) // _ROUND
        fresh = list(_translated(found, spans))
        spans = _disjoint([*spans, *fresh])
        now, looks = _apply(text, spans), looks + 1
        areas = _areas_around(fresh, spans, len(now)) if fresh and looks > 1 else None
        task = task._replace(only=())  # a mask may hold a word that was not in the text


def _with_lines_around(found: list[Span], text: str, lines: int) -> Iterator[Span]:
    """Yield *found*, each with its whole line and *lines* - 1 lines before and behind it."""
    done = -1
    for span in found:
        start, end = span.start, span.end
        if end <= done:
            continue
        for further in range(lines):
            start = text.rfind("\n", 0, max(start - min(further, 1), 0)) + 1
            end = text.find("\n", end + min(further, 1))
            end = len(text) if end < 0 else end
        yield Span(start, end, span.rule)
        done = end


def _areas_around(fresh: list[Span], spans: list[Span], length: int) -> list[Area]:
    """Return the parts of the masked text, *length* characters long, round those of *spans* that hold a *fresh* one."""
    starts = [span.start for span in spans]
    shifts = _shifts(spans)
    areas: list[Area] = []
    for number in sorted({bisect_right(starts, span.start) - 1 for span in fresh}):
        start = starts[number] + shifts[number]
        end = min(start + len(_mask(spans[number].rule)) + _REACH, length)
        start = max(start - _REACH, 0)
        if areas and start <= areas[-1][1]:
            start = areas.pop()[0]
        areas.append((start, end))
    return areas


def _disjoint(spans: list[Span]) -> list[Span]:
    """Return *spans* with overlapping ones joined; the one of highest precedence (listed first) gives the name."""
    joined: list[tuple[int, Span]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            rule = span.rule if rank < best else last.rule
            joined[-1] = (min(best, rank), Span(last.start, max(last.end, span.end), rule))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _shifts(applied: list[Span]) -> list[int]:
    """Return by how much the text moves before each of *applied*, and behind the last one, when they are masked."""
    return [0, *accumulate(len(_mask(span.rule)) - (span.end - span.start) for span in applied)]


def _translated(found: list[Span], applied: list[Span]) -> Iterator[Span]:
    """Yield *found*, places in the text with *applied* masked, as places in the original text."""
    shifts = _shifts(applied)
    starts = [span.start + shift for span, shift in zip(applied, shifts, strict=False)]
    for span in found:
        start, end = (place - shifts[bisect_left(starts, place)] for place in (span.start, span.end))
        yield Span(start, end, span.rule)


def _apply(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], _mask(span.rule))
        end = span.end
    return "".join([*pieces, text[end:]])


def _mask(rule: str) -> str:
    return f"[redacted:{rule}]"


def _with_lines(text: str, spans: list[Span]) -> Iterator[tuple[Span, int]]:
    line, position = 1, 0
    for span in spans:
        line += text.count("\n", position, span.start)
        position = span.start
        yield span, line
