"""Shorten a search result and keep what matters most: the best matches, the newest files, what the task is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from kb.sessions.tool_calls import MARK
from kb.startup.lazy_regex import regex
from kb.text.segment import build_index_terms, estimate_tokens

_LEFT_OUT = MARK + "{left} of {all} lines left out]"
_TOO_LONG = MARK + "{size} tokens left out: no room is left; search for less]"
_PATH = regex(r"^(\S[^:\n]*?)(?::\d+[:-]|$)")
_HALF_LIFE = 86_400.0
"""Seconds after which a change of a file counts half (one day)."""
_RARE = 3.0
_WIDEST = 400
"""Characters of a line that are kept when even the best one does not fit."""


def shorten_output(
    text: str, most: int, *, rows: int = 0, words: Sequence[str] = (), changed: Mapping[str, float] | None = None,
    now: float = 0.0, keep: Callable[[str], Collection[str]] = lambda _: (),
) -> str:  # fmt: skip
    """Return *text* with at most *most* estimated tokens and, where *rows* is not 0, as many lines.

    The lines that stay keep their order. *words* say what is looked for; *changed* holds when files were changed, in
    seconds; lines for which *keep* says something come before all others. A text that fits comes back as it is.
    """
    lines = text.split("\n")
    if (not rows or len(_filter_filled(lines)) <= rows) and estimate_tokens(text) <= most:
        return text
    note = _LEFT_OUT.format(left=len(lines), all=len(lines))
    room = most - estimate_tokens(f"\n{note}")
    if room <= 0:
        return _TOO_LONG.format(size=estimate_tokens(text))
    order = rank_lines(lines, words, changed or {}, now, keep)
    chosen: set[int] = set()
    filled = 0
    for at in order:
        size = estimate_tokens(f"{lines[at]}\n")
        if size > room or (rows and filled >= rows):
            continue
        chosen.add(at)
        room -= size
        filled += 1
    if not any(lines[at].strip() for at in chosen):
        return f"{_clip_line(lines[order[0]], room)}\n{note}"
    left = len(_filter_filled(lines)) - len([at for at in chosen if lines[at].strip()])
    kept = "\n".join(lines[at] for at in sorted(chosen))
    return f"{kept}\n{_LEFT_OUT.format(left=left, all=len(_filter_filled(lines)))}"


def rank_lines(
    lines: Sequence[str], words: Sequence[str], changed: Mapping[str, float], now: float,
    keep: Callable[[str], Collection[str]] = lambda _: (),
) -> list[int]:  # fmt: skip
    """Return the numbers of *lines*, what matters most first (RUYI-38): kept ones, then matches, newness and order."""
    wanted = {term for word in words for term in build_index_terms(word[:2000]).split()}
    held = [wanted.intersection(build_index_terms(line[:_WIDEST]).split()) for line in lines]
    frequency: dict[str, int] = {}
    for terms in held:
        for term in terms:
            frequency[term] = frequency.get(term, 0) + 1

    def score_line(at: int) -> float:
        match = sum(math.log(1 + len(lines) / frequency[term]) for term in held[at])
        path = _PATH.match(lines[at])
        when = changed.get(path.group(1)) if path else None
        new = _RARE * 0.5 ** (max(now - when, 0) / _HALF_LIFE) if when else 0.0
        return match + new

    return sorted(range(len(lines)), key=lambda at: (not lines[at].strip(), not keep(lines[at]), -score_line(at), at))


def _filter_filled(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip() and not line.startswith(MARK)]


def _clip_line(line: str, room: int) -> str:
    """Return the beginning of *line* that fits into *room* tokens."""
    short = line[: min(_WIDEST, 4 * room)]
    while short and estimate_tokens(short) > room:
        short = short[: len(short) * 3 // 4]
    return short
