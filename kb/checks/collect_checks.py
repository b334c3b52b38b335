"""Collect the input of `kb check`: the records, their projects' trees, and the other branches."""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING

from kb.checks.check_context import (
    CheckContext,
    CheckedText,
    CheckSurroundings,
    FileTree,
    Key,
    MergeVersions,
    RecordSource,
    load_check_context,
)
from kb.checks.merge_conflicts import MAX_COMPARED_RECORDS, NeighbourIndex
from kb.context.still_true import find_reading_seconds
from kb.git import revisions
from kb.git.revisions import iter_files, list_tracked_files, query_git
from kb.i18n import Message
from kb.index.schema import Filter
from kb.records.kinds import CONTENT, FIXED_BY, is_record_path, parse_path_scope
from kb.records.model import GLOBAL, LIVE, Record, Status, is_day, is_imported
from kb.sessions.session_archive import list_sessions, read_session_file

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FRONT_UID = re.compile(r"(?m)^uid:[ \t]*[\"']?([^\s\"']+)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TRUNKS = ("origin/main", "origin/master", "main", "master")


def iter_sources(kb: Workspace, known: Mapping[str, Record] = {}) -> Iterator[RecordSource]:
    """Yield the record files of the checkout; *known* maps paths to records that are already parsed."""
    for name in sorted(iter_files(os.path.join(kb.root, CONTENT))):
        path, file = f"{CONTENT}/{name}", os.path.join(kb.root, CONTENT, name)
        # only regular files: no link, no folder, and no pipe, which would block
        if is_record_path(path) and os.path.isfile(file) and not os.path.islink(file):
            with open(file, "rb") as opened:
                yield RecordSource(path, opened.read(), known.get(path))
    yield from _iter_adopted_sources(kb, known)


def _iter_adopted_sources(kb: Workspace, known: Mapping[str, Record]) -> Iterator[RecordSource]:
    """Yield the files of adopted folders that are records or should be, as the index has them."""
    if not kb.files.adopted:
        return
    index = kb.sync_index()
    broken = (path for path, _, _ in index.list_broken() if kb.files.find_folder(path))
    records_by_path: dict[str, Record | None] = {
        **dict.fromkeys(broken),
        **{one.path: one for one in index.list_adopted()},
    }
    for path, record in sorted(records_by_path.items()):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(kb.root, *path.split("/")), "rb") as opened:
            yield RecordSource(path, opened.read(), known.get(path) or record)


def collect_context(
    kb: Workspace, sources: Iterable[RecordSource], clean: frozenset[str] = frozenset()
) -> CheckContext:
    """Return *sources* as a CheckContext with trees, changes and merges, but without other branches.

    *clean* are digests of texts that the rules on single texts can skip.
    """
    texts: list[CheckedText] = []
    for session in list_sessions(kb):
        scope = GLOBAL if session.project == GLOBAL else f"project/{session.project}"
        with contextlib.suppress(FileNotFoundError):
            text = read_session_file(kb, session, "compact.md")
            texts.append(CheckedText(f"{session.path}/compact.md", text, scope))
    context = load_check_context(sources, CheckSurroundings(texts=tuple(texts)), kb.config)
    records = [one.record for one in context.records]
    projects = find_project_folders(kb)
    trees = {name: frozenset(list_tracked_files(kb, top)) for name, top in projects.items()}
    surroundings = CheckSurroundings(
        today=kb.today(),
        files=frozenset(iter_files(kb.root)),
        trees=trees,
        changes=_measure_changes(kb, records, projects),
        foreign=_find_foreign_impact(kb, records, projects, trees),
        adopted=_find_adoption_days(kb, records),
        fixes=_find_fix_commits(kb, records, projects),
        texts=tuple(texts),
        clean=clean,
        merges=_collect_merges(kb, {record.path for record in records}),
    )
    return context._replace(surroundings=surroundings)


