"""Find references between records and files in both directions, and the dependents to review after a change."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adopted import find_adopted_citations
from kb.checks.collect_checks import find_project_folders
from kb.errors import Busy, GitFailed
from kb.git.repository import Repository
from kb.index.database import Index
from kb.index.record_ids import find_renumbered, qualify_name_for
from kb.records.citations import find_citations, find_record_links
from kb.records.kinds import CONTENT
from kb.records.model import GLOBAL, LIVE, Record, list_aliases, parse_scope_name
from kb.sessions.session_archive import list_sessions, read_session_file

if TYPE_CHECKING:
    from kb.workspace import Workspace


# -- links ----------------------------------------------------------------------------------------


class RecordLink(NamedTuple):
    """One end of a link, seen from a record."""

    relation: str
    """cites, supersedes or amends; seen from the other end the same word with `outward` False."""
    outward: bool
    name: str
    """The id at the other end, with its project where that is another."""
    title: str
    """The title at the other end, or "" for a broken link."""
    line: int = 0


def list_links(kb: Workspace, name: str, *, scope: str = "") -> list[RecordLink]:
    """Return all links of the record *name*, outward ones first.

    The other ends have the names by which the caller finds them; where nothing is known of the caller, those of the
    record's own scope, as they are written in it.
    """
    index = kb.sync_index()
    record = kb.record(name, scope=scope)
    body = "\n".join([*(section.text for section in record.sections), record.user])
    targets = [("cites", *cited) for cited in (*find_citations(body), *find_record_links(body))]
    named = {one.id: one.line for one in reversed([*find_adopted_citations(record, body)])}
    targets += [("cites", "", id, line) for id, line in named.items() if resolve_citation(index, record, "", id)]
    targets += [("supersedes", "", target, 0) for target in record.supersedes]
    targets += [("amends", "", target, 0) for target in record.amends]
    found = []
    for relation, project, target, line in targets:
        aimed = resolve_citation(index, record, project, target)
        written = f"{project}:{target}" if project else target
        shown = _qualify_name(index, kb.caller_scope, aimed) if aimed and kb.caller_scope else written
        found.append(RecordLink(relation, True, shown, aimed.title if aimed else "", line))
    for relation in ("cites", "supersedes", "amends"):
        for other, line_text in _find_referrers(index, record, relation):
            shown = _qualify_name(index, kb.caller_scope or record.scope, other)
            found.append(RecordLink(relation, False, shown, other.title, int(line_text or 0)))
    return list(dict.fromkeys(found))


def _qualify_name(index: Index, reader: str, other: Record) -> str:
    return qualify_name_for(index.list_scopes, other.id, other.scope, reader)


def _find_referrers(index: Index, record: Record, facet: str) -> Iterator[tuple[Record, str]]:
    """Yield the records that refer to *record* under any id it has had, each with the line that does."""
    for name in (record.id, *list_aliases(record.extra)):
        for other, rest in index.find_referrers(name, facet):
            project, _, line = rest.partition(":")
            aimed = resolve_citation(index, other, project, name)
            if aimed and aimed.path == record.path:
                yield other, line


def resolve_citation(index: Index, citing: Record, project: str, record_id: str) -> Record | None:
    """Resolve `[project:ID]` in *citing*: the project if named, else its own scope, then global (SHI-18).

    If no record has the number, return the one that had it before.
    """
    scopes = [parse_scope_name(project)] if project else [citing.scope, GLOBAL]
    # A number in use means its current record, though another one had it before it was renumbered.
    for find in (index.find_by_id, partial(find_renumbered, index)):
        named = {record.scope: record for record in find(record_id)}
        if found := next((named[scope] for scope in scopes if scope in named), None):
            return found
    return None


# -- dependents -----------------------------------------------------------------------------------

RELATIONS = ("superseded by", "amended by", "cited by", "supersedes", "amends", "same claim", "same files")
MAX_CODE_LINES = 1000
"""Maximum lines of code to list."""


class Dependent(NamedTuple):
    """A record to review."""

    relation: str
    """One of RELATIONS."""
    record: Record
    detail: str = ""
    """The key of the claim, the common path, or the line of the citation."""


class OutsideReference(NamedTuple):
    """A line outside the records that names the record, or a file that it is about."""

    kind: str
    """code: a line that cites it; file: one it is about; session: an archive that cites it."""
    path: str
    line: int = 0
    text: str = ""


class ImpactReport(NamedTuple):
    """What depends on a record."""

    record: Record
    records: tuple[Dependent, ...]
    places: tuple[OutsideReference, ...]


def find_dependents(kb: Workspace, name: str, *, scope: str = "") -> ImpactReport:
    """Return what depends on the record *name*: other records, code that cites it, files and sessions."""
    kb.sync_index()
    record = kb.record(name, scope=scope)
    found: dict[tuple[str, str], Dependent] = {}
    for one in _find_related_records(kb, record):
        found.setdefault((one.relation, one.record.path), one)
    records = sorted(found.values(), key=lambda one: RELATIONS.index(one.relation))
    folders = find_project_folders(kb)
    tops = list(folders.values())
    if record.scope != GLOBAL:
        own = record.scope.removeprefix("project/")
        tops = [folders[own]] if own in folders else []
    outside = (_find_code_references(kb, record, tops), _find_impact_files(record, tops), _find_sessions(kb, record))
    return ImpactReport(record, tuple(records), tuple(chain(*outside)))


def _find_related_records(kb: Workspace, record: Record) -> Iterator[Dependent]:
    index = kb.index
    for facet, relation in (("supersedes", "superseded by"), ("amends", "amended by"), ("cites", "cited by")):
        yield from (Dependent(relation, other, line) for other, line in _find_referrers(index, record, facet))
    for relation, names in (("supersedes", record.supersedes), ("amends", record.amends)):
        aims = (resolve_citation(index, record, "", name) for name in names)
        yield from (Dependent(relation, aim) for aim in aims if aim)
    # The same key or path in another project is another thing (`timeout`, src/main.py); but a global one governs all.
    scopes = {record.scope, GLOBAL}
    for relation, facet, values in (("same claim", "claim", record.claims), ("same files", "impact", record.impact)):
        for value in values:
            for other, _ in index.find_referrers(value, facet):
                is_near = other.scope in scopes or record.scope == GLOBAL
                if other.path != record.path and other.status in LIVE and is_near:
                    yield Dependent(relation, other, value)


def _find_code_references(kb: Workspace, record: Record, tops: list[str]) -> Iterator[OutsideReference]:
    """Yield the lines of code that cite *record* as `[D001]` or `kb:D001`, `[shop:D001]` from elsewhere."""
    project = record.scope.removeprefix("project/")
    names = [f"[{record.id}]", f"kb:{record.id}", f"[{project}:{record.id}]"]
    # `kb:D001` must not be found in `kb:D0012`.
    is_cited = re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?![0-9A-Za-z])").search
    options = ["-n", "-z", "-I", "-F", "--no-color", "--full-name", *(word for name in names for word in ("-e", name))]
    left = MAX_CODE_LINES
    for top in dict.fromkeys([*tops, kb.repository.top]):
        rows: list[str] = []
        # git grep fails if it finds nothing, and in a folder that is not a repository.
        with contextlib.suppress(GitFailed, Busy):
            repository = Repository(top, kb.environment)
            if repository.top == top:
                rows = repository.run_git(["grep", *options]).out.decode("utf-8", "replace").split("\n")
        for path, number, text in (row.split("\0", 2) for row in rows if row.count("\0") > 1):
            file = os.path.join(top, path)
            is_record = file.startswith(os.path.join(kb.root, CONTENT) + os.sep)
            if number.isdigit() and is_cited(text) and not is_record and left:
                left -= 1
                yield OutsideReference("code", file, int(number), text.strip())


def _find_impact_files(record: Record, tops: list[str]) -> Iterator[OutsideReference]:
    """Yield the files below *tops* that *record* is about, where they are on this machine."""
    for top in tops if record.scope != GLOBAL else ():
        for path in record.impact:
            file = os.path.normpath(os.path.join(top, path))
            if file.startswith(top + os.sep) and os.path.lexists(file):
                yield OutsideReference("file", file)


def _find_sessions(kb: Workspace, record: Record) -> Iterator[OutsideReference]:
    """Yield the archived sessions of the record's project, of any for a global one, that cite it."""
    for session in list_sessions(kb):
        if record.scope == GLOBAL or session.project in (record.scope, record.scope.removeprefix("project/")):
            with contextlib.suppress(FileNotFoundError):
                if f"[{record.id}]" in read_session_file(kb, session, "compact.md"):
                    yield OutsideReference("session", session.path)
