"""Collect what `kb check` looks at: the records, the trees they speak of, and the other branches."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from kb.checks import run_checks
from kb.checks.check_context import CheckContext, load_check_context
from kb.checks.findings import CheckedText, CheckSurroundings, Finding, Key, MergeVersions, RecordSource, build_fixes
from kb.checks.merge_conflicts import MOST, NeighbourIndex
from kb.checks.run_checks import apply_rules, check_staged_changes
from kb.errors import KbError
from kb.files import read_if_exists
from kb.git import revisions
from kb.git.dropped_records import list_still_dropped, put_back_if_free
from kb.git.tracked_files import iter_files, list_tracked_files, query_git
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_message_ids
from kb.records.model import FIXED_BY, GLOBAL, Record, Status
from kb.records.record_paths import CONTENT, generate_ulid, is_record_path, parse_path_scope
from kb.safety import redaction
from kb.sessions.session_archive import list_sessions, read_session_file
from kb.state.project import save_kb_edits
from kb.state.state_folder import write_atomic
from kb.writing import quality
from kb.writing.publish import rescue_lost_work

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FRONT_UID = re.compile(r"(?m)^uid:[ \t]*[\"']?([^\s\"']+)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TRUNKS = ("origin/main", "origin/master", "main", "master")


class CheckResult(NamedTuple):
    """What a check found, and in how many records."""

    findings: list[Finding]
    records: int
    shared: frozenset[str] = frozenset()
    """The ids that records of projects have, which name no global record to a reader who stands anywhere."""


def check_records(kb: Workspace, *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
    """Return what is wrong with the records in the files or folders *below* (none: all).

    With *fix* mend in the checkout what can be mended safely, and look again.
    """
    return run_check(kb, fix=fix, below=below).findings


def recheck_records(kb: Workspace, records: Iterable[Record]) -> list[Finding]:
    """Check as `check_records` does, but skip what nothing was found in before; the index has read *records*."""
    read = {record.path: record for record in records}
    looked_at = (source._replace(record=read.get(source.path)) for source in iter_sources(kb))
    everything = _add_other_branches(kb, collect_context(kb, looked_at, run_checks.load_clean_digests(kb)))
    findings = apply_rules(everything)
    run_checks.save_clean_digests(kb, everything, findings)
    return qualify_findings(kb, findings, everything, "")


def run_check(kb: Workspace, *, fix: bool = False, below: Sequence[str] = (), reader: str | None = None) -> CheckResult:
    """Do what `check_records` does, and count the records; *reader* is that of `qualify_findings`."""
    put_back_if_free(kb)
    rescue_lost_work(kb)
    looked_at = list(iter_sources(kb))
    everything = _add_other_branches(kb, collect_context(kb, looked_at))
    findings = [
        *apply_rules(everything),
        *check_staged_changes(kb),
        *_find_dropped_records(kb),
        *_find_stale_memory(kb),
    ]
    findings = filter_findings(qualify_findings(kb, findings, everything, reader), below)
    mended = (
        _filter_unchanged(kb, looked_at, build_fixes(findings, looked_at, lambda: generate_ulid(kb.now())))
        if fix
        else {}
    )
    for path, data in mended.items():
        write_atomic(os.path.join(kb.root, *path.split("/")), data)
    save_kb_edits(kb, mended)
    if mended:
        return run_check(kb, below=below, reader=reader)
    return CheckResult(findings, len(everything.opened), collect_project_ids(everything))


def collect_project_ids(everything: CheckContext) -> frozenset[str]:
    """Return the ids that records of projects have."""
    return frozenset(record_id for scope, record_id in everything.known if scope != GLOBAL)


def _find_dropped_records(kb: Workspace) -> Iterator[Finding]:
    """Report the records that the next `git commit` would delete or undo, though the checkout has them as committed."""
    for path in list_still_dropped(kb):
        message = msg("git's index does not have this file as it is committed: the next git commit undoes that")
        yield Finding("index", "warning", path, 1, message, msg("keep it: git add {path}", path=path))


def _find_stale_memory(kb: Workspace) -> Iterator[Finding]:
    """Report the files that `kb memory` has written and that no longer say what the records do."""
    from kb.context import memory_md

    if not os.path.isfile(os.path.join(kb.root, *memory_md.MEMORY.split("/"))):
        return
    with contextlib.suppress(KbError):  # somebody has edited a block: kb memory says so
        for page in memory_md.build_pages(kb):
            if page.is_stale:
                message = msg("it is not up to date with the records")
                yield Finding("memory", "warning", page.path, 1, message, msg("run: kb memory"))


def _filter_unchanged(kb: Workspace, read: Sequence[RecordSource], mended: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return those of the *mended* files that nobody has changed since they were *read*: looking takes seconds."""
    before = {source.path: source.data for source in read}
    return {
        path: data
        for path, data in mended.items()
        if read_if_exists(os.path.join(kb.root, *path.split("/"))) == before[path]
    }