def _find_adoption_days(kb: Workspace, records: Iterable[Record]) -> dict[str, str]:
    """Return for each live record in an adopted folder the day on which the settings first named that folder.

    The record itself may be years older. While the settings are not committed, that is today.
    """
    days: dict[str, str] = {}
    found: dict[str, str] = {}
    for record in records:
        folder = kb.files.find_folder(record.path)
        if folder is None or record.status not in LIVE:
            continue
        if folder.path not in days:
            asked = ("log", "--reverse", "--format=%cs", f"-S{folder.path}", "--", os.path.join(kb.root, "kb.toml"))
            out = query_git(kb, kb.repository.top, *asked) or b""
            days[folder.path] = out.decode("ascii", "replace").partition("\n")[0] or kb.today()
        found[record.path] = days[folder.path]
    return found


# -- projects -------------------------------------------------------------------------------------


def find_project_folders(kb: Workspace) -> dict[str, str]:
    """Map each project whose tree is on this machine to its folder."""
    folders = {kb.config.project: kb.repository.top} if kb.config.project else {}
    known = kb.state.load("projects.json") or {}
    for key, scope in known.items():
        top = key.rpartition("@")[0]
        if os.path.isdir(top):
            folders.setdefault(str(scope).removeprefix("project/"), top)
    return folders


def _measure_changes(
    kb: Workspace, records: list[Record], projects: Mapping[str, str]
) -> dict[str, dict[str, float | None]]:
    """Return for each record how much its impact files have changed since it was last confirmed.

    A confirmation counts from the end of its day; an answer from the second in which it was read from the files
    (see `still_true`).
    """
    changes_by_record: dict[str, dict[str, float | None]] = {}
    for name, top in projects.items():
        own = [r for r in records if r.impact and r.scope == f"project/{name}" and is_day(r.confirmed or r.date)]
        if not own:
            continue
        seconds = find_reading_seconds(own)
        since = {one.path: seconds.get(one.path, _find_end_of_day(one.confirmed or one.date)) for one in own}
        log = _read_change_log(kb, top, min(since.values()))
        for record in own:
            changes = [(path, lines) for second, path, lines in log if second > since[record.path]]
            changes_by_record[record.path] = {
                path: _compute_changed_share(top, path, changes) for path in record.impact
            }
    return changes_by_record


def _find_end_of_day(day: str) -> int:
    """Return the last second of *day* in local time since 1970, or 0 for a day that the system clock cannot express."""
    try:
        return max(int(time.mktime(time.strptime(f"{day} 23:59:59", "%Y-%m-%d %H:%M:%S"))), 0)
    except OverflowError:
        return 0


def _read_change_log(kb: Workspace, top: str, since: int) -> list[tuple[int, str, int]]:
    """Return time in seconds, path and number of changed lines of every change in the repository *top* after *since*.

    The time of an uncommitted change is that of the last write to the file.
    """
    options = ("--format=@%ct", "--numstat", "--no-renames")
    when = time.strftime("--since=%Y-%m-%dT%H:%M:%S", time.localtime(since))
    log = query_git(kb, top, "-c", "core.quotePath=false", "log", when, *options) or b""
    dirty = query_git(kb, top, "-c", "core.quotePath=false", "diff", "HEAD", *options[1:]) or b""
    rows: list[tuple[int, str, int]] = []
    for is_committed, output in ((True, log), (False, dirty)):
        second = 0
        for line in output.decode("utf-8", "replace").splitlines():
            if line.startswith("@") and line[1:].isdigit():
                second = int(line[1:])
            elif line.count("\t") == 2:
                added, removed, path = line.split("\t")
                written = second if is_committed else _read_change_second(os.path.join(top, path))
                rows.append((written, path, max(int(n) if n.isdigit() else 1 for n in (added, removed))))
    return rows


def _read_change_second(path: str) -> int:
    """Return when the file at *path* was last written, in seconds; for a missing file, the latest possible time."""
    try:
        return int(os.lstat(path).st_mtime)
    except OSError:
        return sys.maxsize


