"""Query the records as of a past commit, and resolve a revision or a date to a commit.

The index of a commit is a file beside that of today, named by the tree of records it holds, so that commits which
change no record share one. It is made from a copy of today's by reading only the files that differ: history changes
little at a time, and reading 10,000 records anew takes ten times as long. A few are kept, the ones last asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from kb.errors import BadInput, BadRecord, GitFailed
from kb.files import remove_file
from kb.git.objects import read_objects
from kb.git.revisions import list_changed_records, resolve_commit
from kb.history.timeline import find_agent_paths
from kb.i18n import msg
from kb.index.connection import copy_index
from kb.index.database import Index
from kb.index.record_ids import find_record
from kb.index.schema import Filter
from kb.records import record_file
from kb.records.front_matter import decode_record
from kb.records.model import Record
from kb.records.record_paths import CONTENT, is_record_path
from kb.search.answer import SearchResult, search_records
from kb.sessions.session_archive import parse_day

if TYPE_CHECKING:
    from kb.workspace import Workspace

MAX_SNAPSHOTS = 4
"""Indexes of the past that are kept."""
_NOTE = "past"
_BEGIN, _END = "past-", ".db"
_WIDENING_FACTOR = 30
"""So many times more answers are looked through where too few of them are the agent's."""


# -- which commit ---------------------------------------------------------------------------------


def resolve_revision(kb: Workspace, name: str) -> str:
    """Return the commit that the revision *name* means; raise BadInput for none."""
    commit = resolve_commit(kb, name) if name and not name.startswith("-") else ""
    if not commit:
        problem = msg("git does not know {revision} here", revision=name)
        raise BadInput(problem, hint=msg("list them: git log --oneline"))
    return commit


def resolve_range(kb: Workspace, span: str) -> tuple[str, str]:
    """Return the commits that "A..B" means; a side that is missing is HEAD."""
    older, _, newer = span.partition("..")
    return resolve_revision(kb, older or "HEAD"), resolve_revision(kb, newer.removeprefix(".") or "HEAD")


def find_last_commit_of_day(kb: Workspace, word: str) -> str:
    """Return the last commit of the checked-out line up to the end of the day *word*; raise BadInput for none."""
    day = parse_day(word, kb.now())
    found = _find_commit_before(kb, parse_midnight(day) + 86_400)
    if not found:
        problem = msg("nothing was committed yet on {day}", day=day)
        raise BadInput(problem, hint=msg("see when the first commit was made: git log --reverse"))
    return found


def find_commit_before_day(kb: Workspace, day: str) -> str:
    """Return the last commit of the checked-out line before the ISO *day*; "" where there was none yet."""
    return _find_commit_before(kb, parse_midnight(day))


def _find_commit_before(kb: Workspace, moment: float) -> str:
    if not resolve_commit(kb, "HEAD"):
        raise GitFailed(msg("nothing is committed here yet"), hint=msg("commit first, then compare"))
    if moment < 2:  # git takes a time before 1970 for now
        return ""
    limit = f"--before=@{int(moment) - 1} +0000"
    return kb.repository.git("log", "-1", "--format=%H", "--first-parent", limit, "HEAD", "--").decode().strip()