def qualify_findings(
    kb: Workspace, findings: Iterable[Finding], everything: CheckContext, reader: str | None = None
) -> list[Finding]:
    """Return *findings* with their ids as the *reader*, a scope, finds the records (None: the caller; "": anybody)."""
    scopes: dict[str, list[str]] = {}
    for scope, record_id in everything.known:
        scopes.setdefault(record_id, []).append(scope)

    def qualify_message(said: Message) -> Message:
        return qualify_message_ids(kb, said, reader, lambda record_id: scopes.get(record_id, ()))

    return [one._replace(message=qualify_message(one.message), fix=qualify_message(one.fix)) for one in findings]


def filter_findings(findings: list[Finding], below: Sequence[str]) -> list[Finding]:
    """Return the *findings* in the files or folders *below* (none: all)."""
    return [finding for finding in findings if is_below(finding.path, below)]


def is_below(path: str, below: Sequence[str]) -> bool:
    """Return whether the file *path* is one of *below*, or stands under one; of none every file does."""
    tops = [top.rstrip("/") for top in below]
    return not tops or "" in tops or any(path == top or path.startswith(top + "/") for top in tops)


def collect_context(
    kb: Workspace, looked_at: Iterable[RecordSource], unremarkable: frozenset[str] = frozenset()
) -> CheckContext:
    """Return the records in the files *looked_at* with what is known of the world around them; branches are not.

    *unremarkable* are the texts that need not be looked at alone.
    """

    def find_text_secrets(text: str) -> Iterator[tuple[int, str]]:
        return redaction.locate_secrets(text, kb.config.masking)

    before = CheckSurroundings(texts=tuple(_iter_archived_texts(kb)))
    everything = load_check_context(looked_at, before, kb.config, find_text_secrets, quality.is_vague)
    around = CheckSurroundings(
        today=kb.today(),
        files=frozenset(iter_files(kb.root)),
        trees={name: frozenset(list_tracked_files(kb, top)) for name, top in find_project_folders(kb).items()},
        changes=_measure_changes(kb, [one.record for one in everything.opened]),
        fixes=dict(_find_fix_commits(kb, [one.record for one in everything.opened])),
        texts=before.texts,
        clean=unremarkable,
        merges=_collect_merges(kb, everything),
    )
    return everything._replace(surroundings=around)


def _add_other_branches(kb: Workspace, everything: CheckContext) -> CheckContext:
    """Return *everything* with the records of other branches, and those that what is new here contradicts."""
    branches, trunk = _collect_branches(kb, everything)
    around = everything.surroundings._replace(
        branches=branches, trunk=trunk, clashes=_find_contradictions(kb, everything)
    )
    return everything._replace(surroundings=around)


def iter_sources(kb: Workspace) -> Iterator[RecordSource]:
    """Yield the record files of the checkout."""
    for path in sorted(iter_files(os.path.join(kb.root, CONTENT))):
        place = os.path.join(kb.root, CONTENT, path)
        if is_record_path(f"{CONTENT}/{path}") and _is_regular_file(place):
            with open(place, "rb") as file:
                yield RecordSource(f"{CONTENT}/{path}", file.read())


