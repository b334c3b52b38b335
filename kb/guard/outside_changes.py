"""Detect and attribute changes made outside kb to files that only kb writes, by comparison with a snapshot.

Commits by an agent's call are found by HEAD's reflog or, if that has no entry, by their dates. `set_aside` undoes and
reports the changes.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kb.errors import KbError
from kb.files import write_atomic
from kb.git import worktree
from kb.git.objects import is_ancestor
from kb.git.repository import UNDER_WAY, Head
from kb.records.kinds import CONTENT, KINDS
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import sha256
from kb.state import record_stamps
from kb.state.project import load_kb_edits
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.workspace import Workspace

MARK_COPIED, MARK_LEFT_BY_AGENT = "k", "a"
"""Marks of files; MARK_LEFT_BY_AGENT is followed by the previous content, so that the agent may revert its change."""
SETTINGS = tuple(record_stamps.SETTINGS.split("\n"))
COPIES = "copies"
"""The subfolder of the guard's folder for contents in no commit: a person's uncommitted text."""
_MAX_COPY_BYTES = 8_000_000
"""Maximum bytes of a file to copy."""
_MAX_LISTED_PATHS = 400
"""With more paths than this, list a whole tree instead of each path."""
DAYS = 90
"""Minimum days to keep a text that no file has any more, because a stash may restore it."""


_LOG = (
    *"log --raw --no-abbrev --no-renames --no-show-signature -z".split(),
    "--format=%x01%H %ct %at%x02%(trailers)%x02",
)
_MAX_REFLOG_MOVES = 400
"""Maximum number of reflog entries to read; no call makes this many commits."""
_MAX_COMMITS = "5000"
_REPLAYING_COMMANDS = ("rebase", "pull", "cherry-pick")
"""Reflog prefixes of commands that replay commits, which may combine two changes of one file."""


class OutsideChange(NamedTuple):
    """A changed file."""

    path: str
    before: str
    """The blob id of the old content, or GONE if there was none."""
    mark: str
    """The mark of the file in the snapshot."""
    after: str
    """The blob id of the new content, or GONE if there is none."""
    data: bytes | None
    changed: int
    """Time of the change in nanoseconds, by the file system's clock; 0 for a deleted file."""


class SnapshotDiff(NamedTuple):
    """A snapshot and its differences from the current files."""

    before: GuardSnapshot
    now: GuardSnapshot
    """The snapshot with present stamps, and present contents of changed files."""
    changes: tuple[OutsideChange, ...]


# -- looking -----------------------------------------------------------------------------------------


def compare_snapshot(kb: Workspace, folder: str) -> SnapshotDiff | None:
    """Return how the files differ from the snapshot; if there is none, take one and return None."""
    before = record_stamps.load_snapshot(kb.root)
    if before is None:
        _take_snapshot(kb, folder)
        return None
    head = kb.repository.head()
    known = {path for path in before.folders if os.path.isabs(path)} | _find_memory_banks(kb, folder)
    folders, stamps = _scan_folders(kb.root, known)
    files: dict[str, FileStamp] = {}
    changes = []
    fresh = tuple(bank + "/" for bank in known if bank not in before.folders)
    for path, stamp in stamps.items():
        entry = before.files.get(path, FileStamp(GONE))
        if entry.stamp == stamp:
            files[path] = entry
            continue
        data = _read_data(kb.root, path)
        oid = _hash_blob(kb, data)
        files[path] = FileStamp(stamp, oid, entry.mark if oid == entry.oid else GONE)
        if path.startswith(fresh):  # in a memory bank that was not in the snapshot, nothing has changed
            files[path] = _copy_content(kb, files[path], data)
        elif oid != entry.oid:
            changes.append(OutsideChange(path, entry.oid, entry.mark, oid, data, int(stamp.partition(":")[0])))
    for path, entry in before.files.items():
        if path not in stamps and entry.oid != GONE:
            changes.append(OutsideChange(path, entry.oid, entry.mark, GONE, None, 0))
        elif path not in stamps and entry.mark != GONE:  # an agent has deleted it, and may restore it
            files[path] = entry
    now = GuardSnapshot(head.ref, head.oid, kb.config.guard, kb.config.writer, folders, files)
    return SnapshotDiff(before, now, tuple(changes))


