"""Collect the input of `kb check`: the records, the trees they speak of, and the other branches."""

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
from kb.records.model import GLOBAL, Record, Status, is_day, is_imported
from kb.sessions.session_archive import list_sessions, read_session_file

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FRONT_UID = re.compile(r"(?m)^uid:[ \t]*[\"']?([^\s\"']+)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TRUNKS = ("origin/main", "origin/master", "main", "master")


def iter_sources(kb: Workspace, known: Mapping[str, Record] = {}) -> Iterator[RecordSource]:
    """Yield the record files of the checkout, with what is *known* of them by path."""
    for name in sorted(iter_files(os.path.join(kb.root, CONTENT))):
        path, file = f"{CONTENT}/{name}", os.path.join(kb.root, CONTENT, name)
        # a file to be read: no link, no folder, no pipe that would be waited for
        if is_record_path(path) and os.path.isfile(file) and not os.path.islink(file):
            with open(file, "rb") as opened:
                yield RecordSource(path, opened.read(), known.get(path))
    yield from _iter_adopted_sources(kb, known)


def _iter_adopted_sources(kb: Workspace, known: Mapping[str, Record]) -> Iterator[RecordSource]:
    """Yield the files of adopted folders that are records, or should be, as the index knows them."""
    if not kb.files.adopted:
        return
    index = kb.sync_index()
    broken = (path for path, _, _ in index.list_broken() if kb.files.find_folder(path))
    found: dict[str, Record | None] = {**dict.fromkeys(broken), **{one.path: one for one in index.list_adopted()}}
    for path, record in sorted(found.items()):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(kb.root, *path.split("/")), "rb") as opened:
            yield RecordSource(path, opened.read(), known.get(path) or record)


def collect_context(
    kb: Workspace, sources: Iterable[RecordSource], clean: frozenset[str] = frozenset()
) -> CheckContext:
    """Return the records of *sources* with what is known of the world around them; branches are not.

    *clean* are digests of the texts that need not be looked at alone.
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
        fixes=_find_fix_commits(kb, records, projects),
        texts=tuple(texts),
        clean=clean,
        merges=_collect_merges(kb, {record.path for record in records}),
    )
    return context._replace(surroundings=surroundings)


# -- projects -------------------------------------------------------------------------------------


def find_project_folders(kb: Workspace) -> dict[str, str]:
    """Return name and folder of the projects whose trees are on this machine."""
    found = {kb.config.project: kb.repository.top} if kb.config.project else {}
    known = kb.state.load("projects.json") or {}
    for key, scope in known.items():
        top = key.rpartition("@")[0]
        if os.path.isdir(top):
            found.setdefault(str(scope).removeprefix("project/"), top)
    return found


def _measure_changes(
    kb: Workspace, records: list[Record], projects: Mapping[str, str]
) -> dict[str, dict[str, float | None]]:
    """Return for each record how much its impact files have changed since it was last confirmed.

    That is since the end of the day; of an answer, since the second in which it was read from them (see `still_true`).
    """
    found: dict[str, dict[str, float | None]] = {}
    for name, top in projects.items():
        own = [r for r in records if r.impact and r.scope == f"project/{name}" and is_day(r.confirmed or r.date)]
        if not own:
            continue
        seconds = find_reading_seconds(own)
        since = {one.path: seconds.get(one.path, _find_end_of_day(one.confirmed or one.date)) for one in own}
        log = _read_change_log(kb, top, min(since.values()))
        for record in own:
            changes = [(path, lines) for second, path, lines in log if second > since[record.path]]
            found[record.path] = {path: _compute_changed_share(top, path, changes) for path in record.impact}
    return found


def _find_end_of_day(day: str) -> int:
    """Return the last second of *day*, in local time, since 1970; 0 for one that the system's clock cannot have."""
    try:
        return max(int(time.mktime(time.strptime(f"{day} 23:59:59", "%Y-%m-%d %H:%M:%S"))), 0)
    except OverflowError:
        return 0


def _read_change_log(kb: Workspace, top: str, since: int) -> list[tuple[int, str, int]]:
    """Return second, path and number of changed lines of every change in the repository *top* after *since*.

    Of what is not committed that is the second in which the file was written.
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
    """Return the second in which the file at *path* was written last; of one that is gone, the last there can be."""
    try:
        return int(os.lstat(path).st_mtime)
    except OSError:
        return sys.maxsize


def _compute_changed_share(top: str, path: str, changes: Iterable[tuple[str, int]]) -> float | None:
    """Return the share of the lines at *path* (a file or folder) that *changes* touched; None when it has vanished."""
    inside = path.rstrip("/") + "/"
    changed = [lines for name, lines in changes if name == path or name.startswith(inside)]
    full = os.path.join(top, *path.strip("/").split("/"))
    if not os.path.lexists(full):
        return None if changed else 0.0
    if not changed:
        return 0.0
    # a link to a folder is not walked: it may lead out of the project
    is_folder = os.path.isdir(full) and not os.path.islink(full)
    files = [os.path.join(full, name) for name in iter_files(full)] if is_folder else [full]
    return sum(changed) / max(sum(map(_count_lines, files)), 1)


def _find_foreign_impact(
    kb: Workspace, records: list[Record], projects: Mapping[str, str], trees: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Return for imported records which of their impact paths the project's tree has never had.

    An import takes them from the text of a record and the repository the record lay in, which may be another one than
    the knowledge base's. A path whose name is not in the text was written here, and is nobody else's.
    """
    found: dict[str, frozenset[str]] = {}
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
            found[key] = frozenset(path for path in paths if path.rstrip("/") not in known)
    return found