def _is_regular_file(place: str) -> bool:
    """Return whether *place* is a file to be read: no link, no folder, no pipe that would be waited for."""
    return os.path.isfile(place) and not os.path.islink(place)


def _iter_archived_texts(kb: Workspace) -> Iterator[CheckedText]:
    for session in list_sessions(kb):
        scope = GLOBAL if session.project == GLOBAL else f"project/{session.project}"
        with contextlib.suppress(FileNotFoundError):
            yield CheckedText(f"{session.path}/compact.md", read_session_file(kb, session, "compact.md"), scope)


def find_project_folders(kb: Workspace) -> dict[str, str]:
    """Return name and folder of the projects whose trees are on this machine."""
    found = {kb.config.project: kb.repository.top} if kb.config.project else {}
    known = kb.state.load("projects.json") or {}
    for key, scope in known.items():
        top = key.rpartition("@")[0]
        if os.path.isdir(top):
            found.setdefault(str(scope).removeprefix("project/"), top)
    return found


def _measure_changes(kb: Workspace, records: list[Record]) -> dict[str, dict[str, float | None]]:
    """Return for each record how much its impact files have changed since it was last confirmed."""
    found: dict[str, dict[str, float | None]] = {}
    for name, top in find_project_folders(kb).items():
        own = [r for r in records if r.impact and r.scope == f"project/{name}" and (r.confirmed or r.date)]
        if not own:
            continue
        log = _read_change_log(kb, top, min(r.confirmed or r.date for r in own))
        for record in own:
            since = record.confirmed or record.date
            found[record.path] = {path: _compute_changed_share(top, path, since, log) for path in record.impact}
    return found


def _find_fix_commits(kb: Workspace, records: list[Record]) -> Iterator[tuple[str, bool]]:
    """Yield for each record that names the commit which fixed it whether its project has that commit."""
    tops = find_project_folders(kb)
    for record in records:
        top = tops.get(record.scope.removeprefix("project/"), "")
        if not top or FIXED_BY not in record.extra:
            continue
        commit = str(record.extra[FIXED_BY])
        is_name = _COMMIT.fullmatch(commit) is not None
        yield (
            record.path,
            is_name and query_git(kb, top, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}") is not None,
        )


def _read_change_log(kb: Workspace, top: str, since: str) -> list[tuple[str, str, int]]:
    """Return day, path and number of changed lines of every change in the repository *top* after the day *since*."""
    words = ("log", f"--since={since}T23:59:59", "--format=@%cs", "--numstat", "--no-renames")
    said = query_git(kb, top, "-c", "core.quotePath=false", *words) or b""
    rows: list[tuple[str, str, int]] = []
    day = ""
    for line in said.decode("utf-8", "replace").splitlines():
        if line.startswith("@"):
            day = line[1:]
        elif line.count("\t") == 2:
            added, removed, path = line.split("\t")
            rows.append((day, path, max(int(n) if n.isdigit() else 1 for n in (added, removed))))
    return rows


def _compute_changed_share(top: str, path: str, since: str, log: list[tuple[str, str, int]]) -> float | None:
    """Return the share of the lines at *path* (a file or folder) changed after *since*; None when it has vanished."""
    place = os.path.join(top, *path.strip("/").split("/"))
    touched = [
        (name, lines)
        for day, name, lines in log
        if day > since and (name == path or name.startswith(path.rstrip("/") + "/"))
    ]
    if not os.path.lexists(place):
        return None if touched else 0.0
    if not touched:
        return 0.0
    files = [os.path.join(place, name) for name in iter_files(place)] if _is_folder(place) else [place]
    return sum(lines for _, lines in touched) / max(sum(map(_count_lines, files)), 1)


def _is_folder(place: str) -> bool:
    return os.path.isdir(place) and not os.path.islink(place)


