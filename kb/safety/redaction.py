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
from kb.safety.dense_secrets import find_dense_secrets
from kb.safety.secret_rules import SecretRule
from kb.safety.secret_search import (
    Area,
    SearchTask,
    SecretSpan,
    compile_private_word,
    find_secrets,
    prepare_text,
    select_rules,
)
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Redaction(NamedTuple):
    """One place that was masked."""

    rule: str
    line: int
    """1-based line in the text as it was handed in; in a candidate, in the text of the field."""
    field: str = ""
    """The candidate's field, or "" for a plain text."""


def redact_text(text: str, masking: Sequence[str] | Masking = ()) -> tuple[str, tuple[Redaction, ...]]:
    """Return *text* with every secret as `[redacted:<rule>]`, and what was masked in the order of the text.

    *masking* is `Config.masking`, or further regular expressions alone; raise BadInput for one that is none.
    """
    return _mask_text(text, _build_search_task(masking))


def locate_secrets(text: str, masking: Sequence[str] | Masking = ()) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the rule of every place that `redact_text` would mask, in the order of *text*."""
    for span, line in _iter_with_lines(text, _find_spans(text, _build_search_task(masking))):
        yield line, span.rule


def redact_candidate(
    candidate: Candidate, masking: Sequence[str] | Masking = ()
) -> tuple[Candidate, tuple[Redaction, ...]]:
    """Return *candidate* with every text in it masked, down to tags, claims and evidence, and what was masked."""
    found: list[Redaction] = []
    values: dict[str, Any] = {}
    fields = candidate._asdict()
    texts = "\n".join(_iter_texts(tuple(fields.values())))
    task = _build_search_task(masking)._replace(only=select_rules(prepare_text(texts)) or (-1,))
    for field, value in fields.items():
        places: list[Redaction] = []
        values[field] = value if field == "kind" else _mask_value(value, task, places)
        found += [masked._replace(field=field) for masked in places]
    return candidate._replace(**values), tuple(found)


def redact_json(value: object, masking: Sequence[str] | Masking = ()) -> Any:
    """Return a JSON *value* with every text in it masked, in an object as the assignment to its key."""
    return _mask_value(value, _build_search_task(masking), [])


def _build_search_task(masking: Sequence[str] | Masking) -> SearchTask:
    words, kept = masking if isinstance(masking, Masking) else (masking, ())
    return SearchTask(tuple(SecretRule("private-word", (), compile_private_word(word)) for word in words), kept)


def _mask_text(text: str, task: SearchTask) -> tuple[str, tuple[Redaction, ...]]:
    spans = _find_spans(text, task)
    if not spans:
        return text, ()
    return _apply_masks(text, spans), tuple(Redaction(span.rule, line) for span, line in _iter_with_lines(text, spans))


def _iter_texts(value: object) -> Iterator[str]:
    """Yield every text in *value*, and of a map the assignments it stands for."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (f"{key}: {value[key]}" for key in value)
    elif isinstance(value, tuple):
        for item in value:
            yield from _iter_texts(item)


