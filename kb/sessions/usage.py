"""Measure how full an agent's context window is, and the band (50, 70, 85 and 95 %) that follows.

Hooks ask this at every prompt, so a transcript is read from its end, and only until a record answers.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence

from kb.sessions.host_records import parse_line, parse_whole_session, translate_host_record
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

# -- windows ---------------------------------------------------------------------------------------

WINDOW = 200_000
"""Tokens that are supposed where nobody says; nothing is claimed by them."""
_LARGE_WINDOW = 1_000_000
_CLAUDE_LARGE = (
    "opus-4-7 opus-4-8 opus-5 opus-5-5 sonnet-5 sonnet-5-5 haiku-5-5 fable-5 fable-5-1 fable-5-2 mythos-5 mythos-5-1"
    " mythos-5-2"
)
_CLAUDE_USUAL = (
    "3-5-sonnet 3-5-haiku 3-7-sonnet haiku-4-5 sonnet-4 sonnet-4-0 sonnet-4-5 sonnet-4-6"
    " opus-4 opus-4-0 opus-4-1 opus-4-5 opus-4-6"
)
MODELS = {f"claude-{name}": _LARGE_WINDOW for name in _CLAUDE_LARGE.split()}
MODELS |= {f"claude-{name}": 200_000 for name in _CLAUDE_USUAL.split()}
"""The windows of models, from the list of models in Claude Code 2.1.330 (2026-11-22). Some of the older ones can be
asked for more (`[1m]`); a session that holds more tokens than are here is taken for one of these."""
_FAMILIES: Mapping[str, int] = {"gemini-2.5-": 1_048_576, "gemini-3": 1_048_576}
"""How the names of models begin that have one window, from Gemini CLI 0.61.0 (2026-11-22)."""
_DATED_NAME = regex(r"(.+?)(?:-[0-9]{8})?(?:-(?:[0-9]{8}|v[0-9]+))?")


class ContextWindow(NamedTuple):
    """How much a context holds."""

    tokens: int
    is_known: bool = True
    """Whether somebody names it: the host, the settings, or what is known of the model."""


def find_window(model: str, windows: Sequence[str] = (), usual: int = 0) -> ContextWindow:
    """Return the window of *model*: by the first of *windows* ("claude-*[1m]=1000000") that fits, else as known.

    *usual* is the settings' own word for every other model; 0: there is none.
    """
    for entry in windows:
        pattern, _, size = entry.rpartition("=")
        # brackets stand for themselves, as they do in the names of models
        if size.strip().isdigit() and fnmatch.fnmatchcase(model, pattern.strip().replace("[", "[[]")):
            return ContextWindow(int(size))
    if model.endswith("[1m]"):
        return ContextWindow(_LARGE_WINDOW)
    # "us.anthropic.claude-opus-5-v1:0": the model without its provider, its day and its version
    name = model.lower().rsplit("/", 1)[-1].rpartition("anthropic.")[2]
    name = name.partition("@")[0].partition(":")[0].removesuffix("-latest")
    name = match[1] if (match := _DATED_NAME.fullmatch(name)) else name
    family = next((tokens for beginning, tokens in _FAMILIES.items() if name.startswith(beginning)), 0)
    known = usual or MODELS.get(name) or family
    return ContextWindow(known) if known else ContextWindow(WINDOW, is_known=False)


def enlarge_window(window: ContextWindow, peak: int) -> ContextWindow:
    """Return *window*, or a supposed one where a context has held more tokens, *peak*, than it."""
    return window if peak <= window.tokens else ContextWindow(max(peak, _LARGE_WINDOW), is_known=False)


# -- bands -----------------------------------------------------------------------------------------


class UsageBand(NamedTuple):
    """What a share of use calls for."""

    name: str
    above: float
    """In percent; the band holds from here on."""
    light: str
    form: str
    """The form that is given out in it."""


BANDS = (
    UsageBand("roomy", 0, "", "expanded"),
    UsageBand("normal", 50, "", "normal"),
    UsageBand("reminder", 70, "yellow", "compact"),
    UsageBand("prune", 85, "orange", "compact"),
    UsageBand("archive", 95, "red", "compact"),
)
"""< 50 expanded, 50–70 normal, 70–85 compact and a reminder, 85–95 pruning, > 95 archive (SHI-27, RUYI-23)."""


class ContextUsage(NamedTuple):
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


def find_band(percent: float) -> UsageBand:
    """Return the band that *percent* falls into: 50, 70 and 85 begin theirs, and the last begins above 95."""
    reached = [one for one in BANDS if (percent > one.above if one is BANDS[-1] else percent >= one.above)]
    return reached[-1] if reached else BANDS[0]


def find_usage_band(used: ContextUsage) -> UsageBand:
    """Return the band of what is *used*; it has no light where the size of the window is a guess."""
    found = find_band(used.percent)
    return found if used.is_known else found._replace(light="")


# -- records ---------------------------------------------------------------------------------------

_TELLS = tuple(
    f'"{word}"'.encode()
    for word in "usage compact_boundary token_count compacted tokens compaction session.compaction_complete".split()
)
"""Parts of a line that says how full a context is, whatever the host: the others need no parsing."""


def count_context_tokens(record: Mapping[str, Any]) -> int:
    """Return how many tokens the context had with the assistant's *record*; 0 where it does not say."""
    keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(_get_count(record, "message", "usage", key) for key in keys)


