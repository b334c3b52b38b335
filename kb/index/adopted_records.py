"""Complete adopted records: link them, and add dates from git and impact paths from the project."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from kb.adr.adr_set import link_adopted
from kb.git.revisions import find_file_origins, list_files_around
from kb.records.model import Record
from kb.text.mentions import find_existing_paths

if TYPE_CHECKING:
    from kb.index.database import Index
    from kb.workspace import Workspace

_LISTED = re.compile(r"(?m)^[-*+][ \t]+`([^`\s]{1,300})`[ \t]*$")
"""An impact path in the form kb writes: a list item with nothing else."""
_DAYS = "adopted days"
"""Note on the days of files without a date: path → ISO day from history, "" if not committed."""


def complete_adopted(kb: Workspace, changed: Collection[str]) -> None:
    """Add day and impact to the adopted records at the paths *changed*, and link all adopted records again."""
    index = kb.index
    own = [record for record in index.list_adopted() if record.path in changed]
    for record in _fill_impact(kb, _fill_days(kb, own)):
        index.update_record(record)
    link_all(index)


def link_all(index: Index) -> None:
    """Update the links between the adopted records in *index*; write only those that change."""
    by_scope: dict[str, list[Record]] = defaultdict(list)
    for record in index.list_adopted():
        by_scope[record.scope].append(record)
    for scope, records in by_scope.items():
        paths = {record.path for record in records}
        taken = {record.id for record in records if _is_taken(index, scope, record.id, paths)}
        for before, now in zip(records, link_adopted(records, taken), strict=True):
            if before != now:
                index.update_record(now)


def _is_taken(index: Index, scope: str, record_id: str, adopted: Collection[str]) -> bool:
    return any(one.scope == scope and one.path not in adopted for one in index.find_by_id(record_id))


def _fill_days(kb: Workspace, records: list[Record]) -> list[Record]:
    """Return *records*; those without a date get the day on which their file was added."""
    known: dict[str, str] = json.loads(kb.index.get_note(_DAYS) or "{}")
    asked = [record.path for record in records if not record.date and not known.get(record.path)]
    if asked:
        places = {path: os.path.join(kb.root, *path.split("/")) for path in asked}
        origins = find_file_origins(kb, list(places.values()))
        known |= {path: origins[place].day if place in origins else "" for path, place in places.items()}
        kb.index.set_note(_DAYS, json.dumps(known))
    return [record._replace(date=record.date or known.get(record.path, "")) for record in records]


def _fill_impact(kb: Workspace, records: list[Record]) -> list[Record]:
    """Return *records* with the project files that they name; files beside a record are other records."""
    if not records:
        return []
    top, files = list_files_around(kb, kb.root)
    above = os.path.relpath(kb.root, top).replace(os.sep, "/") if top else "."
    filled = []
    for record in records:
        folder = posixpath.normpath(posixpath.join(above, posixpath.dirname(record.path)))
        texts = [record.title, *(section.text for section in record.sections if section.name != "alternatives")]
        named = find_existing_paths("\n".join(texts), files.copy, folder)
        own = tuple(name for name in named if posixpath.dirname(name.rstrip("/")) != folder and name != folder + "/")
        filled.append(record._replace(impact=tuple(dict.fromkeys((*_list_impact(record, files), *own)))))
    return filled


def _list_impact(record: Record, files: Collection[str]) -> Iterator[str]:
    """Yield the impact paths listed in *record* in kb's form; a name without a slash may be a file or folder."""
    for section in record.sections:
        for path in _LISTED.findall(section.text) if section.name == "impact" else ():
            is_path = "/" in path or path in files or any(file.startswith(f"{path}/") for file in files)
            if is_path and "://" not in path:
                yield path