def _count_lines(path: str) -> int:
    """Return the lines of a plain file; 0 for a link, which may lead to what never ends."""
    try:
        if not S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


def _find_fix_commits(kb: Workspace, records: list[Record], projects: Mapping[str, str]) -> dict[str, bool]:
    """Return for each record that names the commit which fixed it whether its project has that commit."""
    found: dict[str, bool] = {}
    for record in records:
        top = projects.get(record.scope.removeprefix("project/"), "")
        if top and FIXED_BY in record.extra:
            commit = str(record.extra[FIXED_BY])
            asked = ("rev-parse", "-q", "--verify", f"{commit}^{{commit}}")
            found[record.path] = bool(_COMMIT.fullmatch(commit)) and query_git(kb, top, *asked) is not None
    return found


# -- other branches -------------------------------------------------------------------------------


def add_other_branches(kb: Workspace, context: CheckContext) -> CheckContext:
    """Return *context* with the records of other branches, and those that what is new here contradicts."""
    branches, trunk = _collect_branches(kb, context)
    contradictions = _find_contradictions(kb, context)
    return context._replace(
        surroundings=context.surroundings._replace(branches=branches, trunk=trunk, contradictions=contradictions)
    )


def _collect_branches(kb: Workspace, context: CheckContext) -> tuple[dict[str, dict[Key, str]], str]:
    """Return the records of the other branches with their uids, and which branch the others are merged into.

    Of the trunk all of them, of the others those that they have added or edited themselves.
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
    found = {name: _list_own_records(kb, head.oid, tip) for name, tip in tips.items() if tip != head.oid}
    if trunk:  # what the checkout has as the trunk has it was read already
        differing = revisions.list_changed_records(kb, tips[trunk])
        settled = {one.record.key: one.record.uid for one in context.records if one.record.path not in differing}
        found[trunk] = {**settled, **found.get(trunk, {})}
    return found, trunk


def _list_own_records(kb: Workspace, head: str, tip: str) -> dict[Key, str]:
    paths = sorted(path for path in revisions.list_own_changes(kb, head, tip) or () if parse_path_scope(path))
    found: dict[Key, str] = {}
    for path, data in kb.repository.read_files(tip, paths).items():
        match = _FRONT_UID.search((data or b"").decode("utf-8", "replace"))
        found[parse_path_scope(path), path.rpartition("/")[2].partition("-")[0]] = match.group(1) if match else ""
    return found


# -- what has just changed ------------------------------------------------------------------------


def _collect_merges(kb: Workspace, known: set[str]) -> dict[str, MergeVersions]:
    """Return for each *known* path that both sides changed what the merge that HEAD is, or goes on, was made of."""
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
    """Return which accepted records cannot hold beside one another, for those that the last commit or nobody yet made.

    Of a merge that is what it brought in; all pairs would take minutes where there are many records.
    """
    since = revisions.resolve_commit(kb, "HEAD^1") or revisions.resolve_commit(kb, "HEAD")
    accepted = {one.record.path: one for one in context.records if one.record.status == Status.ACCEPTED}
    paths = (revisions.list_changed_records(kb, since) if since else set()) & accepted.keys()
    new = sorted((accepted[path] for path in paths), key=lambda one: one.age_key, reverse=True)
    return _compare_changed([one.record for one in new], [one.record for one in accepted.values()])


def _compare_changed(new: Sequence[Record], accepted: Sequence[Record]) -> dict[tuple[str, str], Message]:
    """Return why records of *new* cannot hold beside some of the *accepted* ones, by both paths."""
    if not new or len(new) > MAX_COMPARED_RECORDS:
        return {}
    near = NeighbourIndex(accepted)
    found: dict[tuple[str, str], Message] = {}
    for one in new:
        for other, reason in near.find_contradicted(one):
            if (other.path, one.path) not in found:
                found[one.path, other.path] = reason
    return found


def find_brought_contradictions(kb: Workspace, tip: str) -> list[tuple[Record, Record, Message]]:
    """Return which accepted record of *tip* each record that HEAD adds to it contradicts, and why.

    Both sides passed a gate that had not seen the other side.
    """
    accepted = {one.path: one for one in kb.sync_index().records(Filter(statuses=(Status.ACCEPTED,)))}
    ours = revisions.list_differing_records(kb, tip, "HEAD") & accepted.keys()
    found = _compare_changed([accepted[path] for path in sorted(ours)], list(accepted.values()))
    return [(accepted[path], accepted[other], reason) for (path, other), reason in found.items() if other not in ours]
