"""Check the knowledge base: settings, index, records, and leftovers in its state folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator

from kb import __version__
from kb.doctor.doctor_finding import FAILED, NOTE, OK, DoctorFinding, DoctorTarget
from kb.doctor.git_checks import is_old, list_names
from kb.files import list_half_written
from kb.git.revisions import iter_files
from kb.i18n import msg
from kb.index.record_ids import MAKE_ONE
from kb.knowledge_base import KnowledgeBase
from kb.paths import find_untrusted_root
from kb.records import record_file
from kb.records.kinds import FOLDERS
from kb.records.model import Record
from kb.records.record_paths import CONTENT, REVIEWS
from kb.sessions.active_sessions import list_stale_files
from kb.writing import inbox
from kb.writing.edit_text import list_abandoned_drafts

_MIN_PYTHON = (3, 11)
_MAX_SAMPLE_RECORDS = 500
"""Records whose file is read again to compare it with the index."""


def check_settings(target: DoctorTarget) -> DoctorFinding:
    """Check that there is a knowledge base with valid settings."""
    if error := target.problem:
        where = f"{error.path}:{error.line}" if error.line else error.path
        problem = msg("{where}: {message}", where=where, message=error.message) if where else error.message
        remedy = error.hint if str(error.hint) else msg("fix {path}", path="kb.toml")
        return DoctorFinding(FAILED, msg("{problem}", problem=problem), remedy)
    # a folder such as /tmp, where anybody can leave a kb.toml for the next one who works below it
    if untrusted := find_untrusted_root(target.folder, target.environment):
        said = msg("{path} belongs to somebody else and is skipped", path=os.path.join(untrusted, "kb.toml"))
        remedy = msg("if you trust its owner, name it: KB_HOME={path}", path=untrusted)
        return DoctorFinding(NOTE if target.root else FAILED, said, remedy)
    if not target.root:
        return DoctorFinding(FAILED, msg("there is no knowledge base here"), MAKE_ONE)
    return DoctorFinding(OK, msg("{path}", path=os.path.join(target.root, "kb.toml")))


def check_versions(target: DoctorTarget) -> DoctorFinding:
    """Name the versions at work."""
    message = msg("kb {version}, Python {python}", version=__version__, python=sys.version.split()[0])
    return DoctorFinding(OK if sys.version_info >= _MIN_PYTHON else FAILED, message)


# -- index and records -------------------------------------------------------------------------------


def check_index(target: DoctorTarget) -> DoctorFinding:
    """Check that the index can be read and says what the files say."""
    kb = target.base
    index = kb.sync_index()
    records = {record.path: record for record in index.records()}
    known = {*records, *(path for path, _, _ in index.list_broken())}
    if wrong := _find_record_files(kb.root) ^ known:
        return DoctorFinding(FAILED, msg("the index and the files differ in {n} paths", n=len(wrong)))
    # all of 50,000 records would take a minute to read again: every hundredth shows whether the index is another one's
    step = max(1, len(records) // _MAX_SAMPLE_RECORDS)
    for path in sorted(records)[::step]:
        with open(os.path.join(kb.root, *path.split("/")), "rb") as file:
            if _strip_headings(record_file.read(file.read(), path)) != _strip_headings(records[path]):
                return DoctorFinding(FAILED, msg("the index differs from {path}", path=path))
    return DoctorFinding(OK, msg("{n} records", n=len(records)))


def _strip_headings(record: Record) -> Record:
    """Return *record* without the wording of its headings: the index knows a section by its name."""
    return record._replace(sections=tuple(s._replace(heading="" if s.name else s.heading) for s in record.sections))


def _find_record_files(root: str) -> set[str]:
    names = (f"{CONTENT}/{top}/{name}" for top in FOLDERS for name in iter_files(os.path.join(root, CONTENT, top)))
    shown = (name for name in names if name.endswith(".md") and "/." not in name)
    return {name for name in shown if not os.path.islink(os.path.join(root, name))}


def rebuild_index(target: DoctorTarget) -> None:
    """Delete the index and build it again."""
    kb = target.base
    kb.close()
    # SQLite's journal of an index that is gone would be taken for that of the new one
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path("index.db") + end)
    kb.sync_index()


def check_record_files(target: DoctorTarget) -> DoctorFinding:
    """Look for files that are not readable records."""
    broken = target.base.sync_index().list_broken()
    if not broken:
        return DoctorFinding(OK, msg("all records are readable"))
    return DoctorFinding(FAILED, msg("{n} files cannot be read as records: {path}", n=len(broken), path=broken[0][0]))


# -- what waits --------------------------------------------------------------------------------------


def check_reviews(target: DoctorTarget) -> DoctorFinding:
    """Count the reviews that wait for a person."""
    n = len(target.base.repository.list_refs(REVIEWS.rstrip("/")))
    return DoctorFinding(NOTE if n else OK, msg("{n} reviews are open", n=n))


def check_inbox(target: DoctorTarget) -> DoctorFinding:
    """Look for files in the inbox that hold no candidate; one who shares it may have put them there."""
    found = inbox.list_unreadable(target.base)
    if not found:
        return DoctorFinding(OK, msg("all candidates in the inbox are readable"))
    return DoctorFinding(NOTE, msg("{n} files of the inbox contain no candidate: {name}", n=len(found), name=found[0]))


def check_spool(target: DoctorTarget) -> DoctorFinding:
    """Count what waits to be written."""
    n = len(target.base.state.list_spooled())
    return DoctorFinding(NOTE if n else OK, msg("{n} writes wait for the next call", n=n))


def check_queue(target: DoctorTarget) -> DoctorFinding:
    """Count the calls that wait and whose writers are gone."""
    folder = target.base.state.path("queue")
    n = sum(1 for name in list_names(folder) if name.endswith(".json") and is_old(os.path.join(folder, name)))
    return DoctorFinding(NOTE if n else OK, msg("{n} calls are waiting for an answer", n=n))


def check_unreadable_spool(target: DoctorTarget) -> DoctorFinding:
    """Look for spooled files that were set aside."""
    found = target.base.state.list_quarantined()
    if not found:
        return DoctorFinding(OK, msg("nothing was set aside"))
    return DoctorFinding(FAILED, msg("{n} spooled files could not be written: {path}", n=len(found), path=found[0]))


def retry_unreadable_spool(target: DoctorTarget) -> None:
    """Try again to write what was set aside."""
    from kb.capture.submit import retry_quarantined_jobs

    retry_quarantined_jobs(target.base)


# -- what was left behind ----------------------------------------------------------------------------


def check_edit_drafts(target: DoctorTarget) -> DoctorFinding:
    """Look for what was typed in `kb edit` and never committed: the editor failed, or kb was killed."""
    found = list_abandoned_drafts(target.base)
    if not found:
        return DoctorFinding(OK, msg("no unsaved text of kb edit"))
    message = msg("{n} texts typed in kb edit were never committed: {path}", n=len(found), path=found[0].path)
    return DoctorFinding(NOTE, message)


def check_leftovers(target: DoctorTarget) -> DoctorFinding:
    """Look for half-written files and work folders of processes that died."""
    found = list(_iter_leftovers(target.base))
    if not found:
        return DoctorFinding(OK, msg("nothing is half done"))
    return DoctorFinding(NOTE, msg("{n} files were left half written: {path}", n=len(found), path=found[0]))


def _iter_leftovers(kb: KnowledgeBase) -> Iterator[str]:
    private = kb.repository.private
    yield from kb.state.list_half_written()
    yield from list_half_written(private)
    for folder, _, _ in os.walk(os.path.join(kb.root, CONTENT)):
        yield from list_half_written(folder)
    for name in list_names(private):
        if name.startswith(("merge-", "driver-")) and is_old(path := os.path.join(private, name)):
            yield path


def remove_leftovers(target: DoctorTarget) -> None:
    """Remove what was left half done; nobody reads it."""
    _remove_paths(_iter_leftovers(target.base))


def check_abandoned_sessions(target: DoctorTarget) -> DoctorFinding:
    """Count what sessions left that ended without a word."""
    n = len(list_stale_files(target.base.state, target.base.now()))
    return DoctorFinding(NOTE if n else OK, msg("{n} sessions left files more than 30 days ago", n=n))


def remove_abandoned_sessions(target: DoctorTarget) -> None:
    """Remove what sessions left that ended without a word."""
    _remove_paths(list_stale_files(target.base.state, target.base.now()))


def _remove_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
