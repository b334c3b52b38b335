"""Plan the file that says whose a project is."""

from __future__ import annotations

import json
import os

from kb.files import read_if_exists
from kb.records.model import GLOBAL
from kb.records.record_paths import PROJECT_FILE
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.project import load_claims, parse_owners

if TYPE_CHECKING:
    from kb.writing.transaction import Transaction


def plan_mark(writing: Transaction, scope: str) -> None:
    """Plan the file that says whose the project of *scope* is, where that is not said yet."""
    kb = writing.kb
    if scope == GLOBAL:
        return
    path = f"content/anchors/projects/{scope.removeprefix('project/')}/{PROJECT_FILE}"
    owners = parse_owners(read_if_exists(os.path.join(kb.root, path)))
    claim = load_claims(kb).get(scope.removeprefix("project/"))
    own = [claim] if claim is not None else []
    if path not in writing.changes and (owners is None or (own and not owners)):
        before = writing.read_planned(path)
        if not parse_owners(before):
            writing.changes[path] = (before, json.dumps({"identity": own}, indent=1).encode() + b"\n")