def _compute_changed_share(top: str, path: str, changes: Iterable[tuple[str, int]]) -> float | None:
    """Return the share of the lines at *path* (file or folder) that *changes* touched, or None if it has vanished."""
    inside = path.rstrip("/") + "/"
    changed = [lines for name, lines in changes if name == path or name.startswith(inside)]
    full = os.path.join(top, *path.strip("/").split("/"))
    if not os.path.lexists(full):
        return None if changed else 0.0
    if not changed:
        return 0.0
    # do not follow links to folders: they may lead out of the project
    is_folder = os.path.isdir(full) and not os.path.islink(full)
    files = [os.path.join(full, name) for name in iter_files(full)] if is_folder else [full]
    return sum(changed) / max(sum(map(_count_lines, files)), 1)


def _find_foreign_impact(
    kb: Workspace, records: list[Record], projects: Mapping[str, str], trees: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Return for each imported record the impact paths that the project's tree never had.

    An import takes them from the record's text and its source repository, which may not be that of the knowledge base.
    A path whose name does not occur in the text was added here, so it is not foreign.
    """
    foreign: dict[str, frozenset[str]] = {}
    for name, top in projects.items():
        missing: dict[str, list[str]] = {}
        for record in records:
            if record.scope == f"project/{name}" and record.impact and is_imported(record.extra):
                text = "\n".join((record.title, *(section.text for section in record.sections)))
                paths = [path for path in record.impact if path not in trees[name]]
                missing[record.path] = [path for path in paths if posixpath.basename(path.rstrip("/")) in text]
        wanted = sorted({path.rstrip("/") for paths in missing.values() for path in paths})
        if not wanted:
            continue
        asked = ("log", "--diff-filter=D", "--no-renames", "--name-only", "--format=", "-z", "--", *wanted)
        gone = FileTree(frozenset(os.fsdecode(query_git(kb, top, *asked) or b"").split("\0")))
        known = gone.files | gone.folders | FileTree(trees[name]).folders
        for key, paths in missing.items():
            foreign[key] = frozenset(path for path in paths if path.rstrip("/") not in known)
    return foreign


def _count_lines(path: str) -> int:
    """Return the number of lines of a regular file; 0 for a link, which may lead to an endless device."""
    try:
        if not S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


def _find_fix_commits(kb: Workspace, records: list[Record], projects: Mapping[str, str]) -> dict[str, bool]:
    """Return for each record that names the commit of its fix whether the project's repository has that commit."""
    has_fix: dict[str, bool] = {}
    for record in records:
        top = projects.get(record.scope.removeprefix("project/"), "")
        if top and FIXED_BY in record.extra:
            commit = str(record.extra[FIXED_BY])
            asked = ("rev-parse", "-q", "--verify", f"{commit}^{{commit}}")
            has_fix[record.path] = bool(_COMMIT.fullmatch(commit)) and query_git(kb, top, *asked) is not None
    return has_fix


# -- other branches -------------------------------------------------------------------------------


def add_other_branches(kb: Workspace, context: CheckContext) -> CheckContext:
    """Return *context* with the records of other branches, and with the contradictions of recently changed records."""
    branches, trunk = _collect_branches(kb, context)
    contradictions = _find_contradictions(kb, context)
    return context._replace(
        surroundings=context.surroundings._replace(branches=branches, trunk=trunk, contradictions=contradictions)
    )


def _collect_branches(kb: Workspace, context: CheckContext) -> tuple[dict[str, dict[Key, str]], str]:
    """Return the records of the other branches with their uids, and the name of the trunk.

    The trunk gives all its records, another branch only those it added or edited.
    """
    head = kb.repository.head()
    if not head.oid:
        return {}, ""
    tips: dict[str, str] = {}
    for folder in ("refs/heads", "refs/remotes"):
        for row in kb.repository.list_refs(folder, form="%(refname) %(objectname)"):
            ref, _, oid = row.partition(" ")
            if not ref.endswith("/HEAD"):
                tips[ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")] = oid
    trunk = next((name for name in _TRUNKS if name in tips), "")
    records_by_branch = {name: _list_own_records(kb, head.oid, tip) for name, tip in tips.items() if tip != head.oid}
    if trunk:  # records that are the same in the checkout and on the trunk are parsed already
        differing = revisions.list_changed_records(kb, tips[trunk])
        settled = {one.record.key: one.record.uid for one in context.records if one.record.path not in differing}
        records_by_branch[trunk] = {**settled, **records_by_branch.get(trunk, {})}
    return records_by_branch, trunk


def _list_own_records(kb: Workspace, head: str, tip: str) -> dict[Key, str]:
    paths = sorted(path for path in revisions.list_own_changes(kb, head, tip) or () if parse_path_scope(path))
    own_records: dict[Key, str] = {}
    for path, data in kb.repository.read_files(tip, paths).items():
        match = _FRONT_UID.search((data or b"").decode("utf-8", "replace"))
        own_records[parse_path_scope(path), path.rpartition("/")[2].partition("-")[0]] = match.group(1) if match else ""
    return own_records


# -- what has just changed ------------------------------------------------------------------------


def _collect_merges(kb: Workspace, known: set[str]) -> dict[str, MergeVersions]:
    """Return the three versions of each *known* path that both sides of the merge in HEAD, or under way, changed."""
    sides = revisions.find_merge_sides(kb)
    base = revisions.find_merge_base(kb, *sides) if sides else ""
    if not sides or not base:
        return {}
    ours, theirs = sides
    paths = (
        known & revisions.list_differing_records(kb, base, ours) & revisions.list_differing_records(kb, base, theirs)
    )
    at = revisions.read_records_at(kb, [(commit, path) for commit in (base, ours, theirs) for path in paths])
    return {
        path: MergeVersions(at.get((base, path)), at[ours, path], at[theirs, path])
        for path in paths
        if (ours, path) in at and (theirs, path) in at
    }


def _find_contradictions(kb: Workspace, context: CheckContext) -> dict[tuple[str, str], Message]:
    """Return the accepted records that contradict a record of the last commit or an uncommitted one.

    After a merge, compare the records that it brought in. All pairs would take minutes in a large knowledge base.
    """
    since = revisions.resolve_commit(kb, "HEAD^1") or revisions.resolve_commit(kb, "HEAD")
    accepted = {one.record.path: one for one in context.records if one.record.status == Status.ACCEPTED}
    paths = (revisions.list_changed_records(kb, since) if since else set()) & accepted.keys()
    new = sorted((accepted[path] for path in paths), key=lambda one: one.age_key, reverse=True)
    return _compare_changed([one.record for one in new], [one.record for one in accepted.values()])


def _compare_changed(new: Sequence[Record], accepted: Sequence[Record]) -> dict[tuple[str, str], Message]:
    """Return why records of *new* contradict some of the *accepted* ones, by both paths."""
    if not new or len(new) > MAX_COMPARED_RECORDS:
        return {}
    near = NeighbourIndex(accepted)
    contradictions: dict[tuple[str, str], Message] = {}
    for one in new:
        for other, reason in near.find_contradicted(one):
            if (other.path, one.path) not in contradictions:
                contradictions[one.path, other.path] = reason
    return contradictions


def find_brought_contradictions(kb: Workspace, tip: str) -> list[tuple[Record, Record, Message]]:
    """Return the accepted records of *tip* that contradict one HEAD adds to it, with the reason.

    Each side passed its own gate without seeing the other side.
    """
    accepted = {one.path: one for one in kb.sync_index().records(Filter(statuses=(Status.ACCEPTED,)))}
    ours = revisions.list_differing_records(kb, tip, "HEAD") & accepted.keys()
    contradictions = _compare_changed([accepted[path] for path in sorted(ours)], list(accepted.values()))
    return [
        (accepted[path], accepted[other], reason)
        for (path, other), reason in contradictions.items()
        if other not in ours
    ]