def _take_snapshot(kb: Workspace, folder: str) -> None:
    """Take the first snapshot; copy contents that are in no commit."""
    head = kb.repository.head()
    folders, stamps = _scan_folders(kb.root, _find_memory_banks(kb, folder))
    known = read_tree_oids(kb, head, stamps)
    try:
        differs = worktree.list_differing_files(kb.repository, head.oid, [""])
    except KbError:  # for example a failing filter: then read every file
        differs = set(stamps)
    files = {}
    for path, stamp in stamps.items():
        oid = known.get(path, GONE)
        if oid == GONE or path in differs:
            data = _read_data(kb.root, path)
            entry = FileStamp(stamp, _hash_blob(kb, data))
            files[path] = entry if entry.oid == oid else _copy_content(kb, entry, data)
        else:
            files[path] = FileStamp(stamp, oid)
    _save_snapshot(kb, GuardSnapshot(head.ref, head.oid, kb.config.guard, kb.config.writer, folders, files))
    _delete_old_copies(kb, files)


def adopt_changes(
    kb: Workspace, diff: SnapshotDiff, changes: Iterable[OutsideChange], left: Iterable[str] = ()
) -> None:
    """Accept the current files as the new baseline; those in *left* are marked as left by an agent.

    Of the other *changes*, copy contents that are in no commit.
    """
    changes, left = list(changes), set(left)
    known = read_tree_oids(kb, Head(diff.now.ref, diff.now.head), [change.path for change in changes])
    files = dict(diff.now.files)
    for change in changes:
        entry = files.get(change.path, FileStamp(GONE))
        if change.path in left:
            mark = change.mark if change.mark.startswith(MARK_LEFT_BY_AGENT) else MARK_LEFT_BY_AGENT + change.before
            files[change.path] = entry._replace(mark=mark)
        elif change.after != GONE:
            is_known = known.get(change.path) == change.after
            files[change.path] = entry._replace(mark=GONE) if is_known else _copy_content(kb, entry, change.data)
    _save_snapshot(kb, diff.now._replace(files=files))
    _delete_old_copies(kb, files)


def can_revert_change(kb: Workspace, path: str, *, removes: bool) -> bool:
    """Return whether the file *path* is as an agent left it, so that the agent may revert its change.

    *removes*: by deleting it, which is a revert only if the file did not exist before.
    """
    snapshot = record_stamps.load_snapshot(kb.root)
    entry = snapshot.files.get(record_stamps.to_snapshot_key(kb.root, path)) if snapshot else None
    if entry is None or not entry.mark.startswith(MARK_LEFT_BY_AGENT):
        return False
    return not removes or entry.mark == MARK_LEFT_BY_AGENT + GONE


def adopt_all_changes(kb: Workspace, diff: SnapshotDiff) -> None:
    """Accept all current files as the new baseline: no agent made these changes."""
    if diff.before != diff.now or diff.changes:
        adopt_changes(kb, diff, diff.changes)


def refresh_snapshot(kb: Workspace, folder: str, left: Iterable[OutsideChange]) -> None:
    """Take the snapshot again after files were restored; the changes in *left* stay as the agent made them."""
    if diff := compare_snapshot(kb, folder):
        adopt_changes(kb, diff, diff.changes, [change.path for change in left])


def _save_snapshot(kb: Workspace, snapshot: GuardSnapshot) -> None:
    kb.state.ensure_folder()
    write_atomic(record_stamps.get_snapshot_file(kb.root), record_stamps.encode_snapshot(kb.root, snapshot))


def _find_memory_banks(kb: Workspace, folder: str) -> set[str]:
    banks = {*record_stamps.iter_memory_banks(folder), *record_stamps.iter_memory_banks(kb.root)}
    return {record_stamps.to_snapshot_key(kb.root, bank) for bank in banks}


