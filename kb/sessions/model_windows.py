"""How many tokens a model's context holds: what is known of today's models, and what stands in the settings."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from kb.startup.namedtuple import NamedTuple

WINDOW = 200_000
"""Tokens that are supposed where nobody says; nothing is claimed by them."""
_LARGE = 1_000_000

_CLAUDE_LARGE = (
    "opus-4-7", "opus-4-8", "opus-5", "opus-5-5", "sonnet-5", "sonnet-5-5", "haiku-5-5", "fable-5", "fable-5-1",
    "fable-5-2", "mythos-5", "mythos-5-1", "mythos-5-2",
)  # fmt: skip
_CLAUDE_USUAL = (
    "3-5-sonnet", "3-5-haiku", "3-7-sonnet", "haiku-4-5", "sonnet-4", "sonnet-4-0", "sonnet-4-5", "sonnet-4-6",
    "opus-4", "opus-4-0", "opus-4-1", "opus-4-5", "opus-4-6",
)  # fmt: skip
MODELS: Mapping[str, int] = {
    **{f"claude-{name}": _LARGE for name in _CLAUDE_LARGE},
    **{f"claude-{name}": 200_000 for name in _CLAUDE_USUAL},
}
"""The windows of models, from the list of models in Claude Code 2.1.330 (2026-11-22). Some of the older ones can be
asked for more (`[1m]`); a session that holds more tokens than stand here is taken for one of these."""
_FAMILIES: Mapping[str, int] = {"gemini-2.5-": 1_048_576, "gemini-3": 1_048_576}
"""How the names of models begin that have one window, from Gemini CLI 0.61.0 (2026-11-22)."""


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
        if size.strip().isdigit() and _is_model_match(model, pattern.strip()):
            return ContextWindow(int(size))
    if model.endswith("[1m]"):
        return ContextWindow(_LARGE)
    known = usual or MODELS.get(_normalise_model_name(model)) or _find_family_window(_normalise_model_name(model))
    return ContextWindow(known) if known else ContextWindow(WINDOW, is_known=False)


def enlarge_window(window: ContextWindow, held: int) -> ContextWindow:
    """Return *window*, or a supposed one where a context has *held* more tokens than it."""
    return window if held <= window.tokens else ContextWindow(max(held, _LARGE), is_known=False)


def _find_family_window(name: str) -> int:
    return next((tokens for beginning, tokens in _FAMILIES.items() if name.startswith(beginning)), 0)


def _normalise_model_name(model: str) -> str:
    """Return the name of *model* without its provider, its day and its version ("us.anthropic.claude-opus-5-v1:0")."""
    name = model.lower().rsplit("/", 1)[-1].rpartition("anthropic.")[2]
    name = name.partition("@")[0].partition(":")[0].removesuffix("-latest")
    head, _, last = name.rpartition("-")
    if head and ((last.isdigit() and len(last) == 8) or (last[:1] == "v" and last[1:].isdigit())):
        name = head
    head, _, last = name.rpartition("-")
    return head if head and last.isdigit() and len(last) == 8 else name


def _is_model_match(model: str, pattern: str) -> bool:
    """Return whether *pattern* names *model*; brackets stand for themselves, as they do in the names of models."""
    return fnmatch.fnmatchcase(model, pattern.replace("[", "[[]"))
