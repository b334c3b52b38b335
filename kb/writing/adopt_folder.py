"""Adopt folders of decision records: find the knowledge base for them, and say what was found."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kb.adr.adopted import list_record_files
from kb.adr.adr_file import read_adr
from kb.config import FILE
from kb.errors import BadInput, BadRecord, NoKnowledgeBase
from kb.files import read_if_exists
from kb.git.git_process import find_git_dir
from kb.git.revisions import iter_files
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.paths import find_root_above
from kb.records.front_matter import decode_record
from kb.records.kinds import status_name
from kb.text.segment import has_cjk

if TYPE_CHECKING:
    from kb.workspace import Workspace

_MOSTLY = 0.5
"""Share of the records from which on their language is that of a new knowledge base."""


def find_adopting_root(folder: str, environment: Mapping[str, str]) -> str:
    """Return the knowledge base around *folder*, else the top of the repository there; raise NoKnowledgeBase."""
    if root := find_root_above(folder, environment):
        return root
    if found := find_git_dir(os.path.realpath(folder)):
        return found[0]
    hint = msg("go into the repository that has them, or make one: git init")
    raise NoKnowledgeBase(msg("{path} is in no git repository", path=folder), hint=hint)


def _split_row(row: str) -> tuple[str, str]:
    """Return folder and scope of what a caller names: "docs/adr", or "docs/adr: project/pay"."""
    path, colon, scope = row.rpartition(":")
    return (path.strip(), f": {scope.strip()}") if colon and path and "/" not in scope[:1] else (row.strip(), "")


def guess_language(rows: Sequence[str]) -> str:
    """Return "zh" where most of the decision records in the folders of *rows* are in Chinese, else ""."""
    titles = []
    for row in rows:
        folder, _ = _split_row(row)
        for name in iter_files(folder):
            with contextlib.suppress(BadRecord):
                data = read_if_exists(os.path.join(folder, name)) if name.endswith(".md") else None
                titles.append(has_cjk(read_adr(decode_record(data), name).record.title) if data else False)
    return "zh" if titles and sum(titles) / len(titles) > _MOSTLY else ""


def locate_adopted(root: str, rows: Sequence[str]) -> list[str]:
    """Return *rows*, whose folders are named from the current one, as the settings of the base at *root* name them."""
    found = []
    for row in rows:
        folder, scope = _split_row(row)
        if not os.path.isdir(folder):
            raise BadInput(msg("there is no such file or folder"), path=folder)
        inside = os.path.relpath(os.path.realpath(folder), os.path.realpath(root)).replace(os.sep, "/")
        found.append(f"{inside}{scope}")
    return found


def refuse_taken_numbers(kb: Workspace, rows: Sequence[str]) -> None:
    """Raise BadInput where the numbers of what is to be adopted are those of other decisions of its scope."""
    files = list_record_files(kb.config._replace(adopt=tuple(rows)))
    for folder in files.adopted:
        own = {
            record.id
            for record in kb.records(Filter(("decision",), scopes=(folder.scope,)))
            if kb.files.find_folder(record.path) is None
        }
        wanted = set()
        for name in iter_files(os.path.join(kb.root, *folder.path.split("/"))) if own else ():
            with contextlib.suppress(BadRecord):
                path = f"{folder.path}/{name}"
                data = read_if_exists(os.path.join(kb.root, *path.split("/"))) if name.endswith(".md") else None
                wanted |= {files.read(data, path).id} if data else set()
        if taken := sorted(own & wanted):
            shown = ", ".join(taken[:5]) + (" …" if len(taken) > 5 else "")
            said = msg("{ids} are other records of {scope} already", ids=shown, scope=folder.scope)
            raise BadInput(
                said,
                path=folder.path,
                hint=msg('give the folder a scope: --adopt "{path}: project/NAME"', path=folder.path),
            )


def describe_adopted(kb: Workspace) -> Iterator[Message]:
    """Yield what was found in the adopted folders: how many records of which status, and what is none."""
    index = kb.sync_index()
    records = index.list_adopted()
    broken = [path for path, _, _ in index.list_broken() if kb.files.find_folder(path)]
    for folder in reversed(kb.files.adopted):
        own = [record for record in records if kb.files.find_folder(record.path) == folder]
        counts = Counter(str(record.status) for record in own)
        yield msg(
            "{folder}: {number} decisions adopted ({scope})", folder=folder.path, number=len(own), scope=folder.scope
        )
        for status, number in counts.most_common():
            yield msg("  {number} {status}", number=number, status=status_name(status))
        if own:
            continue
        yield msg("there are no decision records yet; the first one is written with: kb new")
    if broken:
        yield msg("cannot be read: {paths}; see: kb check", paths=", ".join(broken[:5]))
    yield msg(
        "new decisions are written there in the same form; to undo this, take the line adopt out of {file}", file=FILE
    )
