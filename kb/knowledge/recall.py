"""The way out: query → index → rank → budget → form."""

from typing import TYPE_CHECKING, NamedTuple

from kb.record import Record

if TYPE_CHECKING:
    pass


class Answer(NamedTuple):
    """A record that answers a query."""

    record: Record
    score: float
    """The higher the better; comparable within one answer list only."""
    snippet: str
    """The words around the first match, matches between « and »."""
