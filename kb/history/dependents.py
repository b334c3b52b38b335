"""What depends on a record, and would need a look if it changed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kb.checks.collect_checks import projects
from kb.errors import Busy, GitFailed
from kb.git.repository import Repository
from kb.history.record_links import resolved
from kb.records.model import GLOBAL, LIVE, Record, aliases_of
from kb.records.record_paths import CONTENT
from kb.sessions.session_archive import session_file, sessions

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


class Place(NamedTuple):
    """A line outside the records that names the record, or a file that it is about."""

    kind: str
    """code: a line that cites it; file: one it is about; session: an archive that cites it."""
    path: str
    line: int = 0
    text: str = ""


class Impact(NamedTuple):
    """What depends on a record."""

    record: Record
    records: tuple[Dependent, ...]
    places: tuple[Place, ...]


def impact(kb: Workspace, name: str, *, scope: str = "") -> Impact:
    """Return what depends on the record *name*: other records, code that cites it, files and sessions."""
    kb.fresh()
    record = kb.record(name, scope=scope)
    found: dict[tuple[str, str], Dependent] = {}
    for one in _records(kb, record):
        found.setdefault((one.relation, one.record.path), one)
    records = sorted(found.values(), key=lambda one: RELATIONS.index(one.relation))
    return Impact(record, tuple(records), (*_code(kb, record), *_files(kb, record), *_sessions(kb, record)))


def _records(kb: Workspace, record: Record) -> Iterator[Dependent]:
    index = kb.index
    for facet, relation in (("supersedes", "superseded by"), ("amends", "amended by"), ("cites", "cited by")):
        for name in (record.id, *aliases_of(record.extra)):
            for other, rest in index.pointing_to(name, facet):
                project, _, line = rest.partition(":")
                aimed = resolved(index, other, project, name)
                if aimed and aimed.path == record.path:
                    yield Dependent(relation, other, line)
    for relation, names in (("supersedes", record.supersedes), ("amends", record.amends)):
        aims = (resolved(index, record, "", name) for name in names)
        yield from (Dependent(relation, aim) for aim in aims if aim)
    scopes = {record.scope, GLOBAL}
    for relation, facet, values in (("same claim", "claim", record.claims), ("same files", "impact", record.impact)):
        for value in values:
            for other, _ in index.pointing_to(value, facet):
                near = other.scope in scopes or record.scope == GLOBAL
                if other.path != record.path and other.status in LIVE and near:
                    yield Dependent(relation, other, value)


# -- outside the records --------------------------------------------------------------------------


def _tops(kb: Workspace, record: Record) -> dict[str, str]:
    """Return name and folder of the projects on this machine in which *record* holds."""
    known = projects(kb)
    if record.scope == GLOBAL:
        return known
    name = record.scope.removeprefix("project/")
    return {name: known[name]} if name in known else {}


def _code(kb: Workspace, record: Record) -> Iterator[Place]:
    """Yield the lines of code that cite *record* as `[D001]` or `kb:D001`, `[shop:D001]` from elsewhere."""
    project = record.scope.removeprefix("project/")
    names = [f"[{record.id}]", f"kb:{record.id}", f"[{project}:{record.id}]"]
    left = _MOST
    for top in dict.fromkeys([*_tops(kb, record).values(), kb.repository.top]):
        for path, line, text in _found(kb, top, names):
            inside = os.path.join(top, path).startswith(os.path.join(kb.root, CONTENT) + os.sep)
            exact = any(re.search(rf"{re.escape(name)}(?![0-9A-Za-z])", text) for name in names)
            if exact and not inside and left:
                left -= 1
                yield Place("code", os.path.join(top, path), line, text.strip())


def _found(kb: Workspace, top: str, words: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield path, line number and text of the lines in the tracked files of *top* with one of *words*."""
    given = [part for word in words for part in ("-e", word)]
    with contextlib.suppress(GitFailed, Busy):
        repository = Repository(top, kb.environment)
        if repository.top == top:
            out = repository.output(["grep", "-n", "-z", "-I", "-F", "--no-color", "--full-name", *given]).out
            for row in out.decode("utf-8", "replace").split("\n"):
                path, _, rest = row.partition("\0")
                number, _, text = rest.partition("\0")
                if number.isdigit():
                    yield path, int(number), text


def _files(kb: Workspace, record: Record) -> Iterator[Place]:
    """Yield the files that *record* is about, where they stand on this machine."""
    for top in _tops(kb, record).values() if record.scope != GLOBAL else ():
        for path in record.impact:
            place = os.path.normpath(os.path.join(top, path))
            if place.startswith(top + os.sep) and os.path.lexists(place):
                yield Place("file", place)


def _sessions(kb: Workspace, record: Record) -> Iterator[Place]:
    for session in sessions(kb):
        if session.project not in (record.scope, record.scope.removeprefix("project/")) and record.scope != GLOBAL:
            continue
        with contextlib.suppress(FileNotFoundError):
            if f"[{record.id}]" in session_file(kb, session, "compact.md"):
                yield Place("session", session.path)
