"""Put before a record that holds no longer the one that took its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kb.i18n import Message, msg
from kb.index.database import Index
from kb.records.model import LIVE, Record, Status
from kb.search.rank import SearchHit


def insert_successors(
    index: Index, hits: Sequence[SearchHit], *, adding: bool = True, named: Collection[str] = ()
) -> Iterator[tuple[SearchHit, Message | str]]:
    """Yield *hits* in their order, each once, a superseded one behind its successor, which is said.

    A successor that was not found is shown all the same where *adding* is true. The records whose paths are in
    *named* were asked for by their ids: they come before their successors.
    """
    given: set[str] = set()
    at = {hit.record.path: hit for hit in hits}
    for hit in hits:
        own: tuple[SearchHit, Message | str] = (hit, "")
        newer: list[tuple[SearchHit, Message | str]] = [
            (at.get(new.path) or hit._replace(record=new), msg("it supersedes {id}", id=hit.record.id))
            for new in _find_successors(index, hit.record)
            if adding or new.path in at
        ]
        ordered = [own, *newer] if hit.record.path in named else [*newer, own]
        for one, note in ordered:
            if one.record.path not in given:
                given.add(one.record.path)
                yield one, note


def _find_successors(index: Index, record: Record) -> list[Record]:
    """Return the live records that supersede *record*, those of its own scope."""
    if record.status != Status.SUPERSEDED:
        return []
    found = (new for new, _ in index.find_referrers(record.id, "supersedes"))
    return [new for new in found if new.scope == record.scope and new.status in LIVE]
