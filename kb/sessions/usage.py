"""How full an agent's context is, and what that calls for: the bands 50, 70, 85 and 95 %."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kb.sessions import adapters
from kb.sessions.model_windows import WINDOW, Window, enlarge, find_window
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Band(NamedTuple):
    """What a share of use calls for."""

    name: str
    above: float
    """In percent; the band holds from here on."""
    light: str
    form: str
    """The form that is given out in it."""


BANDS = (
    Band("roomy", 0, "", "expanded"),
    Band("normal", 50, "", "normal"),
    Band("reminder", 70, "yellow", "compact"),
    Band("prune", 85, "orange", "compact"),
    Band("archive", 95, "red", "compact"),
)
"""< 50 expanded, 50–70 normal, 70–85 compact and a reminder, 85–95 pruning, > 95 archive (SHI-27, RUYI-23)."""


class Usage(NamedTuple):
    """How much of a context is in use."""

    tokens: int = 0
    window: int = WINDOW
    model: str = ""
    line: int = 0
    """The line of the transcript that says so; 0 for none."""
    given: float = -1.0
    """The share in percent where somebody else measured it; -1: by the tokens."""
    is_known: bool = False
    """Whether the share is: measured by the host, or of a window that somebody names."""

    @property
    def percent(self) -> float:
        """Return the share in percent."""
        return self.given if self.given >= 0 else 100 * self.tokens / max(self.window, 1)

    @property
    def left(self) -> int:
        """Return how many tokens are free, at least 0."""
        return max(round(self.window * (1 - self.percent / 100)), 0)


def band(percent: float) -> Band:
    """Return the band that *percent* falls into: 50, 70 and 85 begin theirs, and the last begins above 95."""
    held = [one for one in BANDS if (percent > one.above if one is BANDS[-1] else percent >= one.above)]
    return held[-1] if held else BANDS[0]


def band_of(used: Usage) -> Band:
    """Return the band of what is *used*; without a window that somebody names there is no light to it."""
    found = band(used.percent)
    return found if used.is_known else found._replace(light="")


def window_of(model: str, windows: Sequence[str] = (), usual: int = 0) -> int:
    """Return the window of *model* in tokens, known or supposed (see `find_window`)."""
    return find_window(model, windows, usual).tokens


def context_tokens(record: Mapping[str, Any]) -> int:
    """Return how many tokens the context had with the assistant's *record*; 0 where it does not say."""
    message = record.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return 0
    parts = (usage.get(key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    return sum(part for part in parts if isinstance(part, int) and not isinstance(part, bool) and part > 0)


def after_compaction(record: Mapping[str, Any]) -> int | None:
    """Return the tokens that a compaction left, 0 where *record* does not say; None for another record."""
    if record.get("subtype") != "compact_boundary":
        return None
    return _count(_about_compaction(record).get("postTokens"))


def before_compaction(record: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many tokens the context had before a compaction, and whether the host found it full by itself."""
    about = _about_compaction(record)
    return _count(about.get("preTokens")), about.get("trigger") == "auto"


def _about_compaction(record: Mapping[str, Any]) -> Mapping[str, Any]:
    about = record.get("compactMetadata")
    return about if isinstance(about, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def usage_in(data: bytes, windows: Sequence[str] = (), usual: int = 0, held: int = 0) -> Usage:
    """Return how full the context was at the end of the transcript *data*, of which the beginning may be missing.

    *held*: so many tokens the context has had before, as far as is known.
    """
    for number, record in _from_the_end(data):
        left = after_compaction(record)
        tokens = left if left is not None else 0 if record.get("isSidechain") is True else context_tokens(record)
        if left is not None or tokens:
            message = (record.get("message") or {}) if left is None else {}
            model, told = str(message.get("model") or ""), _count((message.get("usage") or {}).get("context_window"))
            window = Window(told) if told else find_window(model, windows, usual)
            window = enlarge(learn_window(window, data), max(tokens, held))
            return Usage(tokens, window.tokens, model, number, is_known=window.is_known)
    return Usage(0, usual or WINDOW, is_known=bool(usual))


def learn_window(window: Window, data: bytes) -> Window:
    """Return *window* with what the last compaction in *data* tells of it.

    Where the host compacts by itself it takes the context for full: that is the window where nobody names another. A
    window is never smaller than what it has held.
    """
    at = data.rfind(b'"compact_boundary"')
    if at < 0:
        return window
    held, is_full = before_compaction(_record(data[data.rfind(b"\n", 0, at) + 1 :].split(b"\n", 1)[0]))
    if is_full and held and not window.is_known:
        return Window(held)
    return enlarge(window, held)


_SAYS = (
    b'"usage"',
    b'"compact_boundary"',
    b'"token_count"',
    b'"compacted"',
    b'"tokens"',
    b'"compaction"',
    b'"session.compaction_complete"',
)
"""What stands in a line that says how full a context is, whatever the host."""


def _from_the_end(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records that may say how full the context is, the last one first, with their lines."""
    messages = adapters.whole(data)
    if messages is not None:
        found = ((number, messages[number - 1]) for number in range(len(messages), 0, -1))
    else:
        rows = data.split(b"\n")
        found = (
            (number, _record(rows[number - 1]))
            for number in range(len(rows), 0, -1)
            if any(word in rows[number - 1] for word in _SAYS)
        )
    for number, record in found:
        yield from ((number, one) for one in reversed(adapters.records(record)))


def _record(row: bytes) -> dict[str, Any]:
    try:
        record = json.loads(row)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("message") or {}, dict) else {}