def _scan_folders(root: str, banks: Iterable[str]) -> tuple[dict[str, FileStamp], dict[str, str]]:
    """Return the folders, and the stamps of the files, that only kb writes."""
    folders: dict[str, FileStamp] = {}
    files: dict[str, str] = {name: record_stamps.compute_stamp(os.path.join(root, name)) for name in SETTINGS}
    tops = [f"{CONTENT}/{name}" for name in sorted({kind.folder for kind in KINDS})]
    waiting = [*tops, f"{CONTENT}/sessions", *sorted(banks)]
    while waiting:
        folder = waiting.pop()
        full = os.path.join(root, folder)
        folders[folder] = FileStamp(record_stamps.compute_stamp(full))
        if os.path.islink(full):
            continue
        with contextlib.suppress(OSError), os.scandir(full) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}")
                elif not (entry.name.startswith(".kb-") and entry.name.endswith(".tmp")):
                    files[f"{folder}/{entry.name}"] = record_stamps.compute_stamp(entry.path)
    return folders, {path: found for path, found in files.items() if found != GONE or path in SETTINGS}


def _read_data(root: str, path: str) -> bytes | None:
    """Return the contents of a file or the target of a link, or None."""
    full = os.path.join(root, path)
    try:
        if os.path.islink(full):
            return os.fsencode(os.readlink(full))
        file = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            is_file = stat.S_ISREG(os.fstat(file).st_mode)
            return opened.read() if is_file else None
    except (OSError, ValueError):
        return None


def _hash_blob(kb: Workspace, data: bytes | None) -> str:
    """Return the blob id of *data*, or GONE for None."""
    return GONE if data is None else kb.repository.compute_oid(b"blob", data)


# -- contents ----------------------------------------------------------------------------------------


def _copy_content(kb: Workspace, entry: FileStamp, data: bytes | None) -> FileStamp:
    """Store a copy of *data*, the content of *entry*, which is in no commit."""
    if data is None or len(data) > _MAX_COPY_BYTES:
        return entry
    if not has_copy(kb, entry.oid):
        kb.state.ensure_folder()
        write_atomic(record_stamps.guard_path(kb.root, COPIES, entry.oid), data)
    return entry._replace(mark=MARK_COPIED)


def has_copy(kb: Workspace, oid: str) -> bool:
    """Return whether there is a copy of the content *oid*."""
    return os.path.exists(record_stamps.guard_path(kb.root, COPIES, oid))


def read_content(kb: Workspace, oid: str) -> bytes | None:
    """Return the content with the blob id *oid* from a copy or a commit, or None if it is lost."""
    with contextlib.suppress(OSError), open(record_stamps.guard_path(kb.root, COPIES, oid), "rb") as file:
        return file.read()
    output = kb.repository.run_git(["cat-file", "blob", oid])
    return None if output.code else output.out


def _delete_old_copies(kb: Workspace, files: Mapping[str, FileStamp]) -> None:
    used = {entry.oid for entry in files.values()}
    with contextlib.suppress(OSError), os.scandir(record_stamps.guard_path(kb.root, COPIES)) as entries:
        for entry in entries:
            if entry.name not in used and kb.now() - entry.stat().st_mtime > DAYS * 86_400:
                os.unlink(entry.path)


def read_tree_oids(kb: Workspace, head: Head, paths: Iterable[str]) -> dict[str, str]:
    """Return path → blob id in the commit of *head* for those of *paths* that it has."""
    inside = [path for path in paths if not os.path.isabs(path)]
    if not head.oid or not inside:
        return {}
    names = (
        [kb.repository.to_git_path(path) for path in inside]
        if len(inside) <= _MAX_LISTED_PATHS
        else [kb.repository.prefix or "."]
    )
    listed = kb.repository.git("ls-tree", "-r", "-z", "--full-tree", head.oid, "--", *names, check=False)
    rows = (os.fsdecode(row).split("\t", 1) for row in listed.split(b"\0") if row)
    return {kb.repository.to_kb_path(path): about.split()[2] for about, path in rows}


