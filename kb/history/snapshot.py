"""Query the records as of a past commit, list what changed between two, and resolve a revision or a date to one.

The index of a commit is a file beside that of today, named by the tree of records it holds, so that commits which
change no record share one. It is made from a copy of today's by reading only the files that differ: history changes
little at a time, and reading 10,000 records again takes ten times as long. A few are kept, the ones last asked.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.refusals import PassedOver, Refusal, list_passed_over, list_refusals
from kb.checks import record_diff
from kb.checks.check_context import Finding
from kb.checks.collect_checks import collect_context, iter_sources
from kb.checks.lifecycle_rules import check_due_records, check_old_records, check_stale_records
from kb.checks.record_diff import RecordChange
from kb.checks.run_checks import apply_rules
from kb.errors import BadInput, BadRecord, GitFailed
from kb.files import remove_file
from kb.git.objects import read_objects
from kb.git.revisions import list_changed_records, list_differing_records, read_records_at, resolve_commit
from kb.history.timeline import find_agent_paths
from kb.i18n import msg
from kb.index.adopted_records import link_all
from kb.index.database import Index
from kb.index.record_ids import find_record
from kb.index.schema import Filter, copy_index
from kb.learning.gaps import SET_ASIDE, find_gaps
from kb.learning.grow import Promotion, find_promotions, find_twins, list_dormant
from kb.learning.structural_gaps import Gap
from kb.learning.uses import load_uses
from kb.records.front_matter import decode_record
from kb.records.kinds import CONTENT
from kb.records.model import LIVE, REVISIT_WHEN, Record, Status
from kb.search.answer import SearchResult, search_records
from kb.sessions.session_archive import parse_day
from kb.sync.decide_review import assess_reviews
from kb.writing.reviews import Review, list_reviews

if TYPE_CHECKING:
    from kb.workspace import Workspace

MAX_SNAPSHOTS = 4
"""Number of indexes of past commits to keep."""
_NOTE = "past"
_BEGIN, _END = "past-", ".db"
_WIDENING_FACTOR = 30
"""So many times more answers are looked through where too few of them are the agent's."""


# -- which commit ---------------------------------------------------------------------------------


def resolve_revision(kb: Workspace, name: str) -> str:
    """Return the commit of the revision *name*; raise BadInput if there is none."""
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
    """Return the last commit of the checked-out line before the ISO *day*, or ""."""
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
        # The index does not know agents: widen the search until enough answers are the agent's, or all were read.
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
                os.utime(path)  # keep the most recently used ones
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
    index = Index(path, kb.state.path(_NOTE), (), kb.files)
    index.set_reader(lambda: kb.reader)
    return index


