"""The records as they stood at a commit, to be asked like those of today.

Their index is a file beside that of today, named by the tree of records it holds, so that commits which change no
record share one. It is made from a copy of today's by reading only the files that differ: history changes little at a
time, and reading 10,000 records anew takes ten times as long. A few are kept, the ones last asked.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kb.errors import BadRecord
from kb.files import remove_file
from kb.git.git_log import read_objects
from kb.git.revisions import list_changed_records, resolve_commit
from kb.index.connection import copy_index
from kb.index.database import Index
from kb.index.record_ids import find_record
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.model import Record
from kb.records.record_paths import CONTENT, is_record_path

if TYPE_CHECKING:
    from kb.workspace import Workspace

KEPT = 4
"""Indexes of the past that are kept."""
_NOTE = "past"
_BEGIN, _END = "past-", ".db"


def open_index_at(kb: Workspace, commit: str) -> Index:
    """Return the index of the records as they stood at *commit*; the caller closes it."""
    files = _list_record_files(kb, commit)
    mark = kb.repository.compute_oid(
        b"blob", "\n".join(f"{oid} {path}" for path, oid in sorted(files.items())).encode()
    )
    path = kb.state.path(f"{_BEGIN}{mark[:16]}{_END}")
    if os.path.exists(path):
        index = _open_index(kb, path)
        if index.get_note(_NOTE) == mark:
            with contextlib.suppress(OSError):
                os.utime(path)
            return index
        index.close()  # another clone's, or one of another schema
        _remove_index(path)
    beside = kb.state.path(f"{_BEGIN}{mark[:16]}.{os.getpid()}{_END}")
    made = _build_index(kb, files, mark, beside)
    if not os.path.exists(beside):  # nothing can be written here: it is in memory
        return made
    made.close()
    os.replace(beside, path)
    _evict_old_indexes(kb)
    return _open_index(kb, path)


def _open_index(kb: Workspace, path: str) -> Index:
    return Index(path, kb.state.path(_NOTE), ())


def find_record_at(kb: Workspace, commit: str, name: str, *, scope: str = "") -> tuple[Record, str]:
    """Return the record that *name* meant at *commit*, and its file; raise UnknownId."""
    with contextlib.closing(open_index_at(kb, commit)) as index:
        record = find_record(index, name, scope)
    return record, decode_record(kb.repository.read_blob(commit, record.path) or b"", record.path)


def _list_record_files(kb: Workspace, commit: str) -> dict[str, str]:
    """Return path and blob of the record files of *commit*."""
    folders = tuple(f"{folder}/" for folder in kb.index.folders)
    found = kb.repository.list_files(commit, CONTENT)
    return {path: oid for path, oid in found.items() if is_record_path(path) and path.startswith(folders)}


def _build_index(kb: Workspace, files: dict[str, str], mark: str, path: str) -> Index:
    """Make the index of *files* in the file *path*: from a copy of today's where that has most of them as they were."""
    today = kb.sync_index()
    known = {record.path for record in today.records()} | {path for path, _, _ in today.list_broken()}
    same = _find_unchanged(kb, known, files)
    if is_copy := 2 * len(same) > len(known) and os.path.exists(today.path):
        copy_index(today.path, path)
    index = _open_index(kb, path)
    try:
        with index.batch_changes():
            index.reload_files(
                known - same if is_copy else ()
            )  # no file of the past stands anywhere: they are forgotten
            new = {path: oid for path, oid in files.items() if not is_copy or path not in same}
            for record in _read_records(kb, new).values():
                index.put_record(record)
            index.set_note(_NOTE, mark)
    except BaseException:
        index.close()
        _remove_index(path)
        raise
    return index


def _find_unchanged(kb: Workspace, known: set[str], files: dict[str, str]) -> set[str]:
    """Return those of the paths *known* today whose file is as it stands in *files*."""
    head = resolve_commit(kb, "HEAD")
    today = _list_record_files(kb, head)
    edited = list_changed_records(kb, head)
    return {path for path in known - edited if path in files and today.get(path) == files[path]}


def _read_records(kb: Workspace, files: dict[str, str]) -> dict[str, Record]:
    texts = read_objects(kb.repository, files.values())
    found = {}
    for path, oid in files.items():
        with contextlib.suppress(BadRecord):
            found[path] = record_file.read(texts[oid], path)
    return found


def _evict_old_indexes(kb: Workspace) -> None:
    """Take away the indexes of the past that were asked longest ago, but for KEPT of them."""
    with contextlib.suppress(OSError), os.scandir(kb.state.folder) as entries:
        kept = [entry for entry in entries if entry.name.startswith(_BEGIN) and entry.name.endswith(_END)]
        for entry in sorted(kept, key=lambda entry: entry.stat().st_mtime, reverse=True)[KEPT:]:
            _remove_index(entry.path)


def _remove_index(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        remove_file(path + end)