# -- who changed it ----------------------------------------------------------------------------------


class AttributedChanges(NamedTuple):
    """The changes made by an agent's call."""

    edits: tuple[OutsideChange, ...] = ()
    """Files changed outside kb."""
    discarded: tuple[OutsideChange, ...] = ()
    """A person's uncommitted text that git has overwritten with a committed one."""
    moved: tuple[OutsideChange, ...] = ()
    """Records gone, or with another status, because another commit is checked out."""


class _LoggedCommit(NamedTuple):
    oid: str
    commit_time: int
    author_time: int
    """Author time, which `--amend`, a rebase and `filter-branch` keep."""
    is_by_kb: bool
    rows: tuple[tuple[str, str], ...]
    """Path and blob id of each changed file."""


def is_merge_in_progress(kb: Workspace) -> bool:
    """Return whether git is in the middle of a merge or the like, when files belong to nobody yet."""
    return any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in UNDER_WAY)


def attribute_changes(kb: Workspace, diff: SnapshotDiff, began: int, allowed: Sequence[str] = ()) -> AttributedChanges:
    """Return the changes by the call that *began* then (nanoseconds), without those by kb, a person or git."""
    head, paths = Head(diff.now.ref, diff.now.head), [change.path for change in diff.changes]
    has_moved = diff.before.head != head.oid
    known = read_tree_oids(kb, head, paths)
    earlier = read_tree_oids(kb, Head("", diff.before.head), paths) if has_moved else known
    is_same_branch = has_moved and diff.before.ref == diff.now.ref
    is_fast_forward = is_same_branch and is_ancestor(kb.repository, diff.before.head, diff.now.head)
    inside = [kb.repository.to_git_path(path) for path in paths if not os.path.isabs(path)]
    by_call: set[tuple[str, str]] = set()
    if has_moved and inside:
        by_call = _find_committed_changes(kb, diff.before.head, head, inside[:_MAX_LISTED_PATHS], began)
    ours = load_kb_edits(kb)
    edits: list[OutsideChange] = []
    discarded: list[OutsideChange] = []
    moved: list[OutsideChange] = []
    for change in diff.changes:
        before = earlier.get(change.path, GONE)
        is_by_kb = change.data is not None and ours.get(change.path) == sha256(change.data).hexdigest()
        if change.path in allowed or is_by_kb:
            continue
        # a person's text restored, for example by `git stash pop`, or a change an agent had left
        if (change.after != GONE and has_copy(kb, change.after)) or change.mark == MARK_LEFT_BY_AGENT + change.after:
            continue
        # in no commit, or in one made by this call
        if known.get(change.path, GONE) != change.after or (change.path, change.after) in by_call:
            edits.append(change)
        # a person's uncommitted text, overwritten by `git checkout .`
        elif change.mark == MARK_COPIED and change.before not in (GONE, before):
            (edits if change.after == GONE and not has_moved else discarded).append(change)
        # `git switch old`: a record accepted on the other branch is missing or a draft on this one
        elif has_moved and not is_fast_forward and change.before == before and _has_status_changed(kb, change):
            moved.append(change)
    return AttributedChanges(tuple(edits), tuple(discarded), tuple(moved))


def _has_status_changed(kb: Workspace, change: OutsideChange) -> bool:
    """Return whether a record is gone or has another status."""
    if change.before == GONE or not change.path.startswith(f"{CONTENT}/") or not change.path.endswith(".md"):
        return False
    return change.after == GONE or _parse_status(read_content(kb, change.before)) != _parse_status(change.data)


def _parse_status(data: bytes | None) -> bytes:
    """Return the status in the front matter, or b""."""
    rows = (data or b"")[:64_000].split(b"\n---", 1)[0].split(b"\n")
    return next((row[7:].strip() for row in rows if row.startswith(b"status:")), b"")


# -- what was committed ------------------------------------------------------------------------------