def parse_midnight(day: str) -> float:
    """Return the time at which the ISO *day* begins, in seconds since 1970; raise BadInput where it is not a day."""
    try:
        return time.mktime(time.strptime(day, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        hint = msg("use today, yesterday, week, 7d or 2026-11-21")
        raise BadInput(msg("{word} is not a day", word=day), hint=hint) from None


# -- the records at a commit ----------------------------------------------------------------------


def search_history(
    kb: Workspace, query: str, *, wanted: Filter, project: str, limit: int, commit: str = "", agent: str = ""
) -> SearchResult:
    """Return what answers *query*, of the records as they stood at *commit* and of those *agent* had a hand in."""
    paths = find_agent_paths(kb, agent) if agent else None
    with contextlib.ExitStack() as stack:
        index = stack.enter_context(contextlib.closing(open_index_at(kb, commit))) if commit else None
        most = limit
        # The index knows no agents: more answers are looked through until enough of them are the agent's, or all are.
        while True:
            found = search_records(kb, query, wanted=wanted, project=project, limit=most, index=index)
            answers = [one for one in found.answers if paths is None or one.record.path in paths]
            if len(answers) >= limit or len(found.answers) < most or not paths:
                return found._replace(answers=answers[:limit])
            most *= _WIDENING_FACTOR


def find_record_at(kb: Workspace, commit: str, name: str, *, scope: str = "") -> tuple[Record, str]:
    """Return the record that *name* meant at *commit*, and its file; raise UnknownId."""
    with contextlib.closing(open_index_at(kb, commit)) as index:
        record = find_record(index, name, scope)
    return record, decode_record(kb.repository.read_blob(commit, record.path) or b"", record.path)


def open_index_at(kb: Workspace, commit: str) -> Index:
    """Return the index of the records as they stood at *commit*; the caller closes it."""
    files = _list_record_files(kb, commit)
    lines = "\n".join(f"{oid} {path}" for path, oid in sorted(files.items()))
    mark = kb.repository.compute_oid(b"blob", lines.encode())
    path = kb.state.path(f"{_BEGIN}{mark[:16]}{_END}")
    if os.path.exists(path):
        index = _open_index(kb, path)
        if index.get_note(_NOTE) == mark:
            with contextlib.suppress(OSError):
                os.utime(path)  # the ones last asked are kept
            return index
        index.close()  # another clone's, or one of another schema
        _remove_index(path)
    # Made under another name and moved: a second process that asks at the same time never opens half an index.
    unfinished = kb.state.path(f"{_BEGIN}{mark[:16]}.{os.getpid()}{_END}")
    index = _build_index(kb, files, mark, unfinished)
    if not os.path.exists(unfinished):  # nothing can be written here: it is in memory
        return index
    index.close()
    os.replace(unfinished, path)
    with contextlib.suppress(OSError), os.scandir(kb.state.folder) as entries:
        kept = [entry for entry in entries if entry.name.startswith(_BEGIN) and entry.name.endswith(_END)]
        for entry in sorted(kept, key=lambda entry: entry.stat().st_mtime, reverse=True)[MAX_SNAPSHOTS:]:
            _remove_index(entry.path)
    return _open_index(kb, path)


def _open_index(kb: Workspace, path: str) -> Index:
    return Index(path, kb.state.path(_NOTE), ())


def _remove_index(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        remove_file(path + end)


def _list_record_files(kb: Workspace, commit: str) -> dict[str, str]:
    """Return path and blob of the record files of *commit*."""
    folders = tuple(f"{folder}/" for folder in kb.index.folders)
    found = kb.repository.list_files(commit, CONTENT)
    return {path: oid for path, oid in found.items() if is_record_path(path) and path.startswith(folders)}


def _build_index(kb: Workspace, files: dict[str, str], mark: str, path: str) -> Index:
    """Make the index of *files* in the file *path*: from a copy of today's where that has most of them as they were."""
    today, head = kb.sync_index(), resolve_commit(kb, "HEAD")
    known = {record.path for record in today.records()} | {path for path, _, _ in today.list_broken()}
    files_now, edited = _list_record_files(kb, head), list_changed_records(kb, head)
    same = {path for path in known - edited if path in files and files_now.get(path) == files[path]}
    if is_copy := 2 * len(same) > len(known) and os.path.exists(today.path):
        copy_index(today.path, path)
    index = _open_index(kb, path)
    try:
        with index.batch_changes():
            # The files of the past are nowhere on the disk, so to reload one is to forget it.
            index.reload_files(known - same if is_copy else ())
            new = {path: oid for path, oid in files.items() if not is_copy or path not in same}
            texts = read_objects(kb.repository, new.values())
            for name, oid in new.items():
                with contextlib.suppress(BadRecord):
                    index.put_record(record_file.read(texts[oid], name))
            index.set_note(_NOTE, mark)
    except BaseException:
        index.close()
        _remove_index(path)
        raise
    return index
