"""What points to what: citations, supersedes, amends, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kb.index.database import Index
from kb.index.record_ids import find_renumbered, list_scopes, qualify_name_for
from kb.records import record_file
from kb.records.model import GLOBAL, Record, list_aliases

if TYPE_CHECKING:
    from kb.workspace import Workspace


class RecordLink(NamedTuple):
    """One end of a link, seen from a record."""

    relation: str
    """cites, supersedes or amends; seen from the other end the same word with `outward` False."""
    outward: bool
    name: str
    """The id at the other end, with its project where that is another."""
    title: str
    """The title at the other end; "" for a link that leads nowhere."""
    line: int = 0


def list_links(kb: Workspace, name: str, *, scope: str = "") -> list[RecordLink]:
    """Return all links of the record *name*, outward ones first.

    The other ends have the names by which the caller finds them; where nothing is known of him, those of the record's
    own scope, as they are written in it.
    """
    index = kb.sync_index()
    record = kb.record(name, scope=scope)
    body = "\n".join([*(section.text for section in record.sections), record.user])
    cited = (*record_file.find_citations(body), *record_file.find_record_links(body))
    found = [
        _build_outward_link(index, record, "cites", project, record_id, line, kb.caller_scope)
        for project, record_id, line in cited
    ]
    for relation, targets in (("supersedes", record.supersedes), ("amends", record.amends)):
        found += [_build_outward_link(index, record, relation, "", target, 0, kb.caller_scope) for target in targets]
    for relation in ("cites", "supersedes", "amends"):
        found += _find_inward_links(index, record, relation, kb.caller_scope or record.scope)
    return list(dict.fromkeys(found))


def resolve_citation(index: Index, citing: Record, project: str, record_id: str) -> Record | None:
    """Return what `[project:ID]` in *citing* means: its own scope, then global; with a project, that one (SHI-18).

    Where nothing has the number, what once had it.
    """
    scopes = [GLOBAL if project == GLOBAL else f"project/{project}"] if project else [citing.scope, GLOBAL]
    for asked in (index.find_by_id, partial(find_renumbered, index)):
        named = {record.scope: record for record in asked(record_id)}
        if found := next((named[scope] for scope in scopes if scope in named), None):
            return found
    return None


def _find_inward_links(index: Index, record: Record, relation: str, reader: str) -> Iterator[RecordLink]:
    for record_id in (record.id, *list_aliases(record.extra)):
        for other, rest in index.find_referrers(record_id, relation):
            project, _, line = rest.partition(":")
            aimed = resolve_citation(index, other, project, record_id)
            if aimed and aimed.path == record.path:
                yield RecordLink(relation, False, _format_link_name(index, reader, other), other.title, int(line or 0))


def _build_outward_link(
    index: Index, record: Record, relation: str, project: str, target: str, line: int, reader: str
) -> RecordLink:
    aimed = resolve_citation(index, record, project, target)
    if aimed is None or not reader:
        return RecordLink(
            relation, True, f"{project}:{target}" if project else target, aimed.title if aimed else "", line
        )
    return RecordLink(relation, True, _format_link_name(index, reader, aimed), aimed.title, line)


def _format_link_name(index: Index, reader: str, other: Record) -> str:
    return qualify_name_for(partial(list_scopes, index), other.id, other.scope, reader)
