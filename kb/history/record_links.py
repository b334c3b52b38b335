"""What points to what: citations, supersedes, amends, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb.index.database import Index
from kb.index.lookup import name_in, once_named, scopes_of
from kb.records import record_file
from kb.records.model import GLOBAL, Record, aliases_of

if TYPE_CHECKING:
    from kb.workspace import Workspace


class Link(NamedTuple):
    """One end of a link, seen from a record."""

    relation: str
    """cites, supersedes or amends; seen from the other end the same word with `outward` False."""
    outward: bool
    name: str
    """The id at the other end, with its project where that is another."""
    title: str
    """The title at the other end; "" for a link that leads nowhere."""
    line: int = 0


def links(kb: Workspace, name: str, *, scope: str = "") -> list[Link]:
    """Return all links of the record *name*, outward ones first.

    The other ends have the names by which the caller finds them; where nothing is known of him, those of the record's
    own scope, as they are written in it.
    """
    index = kb.fresh()
    record = kb.record(name, scope=scope)
    body = "\n".join([*(section.text for section in record.sections), record.user])
    cited = (*record_file.citations(body), *record_file.record_links(body))
    found = [_outward(index, record, "cites", project, record_id, line, kb.here) for project, record_id, line in cited]
    for relation, targets in (("supersedes", record.supersedes), ("amends", record.amends)):
        found += [_outward(index, record, relation, "", target, 0, kb.here) for target in targets]
    for relation in ("cites", "supersedes", "amends"):
        found += _inward(index, record, relation, kb.here or record.scope)
    return list(dict.fromkeys(found))


def resolved(index: Index, citing: Record, project: str, record_id: str) -> Record | None:
    """Return what `[project:ID]` in *citing* means: its own scope, then global; with a project, that one (SHI-18).

    Where nothing has the number, what once had it.
    """
    scopes = [GLOBAL if project == GLOBAL else f"project/{project}"] if project else [citing.scope, GLOBAL]
    for asked in (index.named, partial(once_named, index)):
        named = {record.scope: record for record in asked(record_id)}
        if found := next((named[scope] for scope in scopes if scope in named), None):
            return found
    return None


def _inward(index: Index, record: Record, relation: str, reader: str) -> Iterator[Link]:
    for record_id in (record.id, *aliases_of(record.extra)):
        for other, rest in index.pointing_to(record_id, relation):
            project, _, line = rest.partition(":")
            aimed = resolved(index, other, project, record_id)
            if aimed and aimed.path == record.path:
                yield Link(relation, False, _seen_from(index, reader, other), other.title, int(line or 0))


def _outward(index: Index, record: Record, relation: str, project: str, target: str, line: int, reader: str) -> Link:
    aimed = resolved(index, record, project, target)
    if aimed is None or not reader:
        return Link(relation, True, f"{project}:{target}" if project else target, aimed.title if aimed else "", line)
    return Link(relation, True, _seen_from(index, reader, aimed), aimed.title, line)


def _seen_from(index: Index, reader: str, other: Record) -> str:
    return name_in(partial(scopes_of, index), other.id, other.scope, reader)
