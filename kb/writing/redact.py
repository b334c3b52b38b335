"""Mask secrets and personal data before anything is stored.

The rules are the table in `kb.writing.secretrules`. Every repetition is bounded and starts at a word that is searched
first, so the time is linear in the text. Masking goes on until a round finds nothing; what comes out is therefore a
fixed point, and masking it again changes nothing.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from kb.config import Masking
from kb.errors import BadInput
from kb.patterns import regex
from kb.record import Candidate
from kb.values import TYPE_CHECKING, NamedTuple
from kb.words import say
from kb.writing.secretrules import NUMBER, RULES, RUN, Rule

if TYPE_CHECKING:
    from typing import Any


class Masked(NamedTuple):
    """One place that was masked."""

    rule: str
    line: int
    """1-based line in the text as it was handed in; in a candidate, in the text of the field."""
    field: str = ""
    """The candidate's field, or "" for a plain text."""


class _Span(NamedTuple):
    start: int
    end: int
    rule: str


_MASK = regex(r"\[redacted:[a-z0-9-]+\]")

_LOOKED_INTO = 400
"""Characters at the end of a match in which another one may start; in longer ones looking again costs squared time."""

_BEHIND = 170
"""Characters behind a word in which a rule that looks around it searches; what begins there is seen to its end."""

_NUMBERS = regex(r"[+(0-9][0-9 ().+-]{6,}")
_NUMBER_START = regex(r"(?:(?<![A-Za-z0-9_.])|(?<=\\[nrt]))(?=[+(]?[0-9][0-9 ().-]{6})")
_RUN = regex(r"[!-~]{16,}")
_REST = regex(r"\S*")


def _by_word(*, in_run: bool) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return every word with the numbers of the rules it starts; most texts are done with when no word is in them."""
    rules: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        if rule.starts not in (NUMBER, RUN) and in_run == (rule.in_run and not rule.before):
            for word in rule.starts:
                rules.setdefault(word, []).append(number)
    return tuple((word, tuple(numbers)) for word, numbers in rules.items())


_ANYWHERE, _IN_RUNS = _by_word(in_run=False), _by_word(in_run=True)
_OF_RUNS = tuple(number for number, rule in enumerate(RULES) if rule.starts is RUN)
_OF_NUMBERS = tuple(number for number, rule in enumerate(RULES) if rule.starts is NUMBER)


class _Task(NamedTuple):
    """What is looked for."""

    private: tuple[Rule, ...]
    """The private words of the knowledge base, as rules."""
    kept: tuple[str, ...]
    """The names of the rules that are switched off."""
    only: tuple[int, ...] = ()
    """The numbers of the rules that can match at all, where that is known."""


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
    task = _task(masking)._replace(only=_may_match(_seen(texts)) or (-1,))
    for field, value in fields.items():
        places: list[Masked] = []
        values[field] = value if field == "kind" else _redacted(value, task, places)
        found += [masked._replace(field=field) for masked in places]
    return candidate._replace(**values), tuple(found)


def masked(value: object, masking: Sequence[str] | Masking = ()) -> Any:
    """Return a JSON *value* with every text in it masked, in an object as the assignment to its key."""
    return _redacted(value, _task(masking), [])


def _task(masking: Sequence[str] | Masking) -> _Task:
    words, kept = masking if isinstance(masking, Masking) else (masking, ())
    return _Task(tuple(Rule("private-word", (), _private(word)) for word in words), kept)


def _redact(text: str, task: _Task) -> tuple[str, tuple[Masked, ...]]:
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


def _redacted(value: object, task: _Task, found: list[Masked]) -> object:
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


def _redacted_value(key: str, value: object, task: _Task, found: list[Masked]) -> object:
    """Return *value* masked as an assignment to *key* would be: in a map, the key may be what gives a secret away."""
    if not isinstance(value, str):
        return _redacted(value, task, found)
    text, places = _redact(f"{key}: {value}", task)
    if not text.startswith(f"{key}: "):
        return _redacted(value, task, found)
    found += places
    return text[len(key) + 2 :]


# -- spans ----------------------------------------------------------------------------------------


class _Text(NamedTuple):
    """A text with what the rules ask about it again and again."""

    text: str
    lower: str
    runs: tuple[tuple[int, int], ...]
    """Where sixteen visible characters or more follow one another."""
    numbers: tuple[int, ...]
    places: dict[str, list[int]]
    """Where a word stands; several rules start with the same one."""


def _spans(text: str, task: _Task) -> list[_Span]:
    """Return the disjoint places of *text* to mask, in order."""
    spans: list[_Span] = []
    now = text
    while found := _disjoint(list(_found(now, task))):
        spans = sorted([*spans, *_translated(found, spans)])
        now = _apply(text, spans)
        task = task._replace(only=())  # a mask may hold a word that was not in the text
    return spans


def _found(text: str, task: _Task) -> Iterator[_Span]:
    """Yield what the rules match in *text*, in order of precedence, but nothing that touches a mask."""
    masks = [match.span() for match in _MASK.finditer(text)] if "[redacted:" in text else []
    starts = [start for start, _ in masks]
    seen = _seen(text, masks)
    numbers = [n for n in _may_match(seen, task.only) if RULES[n].name not in task.kept]
    for rule in (*task.private, *(RULES[number] for number in numbers)):
        done = 0
        for match in _matches(rule, seen):
            group = match.lastindex or 0
            start, end = match.span(group)
            before = bisect_right(starts, end - 1) - 1
            touches_mask = before >= 0 and masks[before][1] > start
            if done <= start < end and not touches_mask and rule.check(match, group):
                yield _Span(start, end, rule.name)
                done = end


def _seen(text: str, masks: Sequence[tuple[int, int]] = ()) -> _Text:
    """Return *text* with what the rules ask about it; a word inside one of *masks* is none of its words."""
    lower = text.replace("İ", "I").lower()  # the one letter that grows in lower case
    if masks:
        lower = _MASK.sub(lambda mask: "-" * len(mask[0]), lower)
    long = any(len(word) > 15 for word in text.split())
    runs = tuple([match.span() for match in _RUN.finditer(text)]) if long else ()
    zones = [match.span() for match in _NUMBERS.finditer(text)]
    numbers = tuple([match.start() for zone in zones for match in _NUMBER_START.finditer(text, *zone)])
    return _Text(text, lower, runs, numbers, {})


def _may_match(seen: _Text, only: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the numbers of the rules, all or those of *only*, whose words are in the text."""
    lower = seen.lower
    if only:
        return tuple([number for number in only if number >= 0 and _starts_in(RULES[number], seen)])
    found = [numbers for word, numbers in _ANYWHERE if word in lower]
    if seen.runs:
        visible = "\n".join([lower[start:end] for start, end in seen.runs])
        found += [numbers for word, numbers in _IN_RUNS if word in visible]
        found.append(_OF_RUNS)
    if seen.numbers:
        found.append(_OF_NUMBERS)
    return tuple(sorted({number for numbers in found for number in numbers}))