def _find_committed_changes(
    kb: Workspace, before: str, now: Head, paths: Sequence[str], began: int
) -> set[tuple[str, str]]:
    """Return path and content of changes at *paths* from *before* to *now* by ordinary commits, not by kb.

    The commits must be made here and since *began* (nanoseconds). Merges bring other people's commits, and rebased
    commits existed before, so only new content counts.
    """
    if not now.oid:
        return set()
    words = [*_LOG, now.oid, *([f"^{before}"] if before else []), "--not", "--remotes"]
    start = began // 10**9
    made = list(_iter_commits(kb, [*words, "--", *paths]))
    moves = _read_head_reflog(kb)
    since = next((at for at, (oid, _) in enumerate(moves) if oid == before), 0)
    reasons = dict(moves[:since])  # the reflog reason for each commit: the first one, which created it
    is_moved_by_kb = bool(moves) and moves[0][1].startswith("kb")  # for example by a sync
    fresh, older = [], []
    for one in made:
        reason = reasons.get(one.oid, "")
        if reason.startswith("commit") or (min(one.commit_time, one.author_time) >= start and not one.is_by_kb):
            fresh.append(one)
        elif not reason.startswith(_REPLAYING_COMMANDS) and not (one.is_by_kb and is_moved_by_kb):
            older.append(one)
    if any(one.commit_time < start for one in older):  # from a branch that existed before, or made to look so
        others = [f"--exclude={now.ref.removeprefix('refs/heads/')}", "--branches", "--tags"]
        alone = {one.oid for one in _iter_commits(kb, [*words, *others, "--", *paths])}
        older = [one for one in older if one.commit_time >= start or one.oid in alone]
    if older:  # a rewritten commit keeps its author time, so the old one is found by that
        replaced = _list_unreachable_times(kb, before, now.oid)
        older = [one for one in older if one.author_time in replaced]
        oids, others = {one.oid for one in older}, ["-n", _MAX_COMMITS, "--all", "--reflog", "--", *paths]
        rewritten = _iter_commits(kb, [*_LOG, *others]) if older else ()
        contents = {row for commit in rewritten if commit.oid not in oids for row in commit.rows}
        older = [one._replace(rows=tuple(row for row in one.rows if row not in contents)) for one in older]
    return {row for one in (*fresh, *older) for row in one.rows}


def _read_head_reflog(kb: Workspace) -> list[tuple[str, str]]:
    """Return target and reason of the moves in HEAD's reflog, the last move first."""
    listed = kb.repository.git("log", "-g", "-n", str(_MAX_REFLOG_MOVES), "--format=%H %gs", "HEAD", check=False)
    rows = (row.partition(" ") for row in listed.decode("utf-8", "replace").splitlines())
    return [(oid, reason) for oid, _, reason in rows]


def _list_unreachable_times(kb: Workspace, before: str, now: str) -> set[int]:
    """Return the author times of commits that HEAD no longer reaches.

    They are listed regardless of their files: `filter-branch` may add a file to a commit.
    """
    revisions = filter(None, (before, "--not", now))
    listed = kb.repository.git("log", "--format=%at", "-n", _MAX_COMMITS, "--all", "--reflog", *revisions, check=False)
    return set(map(int, listed.split()))


def _iter_commits(kb: Workspace, words: Sequence[str]) -> Iterator[_LoggedCommit]:
    listed = os.fsdecode(kb.repository.git(*words, check=False))
    for part in listed.split("\x01")[1:]:
        about, trailers, rest = part.split("\x02", 2)
        oid, commit_time, author_time = about.split()
        parts = [word for word in rest.replace("\n", "\0").split("\0") if word]
        rows = []
        for meta, name in zip(parts[::2], parts[1::2], strict=False):
            blob = meta.split(" ")[3] if meta.startswith(":") else ""
            rows.append((kb.repository.to_kb_path(name), GONE if not blob.strip("0") else blob))
        yield _LoggedCommit(oid, int(commit_time), int(author_time), "Kb-" in trailers, tuple(rows))