def _count_lines(path: str) -> int:
    """Return the lines of a plain file; 0 for a link, which may lead to what never ends."""
    try:
        if not S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
            return 0
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


# -- other branches -------------------------------------------------------------------------------


def _collect_branches(kb: Workspace, everything: CheckContext) -> tuple[dict[str, dict[Key, str]], str]:
    """Return the records of the other branches with their uids, and which branch the others are merged into.

    Of the trunk all of them, of the others those that they have added or edited themselves.
    """
    head = kb.repository.head()
    if not head.oid:
        return {}, ""
    tips = _list_branch_tips(kb)
    trunk = next((name for name in _TRUNKS if name in tips), "")
    found = {name: _list_own_records(kb, head.oid, tip) for name, tip in tips.items() if tip != head.oid}
    if trunk:
        differing = revisions.list_changed_records(kb, tips[trunk])
        settled = {one.key: one.record.uid for one in everything.opened if one.record.path not in differing}
        found[trunk] = {**settled, **found.get(trunk, {})}
    return found, trunk


def _list_branch_tips(kb: Workspace) -> dict[str, str]:
    """Return the commits at which the branches stand, local ones and those of the remotes."""
    tips: dict[str, str] = {}
    for where in ("refs/heads", "refs/remotes"):
        for row in kb.repository.list_refs(where, "%(refname) %(objectname)"):
            ref, _, oid = row.partition(" ")
            if not ref.endswith("/HEAD"):
                tips[ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")] = oid
    return tips


def _list_own_records(kb: Workspace, head: str, tip: str) -> dict[Key, str]:
    paths = sorted(path for path in revisions.list_own_changes(kb, head, tip) or () if parse_path_scope(path))
    found: dict[Key, str] = {}
    for path, data in zip(paths, kb.repository.read_blobs([(tip, path) for path in paths]), strict=True):
        match = _FRONT_UID.search((data or b"").decode("utf-8", "replace"))
        found[parse_path_scope(path), path.rpartition("/")[2].partition("-")[0]] = match.group(1) if match else ""
    return found


# -- what has just changed ------------------------------------------------------------------------


def _collect_merges(kb: Workspace, everything: CheckContext) -> dict[str, MergeVersions]:
    """Return what the merge that HEAD is, or that is going on, was made of, for each record that both sides changed."""
    sides = revisions.find_merge_sides(kb)
    base = revisions.find_merge_base(kb, *sides) if sides else ""
    if not sides or not base:
        return {}
    one, other = (revisions.list_differing_records(kb, base, side) for side in sides)
    paths = one & other & {one.record.path for one in everything.opened}
    at = revisions.read_records_at(kb, [(commit, path) for commit in (base, *sides) for path in paths])
    ours, theirs = sides
    return {
        path: MergeVersions(at.get((base, path)), at[ours, path], at[theirs, path])
        for path in paths
        if (ours, path) in at and (theirs, path) in at
    }


def _find_contradictions(kb: Workspace, everything: CheckContext) -> dict[tuple[str, str], Message]:
    """Return which accepted records cannot hold beside one another, for those that the last commit or nobody yet made.

    Of a merge that is what it brought in; all pairs would take minutes where there are many records.
    """
    since = revisions.resolve_commit(kb, "HEAD^1") or revisions.resolve_commit(kb, "HEAD")
    paths = revisions.list_changed_records(kb, since) if since else set()
    accepted = {one.record.path: one for one in everything.opened if one.record.status == Status.ACCEPTED}
    new = sorted((accepted[path] for path in paths & accepted.keys()), key=lambda one: one.age_key, reverse=True)
    if not new or len(new) > MOST:
        return {}
    near = NeighbourIndex(one.record for one in accepted.values())
    found: dict[tuple[str, str], Message] = {}
    for one in new:
        for other, reason in near.find_contradicted(one.record):
            if (other.path, one.record.path) not in found:
                found[one.record.path, other.path] = reason
    return found