def _starts_in(rule: Rule, seen: _Text) -> bool:
    if rule.in_run and not seen.runs:
        return False
    if rule.starts is NUMBER:
        return bool(seen.numbers)
    return rule.starts is RUN or any(word in seen.lower for word in rule.starts)


def _matches(rule: Rule, seen: _Text) -> Iterator[re.Match[str]]:
    """Yield the matches of *rule*: from its starts, which is ten times faster than from every character."""
    text = seen.text
    if not rule.starts:
        yield from rule.pattern.finditer(text)
    elif rule.starts is RUN:
        for start, end in seen.runs:
            yield from rule.pattern.finditer(text, start, end)
    elif rule.before:
        for start, end in _windows(_places(rule.starts, seen), rule.before, text):
            yield from rule.pattern.finditer(text, start, end)
    else:
        done = 0
        for position in seen.numbers if rule.starts is NUMBER else _places(rule.starts, seen):
            match = rule.pattern.match(text, position) if position >= done else None
            if match:
                yield match
                done = match.end() - _LOOKED_INTO


def _windows(positions: Sequence[int], before: int, text: str) -> Iterator[tuple[int, int]]:
    """Yield the disjoint parts of *text* round *positions*, each on one line and ending with a word."""
    start, end = 0, -1
    for position in positions:
        if position + _BEHIND <= end:
            continue
        first = max(position - before, 0)
        low = max(first, text.rfind("\n", first, position) + 1)
        if low > end >= 0:
            yield start, end
        start = low if low > end else start
        line = text.find("\n", position, position + _BEHIND)
        rest = _REST.match(text, position + _BEHIND)
        end = line if line >= 0 else rest.end() if rest else len(text)
    if end >= 0:
        yield start, end


def _places(words: Sequence[str], seen: _Text) -> list[int]:
    """Return where one of *words* stands, in order."""
    for word in words:
        if word not in seen.places:
            seen.places[word] = list(_found_word(word, seen.lower))
    return sorted([position for word in words for position in seen.places[word]])


def _found_word(word: str, text: str) -> Iterator[int]:
    position = text.find(word)
    while position >= 0:
        yield position
        position = text.find(word, position + 1)


@functools.cache
def _private(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        problem = say("the private word {pattern} is no regular expression: {problem}", pattern=pattern, problem=error)
        raise BadInput(problem, hint=say("correct private_words in kb.toml")) from None


def _disjoint(spans: list[_Span]) -> list[_Span]:
    """Return *spans* with overlapping ones joined; the one of highest precedence (listed first) gives the name."""
    joined: list[tuple[int, _Span]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            rule = span.rule if rank < best else last.rule
            joined[-1] = (min(best, rank), _Span(last.start, max(last.end, span.end), rule))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _translated(found: list[_Span], applied: list[_Span]) -> Iterator[_Span]:
    """Yield *found*, places in the text with *applied* masked, as places in the original text."""
    growth = [len(_mask(span.rule)) - (span.end - span.start) for span in applied]
    shifts = [0, *accumulate(growth)]
    starts = [span.start + shift for span, shift in zip(applied, shifts, strict=False)]
    for span in found:
        shift = shifts[bisect_right(starts, span.start)]
        yield _Span(span.start - shift, span.end - shift, span.rule)


def _apply(text: str, spans: list[_Span]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], _mask(span.rule))
        end = span.end
    return "".join([*pieces, text[end:]])


def _mask(rule: str) -> str:
    return f"[redacted:{rule}]"


def _with_lines(text: str, spans: list[_Span]) -> Iterator[tuple[_Span, int]]:
    line, position = 1, 0
    for span in spans:
        line += text.count("\n", position, span.start)
        position = span.start
        yield span, line