def read_tokens_after_compaction(record: Mapping[str, Any]) -> int | None:
    """Return the tokens that a compaction left, 0 where *record* does not say; None for another record."""
    if record.get("subtype") != "compact_boundary":
        return None
    return _get_count(record, "compactMetadata", "postTokens")


def read_usage(data: bytes, windows: Sequence[str] = (), usual: int = 0, peak: int = 0) -> ContextUsage:
    """Return how full the context was at the end of the transcript *data*, whose beginning may be missing.

    *peak*: the most tokens that the context is known to have held.
    """
    for number, record in _iter_usage_records(data):
        left, model, named = read_tokens_after_compaction(record), "", 0
        tokens = left or 0
        if left is None and record.get("isSidechain") is not True:
            tokens = count_context_tokens(record)
        # after a compaction no message has said yet which model goes on
        if left is None and tokens:
            model = str(record["message"].get("model") or "")
            named = _get_count(record, "message", "usage", "context_window")
        if left is not None or tokens:
            window = ContextWindow(named) if named else find_window(model, windows, usual)
            window = enlarge_window(_learn_window(window, data), max(tokens, peak))
            return ContextUsage(tokens, window.tokens, model, number, is_known=window.is_known)
    return ContextUsage(0, usual or WINDOW, is_known=bool(usual))


def _learn_window(window: ContextWindow, data: bytes) -> ContextWindow:
    """Return *window* with what the last compaction in *data* says about it.

    Where the host compacts by itself it takes the context for full: that is the window where nobody names another. A
    window is never smaller than what it has held.
    """
    # found in the bytes: a transcript of 100 MB is not parsed at every prompt
    at = data.rfind(b'"compact_boundary"')
    record = parse_line(data[data.rfind(b"\n", 0, at) + 1 :].split(b"\n", 1)[0]) if at >= 0 else None
    compaction = record.get("compactMetadata") if isinstance(record, dict) else None
    before = _get_count(compaction, "preTokens")
    if before and isinstance(compaction, dict) and compaction.get("trigger") == "auto" and not window.is_known:
        return ContextWindow(before)
    return enlarge_window(window, before)


def _iter_usage_records(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records that may say how full the context is, the last one first, with their lines."""
    messages = parse_whole_session(data)
    rows = data.split(b"\n") if messages is None else messages
    for number, row in zip(range(len(rows), 0, -1), reversed(rows), strict=True):
        record = row
        if isinstance(row, bytes):
            record = parse_line(row) if any(word in row for word in _TELLS) else None
        if isinstance(record, dict):
            yield from ((number, one) for one in reversed(translate_host_record(record)))


def _get_count(value: object, *keys: str) -> int:
    """Return the whole number above 0 that is under *keys* in nested objects, else 0."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
