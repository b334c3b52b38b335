"""Decide how much fits a budget: whole items, the best first, never a token too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


def select_fitting(
    items: Iterable[T], budget: int, render: Callable[[list[T]], str], taken: Iterable[T] = ()
) -> list[T]:
    """Return *taken* and behind them the items, best first, whose rendering costs at most *budget* estimated tokens.

    An item that is too large for what is left is passed over, so that a long one does not silence those behind it.
    """
    taken = [*taken]
    for item in items:
        if estimate_tokens(render([*taken, item])) <= budget:
            taken.append(item)
    return taken


def fit_lines(items: Sequence[str], budget_tokens: int, *, header: str = "", footer: str = "") -> list[str]:
    """Return the *items*, best first, that fit *budget_tokens* on lines of their own between *header* and *footer*."""
    return select_fitting(items, budget_tokens, lambda taken: join_lines(taken, header=header, footer=footer))


def join_lines(items: Sequence[str], *, header: str = "", footer: str = "") -> str:
    """Return *items* on lines of their own between *header* and *footer*; "" without items."""
    return "\n".join(part for part in (header, *items, footer) if part) if items else ""