def _remove_index(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        remove_file(path + end)


def _list_record_files(kb: Workspace, commit: str) -> dict[str, str]:
    """Return path and blob of the record files of *commit*."""
    folders = tuple(f"{folder}/" for folder in kb.index.folders)
    found = {**kb.repository.list_files(commit, CONTENT)}
    for top in kb.files.list_tops():
        found |= kb.repository.list_files(commit, top)
    return {path: oid for path, oid in found.items() if kb.files.is_record_path(path) and path.startswith(folders)}


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
                    index.put_record(kb.files.read(texts[oid], name))
            if kb.files.adopted:
                link_all(index)
            index.set_note(_NOTE, mark)
    except BaseException:
        index.close()
        _remove_index(path)
        raise
    return index


# -- changes between two commits ------------------------------------------------------------------

GROUPS = ("decided", "superseded", "deprecated", "rejected", "reopened", "proposed", "amended", "edited", "removed")
"""What can become of a record, in the order in which it is shown."""
_BY_STATUS: Mapping[str, str] = {
    Status.ACCEPTED: "decided",
    Status.DEPRECATED: "deprecated",
    Status.REJECTED: "rejected",
    Status.SUPERSEDED: "superseded",
    Status.PROPOSED: "reopened",
}


class ChangeLogEntry(NamedTuple):
    """The change of one record."""

    what: str
    """One of GROUPS."""
    record: Record
    """As it is in the later commit; a removed one as it was."""
    by: tuple[Record, ...] = ()
    """The records that supersede or amend it."""
    parts: tuple[str, ...] = ()
    """What was edited: keys of the front matter, names of sections, "user"."""


class ChangeLog(NamedTuple):
    """The changes of the records between two commits."""

    older: str
    """The earlier commit; "" for before the first."""
    newer: str
    entries: tuple[ChangeLogEntry, ...]


def build_change_log(kb: Workspace, older: str, newer: str) -> ChangeLog:
    """Return what became of the records from commit *older* ("": nothing) to commit *newer*, by what and by id."""
    with contextlib.closing(open_index_at(kb, newer)) as index:
        world = {record.identity: record for record in index.records()}
    if older:
        paths = list_differing_records(kb, older, newer)
        found = read_records_at(kb, {(commit, path) for commit in (older, newer) for path in paths})
        before = [record for (commit, _), record in found.items() if commit == older]
        after = [record for (commit, _), record in found.items() if commit == newer]
    else:
        before, after = [], list(world.values())
    before, after = ([record for record in side if kb.can_see(record.scope)] for side in (before, after))
    entries = [_build_entry(change) for change in record_diff.diff_records(before, after, world)]
    return ChangeLog(older, newer, tuple(sorted(entries, key=lambda entry: GROUPS.index(entry.what))))


def _build_entry(change: RecordChange) -> ChangeLogEntry:
    record, what = change.record, "edited"
    if change.step in ("removed", "amended", "superseded"):
        what = change.step
    elif change.step == "new":
        what = "proposed" if record.status == Status.PROPOSED else _BY_STATUS.get(record.status, what)
    elif change.step == "changed" and change.status_change:
        # Accepted again after it had ended: that is not a new decision.
        is_undone = change.status_change[0] != Status.PROPOSED and record.status == Status.ACCEPTED
        what = "reopened" if is_undone else _BY_STATUS.get(record.status, what)
    return ChangeLogEntry(what, record, change.by, tuple(part.name for part in change.parts))


# -- the digest -----------------------------------------------------------------------------------

GRACE_DAYS = 30
"""Age in days from which the digest reports a record as unused."""


class Digest(NamedTuple):
    """What happened since a day, and what waits for a person."""

    since: str
    """ISO day."""
    changes: ChangeLog
    reviews: tuple[Review, ...]
    waiting: tuple[Finding, ...]
    """Stale records and old proposals."""
    unused: tuple[Record, ...]
    """Accepted records older than GRACE_DAYS that no agent was shown or has used since then."""
    counted_from: str
    """The first day with counts of shown records, or ""."""
    refused: tuple[Refusal, ...] = ()
    """What the gate refused of the sessions that this clone read since."""
    passed_over: tuple[PassedOver, ...] = ()
    """What sounded like a candidate in these sessions and was none."""
    revisit: tuple[Record, ...] = ()
    """Live records that name an event after which they should be reviewed."""
    gaps: tuple[Gap, ...] = ()
    """What is worth recording and is not, in the project that is worked in."""
    promotions: tuple[Promotion, ...] = ()
    """What records have outgrown and nobody has opened."""
    dormant: tuple[Record, ...] = ()
    """Live records that are no longer shown in hints."""
    twins: tuple[tuple[Record, Record, float], ...] = ()
    """Pairs of records that seem to say the same, with their similarity, 0.0–1.0."""


def build_digest(kb: Workspace, since: str) -> Digest:
    """Return what happened since the ISO day *since*, and what waits."""
    changes = build_change_log(kb, find_commit_before_day(kb, since), resolve_commit(kb, "HEAD"))
    records = kb.records()
    by_path = {record.path: record for record in records}
    sources = (source._replace(record=by_path.get(source.path)) for source in iter_sources(kb))
    waiting = apply_rules(collect_context(kb, sources), (check_stale_records, check_due_records, check_old_records))
    first, handed = _load_handed_out(kb)
    written_before = (date.fromisoformat(kb.today()) - timedelta(days=GRACE_DAYS)).isoformat()
    unused = [
        record
        for record in records
        if record.status == Status.ACCEPTED and record.uid not in handed and _is_day_before(record.date, written_before)
    ]
    reviews = tuple(assess_reviews(kb, list_reviews(kb)))
    midnight = parse_midnight(since)
    refused, passed = tuple(list_refusals(kb, midnight)), tuple(list_passed_over(kb, midnight))
    revisit = tuple(record for record in records if record.status in LIVE and record.extra.get(REVISIT_WHEN))
    folder = kb.folder or kb.root
    gaps = tuple(gap for gap in find_gaps(kb, kb.project(folder), folder) if gap.state != SET_ASIDE)
    return Digest(
        since, changes, reviews, tuple(waiting), tuple(unused if first else ()), first, refused, passed, revisit, gaps,
        promotions=tuple(find_promotions(kb)), dormant=tuple(list_dormant(kb)), twins=tuple(find_twins(kb))
    )  # fmt: skip


def _load_handed_out(kb: Workspace) -> tuple[str, set[str]]:
    """Return the first day with counts, and the uids of all records ever shown or used."""
    uses = load_uses(kb)
    return min((one.days[0] for one in uses.values() if one.days), default=""), set(uses)


def _is_day_before(day: str, other: str) -> bool:
    """Return whether *day* is an ISO day before the *other*."""
    with contextlib.suppress(ValueError):
        return date.fromisoformat(day).isoformat() < other
    return False
