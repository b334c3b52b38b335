"""How full an agent's context is, and what that calls for: the bands 50, 70, 85 and 95 %."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence

from kb.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

WINDOW = 200_000
"""Tokens of a context where nothing else is said."""


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


def window_of(model: str, windows: Sequence[str] = (), usual: int = WINDOW) -> int:
    """Return the window of *model* in tokens: by the first of *windows* ("claude-*[1m]=1000000") that fits."""
    for entry in windows:
        pattern, _, size = entry.rpartition("=")
        if size.strip().isdigit() and _fits(model, pattern.strip()):
            return int(size)
    return 1_000_000 if model.endswith("[1m]") else usual


def _fits(model: str, pattern: str) -> bool:
    """Tell whether *pattern* names *model*; brackets stand for themselves, as they do in the names of models."""
    return fnmatch.fnmatchcase(model, pattern.replace("[", "[[]"))


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
    about = record.get("compactMetadata")
    left = about.get("postTokens") if isinstance(about, dict) else None
    return left if isinstance(left, int) and left > 0 else 0


def usage_in(data: bytes, windows: Sequence[str] = (), usual: int = WINDOW) -> Usage:
    """Return how full the context was at the end of the transcript *data*, of which the beginning may be missing."""
    end = data.count(b"\n") + 1
    for number, row in zip(range(end, 0, -1), reversed(data.split(b"\n")), strict=False):
        if b'"usage"' not in row and b'"compact_boundary"' not in row:
            continue
        record = _record(row)
        left = after_compaction(record)
        tokens = left if left is not None else 0 if record.get("isSidechain") is True else context_tokens(record)
        if left is not None or tokens:
            model = str((record.get("message") or {}).get("model") or "") if left is None else ""
            return Usage(tokens, window_of(model, windows, usual), model, number)
    return Usage(0, usual)


def _record(row: bytes) -> dict[str, Any]:
    try:
        record = json.loads(row)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("message") or {}, dict) else {}
