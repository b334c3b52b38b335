"""What depends on a record, and would need a look if it changed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.collect_checks import find_project_folders
from kb.errors import Busy, GitFailed
from kb.git.repository import Repository
from kb.history.record_links import resolve_citation
from kb.records.model import GLOBAL, LIVE, Record, list_aliases
from kb.records.record_paths import CONTENT
from kb.sessions.session_archive import list_sessions, read_session_file

if TYPE_CHECKING:
    from kb.workspace import Workspace

RELATIONS = ("superseded by", "amended by", "cited by", "supersedes", "amends", "same claim", "same files")
_MOST = 1000
"""Lines of code that are named."""


class Dependent(NamedTuple):
    """A record that would need a look."""

    relation: str
    """One of RELATIONS."""
    record: Record
    detail: str = ""
    """The key of the claim, the path that both are about, or the line of the citation."""


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
    return ImpactReport(
        record,
        tuple(records),
        (*_find_code_references(kb, record), *_find_impact_files(kb, record), *_find_citing_sessions(kb, record)),
    )


def _find_related_records(kb: Workspace, record: Record) -> Iterator[Dependent]:
    index = kb.index
    for facet, relation in (("supersedes", "superseded by"), ("amends", "amended by"), ("cites", "cited by")):
        for name in (record.id, *list_aliases(record.extra)):
            for other, rest in index.find_referrers(name, facet):
                project, _, line = rest.partition(":")
                aimed = resolve_citation(index, other, project, name)
                if aimed and aimed.path == record.path:
                    yield Dependent(relation, other, line)
    for relation, names in (("supersedes", record.supersedes), ("amends", record.amends)):
        aims = (resolve_citation(index, record, "", name) for name in names)
        yield from (Dependent(relation, aim) for aim in aims if aim)
    scopes = {record.scope, GLOBAL}
    for relation, facet, values in (("same claim", "claim", record.claims), ("same files", "impact", record.impact)):
        for value in values:
            for other, _ in index.find_referrers(value, facet):
                near = other.scope in scopes or record.scope == GLOBAL
                if other.path != record.path and other.status in LIVE and near:
                    yield Dependent(relation, other, value)


# -- outside the records --------------------------------------------------------------------------


def _find_project_folders(kb: Workspace, record: Record) -> dict[str, str]:
    """Return name and folder of the projects on this machine in which *record* holds."""
    known = find_project_folders(kb)
    if record.scope == GLOBAL:
        return known
    name = record.scope.removeprefix("project/")
    return {name: known[name]} if name in known else {}


def _find_code_references(kb: Workspace, record: Record) -> Iterator[OutsideReference]:
    """Yield the lines of code that cite *record* as `[D001]` or `kb:D001`, `[shop:D001]` from elsewhere."""
    project = record.scope.removeprefix("project/")
    names = [f"[{record.id}]", f"kb:{record.id}", f"[{project}:{record.id}]"]
    left = _MOST
    for top in dict.fromkeys([*_find_project_folders(kb, record).values(), kb.repository.top]):
        for path, line, text in _grep_tracked_files(kb, top, names):
            inside = os.path.join(top, path).startswith(os.path.join(kb.root, CONTENT) + os.sep)
            exact = any(re.search(rf"{re.escape(name)}(?![0-9A-Za-z])", text) for name in names)
            if exact and not inside and left:
                left -= 1
                yield OutsideReference("code", os.path.join(top, path), line, text.strip())


def _grep_tracked_files(kb: Workspace, top: str, words: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield path, line number and text of the lines in the tracked files of *top* with one of *words*."""
    given = [part for word in words for part in ("-e", word)]
    with contextlib.suppress(GitFailed, Busy):
        repository = Repository(top, kb.environment)
        if repository.top == top:
            out = repository.run_git(["grep", "-n", "-z", "-I", "-F", "--no-color", "--full-name", *given]).out
            for row in out.decode("utf-8", "replace").split("\n"):
                path, _, rest = row.partition("\0")
                number, _, text = rest.partition("\0")
                if number.isdigit():
                    yield path, int(number), text


def _find_impact_files(kb: Workspace, record: Record) -> Iterator[OutsideReference]:
    """Yield the files that *record* is about, where they stand on this machine."""
    for top in _find_project_folders(kb, record).values() if record.scope != GLOBAL else ():
        for path in record.impact:
            place = os.path.normpath(os.path.join(top, path))
            if place.startswith(top + os.sep) and os.path.lexists(place):
                yield OutsideReference("file", place)


def _find_citing_sessions(kb: Workspace, record: Record) -> Iterator[OutsideReference]:
    for session in list_sessions(kb):
        if session.project not in (record.scope, record.scope.removeprefix("project/")) and record.scope != GLOBAL:
            continue
        with contextlib.suppress(FileNotFoundError):
            if f"[{record.id}]" in read_session_file(kb, session, "compact.md"):
                yield OutsideReference("session", session.path)
