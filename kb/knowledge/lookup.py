"""Find the knowledge base around a folder, the one record that a name means, and the files that hold none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.config import FILE
from kb.errors import BadRecord, NoKnowledgeBase, UnknownId
from kb.home import found, passed_over
from kb.record import GLOBAL, Record, aliases_of
from kb.store.index import Index
from kb.words import Said, say


def root_around(start: str, environment: Mapping[str, str]) -> str:
    """Return the root of the knowledge base that holds for the folder *start*; raise NoKnowledgeBase."""
    root = found(start, environment)
    if root is not None:
        return root
    if named := environment.get("KB_HOME"):
        said = say("$KB_HOME names {path}, which is not a knowledge base", path=named)
        raise NoKnowledgeBase(said, hint=say("make one: kb init {path}", path=named))
    if over := passed_over(start, environment):
        said = say("{path} belongs to somebody else and is passed over", path=os.path.join(over, FILE))
        raise NoKnowledgeBase(said, hint=say("if you trust its owner, name it: KB_HOME={path}", path=over))
    raise NoKnowledgeBase(say("there is no knowledge base here"), hint=say("make one: kb init"))


def root_at(root: str) -> str:
    """Return *root* where a knowledge base stands; raise NoKnowledgeBase."""
    if not os.path.isfile(os.path.join(root, FILE)):
        said = say("{path} is not a knowledge base", path=root)
        raise NoKnowledgeBase(said, hint=say("make one: kb init {path}", path=root))
    return root


def one_named(index: Index, name: str, scope: str = "") -> Record:
    """Return the one record *name* means, seen from *scope*; raise UnknownId."""
    project, _, record_id = name.strip().strip("[]").rpartition(":")
    named = index.named(record_id.upper() if record_id.isascii() else record_id)
    named = named or once_named(index, record_id.upper())
    if project:
        named = [r for r in named if r.scope == (GLOBAL if project == GLOBAL else f"project/{project}")]
    for wanted in (scope, GLOBAL):
        here = [r for r in named if r.scope == wanted]
        if len(here) == 1:
            return here[0]
    if len(named) == 1:
        return named[0]
    if named:
        choices = ", ".join(f"{r.scope.removeprefix('project/')}:{r.id}" for r in named)
        raise UnknownId(
            say("{id} names several records: {choices}", id=name, choices=choices), hint=say("name one of them")
        )
    for error in unreadable(index):
        if record_id and error.path.rpartition("/")[2].upper().startswith(f"{record_id.upper()}-"):
            raise error
    raise UnknownId(say("there is no record {id}", id=name), hint=say("see: kb list"))


def once_named(index: Index, record_id: str) -> list[Record]:
    """Return the records that had the number *record_id* before they were renumbered."""
    return [record for record in index.records() if record_id in aliases_of(record.extra)]


def unreadable(index: Index) -> list[BadRecord]:
    """Return for each file that *index* could not read as a record why, where, and what to do."""
    hint = say("mend the file by hand; see: kb check")
    rows = index.broken()
    return [BadRecord(Said(*json.loads(problem)), hint=hint, path=path, line=line) for path, problem, line in rows]
