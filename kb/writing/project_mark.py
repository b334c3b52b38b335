"""Plan the file that says whose a project is."""

from __future__ import annotations

import json
import os

from kb.files import content
from kb.records.model import GLOBAL
from kb.records.record_paths import PROJECT_FILE
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.project import claims, owners_in

if TYPE_CHECKING:
    from kb.writing.transaction import Writing


def mark(writing: Writing, scope: str) -> None:
    """Plan the file that says whose the project of *scope* is, where that is not said yet."""
    kb = writing.kb
    if scope == GLOBAL:
        return
    path = f"content/anchors/projects/{scope.removeprefix('project/')}/{PROJECT_FILE}"
    owners = owners_in(content(os.path.join(kb.root, path)))
    own = [claims(kb)[name]] if (name := scope.removeprefix("project/")) in claims(kb) else []
    if path not in writing.changes and (owners is None or (own and not owners)):
        before = writing.text_of(path)
        if not owners_in(before):
            writing.changes[path] = (before, json.dumps({"identity": own}, indent=1).encode() + b"\n")