def _mask_value(value: object, task: SearchTask, found: list[Redaction]) -> object:
    if isinstance(value, str):
        text, places = _mask_text(value, task)
        found += places
        return text
    if isinstance(value, Mapping):
        return {_mask_value(key, task, found): _mask_assignment(str(key), value[key], task, found) for key in value}
    if isinstance(value, tuple):
        items = [_mask_value(item, task, found) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    return [_mask_value(item, task, found) for item in value] if isinstance(value, list) else value


def _mask_assignment(key: str, value: object, task: SearchTask, found: list[Redaction]) -> object:
    """Return *value* masked as an assignment to *key* would be: in a map, the key may be what gives a secret away."""
    if not isinstance(value, str):
        return _mask_value(value, task, found)
    text, places = _mask_text(f"{key}: {value}", task)
    if not text.startswith(f"{key}: "):
        return _mask_value(value, task, found)
    found += places
    return text[len(key) + 2 :]


# -- spans ----------------------------------------------------------------------------------------

_FREE = 100_000
"""Characters that are looked at again in any text; in a long one, twice its length more."""

_ROUND = 8
"""Looking again anywhere costs at least this part of the text: the masks are put into all of it."""

_REACH = 200
"""So near to a new mask it may let something else be seen as a secret."""


def _find_spans(text: str, task: SearchTask) -> list[SecretSpan]:
    """Return the disjoint places of *text* to mask, in order.

    A mask may uncover another secret: of keys that follow each other without a gap only the first has nothing before
    it. So it is looked again round each new mask, and at last everywhere. What that may cost is bounded; where a text
    has used it up, what is still found takes its whole line with it, then four, sixteen, ... lines. A stretch that
    consists of thousands of secrets is one place from the beginning.
    """
    spans = _merge_overlapping(find_dense_secrets(text, task))
    now, left, lines, looks = _apply_masks(text, spans), _FREE + 2 * len(text), 1, 0
    task = task._replace(only=()) if spans else task
    areas: list[Area] | None = None
    while True:
        found = _merge_overlapping(list(find_secrets(now, task, areas)))
        if not found and areas is None:
            return spans
        if found and left < 0:
            found, lines = _merge_overlapping(list(_widen_to_lines(found, now, lines))), 4 * lines
        left -= len(now) if areas is None else sum(end - start for start, end in areas) + len(now) // _ROUND
        fresh = list(_map_to_original(found, spans))
        spans = _merge_overlapping([*spans, *fresh])
        now, looks = _apply_masks(text, spans), looks + 1
        areas = _find_rescan_areas(fresh, spans, len(now)) if fresh and looks > 1 else None
        task = task._replace(only=())  # a mask may hold a word that was not in the text


def _widen_to_lines(found: list[SecretSpan], text: str, lines: int) -> Iterator[SecretSpan]:
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
        yield SecretSpan(start, end, span.rule)
        done = end


def _find_rescan_areas(fresh: list[SecretSpan], spans: list[SecretSpan], length: int) -> list[Area]:
    """Return the parts of the masked text, *length* characters long, round those of *spans* that hold a *fresh* one."""
    starts = [span.start for span in spans]
    shifts = _compute_shifts(spans)
    areas: list[Area] = []
    for number in sorted({bisect_right(starts, span.start) - 1 for span in fresh}):
        start = starts[number] + shifts[number]
        end = min(start + len(_format_mask(spans[number].rule)) + _REACH, length)
        start = max(start - _REACH, 0)
        if areas and start <= areas[-1][1]:
            start = areas.pop()[0]
        areas.append((start, end))
    return areas


def _merge_overlapping(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Return *spans* with overlapping ones joined; the one of highest precedence (listed first) gives the name."""
    joined: list[tuple[int, SecretSpan]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            rule = span.rule if rank < best else last.rule
            joined[-1] = (min(best, rank), SecretSpan(last.start, max(last.end, span.end), rule))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _compute_shifts(applied: list[SecretSpan]) -> list[int]:
    """Return by how much the text moves before each of *applied*, and behind the last one, when they are masked."""
    return [0, *accumulate(len(_format_mask(span.rule)) - (span.end - span.start) for span in applied)]


def _map_to_original(found: list[SecretSpan], applied: list[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield *found*, places in the text with *applied* masked, as places in the original text."""
    shifts = _compute_shifts(applied)
    starts = [span.start + shift for span, shift in zip(applied, shifts, strict=False)]
    for span in found:
        start, end = (place - shifts[bisect_left(starts, place)] for place in (span.start, span.end))
        yield SecretSpan(start, end, span.rule)


def _apply_masks(text: str, spans: list[SecretSpan]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], _format_mask(span.rule))
        end = span.end
    return "".join([*pieces, text[end:]])


def _format_mask(rule: str) -> str:
    return f"[redacted:{rule}]"


def _iter_with_lines(text: str, spans: list[SecretSpan]) -> Iterator[tuple[SecretSpan, int]]:
    line, position = 1, 0
    for span in spans:
        line += text.count("\n", position, span.start)
        position = span.start
        yield span, line
